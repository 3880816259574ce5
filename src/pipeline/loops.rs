//! How often loops go round.

use super::decoding::at;
use crate::code::{FunctionIx, Loop, Program};
use crate::image::Location;
use crate::report::listing::Trips;
use crate::skid::region::{Arm, Block};
use crate::skid::{Node, Rates, Region};
use crate::solve::Answer;
use crate::solve::diagnose::quantile;

/// A count whose interval's ends are farther apart than this factor is not known.
const VAGUE: f64 = 100.0;

/// For the loops of a region, by their header's place, how often the header runs each time the loop is entered. Loops of
/// which that is not known are left out: those of answers without an interval, and those whose interval says nothing.
pub fn trips(program: &Program, answer: &Answer) -> Vec<(Location, Trips)> {
    let region = &answer.model.region;
    let known = |(header, block): (usize, &Block)| {
        let (first, found) = headed(program, region, block)?;
        let mut draws: Vec<f64> = answer
            .draws
            .iter()
            .filter_map(|draw| {
                let (runs, left) = (draw.blocks[header], leaving(program, region, (header, found), draw));
                (runs > 0.0 && left > 0.0).then(|| (runs / left).max(1.0))
            })
            .collect();
        let trips = Trips {
            low: quantile(&mut draws, 0.05),
            value: quantile(&mut draws, 0.5),
            high: quantile(&mut draws, 0.95),
        };
        // blocks of which no sample is sure say nothing either
        let seen = answer.low[header] > 0.0 && 2 * draws.len() > answer.draws.len();
        let told = seen && trips.low >= 1.0 && trips.high <= VAGUE * trips.low;
        told.then(|| (at(program.place(block.function, first.inst)), trips))
    };
    region.blocks.iter().enumerate().filter_map(known).collect()
}

/// The loop that a block begins, and its first instruction.
pub fn headed<'a>(program: &'a Program, region: &'a Region, block: &Block) -> Option<(&'a Node, &'a Loop)> {
    let first = region.nodes.get(block.nodes.start)?;
    let (_, function) = &program.functions[block.function];
    let entered = function.cfg.block_of(first.inst);
    let whole = function.cfg.blocks[entered].first == first.inst;
    Some((first, function.loops.all.iter().find(|l| l.header == entered).filter(|_| whole)?))
}

/// Whether an instruction is in a loop of function `f`.
pub fn holds(program: &Program, f: FunctionIx, found: &Loop, node: &Node) -> bool {
    let function = &program.functions[f].1;
    node.function == f && function.loops.holds(found, function.cfg.block_of(node.inst))
}

/// How often a loop is left: as often as it is entered. Draws are no flows to the last thousandth, and the difference of what the
/// header runs and what leads back to it would be nothing but that in a loop that goes round often.
fn leaving(program: &Program, region: &Region, (header, found): (usize, &Loop), walk: &Rates) -> f64 {
    let of = region.blocks[header].function;
    let inside = |node: usize| holds(program, of, found, &region.nodes[node]);
    let leaves = |arm: &Arm| {
        let stays = arm.to.is_some_and(|to| inside(region.blocks[to].nodes.start));
        !arm.is_call() && inside(arm.node) && !stays
    };
    let arms = region.arms.iter().enumerate().filter(|(_, arm)| leaves(arm));
    arms.map(|(ix, _)| walk.taken(region, ix)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    #[test]
    fn a_loop_is_left_as_often_in_draws_that_are_no_flows() {
        // 0: dec %edi; 2: je 9; 4: test %al,%al; 6: je 0; 8: jmp 0 (two bytes); a: ret
        let code = [0xff, 0xcf, 0x74, 0x06, 0x84, 0xc0, 0x74, 0xf8, 0xeb, 0xf6, 0xc3];
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let z: Vec<f64> = region
            .decisions
            .iter()
            .map(|decision| {
                // left once in a thousand times, and both ways back alike
                let leaves = region.blocks[region.arms[decision.arms.end - 1].to.expect("in it")].nodes.len()
                    == 1
                    && decision.arms.start == 0;
                if leaves { -(999f64.ln()) } else { 0.0 }
            })
            .collect();
        let mut walk = Circulation::new(&region).rates(&region, &z, 1e6).expect("a flow");
        let (_, found) = headed(&program, &region, &region.blocks[0]).expect("a loop");
        let times = |walk: &Rates| walk.blocks[0] / leaving(&program, &region, (0, found), walk);
        let truly = times(&walk);
        assert!((truly - 1000.0).abs() < 1.0, "{truly}");
        for (b, runs) in walk.blocks.iter_mut().enumerate() {
            *runs *= [1.0, 1.03, 0.98, 1.05][b % 4];
        }
        assert!((times(&walk) - truly).abs() < 1.0, "{}", times(&walk));
    }
}
