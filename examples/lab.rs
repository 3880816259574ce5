use skidconv::code::*;
use skidconv::skid::assemble::*;
use skidconv::skid::{self, *};
use skidconv::{
    image::SearchPath,
    perfdata::PerfFile,
    pipeline::{linking, survey::Survey},
};
use std::collections::BTreeMap;
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
        let mut truth: BTreeMap<u64, f64> = BTreeMap::new();
        let mut head: BTreeMap<u64, f64> = BTreeMap::new();
        let mut funcs: Vec<u64> = vec![];
        for l in std::fs::read_to_string(format!("{dir}/{case}.truth.tsv")).unwrap().lines() {
            let f: Vec<&str> = l.split('\t').collect();
            if f[0] == "I" {
                let a = u64::from_str_radix(f[1], 16).unwrap();
                truth.insert(a, f[3].parse().unwrap());
                head.insert(a, f[4].parse().unwrap());
            }
            if f[0] == "S" {
                funcs.push(u64::from_str_radix(f[1], 16).unwrap());
            }
        }
        funcs.sort();
        let file = PerfFile::open(format!("{dir}/{case}.perf.data").as_ref()).unwrap();
        let mut search = SearchPath::system(vec![format!("{dir}/symfs").into()]);
        let _ = &mut search;
        let s = Survey::take(&file, search, &skidconv::progress::Silent).unwrap();
        let program = linking::link(&s);
        lab(case, &file, &s, &program, &truth, &head, &funcs);
    }
}
fn lab(
    case: &str,
    file: &PerfFile,
    s: &Survey,
    program: &Program,
    truth: &BTreeMap<u64, f64>,
    head: &BTreeMap<u64, f64>,
    funcs: &[u64],
) {
    let fold = |name: &str| {
        let ix = file.attrs().iter().position(|a| a.name.starts_with(name))? as u32;
        let mut weight = BTreeMap::new();
        let mut raw: BTreeMap<u64, f64> = BTreeMap::new();
        for c in s.cells.iter().filter(|c| c.attr.0 == ix) {
            *raw.entry(c.at.svma.0).or_default() += c.weight as f64;
            if let Some(k) = program.find(linking::place(c.at)) {
                *weight.entry(k).or_default() += c.weight as f64;
            }
        }
        let e = &s.events[ix as usize];
        Some((
            Folded { weight, period: e.weight as f64 / e.samples as f64, counts: Counts::Instructions },
            raw,
        ))
    };
    let (ins, rawi) = fold("instructions").unwrap();
    let (cyc, rawc) = fold("cycles").unwrap();
    if std::env::var("CALLS").is_ok() {
        for (i, f) in program.functions.iter().enumerate() {
            println!("f{i} {:x}..{:x} {} insts", f.1.range.start, f.1.range.end, f.1.insts.len());
        }
        for call in &program.calls {
            println!(
                "f{} {:x} tail {} open {} -> {:?}",
                call.caller,
                program.functions[call.caller].1.insts[call.inst].address,
                call.tail,
                call.open,
                call.targets
            );
        }
    }
    let classes = region::Classes::of(program);
    let late = std::env::var("LATE").map(|v| v == "1").unwrap_or(case != "mcf_like");
    let reporting = hold::Reporting { late, fused: true };
    let load = |f: usize| {
        ins.weight.range((f, 0)..(f + 1, 0)).map(|x| x.1).sum::<f64>() / rawi.values().sum::<f64>()
    };
    let groups = groups(program, &load);
    let fun = |m: &BTreeMap<u64, f64>| {
        let mut g: BTreeMap<u64, f64> = BTreeMap::new();
        for (a, v) in m {
            *g.entry(funcs.partition_point(|f| f <= a) as u64).or_default() += v;
        }
        g
    };
    let mut block: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, f) in &program.functions {
        for b in &f.cfg.blocks {
            for i in b.first..b.end {
                block.insert(f.insts[i].address, f.insts[b.first].address);
            }
        }
    }
    let grp = |m: &BTreeMap<u64, f64>| {
        let mut g: BTreeMap<u64, f64> = BTreeMap::new();
        for (a, v) in m {
            *g.entry(block.get(a).copied().unwrap_or(0)).or_default() += v;
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
    println!(
        "{case}: functions {} groups {:?}",
        program.functions.len(),
        groups.iter().map(|g| g.len()).collect::<Vec<_>>()
    );
    show("raw", &rawi, truth);
    show("raw cycles", &rawc, head);
    let verbose = std::env::var("V").is_ok();
    let mut flow_all = rawi.clone();
    let mut map_all = rawi.clone();
    let mut cyc_all = rawc.clone();
    let t0 = std::time::Instant::now();
    for g in &groups {
        let l: f64 = g.iter().map(|f| load(*f)).sum();
        if l < 0.002 {
            continue;
        }
        let mut alone: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
        let mut weight: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for f in g {
            let m = model(program, &classes, &[*f], &[ins.clone()], Some(&cyc), reporting, &|_, _| true);
            let Some(z) = skidconv::solve::conserve::conserve(&m, &m.region.expectation()) else {
                println!("no flow alone f{f}");
                continue;
            };
            let rates = Circulation::new(&m.region).rates(&m.region, &z, m.total().max(1e-9));
            let p = circulation::probabilities(&m.region, &z);
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
        let hot = hot(program, g, &weight, rawi.values().sum());
        let model =
            model(program, &classes, g, &[ins.clone()], Some(&cyc), reporting, &|f, b| hot.contains(&(f, b)));
        let addr: Vec<u64> = model
            .region
            .nodes
            .iter()
            .map(|n| program.functions[n.function].1.insts[n.inst].address)
            .collect();
        let mut c = Circulation::new(&model.region);
        let Some(z0) = skidconv::solve::conserve::conserve(&model, &recall(&model.region)) else {
            println!("no flow hot");
            continue;
        };
        let rates = c.rates(&model.region, &z0, model.total()).unwrap();
        println!(
            "group load {l:.3} {} fn; nodes {} blocks {} freedom {} roots {} returns {} {:?}",
            g.len(),
            addr.len(),
            model.region.blocks.len(),
            model.region.freedom(),
            model.region.roots.len(),
            model.region.returns.len(),
            t0.elapsed()
        );
        let put = |into: &mut BTreeMap<u64, f64>, e: &[f64]| {
            for (i, a) in addr.iter().enumerate() {
                into.insert(*a, e[model.region.nodes[i].block]);
            }
        };
        put(&mut flow_all, &rates.blocks);
        show("flow", &flow_all, truth);
        // truth
        let mut m2 = model.clone();
        for (i, a) in addr.iter().enumerate() {
            m2.events[0].weight[i] = truth.get(a).copied().unwrap_or(0.0);
        }
        let zt = skidconv::solve::conserve::conserve(&m2, &recall(&m2.region)).unwrap();
        {
            let rt = c.rates(&model.region, &zt, model.total()).unwrap();
            let mut m = flow_all.clone();
            put(&mut m, &rt.blocks);
            show("truth fit", &m, truth);
            if std::env::var("CALLS").is_ok() {
                let (a, b) = (fun(&m), fun(truth));
                for (k, v) in &a {
                    println!(
                        "{:x} fit {:.0} truth {:.0}",
                        funcs[*k as usize - 1],
                        v / model.events[0].period,
                        b.get(k).unwrap_or(&0.0) / model.events[0].period
                    );
                }
                println!(
                    "roots {:?}",
                    model
                        .region
                        .roots
                        .iter()
                        .map(|r| addr[model.region.blocks[*r].nodes.start])
                        .map(|x| format!("{x:x}"))
                        .collect::<Vec<_>>()
                );
            }
        }
        use skidconv::solve::{energy::*, gibbs, levenberg::*, posterior::*};
        let env = |n: &str, d: f64| std::env::var(n).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
        let trust =
            Trust { dispersion: env("DISP", 4.0), spread: env("SPREAD", 0.4), prior: env("PRIOR", 1.0) };
        let mut best: Option<(f64, Vec<f64>, Skid)> = None;
        let tick = env("TICK", 0.5);
        for cycles in [4.0, 6.0, 9.0, 13.0, 18.0, 25.0, 32.0, 40.0, 50.0, 62.0, 78.0, 100.0, 130.0] {
            let mut p = Posterior::new(&model, &z0, Skid::fixed(tick, cycles, 0.2 * cycles), trust);
            let half: Vec<f64> = {
                let e = model.region.expectation();
                z0.iter().enumerate().map(|(k, z)| if k < e.len() { 0.5 * (z + e[k]) } else { *z }).collect()
            };
            let modes: Vec<Mode> =
                [z0.clone(), half].into_iter().filter_map(|s| descend(&mut p, s, 20)).collect();
            if let Some(m) = modes.iter().min_by(|a, b| a.energy.total_cmp(&b.energy)) {
                let prediction = p.predict(&m.z).unwrap();
                let et = {
                    let r = p.residuals(&zt).unwrap();
                    let n: usize = model.region.nodes.len();
                    (value(&r), value(&r[..n]), value(&r[n..2 * n]), value(&r[2 * n..]))
                };
                let em = {
                    let r = p.residuals(&m.z).unwrap();
                    let n: usize = model.region.nodes.len();
                    (value(&r[..n]), value(&r[n..2 * n]), value(&r[2 * n..]))
                };
                if verbose {
                    println!(
                        "skid {cycles:5.0} energy {:.1} ({:.1} {:.1} {:.1}) truth {:.1} ({:.1} {:.1} {:.1}) dispersion {:.2} other {:.1} evals {}",
                        m.energy,
                        em.0,
                        em.1,
                        em.2,
                        et.0,
                        et.1,
                        et.2,
                        et.3,
                        model.dispersion(&prediction, &p.skid),
                        modes.iter().map(|m| m.energy).fold(0.0, f64::max),
                        p.evaluations
                    );
                    let mut mm = flow_all.clone();
                    put(&mut mm, &prediction.rates.blocks);
                    show("   map", &mm, truth);
                }
                if best.as_ref().is_none_or(|b| m.energy < b.0) {
                    best = Some((m.energy, m.z.clone(), p.skid.clone()));
                }
            }
        }
        let (_, z, skid) = best.unwrap();
        let mut p = Posterior::new(&model, &z0, skid, trust);
        let pr = p.predict(&z).unwrap();
        put(&mut map_all, &pr.rates.blocks);
        show("MAP", &map_all, truth);
        let mut waited = pr.holds.waited.clone();
        if std::env::var("CHAIN").is_ok() {
            let ch = gibbs::chain(&mut p, &z, gibbs::Length { burn: 20, keep: 60 }, 1).unwrap();
            let mut mean = vec![0.0; model.region.blocks.len()];
            for b in &ch.blocks {
                for (m, x) in mean.iter_mut().zip(b) {
                    *m += x / ch.blocks.len() as f64;
                }
            }
            put(&mut map_all, &mean);
            waited = ch.waited.clone();
            println!(
                "chain evals {} skid {:.1}",
                p.evaluations,
                ch.skid.iter().sum::<f64>() / ch.skid.len() as f64
            );
        }
        for (a, h) in addr.iter().zip(&waited) {
            cyc_all.insert(*a, *h);
        }
        if std::env::var("DUMP").is_ok() {
            let pt = p.predict(&zt).unwrap();
            let x = model.expected(&pt, &p.skid, 0);
            for (i, a) in addr.iter().enumerate() {
                let n = &model.region.nodes[i];
                let inst = &program.functions[n.function].1.insts[n.inst];
                println!(
                    "{:x} f{} b{} {:8} truth {:.0} flow {:.0} map {:.0} | o {:.0} x(truth) {:.0} c {:.0} head {:.2} truth {:.2}",
                    a,
                    n.function,
                    n.block,
                    inst.mnemonic,
                    truth.get(a).unwrap_or(&0.0) / model.events[0].period,
                    rates.blocks[n.block] / model.events[0].period,
                    pr.rates.blocks[n.block] / model.events[0].period,
                    model.events[0].weight[i] / model.events[0].period,
                    x[i],
                    model.time.as_ref().unwrap().cycles[i] / model.time.as_ref().unwrap().period,
                    pr.holds.mean[i],
                    head.get(a).unwrap_or(&0.0) / truth.get(a).unwrap_or(&1.0)
                );
            }
        }
    }
    show("FLOW", &flow_all, truth);
    show("FIT", &map_all, truth);
    show("CYC", &cyc_all, head);
    let _ = skid::Skid::broad;
    println!("{:?}", t0.elapsed());
}
