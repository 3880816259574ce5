//! The command that is recorded, as a shell sees it: exit codes, and lines beside its own output.

use skidconv::export::plain;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Of a command that could not be started. As `env` and `nohup` have it: it was not found, or cannot run.
pub fn not_started(why: ErrorKind) -> ExitCode {
    if why == ErrorKind::NotFound { 127 } else { 126 }.into()
}

/// As shells have it: of a signal, 128 and its number; failure if neither is known.
pub fn code(exited: Option<i32>, signal: Option<i32>) -> u8 {
    let code = exited.or(signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// On the standard error: the standard output is the program's.
pub fn tell(what: &dyn Display) {
    let _ = writeln!(io::stderr(), "skidconv: {}", plain(&what.to_string()));
}
