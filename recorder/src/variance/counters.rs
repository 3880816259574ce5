//! What is counted from a call's beginning to its end.
//!
//! In: a thread. Out: the metrics that this machine has, and their values so far, or as they were when the thread was stopped.
//! Time and software events are always there; the counters of the processor only where it has some, and then without the
//! kernel's work, so that the tool's own stops do not count.
//!
//! From an exception to the thread's standing still it takes 5 to 30 µs of its own time, the longer the colder the caches
//! are: 8 µs more behind calls of 700 µs than behind short ones. So the kernel writes down when events came and when the
//! thread was switched, and what it ran meanwhile is taken away. (Breakpoints in the counters' group, whose samples hold the
//! group's values, do not fire when they are switched on while the thread runs; Linux 6.1.)

use crate::records::kinds;
use crate::sys::{Attr, Clock, Cpu, Event, Fields, Flags, ReadFormat, Ring, Source, Thread};
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
    /// When events came and when the thread was switched; `None` where no more memory may be locked.
    ring: Option<Ring>,
    stopping: Option<Stopping>,
}

/// An event came that stops the thread.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    /// When.
    time: u64,
    /// How long the thread ran since then, and since when it does, ns.
    ran: u64,
    since: Option<u64>,
    /// How often it was switched away since then.
    switches: u64,
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
    flags.set(Flags::CONTEXT_SWITCH | Flags::SAMPLE_ID_ALL, kind == SOFTWARE && leads);
    let times = ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING;
    let read_format = if leads { ReadFormat::GROUP | times } else { ReadFormat::GROUP };
    let attr = Attr { flags, read_format, ..Attr::new(Source::Event { kind, config: [config, 0, 0, 0] }) };
    match kind {
        // all of a group have one clock
        SOFTWARE => noting(attr),
        _ => attr,
    }
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
        let kernel = group(SOFTWARE, OF_KERNEL.iter().map(|(_, _, config)| *config), tid)?;
        let ring = kernel.first().and_then(|leader| leader.ring(1).ok());
        let processor = group(HARDWARE, of_processor().iter().map(|(_, _, config)| *config), tid)?;
        Ok(Counters { kernel, processor, ring, stopping: None })
    }

    /// Opens an event of [`noting`].
    pub fn stopping(&self, attr: &Attr, tid: u32) -> io::Result<Event> {
        let event = Event::open(attr, Thread::Of(tid), Cpu::Any, None)?;
        if let (Some(leader), Some(_)) = (self.kernel.first(), &self.ring) {
            event.set_output(leader)?;
        }
        Ok(event)
    }

    /// Whether an event came whose stop was not seen yet.
    pub fn is_stopping(&mut self) -> bool {
        while let Some(record) = self.ring.as_mut().and_then(Ring::next_record) {
            self.stopping = written(record, self.stopping);
        }
        self.stopping.is_some()
    }

    /// The values when the last event came that stopped the thread, which stands still; at `now`, where nothing tells.
    pub fn stopped(&mut self, now: u64) -> io::Result<Values> {
        let mut values = self.read(now)?;
        self.is_stopping();
        let Some(stopping) = self.stopping.take() else { return Ok(values) };
        let since =
            [(WALL, now.saturating_sub(stopping.time)), (RAN, stopping.ran), (SWITCHES, stopping.switches)];
        for (ix, since) in since {
            values[ix] = values[ix].map(|value| value.saturating_sub(since));
        }
        Ok(values)
    }

    /// How long the thread ran so far, ns.
    pub fn ran(&self) -> io::Result<u64> {
        let mut values = Values::new();
        read(&self.kernel, &mut values)?;
        Ok(value(&values, 0).unwrap_or(0))
    }

    /// The values at `now`, which is the value of the wall time.
    pub fn read(&self, now: u64) -> io::Result<Values> {
        let mut values = vec![Some(now)];
        read(&self.kernel, &mut values)?;
        read(&self.processor, &mut values)?;
        Ok(values)
    }
}

/// Has it written down when an event comes.
pub fn noting(attr: Attr) -> Attr {
    Attr { fields: Fields::TIME, clock: Some(Clock::Monotonic), ..attr }
}

/// `struct { header; u64 time; }` of an event, or of a switch with it as its only sample's field.
fn written(record: &[u8], before: Option<Stopping>) -> Option<Stopping> {
    // PERF_RECORD_MISC_SWITCH_OUT
    const OUT: u64 = 1 << 13;
    let word = |at: usize| record.get(8 * at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    let (Some(header), Some(time)) = (word(0), word(1)) else { return before };
    match (header as u32, before) {
        (kinds::SAMPLE, _) => Some(Stopping { time, ran: 0, since: Some(time), switches: 0 }),
        (kinds::SWITCH, Some(of)) if header >> 32 & OUT == 0 => Some(Stopping { since: Some(time), ..of }),
        (kinds::SWITCH, Some(of)) => {
            let ran = of.ran + of.since.map_or(0, |since| time.saturating_sub(since));
            Some(Stopping { ran, since: None, switches: of.switches + 1, ..of })
        }
        _ => before,
    }
}

/// The place of the time.
pub const WALL: usize = 0;
/// The place of the time that the thread ran.
pub const RAN: usize = 1;
/// The place of the number of times that it was switched away.
const SWITCHES: usize = 3;

/// One of them; `None` where it was not counted.
pub fn value(values: &Values, place: usize) -> Option<u64> {
    values.get(place).copied().flatten()
}

/// What was counted between two readings.
pub fn difference(before: &Values, after: &Values) -> Values {
    before.iter().zip(after).map(|(b, a)| Some((*a)?.saturating_sub((*b)?))).collect()
}

/// Counts more. What was not counted is nothing.
pub fn add(to: &mut Values, more: &Values) {
    to.resize(more.len(), None);
    to.iter_mut().zip(more).for_each(|(to, more)| *to = Some(to.unwrap_or(0) + more.unwrap_or(0)));
}
