//! Mean and variance, one value at a time, and of parts put together.
//!
//! Welford's update with weights (West, *Updating mean and variance estimates*, CACM 22, 1979), the merging of parts by Chan,
//! Golub and LeVeque (*Updating formulae and a pairwise algorithm for computing sample variances*, 1979), and the
//! decomposition of a one-way analysis of variance with unequal group sizes (Searle, Casella, McCulloch, *Variance
//! Components*, 1992, section 3.6).

/// Of weighted values: n, mean and variance. With equal weights these are the sample mean and the sample variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    weight: f64,
    squares: f64,
    mean: f64,
    /// Σ w (x − mean)²
    spread: f64,
    least: f64,
    most: f64,
}

impl Moments {
    /// Takes a value that stands for `weight` values, > 0.
    pub fn push(&mut self, value: f64, weight: f64) {
        self.merge(&Moments {
            n: 1,
            weight,
            squares: weight * weight,
            mean: value,
            spread: 0.0,
            least: value,
            most: value,
        });
    }

    /// Takes all values of another part.
    pub fn merge(&mut self, other: &Moments) {
        if other.n == 0 || self.n == 0 {
            if self.n == 0 {
                *self = *other;
            }
            return;
        }
        let weight = self.weight + other.weight;
        let apart = other.mean - self.mean;
        self.spread += other.spread + apart * apart * self.weight * other.weight / weight;
        self.mean += apart * other.weight / weight;
        (self.weight, self.squares, self.n) = (weight, self.squares + other.squares, self.n + other.n);
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }

    /// How many values.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// How many values they stand for.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Their mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The smallest; 0 of nothing.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The largest; 0 of nothing.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// Σ w − Σ w² / Σ w, which is n − 1 for weights of one.
    fn freedom(&self) -> f64 {
        if self.n < 2 { 0.0 } else { self.weight - self.squares / self.weight }
    }

    /// Unbiased for weights that say how often a value was left out; 0 of fewer than two values.
    pub fn variance(&self) -> f64 {
        let freedom = self.freedom();
        if freedom > 0.0 { self.spread / freedom } else { 0.0 }
    }

    /// Standard deviation.
    pub fn sd(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Coefficient of variation: standard deviation / mean; 0 where the mean is.
    pub fn cv(&self) -> f64 {
        if self.mean == 0.0 { 0.0 } else { self.sd() / self.mean.abs() }
    }
}

/// The standard error of the coefficient of variation of all `folds` together: the delete-a-group jackknife (Wolter,
/// *Introduction to Variance Estimation*, 2007, section 4.2). `None` where one of them has fewer than two values.
pub fn cv_error(folds: &[Moments]) -> Option<f64> {
    if folds.len() < 2 || folds.iter().any(|fold| fold.n < 2) {
        return None;
    }
    let without = |left: usize| {
        let mut rest = Moments::default();
        folds.iter().enumerate().filter(|(ix, _)| *ix != left).for_each(|(_, fold)| rest.merge(fold));
        rest.cv()
    };
    let mut cvs = Moments::default();
    (0..folds.len()).for_each(|left| cvs.push(without(left), 1.0));
    let groups = folds.len() as f64;
    Some((cvs.spread * (groups - 1.0) / groups).sqrt())
}

/// Where a variance comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// Between values of one thread: pooled over threads.
    pub within: f64,
    /// Between the means of threads, less what differences within threads make of them; ≥ 0. 0 of one thread.
    pub between: f64,
}

impl Split {
    /// Of the values of several threads.
    pub fn of<'a>(threads: impl Iterator<Item = &'a Moments> + Clone) -> Split {
        let (mut n, mut sum) = (0.0, 0.0);
        let (mut spread, mut freedom, mut groups, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for thread in threads.clone().filter(|thread| thread.n > 0) {
            n += thread.n as f64;
            sum += thread.n as f64 * thread.mean;
            spread += thread.spread;
            freedom += thread.freedom();
            groups += 1.0;
            squares += (thread.n as f64).powi(2);
        }
        let within = if freedom > 0.0 { spread / freedom } else { 0.0 };
        if groups < 2.0 {
            return Split { within, between: 0.0 };
        }
        // threads count by how many values they have, whatever those stand for
        let mean = sum / n;
        let apart: f64 = threads.map(|thread| thread.n as f64 * (thread.mean - mean).powi(2)).sum();
        let size = (n - squares / n) / (groups - 1.0);
        Split { within, between: ((apart / (groups - 1.0) - within) / size).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.push(*value, 1.0));
        moments
    }

    #[test]
    fn of_equal_weights_they_are_the_textbook_ones() {
        let moments = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((moments.n(), moments.mean()), (8, 5.0));
        assert!((moments.variance() - 32.0 / 7.0).abs() < 1e-12);
        assert!((moments.cv() - (32.0f64 / 7.0).sqrt() / 5.0).abs() < 1e-12);
        assert_eq!((moments.least(), moments.most()), (2.0, 9.0));
        assert_eq!((of(&[]).mean(), of(&[3.0]).variance(), of(&[0.0, 0.0]).cv()), (0.0, 0.0, 0.0));
    }

    #[test]
    fn large_values_with_small_differences_keep_their_variance() {
        let moments = of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert!((moments.variance() - 30.0).abs() < 1e-6, "{}", moments.variance());
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37)).collect();
        let whole = of(&values);
        let mut parts = Moments::default();
        values.chunks(7).for_each(|part| parts.merge(&of(part)));
        assert_eq!(parts.n(), whole.n());
        assert!((parts.mean() - whole.mean()).abs() < 1e-9);
        assert!((parts.variance() - whole.variance()).abs() < 1e-9);
    }

    /// A value that is left out three times in four and counts four times.
    #[test]
    fn weights_make_up_for_what_was_left_out() {
        let (mut all, mut some) = (Moments::default(), Moments::default());
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state >> 40) as f64 / (1 << 24) as f64;
            all.push(value, 1.0);
            match value < 0.5 {
                true => some.push(value, 1.0),
                false if state >> 20 & 3 == 0 => some.push(value, 4.0),
                false => {}
            }
        }
        assert!((some.mean() / all.mean() - 1.0).abs() < 0.01, "{} {}", some.mean(), all.mean());
        assert!((some.cv() / all.cv() - 1.0).abs() < 0.01, "{} {}", some.cv(), all.cv());
    }

    /// Of a normal distribution, √(1/(2n) + cv²/n) · cv to first order.
    #[test]
    fn the_error_of_a_cv_is_that_of_theory() {
        let mut state = 3u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1 << 24) as f64
        };
        let mut errors = Moments::default();
        for _ in 0..200 {
            let mut folds = [Moments::default(); 10];
            for ix in 0..500 {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                folds[ix % 10].push(10.0 + 2.0 * normal, 1.0);
            }
            errors.push(cv_error(&folds).unwrap(), 1.0);
        }
        let theory = 0.2 * (1.0f64 / 1000.0 + 0.04 / 500.0).sqrt();
        assert!((errors.mean() / theory - 1.0).abs() < 0.1, "{} for {theory}", errors.mean());
        assert_eq!(cv_error(&[of(&[1.0, 2.0]), of(&[1.0])]), None);
    }

    #[test]
    fn variance_is_split_by_threads() {
        let threads = [of(&[9.0, 10.0, 11.0]), of(&[19.0, 20.0, 21.0]), of(&[29.0, 30.0, 31.0])];
        let split = Split::of(threads.iter());
        assert!((split.within - 1.0).abs() < 1e-12);
        assert!((split.between - (100.0 - 1.0 / 3.0)).abs() < 1e-9, "{}", split.between);
        let alike = [of(&[9.0, 10.0, 11.0]), of(&[9.0, 10.0, 11.0])];
        assert_eq!(Split::of(alike.iter()), Split { within: 1.0, between: 0.0 });
        assert_eq!(Split::of([].iter()), Split::default());
    }

    #[test]
    fn how_far_threads_are_apart_does_not_depend_on_what_their_values_stand_for() {
        let between = |weight: f64| {
            let mut threads = [Moments::default(), Moments::default()];
            for i in 0..200 {
                threads[0].push(10.0 + f64::from(i % 2), 1.0);
                threads[1].push(12.0 + f64::from(i % 2), weight);
            }
            Split::of(threads.iter()).between
        };
        assert!((between(1.0) - 2.0).abs() < 0.01, "{}", between(1.0));
        assert!((between(50.0) - between(1.0)).abs() < 1e-9, "{}", between(50.0));
    }
}
