//! gibbs (experimental)
use crate::skid::likelihood::Prediction;
use crate::skid::*;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

/// x
pub struct Solver<'a> {
    model: &'a Model,
    flow: Circulation,
    kernel: Kernel,
    z0: Vec<f64>,
    z: Vec<f64>,
    skid: Skid,
    spread: f64,
    dispersion: f64,
    prior_sd: f64,
    evals: usize,
}

struct Point {
    cost: f64,
    expected: Vec<f64>,
    pooled: Vec<f64>,
    prediction: Prediction,
}

impl<'a> Solver<'a> {
    /// x
    pub fn new(model: &'a Model, z0: Vec<f64>) -> Self {
        let env = |n: &str, d: f64| std::env::var(n).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
        Solver {
            flow: Circulation::new(&model.region),
            kernel: Kernel::default(),
            z: z0.clone(),
            z0,
            skid: Skid::broad(env("TICK", 0.5), 200.0),
            spread: env("SPREAD", 0.4),
            dispersion: 6.0,
            prior_sd: env("PRIOR", 1.0),
            model,
            evals: 0,
        }
    }
    fn point(&mut self, z: &[f64]) -> Option<Point> {
        self.evals += 1;
        let p = self.model.predict(&mut self.flow, &mut self.kernel, z, &self.skid)?;
        let expected = self.model.expected(&p, &self.skid, 0);
        let pooled = if let Some(t) = &self.model.time {
            p.holds.deviations(&self.model.region, &p.rates, t.period, self.spread)
        } else {
            vec![]
        };
        let mut cost = 0.0;
        for (x, o) in expected.iter().zip(self.model.events[0].samples()) {
            cost += (x - o * x.ln()) / self.dispersion;
        }
        cost += pooled.iter().map(|d| 0.5 * d * d).sum::<f64>();
        cost += self.prior(z);
        Some(Point { cost, expected, pooled, prediction: p })
    }
    fn prior(&self, z: &[f64]) -> f64 {
        let free = self.model.region.freedom();
        z.iter()
            .zip(&self.z0)
            .enumerate()
            .map(|(k, (a, b))| {
                let sd = if k < free { self.prior_sd } else { 2.0 };
                0.5 * ((a - b) / sd).powi(2)
            })
            .sum()
    }
    fn jac(&mut self, z: &[f64], at: &Point) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut j = vec![];
        let mut jp = vec![];
        for k in 0..z.len() {
            let h = 0.03;
            let mut y = z.to_vec();
            y[k] += h;
            match self.point(&y) {
                Some(p) => {
                    j.push(p.expected.iter().zip(&at.expected).map(|(a, b)| (a - b) / h).collect());
                    jp.push(p.pooled.iter().zip(&at.pooled).map(|(a, b)| (a - b) / h).collect());
                }
                None => {
                    j.push(vec![0.0; at.expected.len()]);
                    jp.push(vec![0.0; at.pooled.len()]);
                }
            }
        }
        (j, jp)
    }
    fn hessian(&self, z: &[f64], at: &Point, j: &[Vec<f64>], jp: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let d = z.len();
        let free = self.model.region.freedom();
        let o: Vec<f64> = self.model.events[0].samples().collect();
        let mut g = vec![0.0; d];
        let mut h = vec![vec![0.0; d]; d];
        for a in 0..d {
            for i in 0..o.len() {
                g[a] += j[a][i] * (1.0 - o[i] / at.expected[i]) / self.dispersion;
            }
            for i in 0..at.pooled.len() {
                g[a] += jp[a][i] * at.pooled[i];
            }
            let sd = if a < free { self.prior_sd } else { 2.0 };
            g[a] += (z[a] - self.z0[a]) / (sd * sd);
            for b in 0..=a {
                let mut s = 0.0;
                for i in 0..o.len() {
                    s += j[a][i] * j[b][i] / at.expected[i].max(0.5) / self.dispersion;
                }
                for i in 0..at.pooled.len() {
                    s += jp[a][i] * jp[b][i];
                }
                if a == b {
                    s += 1.0 / (sd * sd);
                }
                h[a][b] = s;
                h[b][a] = s;
            }
        }
        (g, h)
    }
    fn fit(&mut self, iterations: usize) -> Vec<Vec<f64>> {
        let mut z = self.z.clone();
        let mut at = self.point(&z).unwrap();
        let mut mu = 0.1;
        let mut hess = vec![];
        for _ in 0..iterations {
            let (j, jp) = self.jac(&z, &at);
            let (g, h) = self.hessian(&z, &at, &j, &jp);
            hess = h.clone();
            let mut ok = false;
            let before = at.cost;
            for _ in 0..6 {
                let mut a = h.clone();
                for k in 0..z.len() {
                    a[k][k] *= 1.0 + mu;
                    a[k][k] += 1e-6;
                }
                let Some(l) = cholesky(&a) else {
                    mu *= 4.0;
                    continue;
                };
                let mut step = solve(&l, &g);
                let top = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
                if top > 1.5 {
                    step.iter_mut().for_each(|s| *s *= 1.5 / top);
                }
                let y: Vec<f64> = z.iter().zip(&step).map(|(a, b)| a - b).collect();
                if let Some(p) = self.point(&y) {
                    if p.cost < at.cost {
                        z = y;
                        at = p;
                        mu *= 0.3;
                        ok = true;
                        break;
                    }
                }
                mu *= 4.0;
            }
            if !ok || before - at.cost < 0.05 {
                break;
            }
        }
        self.z = z;
        hess
    }
    fn em(&mut self, rounds: usize) {
        let z = self.z.clone();
        let p = self.point(&z).unwrap().prediction;
        let o: Vec<f64> = self.model.events[0].samples().collect();
        let prior = Skid::broad(self.skid.tick, 200.0);
        for _ in 0..rounds {
            let x = self.model.expected(&p, &self.skid, 0);
            let total = self.model.events[0].total();
            let mut w: Vec<f64> = vec![];
            for (k, m) in p.bins[0].iter().enumerate() {
                let resp: f64 = (0..o.len()).map(|i| o[i] * total * self.skid.weights[k] * m[i] / x[i]).sum();
                w.push(
                    resp / self.dispersion
                        + if prior.weights.len() == self.skid.weights.len() {
                            2.0 * prior.weights[k]
                        } else {
                            0.05
                        },
                );
            }
            self.skid.weights = w;
            self.skid.normalise();
        }
    }
    /// x
    pub fn run(&mut self, show: &mut dyn FnMut(&str, &[f64])) {
        let t = std::time::Instant::now();
        for round in 0..5 {
            self.em(10);
            let z = self.z.clone();
            let p = self.point(&z).unwrap();
            let x = self.model.dispersion(&p.prediction, &self.skid);
            self.dispersion = x;
            self.fit(4);
            let z = self.z.clone();
            let p = self.point(&z).unwrap();
            self.dispersion = self.model.dispersion(&p.prediction, &self.skid);
            println!(
                "round {round} skid {:.1} ± {:.1} dispersion {:.2} cost {:.1} evals {} {:?}",
                self.skid.mean(),
                self.skid.deviation(),
                self.dispersion,
                p.cost,
                self.evals,
                t.elapsed()
            );
            show("map", &p.prediction.rates.blocks);
        }
        self.skid = self.skid.trimmed(0.01);
        println!(
            "skid {:?}",
            self.skid
                .weights
                .iter()
                .zip(&self.skid.edges)
                .map(|(w, e)| format!("{:.0}:{w:.2}", *e as f64 * self.skid.tick))
                .collect::<Vec<_>>()
                .join(" ")
        );
        let hess = self.fit(6);
        let p = {
            let z = self.z.clone();
            self.point(&z).unwrap()
        };
        show("map", &p.prediction.rates.blocks);
        if std::env::var("NOCHAIN").is_ok() {
            return;
        }
        self.chain(&hess, show);
        println!("evals {} {:?}", self.evals, t.elapsed());
    }
    fn chain(&mut self, hess: &[Vec<f64>], show: &mut dyn FnMut(&str, &[f64])) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let d = self.z.len();
        if d == 0 {
            return;
        }
        let l = cholesky(hess).unwrap();
        // columns of L^-T are whitened directions
        let dirs: Vec<Vec<f64>> = (0..d)
            .map(|k| {
                let mut e = vec![0.0; d];
                e[k] = 1.0;
                back(&l, &e)
            })
            .collect();
        let mut z = self.z.clone();
        let mut at = self.point(&z).unwrap();
        let sweeps = 80;
        let mut mean = vec![0.0; self.model.region.blocks.len()];
        let mut kept = 0.0;
        let o: Vec<f64> = self.model.events[0].samples().collect();
        for sweep in 0..sweeps {
            for dir in &dirs {
                let level = at.cost - rng.random::<f64>().ln().abs() * -1.0;
                let (mut lo, mut hi) = (-3.0 * rng.random::<f64>(), 0.0);
                hi += lo + 3.0;
                for _ in 0..12 {
                    let s = lo + (hi - lo) * rng.random::<f64>();
                    let y: Vec<f64> = z.iter().zip(dir).map(|(a, b)| a + s * b).collect();
                    if let Some(p) = self.point(&y) {
                        if p.cost <= level {
                            z = y;
                            at = p;
                            break;
                        }
                    }
                    if s < 0.0 { lo = s } else { hi = s }
                }
            }
            // skid | z
            let total = self.model.events[0].total();
            let mut w = vec![];
            for (k, m) in at.prediction.bins[0].iter().enumerate() {
                let resp: f64 =
                    (0..o.len()).map(|i| o[i] * total * self.skid.weights[k] * m[i] / at.expected[i]).sum();
                w.push(gamma(&mut rng, resp / self.dispersion + 0.1));
            }
            self.skid.weights = w;
            self.skid.normalise();
            at = self.point(&z).unwrap();
            // spread | z
            let (n, ss) = at
                .pooled
                .iter()
                .fold((0.0, 0.0), |(n, s), d| (n + if *d != 0.0 { 1.0 } else { 0.0 }, s + 0.5 * d * d));
            let _ = (n, ss);
            if sweep >= sweeps / 4 {
                kept += 1.0;
                for (m, e) in mean.iter_mut().zip(&at.prediction.rates.blocks) {
                    *m += e;
                }
            }
        }
        mean.iter_mut().for_each(|m| *m /= kept);
        self.z = z;
        show("posterior mean", &mean);
    }
    /// x
    pub fn waited(&mut self) -> Vec<f64> {
        let z = self.z.clone();
        self.point(&z).unwrap().prediction.holds.waited
    }
}
fn gamma(rng: &mut impl Rng, a: f64) -> f64 {
    if a < 1.0 {
        return gamma(rng, a + 1.0) * rng.random::<f64>().powf(1.0 / a);
    }
    let d = a - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v <= 0.0 {
            continue;
        }
        let u: f64 = rng.random();
        if u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}
fn normal(rng: &mut impl Rng) -> f64 {
    let u: f64 = rng.random::<f64>().max(1e-300);
    let v: f64 = rng.random();
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}
fn cholesky(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut s = a[i][j];
            for k in 0..j {
                s -= l[i][k] * l[j][k];
            }
            if i == j {
                if s <= 0.0 || !s.is_finite() {
                    return None;
                }
                l[i][i] = s.sqrt();
            } else {
                l[i][j] = s / l[j][j];
            }
        }
    }
    Some(l)
}
fn solve(l: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut y = b.to_vec();
    for i in 0..n {
        for k in 0..i {
            y[i] -= l[i][k] * y[k];
        }
        y[i] /= l[i][i];
    }
    back(l, &y)
}
fn back(l: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let n = y.len();
    let mut x = y.to_vec();
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= l[k][i] * x[k];
        }
        x[i] /= l[i][i];
    }
    x
}
