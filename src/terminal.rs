//! Text for a person: in colour and through a pager where that is a terminal, plain elsewhere.

use crate::cli::{Show, When};
use skidconv::export::plain;
use skidconv::options::is_stdout;
use skidconv::report::text::Style;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Columns of what goes to a file or a pipe, so that neither source lines nor long names are cut short.
const WIDE: usize = 180;

/// How text on the standard output, or else the standard error, is to look.
pub fn style(on_stdout: bool, color: When) -> Style {
    let is_terminal = if on_stdout { io::stdout().is_terminal() } else { io::stderr().is_terminal() };
    let color = match color {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && wants_color(),
    };
    let mut style = Style { color, ..Style::default() };
    if let Some((width, _)) = terminal_size::terminal_size().filter(|_| is_terminal) {
        style.width = width.0.into();
    }
    style
}

/// How text is to look that is looked through on a terminal, or goes to a file or a pipe.
pub fn paged(color: When) -> Style {
    let mut style = style(true, color);
    if !io::stdout().is_terminal() {
        style.width = style.width.max(WIDE);
    }
    style
}

/// <https://no-color.org>
fn wants_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Writes `text` to the standard output, or else the standard error.
pub fn say(on_stdout: bool, text: &str) -> io::Result<()> {
    match on_stdout {
        true => io::stdout().write_all(text.as_bytes()).map_err(of_stdout),
        false => io::stderr().write_all(text.as_bytes()),
    }
}

/// Tells what of a recording is damaged or lost to whoever wants no report.
pub fn tell_of_damage(damage: impl Iterator<Item = String>) -> io::Result<()> {
    let mut err = io::stderr().lock();
    damage.into_iter().try_for_each(|line| writeln!(err, "skidconv: warning: {}", plain(&line)))
}

/// Tells whoever has sent a recording in file mode down a pipe that perf does not read it there.
pub fn tell_of_pipe(recording: Option<&Path>) -> io::Result<()> {
    let place = recording.map(|path| if is_stdout(path) { Path::new("/dev/stdout") } else { path });
    let meta = place.and_then(|path| path.metadata().ok());
    match meta.is_some_and(|meta| meta.file_type().is_fifo()) {
        true => writeln!(
            io::stderr(),
            "skidconv: a file went down the pipe, not a stream: perf report -i - refuses it; name a file instead"
        ),
        false => Ok(()),
    }
}

/// Writes `text` to the standard output, as git does it: on a terminal through `$PAGER`, `less` by default, which leaves
/// what fits the screen where it is.
pub fn page(text: &str, show: Show) -> io::Result<()> {
    match pager().filter(|_| !show.no_pager && io::stdout().is_terminal()) {
        Some(pager) => through(&pager, text),
        None => io::stdout().write_all(text.as_bytes()).map_err(of_stdout),
    }
}

/// Says where writing failed.
fn of_stdout(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

/// `None` where the user wants none.
fn pager() -> Option<OsString> {
    let asked = std::env::var_os("PAGER").unwrap_or_else(|| "less".into());
    (!asked.is_empty() && asked != "cat").then_some(asked)
}

fn through(pager: &OsString, text: &str) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    let written = match child.stdin.take() {
        Some(mut pipe) => pipe.write_all(text.as_bytes()),
        None => Ok(()),
    };
    let status = child.wait()?;
    match written {
        // A pager that is not there: the shell said so.
        _ if status.code() == Some(127) => io::stdout().write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
