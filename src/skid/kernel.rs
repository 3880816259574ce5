//! Where the head of the retirement queue stands some time after a counter overflowed.
//!
//! Time goes in ticks of the time one instruction takes at full retire width. A node with head time *h* below one tick is
//! passed at once with probability 1 − *h*/tick: it retires in the shadow of its group's leader, and zero samples on it are
//! right ([`Stay`]). A distribution of the skid enters linearly, as weights of time bins.
//!
//! What leaves the region comes in again where it is entered ([`Border`]): as much does while samples slip as goes out. Without,
//! skids seemed short wherever a region is but a part of what runs: in regions of 600 instructions 6, 10 and 8 cycles in recordings
//! of three libraries (Lua, MuJS, Jansson) where they were 60, and 67, 44 and 54 with it.
//!
//! Refuted: loads held seldom and for 60, 120 or 190 cycles instead of always for their mean (misfit at the truth of a program
//! that misses often: 129 nats, then 181, 236 and 188), wrong guesses for 12 or 18 (137, 142).

use super::border::Border;
use super::circulation::Rates;
use super::distribution::Skid;
use super::hold::{Holds, Reporting};
use super::marked::Marked;
use super::region::Region;
use super::stays::{LATER, Stay};

/// Part of what overflowed that is dropped where no more of it is left on a node.
const GONE: f64 = 1e-7;
/// Walks, either way, that go through the code at once.
pub const LANES: usize = 8;

/// What the processor goes through while a sample slips.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The code.
    pub region: &'a Region,
    /// How often each step is taken.
    pub rates: &'a Rates,
    /// Head times.
    pub holds: &'a Holds,
    /// What is reported of what is waited for.
    pub reporting: Reporting,
}

/// When the counter overflows, as executions per node that may make it do so.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    /// As these retire.
    Behind(&'a [f64]),
    /// As these are about to be the head.
    Entering(&'a [f64]),
    /// While these are waited for, from the beginning of that wait.
    Waiting(&'a [f64]),
}

/// `L` walks through one region at once, with room to run them again and again.
#[derive(Clone, Debug)]
pub struct Kernel<const L: usize> {
    /// Mass on the first stage of each node …
    mass: Vec<[f64; L]>,
    /// … and on the others, of the nodes that have them.
    later: Vec<[[f64; L]; LATER]>,
    /// Nodes that have mass.
    held: Marked,
    /// Mass that arrives at each node.
    moving: Vec<[f64; L]>,
    /// Nodes where mass arrives.
    reached: Marked,
    /// Least mass that stays on a node.
    least: [f64; L],
    /// Probability of each step.
    steps: Vec<[f64; L]>,
    stays: Vec<Stay<L>>,
    /// Whether what leaves each node goes nowhere but to the next.
    straight: Vec<bool>,
    /// Probability that what leaves each node leaves the region.
    leaves: Vec<[f64; L]>,
    /// Where the region is entered, and which share of what enters does so there.
    enters: Vec<(usize, [f64; L])>,
    /// What has left the region and comes in again.
    outside: [f64; L],
    /// Share of what each node is waited for that late interrupts report behind it; all, where it is empty.
    behind: Vec<[f64; L]>,
}

impl<const L: usize> Default for Kernel<L> {
    fn default() -> Self {
        Kernel {
            mass: Vec::new(),
            later: Vec::new(),
            held: Marked::default(),
            moving: Vec::new(),
            reached: Marked::default(),
            least: [0.0; L],
            steps: Vec::new(),
            stays: Vec::new(),
            straight: Vec::new(),
            leaves: Vec::new(),
            enters: Vec::new(),
            outside: [0.0; L],
            behind: Vec::new(),
        }
    }
}

impl<const L: usize> Kernel<L> {
    /// For each walk and bin of `skid`, where the head stands during it when an overflow happened at the walk's origin: expected
    /// reports per node, averaged over the bin's ticks. Each sums to what the origin does. All walks are through the
    /// same region, and reported alike.
    pub fn reports(
        &mut self,
        walks: &[Walk<'_>; L],
        skid: &Skid,
        origins: [Origin<'_>; L],
    ) -> [Vec<Vec<f64>>; L] {
        let Walk { region, reporting, .. } = walks[0];
        self.prepare(walks, skid.tick);
        self.begin(region, origins);
        (0..skid.edges[0]).for_each(|_| self.tick(region));
        let mut bins: [Vec<Vec<f64>>; L] = std::array::from_fn(|_| Vec::with_capacity(skid.weights.len()));
        for edge in skid.edges.windows(2) {
            let waited = self.bin(region, edge[1] - edge[0]);
            let reported = if reporting.late { self.report(region, reporting, waited) } else { waited };
            for (lane, bins) in bins.iter_mut().enumerate() {
                bins.push(reported.iter().map(|lanes| lanes[lane]).collect());
            }
        }
        bins
    }

    /// Where the head stands, on average over the next so many ticks.
    fn bin(&mut self, region: &Region, ticks: usize) -> Vec<[f64; L]> {
        let mut seen = vec![[0.0; L]; region.nodes.len()];
        for _ in 0..ticks {
            self.look(1.0 / ticks as f64, &mut seen);
            self.tick(region);
        }
        seen
    }

    fn begin(&mut self, region: &Region, origins: [Origin<'_>; L]) {
        for (lane, origin) in origins.into_iter().enumerate() {
            let (Origin::Behind(of) | Origin::Entering(of) | Origin::Waiting(of)) = origin;
            self.least[lane] = GONE * of.iter().sum::<f64>();
            for (node, &mass) in of.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                let mut lanes = [0.0; L];
                lanes[lane] = mass;
                match origin {
                    Origin::Behind(_) => self.go_on(region, node, lanes),
                    Origin::Entering(_) => self.reach(node, lanes),
                    Origin::Waiting(_) => self.hold(node, lanes),
                }
            }
        }
        self.settle(region);
    }

    fn prepare(&mut self, walks: &[Walk<'_>; L], tick: f64) {
        let region = walks[0].region;
        let borders = walks.map(|walk| Border::of(region, walk.rates));
        let n = region.nodes.len();
        self.mass.clear();
        self.mass.resize(n, [0.0; L]);
        self.held.clear(n);
        self.moving.clear();
        self.moving.resize(n, [0.0; L]);
        self.reached.clear(n);
        let steps = 0..walks[0].rates.steps.len();
        self.steps = steps.map(|at| walks.map(|walk| walk.rates.steps[at])).collect();
        self.stays = Stay::all(walks.map(|walk| walk.holds), tick);
        self.later.clear();
        self.later.resize(self.stays.iter().filter_map(|stay| stay.staged).count(), [[0.0; L]; LATER]);
        self.leaves = (0..n).map(|node| borders.each_ref().map(|border| border.leaves[node])).collect();
        let enters = borders[0].enters.iter().enumerate();
        self.enters =
            enters.map(|(k, e)| (e.0, borders.each_ref().map(|border| border.enters[k].1))).collect();
        self.outside = [0.0; L];
        let behind = |node: usize| walks.map(|walk| walk.holds.behind.get(node).copied().unwrap_or(1.0));
        let some = walks.iter().any(|walk| !walk.holds.behind.is_empty());
        self.behind = (0..if some { n } else { 0 }).map(behind).collect();
        self.straight = (0..n).map(|node| self.straight(region, node)).collect();
    }

    /// Whether what leaves `node` goes nowhere but to the next.
    fn straight(&self, region: &Region, node: usize) -> bool {
        let mut steps = region.starts[node]..region.starts[node + 1];
        let only = steps.next().filter(|_| steps.is_empty());
        only.is_some_and(|at| region.steps[at].to == node + 1 && self.steps[at] == [1.0; L])
    }

    /// One tick: what leaves its node moves on, and passes the nodes that retire at once.
    fn tick(&mut self, region: &Region) {
        let mut from = 0;
        while let Some(i) = self.held.next(from) {
            from = i + 1;
            let out = self.leave(i);
            if any(&out) {
                self.go_on(region, i, out);
            }
        }
        self.settle(region);
    }

    /// Takes out of node `i` what leaves it in a tick, and drops what is less than the least.
    fn leave(&mut self, i: usize) -> [f64; L] {
        let stay = &self.stays[i];
        let mut out = times(&self.mass[i], &stay.leave);
        (0..L).for_each(|lane| self.mass[i][lane] -= out[lane]);
        for stage in stay.staged.map_or(&mut [][..], |ix| &mut self.later[ix]) {
            for lane in 0..L {
                let next = stage[lane] * stay.leave[lane];
                let (moved, left) = if stay.long[lane] { (out[lane] - next, next) } else { (0.0, out[lane]) };
                stage[lane] += moved;
                out[lane] = left;
            }
        }
        let all = self.whole(i);
        let gone: [bool; L] = std::array::from_fn(|lane| all[lane] < self.least[lane]);
        if gone.contains(&true) {
            self.forget(i, gone);
        }
        out
    }

    /// Drops what is on node `i` in the walks that it is `gone` from.
    fn forget(&mut self, i: usize, gone: [bool; L]) {
        let later = self.stays[i].staged.map_or(&mut [][..], |ix| &mut self.later[ix]);
        for stage in later.iter_mut().chain([&mut self.mass[i]]) {
            (0..L).for_each(|lane| stage[lane] = if gone[lane] { 0.0 } else { stage[lane] });
        }
        if !gone.contains(&false) {
            self.held.remove(i);
        }
    }

    /// Mass on all stages of node `i`.
    fn whole(&self, i: usize) -> [f64; L] {
        let mut all = self.mass[i];
        let later = self.stays[i].staged.map_or(&[][..], |ix| &self.later[ix]);
        later.iter().for_each(|stage| add(&mut all, stage));
        all
    }

    /// Lets `mass` that leaves node `i` arrive where it goes.
    fn go_on(&mut self, region: &Region, i: usize, mass: [f64; L]) {
        if self.straight[i] {
            return self.reach(i + 1, mass);
        }
        for at in region.starts[i]..region.starts[i + 1] {
            self.reach(region.steps[at].to, times(&mass, &self.steps[at]));
        }
        add(&mut self.outside, &times(&mass, &self.leaves[i]));
    }

    /// Lets what has left the region enter it.
    fn come_in(&mut self) {
        let outside = std::mem::replace(&mut self.outside, [0.0; L]);
        if any(&outside) {
            for k in 0..self.enters.len() {
                let (node, share) = self.enters[k];
                self.reach(node, times(&outside, &share));
            }
        }
    }

    fn reach(&mut self, i: usize, mass: [f64; L]) {
        add(&mut self.moving[i], &mass);
        self.reached.insert(i);
    }

    fn hold(&mut self, i: usize, mass: [f64; L]) {
        add(&mut self.mass[i], &mass);
        self.held.insert(i);
    }

    /// Lets moving mass pass what retires at once. Mass that comes round backwards more than twice a tick waits there.
    fn settle(&mut self, region: &Region) {
        for round in 0..3 {
            self.come_in();
            let mut from = 0;
            while let Some(i) = self.reached.next(from) {
                from = i + 1;
                self.reached.remove(i);
                let arrived = std::mem::replace(&mut self.moving[i], [0.0; L]);
                let on = if round < 2 { times(&arrived, &self.stays[i].pass) } else { [0.0; L] };
                self.hold(i, std::array::from_fn(|lane| arrived[lane] - on[lane]));
                if any(&on) {
                    self.go_on(region, i, on);
                }
            }
        }
    }

    /// What is reported of what is `waited` for in the `walk` that was gone last.
    pub fn reported(&self, walk: Walk<'_>, waited: &[f64]) -> Vec<f64> {
        if !walk.reporting.late {
            return waited.to_vec();
        }
        let lanes = waited.iter().map(|waited| [*waited; L]).collect();
        self.report(walk.region, walk.reporting, lanes).iter().map(|lanes| lanes[0]).collect()
    }

    /// What late interrupts report of what is `waited` for.
    fn report(&self, region: &Region, reporting: Reporting, mut waited: Vec<[f64; L]>) -> Vec<[f64; L]> {
        let mut reported = vec![[0.0; L]; waited.len()];
        for ((waited, reported), behind) in waited.iter_mut().zip(&mut reported).zip(&self.behind) {
            let late = times(waited, behind);
            *reported = std::array::from_fn(|lane| waited[lane] - late[lane]);
            *waited = late;
        }
        for i in (1..waited.len()).filter(|&i| reporting.fused && region.nodes[i].fused) {
            let before = std::mem::replace(&mut waited[i - 1], [0.0; L]);
            add(&mut waited[i], &before);
        }
        let mut outside = [0.0; L];
        for (waited, leaves) in waited.iter().zip(&self.leaves) {
            add(&mut outside, &times(waited, leaves));
        }
        self.enters.iter().for_each(|(node, share)| add(&mut reported[*node], &times(&outside, share)));
        for (from, waited) in waited.iter().enumerate().filter(|(_, waited)| any(waited)) {
            for at in region.starts[from]..region.starts[from + 1] {
                add(&mut reported[region.steps[at].to], &times(waited, &self.steps[at]));
            }
        }
        reported
    }

    /// Adds a `part` of where the head stands.
    fn look(&self, part: f64, into: &mut [[f64; L]]) {
        let mut from = 0;
        while let Some(i) = self.held.next(from) {
            from = i + 1;
            let all = self.whole(i);
            into[i].iter_mut().zip(all).for_each(|(into, all)| *into += part * all);
        }
    }
}

fn times<const L: usize>(a: &[f64; L], b: &[f64; L]) -> [f64; L] {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

fn add<const L: usize>(sum: &mut [f64; L], more: &[f64; L]) {
    (0..L).for_each(|lane| sum[lane] += more[lane]);
}

fn any<const L: usize>(mass: &[f64; L]) -> bool {
    mass.iter().any(|&m| m > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::skipping;

    #[test]
    fn nothing_is_lost_and_walks_do_not_meet() {
        let model = skipping([100.0, 50.0, 50.0, 100.0, 100.0, 1.0], true, Reporting::default());
        let ways = [[0.0, 7.0], [2.0, 6.0]].map(|z| model.rates(&z).expect("a flow"));
        let holds = |rates| Holds::measure(&model.region, rates, model.time.as_ref(), model.reporting);
        let holds = [holds(&ways[0]), holds(&ways[1])];
        let walk = |k: usize| Walk {
            region: &model.region,
            rates: &ways[k],
            holds: &holds[k],
            reporting: model.reporting,
        };
        let (skid, mut origin) = (Skid::broad(1.0, 20.0), vec![0.0; model.region.nodes.len()]);
        origin[1] = 3.0;
        let of = |k| Kernel::default().reports(&[walk(k)], &skid, [Origin::Behind(&origin)]);
        let [first, second] =
            Kernel::default().reports(&[walk(0), walk(1)], &skid, [Origin::Behind(&origin); 2]);
        assert!(first != second && [first.clone()] == of(0) && [second] == of(1));
        for bin in first {
            let all = bin.iter().sum::<f64>();
            assert!(all > 3.0 - 1e-4 && all <= 3.0 + 1e-9, "{all}");
        }
    }

    #[test]
    fn nodes_that_hold_long_do_not_share_what_they_hold() {
        let model = skipping([100.0, 50.0, 50.0, 100.0, 100.0, 1.0], true, Reporting::default());
        let rates = model.rates(&[0.0, 7.0]).expect("a flow");
        let mut holds = Holds::measure(&model.region, &rates, model.time.as_ref(), model.reporting);
        let n = holds.mean.len();
        (holds.mean[1], holds.mean[n - 3]) = (40.0, 15.0);
        let walk = Walk { region: &model.region, rates: &rates, holds: &holds, reporting: model.reporting };
        let mut origin = vec![0.0; n];
        (origin[1], origin[n - 3]) = (2.0, 1.0);
        let [bins] =
            Kernel::default().reports(&[walk], &Skid::fixed(1.0, 2.0, 30.0), [Origin::Waiting(&origin)]);
        let all = bins[0].iter().sum::<f64>();
        assert!((all - 3.0).abs() < 1e-4, "{all}");
        // of what is held longer, more is left
        assert!(bins[0][1] / 2.0 > bins[0][n - 3], "{:?}", bins[0]);
    }
}
