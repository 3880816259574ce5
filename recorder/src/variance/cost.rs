//! What the tool itself adds to a call: measured with a function that does nothing.

use super::{Call, Candidate, Error, Observer, Options, Sampler, Stop};
use crate::sys::trace;
use std::hint::black_box;
use std::io;
use std::time::Duration;

/// Calls that are enough.
const CALLS: usize = 50;
/// Calls a second: more than there can be, so that windows follow each other.
const RATE: f64 = 1e5;

/// The time for that: where debug registers do nothing, there are no calls.
const LONGEST: Duration = Duration::from_secs(10);

/// What single stops take, of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stops {
    /// The lower quartile.
    pub usual: f64,
    /// The mean of all but the largest twentieth: other work on the machine only adds, and sometimes much.
    pub mean: f64,
    /// The standard deviation as the interquartile range of a normal distribution gives it.
    pub sd: f64,
}

impl Stops {
    /// From what each took.
    pub fn of(mut values: Vec<f64>) -> Stops {
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values.get((values.len() as f64 * part) as usize).copied().unwrap_or(0.0);
        let most = &values[..values.len() * 19 / 20];
        let mean = most.iter().sum::<f64>() / most.len().max(1) as f64;
        Stops { usual: at(0.25), mean, sd: (at(0.75) - at(0.25)) / 1.349 }
    }
}

/// What is counted in a sampled call of an empty function, by metric. Every further stop during a call costs about the same
/// again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost(pub Vec<Stops>);

impl Cost {
    /// Measures it, in some hundredths of a second. Metrics that were not counted cost nothing.
    pub fn measure(seed: u64) -> Result<Cost, Error> {
        let pid = trace::fork(work).map_err(Error::Wait)?;
        let mut empty = Empty::default();
        let entry = called as *const () as u64;
        let options = Options { rate: RATE, seed, duration: Some(LONGEST) };
        let sampler = Sampler::new(options, 0, &mut empty);
        let done = sampler.watch(pid, Candidate { entry, end: entry + 64 });
        let _ = trace::kill(pid, libc::SIGKILL);
        let _ = trace::wait_for(pid);
        match done {
            Err(Stopped::Failed(error)) => Err(error),
            _ if empty.0.is_empty() => Err(Error::Unsupported(io::ErrorKind::TimedOut.into())),
            _ => Ok(empty.cost()),
        }
    }
}

#[inline(never)]
extern "C" fn called(x: u64) -> u64 {
    black_box(x)
}

extern "C" fn work() -> ! {
    loop {
        black_box(called(1));
        for x in 0..1000 {
            black_box(x);
        }
    }
}

#[derive(Default)]
struct Empty(Vec<Vec<f64>>);

enum Stopped {
    Enough,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Failed(error)
    }
}

impl Empty {
    fn cost(self) -> Cost {
        Cost(self.0.into_iter().map(Stops::of).collect())
    }
}

impl Observer for Empty {
    type Error = Stopped;

    fn thread(&mut self, _: u32, _: u32) -> Result<(), Stopped> {
        Ok(())
    }

    fn exec(&mut self, _: u32) -> Result<(), Stopped> {
        Ok(())
    }

    fn running(&mut self, _: &Stop<'_>) -> Result<Vec<Candidate>, Stopped> {
        let entry = called as *const () as u64;
        Ok(vec![Candidate { entry, end: entry + 64 }])
    }

    fn called(&mut self, _: &Stop<'_>) -> Result<u32, Stopped> {
        Ok(0)
    }

    fn returned(&mut self, call: &Call) -> Result<(), Stopped> {
        // what other stops added is no part of it
        if call.stops > 0 {
            return Ok(());
        }
        self.0.resize(call.values.len(), vec![]);
        for (of, value) in self.0.iter_mut().zip(&call.values) {
            of.extend(value.map(|value| value as f64));
        }
        match self.0.first().is_some_and(|of| of.len() >= CALLS) {
            true => Err(Stopped::Enough),
            false => Ok(()),
        }
    }

    fn lost(&mut self, _: u32, _: u32) -> Result<(), Stopped> {
        Ok(())
    }
}
