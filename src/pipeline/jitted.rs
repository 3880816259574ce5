//! What can be done about samples in code made at run time.
//!
//! In: the first walk's cells. Out: a sentence. A program may dump its code as it makes it; perf turns that into files and
//! lets the recording name them, and then it is code like any other.

use std::path::Path;

use super::survey::Survey;
use crate::image::ImageState;

/// Less than this share of the samples is not worth a sentence.
const NOTICEABLE: f64 = 0.01;

/// How samples in such code of the recording at `input` could be corrected, if there are many.
pub fn advice(survey: &Survey, input: &Path) -> Option<String> {
    let mut samples = survey.samples_by_image();
    samples.retain(|&id, _| matches!(survey.images.get(id).state(), ImageState::Jit { .. }));
    let all: u64 = samples.values().sum();
    let share = all as f64 / survey.samples as f64;
    if all == 0 || share < NOTICEABLE {
        return None;
    }
    let (&most, _) = samples.iter().max_by_key(|(_, samples)| **samples)?;
    let inject = format!("`perf inject --jit -i {} -o OUT`", input.display());
    let way = match survey.images.jit_dump(most) {
        Some(dump) => {
            format!("{inject} makes files of what {dump} has of it, and OUT can be corrected there")
        }
        None => format!(
            "where a program dumps it (node --perf-prof, java with libperf-jvmti.so, DOTNET_PerfEnabled=1) and is recorded \
             with -k mono, {inject} makes files of it"
        ),
    };
    Some(format!(
        "{:.1}% of the samples are in code made at run time, which is in no file, and stay: {way}",
        100.0 * share
    ))
}
