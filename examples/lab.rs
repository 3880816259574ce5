//! The solver's laboratory: distances to the truth of recordings whose truth is known.
//!
//!     lab [--dump] FOLDER [CASE…]
//!
//! FOLDER holds NAME.perf.data, NAME.truth.tsv and symfs/. Prints total variation distances, function/block/instruction,
//! of the samples as they stand, of flow conservation and of the solution, and of time at instruction level; `truth` is
//! how near the parameters can come at all.

#[path = "../benches/accuracy/score.rs"]
#[allow(dead_code)]
mod score;
#[path = "../benches/accuracy/truth.rs"]
#[allow(dead_code)]
mod truth;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use score::grouped;
use truth::{Profile, Truth};

use skidconv::code::Program;
use skidconv::image::SearchPath;
use skidconv::perfdata::PerfFile;
use skidconv::pipeline::{linking, survey::Survey};
use skidconv::progress::Silent;
use skidconv::skid::assemble::{Counts, Folded};
use skidconv::skid::{Circulation, Rates, Region, reporting};
use skidconv::solve::{Evidence, Group, Method, Settings, prepare, solve_all};

/// Addresses as the binary has them.
fn own(profile: &Profile, bias: u64) -> Profile {
    profile.iter().map(|(at, v)| (at.wrapping_sub(bias), *v)).collect()
}

/// Total variation distance; nothing is as far from anything as can be.
fn distance(a: &Profile, b: &Profile) -> f64 {
    score::distance(a, b).unwrap_or(1.0)
}

struct Case {
    program: Program,
    evidence: Evidence,
    raw: Profile,
    raw_time: Profile,
    truth: Truth,
    executions: Profile,
    heads: Profile,
    blocks: BTreeMap<u64, u64>,
}

impl Case {
    fn load(folder: &Path, name: &str) -> Case {
        let truth = Truth::read(&folder.join(format!("{name}.truth.tsv")), &folder.join("symfs"));
        let truth = truth.expect("a truth");
        let (executions, heads) = (own(&truth.executions, truth.image.1), own(&truth.heads, truth.image.1));
        let file = PerfFile::open(&folder.join(format!("{name}.perf.data"))).expect("a recording");
        let survey =
            Survey::take(&file, SearchPath::system(vec![folder.join("symfs")]), &Silent).expect("samples");
        let program = linking::link(&survey);
        let fold = |event: &str| {
            let ix = file.attrs().iter().position(|a| a.name.starts_with(event)).expect("the event");
            let (mut weight, mut raw) = (BTreeMap::new(), Profile::new());
            for c in survey.cells.iter().filter(|c| c.attr.0 as usize == ix) {
                *raw.entry(c.at.svma.0).or_default() += c.weight as f64;
                if let Some(k) = program.find(linking::place(c.at)) {
                    *weight.entry(k).or_default() += c.weight as f64;
                }
            }
            let count = &survey.events[ix];
            let period = count.weight as f64 / count.samples as f64;
            (Folded { weight, period, counts: Counts::Instructions }, raw)
        };
        let (retired, raw) = fold("instructions");
        let (time, raw_time) = fold("cycles");
        let mut blocks = BTreeMap::new();
        for (_, f) in &program.functions {
            for b in &f.cfg.blocks {
                (b.first..b.end).for_each(|i| {
                    blocks.insert(f.insts[i].address, f.insts[b.first].address);
                });
            }
        }
        let time = std::env::var("NOTIME").is_err().then_some(time);
        let evidence = Evidence { retired: vec![retired], time };
        Case { program, evidence, raw, raw_time, truth, executions, heads, blocks }
    }

    fn distances(&self, profile: &Profile) -> [f64; 3] {
        let function = |a: u64| self.truth.function(a.wrapping_add(self.truth.image.1));
        let block = |a: u64| self.blocks.get(&a).copied().unwrap_or(0);
        let at = |key: &dyn Fn(u64) -> u64| distance(&grouped(profile, key), &grouped(&self.executions, key));
        [at(&function), at(&block), at(&|a| a)]
    }

    fn address(&self, region: &Region, node: usize) -> u64 {
        let node = &region.nodes[node];
        self.program.functions[node.function].1.insts[node.inst].address
    }

    fn put(&self, into: &mut Profile, region: &Region, rates: &Rates) {
        for n in 0..region.nodes.len() {
            into.insert(self.address(region, n), rates.blocks[region.nodes[n].block]);
        }
    }

    /// The nearest that the parameters of `group` come to the truth.
    fn nearest(&self, group: &Group) -> Option<(Vec<f64>, Rates)> {
        let mut model = group.model.clone();
        let total = model.total();
        let mut weight: Vec<f64> = (0..model.region.nodes.len())
            .map(|n| *self.executions.get(&self.address(&model.region, n)).unwrap_or(&0.0))
            .collect();
        let sum: f64 = weight.iter().sum();
        weight.iter_mut().for_each(|w| *w *= total / sum * 100.0);
        model.events[0].weight = weight;
        let free = model.region.freedom();
        let z = skidconv::solve::conserve::conserve(&model, &group.flow[..free])?;
        let rates = Circulation::new(&model.region).rates(&model.region, &z, total)?;
        Some((z, rates))
    }
}

fn show(d: [f64; 3]) -> String {
    format!("{:.4} {:.4} {:.4}", d[0], d[1], d[2])
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let dump = args.iter().any(|a| a == "--dump");
    args.retain(|a| !a.starts_with("--"));
    let folder = Path::new(&args[0]).to_owned();
    let mut names: Vec<String> = args[1..].to_vec();
    if names.is_empty() {
        let files = std::fs::read_dir(&folder).expect("a folder").flatten();
        let name =
            |f: std::fs::DirEntry| f.file_name().to_str()?.strip_suffix(".truth.tsv").map(String::from);
        names = files.filter_map(name).collect();
        names.sort();
    }
    println!(
        "{:24} {:20} | {:20} | {:20} | truth  | time raw fit  | late fused skid verdict seconds",
        "case", "raw", "flow", "fit"
    );
    let mut sums = [[0.0; 3]; 3];
    for name in &names {
        let rows = run(&folder, name, dump);
        for (sum, row) in sums.iter_mut().zip(rows) {
            sum.iter_mut().zip(row).for_each(|(s, r)| *s += r / names.len() as f64);
        }
    }
    println!("{:24} {} | {} | {}", "mean", show(sums[0]), show(sums[1]), show(sums[2]));
}

fn run(folder: &Path, name: &str, dump: bool) -> [[f64; 3]; 3] {
    let case = Case::load(folder, name);
    let started = Instant::now();
    let events: Vec<_> = case.evidence.retired.iter().chain(&case.evidence.time).collect();
    let reporting = reporting::decide(&case.program, case.evidence.time.as_ref(), &events);
    let groups = prepare(&case.program, &case.evidence, reporting);
    let method = if std::env::var("FLOW").is_ok() { Method::Flow } else { Method::Gibbs };
    let settings = Settings { method, skid: None, seed: 1 };
    let (skid, answers) = solve_all(&groups, &settings, &Silent);
    let seconds = started.elapsed().as_secs_f64();
    let (mut flow, mut fit, mut nearest) = (case.raw.clone(), case.raw.clone(), case.raw.clone());
    let mut time = case.raw_time.clone();
    for (group, answer) in groups.iter().zip(&answers) {
        let region = &answer.model.region;
        case.put(&mut flow, region, &group.rates);
        case.put(&mut fit, region, &answer.rates);
        let truth = case.nearest(group);
        if let Some((_, rates)) = &truth {
            case.put(&mut nearest, region, rates);
        }
        for (n, waited) in answer.holds.waited.iter().enumerate() {
            time.insert(case.address(region, n), *waited);
        }
        if dump {
            dump_group(&case, group, answer);
        }
    }
    let rows = [case.distances(&case.raw), case.distances(&flow), case.distances(&fit)];
    let verdicts: Vec<String> = answers.iter().map(|a| format!("{:?}", a.method)).collect();
    println!(
        "{name:24} {} | {} | {} | {:.4} | {:.4} {:.4} | {:5} {:5} {:3.0}±{:<3.0} {} {seconds:.1}",
        show(rows[0]),
        show(rows[1]),
        show(rows[2]),
        case.distances(&nearest)[1],
        distance(&case.raw_time, &case.heads),
        distance(&time, &case.heads),
        reporting.late,
        reporting.fused,
        skid.mean(),
        skid.deviation(),
        verdicts.join(",").chars().take(16).collect::<String>(),
    );
    rows
}

fn dump_group(case: &Case, group: &Group, answer: &skidconv::solve::Answer) {
    let region = &answer.model.region;
    println!("{} nodes, freedom {}: {}", region.nodes.len(), region.freedom(), answer.reason);
    let period = answer.model.events[0].period;
    for (n, node) in region.nodes.iter().enumerate() {
        let address = case.address(region, n);
        let inst = &case.program.functions[node.function].1.insts[node.inst];
        let executed = case.executions.get(&address).copied().unwrap_or(0.0);
        let time = answer.model.time.as_ref().map_or(0.0, |t| t.cycles[n] / t.period);
        println!(
            "{address:x} f{} b{} {:8} truth {:6.0} flow {:6.0} fit {:6.0} | o {:6.0} c {:6.0} head {:6.2} truth {:6.2}",
            node.function,
            node.block,
            inst.mnemonic,
            executed / period,
            group.rates.blocks[node.block] / period,
            answer.rates.blocks[node.block] / period,
            answer.model.events[0].weight[n] / period,
            time,
            answer.holds.mean[n],
            case.heads.get(&address).unwrap_or(&0.0) / executed.max(1.0),
        );
    }
}
