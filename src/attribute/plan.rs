//! Where the samples of each cell go, and the hand that deals them.

use std::collections::{BTreeMap, HashMap};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::Coupling;
use super::balance::balance;
use super::quota::quotas;
use super::route::Route;

/// Where a sample goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The node of its region.
    pub node: usize,
    /// What becomes of its callchain.
    pub route: Route,
}

/// Equal samples, as far as moving them is concerned.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which cell they are.
    pub cell: u32,
    /// Node reported.
    pub node: usize,
    /// How many.
    pub samples: u64,
    /// Sum of their periods.
    pub weight: f64,
}

/// A number of samples that go the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where to.
    pub to: Move,
    /// How many.
    pub samples: u64,
}

/// For each cell, its shares; they sum to its samples.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// By cell.
    pub cells: BTreeMap<u32, Vec<Share>>,
}

impl Plan {
    /// Plans `rows`. `coupling` has the possible causes of each report; `wanted` the totals per node that are aimed at, or
    /// none; `ways` says how a row's samples get to a node, if they can.
    pub fn make(rows: &[Row], coupling: &Coupling, wanted: Option<&[f64]>, ways: &mut impl Ways) -> Plan {
        let mut kinds = Kinds::of(rows, coupling, ways);
        balance(&mut kinds.shares, &kinds.weights, wanted.unwrap_or_default());
        let shares: Vec<&[(usize, f64)]> = kinds.of.iter().map(|&kind| &*kinds.shares[kind]).collect();
        let samples: Vec<u64> = rows.iter().map(|r| r.samples).collect();
        let mut plan = Plan::default();
        for (row, quota) in rows.iter().zip(quotas(&shares, &samples, coupling.len())) {
            let share = |(node, samples): (usize, u64)| {
                let route = ways.to(row, node).cloned().unwrap_or_default();
                Share { to: Move { node, route }, samples }
            };
            plan.cells.insert(row.cell, quota.into_iter().map(share).collect());
        }
        plan
    }
}

/// How samples get elsewhere.
pub trait Ways {
    /// What becomes of the callchains of a `row` on the way to `node`; `None` if no way leads there.
    fn to(&mut self, row: &Row, node: usize) -> Option<&Route>;
}

/// Rows that are reported at the same node and may have the same causes, of which each gets the same share of all of them.
#[derive(Default)]
struct Kinds {
    /// By row, its kind.
    of: Vec<usize>,
    /// By kind, the causes that there is a way to.
    shares: Vec<Vec<(usize, f64)>>,
    /// By kind, the weight of its rows.
    weights: Vec<f64>,
}

impl Kinds {
    fn of(rows: &[Row], coupling: &Coupling, ways: &mut impl Ways) -> Kinds {
        let mut kinds = Kinds::default();
        let mut numbers: HashMap<(usize, Vec<bool>), usize> = HashMap::new();
        for row in rows {
            let causes = &coupling[row.node];
            let open: Vec<bool> = causes.iter().map(|&(cause, _)| ways.to(row, cause).is_some()).collect();
            let kind = *numbers.entry((row.node, open)).or_insert_with_key(|(_, open)| {
                let reached = causes.iter().zip(open).filter(|(_, open)| **open).map(|(cause, _)| *cause);
                kinds.shares.push(reached.collect());
                kinds.weights.push(0.0);
                kinds.weights.len() - 1
            });
            kinds.weights[kind] += row.weight;
            kinds.of.push(kind);
        }
        kinds
    }
}

/// Deals a cell's samples out, one by one, so that at the end every share has its number.
#[derive(Clone, Debug)]
pub struct Dealer {
    left: Vec<u64>,
    rng: Xoshiro256PlusPlus,
}

impl Dealer {
    /// A dealer of `shares`. Equal seeds deal equally.
    pub fn new(shares: &[Share], seed: u64) -> Dealer {
        Dealer {
            left: shares.iter().map(|s| s.samples).collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The index of the next sample's share; `None` when all have been dealt.
    pub fn deal(&mut self) -> Option<usize> {
        let total: u64 = self.left.iter().sum();
        if total == 0 {
            return None;
        }
        let mut ticket = self.rng.random_range(0..total);
        let drawn = self.left.iter().position(|&n| {
            let here = ticket < n;
            ticket = ticket.saturating_sub(n);
            here
        })?;
        self.left[drawn] -= 1;
        Some(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dealer_gives_every_share_its_number() {
        let share = |node, samples| Share { to: Move { node, route: Route::default() }, samples };
        let shares = [share(1, 3), share(2, 0), share(3, 5)];
        let mut dealer = Dealer::new(&shares, 7);
        let mut dealt = [0; 3];
        while let Some(ix) = dealer.deal() {
            dealt[ix] += 1;
        }
        assert_eq!(dealt, [3, 0, 5]);
    }

    /// From cells with odd numbers ways lead everywhere, from even ones to node 1 only.
    struct Odd(Route);
    impl Ways for Odd {
        fn to(&mut self, row: &Row, node: usize) -> Option<&Route> {
            (row.cell % 2 == 1 || node == 1).then_some(&self.0)
        }
    }

    #[test]
    fn a_plan_keeps_to_the_ways_there_are() {
        let rows = [8, 9, 10, 11].map(|cell| Row { cell, node: 1, samples: 10, weight: 10.0 });
        let coupling: Coupling = vec![vec![], vec![(0, 0.5), (1, 0.5)]];
        let stay = Route { drop: 1, returns: vec![] };
        let plan = Plan::make(&rows, &coupling, Some(&[1.0, 3.0]), &mut Odd(stay.clone()));
        let share = |node, samples| Share { to: Move { node, route: stay.clone() }, samples };
        for bound in [8, 10] {
            assert_eq!(plan.cells[&bound], [share(1, 10)]);
        }
        // a quarter of all 40 is theirs to give, half of their own
        for free in [9, 11] {
            assert_eq!(plan.cells[&free], [share(0, 5), share(1, 5)]);
        }
    }
}
