//! What the published models say of the standard deviation of a sample count (section 3.2).

/// Standard deviations of one function's count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// gprof's manual: √N (section 3.2.1).
    pub gprof: f64,
    /// The multinomial model: √(n p (1 − p)) (section 3.2.2).
    pub multinomial: f64,
    /// Of the quantisation alone, where the number of calls is known (section 3.2.3).
    pub quantisation: Option<f64>,
    /// The bound on that, √min(I/4, v(1 − v/I)).
    pub bound: Option<f64>,
}

impl Predicted {
    /// Of `count` samples among `total`, in so many calls if that is known.
    pub fn of(count: f64, total: f64, calls: Option<u64>) -> Predicted {
        let share = if total > 0.0 { (count / total).clamp(0.0, 1.0) } else { 0.0 };
        Predicted {
            gprof: count.max(0.0).sqrt(),
            multinomial: (total * share * (1.0 - share)).max(0.0).sqrt(),
            quantisation: calls.map(|calls| quantisation(count, calls).sqrt()),
            bound: calls.map(|calls| quantisation_bound(count, calls).sqrt()),
        }
    }
}

/// Variance of I⌊v/I⌋ + B(I, v/I − ⌊v/I⌋): `v` sampling periods in equal calls at independent offsets.
fn quantisation(v: f64, calls: u64) -> f64 {
    if calls == 0 {
        return 0.0;
    }
    let each = v / calls as f64;
    let part = each - each.floor();
    calls as f64 * part * (1.0 - part)
}

/// The least bound on that variance that holds whatever the fraction: I/4, and where calls are shorter than a period,
/// v(1 − v/I); v itself bounds all of them.
pub fn quantisation_bound(v: f64, calls: u64) -> f64 {
    let i = calls as f64;
    let quarter = 0.25 * i;
    if i > v { quarter.min(v * (1.0 - v / i)) } else { quarter.min(v) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_the_notes() {
        // section 3.2.1: 100 samples ± 10; section 5.3: for shares of .2 and .8 the multinomial is 0.4 √n for both
        let [one, four] = [800.0, 3200.0].map(|count| Predicted::of(count, 4000.0, None));
        assert_eq!(Predicted::of(100.0, 1000.0, None).gprof, 10.0);
        let expected = 0.4 * 4000f64.sqrt();
        assert!((one.multinomial - expected).abs() < 1e-12 && (four.multinomial - expected).abs() < 1e-12);
        assert_eq!(one.quantisation, None);
    }

    #[test]
    fn quantisation_has_its_largest_variance_halfway() {
        assert_eq!((quantisation(2.5, 1), quantisation_bound(2.5, 1)), (0.25, 0.25));
        assert_eq!((quantisation(3.0, 1), quantisation(50.0, 25)), (0.0, 0.0));
        // many short calls: v(1 − v/I), towards v
        assert_eq!(quantisation_bound(50.0, 100), 25.0);
        assert_eq!(quantisation(50.0, 100), 25.0);
        assert!((quantisation(50.0, 5_000_000) - 50.0).abs() < 1e-3);
        for calls in 1..400 {
            assert!(quantisation(50.0, calls) <= quantisation_bound(50.0, calls) + 1e-9, "{calls}");
        }
    }

    #[test]
    fn simulated_calls_have_the_predicted_variance() {
        use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for (v, calls) in [(50.0, 7u64), (50.0, 40), (50.0, 180)] {
            // each call starts at its own offset to the sampling period
            let each = v / calls as f64;
            let count = |rng: &mut Xoshiro256PlusPlus| {
                (0..calls).map(|_| (each + rng.random::<f64>()).floor()).sum::<f64>()
            };
            let counts: Vec<f64> = (0..4000).map(|_| count(&mut rng)).collect();
            let ratio = super::super::summary::deviation(&counts) / quantisation(v, calls).sqrt();
            assert!((ratio - 1.0).abs() < 0.05, "{calls} calls: {ratio}");
        }
    }
}
