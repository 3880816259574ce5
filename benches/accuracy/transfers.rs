//! How often control goes from where to where, by an answer.

use std::collections::BTreeMap;

use skidconv::code::Program;
use skidconv::image::{Image, ImageId, Images};
use skidconv::skid::Rates;
use skidconv::skid::region::{ArmKind, By};
use skidconv::solve::{Answer, Solved};

use super::truth::Truth;

/// Control transfers by the addresses of the recording.
pub type Edges = BTreeMap<(u64, u64), f64>;

/// How often control goes from each transfer to each target, by the answers' arms and returns.
pub fn transfers(code: &Code<'_>, solved: &Solved) -> Edges {
    let mut edges = Edges::new();
    for answer in &solved.answers {
        for (edge, flow) in code.transfers(answer, &answer.rates) {
            *edges.entry(edge).or_default() += flow;
        }
    }
    edges
}

/// The code of a recording, at its addresses.
pub struct Code<'a> {
    program: &'a Program,
    /// By how much addresses are above the binaries' own, by number of the image.
    above: Vec<u64>,
}

impl Code<'_> {
    /// Code whose images lie where the truth has them.
    pub fn new<'a>(images: &Images, program: &'a Program, truth: &Truth) -> Code<'a> {
        let above = |(_, image): (ImageId, &Image)| truth.images.get(&image.path).copied().unwrap_or(0);
        Code { program, above: images.iter().map(above).collect() }
    }

    /// How often control goes from each transfer to each target by one answer, at `rates`.
    pub fn transfers(&self, answer: &Answer, rates: &Rates) -> Edges {
        let region = &answer.model.region;
        let address = |n: usize| {
            let place = self.program.place(region.nodes[n].function, region.nodes[n].inst);
            place.address.wrapping_add(self.above[place.space as usize])
        };
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
}
