//! How late a counter's interrupt comes, and which address it then records.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::core::Cycle;

/// Cycles from the overflow to the interrupt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Skid {
    /// Hardware-assisted: the instruction that caused the overflow is recorded.
    Precise,
    /// A constant and uniform jitter: `base`, plus or minus `spread` of it.
    Jitter {
        /// Cycles, at least 1.
        base: Cycle,
        /// Fraction of `base`, 0–1.
        spread: f64,
    },
    /// Lognormal: a median, and the deviation of the logarithm.
    LogNormal {
        /// Cycles.
        median: f64,
        /// Deviation of the natural logarithm.
        sigma: f64,
    },
    /// Two humps, 0–180 and 220–320 cycles, and a tail to 1000, like Gregg's Skylake histogram.
    TwoHump,
    /// A constant, and in some of the cases a Pareto tail on top.
    Tail {
        /// Cycles without the tail.
        base: Cycle,
        /// Share of interrupts with a tail, 0–1.
        share: f64,
        /// Exponent of the tail; smaller is heavier.
        exponent: f64,
    },
    /// A constant, and no interrupt while memory is being waited for.
    AfterMemory {
        /// Cycles without the wait.
        base: Cycle,
    },
}

/// The longest skid that any distribution gives.
pub const LONGEST: Cycle = 5000;

impl Skid {
    /// Draws the cycle of the interrupt for an overflow at `now`, while memory is busy until `memory_busy`.
    pub fn fires(&self, now: Cycle, memory_busy: Cycle, random: &mut Xoshiro256PlusPlus) -> Cycle {
        let delay = match *self {
            Skid::Precise => 0.0,
            Skid::Jitter { base, spread } => base as f64 * (1.0 + spread * (2.0 * random_unit(random) - 1.0)),
            Skid::LogNormal { median, sigma } => median * (sigma * normal(random)).exp(),
            Skid::TwoHump => two_hump(random),
            Skid::Tail { base, share, exponent } if random_unit(random) < share => {
                base as f64 * pareto(random, exponent)
            }
            Skid::Tail { base, .. } => base as f64,
            Skid::AfterMemory { base } => (base + memory_busy.saturating_sub(now).min(LONGEST)) as f64,
        };
        now + (delay.round() as Cycle).clamp(u64::from(*self != Skid::Precise), LONGEST)
    }
}

fn random_unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    random.random()
}

fn pareto(random: &mut Xoshiro256PlusPlus, exponent: f64) -> f64 {
    (1.0 - random_unit(random)).powf(-1.0 / exponent)
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (u, v) = (1.0 - random_unit(random), random_unit(random));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn two_hump(random: &mut Xoshiro256PlusPlus) -> f64 {
    let which = random_unit(random);
    let triangle = (random_unit(random) + random_unit(random)) / 2.0;
    match which {
        w if w < 0.62 => 180.0 * triangle,
        w if w < 0.95 => 220.0 + 100.0 * triangle,
        _ => 320.0 + 680.0 * random_unit(random),
    }
}

/// Which instruction's address the interrupt records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lands {
    /// The oldest that has not retired.
    OnHead,
    /// That one is allowed to finish; the next is recorded (Downs 2019, Skylake).
    AfterHead,
    /// It is allowed to finish only if it has been waited for that many cycles already; otherwise it is recorded itself.
    AfterLongHead(Cycle),
}

impl Lands {
    /// Whether an interrupt at `now` lets the head, which has been the head since `since`, finish first.
    pub fn finishes(self, since: Cycle, now: Cycle) -> bool {
        match self {
            Lands::OnHead => false,
            Lands::AfterHead => true,
            Lands::AfterLongHead(cycles) => now - since >= cycles,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn draws(skid: Skid) -> Vec<Cycle> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut all: Vec<_> = (0..20_000).map(|_| skid.fires(0, 0, &mut random)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn each_distribution_has_the_middle_and_the_ends_it_promises() {
        let j = draws(Skid::Jitter { base: 60, spread: 0.25 });
        assert_eq!((j[0], j[19_999]), (45, 75));
        let l = draws(Skid::LogNormal { median: 60.0, sigma: 0.5 });
        assert!((57..63).contains(&l[10_000]));
        let t = draws(Skid::Tail { base: 40, share: 0.2, exponent: 1.2 });
        assert!(t[15_000] == 40 && t[19_900] > 200 && t[19_999] <= LONGEST);
        let h = draws(Skid::TwoHump);
        assert!(h.iter().filter(|&&d| (181..220).contains(&d)).count() == 0 && h[19_900] > 320);
    }

    #[test]
    fn an_interrupt_waits_for_memory_only_under_that_model() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        assert_eq!(Skid::AfterMemory { base: 30 }.fires(100, 400, &mut random), 430);
        assert_eq!(Skid::Jitter { base: 30, spread: 0.0 }.fires(100, 400, &mut random), 130);
    }
}
