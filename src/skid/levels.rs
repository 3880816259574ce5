//! What a loop pushes on a stack it pops.
//!
//! In: executions, and the stacks of the code ([`Stack`](crate::code::Stack)). Out: how far the ways that push are from those that
//! pop, in bytes, as residuals. What is on a stack when its loop is entered may be on another when it is left, so that one which is
//! entered often tells little.

use super::circulation::Rates;
use super::region::{Level, Region};

/// Standard deviation of the logarithm of what goes up over what goes down.
const SLACK: f64 = 0.05;
/// The smallest of its moves that each stack may hold when it is left …
const LEFT: f64 = 4.0;
/// … and samples' worth of them that are as good as none.
const NONE: f64 = 0.5;

/// One residual for each stack, where `period` is that of a sample of executions.
pub fn residuals(region: &Region, rates: &Rates, period: f64) -> Vec<f64> {
    let taken = |arm: usize| rates.taken(region, arm) / period;
    let residual = |level: &Level| {
        let far = |moves: &[(usize, f64)]| moves.iter().map(|&(arm, by)| by * taken(arm)).sum::<f64>();
        let all = |arms: &[usize]| arms.iter().map(|&arm| taken(arm)).sum::<f64>();
        let entered = rates.blocks[level.header] / period - all(&level.back);
        let begun = entered.max(0.0) + all(&level.anew);
        let left = level.least() * (NONE + LEFT * begun);
        ((far(&level.up) + left) / (far(&level.down) + left)).ln() / SLACK
    };
    region.levels.iter().map(residual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs, PUSHES_AND_POPS};
    use crate::code::{Program, Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    #[test]
    fn what_pushes_as_often_as_it_pops_is_likely_unless_the_loop_is_soon_left() {
        let code = Bytes(0, PUSHES_AND_POPS.to_vec());
        let range = 0..PUSHES_AND_POPS.len() as u64;
        let program = Program::link(vec![(0, explore(&code, range, &[]))], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let off = |pushes: f64, turns: f64| {
            let z = [pushes, turns];
            let rates = Circulation::new(&region).rates(&region, &z, 1e6).expect("a flow");
            residuals(&region, &rates, 1.0)
        };
        assert_eq!(off(0.0, 9.0).len(), 1);
        assert!(off(0.0, 9.0)[0].abs() < 1e-9);
        let [more, less] = [1.0, -1.0].map(|pushes| off(pushes, 9.0)[0]);
        assert!(more.abs() > 10.0 && (more + less).abs() < 1e-3, "{more} {less}");
        let soon = off(1.0, -1.0)[0].abs().max(off(1.0, 1.0)[0].abs());
        assert!(soon < 0.7 * more.abs(), "{soon} {more}");
    }
}
