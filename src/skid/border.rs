//! Where a walk leaves its region, and where it comes in again.
//!
//! In: a region and the rates of its walk. Out: the probability that each node leaves the region, and the share of what enters it
//! at each of its roots. As much comes in from code outside while samples slip as goes out; which samples do, and after how long,
//! is not known here: what goes out counts as what comes in at once.

use super::circulation::Rates;
use super::region::Region;

/// What leaves a region, and what enters it.
#[derive(Clone, Debug)]
pub struct Border {
    /// Probability that what leaves each node leaves the region.
    pub leaves: Vec<f64>,
    /// First nodes of the roots, with the share of what enters the region that does so there.
    pub enters: Vec<(usize, f64)>,
}

impl Border {
    /// That of `region`, where `rates` tell how often everything runs.
    pub fn of(region: &Region, rates: &Rates) -> Border {
        let stays =
            |node: usize| rates.steps[region.starts[node]..region.starts[node + 1]].iter().sum::<f64>();
        let leaves = (0..region.nodes.len()).map(|node| (1.0 - stays(node)).max(0.0)).collect();
        let from_outside = from_outside(region, rates);
        let all: f64 = from_outside.iter().sum();
        let even = 1.0 / from_outside.len().max(1) as f64;
        let share = |entered: f64| if all > 0.0 { entered / all } else { even };
        let first = region.roots.iter().map(|&root| region.blocks[root].nodes.start);
        let enters = first.zip(from_outside).map(|(node, entered)| (node, share(entered))).collect();
        Border { leaves, enters }
    }
}

/// How often each root runs without having been reached from inside.
pub fn from_outside(region: &Region, rates: &Rates) -> Vec<f64> {
    let mut entered = rates.blocks.clone();
    for (ix, arm) in region.arms.iter().enumerate() {
        if let Some(to) = arm.to {
            entered[to] -= rates.taken(region, ix);
        }
    }
    region.roots.iter().map(|&root| entered[root].max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;
    use crate::skid::outside::Outside;

    #[test]
    fn it_is_entered_where_nothing_inside_leads() {
        // 0: call 10; 5: ret — 10: nop; 11: ret; the second is called from elsewhere as well
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x90, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..6, 0x10..0x12].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let classes = Classes::of(&program);
        let region = Region::within(
            &program,
            &classes,
            &[0, 1],
            &|_, _| true,
            &Outside { fed: [1].into(), ..Outside::default() },
        );
        assert_eq!(region.roots.len(), 2);
        // three calls from elsewhere for each from inside
        let rates = Circulation::new(&region).rates(&region, &[3f64.ln()], 100.0).expect("a flow");
        let border = Border::of(&region, &rates);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(near(border.enters[0].1, 0.25) && near(border.enters[1].1, 0.75), "{:?}", border.enters);
        let last =
            |function: usize| region.nodes.iter().rposition(|n| n.function == function).expect("a return");
        assert!(
            near(border.leaves[last(0)], 1.0) && near(border.leaves[last(1)], 0.75),
            "{:?}",
            border.leaves
        );
        assert!(near(border.leaves.iter().sum(), 1.75));
    }

    #[test]
    fn calls_of_itself_come_from_inside() {
        // 0: call 10; 5: jmp 0 — 10: je 17; 12: call 10; 17: ret
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xeb, 0xf9];
        code.resize(0x10, 0xcc);
        code.extend([0x74, 0x05, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..7, 0x10..0x18].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let region =
            Region::within(&program, &Classes::of(&program), &[0, 1], &|_, _| true, &Outside::default());
        let z = vec![3.0; region.freedom() + region.roots.len() - 1];
        let rates = Circulation::new(&region).rates(&region, &z, 100.0).expect("a flow");
        let called =
            region.roots.iter().position(|&root| region.blocks[root].function == 1).expect("it recurs");
        let (entered, runs) = (from_outside(&region, &rates)[called], rates.blocks[region.roots[called]]);
        assert!(entered < 1e-6 * runs, "{entered} of {runs}");
    }
}
