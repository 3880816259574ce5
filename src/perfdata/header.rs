//! The first bytes of a recording: which format, and where its sections are.

use std::fs::File;

use linux_perf_data::{Feature, FeatureSet};

use super::bytes::{Endian, array};
use super::source::read_exact;
use super::{Error, Warning};

/// Size of the header in pipe mode, and the offset of its first record.
pub(super) const PIPE_HEADER: u64 = 16;
/// Size of the header before features existed.
const OLD_FILE_HEADER: u64 = 72;
/// Size of the header that all current versions write.
const FILE_HEADER: u64 = 104;
/// Offsets in the header of fields that a rewriter may change.
pub(super) const ATTRS_AT: u64 = 24;
pub(super) const DATA_SIZE_AT: u64 = 48;
pub(super) const EVENT_TYPES_AT: u64 = 56;
pub(super) const FEATURES_AT: u64 = 72;

/// A part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Section {
    pub offset: u64,
    pub size: u64,
}

impl Section {
    pub fn parse(bytes: &[u8], at: usize, endian: Endian) -> Option<Section> {
        Some(Section { offset: endian.u64(bytes, at)?, size: endian.u64(bytes, at.checked_add(8)?)? })
    }

    /// Offset behind its last byte, if the section lies in a file of `len` bytes.
    pub fn end_within(&self, len: u64) -> Option<u64> {
        self.offset.checked_add(self.size).filter(|&end| end <= len)
    }

    /// The same as an error for people.
    pub fn check(&self, what: &'static str, len: u64) -> Result<u64, Error> {
        let Section { offset, size } = *self;
        self.end_within(len).ok_or(Error::Section { what, offset, size, len })
    }
}

/// `struct perf_file_header`, checked; in pipe mode there is only magic and size.
///
/// ```text
/// u64 magic, size, attr_size;
/// struct perf_file_section { u64 offset, size; } attrs, data, event_types;
/// DECLARE_BITMAP(adds_features, 256);      // absent if size = 72
/// ```
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub endian: Endian,
    pub pipe: bool,
    /// Size of an entry of `attrs`: the attr and the section of its ids.
    pub attr_size: u64,
    pub attrs: Section,
    pub event_types: Section,
    /// Where the records are, after all corrections.
    pub data: Section,
    /// Where the header says that the data end and the table of features begins; `None` if there is no such table.
    pub table: Option<u64>,
    pub features: FeatureSet,
    /// Whether the feature bits are in words of 32 bits, as on a machine of 32 bits.
    pub narrow: bool,
}

/// What recordings begin with, in the byte order of the machine that recorded.
pub(super) const LITTLE: &[u8; 8] = b"PERFILE2";
pub(super) const BIG: &[u8; 8] = b"2ELIFREP";
/// What perf before Linux 3.4 begins a file with, in either byte order; the rest is as later.
const FIRST_VERSION: &[u8; 8] = b"PERFFILE";

/// Whether what begins with these bytes is a recording.
pub fn is_recording(magic: &[u8; 8]) -> bool {
    [LITTLE, BIG, FIRST_VERSION].contains(&magic)
}

/// The byte order in which the header's size is one that there is.
fn byte_order_by_size(bytes: &[u8]) -> Endian {
    let size = Endian::Big.u64(bytes, 8);
    match size {
        Some(PIPE_HEADER | OLD_FILE_HEADER | FILE_HEADER) => Endian::Big,
        _ => Endian::Little,
    }
}

impl Header {
    /// Reads the header of a file of `len` bytes.
    pub fn read(file: &File, len: u64, warnings: &mut Vec<Warning>) -> Result<Header, Error> {
        let bytes = read_exact(file, 0, len.min(FILE_HEADER) as usize)?;
        let magic: [u8; 8] = array(&bytes, 0).ok_or(Error::TooShort { len })?;
        let endian = match &magic {
            LITTLE => Endian::Little,
            BIG => Endian::Big,
            FIRST_VERSION => byte_order_by_size(&bytes),
            _ => return Err(Error::Magic { magic }),
        };
        let size = endian.u64(&bytes, 8).ok_or(Error::TooShort { len })?;
        match size {
            PIPE_HEADER => Ok(Header::pipe(endian, len)),
            OLD_FILE_HEADER | FILE_HEADER => {
                Header::file(&bytes, endian, size).ok_or(Error::TooShort { len })?.checked(len, warnings)
            }
            _ => Err(Error::HeaderSize { size }),
        }
    }

    fn pipe(endian: Endian, len: u64) -> Header {
        Header {
            endian,
            pipe: true,
            attr_size: 0,
            attrs: Section::default(),
            event_types: Section::default(),
            data: Section { offset: PIPE_HEADER, size: len.saturating_sub(PIPE_HEADER) },
            table: None,
            features: FeatureSet([0; 4]),
            narrow: false,
        }
    }

    fn file(bytes: &[u8], endian: Endian, size: u64) -> Option<Header> {
        let (features, narrow) = match size {
            FILE_HEADER => features(bytes, endian)?,
            _ => (FeatureSet([0; 4]), false),
        };
        Some(Header {
            endian,
            pipe: false,
            attr_size: endian.u64(bytes, 16)?,
            attrs: Section::parse(bytes, 24, endian)?,
            data: Section::parse(bytes, 40, endian)?,
            event_types: Section::parse(bytes, 56, endian)?,
            table: None,
            features,
            narrow,
        })
    }

    fn checked(mut self, len: u64, warnings: &mut Vec<Warning>) -> Result<Header, Error> {
        Section { size: 0, ..self.data }.check("the data section", len)?;
        let Section { offset, size } = self.data;
        let stated_end = offset.checked_add(size);
        if size == 0 && len > offset {
            self.data.size = len - offset;
            warnings.push(Warning::Unfinished { bytes: self.data.size });
        } else if let Some(end) = stated_end.filter(|&end| end <= len) {
            self.table = (self.features != FeatureSet([0; 4])).then_some(end);
        } else {
            self.data.size = len - offset;
            warnings.push(Warning::DataCut { stated_end: stated_end.unwrap_or(u64::MAX), end: len });
        }
        Ok(self)
    }
}

/// The bitmap is made of machine words: on a big-endian machine of 32 bits the bits stand elsewhere. As perf does, the host
/// name, which every recording has, tells which it was.
fn features(bytes: &[u8], endian: Endian) -> Option<(FeatureSet, bool)> {
    let mut wide = [0; 4];
    let mut narrow = [0; 4];
    for i in 0..4 {
        wide[i] = endian.u64(bytes, 72 + 8 * i)?;
        let low = endian.u32(bytes, 72 + 8 * i)?;
        let high = endian.u32(bytes, 76 + 8 * i)?;
        narrow[i] = u64::from(low) | u64::from(high) << 32;
    }
    let (wide, narrow) = (FeatureSet(wide), FeatureSet(narrow));
    let is_narrow = !wide.has_feature(Feature::HOSTNAME) && narrow.has_feature(Feature::HOSTNAME);
    Some(if is_narrow { (narrow, true) } else { (wide, false) })
}

impl Header {
    /// The bitmap of `features` as it stands in this file's header, at [`FEATURES_AT`].
    pub fn feature_bytes(&self, features: FeatureSet) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (word, at) in features.0.iter().zip(bytes.as_chunks_mut::<8>().0) {
            let word = if self.narrow { word.rotate_left(32) } else { *word };
            *at = self.endian.u64_bytes(word);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: &[u8]) -> (Result<Header, Error>, Vec<Warning>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut warnings = vec![];
        (Header::read(&file, bytes.len() as u64, &mut warnings), warnings)
    }

    fn header(size: u64, data: (u64, u64), features: [u64; 4]) -> Vec<u8> {
        let mut words = vec![size, 144, 104, 0, data.0, data.1, 0, 0];
        words.extend(features);
        let mut bytes = b"PERFILE2".to_vec();
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        bytes.truncate(size.min(104) as usize);
        bytes
    }

    #[test]
    fn the_first_version_is_read_in_either_byte_order() {
        let little = header(104, (104, 0), [0; 4]);
        let mut big: Vec<u8> = little.chunks(8).flat_map(|word| word.iter().rev().copied()).collect();
        let mut little = little;
        for (bytes, endian) in [(&mut little, Endian::Little), (&mut big, Endian::Big)] {
            bytes[..8].copy_from_slice(b"PERFFILE");
            let header = read(bytes).0.unwrap();
            assert_eq!((header.endian, header.data.offset), (endian, 104));
        }
        assert!(matches!(read(b"PERFFILE_and_more_bytes").0, Err(Error::HeaderSize { .. })));
    }

    #[test]
    fn other_files_and_other_header_sizes_are_refused() {
        assert!(matches!(read(b"\x7fELF....").0, Err(Error::Magic { .. })));
        assert!(matches!(read(b"PERF").0, Err(Error::TooShort { len: 4 })));
        assert!(matches!(read(&header(96, (96, 0), [0; 4])).0, Err(Error::HeaderSize { size: 96 })));
    }

    #[test]
    fn the_old_header_has_no_features() {
        let mut bytes = header(72, (104, 16), [0; 4]);
        bytes.resize(120, 0xff);
        let (h, warnings) = read(&bytes);
        let h = h.unwrap();
        assert!(h.features.is_empty() && h.table.is_none() && warnings.is_empty());
        assert_eq!(h.data, Section { offset: 104, size: 16 });
    }

    #[test]
    fn a_data_size_of_zero_reads_to_the_end_without_features() {
        let mut bytes = header(104, (104, 0), [8, 0, 0, 0]);
        bytes.resize(204, 0);
        let (h, warnings) = read(&bytes);
        let h = h.unwrap();
        assert_eq!((h.data.size, h.table), (100, None));
        assert_eq!(warnings, [Warning::Unfinished { bytes: 100 }]);
    }

    #[test]
    fn data_that_run_out_of_the_file_are_cut_with_a_warning() {
        for size in [1000, u64::MAX] {
            let mut bytes = header(104, (104, size), [8, 0, 0, 0]);
            bytes.resize(144, 0);
            let (h, warnings) = read(&bytes);
            assert_eq!(h.unwrap().data.size, 40);
            assert!(matches!(warnings[..], [Warning::DataCut { end: 144, .. }]));
        }
    }

    #[test]
    fn feature_bits_of_a_big_endian_32_bit_machine_are_found() {
        let mut bytes = vec![0; 104];
        bytes[72..76].copy_from_slice(&(1u32 << 3 | 1 << 12).to_be_bytes());
        let (set, narrow) = features(&bytes, Endian::Big).unwrap();
        assert!(narrow && set.has_feature(Feature::HOSTNAME) && set.has_feature(Feature::EVENT_DESC));
        let header = Header { narrow, ..Header::pipe(Endian::Big, 0) };
        assert_eq!(header.feature_bytes(set), bytes[72..104]);
        bytes[72..80].copy_from_slice(&(1u64 << 3 | 1 << 12).to_be_bytes());
        let (set, narrow) = features(&bytes, Endian::Big).unwrap();
        assert!(!narrow && set.has_feature(Feature::HOSTNAME) && set.has_feature(Feature::EVENT_DESC));
    }
}
