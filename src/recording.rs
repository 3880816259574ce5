//! Running the recorder, and telling of it.

use skidconv_recorder::plan::{Note, Plan};
use skidconv_recorder::{Error, Summary, run};
use std::io::{self, ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// As `env` and `nohup` have it: the program was not found, or cannot run.
const NOT_FOUND: u8 = 127;
const CANNOT_RUN: u8 = 126;

/// Records; the exit code is that of the command.
pub fn record(plan: &Plan) -> anyhow::Result<ExitCode> {
    match run(plan, &mut |note| tell(note)) {
        Ok(summary) => {
            report(plan, &summary);
            Ok(summary.status.map_or(ExitCode::SUCCESS, code))
        }
        Err(error @ Error::Program { .. }) => {
            let missing =
                matches!(&error, Error::Program { cause, .. } if cause.kind() == ErrorKind::NotFound);
            tell(&error);
            Ok(if missing { NOT_FOUND } else { CANNOT_RUN }.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn report(plan: &Plan, summary: &Summary) {
    let counts: Vec<_> = summary.samples.iter().map(|(name, samples)| format!("{samples} {name}")).collect();
    let size = summary.bytes as f64 / 1e6;
    tell(&format!("{} samples, {size:.1} MB: {}", counts.join(" and "), plan.output.display()));
    if summary.lost > 0 {
        let more = "give more memory with -m or sample less often";
        tell(&format!("{} records were lost: {more}", summary.lost));
    }
    if summary.throttled > 0 {
        let times = summary.throttled;
        tell(&format!("the kernel held events back {times} times: kernel.perf_event_max_sample_rate"));
    }
    let (drawn, late) = summary.drawn;
    if late * 100 > drawn {
        tell(&Note::Late(drawn, late));
    }
}

/// On the standard error: the standard output is the program's.
fn tell(what: &dyn std::fmt::Display) {
    let line = skidconv::export::plain(&what.to_string()).to_string();
    let _ = writeln!(io::stderr(), "skidconv: {line}");
}

/// As shells have it: of a signal, 128 and its number.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
