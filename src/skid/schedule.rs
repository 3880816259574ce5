//! How long instructions hold the head of the retirement queue on an ideal core.
//!
//! In: a region, how often each way is taken, how often that is guessed wrong, and what loads seem to stall for. Out: cycles per
//! node, averaged over walks through a [`Core`]. A chain of multiplications through a loop keeps its head waiting on any
//! core, code without one leaves at full width, and what stands behind a long stall leaves as fast as can be, for it was done
//! in the meantime. Time over this is executions: the other half of what is seen, for it does not depend on the skid.
//!
//! It replaced half a cycle for each plain instruction: block distance of flow and time from .084 to .036 on five programs,
//! from .092 to .086 on 44 recordings of other cores. On a loop of three multiplications it gives the 3.0 and 1.0 cycles that
//! the simulator spends, cycle for cycle. Refuted: stalls that all take 20 or 100 cycles instead of 40 (no difference).

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::circulation::Rates;
use super::core::{Core, Manner, Shape};
use super::guesses::Guesses;
use super::hold::Holds;
use super::likelihood::Model;
use super::region::{By, Node, Region};

/// Instructions walked for each of the region's, at least and at most in all.
const WALKED: usize = 60;
const LEAST_WALKED: usize = 40_000;
const MOST_WALKED: usize = 400_000;
/// Instructions walked in one go, and how many only fill the core where a walk starts as often as code runs.
const STRETCH: usize = 400;
const FILLING: usize = 60;
/// Cycles of a load that misses.
const MISS: f64 = 40.0;
/// Cycles beyond the ideal that are not taken for a stall.
const CHANCE: f64 = 2.0;

/// What the ideal core takes.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Cycles for which each node holds the head.
    pub cycles: Vec<f64>,
    /// What of that is behind a wrong guess.
    pub refills: Vec<Refill>,
}

impl Schedule {
    /// Cycles for which each node holds the head behind a right guess.
    pub fn right(&self) -> impl Iterator<Item = f64> {
        self.cycles.iter().zip(&self.refills).map(|(cycles, r)| (cycles - r.share * r.cycles).max(0.0))
    }
}

/// What wrong guesses right before a node cost there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refill {
    /// Share of its executions that come behind one.
    pub share: f64,
    /// Cycles for which it holds the head longer then.
    pub cycles: f64,
}

/// Which walks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walks {
    /// The core.
    pub shape: Shape,
    /// What of that is not known.
    pub manner: Manner,
    /// Equal seeds walk equally.
    pub seed: u64,
}

/// The schedule at `rates` by these `walks`, if choices are guessed wrong as `guesses` has it, and each node stalls for `stalls` on
/// average; none: nothing stalls.
pub fn schedule(region: &Region, rates: &Rates, guesses: &Guesses, stalls: &[f64], walks: Walks) -> Schedule {
    let mut walker = Walker::new(region, rates, guesses, stalls, walks);
    let mut left = (WALKED * region.nodes.len()).clamp(LEAST_WALKED, MOST_WALKED);
    let mut turn = 0;
    while left > 0 && !region.blocks.is_empty() {
        // where time is spent, and in turn everywhere
        let (block, skip) = match turn % 2 {
            0 => (walker.likely(), FILLING),
            _ => ((turn / 2) % region.blocks.len(), 0),
        };
        left -= walker.walk(block, skip, STRETCH.min(left));
        turn += 1;
    }
    walker.means()
}

/// Makes `one` come nearer to `another`, by this `part` of the way.
pub fn approach(one: &mut [f64], another: &[f64], part: f64) {
    one.iter_mut().zip(another).for_each(|(one, another)| *one += part * (another - *one));
}

/// What loads are waited for beyond `model`'s ideal, of what `holds` the head.
pub fn stalls(model: &Model, holds: &Holds) -> Vec<f64> {
    let beyond = |(i, node): (usize, &Node)| match node.loads || node.fed {
        true => (holds.mean[i] - model.ideal[i] - CHANCE).max(0.0),
        false => 0.0,
    };
    model.region.nodes.iter().enumerate().map(beyond).collect()
}

struct Walker<'a> {
    region: &'a Region,
    rates: &'a Rates,
    /// How likely each arm was not expected.
    risks: Vec<f64>,
    stalls: &'a [f64],
    walks: Walks,
    /// Executed instructions in all blocks up to each.
    sums: Vec<f64>,
    rng: Xoshiro256PlusPlus,
    held: Vec<Held>,
}

/// Cycles and visits of a node: of all, and of those behind a wrong guess.
#[derive(Clone, Copy, Default)]
struct Held {
    all: (f64, f64),
    refilled: (f64, f64),
}

impl<'a> Walker<'a> {
    fn new(
        region: &'a Region,
        rates: &'a Rates,
        guesses: &Guesses,
        stalls: &'a [f64],
        walks: Walks,
    ) -> Walker<'a> {
        let mut sum = 0.0;
        let executed = region.blocks.iter().zip(&rates.blocks);
        let sums = executed.map(|(block, rate)| {
            sum += rate.max(0.0) * block.nodes.len() as f64;
            sum
        });
        Walker {
            region,
            rates,
            risks: guesses.risks(region, rates),
            stalls,
            walks,
            sums: sums.collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(walks.seed),
            held: vec![Held::default(); region.nodes.len()],
        }
    }

    /// A block, as often as its instructions run.
    fn likely(&mut self) -> usize {
        let at = self.rng.random::<f64>() * self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|&s| s < at).min(self.region.blocks.len() - 1)
    }

    /// Walks from `block` for at most `most` instructions, the first `skip` of which do not count; how many it were.
    fn walk(&mut self, block: usize, skip: usize, most: usize) -> usize {
        let mut core = Core::new(self.walks.shape, self.walks.manner);
        let mut at = self.region.blocks[block].nodes.start;
        let mut wrong = false;
        for walked in 0..most {
            let stall = self.stall(at);
            let cycles = core.retire(&self.region.nodes[at], stall) as f64;
            if walked >= skip {
                self.held[at].add(cycles, wrong);
            }
            let Some((to, by)) = self.next(at) else { return walked + 1 };
            let risk = if let By::Arm(arm) = by { self.risks[arm] } else { 0.0 };
            wrong = risk > 0.0 && self.rng.random::<f64>() < risk;
            if wrong {
                core.refill();
            }
            at = to;
        }
        most
    }

    /// Cycles of a stall at `node`: seldom and long rather than always and short.
    fn stall(&mut self, node: usize) -> u64 {
        let mean = self.stalls.get(node).copied().unwrap_or(0.0);
        if mean > 0.0 && self.rng.random::<f64>() < mean / MISS { MISS.max(mean) as u64 } else { 0 }
    }

    /// The node behind `from`, and by what it came there.
    fn next(&mut self, from: usize) -> Option<(usize, By)> {
        let mut left = self.rng.random::<f64>();
        let taken = (self.region.starts[from]..self.region.starts[from + 1]).find(|&step| {
            left -= self.rates.steps[step];
            left < 0.0
        })?;
        Some((self.region.steps[taken].to, self.region.steps[taken].by))
    }

    fn means(self) -> Schedule {
        let full = 1.0 / f64::from(self.walks.shape.width);
        let mean = |held: &Held| if held.all.1 > 0.0 { held.all.0 / held.all.1 } else { full };
        Schedule {
            cycles: self.held.iter().map(mean).collect(),
            refills: self.held.iter().map(Held::refill).collect(),
        }
    }
}

impl Held {
    fn add(&mut self, cycles: f64, wrong: bool) {
        let refilled = if wrong { Some(&mut self.refilled) } else { None };
        for sum in std::iter::once(&mut self.all).chain(refilled) {
            *sum = (sum.0 + cycles, sum.1 + 1.0);
        }
    }

    fn refill(&self) -> Refill {
        let Held { all, refilled } = *self;
        if refilled.1 == 0.0 {
            return Refill::default();
        }
        let expected = (all.0 - refilled.0) / (all.1 - refilled.1).max(1.0);
        Refill { share: refilled.1 / all.1, cycles: (refilled.0 / refilled.1 - expected).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    /// The schedule of a loop of `body` that runs a thousand times; `stalls` are its instructions'.
    fn of_loop(body: &[u8], stalls: &[f64]) -> Vec<f64> {
        by(body, stalls, Walks::default())
    }

    fn on(body: &[u8], stalls: &[f64], shape: Shape) -> Vec<f64> {
        by(body, stalls, Walks { shape, ..Walks::default() })
    }

    fn by(body: &[u8], stalls: &[f64], walks: Walks) -> Vec<f64> {
        // …; dec %edi; jne 0; ret
        let back = (body.len() as u8 + 4).wrapping_neg();
        let code = [body, &[0xff, 0xcf, 0x75, back, 0xc3]].concat();
        let function = explore(&Bytes(0, code.clone()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        assert_eq!(region.freedom(), 1);
        let rates = Circulation::new(&region).rates(&region, &[1000f64.ln()], 1e6).expect("a flow");
        schedule(&region, &rates, &Guesses::new(&region), stalls, walks).cycles
    }

    fn taken(body: &[u8], manner: Manner) -> Vec<f64> {
        by(body, &[], Walks { manner, ..Walks::default() })
    }

    fn cycles(schedule: &[f64]) -> f64 {
        schedule[..schedule.len() - 1].iter().sum()
    }

    #[test]
    fn a_chain_through_a_loop_takes_its_latencies() {
        // imul $7,%eax,%eax; add $1,%eax
        let ideal = of_loop(&[0x6b, 0xc0, 0x07, 0x83, 0xc0, 0x01], &[]);
        assert!((ideal[0] - 3.0).abs() < 0.05 && (ideal[1] - 1.0).abs() < 0.05, "{ideal:?}");
        assert!((cycles(&ideal) - 4.0).abs() < 0.05);
    }

    #[test]
    fn independent_instructions_leave_at_full_width() {
        // seven times mov %eax,%ecx, and the pair at the end
        let ideal = of_loop(&[0x89, 0xc1].repeat(7), &[]);
        assert!((cycles(&ideal) - 2.0).abs() < 0.05, "{ideal:?}");
    }

    #[test]
    fn one_multiplication_starts_in_a_cycle_where_they_compete() {
        // imul $7,%esi,%ecx (eight times), which nothing waits for
        let body = [0x6b, 0xce, 0x07].repeat(8);
        let crowded = taken(&body, Manner { crowded: true, ..Manner::default() });
        let free = of_loop(&body, &[]);
        assert!(cycles(&free) < 3.0, "{free:?}");
        assert!((cycles(&crowded) - 8.0).abs() < 0.1, "{crowded:?}");
    }

    #[test]
    fn copies_take_no_time_where_they_are_renamed() {
        let renames = Manner { renames: true, crowded: true };
        // mov %eax,%ecx; mov %ecx,%eax; add $1,%eax
        let integers = [0x89, 0xc1, 0x89, 0xc8, 0x83, 0xc0, 0x01];
        assert!((cycles(&of_loop(&integers, &[])) - 3.0).abs() < 0.1);
        assert!((cycles(&taken(&integers, renames)) - 1.25).abs() < 0.3);
        // movsbl %al,%eax; movsbl %al,%eax: these make another value of it
        let widened = [0x0f, 0xbe, 0xc0].repeat(2);
        assert!((cycles(&taken(&widened, renames)) - 2.0).abs() < 0.1);
        // mov (%rsi),%rsi
        assert!((cycles(&taken(&[0x48, 0x8b, 0x36], renames)) - 4.0).abs() < 0.1);
    }

    #[test]
    fn parts_that_fall_make_a_mean() {
        let mut mean = vec![1.0, 4.0];
        approach(&mut mean, &[2.0, 0.0], 1.0 / 2.0);
        approach(&mut mean, &[6.0, 5.0], 1.0 / 3.0);
        assert_eq!(mean, [3.0, 3.0]);
    }

    #[test]
    fn in_order_the_first_use_waits_and_two_leave_in_a_cycle() {
        // imul $7,%esi,%ecx; mov %eax,%edx; mov %ecx,%r8d; mov %eax,%edx
        let body = [0x6b, 0xce, 0x07, 0x89, 0xc2, 0x41, 0x89, 0xc8, 0x89, 0xc2];
        let (out, ordered) = (of_loop(&body, &[]), on(&body, &[], Shape::IN_ORDER));
        assert!(out[2] < 1.1, "{out:?}");
        assert!((ordered[1] + ordered[2] - 3.0).abs() < 0.05, "{ordered:?}");
        assert!((cycles(&on(&[0x89, 0xc1].repeat(6), &[], Shape::IN_ORDER)) - 4.0).abs() < 0.05);
    }

    #[test]
    fn what_was_stored_is_there_when_it_was_made() {
        // mov %eax,(%rsi); mov (%rsi),%eax
        let renames = Manner { renames: true, ..Manner::default() };
        for (manner, forwarding) in [(renames, 5.0), (Manner::default(), 6.0)] {
            let ideal = taken(&[0x89, 0x06, 0x8b, 0x06], manner);
            assert!((cycles(&ideal) - forwarding).abs() < 0.05, "{ideal:?}");
            // add $8,%rsi; mov %eax,(%rsi); mov -8(%rsi),%eax: each is the one before the last
            let sums = taken(&[0x48, 0x83, 0xc6, 0x08, 0x89, 0x06, 0x8b, 0x46, 0xf8], manner);
            assert!((cycles(&sums) - forwarding / 2.0).abs() < 0.05, "{sums:?}");
        }
        // mov %eax,(%rsi); mov (%rsp),%eax
        let apart = of_loop(&[0x89, 0x06, 0x8b, 0x04, 0x24], &[]);
        assert!(cycles(&apart) < 1.5, "{apart:?}");
    }

    #[test]
    fn a_counter_that_is_kept_in_memory_waits_for_itself() {
        // mov (%rbx),%rdx; add $1,(%rdx); mov (%rbx),%rcx; add $1,(%rcx)
        let body = [0x48, 0x8b, 0x13, 0x83, 0x02, 0x01, 0x48, 0x8b, 0x0b, 0x83, 0x01, 0x01];
        let renames = Manner { renames: true, ..Manner::default() };
        let ideal = taken(&body, renames);
        assert!((cycles(&ideal) - 10.0).abs() < 0.1, "it is one counter: {ideal:?}");
    }

    #[test]
    fn a_long_stall_hides_what_does_not_depend_on_it() {
        // mov (%rsi),%edx; imul $7,%eax,%eax; add $1,%eax
        let body = [0x8b, 0x16, 0x6b, 0xc0, 0x07, 0x83, 0xc0, 0x01];
        let (calm, stalled) = (of_loop(&body, &[]), of_loop(&body, &[400.0]));
        assert!(calm[1] + calm[2] > 2.5, "{calm:?}");
        assert!(stalled[0] > 3.0 && stalled[1] + stalled[2] < calm[1] + calm[2], "{stalled:?}");
    }

    #[test]
    fn equal_walks_give_equal_schedules() {
        let body = [0x8b, 0x16, 0x6b, 0xc0, 0x07];
        assert_eq!(of_loop(&body, &[5.0]), of_loop(&body, &[5.0]));
    }
}
