//! Distribution of the skid: how long after an overflow it is reported.
//!
//! Bins of ticks with a probability each, which enters what the [`kernel`](super::kernel) expects linearly.

/// Distribution of the time between overflow and report.
#[derive(Clone, Debug, PartialEq)]
pub struct Skid {
    /// Length of a tick, cycles.
    pub tick: f64,
    /// Bin `k` holds the ticks `edges[k]..edges[k + 1]`, all alike.
    pub edges: Vec<usize>,
    /// Probability of each bin; sums to 1.
    pub weights: Vec<f64>,
}

impl Skid {
    /// Bins from 0 to `longest` cycles, each a little wider than the one before, with equal weight per logarithm of time.
    pub fn broad(tick: f64, longest: f64) -> Skid {
        let mut edges = vec![0usize];
        let mut at = 0.0f64;
        while at < longest {
            at += (at * 0.12).max(1.0);
            edges.push((at / tick).round() as usize);
        }
        edges.dedup();
        let bins = edges.len() - 1;
        let mut skid = Skid { tick, edges, weights: vec![1.0; bins] };
        for k in 0..bins {
            let (a, b) = (skid.edges[k] as f64 * tick + 2.0, skid.edges[k + 1] as f64 * tick + 2.0);
            let from_typical = ((a * b).sqrt() / 40.0).ln() / 1.0;
            skid.weights[k] = (b / a).ln() * (-0.5 * from_typical * from_typical).exp();
        }
        skid.normalise();
        skid
    }

    /// A skid of `cycles`, give or take `jitter`.
    pub fn fixed(tick: f64, cycles: f64, jitter: f64) -> Skid {
        let first = (cycles / tick).floor() as usize;
        let last = ((cycles + jitter) / tick).floor() as usize + 1;
        Skid { tick, edges: vec![first, last.max(first + 1)], weights: vec![1.0] }
    }

    /// Makes the weights sum to 1.
    pub fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        let bins = self.weights.len() as f64;
        self.weights.iter_mut().for_each(|w| *w = if sum > 0.0 { *w / sum } else { 1.0 / bins });
    }

    /// Mean, cycles.
    pub fn mean(&self) -> f64 {
        self.middles().zip(&self.weights).map(|(m, w)| m * w).sum()
    }

    /// Standard deviation, cycles.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.middles().zip(&self.weights).map(|(m, w)| w * (m - mean) * (m - mean)).sum::<f64>().sqrt()
    }

    /// The time, cycles, below which the skid lies with probability `q`.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        for (edge, weight) in self.edges.windows(2).zip(&self.weights) {
            if below + weight >= q && *weight > 0.0 {
                let part = (q - below) / weight;
                return (edge[0] as f64 + part * (edge[1] - edge[0]) as f64) * self.tick;
            }
            below += weight;
        }
        self.edges.last().map_or(0.0, |&e| e as f64 * self.tick)
    }

    fn middles(&self) -> impl Iterator<Item = f64> + '_ {
        self.edges.windows(2).map(|e| (e[0] + e[1]) as f64 * 0.5 * self.tick)
    }

    /// The same in ticks `times` as long, bins that are shorter than those put together.
    pub fn coarser(&self, times: usize) -> Skid {
        let mut skid =
            Skid { tick: self.tick * times as f64, edges: vec![self.edges[0] / times], weights: Vec::new() };
        let mut sum = 0.0;
        for (edge, weight) in self.edges[1..].iter().zip(&self.weights) {
            sum += weight;
            let (edge, last) = (edge.div_ceil(times), *skid.edges.last().unwrap_or(&0));
            if edge > last {
                skid.edges.push(edge);
                skid.weights.push(std::mem::take(&mut sum));
            }
        }
        if let Some(last) = skid.weights.last_mut() {
            *last += sum;
        }
        skid
    }

    /// Cuts off bins at both ends that hold together less than `mass`.
    pub fn trimmed(&self, mass: f64) -> Skid {
        let (mut first, mut last) = (0, self.weights.len());
        let mut cut = 0.0;
        while first + 1 < last {
            let (low, high) = (self.weights[first], self.weights[last - 1]);
            let (weight, step) = if low < high { (low, &mut first) } else { (high, &mut last) };
            cut += weight;
            if cut > mass {
                break;
            }
            if low < high { *step += 1 } else { *step -= 1 }
        }
        let mut skid = Skid {
            tick: self.tick,
            edges: self.edges[first..=last].to_vec(),
            weights: self.weights[first..last].to_vec(),
        };
        skid.normalise();
        skid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarser_skid_is_as_long() {
        let mut fine = Skid::broad(1.0, 160.0);
        fine.weights = (0..fine.weights.len()).map(|k| 1.0 / (k + 1) as f64).collect();
        fine.normalise();
        for times in 1..=4 {
            let coarse = fine.coarser(times);
            assert!((coarse.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!((coarse.mean() - fine.mean()).abs() < 0.7 * times as f64, "{times}: {}", coarse.mean());
            assert!(coarse.edges.windows(2).all(|e| e[0] < e[1]));
        }
        let one = Skid::fixed(1.0, 5.0, 0.5).coarser(4);
        assert_eq!((one.edges.len(), one.weights.as_slice()), (2, &[1.0][..]));
    }
}
