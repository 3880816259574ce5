//! Pipe mode: descriptions come as records among the others.

use std::collections::HashMap;
use std::fs::File;

use linux_perf_data::Feature;

use super::bytes::{Endian, Words, until_nul};
use super::features::Features;
use super::file::MOST_EVENTS;
use super::header::{Header, Section};
use super::walk::{RECORD_HEADER, Walk};
use super::{Attr, Error, Warning, kinds};

/// `PERF_EVENT_UPDATE__NAME`
const UPDATE_NAME: u64 = 2;

/// What a stream says about itself.
#[derive(Default)]
pub(super) struct Stream {
    pub attrs: Vec<Attr>,
    /// Whether there are compressed records.
    pub compressed: bool,
}

impl Stream {
    /// Looks through the whole stream for descriptions: perf may add events' names and build-ids at any place. An error in
    /// the middle ends the search; the walk that reads the records will meet it again and report it.
    pub fn read(
        file: &File,
        header: &Header,
        features: &mut Features,
        warnings: &mut Vec<Warning>,
    ) -> Result<Stream, Error> {
        let mut found = Stream::default();
        let mut names = HashMap::new();
        let Section { offset, size } = header.data;
        let mut walk = Walk::new(file, offset, offset + size, header.endian);
        while let Ok(Some(raw)) = walk.next(&mut Vec::new()) {
            let bytes = walk.bytes(&raw);
            match raw.kind {
                kinds::HEADER_ATTR if found.attrs.len() as u64 == MOST_EVENTS => {
                    let reason = format!("more than {MOST_EVENTS} events");
                    return Err(Error::Attr { offset: raw.offset, reason });
                }
                kinds::HEADER_ATTR => found.attrs.push(read_attr(bytes, header.endian, raw.offset)?),
                kinds::EVENT_UPDATE => names.extend(read_name(bytes, header.endian)),
                kinds::HEADER_BUILD_ID => {
                    let read = features.read_build_id(bytes, header.endian, false);
                    let damaged = Warning::FeatureDamaged { feature: Feature::BUILD_ID };
                    warnings.extend(read.is_none().then_some(damaged));
                }
                kinds::HEADER_FEATURE => read_feature(bytes, header.endian, features, warnings),
                kinds::COMPRESSED | kinds::COMPRESSED2 => found.compressed = true,
                _ => {}
            }
        }
        for attr in &mut found.attrs {
            if let Some(name) = attr.ids.iter().find_map(|id| names.remove(id)) {
                attr.name = name;
            }
        }
        Ok(found)
    }
}

/// `struct perf_event_header; attr; u64 ids[];`
fn read_attr(record: &[u8], endian: Endian, offset: u64) -> Result<Attr, Error> {
    let body = record.get(RECORD_HEADER..).unwrap_or_default();
    let mut attr = Attr::parse(body, endian, offset)?;
    let ids = body.get(attr.bytes.len()..).unwrap_or_default();
    attr.ids = Words::new(ids, endian).iter().collect();
    Ok(attr)
}

/// `struct perf_event_header; u64 type, id; char name[];`
fn read_name(record: &[u8], endian: Endian) -> Option<(u64, String)> {
    let is_name = endian.u64(record, 8)? == UPDATE_NAME;
    let name = String::from_utf8_lossy(until_nul(record.get(24..)?)).into_owned();
    is_name.then_some((endian.u64(record, 16)?, name))
}

/// `struct perf_event_header; u64 feature; char data[];`
fn read_feature(record: &[u8], endian: Endian, features: &mut Features, warnings: &mut Vec<Warning>) {
    let (Some(feature), Some(data)) = (feature_of(record, endian), record.get(16..)) else {
        return;
    };
    if Features::wants(feature) && features.read(feature, data, endian).is_none() {
        warnings.push(Warning::FeatureDamaged { feature });
    }
}

/// The header section that a `HEADER_FEATURE` record holds.
pub(super) fn feature_of(record: &[u8], endian: Endian) -> Option<Feature> {
    let number = endian.u64(record, RECORD_HEADER)?;
    u32::try_from(number).ok().map(Feature)
}
