//! Running the recorder, and telling of it.

use crate::command::{code, not_started, tell};
use skidconv_recorder::plan::{Note, Plan};
use skidconv_recorder::{Error, Summary, run};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

/// Records; the exit code is that of the command.
pub fn record(plan: &Plan) -> anyhow::Result<ExitCode> {
    match run(plan, &mut |note| tell(note)) {
        Ok(summary) => {
            report(plan, &summary);
            let code = |status: ExitStatus| code(status.code(), status.signal()).into();
            Ok(summary.status.map_or(ExitCode::SUCCESS, code))
        }
        Err(error) => match &error {
            Error::Program { cause, .. } => {
                tell(&error);
                Ok(not_started(cause.kind()))
            }
            _ => Err(error.into()),
        },
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
