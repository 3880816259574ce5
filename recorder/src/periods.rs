//! How many events from sample to sample.
//!
//! A period that shares a factor with what a loop does meets the same instruction again and again. Primes share none, and
//! each event has its own.

use crate::machine;
use crate::names::{CACHE, HARDWARE, SOFTWARE, TRACEPOINT, Wanted};
use crate::sys::Rate;

/// Samples a second to aim at, as perf does.
const SAMPLES: f64 = 4000.0;

/// Rates for events that each suit one, all different.
#[derive(Debug)]
pub struct Periods {
    hertz: f64,
    taken: Vec<u64>,
}

impl Periods {
    /// For this machine.
    pub fn here() -> Periods {
        Periods { hertz: machine::frequency(), taken: vec![] }
    }

    /// A rate for `event`.
    pub fn choose(&mut self, event: &Wanted) -> Rate {
        let Some(per_second) = per_second(event, self.hertz) else { return Rate::Frequency(SAMPLES as u64) };
        let mut period = ((per_second / SAMPLES) as u64).max(1);
        while period > 2 && (!is_prime(period) || self.taken.contains(&period)) {
            period -= 1;
        }
        self.taken.push(period);
        Rate::Period(period)
    }
}

/// How often the event comes in a busy second; at most as often as one wants samples where each is one. `None` of what cannot
/// be known.
fn per_second(event: &Wanted, hertz: f64) -> Option<f64> {
    let (kind, config) = event.id();
    match (kind, config) {
        // cycles and instructions; branches are a fifth of these
        (HARDWARE, 0 | 1 | 9) => Some(hertz),
        (HARDWARE, 4) => Some(hertz / 5.0),
        (HARDWARE, _) | (CACHE, _) => None,
        // clocks count nanoseconds
        (SOFTWARE, 0 | 1) => Some(1e9),
        (SOFTWARE | TRACEPOINT | 5, _) => Some(SAMPLES),
        _ => None,
    }
}

/// By trial division: numbers here are below 10⁷.
fn is_prime(number: u64) -> bool {
    number >= 2 && (2..).take_while(|d| d * d <= number).all(|d| !number.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_a_prime_of_its_own() {
        let mut periods = Periods { hertz: 3e9, taken: vec![] };
        let mut choose = |name: &str| periods.choose(&Wanted::of(name).unwrap());
        let chosen = ["cycles", "instructions", "cpu-clock", "task-clock"].map(|name| choose(name).number());
        assert_eq!(chosen, [749_993, 749_971, 249_989, 249_973]);
        assert!(chosen.iter().all(|&period| is_prime(period)));
        assert_eq!(choose("page-faults"), Rate::Period(1));
        assert_eq!(choose("cache-misses"), Rate::Frequency(4000));
    }

    #[test]
    fn primes_are_told_from_other_numbers() {
        let primes: Vec<u64> = (0..30).filter(|&n| is_prime(n)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }
}
