//! What a stop costs while the program runs: measured again and again with single steps.
//!
//! In: how long a thread took for one instruction of its own between two stops. Out: what stops take of a window now, and what
//! they took on the whole. It knows nothing of threads.
//!
//! What is measured once, before the program begins, does not hold: on a busy virtual machine it was 19 to 55 µs from run to
//! run, and with 30 µs or more, where a stop took 22, calls of 20 to 400 µs came out 30 to 48 % too short (with steps, 1 to
//! 6 % too long in the same turns). A step costs what a breakpoint does: medians of 24.7, 23.2 and 20.1 µs beside 26.0, 23.4
//! and 20.1 µs, means of all but the largest twentieth of 29.9, 25.8 and 24.8 µs beside 31.6, 26.2 and 25.1 µs.

use super::Stops;
use super::counters::{RAN, Values};

/// Returns for one step.
const EVERY: u32 = 6;
/// Steps that tell of now. The longest is left out.
const RECENT: usize = 20;
/// Steps that are kept.
const KEPT: usize = 4096;

/// The steps so far.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Until there are enough.
    known: u64,
    /// Of the thread's time and of the wall's, ns; the oldest give way.
    kept: Vec<[u64; 2]>,
    taken: usize,
    returns: u32,
}

impl Steps {
    /// A stop takes `ns` of the thread's time, as far as known.
    pub fn new(ns: u64) -> Steps {
        Steps { known: ns, kept: Vec::new(), taken: 0, returns: 0 }
    }

    /// A call returned; whether a step is due.
    pub fn is_due(&mut self) -> bool {
        self.returns += 1;
        self.returns % EVERY == 1
    }

    /// So much was counted in a stop.
    pub fn push(&mut self, counted: &Values) {
        let [thread, wall] = [RAN, 0].map(|ix| counted.get(ix).copied().flatten().unwrap_or(0));
        match self.kept.get_mut(self.taken % KEPT) {
            Some(oldest) => *oldest = [thread, wall],
            None => self.kept.push([thread, wall]),
        }
        self.taken += 1;
    }

    /// What a stop takes of the thread's time now, ns.
    pub fn cost(&self) -> u64 {
        let mut recent = [self.known; RECENT];
        for (ix, recent) in recent.iter_mut().enumerate().take(self.taken) {
            *recent = self.kept[(self.taken - 1 - ix) % KEPT][0];
        }
        recent.sort();
        recent[..RECENT - 1].iter().sum::<u64>() / (RECENT - 1) as u64
    }

    /// What stops took, of the wall's time and of the thread's; `None` of too few.
    pub fn stops(&self) -> Option<[Stops; 2]> {
        let of = |ix: usize| Stops::of(self.kept.iter().map(|step| step[ix] as f64).collect());
        (self.kept.len() >= RECENT).then(|| [of(1), of(0)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stop_costs_now_is_the_mean_of_the_last_but_the_longest() {
        let mut steps = Steps::new(100);
        assert_eq!(steps.cost(), 100);
        steps.push(100_000, 0);
        assert_eq!(steps.cost(), 100, "one of them may be anything");
        (0..2 * KEPT).for_each(|_| steps.push(300, 500));
        assert_eq!(steps.cost(), 300);
        let [wall, thread] = steps.stops().unwrap();
        assert_eq!((wall.mean, wall.sd, thread.mean), (500.0, 0.0, 300.0));
        (0..RECENT).for_each(|n| steps.push(if n % 2 == 0 { 100 } else { 200 }, 0));
        assert!((145..=150).contains(&steps.cost()), "{}", steps.cost());
    }
}
