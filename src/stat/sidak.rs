//! Levels of confidence that hold for several statements at once (Šidák 1967; sections 3.3 and 7.3).

/// The level of each of `statements`, so that all hold together with `confidence`.
pub fn level(confidence: f64, statements: usize) -> f64 {
    confidence.powf(1.0 / statements.max(1) as f64)
}

/// Probability that the least of `statements` independent ones is as small as `p`.
pub fn adjusted(p: f64, statements: usize) -> f64 {
    -(statements.max(1) as f64 * (-p.clamp(0.0, 1.0)).ln_1p()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::super::distribution::student;
    use super::*;

    #[test]
    fn the_notes_example_comes_out() {
        // section 7.3: 126 means, 126² statements, 99 degrees of freedom
        let level = level(0.95, 126 * 126);
        assert!((level - 0.999_996_769).abs() < 1e-9);
        assert!((student::coverage_factor(level, 99.0) - 4.936).abs() < 5e-4);
    }

    #[test]
    fn a_probability_grows_with_the_statements() {
        assert!((adjusted(0.01, 5) - 0.049_009_95).abs() < 1e-8);
        assert_eq!((adjusted(0.3, 1), adjusted(1.0, 9)), (0.3, 1.0));
    }
}
