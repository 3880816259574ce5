//! What is counted from a call's beginning to its end.
//!
//! In: a thread. Out: the metrics that this machine has, and their values so far. Time and software events are always there;
//! the counters of the processor only where it has some, and then without the kernel's work, so that the tool's own stops do
//! not count.

use crate::sys::{Attr, Cpu, Event, Flags, ReadFormat, Source, Thread};
use std::io;
use std::sync::OnceLock;

/// A metric. Wall time is the first, and no counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As perf calls it.
    pub name: &'static str,
    /// `ns`, or nothing for events.
    pub unit: &'static str,
}

const SOFTWARE: u32 = 1;
const HARDWARE: u32 = 0;

/// Counted by the kernel: name, unit, `config`.
const OF_KERNEL: [(&str, &str, u64); 3] =
    [("task-clock", "ns", 1), ("page-faults", "", 2), ("context-switches", "", 3)];
/// Counted by the processor.
const OF_PROCESSOR: [(&str, &str, u64); 4] =
    [("instructions", "", 1), ("cycles", "", 0), ("branch-misses", "", 5), ("cache-misses", "", 3)];

/// Values of all metrics; `None` where the processor had other things to count.
pub type Values = Vec<Option<u64>>;

/// The counters of one thread.
#[derive(Debug)]
pub struct Counters {
    kernel: Vec<Event>,
    processor: Vec<Event>,
}

/// The metrics of this machine, in the order of [`Values`].
pub fn metrics() -> Vec<Metric> {
    let mut metrics = vec![Metric { name: "wall", unit: "ns" }];
    metrics.extend(OF_KERNEL.map(|(name, unit, _)| Metric { name, unit }));
    metrics.extend(of_processor().iter().map(|&(name, unit, _)| Metric { name, unit }));
    metrics
}

/// Those that can be counted.
fn of_processor() -> &'static [(&'static str, &'static str, u64)] {
    static THERE: OnceLock<Vec<(&str, &str, u64)>> = OnceLock::new();
    let works = |config| Event::open(&attr(HARDWARE, config, false), Thread::Own, Cpu::Any, None).is_ok();
    THERE.get_or_init(|| OF_PROCESSOR.into_iter().filter(|&(_, _, config)| works(config)).collect())
}

fn attr(kind: u32, config: u64, leads: bool) -> Attr {
    let mut flags = Flags::EXCLUDE_HV;
    flags.set(Flags::EXCLUDE_KERNEL, kind == HARDWARE);
    let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
    let read_format = if leads { ReadFormat::GROUP | times } else { ReadFormat::GROUP };
    Attr { flags, read_format, ..Attr::new(Source::Event { kind, config: [config, 0, 0, 0] }) }
}

fn group(kind: u32, configs: impl Iterator<Item = u64>, tid: u32) -> io::Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::new();
    for config in configs {
        let leader = events.first();
        let attr = attr(kind, config, leader.is_none());
        let event = Event::open(&attr, Thread::Of(tid), Cpu::Any, leader)?;
        events.push(event);
    }
    Ok(events)
}

/// Counts, and for how long the group was enabled and did count.
fn read(group: &[Event], into: &mut Values) -> io::Result<()> {
    let Some(leader) = group.first() else { return Ok(()) };
    let mut words = [0; 16];
    let got = leader.read(&mut words)?;
    let [_, enabled, running, ref counts @ ..] = words;
    let whole = enabled == running && got >= 3 + group.len();
    into.extend(counts.iter().take(group.len()).map(|count| whole.then_some(*count)));
    Ok(())
}

impl Counters {
    /// Starts counting for a thread.
    pub fn open(tid: u32) -> io::Result<Counters> {
        Ok(Counters {
            kernel: group(SOFTWARE, OF_KERNEL.iter().map(|(_, _, config)| *config), tid)?,
            processor: group(HARDWARE, of_processor().iter().map(|(_, _, config)| *config), tid)?,
        })
    }

    /// How long the thread ran so far, ns.
    pub fn ran(&self) -> io::Result<u64> {
        let mut values = Values::new();
        read(&self.kernel, &mut values)?;
        Ok(values.first().copied().flatten().unwrap_or(0))
    }

    /// The values at `now`, which is the value of the wall time.
    pub fn read(&self, now: u64) -> io::Result<Values> {
        let mut values = vec![Some(now)];
        read(&self.kernel, &mut values)?;
        read(&self.processor, &mut values)?;
        Ok(values)
    }
}

/// What was counted between two readings.
pub fn difference(before: &Values, after: &Values) -> Values {
    before.iter().zip(after).map(|(b, a)| Some((*a)?.wrapping_sub((*b)?))).collect()
}
