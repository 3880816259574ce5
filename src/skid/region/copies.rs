//! Copies of one switch: interpreters have one behind each operation, and few samples do not tell how they differ.
//!
//! In: a region, and samples per block. Out: which decisions share their logits. What one of many copies goes to next is of use only
//! where that one has samples enough; all of them together go where the one switch went that they are copies of. A loop of 60
//! operations has 60 copies of 60 ways, of which thousands of samples decide none. It does not know which way is likely.

use std::collections::BTreeMap;

use super::{ArmKind, Decision, Region};

/// Fewer samples for each way of a copy leave it to all copies together. With 10, blocks of one of three recordings of libraries
/// that have such copies are .0049 nearer than if no copies shared, of the others .0041 and .0013 further off.
const DECIDING: f64 = 3.0;
/// Free branches of copies by themselves, at most.
const MOST_FREEDOM: usize = 250;

impl Region {
    /// Makes copies of one switch that have few of these `samples`, per block, share their logits.
    pub fn share_logits(&mut self, samples: &[f64]) {
        let mut shared = vec![None; self.decisions.len()];
        for copies in self.copies().into_iter().filter(|copies| copies.len() > 1) {
            let alike = self.undecided(copies, samples);
            alike.iter().skip(1).for_each(|&copy| shared[copy] = Some(alike[0]));
        }
        let mut free = 0;
        for (ix, shared) in shared.into_iter().enumerate() {
            self.decisions[ix].first = shared.map_or(free, |one: usize| self.decisions[one].first);
            free = free.max(self.decisions[ix].logits().end);
        }
    }

    /// Decisions that lead to the same blocks, each once, of all with more than two ways inside of functions.
    fn copies(&self) -> Vec<Vec<usize>> {
        let mut found: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
        for (ix, decision) in self.decisions.iter().enumerate() {
            let arms = &self.arms[decision.arms.clone()];
            if arms.len() > 2 && arms.iter().all(|arm| arm.kind == ArmKind::Edge) {
                found.entry(arms.iter().map(|arm| arm.to).collect()).or_default().push(ix);
            }
        }
        found.into_values().collect()
    }

    /// Those of `copies` that have too few `samples` to be told apart, in their order.
    fn undecided(&self, mut copies: Vec<usize>, samples: &[f64]) -> Vec<usize> {
        let own = |copy: &usize| samples[self.origin(&self.decisions[*copy])];
        copies.sort_by(|a, b| own(b).total_cmp(&own(a)).then(a.cmp(b)));
        let free = self.decisions[copies[0]].logits().len();
        let decided = |&&copy: &&usize| own(&copy) >= DECIDING * free as f64;
        let decided = copies.iter().take_while(decided).take(MOST_FREEDOM / free).count();
        let mut rest = copies.split_off(decided);
        rest.sort_unstable();
        rest
    }

    /// The block that a decision is made at the end of.
    pub fn origin(&self, decision: &Decision) -> usize {
        self.nodes[self.arms[decision.arms.start].node].block
    }

    /// For each free logit, the mean over all decisions that it is one of, of what `value` gives for that and for the arm.
    pub fn per_logit(&self, value: impl Fn(&Decision, usize) -> f64) -> Vec<f64> {
        let mut means = vec![(0.0, 0.0); self.freedom()];
        for decision in &self.decisions {
            for (logit, arm) in decision.logits().zip(decision.arms.clone().skip(1)) {
                means[logit].0 += value(decision, arm);
                means[logit].1 += 1.0;
            }
        }
        means.into_iter().map(|(sum, count): (f64, f64)| sum / count).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::skid::circulation::probabilities;
    use crate::skid::testing::threaded;

    /// Free logits of three copies of a switch of three ways that have so many samples, and which share theirs.
    fn shared(samples: [f64; 3]) -> (usize, Vec<usize>) {
        let mut region = threaded();
        region.share_logits(&[&samples[..], &[0.0]].concat());
        (region.freedom(), region.decisions.iter().map(|decision| decision.first).collect())
    }

    #[test]
    fn copies_that_have_few_samples_share_how_likely_each_way_is() {
        assert_eq!(shared([1.0, 5.0, 2.0]), (2, vec![0, 0, 0]));
        assert_eq!(shared([1.0, 500.0, 2.0]), (4, vec![0, 2, 0]));
        assert_eq!(shared([500.0; 3]), (6, vec![0, 2, 4]));
    }

    #[test]
    fn what_is_shared_is_the_mean_of_what_is_thought_of_each_and_as_likely_for_all() {
        let mut region = threaded();
        let apart = region.expectation();
        region.share_logits(&[0.0; 4]);
        let together = region.expectation();
        for (k, logit) in together.iter().enumerate() {
            let mean = [0, 2, 4].map(|first| apart[first + k]).iter().sum::<f64>() / 3.0;
            assert!((logit - mean).abs() < 1e-12 && apart[k] != apart[2 + k], "{k}: {apart:?} {together:?}");
        }
        let arms = probabilities(&region, &together);
        assert_eq!((&arms[..3], &arms[3..6]), (&arms[3..6], &arms[6..]));
    }
}
