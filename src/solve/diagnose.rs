//! Whether chains can be trusted: split R̂ and effective sample size (Vehtari, Gelman, Simpson, Carpenter, Bürkner,
//! "Rank-normalization, folding, and localization: an improved R̂", 2021, sections 3 and 4, without rank normalisation).

/// Potential scale reduction of `chains`, each split in halves; 1 when they agree. NaN-free: chains that do not move agree.
pub fn split_r_hat(chains: &[Vec<f64>]) -> f64 {
    let halves: Vec<&[f64]> =
        chains.iter().flat_map(|c| c.chunks_exact((c.len() / 2).max(1)).take(2)).collect();
    let n = halves.first().map_or(0, |h| h.len());
    if n < 2 {
        return 1.0;
    }
    let means: Vec<f64> = halves.iter().map(|h| mean(h)).collect();
    let within = mean(&halves.iter().map(|h| variance(h)).collect::<Vec<_>>());
    let between = n as f64 * variance(&means);
    if within <= f64::EPSILON * between.max(1e-300) {
        return if between <= 1e-300 { 1.0 } else { f64::MAX };
    }
    (((n - 1) as f64 / n as f64 * within + between / n as f64) / within).sqrt()
}

/// How many independent draws the chains are worth, by Geyer's initial positive sequence.
pub fn effective_size(chains: &[Vec<f64>]) -> f64 {
    let n = chains.iter().map(Vec::len).min().unwrap_or(0);
    let total = (n * chains.len()) as f64;
    let within = mean(&chains.iter().map(|c| variance(c)).collect::<Vec<_>>());
    if n < 4 || within <= 0.0 {
        return total;
    }
    let correlation = |lag: usize| {
        let one = |c: &Vec<f64>| {
            let m = mean(c);
            c[lag..].iter().zip(c.iter()).map(|(a, b)| (a - m) * (b - m)).sum::<f64>() / n as f64
        };
        mean(&chains.iter().map(one).collect::<Vec<_>>()) / within
    };
    let mut time = 1.0;
    for lag in (1..n - 1).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    total / time.max(1.0)
}

/// The `q` quantile of `draws`, which are put in order; 0 of none.
pub fn quantile(draws: &mut [f64], q: f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    crate::quantile::quantile(draws, q)
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len().max(1) as f64
}

fn variance(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / x.len().saturating_sub(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(seed: u64, n: usize, shift: f64) -> Vec<f64> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 11) as f64 / (1u64 << 53) as f64 + shift
            })
            .collect()
    }

    #[test]
    fn chains_of_one_distribution_agree_and_shifted_ones_do_not() {
        let same: Vec<_> = (1..5).map(|s| noise(s, 400, 0.0)).collect();
        assert!(split_r_hat(&same) < 1.02);
        let apart: Vec<_> = (1..5).map(|s| noise(s, 400, s as f64)).collect();
        assert!(split_r_hat(&apart) > 2.0);
    }

    #[test]
    fn a_drifting_chain_is_noticed_by_its_halves() {
        let drift: Vec<f64> = (0..400).map(|i| i as f64).collect();
        assert!(split_r_hat(&[drift.clone(), drift]) > 1.5);
    }

    #[test]
    fn correlated_draws_are_worth_less() {
        let white = noise(3, 1000, 0.0);
        assert!(effective_size(std::slice::from_ref(&white)) > 600.0);
        let mut x = 0.0;
        let slow: Vec<f64> = white
            .iter()
            .map(|w| {
                x = 0.95 * x + w - 0.5;
                x
            })
            .collect();
        assert!(effective_size(&[slow]) < 120.0);
    }

    #[test]
    fn quantiles_are_of_draws_in_any_order() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), 2.0);
    }
}
