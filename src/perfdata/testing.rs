//! Records by hand, for the tests of this folder.

use super::bytes::Endian;
use super::layout::Layout;
use super::{Attr, AttrIx, Record, Sample, Sideband};

/// Builds a record in either byte order.
pub(super) struct Build {
    endian: Endian,
    bytes: Vec<u8>,
}

impl Build {
    pub fn new(endian: Endian, kind: u32, misc: u16) -> Build {
        let mut bytes = Vec::new();
        match endian {
            Endian::Little => bytes.extend(kind.to_le_bytes()),
            Endian::Big => bytes.extend(kind.to_be_bytes()),
        }
        bytes.extend(endian.u16_bytes(misc));
        bytes.extend([0, 0]);
        Build { endian, bytes }
    }

    pub fn words(mut self, words: &[u64]) -> Build {
        self.bytes.extend(words.iter().flat_map(|&w| self.endian.u64_bytes(w)));
        self
    }

    pub fn halves(mut self, halves: &[u32]) -> Build {
        for half in halves {
            match self.endian {
                Endian::Little => self.bytes.extend(half.to_le_bytes()),
                Endian::Big => self.bytes.extend(half.to_be_bytes()),
            }
        }
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Build {
        self.bytes.extend(bytes);
        self
    }

    pub fn done(mut self) -> Vec<u8> {
        let size = self.bytes.len() as u16;
        self.bytes[6..8].copy_from_slice(&self.endian.u16_bytes(size));
        self.bytes
    }
}

pub(super) fn attr(sample_type: u64) -> Attr {
    let mut attr = Attr::parse(&[0; 64], Endian::Little, 0).unwrap();
    attr.sample_type = sample_type;
    attr
}

pub(super) fn view(bytes: &[u8], endian: Endian) -> Record<'_> {
    let (kind, misc, _) = super::walk::parse_header(bytes, endian);
    let attr = Some(AttrIx(0));
    Record { ordinal: 0, offset: 0, part: 0, kind, misc, bytes, compressed: false, payload: 0, attr }
}

pub(super) fn sample<'a>(bytes: &'a [u8], attr: &Attr, endian: Endian) -> Result<Sample<'a>, &'static str> {
    let layout = Layout::new(attr, endian, Some("x86_64"));
    Sample::decode(&view(bytes, endian), AttrIx(0), attr, &layout)
}

pub(super) fn sideband(bytes: &[u8], attr: &Attr, endian: Endian) -> Option<Sideband> {
    Sideband::decode(&view(bytes, endian), &Layout::new(attr, endian, None))
}
