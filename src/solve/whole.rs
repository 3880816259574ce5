//! interim: flow only
use crate::code::Program;
use crate::progress::{Progress, Stage};
use crate::report::Verdict;
use crate::skid::assemble::{Folded, groups, hot, model};
use crate::skid::hold::Reporting;
use crate::skid::region::{Classes, Region};
use crate::skid::{Circulation, Holds, Model, Rates, Skid};
use std::collections::BTreeMap;
/// m
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Gibbs,
    Argmin,
    Flow,
    Ics,
}
/// s
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Settings {
    pub method: Method,
    pub skid: Option<f64>,
    pub seed: u64,
}
/// e
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Evidence {
    pub retired: Vec<Folded>,
    pub time: Option<Folded>,
}
/// a
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Answer {
    pub model: Model,
    pub rates: Rates,
    pub holds: Holds,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub draws: Vec<Vec<f64>>,
    pub method: Method,
    pub reason: String,
    pub r_hat: Option<f64>,
    pub ess: Option<f64>,
}
impl Answer {
    /// v
    pub fn verdict(&self) -> Verdict {
        match self.method {
            Method::Gibbs => Verdict::Gibbs,
            Method::Argmin => Verdict::Argmin,
            Method::Flow => Verdict::Flow,
            Method::Ics => Verdict::Ics,
        }
    }
}
/// s
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Solved {
    pub answers: Vec<Answer>,
    pub skid: Skid,
    pub reporting: Reporting,
}
/// s
pub fn solve(
    program: &Program,
    evidence: &Evidence,
    _settings: &Settings,
    progress: &dyn Progress,
) -> Solved {
    let reporting = Reporting { late: true, fused: true };
    let classes = Classes::of(program);
    let retired: Vec<Folded> = if evidence.retired.is_empty() {
        evidence.time.iter().cloned().collect()
    } else {
        evidence.retired.clone()
    };
    let total: f64 = retired[0].weight.values().sum();
    let load = |f: usize| retired[0].weight.range((f, 0)..(f + 1, 0)).map(|x| x.1).sum::<f64>() / total;
    let groups = groups(program, &load);
    progress.start(Stage::Solve, groups.len() as u64);
    let mut answers = vec![];
    for g in &groups {
        progress.advance(Stage::Solve, 1);
        if g.iter().map(|f| load(*f)).sum::<f64>() <= 0.0 {
            continue;
        }
        let mut alone: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
        let mut weight: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for f in g {
            let m =
                model(program, &classes, &[*f], &retired, evidence.time.as_ref(), reporting, &|_, _| true);
            let Some(z) = super::conserve::conserve(&m, &m.region.expectation()) else { continue };
            let rates = Circulation::new(&m.region).rates(&m.region, &z, m.total().max(1e-9));
            let p = crate::skid::circulation::probabilities(&m.region, &z);
            for (ix, a) in m.region.arms.iter().enumerate() {
                let to = a.to.map_or(usize::MAX, |t| m.region.nodes[m.region.blocks[t].nodes.start].inst);
                alone.insert((*f, m.region.nodes[a.node].inst, to), p[ix]);
            }
            for (b, bl) in m.region.blocks.iter().enumerate() {
                let raw: f64 = m.events[0].weight[bl.nodes.clone()].iter().sum();
                let e = rates.as_ref().map_or(0.0, |r| r.blocks[b] * bl.nodes.len() as f64);
                weight.insert(
                    (*f, program.functions[*f].1.cfg.block_of(m.region.nodes[bl.nodes.start].inst)),
                    raw.max(e),
                );
            }
        }
        let recall = |region: &Region| -> Vec<f64> {
            let lp = |ix: usize| {
                let a = &region.arms[ix];
                let to = a.to.map_or(usize::MAX, |t| region.nodes[region.blocks[t].nodes.start].inst);
                alone
                    .get(&(region.nodes[a.node].function, region.nodes[a.node].inst, to))
                    .map_or(a.prior, |p| p.max(1e-4).ln())
            };
            region
                .decisions
                .iter()
                .flat_map(|d| {
                    let first = lp(d.arms.start);
                    d.arms.clone().skip(1).map(|a| lp(a) - first).collect::<Vec<_>>()
                })
                .collect()
        };
        let hot = hot(program, g, &weight, total);
        let model = model(program, &classes, g, &retired, evidence.time.as_ref(), reporting, &|f, b| {
            hot.contains(&(f, b))
        });
        if model.region.nodes.is_empty() {
            continue;
        }
        let Some(z) = super::conserve::conserve(&model, &recall(&model.region)) else { continue };
        let Some(rates) = Circulation::new(&model.region).rates(&model.region, &z, model.total()) else {
            continue;
        };
        let holds = Holds::measure(&model.region, &rates, model.time.as_ref(), reporting);
        let low = rates.blocks.iter().map(|b| b * 0.7).collect();
        let high = rates.blocks.iter().map(|b| b * 1.4).collect();
        answers.push(Answer {
            model,
            rates,
            holds,
            low,
            high,
            draws: vec![],
            method: Method::Flow,
            reason: "flow".into(),
            r_hat: None,
            ess: None,
        });
    }
    progress.finish(Stage::Solve);
    Solved { answers, skid: Skid::fixed(0.5, 45.0, 9.0), reporting }
}
