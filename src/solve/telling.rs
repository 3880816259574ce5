//! Which groups tell of what all code of a file has in common: the core it ran on, how far its branches are from what code suggests,
//! the skid.
//!
//! In: a file's groups. Out: those with most samples, until they have branches enough that more would tell nothing new. It does not
//! know what is asked of them. (A compiler has 660 groups; of recordings that accuracy is measured on, those that were looked at have
//! a third of so many branches at most.)

use std::collections::BTreeSet;

use super::group::Group;

/// Free branches that tell as much as all of a larger file.
const ENOUGH: usize = 4000;

/// Indices of those of `groups` that tell, of those that `may`.
pub fn telling(groups: &[Group], may: impl Fn(&Group) -> bool) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..groups.len()).filter(|&ix| may(&groups[ix])).collect();
    let samples = |ix: usize| groups[ix].model.counted().total();
    order.sort_by(|&a, &b| samples(b).total_cmp(&samples(a)).then(a.cmp(&b)));
    let mut branches = 0;
    let too_few = |ix: &usize| {
        let told = branches;
        branches += groups[*ix].model.region.freedom();
        told < ENOUGH
    };
    order.into_iter().take_while(too_few).collect()
}

/// Indices of those of `groups` that tell of the core: one of few samples does only where all are such.
pub fn of_core(groups: &[Group]) -> BTreeSet<usize> {
    let ample = groups.iter().any(Group::ample);
    telling(groups, |group| group.ample() || !ample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;
    use crate::solve::conserve::TIMED;

    /// A loop with two branches and so many samples on each of its six instructions.
    fn group(samples: f64) -> Group {
        let model = skipping([samples; 6], true, Reporting::default());
        let flow = vec![0.0, 7.0];
        let rates = model.rates(&flow).expect("a flow");
        Group { functions: vec![0], model, flow, rates, belief: TIMED, timed: None }
    }

    #[test]
    fn code_of_few_samples_tells_of_the_core_only_where_all_is_such() {
        let (few, many) = (group(0.5), group(500.0));
        assert_eq!(of_core(&[few.clone(), many]), [1].into());
        assert_eq!(of_core(&[few.clone(), few]), [0, 1].into());
    }

    #[test]
    fn of_more_than_enough_those_with_most_samples_tell() {
        let free = group(1.0).model.region.freedom();
        let groups: Vec<Group> = (0..2 * ENOUGH / free).map(|ix| group(10.0 + ix as f64)).collect();
        let (all, tell) = (groups.len(), ENOUGH / free);
        assert_eq!(telling(&groups, |_| true), (all - tell..all).collect(), "the last have most");
        let ample = |group: &Group| group.model.counted().total() > 100.0;
        let may = (0..100).filter(|&ix| ample(&groups[ix])).collect();
        assert_eq!(telling(&groups[..100], ample), may, "where there are not enough");
    }
}
