//! The density of a sample by Gaussian kernels, and its modes.

use super::summary::Summary;

/// A smoothed histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Density {
    /// Standard deviation of a kernel.
    pub bandwidth: f64,
    /// Value and density, in the order of values.
    pub points: Vec<(f64, f64)>,
    /// Where it has peaks that stand clear of their neighbours, highest first: (value, part of the sample nearest to it).
    pub modes: Vec<(f64, f64)>,
}

/// Points of the curve.
const POINTS: usize = 256;
/// A peak stands clear if the density beside it, towards a higher one, falls below this part of it.
const VALLEY: f64 = 0.7;
/// One value alone is an outlier rather than a mode (section 4.3).
const LEAST: f64 = 2.0;

/// Of `values`, by Silverman's rule (R's bw.nrd0), but no finer than half of a `quantum`, so that single sample counts make
/// no waves (section 5.1).
pub fn density(values: &[f64], quantum: f64) -> Density {
    let of = Summary::of(values);
    let spread = match of.robust_deviation() * 1.349 / 1.34 {
        iqr if iqr > 0.0 => of.deviation.min(iqr),
        _ => of.deviation,
    };
    let bandwidth = (0.9 * spread * (of.n.max(1) as f64).powf(-0.2)).max(0.5 * quantum);
    if of.n == 0 || bandwidth <= 0.0 {
        return Density::default();
    }
    let (from, to) = (of.quartiles[0] - 3.0 * bandwidth, of.quartiles[4] + 3.0 * bandwidth);
    let scale = 1.0 / (of.n as f64 * bandwidth * (2.0 * std::f64::consts::PI).sqrt());
    // a far outlier must not make the grid coarser than the kernels
    let count = (((to - from) / bandwidth * 4.0) as usize).clamp(POINTS, 16 * POINTS);
    let point = |ix: usize| {
        let x = from + (to - from) * ix as f64 / (count - 1) as f64;
        let kernel = |value: &f64| (-0.5 * ((x - value) / bandwidth).powi(2)).exp();
        (x, scale * values.iter().map(kernel).sum::<f64>())
    };
    let points: Vec<(f64, f64)> = (0..count).map(point).collect();
    let modes = modes(&points, values);
    Density { bandwidth, points, modes }
}

fn modes(points: &[(f64, f64)], values: &[f64]) -> Vec<(f64, f64)> {
    let mut peaks: Vec<usize> = (1..points.len().saturating_sub(1))
        .filter(|&ix| points[ix].1 > points[ix - 1].1 && points[ix].1 >= points[ix + 1].1)
        .collect();
    peaks.sort_by(|&a, &b| points[b].1.total_cmp(&points[a].1));
    let mut kept: Vec<usize> = Vec::new();
    for ix in peaks {
        let valley = |other: &usize| {
            let range = ix.min(*other)..=ix.max(*other);
            points[range].iter().map(|p| p.1).fold(f64::INFINITY, f64::min)
        };
        if kept.iter().all(|other| valley(other) < VALLEY * points[ix].1) {
            kept.push(ix);
        }
    }
    let nearest = |value: f64| {
        let far = |ix: &usize| (points[*ix].0 - value).abs();
        kept.iter().copied().min_by(|a, b| far(a).total_cmp(&far(b)))
    };
    let mut members = vec![0.0; kept.len()];
    for value in values {
        if let Some(at) = nearest(*value).and_then(|ix| kept.iter().position(|k| *k == ix)) {
            members[at] += 1.0;
        }
    }
    let n = values.len() as f64;
    let held = kept.iter().zip(&members).filter(|(_, members)| **members >= LEAST);
    held.map(|(&ix, members)| (points[ix].0, members / n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

    fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
        super::super::distribution::normal::quantile(rng.random())
    }

    #[test]
    fn a_rare_second_mode_is_seen_and_one_outlier_is_none() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut values: Vec<f64> = (0..190).map(|_| 10.0 + normal(&mut rng)).collect();
        let one = density(&values, 0.0).modes.len();
        values.push(30.0);
        let outlier = density(&values, 0.0).modes.len();
        values.extend((0..9).map(|_| 30.0 + normal(&mut rng)));
        let modes = density(&values, 0.0).modes;
        let rare: f64 = modes.iter().filter(|m| m.0 > 25.0).map(|m| m.1).sum();
        assert!(outlier == one && (rare - 0.05).abs() < 1e-9, "{modes:?}");
    }

    #[test]
    fn it_integrates_to_one_and_counts_make_no_waves() {
        let values: Vec<f64> = (0..300).map(|ix| f64::from(ix % 3)).collect();
        let made = density(&values, 1.0);
        let step = made.points[1].0 - made.points[0].0;
        assert!((made.points.iter().map(|p| p.1 * step).sum::<f64>() - 1.0).abs() < 0.01);
        assert!(made.bandwidth >= 0.5 && made.modes.len() == 1, "{:?}", made.modes);
    }
}
