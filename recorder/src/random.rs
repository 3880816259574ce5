//! Intervals drawn afresh for every sample.
//!
//! NIST TN 1826, section 8, asks for it: a fixed period may keep step with a loop of the program. The kernel draws nothing, but
//! takes a new period at any time (`PERF_EVENT_IOC_PERIOD`), of the event that has the descriptor and not of those that were
//! inherited from it. So each thread has events of its own; a sample wakes the recorder, which sets what is left of the
//! interval that it draws:
//!
//! ```text
//! interval ~ U[mean/2, 3 mean/2),    period = interval − events since the sample
//! ```
//!
//! Each sample holds the count at its time, which makes the interval exact, and its period in the file is the interval
//! counted. A software event or breakpoint takes its next event for a sample when its period is set while it is on: it is
//! switched off meanwhile, and does not count then, so that its interval is exact as well.
//!
//! A period of `cpu-clock` below an eighth of the mean is not set: as long as the recorder did not get to run, the kernel went on
//! with 10 µs, and on a loaded machine 14,000 records of a second were lost. A thread that is born while the recorder sleeps
//! is counted from when it wakes; events that it inherits could not be told to draw.

use crate::choice::{Chosen, refused};
use crate::error::Error;
use crate::file::Described;
use crate::names::SOFTWARE;
use crate::output::Output;
use crate::records::{HEADER, Stamp, half, header, kinds, word};
use crate::running;
use crate::sys::{
    Attr, Clock, Cpu, Event, Fields, Flags, Poll, Rate, ReadFormat, Ring, Source, Thread, hurry, now,
};
use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use std::collections::HashSet;
use std::os::fd::AsFd;

/// Pages of the ring of a thread, which is emptied after each sample.
const PAGES: usize = 16;
/// The part of the mean that a period is at least: until the recorder gets to set the next one, the kernel goes on with it.
const SHORTEST: u64 = 8;

/// Events of all threads.
pub struct Random {
    /// Groups of the choice, as they are opened.
    groups: Vec<Vec<Chosen>>,
    /// The number of each event in the file, whatever its number in the kernel.
    ids: Vec<u64>,
    /// Where the count stands in a sample.
    count_at: usize,
    threads: Vec<Counted>,
    known: HashSet<u32>,
    generator: Xoshiro256PlusPlus,
    drawn: u64,
    late: u64,
    /// Whether those of new threads are on at once.
    system_wide: bool,
}

/// A thread, or a processor of all threads.
struct Counted {
    counters: Vec<Counter>,
    ring: Ring,
    has_ended: bool,
}

struct Counter {
    event: Event,
    /// In the kernel.
    id: u64,
    /// Place in the choice.
    place: usize,
    leads: bool,
    /// Count at its last sample.
    last: u64,
    /// Whether a sample has come that no interval was drawn for.
    is_due: bool,
}

impl Random {
    /// Opens `groups` for each of `threads`, or for all on each of `processors`.
    pub fn open(
        groups: &[Vec<Chosen>],
        threads: &[Thread],
        processors: &[u32],
        seed: u64,
    ) -> Result<Random, Error> {
        let groups: Vec<Vec<Chosen>> =
            groups.iter().map(|group| group.iter().cloned().map(counting).collect()).collect();
        let attr = groups[0][0].attr;
        let before = [Fields::IDENTIFIER, Fields::IP, Fields::TID, Fields::TIME, Fields::ADDR, Fields::CPU];
        let mut random = Random {
            ids: vec![],
            count_at: HEADER + 8 * before.iter().filter(|field| attr.fields.contains(**field)).count(),
            threads: vec![],
            known: HashSet::new(),
            generator: Xoshiro256PlusPlus::seed_from_u64(seed),
            drawn: 0,
            late: 0,
            system_wide: threads == [Thread::All],
            groups,
        };
        // what passes before an interval is set is part of it; where it is not allowed, more of them are late
        let _ = hurry();
        for &thread in threads {
            match thread {
                Thread::All => {
                    for &cpu in processors {
                        random.add(Thread::All, Cpu::Of(cpu))?;
                    }
                }
                _ => random.add(thread, Cpu::Any)?,
            }
        }
        match random.threads.first() {
            Some(first) => random.ids = first.counters.iter().map(|counter| counter.id).collect(),
            None => return Err(Error::system("cannot record")(std::io::ErrorKind::NotFound.into())),
        }
        Ok(random)
    }

    fn add(&mut self, thread: Thread, cpu: Cpu) -> Result<(), Error> {
        if let Thread::Of(number) = thread
            && !self.known.insert(number)
        {
            return Ok(());
        }
        let mut counters: Vec<Counter> = vec![];
        let mut ring = None;
        for group in &self.groups {
            let leader = counters.len();
            for chosen in group {
                let mut attr = chosen.attr;
                attr.rate = Rate::Period(draw(&mut self.generator, chosen.attr.rate.number()));
                let leading = counters.get(leader).map(|counter| &counter.event);
                if leading.is_some() {
                    attr.flags -= Flags::DISABLED | Flags::ENABLE_ON_EXEC;
                }
                let event = match Event::open(&attr, thread, cpu, leading) {
                    // it has ended meanwhile
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                    opened => opened.map_err(|cause| refused(&chosen.name, &attr, cause))?,
                };
                match counters.first() {
                    Some(first) => event.set_output(&first.event),
                    None => event.ring(PAGES).map(|mapped| ring = Some(mapped)),
                }
                .map_err(|cause| Error::Ring { cause })?;
                let id = event.id().map_err(Error::system("cannot number an event"))?;
                let (place, leads) = (counters.len(), leading.is_none());
                counters.push(Counter { event, id, place, leads, last: 0, is_due: false });
            }
        }
        self.threads.extend(ring.map(|ring| Counted { counters, ring, has_ended: false }));
        Ok(())
    }

    /// The events as the file tells of them.
    pub fn described(&self, groups: &[Vec<Chosen>]) -> Vec<Described> {
        let events = groups.iter().flatten().zip(&self.ids);
        let told = |(chosen, id): (&Chosen, &u64)| {
            let mut attr = chosen.attr;
            attr.fields |= Fields::PERIOD;
            Described { attr, name: chosen.name.clone(), ids: vec![*id] }
        };
        events.map(told).collect()
    }

    /// Waits for records of all, through `poll`.
    pub fn wait(&self, poll: &mut Poll) {
        for counter in self.threads.iter().filter_map(|thread| thread.counters.first()) {
            poll.add(counter.event.as_fd());
        }
    }

    /// Switches all on.
    pub fn enable(&self) -> Result<(), Error> {
        self.threads.iter().try_for_each(Counted::enable)
    }

    /// Switches all off.
    pub fn disable(&self) {
        for counter in self.threads.iter().flat_map(|thread| &thread.counters) {
            let _ = counter.event.disable();
        }
    }

    /// Intervals drawn, and those of them that were over before they could be set.
    pub fn drawn(&self) -> (u64, u64) {
        (self.drawn, self.late)
    }

    /// Writes what there is, and draws an interval for each event that had a sample.
    pub fn drain(&mut self, file: &mut Output) -> Result<(), Error> {
        let mut born = vec![];
        for at in 0..self.threads.len() {
            let Random { threads, ids, count_at, .. } = self;
            let thread = &mut threads[at];
            while let Some(record) = thread.ring.next_record() {
                let mut record = record.to_vec();
                if let Some((kinds::FORK, _, _)) = header(&record) {
                    born.extend(half(&record, HEADER + 8).zip(half(&record, HEADER)));
                }
                thread.has_ended |= matches!(header(&record), Some((kinds::EXIT, _, _)));
                if rewrite(&mut record, &mut thread.counters, ids, *count_at) != Some(Kept::No) {
                    file.write(&record)?;
                }
            }
            self.renew(at);
        }
        if !self.system_wide {
            self.threads.retain(|thread| !thread.has_ended);
            for (tid, pid) in born {
                self.begin(tid, pid, file)?;
            }
        }
        Ok(())
    }

    /// Counts a thread that was born while nobody counted it. What its process has become meanwhile is not in any ring.
    fn begin(&mut self, tid: u32, pid: u32, file: &mut Output) -> Result<(), Error> {
        let (before, time) = (self.threads.len(), now(Clock::Monotonic));
        self.add(Thread::Of(tid), Cpu::Any)?;
        self.threads[before..].iter().try_for_each(Counted::enable)?;
        if tid == pid && before < self.threads.len() {
            let stamp = Stamp {
                pid,
                tid,
                time: time.map_err(Error::system("cannot read a clock"))?,
                id: self.ids[0],
            };
            let attr = self.groups[0][0].attr;
            running::state(pid, &attr, &stamp).iter().try_for_each(|record| file.write(record))?;
        }
        Ok(())
    }

    /// Draws for those that are due.
    fn renew(&mut self, at: usize) {
        let Random { threads, groups, generator, drawn, late, .. } = self;
        for counter in threads[at].counters.iter_mut().filter(|counter| counter.is_due) {
            counter.is_due = false;
            let attr = groups.iter().flatten().nth(counter.place).map(|chosen| chosen.attr);
            let Some(attr) = attr else { continue };
            *drawn += 1;
            let interval = draw(generator, attr.rate.number());
            // that it fails where the thread has ended is known by its EXIT
            *late += u64::from(counter.set(interval, &attr).unwrap_or(false));
        }
    }
}

impl Counted {
    fn enable(&self) -> Result<(), Error> {
        let mut leaders = self.counters.iter().filter(|counter| counter.leads);
        leaders
            .try_for_each(|leader| leader.event.enable_group())
            .map_err(Error::system("cannot switch events on"))
    }
}

impl Counter {
    /// Sets what is left of an interval; whether nothing was.
    fn set(&self, interval: u64, attr: &Attr) -> std::io::Result<bool> {
        let stop = !keeps_step(attr);
        if stop {
            self.event.disable()?;
        }
        let passed = self.event.count()?.saturating_sub(self.last);
        let left = interval.saturating_sub(passed);
        let shortest = (attr.rate.number() / SHORTEST).max(1);
        self.event.set_period(left.max(shortest))?;
        if stop {
            self.event.enable()?;
        }
        Ok(left < shortest)
    }
}

/// Counts in its samples, wakes at each record, and is inherited by none.
fn counting(mut chosen: Chosen) -> Chosen {
    let attr = &mut chosen.attr;
    attr.fields |= Fields::READ;
    attr.fields -= Fields::PERIOD;
    attr.read_format = ReadFormat::empty();
    attr.flags |= Flags::WATERMARK;
    attr.wakeup = 1;
    chosen
}

/// Uniform around the mean, no less than half of it: what it takes to set an interval has to fit.
fn draw(generator: &mut Xoshiro256PlusPlus, mean: u64) -> u64 {
    let mean = mean.max(1);
    generator.random_range(mean.div_ceil(2)..(mean + mean / 2).max(mean.div_ceil(2) + 1))
}

/// Whether a period set while the event is on begins then; others take their next event for a sample.
fn keeps_step(attr: &Attr) -> bool {
    match attr.source {
        Source::Event { kind, .. } => kind != SOFTWARE || is_clock(attr),
        Source::Breakpoint { .. } => false,
    }
}

/// `cpu-clock` or `task-clock`.
fn is_clock(attr: &Attr) -> bool {
    matches!(attr.source, Source::Event { kind: SOFTWARE, config: [0 | 1, ..] })
}

/// Whether a record goes to the file.
#[derive(PartialEq)]
enum Kept {
    Yes,
    No,
}

/// Gives the record the number that the file knows its event by; a sample the events since the one before for its count,
/// which stands where its period is to stand.
///
/// A sample that comes before an interval was drawn for the one before it is none: what it counts is part of that interval.
fn rewrite(record: &mut [u8], counters: &mut [Counter], ids: &[u64], count_at: usize) -> Option<Kept> {
    let (kind, _, size) = header(record)?;
    let is_sample = kind == kinds::SAMPLE;
    let id_at = if is_sample { HEADER } else { size.checked_sub(8)? };
    let id = word(record, id_at)?;
    let counter = counters.iter_mut().find(|counter| counter.id == id)?;
    let told = ids.get(counter.place)?.to_ne_bytes();
    record.get_mut(id_at..)?.first_chunk_mut().map(|at| *at = told)?;
    if kind == kinds::LOST {
        record.get_mut(HEADER..)?.first_chunk_mut().map(|at| *at = told)?;
    }
    if is_sample && counter.is_due {
        return Some(Kept::No);
    }
    if is_sample {
        let count = word(record, count_at)?;
        let interval = count.saturating_sub(counter.last).to_ne_bytes();
        record.get_mut(count_at..)?.first_chunk_mut().map(|at| *at = interval)?;
        (counter.last, counter.is_due) = (count, true);
    }
    Some(Kept::Yes)
}
