//! Where the samples of each cell go, and the hand that deals them.

use std::collections::BTreeMap;

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
    /// none; `route` says how a row's samples get to a node, if they can.
    pub fn make(
        rows: &[Row],
        coupling: &Coupling,
        wanted: Option<&[f64]>,
        route: impl Fn(&Row, usize) -> Option<Route>,
    ) -> Plan {
        let mut routes: Vec<BTreeMap<usize, Route>> = Vec::with_capacity(rows.len());
        let mut shares: Vec<Vec<(usize, f64)>> = Vec::with_capacity(rows.len());
        for row in rows {
            let possible: BTreeMap<usize, Route> = coupling[row.node]
                .iter()
                .filter_map(|&(cause, _)| Some((cause, route(row, cause)?)))
                .collect();
            shares.push(coupling[row.node].iter().filter(|c| possible.contains_key(&c.0)).copied().collect());
            routes.push(possible);
        }
        let weights: Vec<f64> = rows.iter().map(|r| r.weight).collect();
        let samples: Vec<u64> = rows.iter().map(|r| r.samples).collect();
        match wanted {
            Some(wanted) => balance(&mut shares, &weights, wanted),
            None => balance(&mut shares, &weights, &[]),
        }
        let mut plan = Plan::default();
        for ((row, quota), routes) in rows.iter().zip(quotas(&shares, &samples, coupling.len())).zip(&routes)
        {
            let share = |(node, samples): (usize, u64)| {
                let route = routes.get(&node).cloned().unwrap_or_default();
                Share { to: Move { node, route }, samples }
            };
            plan.cells.insert(row.cell, quota.into_iter().map(share).collect());
        }
        plan
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

    #[test]
    fn a_plan_keeps_to_the_ways_there_are() {
        let rows = [Row { cell: 9, node: 1, samples: 10, weight: 10.0 }];
        let coupling: Coupling = vec![vec![], vec![(0, 0.5), (1, 0.5)]];
        let plan = Plan::make(&rows, &coupling, Some(&[1.0, 1.0]), |_, to| {
            (to == 1).then(|| Route { drop: 1, returns: vec![] })
        });
        assert_eq!(plan.cells[&9].len(), 1);
        assert_eq!((plan.cells[&9][0].to.node, plan.cells[&9][0].samples), (1, 10));
    }
}
