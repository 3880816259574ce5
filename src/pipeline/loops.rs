//! How often loops go round.

use super::linking::at;
use crate::code::Program;
use crate::image::Location;
use crate::solve::Answer;

/// For the loops of a region, by their header's place, how often the header runs each time the loop is entered.
pub fn trips(program: &Program, answer: &Answer) -> Vec<(Location, f64)> {
    let (region, rates) = (&answer.model.region, &answer.rates);
    let mut trips = Vec::new();
    for (header, block) in region.blocks.iter().enumerate() {
        let Some(first) = region.nodes.get(block.nodes.start) else { continue };
        let (_, function) = &program.functions[block.function];
        let entered = function.cfg.block_of(first.inst);
        if function.cfg.blocks[entered].first != first.inst {
            continue;
        }
        let Some(found) = function.loops.all.iter().find(|l| l.header == entered) else { continue };
        let back = region.arms.iter().zip(&rates.arms).filter(|(arm, _)| arm.to == Some(header));
        let round: f64 = back
            .filter(|(arm, _)| {
                let from = &region.nodes[arm.node];
                from.function == block.function
                    && found.blocks.binary_search(&function.cfg.block_of(from.inst)).is_ok()
            })
            .map(|(arm, share)| share * rates.blocks[region.nodes[arm.node].block])
            .sum();
        let runs = rates.blocks[header];
        if runs > 0.0 && round < runs {
            let place = at(program.place(block.function, first.inst));
            trips.push((place, runs / (runs - round)));
        }
    }
    trips
}
