//! How often loops go round.

use super::decoding::at;
use crate::code::{FunctionIx, Loop, Program};
use crate::image::Location;
use crate::report::listing::Trips;
use crate::skid::region::Block;
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
                let (runs, round) = (draw.blocks[header], rounds(program, region, (header, found), draw));
                (runs > 0.0 && round < runs).then(|| runs / (runs - round))
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

/// How often the header of a loop is reached from inside of it.
fn rounds(program: &Program, region: &Region, (header, found): (usize, &Loop), walk: &Rates) -> f64 {
    let of = region.blocks[header].function;
    let back = region.arms.iter().zip(&walk.arms).filter(|(arm, _)| arm.to == Some(header));
    let inside = back.filter(|(arm, _)| holds(program, of, found, &region.nodes[arm.node]));
    inside.map(|(arm, share)| share * walk.blocks[region.nodes[arm.node].block]).sum()
}
