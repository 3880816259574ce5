//! Binaries that were taken by their paths alone.
//!
//! In: what was sampled, the recording's header and its file. Out: when the recording ended, and binaries with samples whose
//! build it does not tell, and whether they were changed since.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::survey::Survey;
use crate::image::ImageState;
use crate::perfdata::Features;
use crate::report::UnverifiedImage;

/// Seconds and nanoseconds since 1970.
pub type Time = (i64, i64);

/// Those that were changed first, then by their samples.
pub fn unverified(survey: &Survey) -> Vec<UnverifiedImage> {
    let mut of_file: BTreeMap<&Path, UnverifiedImage> = BTreeMap::new();
    for (id, samples) in survey.samples_by_image() {
        let image = survey.images.get(id);
        let ImageState::Found { file, verified: false } = image.state() else { continue };
        let of_file = of_file.entry(file).or_insert_with(|| UnverifiedImage {
            path: image.path.clone(),
            file: file.display().to_string(),
            samples: 0,
            changed_since: image.is_later(),
        });
        of_file.samples += samples;
    }
    let mut images: Vec<UnverifiedImage> = of_file.into_values().collect();
    images.sort_by_key(|image| (!image.changed_since, std::cmp::Reverse(image.samples)));
    images
}

/// When the recording ended, as far as that is known.
pub fn ended(features: &Features, input: &Path) -> Option<Time> {
    [by_clock(features), by_file(input)].into_iter().flatten().min()
}

/// When the last sample was taken, where the recording says what time of day its clock showed.
fn by_clock(features: &Features) -> Option<Time> {
    const SECOND: u64 = 1_000_000_000;
    let ((_, time_of_day, clock), (_, last)) = (features.clock?, features.sample_time?);
    let ended = time_of_day.checked_add(last.checked_sub(clock)?)?;
    Some(((ended / SECOND) as i64, (ended % SECOND) as i64))
}

/// When the recording's file was written: not before it ended, and later if it was copied.
fn by_file(input: &Path) -> Option<Time> {
    let written = |of: &Metadata| (of.mtime(), of.mtime_nsec());
    let metadata = fs::metadata(input).ok().filter(|_| input.as_os_str() != "-")?;
    if !metadata.is_dir() {
        return metadata.is_file().then(|| written(&metadata));
    }
    let entries = fs::read_dir(input).ok()?.flatten().filter_map(|entry| entry.metadata().ok());
    entries.filter(Metadata::is_file).map(|of| written(&of)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_whose_clock_is_told_ended_with_its_last_sample() {
        let features = |clock, sample_time| {
            let mut features = Features::default();
            (features.clock, features.sample_time) = (clock, sample_time);
            features
        };
        let known = features(Some((1, 1_700_000_000_500_000_000, 70)), Some((80, 2_600_000_070)));
        assert_eq!(by_clock(&known), Some((1_700_000_003, 100_000_000)));
        assert_eq!(by_clock(&features(Some((1, 5, 70)), Some((10, 60)))), None, "another clock");
        assert_eq!(by_clock(&features(None, Some((80, 90)))), None);
    }
}
