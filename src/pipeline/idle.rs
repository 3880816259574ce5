//! What was asked of the solver where it has nothing to solve.
//!
//! In: options, and a correction made by them. Out: a sentence.

use super::correct::Correction;
use crate::options::{Options, Solver};

/// Says that `--solver` or `--skid` did nothing, where one of them asks for other than is done without.
pub fn advice(options: &Options, correction: &Correction) -> Option<String> {
    let solver = (options.solver != Solver::default() && !correction.solved).then_some("--solver");
    let skid = options.skid.filter(|_| !correction.slipped).and(Some("--skid"));
    let named: Vec<&str> = [solver, skid].into_iter().flatten().collect();
    let verb = match named.len() {
        0 => return None,
        1 => "has",
        _ => "have",
    };
    Some(format!(
        "{} {verb} no effect here: no late samples of instructions or branches are in code that was read, and others are not solved \
         for",
        named.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_in_vain_is_told_of() {
        let told = |solver, skid, (solved, slipped)| {
            let correction = Correction { solved, slipped, ..Correction::default() };
            let options = Options { correct: true, solver, skid, ..Options::default() };
            let told = advice(&options, &correction).unwrap_or_default();
            told.split(" no effect here").next().unwrap_or_default().to_owned()
        };
        let (time, misses, instructions) = ((false, false), (false, true), (true, true));
        assert_eq!(told(Solver::Flow, Some(9.0), time), "--solver and --skid have");
        assert_eq!(told(Solver::Gibbs, Some(9.0), time), "--skid has");
        assert_eq!(told(Solver::Flow, Some(9.0), misses), "--solver has");
        assert_eq!(told(Solver::Flow, Some(9.0), instructions), "");
        assert_eq!(told(Solver::Gibbs, None, time), "");
    }
}
