//! Fits a coupling to the samples that were seen and to the totals that were solved for.
//!
//! Iterative proportional fitting (Deming and Stephan, 1940; Sinkhorn, 1967): of all couplings with these margins it finds
//! the one nearest, in relative entropy, to what the skid makes likely.

const ROUNDS: usize = 100;

/// Scales the rows of `rows` (cause, likelihood) to sum to 1 so that causes get as nearly as possible the shares in `wanted`
/// of all `weights`. A row without causes stays empty.
pub fn balance(rows: &mut [Vec<(usize, f64)>], weights: &[f64], wanted: &[f64]) {
    normalise(rows);
    let given: f64 = rows.iter().zip(weights).filter(|(r, _)| !r.is_empty()).map(|(_, w)| w).sum();
    let asked: f64 = wanted.iter().sum();
    if asked <= 0.0 {
        return;
    }
    for _ in 0..ROUNDS {
        let got = totals(rows, weights.iter().copied(), wanted.len());
        let factor: Vec<f64> = got
            .iter()
            .zip(wanted)
            .map(|(got, wanted)| if *got > 0.0 { wanted * given / asked / got } else { 1.0 })
            .collect();
        for row in rows.iter_mut() {
            row.iter_mut().for_each(|(cause, share)| *share *= factor[*cause]);
        }
        normalise(rows);
    }
}

/// What each cause gets of rows that have `weights` to share out.
pub fn totals(
    rows: &[impl AsRef<[(usize, f64)]>],
    weights: impl Iterator<Item = f64>,
    causes: usize,
) -> Vec<f64> {
    let mut totals = vec![0.0; causes];
    for (row, weight) in rows.iter().zip(weights) {
        row.as_ref().iter().for_each(|&(cause, share)| totals[cause] += share * weight);
    }
    totals
}

fn normalise(rows: &mut [Vec<(usize, f64)>]) {
    for row in rows {
        let sum: f64 = row.iter().map(|c| c.1).sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|c| c.1 /= sum);
        } else {
            row.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_margins_are_met_where_they_can_be() {
        let mut rows = vec![vec![(0, 0.9), (1, 0.1)], vec![(1, 0.5), (2, 0.5)], vec![]];
        balance(&mut rows, &[60.0, 40.0, 7.0], &[2.0, 2.0, 1.0]);
        let mut got = [0.0; 3];
        for (row, weight) in rows.iter().zip([60.0, 40.0, 7.0]) {
            row.iter().for_each(|&(c, s)| got[c] += s * weight);
        }
        for (got, wanted) in got.iter().zip([40.0, 40.0, 20.0]) {
            assert!((got - wanted).abs() < 0.1, "{got} for {wanted}");
        }
        assert!((rows[0].iter().map(|c| c.1).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_cause_that_no_report_leads_to_stays_without() {
        let mut rows = vec![vec![(0, 1.0)]];
        balance(&mut rows, &[10.0], &[1.0, 1.0]);
        assert_eq!(rows[0], [(0, 1.0)]);
    }
}
