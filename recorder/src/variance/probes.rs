//! What a stop costs while the program runs: measured again and again with a breakpoint on the next instruction.
//!
//! In: what was counted between two stops of a thread that ran no instruction. Out: what stops take of a window now, and what
//! they took on the whole. It knows nothing of threads.
//!
//! What is measured once, before the program begins, does not hold: on a busy virtual machine it was 19 to 55 µs from run to
//! run, and with 30 µs or more, where a stop took 22, calls of 20 to 400 µs came out 30 to 48 % too short.

use super::Stops;
use super::counters::{RAN, Values, WALL, value};

/// Returns for one probe.
const EVERY: u32 = 6;
/// Probes that tell of now. The longest is left out.
const RECENT: usize = 20;
/// Probes that are kept.
const KEPT: usize = 4096;

/// The probes so far.
#[derive(Clone, Debug)]
pub struct Probes {
    /// Until there are enough.
    known: u64,
    /// Of the thread's time and of the wall's, ns; the oldest give way.
    kept: Vec<[u64; 2]>,
    taken: usize,
    returns: u32,
}

impl Probes {
    /// A stop takes `ns` of the thread's time, as far as known.
    pub fn new(ns: u64) -> Probes {
        Probes { known: ns, kept: Vec::new(), taken: 0, returns: 0 }
    }

    /// A call returned; whether a probe is due.
    pub fn is_due(&mut self) -> bool {
        self.returns += 1;
        self.returns % EVERY == 1
    }

    /// So much was counted in a stop.
    pub fn push(&mut self, counted: &Values) {
        let [thread, wall] = [RAN, WALL].map(|of| value(counted, of).unwrap_or(0));
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
        let of = |ix: usize| Stops::of(self.kept.iter().map(|probe| probe[ix] as f64).collect());
        (self.kept.len() >= RECENT).then(|| [of(1), of(0)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(thread: u64, wall: u64) -> Values {
        vec![Some(wall), Some(thread)]
    }

    #[test]
    fn what_a_stop_costs_now_is_the_mean_of_the_last_but_the_longest() {
        let mut probes = Probes::new(100);
        assert_eq!(probes.cost(), 100);
        probes.push(&counted(100_000, 0));
        assert_eq!(probes.cost(), 100, "one of them may be anything");
        (0..2 * KEPT).for_each(|_| probes.push(&counted(300, 500)));
        assert_eq!(probes.cost(), 300);
        let [wall, thread] = probes.stops().unwrap();
        assert_eq!((wall.mean, wall.sd, thread.mean), (500.0, 0.0, 300.0));
        (0..RECENT).for_each(|n| probes.push(&counted(if n % 2 == 0 { 100 } else { 200 }, 0)));
        assert!((145..=150).contains(&probes.cost()), "{}", probes.cost());
    }
}
