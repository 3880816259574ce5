//! How often control goes from where to where, by an answer.

use std::collections::BTreeMap;

use skidconv::code::Program;
use skidconv::skid::Rates;
use skidconv::skid::region::{ArmKind, By};
use skidconv::solve::{Answer, Solved};

/// Control transfers by the addresses of the binary.
pub type Edges = BTreeMap<(u64, u64), f64>;

/// How often control goes from each transfer to each target, by the answers' arms and returns.
pub fn transfers(program: &Program, solved: &Solved) -> Edges {
    let mut edges = Edges::new();
    for answer in &solved.answers {
        flows(program, answer, &answer.rates, &mut |edge, flow| *edges.entry(edge).or_default() += flow);
    }
    edges
}

/// Visits the control transfers of an answer with how often they are taken at `rates`.
pub fn flows(program: &Program, answer: &Answer, rates: &Rates, visit: &mut dyn FnMut((u64, u64), f64)) {
    let region = &answer.model.region;
    let address = |n: usize| program.place(region.nodes[n].function, region.nodes[n].inst).address;
    for (from, node) in region.nodes.iter().enumerate().filter(|(_, n)| n.transfers) {
        for at in region.starts[from]..region.starts[from + 1] {
            let step = region.steps[at];
            let over = |arm: usize| matches!(region.arms[arm].kind, ArmKind::Skip { .. });
            if !matches!(step.by, By::Arm(arm) if over(arm)) {
                visit((address(from), address(step.to)), rates.blocks[node.block] * rates.steps[at]);
            }
        }
    }
}
