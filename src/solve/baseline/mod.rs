//! What others make of the samples: estimators without a model of skid, to compare against.
//!
//! In: a group's model. Out: executions per block and transfers. Each works on one function at a time ([`graph`]), as the
//! compilers they come from do: [`mean`] conserves nothing, [`profi`] and [`mcf`] repair the counts at the least cost of a
//! flow ([`network`]).

pub mod graph;
pub mod mcf;
pub mod mean;
pub mod network;
pub mod profi;

use super::solver::Solver;
use crate::skid::{Model, Rates};
use graph::Functions;

/// Executions by baseline `solver`; `None` if it is none, or has nothing to say.
pub fn rates(model: &Model, solver: Solver) -> Option<Rates> {
    let functions = Functions::of(model);
    match solver {
        Solver::Mean => functions.infer(mean::mean),
        Solver::Profi => functions.infer(|graph| profi::profi(graph, &profi::COMPILER)),
        Solver::Bolt => functions.infer(|graph| profi::profi(graph, &profi::BOLT)),
        Solver::Mcf => functions.infer(mcf::mcf),
        Solver::Gibbs | Solver::Argmin | Solver::Flow | Solver::Timed | Solver::Ics => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::assemble::model;
    use crate::skid::classes::Classes;
    use crate::skid::folded::{Counts, Folded};
    use crate::skid::hold::Reporting;

    /// A loop around a call of a function with a branch in it; all instructions hold `samples` in turn.
    fn called(samples: &[f64]) -> Model {
        // 0: nop; 1: call 10; 6: dec edi; 8: jne 1; a: ret | 10: je 14; 12: nop; 13: nop; 14: ret
        let mut code = vec![0x90, 0xe8, 0x0a, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x74, 0x02, 0x90, 0x90, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xb, 0x10..0x15].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &crate::code::Told::default());
        let places = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2), (1, 3)];
        let weight = places.into_iter().zip(samples.iter().map(|s| 1000.0 * s)).collect();
        let folded =
            Folded { weight, period: 1000.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
        let reporting = Reporting { late: true, fused: true, fused_constants: true, ..Reporting::default() };
        model(&program, &Classes::of(&program), &[0, 1], &[folded], None, reporting, &|_, _| true)
    }

    #[test]
    fn each_function_is_solved_alone_and_the_whole_keeps_its_samples() {
        let model = called(&[1.0, 0.0, 60.0, 0.0, 1.0, 40.0, 0.0, 20.0, 40.0]);
        for solver in [Solver::Mean, Solver::Profi, Solver::Bolt, Solver::Mcf] {
            let rates = rates(&model, solver).expect("executions");
            let sum: f64 =
                model.region.blocks.iter().zip(&rates.blocks).map(|(b, e)| b.nodes.len() as f64 * e).sum();
            assert!((sum - model.total()).abs() < 1e-6 * sum, "{solver:?}");
            for node in 0..model.region.nodes.len() {
                let steps: f64 =
                    rates.steps[model.region.starts[node]..model.region.starts[node + 1]].iter().sum();
                assert!(steps <= 1.0 + 1e-9, "{solver:?}");
            }
        }
        // the means of the loop and of the callee's entry are 20 and 40: without links between them both stay
        let profi = rates(&model, Solver::Profi).expect("executions").blocks;
        assert!((profi[3] / profi[1] - 2.0).abs() < 1e-6, "{profi:?}");
        assert!((profi[3] - profi[5]).abs() < 1e-6, "what enters the callee leaves it: {profi:?}");
    }

    #[test]
    fn nothing_sampled_is_nothing_said() {
        assert!(rates(&called(&[0.0; 9]), Solver::Profi).is_none());
        assert!(rates(&called(&[1.0; 9]), Solver::Gibbs).is_none());
    }
}
