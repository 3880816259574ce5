//! The solver's laboratory: distances to the truth of recordings whose truth is known.
//!
//!     lab [--dump] FOLDER [CASE…]
//!
//! FOLDER holds NAME.perf.data, NAME.truth.tsv and symfs/. Prints total variation distances, function/block/instruction,
//! of the samples as they stand, of flow conservation and of the solution, and of time at instruction level; `truth` is
//! how near the parameters can come at all.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use skidconv::code::Program;
use skidconv::image::SearchPath;
use skidconv::perfdata::PerfFile;
use skidconv::pipeline::{linking, survey::Survey};
use skidconv::progress::Silent;
use skidconv::skid::assemble::{Counts, Folded};
use skidconv::skid::{Circulation, Rates, Region, reporting};
use skidconv::solve::{Evidence, Group, Method, Settings, prepare, solve_all};

type Profile = BTreeMap<u64, f64>;

/// What a truth file says.
#[derive(Default)]
struct Truth {
    executions: Profile,
    heads: Profile,
    functions: Vec<u64>,
}

impl Truth {
    fn read(path: &Path) -> Truth {
        let mut truth = Truth::default();
        let mut bias = 0;
        for line in std::fs::read_to_string(path).expect("a truth").lines() {
            let f: Vec<&str> = line.split('\t').collect();
            let address = |text: &str| u64::from_str_radix(text, 16).expect("an address") - bias;
            match f[0] {
                // the mapping of a position-independent binary: addresses as linked, as far as its offsets are those
                "M" if address(f[1]) != address(f[3]) && address(f[1]) - address(f[3]) != 0x400000 => {
                    bias = address(f[1]) - address(f[3]);
                }
                "I" => {
                    truth.executions.insert(address(f[1]), f[3].parse().expect("a count"));
                    truth.heads.insert(address(f[1]), f[4].parse().expect("a count"));
                }
                "S" => truth.functions.push(address(f[1])),
                _ => {}
            }
        }
        truth.functions.sort_unstable();
        truth
    }
}

fn distance(a: &Profile, b: &Profile) -> f64 {
    let (sa, sb): (f64, f64) = (a.values().sum(), b.values().sum());
    let both = a.iter().map(|(k, v)| (v / sa - b.get(k).unwrap_or(&0.0) / sb).abs()).sum::<f64>();
    let alone = b.iter().filter(|(k, _)| !a.contains_key(k)).map(|(_, v)| v / sb).sum::<f64>();
    (both + alone) / 2.0
}

fn grouped(profile: &Profile, key: &dyn Fn(u64) -> u64) -> Profile {
    let mut sums = Profile::new();
    profile.iter().for_each(|(a, v)| *sums.entry(key(*a)).or_default() += v);
    sums
}

struct Case {
    program: Program,
    evidence: Evidence,
    raw: Profile,
    raw_time: Profile,
    truth: Truth,
    blocks: BTreeMap<u64, u64>,
}

impl Case {
    fn load(folder: &Path, name: &str) -> Case {
        let truth = Truth::read(&folder.join(format!("{name}.truth.tsv")));
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
        Case { program, evidence, raw, raw_time, truth, blocks }
    }

    fn distances(&self, profile: &Profile) -> [f64; 3] {
        let function = |a: u64| self.truth.functions.partition_point(|f| *f <= a) as u64;
        let block = |a: u64| self.blocks.get(&a).copied().unwrap_or(0);
        let at = |key: &dyn Fn(u64) -> u64| {
            distance(&grouped(profile, key), &grouped(&self.truth.executions, key))
        };
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
            .map(|n| *self.truth.executions.get(&self.address(&model.region, n)).unwrap_or(&0.0))
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
    use skidconv::skid::{Kernel, Skid};
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&args[0]).to_owned();
    let mut names: Vec<String> = args[1..].to_vec();
    if names.is_empty() {
        let files = std::fs::read_dir(&folder).expect("a folder").flatten();
        names = files
            .filter_map(|f| f.file_name().to_str()?.strip_suffix(".truth.tsv").map(String::from))
            .collect();
        names.sort();
    }
    let mut total = 0.0;
    let mut mixed = 0.0;
    for name in &names {
        let case = Case::load(&folder, name);
        let events: Vec<_> = case.evidence.retired.iter().chain(&case.evidence.time).collect();
        let reporting = reporting::decide(&case.program, case.evidence.time.as_ref(), &events);
        let groups = prepare(&case.program, &case.evidence, reporting);
        let Some(group) = groups.iter().max_by(|a, b| a.model.total().total_cmp(&b.model.total())) else {
            continue;
        };
        let Some((z, _)) = case.nearest(group) else { continue };
        let tick: f64 = std::env::var("TICK").ok().and_then(|v| v.parse().ok()).unwrap_or(0.5);
        let mut best = (f64::MAX, 0.0, 0.0);
        let mut long = 0.0;
        let o: f64 = group.model.events[0].samples().filter(|o| *o > 0.0).map(|o| o - o * o.ln()).sum();
        for cycles in [
            2.0f64, 4.0, 6.0, 9.0, 13.0, 16.0, 20.0, 25.0, 32.0, 40.0, 45.0, 50.0, 62.0, 78.0, 100.0, 130.0,
            160.0,
        ] {
            let skid = Skid::fixed(tick, cycles, 0.2 * cycles);
            let mut c = Circulation::new(&group.model.region);
            let Some(p) = group.model.predict(&mut c, &mut Kernel::default(), &z, &skid) else { continue };
            let m = group.model.misfit(&p, &skid) - o;
            if m < best.0 {
                best = (m, cycles, group.model.dispersion(&p, &skid));
            }
            long = m;
        }
        total += best.0.min(20000.0).sqrt();
        mixed += long.min(20000.0).sqrt();
        if std::env::var("Q").is_err() {
            println!(
                "{name:26} samples {:6.0} deviance/2 {:8.0} at {:4.0} (mixed {:8.0}) dispersion {:.1}",
                group.model.events[0].total(),
                best.0,
                best.1,
                long,
                best.2
            );
        }
    }
    println!("sum of roots {total:.0} mixed {mixed:.0}");
}

fn dump_group(case: &Case, group: &Group, answer: &skidconv::solve::Answer) {
    let region = &answer.model.region;
    println!("{} nodes, freedom {}: {}", region.nodes.len(), region.freedom(), answer.reason);
    let period = answer.model.events[0].period;
    for (n, node) in region.nodes.iter().enumerate() {
        let address = case.address(region, n);
        let inst = &case.program.functions[node.function].1.insts[node.inst];
        let executed = case.truth.executions.get(&address).copied().unwrap_or(0.0);
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
            case.truth.heads.get(&address).unwrap_or(&0.0) / executed.max(1.0),
        );
    }
}
