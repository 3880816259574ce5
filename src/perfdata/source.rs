//! Part of a file, read once from front to back through one buffer.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Error;

/// Large enough for four of the largest records, small enough for the cache.
const BUFFER: usize = 256 << 10;

/// A reader that hands out slices of its own buffer. The file's cursor is not touched, so that several may read at once.
pub(super) struct Source<'f> {
    file: &'f File,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buf[start]`.
    pos: u64,
    /// Offset in the file where reading ends.
    limit: u64,
}

impl<'f> Source<'f> {
    /// Reads `file` from `pos` up to `limit`.
    pub fn new(file: &'f File, pos: u64, limit: u64) -> Self {
        Source { file, buf: vec![0; BUFFER], start: 0, end: 0, pos, limit: limit.max(pos) }
    }

    /// Offset in the file of the next byte.
    pub fn pos(&self) -> u64 {
        self.pos
    }

    /// Bytes between here and the limit.
    pub fn remaining(&self) -> u64 {
        self.limit - self.pos
    }

    /// The next `want` bytes, or fewer where the file or the limit comes first.
    #[inline]
    pub fn peek(&mut self, want: usize) -> Result<&[u8], Error> {
        if self.end - self.start < want {
            self.fill(want)?;
        }
        let have = (self.end - self.start).min(want);
        Ok(&self.buf[self.start..self.start + have])
    }

    fn fill(&mut self, want: usize) -> Result<(), Error> {
        self.buf.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < want {
            let at = self.pos + self.end as u64;
            let room = (self.limit - at).min((self.buf.len() - self.end) as u64) as usize;
            if room == 0 {
                break;
            }
            match self.file.read_at(&mut self.buf[self.end..self.end + room], at) {
                Ok(0) => self.limit = at,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Read { offset: at, source }),
            }
        }
        Ok(())
    }

    /// Passes over `n` bytes, at most up to the limit. They need not have been read.
    #[inline]
    pub fn skip(&mut self, n: u64) {
        let n = n.min(self.remaining());
        self.start = self.end.min(self.start.saturating_add(usize::try_from(n).unwrap_or(usize::MAX)));
        self.pos += n;
    }

    /// The buffer's bytes from `start`, `len` of them: what [`Self::mark`] named, while nothing was read since.
    pub fn marked(&self, mark: usize, len: usize) -> &[u8] {
        self.buf.get(mark..mark + len).unwrap_or_default()
    }

    /// Where in the buffer the next byte stands, until the next read.
    #[inline]
    pub fn mark(&self) -> usize {
        self.start
    }
}

/// All of `file` from `offset`, `len` bytes; `len` must have been checked against the length of the file.
pub(super) fn read_exact(file: &File, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, offset).map_err(|source| Error::Read { offset, source })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn numbered(len: usize) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&(0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>()).unwrap();
        file
    }

    #[test]
    fn bytes_come_in_order_across_the_buffer_end() {
        let file = numbered(3 * BUFFER + 7);
        let mut source = Source::new(&file, 1, (3 * BUFFER + 5) as u64);
        let mut at = 1;
        while source.remaining() > 0 {
            let piece = source.peek(60_001).unwrap();
            assert!(piece.iter().enumerate().all(|(i, &b)| b == ((at + i) % 251) as u8));
            at += piece.len();
            let n = piece.len() as u64;
            source.skip(n);
            assert_eq!(source.pos(), at as u64);
        }
        assert_eq!(at, 3 * BUFFER + 5);
    }

    #[test]
    fn skipping_past_what_was_read_goes_on_at_the_right_byte() {
        let file = numbered(2 * BUFFER);
        let mut source = Source::new(&file, 0, 2 * BUFFER as u64);
        source.peek(8).unwrap();
        source.skip(BUFFER as u64 + 1234);
        assert_eq!(source.peek(1).unwrap(), &[((BUFFER + 1234) % 251) as u8]);
        source.skip(u64::MAX);
        assert!(source.peek(8).unwrap().is_empty());
    }

    #[test]
    fn a_file_shorter_than_promised_ends_early() {
        let file = numbered(10);
        let mut source = Source::new(&file, 4, 1000);
        assert_eq!(source.peek(100).unwrap().len(), 6);
    }
}
