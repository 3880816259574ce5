//! What has to be said beside a table, so that nobody takes it for what it is not.

use super::{Facts, Subject, Table};
use crate::ibs::Counting;
use crate::report::format::{count, counted};

const BY_CYCLES: &str = "ops are tagged every so many cycles, when they are dispatched: those dispatched behind a wait have \
    more samples than others that run as often. This is no profile of instructions, nor of time; what share of an \
    instruction's samples missed or was mispredicted is sound. To count, record ibs_op/cnt_ctl=1/";
const BY_OPS: &str = "ops are tagged every so many dispatched ops: an instruction has samples as often as it runs, times \
    the ops that it is made of";
const MEMORY: &str =
    "accesses as the kernel describes them; the event's own threshold decides which are sampled";
const COUNTERS: &str =
    "samples of counters as they were recorded: late, unless their event is precise (see skidconv fix)";

/// Sentences about a table.
pub fn notes(table: &Table) -> Vec<String> {
    let subject = match table.subject {
        Subject::Fetch => None,
        Subject::Op(Counting::Cycles) => Some(BY_CYCLES),
        Subject::Op(Counting::Ops) => Some(BY_OPS),
        Subject::Memory => Some(MEMORY),
        Subject::Counters => Some(COUNTERS),
    };
    let mut notes: Vec<String> = subject.map(String::from).into_iter().collect();
    notes.extend(capabilities(&table.facts));
    notes.extend(unknown(&table.facts));
    notes.extend(counts(&table.facts));
    let bare = |event: &String| {
        format!("{event} was recorded without its registers: add --raw-samples (-R) to perf record")
    };
    notes.extend(table.facts.bare.iter().map(bare));
    notes
}

fn capabilities(facts: &Facts) -> Vec<String> {
    let one = facts.capabilities.len() == 1;
    let note = |(word, samples): &(String, u64)| match one {
        true => format!("capabilities {word}"),
        false => format!("capabilities {word} ({})", counted(*samples, "sample")),
    };
    facts.capabilities.iter().map(note).collect()
}

fn unknown(facts: &Facts) -> Option<String> {
    let named: Vec<String> =
        facts.unknown.iter().map(|(what, n)| format!("{what} ({})", counted(*n, "sample"))).collect();
    (!named.is_empty()).then(|| format!("set, but not known to this version: {}", named.join(", ")))
}

fn counts(facts: &Facts) -> Vec<String> {
    let told = [
        (facts.straddling, "given to the instruction that reaches into the block that was fetched"),
        (facts.nowhere, "left out of the rows: the processor could not tell their address"),
        (facts.invalid, "left out: their registers say that they hold no sample"),
        (facts.damaged, "left out: their registers are not all there"),
    ];
    let note = |(n, what): (u64, &str)| {
        format!("{} {} {what}", count(n), if n == 1 { "sample was" } else { "samples were" })
    };
    told.into_iter().filter(|(n, _)| *n > 0).map(note).collect()
}
