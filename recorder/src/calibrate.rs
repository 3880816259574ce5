//! Samples of code whose counts are known, on the calling thread.

use crate::choice::{has_counters, refused};
use crate::error::Error;
use crate::names::{Precision, Wanted, parse};
use crate::records::{HEADER, header, kinds, word};
use crate::sys::{Attr, Cpu, Event, Fields, Flags, Loop, Rate, Ring, Thread};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a loop runs between two looks at the ring, roughly.
const TURN: Duration = Duration::from_millis(20);
/// Pages of the ring: more than the samples of a look.
const PAGES: usize = 64;
/// Events without hardware counters, and with them.
const CLOCKS: &str = "cpu-clock,task-clock";
const COUNTERS: &str = "cycles,instructions,branches,cache-misses,branch-misses";

/// One event in one loop.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Of the event.
    pub event: String,
    /// Of the loop: one of the names of [`Loop`].
    pub code: &'static str,
    /// The loop's code, and where it stood.
    pub bytes: Vec<u8>,
    /// Where the code stood.
    pub address: u64,
    /// Samples at each address of the code.
    pub samples: BTreeMap<u64, u64>,
    /// Samples elsewhere: in the kernel, mostly.
    pub elsewhere: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Events counted.
    pub count: u64,
    /// Instructions and branches of a turn.
    pub per_turn: (f64, f64),
}

/// Samples each event that the machine has, in each loop, for about `time`.
pub fn measure(time: Duration, tell: &mut dyn FnMut(&str)) -> Result<Vec<Measured>, Error> {
    let events = parse(if has_counters() { COUNTERS } else { CLOCKS })?;
    let loops = Loop::all();
    let mut measured = vec![];
    for event in events.into_iter().flatten().map(imprecise) {
        tell(&event.name);
        for code in &loops {
            measured.push(sample(&event, code, time)?);
        }
    }
    Ok(measured)
}

/// What is exact has no skid to measure.
fn imprecise(event: Wanted) -> Wanted {
    Wanted { precision: Precision::Level(0), ..event }
}

fn attr(event: &Wanted) -> Attr {
    let mut attr = Attr::new(event.source);
    // a clock by its time, a counter by its events; primes, so that no loop keeps step
    attr.rate = match event.name.as_str() {
        "cpu-clock" | "task-clock" => Rate::Period(100_003),
        "cycles" | "instructions" => Rate::Period(250_007),
        "branches" => Rate::Period(1_009),
        _ => Rate::Period(4_001),
    };
    attr.fields = Fields::IP;
    attr.flags = Flags::DISABLED | Flags::EXCLUDE_HV;
    attr.flags.set(Flags::EXCLUDE_KERNEL, event.is_hardware());
    attr
}

fn sample(event: &Wanted, code: &Loop, time: Duration) -> Result<Measured, Error> {
    let mut attr = attr(event);
    let opened = Event::open(&attr, Thread::Own, Cpu::Any, None).or_else(|error| {
        attr.flags |= Flags::EXCLUDE_KERNEL;
        Event::open(&attr, Thread::Own, Cpu::Any, None).map_err(|_| error)
    });
    let counter = opened.map_err(|cause| refused(&event.name, &attr, cause))?;
    let mut ring = counter.ring(PAGES).map_err(|cause| Error::Ring { cause })?;
    let turns = turns(code);
    let mut measured = Measured {
        event: event.name.clone(),
        code: code.name,
        bytes: code.bytes.clone(),
        address: code.address,
        samples: BTreeMap::new(),
        elsewhere: 0,
        turns: 0,
        count: 0,
        per_turn: code.per_turn,
    };
    let failed = Error::system("cannot switch an event on");
    let until = Instant::now() + time;
    counter.enable().map_err(failed)?;
    while Instant::now() < until {
        code.run(turns);
        measured.turns += turns;
        measured.take(&mut ring);
    }
    counter.disable().map_err(Error::system("cannot switch an event off"))?;
    measured.take(&mut ring);
    measured.count = counter.count().map_err(Error::system("cannot read a counter"))?;
    Ok(measured)
}

/// Turns that take about [`TURN`].
fn turns(code: &Loop) -> u64 {
    let mut turns = 1000;
    loop {
        let start = Instant::now();
        code.run(turns);
        if start.elapsed() > TURN / 2 || turns > 1 << 40 {
            return turns;
        }
        turns *= 2;
    }
}

impl Measured {
    fn take(&mut self, ring: &mut Ring) {
        let code = self.address..self.address + self.bytes.len() as u64;
        while let Some(record) = ring.next_record() {
            if let (Some((kinds::SAMPLE, ..)), Some(ip)) = (header(record), word(record, HEADER)) {
                match code.contains(&ip) {
                    true => *self.samples.entry(ip).or_default() += 1,
                    false => self.elsewhere += 1,
                }
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::sys::loops;

    #[test]
    fn the_loops_run_and_end_with_a_return() {
        for code in Loop::all() {
            code.run(1000);
            // what follows up to the next loop is padding
            assert!(code.bytes.len() > 20 && code.bytes.contains(&0xc3), "{}", code.name);
        }
    }

    #[test]
    fn a_clock_samples_the_loop_that_runs() {
        let event = Wanted::of("cpu-clock").unwrap();
        let code = Loop::all().into_iter().find(|code| code.name == loops::DIVIDES).unwrap();
        match sample(&event, &code, Duration::from_millis(100)) {
            Ok(measured) => {
                assert!(measured.samples.values().sum::<u64>() > 10 && measured.turns > 1000);
                assert!(measured.count > 1_000_000, "nanoseconds");
            }
            Err(error) => {
                let required = std::env::var_os("SKIDCONV_REQUIRE_PERF").is_some();
                assert!(!required, "events are required: {error}");
                eprintln!("skipped: this kernel allows no such event: {error}");
            }
        }
    }
}
