//! Classes and verdicts in words.

use super::format::{count, counted};
use super::listing::Trips;
use super::{Class, EventReport, UnverifiedImage, Verdict};

/// What kind of event it is.
pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Exact => "exact addresses",
        Class::Time => "an event of time",
        Class::Retirement => "an event of retirement",
        Class::Occurrence => "an event of misses",
        Class::Synchronous => "a synchronous event",
        Class::Led => "an event of a group",
        Class::Unknown => "an event of unknown kind",
    }
}

/// What was done.
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Gibbs => "solved by Gibbs sampling",
        Verdict::Argmin => "solved by argmin",
        Verdict::Flow => "flow conservation only",
        Verdict::Timed => "flow conservation and time",
        Verdict::Ics => "solved as in ICS'19",
        Verdict::Baseline => "solved by a baseline",
        Verdict::Waited => "given back to the instruction waited for",
        Verdict::Exact | Verdict::Unchanged => "left as recorded",
        Verdict::Mixed => "solved region by region",
    }
}

/// What was done, for a column of a table.
pub(crate) fn brief(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Unchanged => "as recorded",
        done => done.word(),
    }
}

/// What became of an event, and why; of time, and of what moves with another event, the reason says both.
pub(super) fn outcome(event: &EventReport) -> String {
    let class = class(event.class);
    let text = match event.verdict == Verdict::Waited || event.class == Class::Led {
        true => format!("{class}: {}", event.reason),
        false => format!("{class}, {}: {}", verdict(event.verdict), event.reason),
    };
    text.trim_end_matches(": ").into()
}

/// Binaries that are named where several are told of.
const NAMED: usize = 3;

/// How many samples stand in binaries that were taken by their paths, and in which.
pub(super) fn unverified(images: &[UnverifiedImage]) -> Option<String> {
    let samples: u64 = images.iter().map(|image| image.samples).sum();
    let binaries = match images.len() {
        0 => return None,
        1 => "a binary".into(),
        n => format!("{} binaries", count(n as u64)),
    };
    let named = |image: &UnverifiedImage| match image.changed_since {
        true => format!("{} (changed after the recording)", image.file),
        false => image.file.clone(),
    };
    let mut names: Vec<String> = images.iter().take(NAMED).map(named).collect();
    let more = images.len() - names.len();
    names.extend((more > 0).then(|| format!("{} more", count(more as u64))));
    let samples = counted(samples, "sample");
    let names = names.join(", ");
    Some(format!("{samples} in {binaries} whose build the recording does not tell; taken by path: {names}"))
}

/// Trip counts and their interval, with as many digits as they are good for.
pub(super) fn trips(trips: &Trips) -> String {
    format!("×{} [{} – {}]", rounds(trips.value), rounds(trips.low), rounds(trips.high))
}

fn rounds(trips: f64) -> String {
    match trips {
        _ if trips < 10.0 => format!("{trips:.1}"),
        _ if trips < 1e9 => count(trips.round() as u64),
        _ => format!("{trips:.0e}"),
    }
}
