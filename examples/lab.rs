use object::{Object, ObjectSegment, ObjectSymbol};
use skidconv::code::*;
use skidconv::skid::*;
use std::collections::BTreeMap;
pub struct Elf {
    pub segs: Vec<(u64, Vec<u8>)>,
    pub funcs: Vec<(u64, u64, String)>,
}
impl Source for Elf {
    fn bitness(&self) -> Bitness {
        Bitness::Bits64
    }
    fn read(&self, a: u64, len: usize) -> Vec<u8> {
        for (s, d) in &self.segs {
            if a >= *s && a < s + d.len() as u64 {
                let o = (a - s) as usize;
                return d[o..(o + len).min(d.len())].to_vec();
            }
        }
        vec![]
    }
}
struct NoLinks;
impl Linker for NoLinks {
    fn stub(&self, _: Place) -> Option<Place> {
        None
    }
    fn cell(&self, _: Place) -> Option<Place> {
        None
    }
}
pub fn load(path: &str) -> Elf {
    let data = std::fs::read(path).unwrap();
    let o = object::File::parse(&*data).unwrap();
    let segs = o.segments().map(|s| (s.address(), s.data().unwrap().to_vec())).collect();
    let mut funcs: Vec<(u64, u64, String)> = o
        .symbols()
        .filter(|s| s.kind() == object::SymbolKind::Text && s.size() > 0)
        .map(|s| (s.address(), s.address() + s.size(), s.name().unwrap().to_string()))
        .collect();
    funcs.sort();
    funcs.dedup_by_key(|f| f.0);
    Elf { segs, funcs }
}
pub fn samples(path: &str) -> BTreeMap<String, (BTreeMap<u64, f64>, f64, f64)> {
    let mut m: BTreeMap<String, (BTreeMap<u64, f64>, f64, f64)> = BTreeMap::new();
    for l in std::fs::read_to_string(path).unwrap().lines() {
        let w: Vec<&str> = l.split_whitespace().collect();
        if w.len() < 3 {
            continue;
        }
        let p: f64 = w[0].parse().unwrap();
        let e = m.entry(w[1].trim_end_matches(':').split(':').next().unwrap().to_string()).or_default();
        *e.0.entry(u64::from_str_radix(w[2], 16).unwrap()).or_default() += p;
        e.1 += p;
        e.2 += 1.0;
    }
    m
}
fn tvd(a: &BTreeMap<u64, f64>, b: &BTreeMap<u64, f64>) -> f64 {
    let (sa, sb): (f64, f64) = (a.values().sum(), b.values().sum());
    let mut d = 0.0;
    for (k, v) in a {
        d += (v / sa - b.get(k).unwrap_or(&0.0) / sb).abs();
    }
    for (k, v) in b {
        if !a.contains_key(k) {
            d += v / sb;
        }
    }
    d / 2.0
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = std::env::var("CASES").unwrap_or("/work/shared/cases".into());
    for case in &args[1..] {
        let elf = load(&format!("{dir}/symfs/opt/cases/{case}/{case}"));
        let s = samples(&format!("/work/lab/{case}.samples"));
        let mut truth: BTreeMap<u64, f64> = BTreeMap::new();
        let mut head: BTreeMap<u64, f64> = BTreeMap::new();
        for l in std::fs::read_to_string(format!("{dir}/{case}.truth.tsv")).unwrap().lines() {
            let f: Vec<&str> = l.split('\t').collect();
            if f[0] == "I" {
                let a = u64::from_str_radix(f[1], 16).unwrap();
                truth.insert(a, f[3].parse().unwrap());
                head.insert(a, f[4].parse().unwrap());
            }
        }
        lab(case, &elf, &s, &truth, &head);
    }
}
fn lab(
    case: &str,
    elf: &Elf,
    s: &BTreeMap<String, (BTreeMap<u64, f64>, f64, f64)>,
    truth: &BTreeMap<u64, f64>,
    head: &BTreeMap<u64, f64>,
) {
    let ins = &s["instructions"];
    let cyc = &s["cycles"];
    let mut known: Vec<u64> = ins.0.keys().chain(cyc.0.keys()).copied().collect();
    known.sort();
    known.dedup();
    let f: Vec<(u32, Function)> = elf
        .funcs
        .iter()
        .filter(|(a, b, _)| {
            let w = |m: &(BTreeMap<u64, f64>, f64, f64)| m.0.range(*a..*b).map(|x| x.1).sum::<f64>() / m.1;
            w(ins) + w(cyc) > 0.001
        })
        .map(|(a, b, _)| (0, explore(elf, *a..*b, &known)))
        .collect();
    let names: Vec<&str> =
        f.iter().map(|x| elf.funcs.iter().find(|y| y.0 == x.1.range.start).unwrap().2.as_str()).collect();
    let nf = f.len();
    // callchain evidence: from env file
    let program = Program::link(f, &NoLinks, &[]);
    let classes = region::Classes::of(&program);
    let all: Vec<usize> = (0..nf).collect();
    let build = |keep: &dyn Fn(usize, usize) -> bool| {
        let region = Region::build(&program, &classes, &all, keep);
        let at = |i: usize| {
            let n = &region.nodes[i];
            program.functions[n.function].1.insts[n.inst].address
        };
        let addr: Vec<u64> = (0..region.nodes.len()).map(at).collect();
        let w = |m: &BTreeMap<u64, f64>| {
            addr.iter().map(|a| m.get(a).copied().unwrap_or(0.0)).collect::<Vec<f64>>()
        };
        let counts = vec![true; addr.len()];
        let obs = Observation { weight: w(&ins.0), period: ins.1 / ins.2, counts };
        let late = std::env::var("LATE").map(|v| v == "1").unwrap_or(case != "mcf_like");
        let model = Model {
            events: vec![obs],
            time: Some(hold::TimeSamples { cycles: w(&cyc.0), period: cyc.1 / cyc.2 }),
            reporting: hold::Reporting { late, fused: true },
            region,
        };
        (model, addr)
    };
    let (model, addr) = build(&|_, _| true);
    let block: BTreeMap<u64, u64> = addr
        .iter()
        .enumerate()
        .map(|(i, a)| (*a, addr[model.region.blocks[model.region.nodes[i].block].nodes.start]))
        .collect();
    let grp = |m: &BTreeMap<u64, f64>| {
        let mut g: BTreeMap<u64, f64> = BTreeMap::new();
        for (a, v) in m {
            *g.entry(block.get(a).copied().unwrap_or(0)).or_default() += v;
        }
        g
    };
    let fun = |m: &BTreeMap<u64, f64>| {
        let mut g: BTreeMap<u64, f64> = BTreeMap::new();
        for (a, v) in m {
            *g.entry(elf.funcs.partition_point(|f| f.0 <= *a) as u64).or_default() += v;
        }
        g
    };
    let show = |label: &str, m: &BTreeMap<u64, f64>, t: &BTreeMap<u64, f64>| {
        println!(
            "{case:12} {label:24} func {:.4} block {:.4} instr {:.4}",
            tvd(&fun(m), &fun(t)),
            tvd(&grp(m), &grp(t)),
            tvd(m, t)
        )
    };
    let exec = |model: &Model, addr: &[u64], e: &[f64]| -> BTreeMap<u64, f64> {
        addr.iter().enumerate().map(|(i, a)| (*a, e[model.region.nodes[i].block])).collect()
    };
    println!(
        "{case}: functions {nf} nodes {} blocks {} arms {} freedom {} roots {} returns {}",
        addr.len(),
        model.region.blocks.len(),
        model.region.arms.len(),
        model.region.freedom(),
        model.region.roots.len(),
        model.region.returns.len()
    );
    show("raw", &ins.0, truth);
    let mut flow = Circulation::new(&model.region);
    let t = std::time::Instant::now();
    let z = skidconv::solve::conserve::conserve(&model, &mut flow);
    let rates = flow.rates(&model.region, &z, model.total()).unwrap();
    println!("conserve {:?}", t.elapsed());
    show("flow", &exec(&model, &addr, &rates.blocks), truth);
    let hot: std::collections::BTreeSet<(usize, usize)> = model
        .region
        .blocks
        .iter()
        .enumerate()
        .filter(|(b, bl)| rates.blocks[*b] * bl.nodes.len() as f64 > 2e-4 * model.total())
        .map(|(_, bl)| {
            (
                bl.function,
                program.functions[bl.function].1.cfg.block_of(model.region.nodes[bl.nodes.start].inst),
            )
        })
        .collect();
    let rooted: std::collections::BTreeSet<usize> = hot.iter().map(|x| x.0).collect();
    let calls: std::collections::BTreeSet<(usize, usize)> = program
        .calls
        .iter()
        .filter(|c| c.targets.iter().any(|t| rooted.contains(&t.function)))
        .map(|c| (c.caller, program.functions[c.caller].1.cfg.block_of(c.inst)))
        .collect();
    let (model, addr) =
        build(&|f, b| hot.contains(&(f, b)) || (rooted.contains(&f) && (b == 0 || calls.contains(&(f, b)))));
    println!(
        "hot: nodes {} blocks {} arms {} freedom {} roots {} returns {}",
        addr.len(),
        model.region.blocks.len(),
        model.region.arms.len(),
        model.region.freedom(),
        model.region.roots.len(),
        model.region.returns.len()
    );
    let mut flow = Circulation::new(&model.region);
    let z0 = skidconv::solve::conserve::conserve(&model, &mut flow);
    let rates = flow.rates(&model.region, &z0, model.total()).unwrap();
    show("flow hot", &exec(&model, &addr, &rates.blocks), truth);
    if let Some(t) = &model.time {
        let h = Holds::measure(&model.region, &rates, model.time.as_ref(), model.reporting);
        let m: BTreeMap<u64, f64> = addr.iter().copied().zip(h.waited).collect();
        show("cycles raw", &addr.iter().copied().zip(t.cycles.iter().copied()).collect(), head);
        show("cycles attributed (flow)", &m, head);
    }
    if std::env::var("DUMP").is_ok() {
        for (i, a) in addr.iter().enumerate() {
            let n = &model.region.nodes[i];
            let inst = &program.functions[n.function].1.insts[n.inst];
            println!(
                "{:x} {} b{} {} truth {:.0} o {:.0} c {:.0} flow {:.0}",
                a,
                names[n.function],
                n.block,
                inst.mnemonic,
                truth.get(a).unwrap_or(&0.0) / model.events[0].period,
                model.events[0].weight[i] / model.events[0].period,
                model.time.as_ref().unwrap().cycles[i] / model.time.as_ref().unwrap().period,
                rates.blocks[n.block] / model.events[0].period
            );
        }
    }
    let mut solver = skidconv::solve::gibbs::Solver::new(&model, z0);
    solver.run(&mut |label: &str, e: &[f64]| show(label, &exec(&model, &addr, e), truth));
    let h = solver.waited();
    let m: BTreeMap<u64, f64> = addr.iter().copied().zip(h).collect();
    show("cycles attributed", &m, head);
}
