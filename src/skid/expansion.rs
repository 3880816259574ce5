//! Residuals near where they were found, to first order in what they are made of.
//!
//! In: a function of a few numbers, and where it was asked. Out: what it says near there, for as many multiplications as it has
//! numbers. Derivatives by differences ask for all residuals once for each parameter, and most of what these take are logarithms of
//! what hardly moved. It does not know where a function bends.

/// Steps of the differences, in units of what each number is.
const STEP: f64 = 0.01;

/// `R` residuals of the same `K` numbers.
#[derive(Clone, Debug)]
pub struct Expansion<const K: usize, const R: usize> {
    at: [f64; K],
    values: [f64; R],
    slopes: [[f64; R]; K],
}

impl<const K: usize, const R: usize> Expansion<K, R> {
    /// Of what `residuals` are around these numbers, each in its `units`; nothing depends on one whose unit is 0.
    pub fn around(at: [f64; K], units: [f64; K], residuals: impl Fn([f64; K]) -> [f64; R]) -> Self {
        let slope = |k: usize| {
            let step = STEP * units[k].abs();
            let [more, less] = [step, -step].map(|step| {
                let mut there = at;
                there[k] += step;
                residuals(there)
            });
            let slope = |r| if step > 0.0 { (more[r] - less[r]) / (2.0 * step) } else { 0.0 };
            std::array::from_fn(slope)
        };
        Expansion { at, values: residuals(at), slopes: std::array::from_fn(slope) }
    }

    /// The residuals where the numbers are these.
    pub fn at(&self, there: [f64; K]) -> [f64; R] {
        let mut residuals = self.values;
        for ((there, at), slopes) in there.iter().zip(&self.at).zip(&self.slopes) {
            residuals.iter_mut().zip(slopes).for_each(|(residual, slope)| *residual += slope * (there - at));
        }
        residuals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_by_it_is_what_the_function_is() {
        let of = |[x, y, _]: [f64; 3]| [x * x + y, (x / y).ln()];
        let at = [3.0, 0.5, 9.0];
        let near = Expansion::around(at, [3.0, 0.5, 0.0], of);
        assert_eq!(near.at(at), of(at));
        let there = [3.01, 0.501, 20.0];
        for (near, exact) in near.at(there).into_iter().zip(of(there)) {
            assert!((near - exact).abs() < 2e-4, "{near} {exact}");
        }
    }
}
