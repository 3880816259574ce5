//! An ELF file: where its code lies, and which functions it has.

use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind, elf};

use crate::decode::Bitness;
use crate::{Error, Result};

const PAGE: u64 = 4096;

/// The executable segment of a program or library, at the addresses the file gives it.
#[derive(Debug, Clone)]
pub struct Image {
    /// Which instruction set its code is of.
    pub bitness: Bitness,
    /// Address of the entry point.
    pub entry: u64,
    /// The program that loads it; `None` of statically linked programs and of libraries.
    pub loader: Option<String>,
    /// Address of the first byte of code.
    pub start: u64,
    /// Offset of that byte in the file.
    pub file_offset: u64,
    /// The code.
    pub code: Vec<u8>,
    /// Functions by address; each address once.
    pub functions: Vec<Function>,
}

/// A function symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// First address.
    pub start: u64,
    /// One past the last address; `start` if the symbol has no size.
    pub end: u64,
    /// Its name as the symbol table has it.
    pub name: String,
}

/// An executable mapping as a recording states it, whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Offset in the file of the first address.
    pub offset: u64,
}

impl Image {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Image> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let bad = |reason: String| Error::Image { path: path.into(), reason };
        let file = object::File::parse(&*bytes).map_err(|e| bad(e.to_string()))?;
        let segment = file
            .segments()
            .find(|s| matches!(s.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0))
            .ok_or_else(|| bad("no executable segment".into()))?;
        Ok(Image {
            bitness: if file.is_64() { Bitness::Bits64 } else { Bitness::Bits32 },
            entry: file.entry(),
            loader: loader(&file),
            start: segment.address(),
            file_offset: segment.file_range().0,
            code: segment.data().map_err(|e| bad(e.to_string()))?.to_vec(),
            functions: functions(&file),
        })
    }

    /// The code mapping when the program is loaded `bias` above the file's addresses.
    pub fn mapping(&self, bias: u64) -> Mapping {
        let below = self.start % PAGE;
        let end = (self.start + self.code.len() as u64).next_multiple_of(PAGE);
        Mapping { start: bias + self.start - below, end: bias + end, offset: self.file_offset - below }
    }

    /// The bytes from a file address to the end of the code.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        self.code.get(address.checked_sub(self.start)? as usize..)
    }
}

/// What the section `.interp` names.
fn loader(file: &object::File<'_>) -> Option<String> {
    let section = file.section_by_name(".interp")?;
    let text = std::str::from_utf8(section.data().ok()?).ok()?;
    Some(text.trim_end_matches('\0').into())
}

/// Of several symbols on one address the longest is kept, then the first by name.
fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut all: Vec<Function> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|s| s.kind() == SymbolKind::Text && s.is_definition())
        .filter_map(|s| {
            Some(Function {
                start: s.address(),
                end: s.address() + s.size(),
                name: s.name().ok()?.to_string(),
            })
        })
        .filter(|f| !f.name.is_empty())
        .collect();
    all.sort_by(|a, b| (a.start, b.end, &a.name).cmp(&(b.start, a.end, &b.name)));
    all.dedup_by_key(|f| f.start);
    all
}
