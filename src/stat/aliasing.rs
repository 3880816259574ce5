//! Whether the program repeats itself in step with the sampling (section 8, bias 2).
//!
//! If groups of functions and the sampling period have a mathematical relationship, the functions that are hit follow a
//! rhythm of a few samples: a line in the spectrum of a function's indicator. A rhythm of many samples is resolved, and does
//! no harm; so only a strongest line of a short period is a finding. Periodograms of segments are averaged, and each ordinate
//! is compared with its neighbours, so that phases of the program, which lift low frequencies, raise no alarm.
//!
//! A program that keeps step exactly shows one function only, and one that nearly does has a beat of many samples, which
//! looks like phases: comparing runs with other periods tells, and counts of calls do where calls are shorter than a period.

use super::distribution::fisher;
use super::series::Series;
use super::sidak;

/// Samples of a segment.
const SEGMENT: usize = 512;
/// Segments averaged at most.
const SEGMENTS: usize = 32;
/// Ordinates to either side that one is compared with.
const AROUND: usize = 12;
/// Next to a line its own leakage is left out.
const LEAK: usize = 2;
/// Periods up to so many samples are a rhythm of the sampling.
const SHORT: f64 = 16.0;
/// Functions tested: those with the most samples.
const FUNCTIONS: usize = 5;

/// A function that comes in a rhythm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// Which function.
    pub function: usize,
    /// Its period, in samples.
    pub period: f64,
    /// How far the line stands out.
    pub ratio: f64,
    /// Probability of as much by chance, adjusted for functions and frequencies.
    pub probability: f64,
}

/// Looks for the strongest line of each of the largest functions; those that have their strongest at a short period.
pub fn rhythm(series: &Series, counts: &[u64]) -> Vec<Rhythm> {
    let threads = series.threads(SEGMENT);
    let segments: Vec<Vec<u32>> = threads
        .iter()
        .flat_map(|thread| thread.chunks_exact(SEGMENT))
        .take(SEGMENTS)
        .map(|segment| segment.iter().map(|s| s.function).collect())
        .collect();
    let total: u64 = counts.iter().sum();
    let mut largest: Vec<usize> =
        (0..counts.len()).filter(|&f| 20 * counts[f] >= total && 20 * (total - counts[f]) >= total).collect();
    largest.sort_by_key(|&f| std::cmp::Reverse(counts[f]));
    largest.truncate(FUNCTIONS);
    if segments.is_empty() {
        return Vec::new();
    }
    let waves = Waves::new();
    let tests = largest.len() * (SEGMENT / 2);
    let found = largest.iter().filter_map(|&function| {
        let spectrum = waves.spectrum(&segments, function as u32);
        let (at, ratio) = strongest(&spectrum)?;
        let period = SEGMENT as f64 / at as f64;
        let k = 2.0 * segments.len() as f64;
        let around = 2 * (AROUND - LEAK);
        let probability = sidak::adjusted(fisher::above(ratio, k, k * around as f64), tests);
        (period <= SHORT).then_some(Rhythm { function, period, ratio, probability })
    });
    found.collect()
}

/// The ordinate that stands out most from those around it: its index, and how many times their mean it is. Its power
/// decides between several, for harmonics of a slow rhythm stand out as well.
fn strongest(spectrum: &[f64]) -> Option<(usize, f64)> {
    let (at, power) = (1..spectrum.len()).map(|ix| (ix, spectrum[ix])).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let near = |ix: &usize| (LEAK + 1..=AROUND).contains(&ix.abs_diff(at));
    let others: Vec<f64> = (1..spectrum.len()).filter(near).map(|ix| spectrum[ix]).collect();
    let mean = super::summary::mean(&others);
    (power > 0.0).then_some((at, power / mean.max(1e-9 * power)))
}

/// Cosines of all phases of a segment.
struct Waves(Vec<f64>);

impl Waves {
    fn new() -> Waves {
        let turn = 2.0 * std::f64::consts::PI / SEGMENT as f64;
        Waves((0..SEGMENT).map(|ix| (turn * ix as f64).cos()).collect())
    }

    /// The mean periodogram of a function's indicator; index is cycles per segment.
    fn spectrum(&self, segments: &[Vec<u32>], function: u32) -> Vec<f64> {
        let mut spectrum = vec![0.0; SEGMENT / 2];
        for segment in segments {
            let of = |f: &u32| f64::from(u8::from(*f == function));
            let mean = segment.iter().map(of).sum::<f64>() / SEGMENT as f64;
            let x: Vec<f64> = segment.iter().map(|f| of(f) - mean).collect();
            for (k, power) in spectrum.iter_mut().enumerate().skip(1) {
                let (mut real, mut imaginary) = (0.0, 0.0);
                for (t, x) in x.iter().enumerate() {
                    let phase = k * t % SEGMENT;
                    real += x * self.0[phase];
                    imaginary += x * self.0[(phase + SEGMENT - SEGMENT / 4) % SEGMENT];
                }
                *power += real * real + imaginary * imaginary;
            }
        }
        spectrum
    }
}
