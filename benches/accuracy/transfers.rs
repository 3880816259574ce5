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
        for (edge, flow) in at(program, answer, &answer.rates) {
            *edges.entry(edge).or_default() += flow;
        }
    }
    edges
}

/// The same of one answer, at `rates`.
pub fn at(program: &Program, answer: &Answer, rates: &Rates) -> Edges {
    let region = &answer.model.region;
    let address = |n: usize| program.place(region.nodes[n].function, region.nodes[n].inst).address;
    let mut edges = Edges::new();
    for (from, node) in region.nodes.iter().enumerate().filter(|(_, n)| n.transfers) {
        for at in region.starts[from]..region.starts[from + 1] {
            let step = region.steps[at];
            let over = |arm: usize| matches!(region.arms[arm].kind, ArmKind::Skip { .. });
            if !matches!(step.by, By::Arm(arm) if over(arm)) {
                let flow = rates.blocks[node.block] * rates.steps[at];
                *edges.entry((address(from), address(step.to))).or_default() += flow;
            }
        }
    }
    edges
}
