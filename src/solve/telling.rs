//! Which groups tell of what all code of a file has in common: the core it ran on, how far its branches are from what code suggests,
//! the skid.
//!
//! In: a file's groups. Out: those with most samples, until they have branches enough that more would tell nothing new. It does not
//! know what is asked of them. (A compiler has 660 groups; of recordings that accuracy is measured on, those that were looked at have
//! a third of so many branches at most.)

use super::group::Group;

/// Free branches that tell as much as all of a larger file.
const ENOUGH: usize = 4000;

/// Whether each of `groups` tells, of those that `may`.
pub fn telling(groups: &[Group], may: impl Fn(&Group) -> bool) -> Vec<bool> {
    let mut order: Vec<usize> = (0..groups.len()).filter(|&ix| may(&groups[ix])).collect();
    let samples = |ix: usize| groups[ix].model.counted().total();
    order.sort_by(|&a, &b| samples(b).total_cmp(&samples(a)).then(a.cmp(&b)));
    let (mut tells, mut branches) = (vec![false; groups.len()], 0);
    for ix in order {
        if branches >= ENOUGH {
            break;
        }
        tells[ix] = true;
        branches += groups[ix].model.region.freedom();
    }
    tells
}

/// Whether each of `groups` tells of the core: one of few samples does only where all are such.
pub fn of_core(groups: &[Group]) -> Vec<bool> {
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
        assert_eq!(of_core(&[few.clone(), many]), [false, true]);
        assert_eq!(of_core(&[few.clone(), few]), [true, true]);
    }

    #[test]
    fn of_more_than_enough_those_with_most_samples_tell() {
        let free = group(1.0).model.region.freedom();
        let groups: Vec<Group> = (0..2 * ENOUGH / free).map(|ix| group(10.0 + ix as f64)).collect();
        let tells = telling(&groups, |_| true);
        assert_eq!(tells.iter().filter(|tells| **tells).count(), ENOUGH / free);
        assert!(tells.is_sorted(), "the last have most");
        assert_eq!(telling(&groups[..100], |group| group.model.counted().total() > 100.0), {
            let few: Vec<bool> = groups[..100].iter().map(|g| g.model.counted().total() > 100.0).collect();
            few
        });
    }
}
