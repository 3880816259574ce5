//! How often each cause occurred and how late the reports were, from where they stand: blind deconvolution.
//!
//! The expectation–maximisation steps of Richardson (1972) and Lucy (1974) for the causes, and the same for the kernel's
//! weights in turn (Fish, Brinicombe, Pike and Walker, "Blind deconvolution by means of the Richardson–Lucy algorithm",
//! 1995). Causes start where they are expected and rounds are few, so that what the data can't tell apart stays in the
//! expected proportion; the weights are held by pseudo-samples.

const ROUNDS: usize = 80;
/// Share of samples that may stand anywhere.
const STRAY: f64 = 0.005;
/// Pseudo-samples that hold the causes to what is expected, for each time that the samples scatter as Poisson's. With 100, 400 and 1,000
/// misses of caches are .229, .235 and .244 off by instruction over 16 recordings, those of branch prediction .172, .162 and .168,
/// where they are .230 and .165.
const EXPECTED: f64 = 200.0;
/// Pseudo-samples that hold the weights, as a share of all samples.
const HELD: f64 = 0.1;

/// Where reports of each cause stand, for each delay.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Number of places where reports were seen.
    pub places: usize,
    /// For each cause, the probability of each place under each delay, delay-major.
    pub landed: Vec<Vec<f32>>,
}

/// What is found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Occurrences of each cause.
    pub caused: Vec<f64>,
    /// For each cause, the probability of each place.
    pub spread: Vec<Vec<f64>>,
}

impl Traces {
    /// Probability of each place for a cause, over all delays.
    fn spread(&self, cause: usize, weights: &[f64]) -> Vec<f64> {
        let mut spread = vec![0.0; self.places];
        for (row, &weight) in self.landed[cause].chunks_exact(self.places).zip(weights) {
            spread.iter_mut().zip(row).for_each(|(s, &p)| *s += weight * f64::from(p));
        }
        spread
    }

    /// Finds the causes of the reports `seen` per place, in samples. `expected` are the causes up to a factor, `weights` the
    /// probabilities of the delays, both before looking. What the kernel can't explain makes the samples count less.
    pub fn unmix(&self, seen: &[f64], expected: &[f64], weights: &[f64]) -> Found {
        let total: f64 = seen.iter().sum();
        let scale = total / expected.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let expected: Vec<f64> = expected.iter().map(|e| e * scale).collect();
        let (_, dispersion) = self.climb(seen, &expected, weights, 0.0);
        self.climb(seen, &expected, weights, EXPECTED * dispersion).0
    }

    /// What is likeliest if `pulling` pseudo-samples hold the causes to what is `expected`, and how many times as much as Poisson's the
    /// samples scatter around that.
    fn climb(&self, seen: &[f64], expected: &[f64], weights: &[f64], pulling: f64) -> (Found, f64) {
        let total: f64 = seen.iter().sum();
        let (mut caused, mut lags) = (expected.to_vec(), weights.to_vec());
        let mut scatter = 1.0;
        for _ in 0..ROUNDS {
            let spread: Vec<Vec<f64>> = (0..caused.len()).map(|c| self.spread(c, &lags)).collect();
            let reports = self.reports(&caused, &spread, total);
            let ratio: Vec<f64> = seen.iter().zip(&reports).map(|(s, r)| s / r).collect();
            lags = self.reweigh(&ratio, &caused, &lags, weights, total);
            for ((n, row), e) in caused.iter_mut().zip(&spread).zip(expected) {
                let found = *n * row.iter().zip(&ratio).map(|(p, q)| p * q).sum::<f64>();
                *n = (total * found + pulling * e) / (total + pulling);
            }
            scatter = pearson(seen, &reports);
        }
        let spread = (0..caused.len()).map(|c| self.spread(c, &lags)).collect();
        (Found { caused, spread }, scatter)
    }

    fn reports(&self, caused: &[f64], spread: &[Vec<f64>], total: f64) -> Vec<f64> {
        let mut reports = vec![STRAY * total / self.places as f64; self.places];
        for (row, &n) in spread.iter().zip(caused) {
            reports.iter_mut().zip(row).for_each(|(sum, p)| *sum += n * p);
        }
        reports
    }

    fn reweigh(&self, ratio: &[f64], caused: &[f64], lags: &[f64], held: &[f64], total: f64) -> Vec<f64> {
        let mut next: Vec<f64> = held.iter().map(|w| HELD * total * w).collect();
        for (landed, &n) in self.landed.iter().zip(caused).filter(|(_, n)| **n > 0.0) {
            for ((row, lag), next) in landed.chunks_exact(self.places).zip(lags).zip(&mut next) {
                *next += n * lag * row.iter().zip(ratio).map(|(&p, q)| f64::from(p) * q).sum::<f64>();
            }
        }
        let sum: f64 = next.iter().sum();
        next.iter().map(|w| w / sum).collect()
    }
}

/// Pearson's χ² per place, at least 1: how much more the reports differ from those expected than counting alone explains.
fn pearson(seen: &[f64], expected: &[f64]) -> f64 {
    let chi: f64 = seen.iter().zip(expected).map(|(s, e)| (s - e) * (s - e) / e).sum();
    (chi / seen.len() as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two causes in a ring of six places; a delay of `d` moves `d` places on.
    fn ring(delays: &[usize]) -> Traces {
        let landed = [0usize, 3].map(|cause| {
            let mut rows = vec![0.0; delays.len() * 6];
            delays.iter().enumerate().for_each(|(k, d)| rows[k * 6 + (cause + d) % 6] = 1.0);
            rows
        });
        Traces { places: 6, landed: landed.into() }
    }

    #[test]
    fn a_cause_is_found_behind_a_known_delay() {
        let found = ring(&[1]).unmix(&[80.0, 9e4, 80.0, 80.0, 1e4, 80.0], &[1.0, 1.0], &[1.0]);
        assert!((found.caused[0] - 9e4).abs() < 3e3 && (found.caused[1] - 1e4).abs() < 3e3, "{found:?}");
    }

    #[test]
    fn what_the_reports_cannot_tell_is_left_to_what_is_expected() {
        // either cause, under one delay or another, explains them
        let found = ring(&[1, 4]).unmix(&[0.0, 100.0, 0.0, 0.0, 0.0, 0.0], &[9.0, 1.0], &[0.5, 0.5]);
        assert!(found.caused[0] > 85.0, "{found:?}");
    }

    #[test]
    fn the_delay_is_learnt_from_the_clear_causes() {
        let mut seen = [0.0; 6];
        (seen[2], seen[5]) = (6e4, 4e4);
        let found = ring(&[0, 1, 2]).unmix(&seen, &[1.0, 1.0], &[0.4, 0.4, 0.2]);
        assert!(found.caused[0] > 1.1 * found.caused[1], "{found:?}");
        assert!(found.spread[0][2] > 0.8, "{found:?}");
    }
}
