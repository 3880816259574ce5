//! The memory that the kernel writes records into.
//!
//! The first page says how far the kernel has written and the reader has read; the rest is the ring, whose size is a power of
//! two. The kernel never overwrites what was not read: it counts what it had no room for and says so in a
//! `PERF_RECORD_LOST`, which comes out of the ring like any other record.

use super::checked;
use perf_event_open_sys::bindings::perf_event_mmap_page;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// `struct perf_event_header { u32 type; u16 misc, size; }`
const HEADER: usize = 8;

/// Records of an event, and of those whose output was sent here.
#[derive(Debug)]
pub struct Ring {
    page: NonNull<perf_event_mmap_page>,
    /// Where the ring begins in bytes behind `page`.
    offset: usize,
    /// Bytes, a power of two.
    len: usize,
    /// A record that goes over the end of the ring, in one piece.
    whole: Vec<u8>,
}

// SAFETY: nothing of the mapping belongs to the thread that made it.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn map(fd: BorrowedFd<'_>, pages: usize) -> io::Result<Ring> {
        if !pages.is_power_of_two() || pages > 1 << 20 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (offset, len) = (page_size(), pages * page_size());
        // SAFETY: the kernel chooses a free place, so nothing that exists is replaced.
        let at = unsafe {
            let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            libc::mmap(null_mut(), offset + len, access, how, fd.as_raw_fd(), 0)
        };
        match NonNull::new(at) {
            Some(page) if at != libc::MAP_FAILED => {
                Ok(Ring { page: page.cast(), offset, len, whole: Vec::new() })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The next record, header and all; `None` when all that the kernel has written was read. Its room is free for the
    /// kernel again at the next call.
    pub fn next_record(&mut self) -> Option<&[u8]> {
        self.release();
        let mut whole = std::mem::take(&mut self.whole);
        let (first, second) = self.unread();
        let size = record_size(first, second);
        let size_in_first = size.unwrap_or(0).min(first.len());
        whole.extend_from_slice(&first[..size_in_first]);
        whole.extend_from_slice(&second[..size.unwrap_or(0) - size_in_first]);
        self.whole = whole;
        size?;
        Some(&self.whole)
    }

    /// All that was not read, in two parts of which the second follows the first; a record may begin in one and end in the
    /// other. Afterwards the room is free for the kernel again.
    pub fn take<R>(&mut self, then: impl FnOnce(&[u8], &[u8]) -> R) -> R {
        self.release();
        let (first, second) = self.unread();
        let (result, read) = (then(first, second), first.len() + second.len());
        self.advance(read);
        result
    }

    /// Bytes that were not read.
    pub fn pending(&self) -> usize {
        let read = self.tail().load(Ordering::Relaxed);
        self.head().load(Ordering::Acquire).wrapping_sub(read) as usize
    }

    fn release(&mut self) {
        let read = self.whole.len();
        self.whole.clear();
        self.advance(read);
    }

    fn advance(&self, bytes: usize) {
        if bytes > 0 {
            let read = self.tail().load(Ordering::Relaxed);
            self.tail().store(read.wrapping_add(bytes as u64), Ordering::Release);
        }
    }

    fn unread(&self) -> (&[u8], &[u8]) {
        let pending = self.pending().min(self.len);
        let start = self.tail().load(Ordering::Relaxed) as usize & (self.len - 1);
        let first = pending.min(self.len - start);
        // SAFETY: the mapping is `offset + len` bytes and lives as long as `self`; both parts are inside. The kernel does
        // not write between tail and head, and the tail moves only through `&mut self` or when the slices are gone.
        unsafe {
            let data = self.page.as_ptr().cast::<u8>().add(self.offset);
            (
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, pending - first),
            )
        }
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the field is an aligned word of the first page, mapped as long as `self`; both sides access it atomically.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as for the head.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_tail) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and no slice of it outlives `self`. Nothing is to be done if it fails.
        unsafe { libc::munmap(self.page.as_ptr().cast(), self.offset + self.len) };
    }
}

/// `None` if there is no record.
fn record_size(first: &[u8], second: &[u8]) -> Option<usize> {
    let byte = |at: usize| first.get(at).or_else(|| second.get(at - first.len())).copied();
    let size = u16::from_ne_bytes([byte(6)?, byte(7)?]).into();
    (HEADER..=first.len() + second.len()).contains(&size).then_some(size)
}

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: the call reads a constant.
    checked(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_or(4096, |size| size as usize)
}
