//! Whether samples prefer addresses of some class modulo 16 (section 8, bias 3, figures 28 and 29).
//!
//! An instruction may hold many samples because it takes long. But whether its address is, say, even must have nothing to do
//! with that. So the classes of the addresses are shuffled within each function, and the statistic of Kruskal and Wallis
//! (1952) on the ranks of the counts is compared with what shuffling makes of it: an exact test however samples are
//! distributed over instructions.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Addresses are told apart modulo this.
pub const CLASSES: usize = 16;
/// A function with fewer instructions tells nothing.
const LEAST: usize = 8;

/// Samples by address class.
#[derive(Clone, Debug, PartialEq)]
pub struct Attraction {
    /// Samples of all functions tested, by class.
    pub samples: [u64; CLASSES],
    /// Instructions by class.
    pub instructions: [u64; CLASSES],
    /// Probability of such a preference by chance.
    pub probability: f64,
}

/// Tests functions, each given as the addresses of all its instructions and the samples on them.
pub fn attraction(functions: &[Vec<(u64, u64)>], shuffles: usize, seed: u64) -> Option<Attraction> {
    let tested = functions.iter().filter(|f| f.len() >= LEAST && f.iter().any(|(_, n)| *n > 0));
    let mut ranked: Vec<(Vec<f64>, Vec<usize>)> = tested
        .clone()
        .map(|f| (ranks(f), f.iter().map(|(at, _)| *at as usize % CLASSES).collect()))
        .collect();
    if ranked.is_empty() {
        return None;
    }
    let (mut samples, mut instructions) = ([0; CLASSES], [0; CLASSES]);
    for &(address, n) in tested.flatten() {
        samples[address as usize % CLASSES] += n;
        instructions[address as usize % CLASSES] += 1;
    }
    let found = statistic(&ranked);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut as_large = 0;
    for _ in 0..shuffles {
        for (_, classes) in &mut ranked {
            for ix in (1..classes.len()).rev() {
                classes.swap(ix, rng.random_range(0..=ix));
            }
        }
        as_large += usize::from(statistic(&ranked) >= found * (1.0 - 1e-12));
    }
    let probability = (1 + as_large) as f64 / (1 + shuffles) as f64;
    Some(Attraction { samples, instructions, probability })
}

/// Ranks of the counts around their mean, each function's on a scale of its own; equal counts share theirs.
fn ranks(function: &[(u64, u64)]) -> Vec<f64> {
    let n = function.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&ix| function[ix].1);
    let mut ranks = vec![0.0; n];
    let mut from = 0;
    while from < n {
        let to = (from..n).find(|&ix| function[order[ix]].1 != function[order[from]].1).unwrap_or(n);
        let rank = (0.5 * (from + to - 1) as f64 - 0.5 * (n - 1) as f64) / n as f64;
        order[from..to].iter().for_each(|&ix| ranks[ix] = rank);
        from = to;
    }
    ranks
}

/// Sum over classes of their rank sum squared, divided by their size.
fn statistic(ranked: &[(Vec<f64>, Vec<usize>)]) -> f64 {
    let (mut sums, mut sizes) = ([0.0; CLASSES], [0.0; CLASSES]);
    for (ranks, classes) in ranked {
        for (rank, class) in ranks.iter().zip(classes) {
            sums[*class] += rank;
            sizes[*class] += 1.0;
        }
    }
    sums.iter().zip(sizes).filter(|(_, size)| *size > 0.0).map(|(sum, size)| sum * sum / size).sum()
}
