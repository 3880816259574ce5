use skidconv::code::*;
use skidconv::skid::{self, *};
use skidconv::skid::assemble::*;
use skidconv::{perfdata::PerfFile, image::SearchPath, pipeline::{survey::Survey, linking}};
use std::collections::BTreeMap;
fn tvd(a: &BTreeMap<u64, f64>, b: &BTreeMap<u64, f64>) -> f64 {
    let (sa, sb): (f64, f64) = (a.values().sum(), b.values().sum());
    let mut d = 0.0; for (k, v) in a { d += (v / sa - b.get(k).unwrap_or(&0.0) / sb).abs(); } for (k, v) in b { if !a.contains_key(k) { d += v / sb; } }
    d / 2.0
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = std::env::var("CASES").unwrap_or("/work/shared/cases".into());
    for case in &args[1..] {
        let mut truth: BTreeMap<u64, f64> = BTreeMap::new(); let mut head: BTreeMap<u64, f64> = BTreeMap::new(); let mut funcs: Vec<u64> = vec![];
        for l in std::fs::read_to_string(format!("{dir}/{case}.truth.tsv")).unwrap().lines() {
            let f: Vec<&str> = l.split('\t').collect();
            if f[0] == "I" { let a = u64::from_str_radix(f[1], 16).unwrap(); truth.insert(a, f[3].parse().unwrap()); head.insert(a, f[4].parse().unwrap()); }
            if f[0] == "S" { funcs.push(u64::from_str_radix(f[1], 16).unwrap()); }
        }
        funcs.sort();
        let file = PerfFile::open(format!("{dir}/{case}.perf.data").as_ref()).unwrap();
        let mut search = SearchPath::system(vec![format!("{dir}/symfs").into()]); let _ = &mut search;
        let s = Survey::take(&file, search, &skidconv::progress::Silent).unwrap();
        let program = linking::link(&s);
        lab(case, &file, &s, &program, &truth, &head, &funcs);
    }
}
fn lab(case: &str, file: &PerfFile, s: &Survey, program: &Program, truth: &BTreeMap<u64, f64>, head: &BTreeMap<u64, f64>, funcs: &[u64]) {
    let fold = |name: &str| {
        let ix = file.attrs().iter().position(|a| a.name.starts_with(name))? as u32;
        let mut weight = BTreeMap::new(); let mut raw: BTreeMap<u64, f64> = BTreeMap::new();
        for c in s.cells.iter().filter(|c| c.attr.0 == ix) {
            *raw.entry(c.at.svma.0).or_default() += c.weight as f64;
            if let Some(k) = program.find(linking::place(c.at)) { *weight.entry(k).or_default() += c.weight as f64; }
        }
        let e = &s.events[ix as usize];
        Some((Folded { weight, period: e.weight as f64 / e.samples as f64, counts: Counts::Instructions }, raw))
    };
    let (ins, rawi) = fold("instructions").unwrap(); let (cyc, rawc) = fold("cycles").unwrap();
    if std::env::var("CALLS").is_ok() { for (i, f) in program.functions.iter().enumerate() { println!("f{i} {:x}..{:x} {} insts", f.1.range.start, f.1.range.end, f.1.insts.len()); } for call in &program.calls { println!("f{} {:x} tail {} open {} -> {:?}", call.caller, program.functions[call.caller].1.insts[call.inst].address, call.tail, call.open, call.targets); } }
    let classes = region::Classes::of(program);
    let late = std::env::var("LATE").map(|v| v == "1").unwrap_or(case != "mcf_like");
    let reporting = hold::Reporting { late, fused: true };
    let load = |f: usize| ins.weight.range((f, 0)..(f + 1, 0)).map(|x| x.1).sum::<f64>() / rawi.values().sum::<f64>();
    let groups = groups(program, &load);
    let fun = |m: &BTreeMap<u64, f64>| { let mut g: BTreeMap<u64, f64> = BTreeMap::new(); for (a, v) in m { *g.entry(funcs.partition_point(|f| f <= a) as u64).or_default() += v; } g };
    let mut block: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, f) in &program.functions { for b in &f.cfg.blocks { for i in b.first..b.end { block.insert(f.insts[i].address, f.insts[b.first].address); } } }
    let grp = |m: &BTreeMap<u64, f64>| { let mut g: BTreeMap<u64, f64> = BTreeMap::new(); for (a, v) in m { *g.entry(block.get(a).copied().unwrap_or(0)).or_default() += v; } g };
    let show = |label: &str, m: &BTreeMap<u64, f64>, t: &BTreeMap<u64, f64>| println!("{case:12} {label:24} func {:.4} block {:.4} instr {:.4}", tvd(&fun(m), &fun(t)), tvd(&grp(m), &grp(t)), tvd(m, t));
    println!("{case}: functions {} groups {:?}", program.functions.len(), groups.iter().map(|g| g.len()).collect::<Vec<_>>());
    show("raw", &rawi, truth); show("raw cycles", &rawc, head);
    let verbose = std::env::var("V").is_ok();
    let mut flow_all = rawi.clone(); let mut map_all = rawi.clone(); let mut cyc_all = rawc.clone();
    let t0 = std::time::Instant::now();
    for g in &groups {
        let l: f64 = g.iter().map(|f| load(*f)).sum(); if l < 0.002 { continue; }
        let model0 = model(program, &classes, g, &[ins.clone()], Some(&cyc), reporting, &|_, _| true);
        let mut alone: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
        for f in g {
            let m = model(program, &classes, &[*f], &[ins.clone()], Some(&cyc), reporting, &|_, _| true);
            let mut c = Circulation::new(&m.region);
            let z = skidconv::solve::conserve::conserve(&m, &mut c, &m.region.expectation());
            let p = circulation::probabilities(&m.region, &z);
            for (ix, a) in m.region.arms.iter().enumerate() { let to = a.to.map_or(usize::MAX, |t| m.region.nodes[m.region.blocks[t].nodes.start].inst); alone.insert((*f, m.region.nodes[a.node].inst, to), p[ix]); }
        }
        let recall = |region: &Region| -> Vec<f64> {
            let lp = |ix: usize| { let a = &region.arms[ix]; let to = a.to.map_or(usize::MAX, |t| region.nodes[region.blocks[t].nodes.start].inst); alone.get(&(region.nodes[a.node].function, region.nodes[a.node].inst, to)).map_or(a.prior, |p| p.max(1e-4).ln()) };
            region.decisions.iter().flat_map(|d| { let first = lp(d.arms.start); d.arms.clone().skip(1).map(|a| lp(a) - first).collect::<Vec<_>>() }).collect()
        };
        let mut c = Circulation::new(&model0.region);
        let z = skidconv::solve::conserve::conserve(&model0, &mut c, &recall(&model0.region));
        let Some(rates) = c.rates(&model0.region, &z, model0.total()) else { println!("no flow"); for call in &program.calls { println!("f{} {:x} tail {} open {} -> {:?}", call.caller, program.functions[call.caller].1.insts[call.inst].address, call.tail, call.open, call.targets); } continue };
        let hot = hot(program, &model0, &rates.blocks);
        let model = model(program, &classes, g, &[ins.clone()], Some(&cyc), reporting, &|f, b| hot.contains(&(f, b)));
        let addr: Vec<u64> = model.region.nodes.iter().map(|n| program.functions[n.function].1.insts[n.inst].address).collect();
        let mut c = Circulation::new(&model.region);
        let z0 = skidconv::solve::conserve::conserve(&model, &mut c, &recall(&model.region));
        let Some(rates) = c.rates(&model.region, &z0, model.total()) else { println!("no flow hot"); continue };
        println!("group load {l:.3} {} fn; all nodes {} -> {} blocks {} freedom {} roots {} returns {} {:?}", g.len(), model0.region.nodes.len(), addr.len(), model.region.blocks.len(), model.region.freedom(), model.region.roots.len(), model.region.returns.len(), t0.elapsed());
        let put = |into: &mut BTreeMap<u64, f64>, e: &[f64]| for (i, a) in addr.iter().enumerate() { into.insert(*a, e[model.region.nodes[i].block]); };
        put(&mut flow_all, &rates.blocks);
        if std::env::var("TRUTH").is_ok() {
            let mut m2 = model.clone();
            for (i, a) in addr.iter().enumerate() { m2.events[0].weight[i] = truth.get(a).copied().unwrap_or(0.0); }
            let mut c2 = Circulation::new(&m2.region);
            let zt = skidconv::solve::conserve::conserve(&m2, &mut c2, &recall(&m2.region));
            let rt = c2.rates(&m2.region, &zt, model.total()).unwrap();
            let mut m = flow_all.clone(); put(&mut m, &rt.blocks); show("truth fit", &m, truth);
            if std::env::var("CALLS").is_ok() { let (a, b) = (fun(&m), fun(truth)); for (k, v) in &a { println!("{:x} fit {:.0} truth {:.0}", funcs[*k as usize - 1], v / model.events[0].period, b.get(k).unwrap_or(&0.0) / model.events[0].period); } println!("roots {:?}", model.region.roots.iter().map(|r| addr[model.region.blocks[*r].nodes.start]).map(|x| format!("{x:x}")).collect::<Vec<_>>()); }
            let mut kernel = Kernel::default();
            for tick in [0.25, 0.5, 1.0] { for cycles in [6.0f64, 9.0, 13.0, 18.0, 25.0, 32.0, 40.0, 45.0, 50.0, 62.0, 78.0, 100.0, 130.0] {
                let skid = Skid::fixed(tick, cycles, 8.0);
                let p = model.predict(&mut c2, &mut kernel, &zt, &skid).unwrap();
                println!("tick {tick} skid {cycles} nll/4 {:.1} dispersion {:.2}", model.misfit(&p, &skid) / 4.0, model.dispersion(&p, &skid));
                if std::env::var("DUMPX").is_ok() && cycles.to_string() == std::env::var("DUMPX").unwrap() && tick == 0.25 { let x = model.expected(&p, &skid, 0); for (i, a) in addr.iter().enumerate() { let n = &model.region.nodes[i]; let inst = &program.functions[n.function].1.insts[n.inst]; println!("{:x} b{} {:8} truth {:.0} o {:.0} x {:.0} c {:.0} head {:.2} truth {:.2}", a, n.block, inst.mnemonic, rt.blocks[n.block] / model.events[0].period, model.events[0].weight[i] / model.events[0].period, x[i], model.time.as_ref().unwrap().cycles[i] / model.time.as_ref().unwrap().period, p.holds.mean[i], head.get(a).unwrap_or(&0.0) / truth.get(a).unwrap_or(&1.0)); } }
            } }
            continue;
        }
        let mut solver = skidconv::solve::gibbs::Solver::new(&model, z0);
        let mut last = vec![];
        solver.run(&mut |label: &str, e: &[f64]| { last = e.to_vec(); if verbose { let mut m = flow_all.clone(); put(&mut m, e); show(label, &m, truth); } });
        put(&mut map_all, &last);
        for (a, h) in addr.iter().zip(solver.waited()) { cyc_all.insert(*a, h); }
        if std::env::var("DUMP").is_ok() { for (i, a) in addr.iter().enumerate() { let n = &model.region.nodes[i]; let inst = &program.functions[n.function].1.insts[n.inst]; let h = solver.heads()[i]; println!("{:x} f{} b{} {:8} truth {:.0} flow {:.0} map {:.0} | o {:.0} c {:.0} head {:.2} truth {:.2}", a, n.function, n.block, inst.mnemonic, truth.get(a).unwrap_or(&0.0) / model.events[0].period, rates.blocks[n.block] / model.events[0].period, last[n.block] / model.events[0].period, model.events[0].weight[i] / model.events[0].period, model.time.as_ref().unwrap().cycles[i] / model.time.as_ref().unwrap().period, h, head.get(a).unwrap_or(&0.0) / truth.get(a).unwrap_or(&1.0)); } }
    }
    show("FLOW", &flow_all, truth); show("FIT", &map_all, truth); show("CYC", &cyc_all, head);
    let _ = skid::Skid::broad; println!("{:?}", t0.elapsed());
}
