//! Loops that keep step with the sampling.
//!
//! In: what was solved, and an event that counts what runs at a fixed period. Out: warnings of loops whose length has a divisor
//! with the period. If such a loop always goes one way and goes round for several periods, overflows fall on every so many of
//! its instructions only, and neither samples nor their skid tell of the others (NIST TN 1826, section 8, bias 2). It knows
//! nothing of loops whose length varies, nor of cycles, which no loop takes the same number of for long: `stat` looks for a
//! rhythm in the samples themselves.

use super::decoding::at;
use super::loops;
use crate::code::Program;
use crate::divisor::gcd;
use crate::image::Location;
use crate::skid::folded::Counts;
use crate::skid::{Node, Rates, Region};
use crate::solve::Answer;

/// A block runs in every round, or in none, if it does so but for this share.
const STEADY: f64 = 0.01;
/// Periods for which a loop goes round.
const LASTS: f64 = 3.0;
/// Share of the region's instructions that a loop is worth a warning for.
const NOTICEABLE: f64 = 0.05;

/// A loop in step with the sampling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The loop's first instruction.
    pub at: Location,
    /// What is counted of one round.
    pub round: u64,
    /// The greatest common divisor of that and the period.
    pub divisor: u64,
    /// Share of the region's instructions.
    pub share: f64,
}

/// The loop of `answer` with most of its instructions that keeps step with an event that counts `counts`, once in `period`.
pub fn step(program: &Program, answer: &Answer, counts: Counts, period: u64) -> Option<Step> {
    let region = &answer.model.region;
    let rounds =
        (0..region.blocks.len()).filter_map(|b| Round::of(program, region, &answer.rates, b, counts));
    let in_step = rounds.filter_map(|round| round.step(answer.model.total(), period));
    in_step.max_by(|a, b| a.share.total_cmp(&b.share))
}

impl Step {
    /// In words, for the event called `event`; the loop is in what is called `place`.
    pub fn warning(&self, event: &str, period: u64, place: &str) -> String {
        let Step { round, divisor, share, .. } = *self;
        let fall = match round / divisor {
            1 => "always on the same one".into(),
            several => format!("on {several} of them only"),
        };
        format!(
            "{event}: a loop in {place} with {:.0} % of what ran counts {round} each round, which shares the divisor \
             {divisor} with the period of {period}: overflows fall {fall}; record with a prime period",
            100.0 * share
        )
    }
}

/// One round of a loop that always goes the same way.
struct Round {
    at: Location,
    counted: u64,
    executed: f64,
    trips: f64,
}

impl Round {
    /// That of the loop which a block begins, if one does.
    fn of(program: &Program, region: &Region, rates: &Rates, header: usize, counts: Counts) -> Option<Round> {
        let f = region.blocks[header].function;
        let (first, found) = loops::headed(program, region, &region.blocks[header])?;
        let inside = |node: &Node| loops::holds(program, f, found, node);
        let own = |b: &usize| inside(&region.nodes[region.blocks[*b].nodes.start]);
        let blocks: Vec<usize> = (0..region.blocks.len()).filter(own).collect();
        let runs = rates.blocks[header];
        let (mut counted, mut executed, mut left) = (0, 0.0, 0.0);
        for &b in &blocks {
            let times = rates.blocks[b] / runs;
            executed += rates.blocks[b] * region.blocks[b].nodes.len() as f64;
            if times <= STEADY {
                continue;
            }
            let nodes = region.blocks[b].nodes.clone();
            if (times - 1.0).abs() > STEADY
                || nodes.clone().any(|n| program.site(f, region.nodes[n].inst).is_some())
            {
                return None;
            }
            counted += nodes.filter(|&n| counts.includes(&region.nodes[n])).count() as u64;
        }
        for (arm, share) in region.arms.iter().zip(&rates.arms) {
            let from = &region.nodes[arm.node];
            let outside = arm.to.is_none_or(|to| !blocks.contains(&to));
            if inside(from) && outside {
                left += share * rates.blocks[from.block];
            }
        }
        let trips = runs / left.max(f64::MIN_POSITIVE);
        (runs > 0.0).then(|| Round { at: at(program.place(f, first.inst)), counted, executed, trips })
    }

    /// Whether it keeps step with `period`, as a part of `all` instructions.
    fn step(&self, all: f64, period: u64) -> Option<Step> {
        let Round { at, counted: round, executed, trips } = *self;
        let (divisor, share) = (gcd(round, period), executed / all.max(f64::MIN_POSITIVE));
        let long = trips * round as f64 >= LASTS * period as f64;
        (divisor > 1 && long && share >= NOTICEABLE).then_some(Step { at, round, divisor, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::explore;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    /// What is found of a loop of eight instructions that goes round so many times, and one more instruction behind it.
    fn found(round: impl Fn(&Region) -> Vec<f64>, period: u64) -> Option<(u64, u64)> {
        // 0: 6 × mov %eax,%ecx; c: dec %edi; e: jne 0; 10: ret
        let code = [[0x89, 0xc1].repeat(6), vec![0xff, 0xcf, 0x75, 0xf0, 0xc3]].concat();
        let function = explore(&Bytes(0, code.clone()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &round(&region), 1e6).expect("a flow");
        let round = Round::of(&program, &region, &rates, 0, Counts::Instructions)?;
        round.step(1e6, period).map(|step| (step.round, step.divisor))
    }

    #[test]
    fn a_long_loop_keeps_step_with_a_period_that_shares_a_divisor() {
        let trips = |n: f64| move |region: &Region| vec![n.ln(); region.freedom()];
        assert_eq!(found(trips(10_000.0), 1000), Some((8, 8)));
        assert_eq!(found(trips(10_000.0), 1002), Some((8, 2)));
        assert_eq!(found(trips(10_000.0), 1009), None, "a prime");
        assert_eq!(found(trips(100.0), 1000), None, "left before the second sample");
    }

    #[test]
    fn warnings_say_how_much_is_seen() {
        let at = Location { image: crate::image::ImageId(0), svma: crate::image::Svma(0) };
        let step = Step { at, round: 8, divisor: 8, share: 0.5 };
        assert!(step.warning("instructions:u", 1000, "main").contains("main with 50 % of what ran counts 8"));
        assert!(step.warning("instructions:u", 1000, "main").contains("always on the same one"));
        assert!(Step { divisor: 2, ..step }.warning("i", 1002, "main").contains("on 4 of them only"));
    }
}
