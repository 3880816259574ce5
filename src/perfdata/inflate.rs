//! Compressed records → the records inside, in bounded memory.
//!
//! One zstd stream runs through all compressed records of a file; a record inside may be split over two of them. However far
//! the data expand, no more than [`ROOM`] bytes of them are held.

use zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::bytes::Endian;
use super::walk::{RECORD_HEADER, parse_header};

/// Expanded bytes held at a time: more than the largest record, so that there is always room to go on.
const ROOM: usize = 512 << 10;

/// A record inside compressed data, in the inflater's buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner {
    pub start: usize,
    pub len: usize,
    pub kind: u32,
    pub misc: u16,
}

/// Expands the chunks of one walk.
pub(super) struct Inflater {
    stream: DCtx<'static>,
    out: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inflater {
    pub fn new() -> Result<Inflater, String> {
        let mut stream = DCtx::try_create().ok_or("no memory for zstd")?;
        stream.init().map_err(|code| zstd_safe::get_error_name(code).to_owned())?;
        Ok(Inflater { stream, out: vec![0; ROOM], start: 0, end: 0 })
    }

    /// Expands some of `input`. Returns how much of it was used and how many bytes came out. All has come out when both are 0
    /// and `input` is empty: what was used in one turn may come out in the next.
    pub fn expand(&mut self, input: &[u8]) -> Result<(usize, usize), String> {
        self.out.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let mut input_buffer = InBuffer::around(input);
        let mut output = OutBuffer::around(&mut self.out[self.end..]);
        self.stream
            .decompress_stream(&mut output, &mut input_buffer)
            .map_err(|code| zstd_safe::get_error_name(code).to_owned())?;
        let (used, made) = (input_buffer.pos, output.pos());
        self.end += made;
        if used == 0 && made == 0 && !input.is_empty() {
            return Err("the stream does not go on".into());
        }
        Ok((used, made))
    }

    /// The next whole record among what was expanded.
    pub fn record(&mut self, endian: Endian) -> Result<Option<Inner>, String> {
        let held = &self.out[self.start..self.end];
        if held.len() < RECORD_HEADER {
            return Ok(None);
        }
        let (kind, misc, size) = parse_header(held, endian);
        let len = usize::from(size);
        if len < RECORD_HEADER {
            return Err(format!("a record inside states a size of {size} bytes"));
        }
        if len > held.len() {
            return Ok(None);
        }
        let start = self.start;
        self.start += len;
        Ok(Some(Inner { start, len, kind, misc }))
    }

    /// The bytes of a record that [`Self::record`] found last.
    pub fn bytes(&self, inner: &Inner) -> &[u8] {
        self.out.get(inner.start..inner.start + inner.len).unwrap_or_default()
    }

    /// Expanded bytes that do not make a record yet.
    pub fn left(&self) -> usize {
        self.end - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: usize) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(0u16.to_le_bytes());
        bytes.extend(((8 + body) as u16).to_le_bytes());
        bytes.resize(8 + body, 7);
        bytes
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![0; zstd_safe::compress_bound(bytes.len())];
        let n = zstd_safe::compress(&mut out[..], bytes, 3).unwrap();
        out.truncate(n);
        out
    }

    /// Gives `chunks` one after the other and returns the kinds of the records found.
    fn kinds(chunks: &[&[u8]]) -> Result<(Vec<u32>, usize), String> {
        let mut inflater = Inflater::new()?;
        let mut found = vec![];
        for chunk in chunks {
            let mut rest = *chunk;
            loop {
                let (used, made) = inflater.expand(rest)?;
                rest = &rest[used..];
                while let Some(inner) = inflater.record(Endian::Little)? {
                    found.push(inner.kind);
                }
                if rest.is_empty() && made == 0 {
                    break;
                }
            }
        }
        Ok((found, inflater.left()))
    }

    #[test]
    fn a_record_split_over_chunks_comes_out_whole() {
        let stream = compressed(&[record(1, 16), record(2, 60_000), record(3, 0)].concat());
        for cut in 0..stream.len() {
            let (a, b) = stream.split_at(cut);
            assert_eq!(kinds(&[a, b]).unwrap(), (vec![1, 2, 3], 0));
        }
    }

    #[test]
    fn what_expands_to_more_than_the_room_comes_out_in_turns() {
        let many: Vec<u8> = (0..100).flat_map(|i| record(i, 65_000)).collect();
        let (found, left) = kinds(&[&compressed(&many)]).unwrap();
        assert_eq!((found, left), ((0..100).collect(), 0));
    }

    #[test]
    fn damage_is_an_error_and_an_incomplete_record_is_left() {
        assert!(kinds(&[b"this is no zstd frame at all"]).is_err());
        let zero = compressed(&[0; 16]);
        assert!(kinds(&[&zero]).unwrap_err().contains("size of 0"));
        let cut = &record(9, 100)[..50];
        assert_eq!(kinds(&[&compressed(cut)]).unwrap(), (vec![], 50));
    }
}
