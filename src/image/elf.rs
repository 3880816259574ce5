//! An ELF file: its segments, its sections, its bytes.
//!
//! In: a regular file of any class, byte order and machine. Out: which address stands at which offset, bytes of code and
//! data, and the tables that `functions`, `plt` and `unwind` read. Every size is checked against the file.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endian, Endianness, ReadCache, ReadRef};

use super::Svma;
use super::cover::Cover;
use super::packed::{LARGEST, expand};
use super::segment::{Segment, protected};
use super::source::Source;
use super::strings::Strings;

/// Notes beyond these are not searched for the build-id: sections of a damaged file may all be the whole file.
const LONGEST_NOTE: u64 = 1 << 16;
const MOST_NOTES: usize = 64;

/// Why a file is not read as ELF.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// It cannot be read at all.
    #[error("{0}")]
    Io(String),
    /// The user may not read it.
    #[error("permission denied")]
    Denied,
    /// It is a program or library of Windows, as Wine and .NET map them.
    #[error("not an ELF file but one of Windows (PE)")]
    Windows,
    /// It is anything else.
    #[error("not an ELF file")]
    Other,
    /// It is damaged.
    #[error("not a valid ELF file: {0}")]
    Malformed(String),
}

impl From<io::Error> for ElfError {
    fn from(error: io::Error) -> ElfError {
        match error.kind() {
            io::ErrorKind::PermissionDenied => ElfError::Denied,
            _ => ElfError::Io(error.to_string()),
        }
    }
}

/// How wide addresses are, of the machines whose code is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// IA-32.
    Bits32,
    /// x86-64.
    Bits64,
}

/// A named part of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// What it holds: `SHT_*`.
    pub kind: elf::SectionType,
    /// Its address; 0 when it is not loaded.
    pub svma: u64,
    /// Where it stands in the file.
    pub offset: u64,
    /// Its size in memory.
    pub size: u64,
    /// The section that belongs to it: strings to symbols, symbols to relocations.
    pub link: usize,
    /// Size of one entry, if it is a table.
    pub entry_size: u64,
    /// What its address is a multiple of; 0 and 1 mean anything.
    pub align: u64,
    /// Whether it is code.
    pub executable: bool,
    /// Whether it begins with a header that says how it is compressed.
    pub compressed: bool,
}

impl Section {
    /// The addresses it takes.
    pub fn range(&self) -> Range<u64> {
        self.svma..self.svma.saturating_add(self.size)
    }
}

/// An ELF file.
#[derive(Debug)]
pub struct Elf {
    source: Source,
    pub(super) endian: Endianness,
    pub(super) is_64: bool,
    machine: elf::Machine,
    entry: u64,
    segments: Vec<Segment>,
    /// What the loader protects once it has relocated it.
    protected: Vec<Range<u64>>,
    sections: Vec<Section>,
    /// Which segment holds an address.
    loaded: Cover,
    /// Which section of code holds an address.
    code: Cover,
    build_id: Option<Vec<u8>>,
}

/// Whether a name is that of a kernel module which the kernel expands when it loads it.
fn is_packed_module(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    [&b".ko.gz"[..], b".ko.xz", b".ko.zst"].iter().any(|end| name.ends_with(end))
}

impl Elf {
    /// Reads the headers of the file at `path`.
    pub fn open(path: &Path) -> Result<Elf, ElfError> {
        let (source, file) = Source::open(path)?;
        if is_packed_module(path) {
            let whole = source.read(0, source.len()).unwrap_or_default();
            if let Some(bytes) = expand(&whole, LARGEST) {
                return Elf::from_bytes(path, bytes?);
            }
        }
        Elf::headers(source, &ReadCache::new(&file))
    }

    /// The same of `bytes` that were at `path` in another form.
    pub(super) fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Elf, ElfError> {
        let source = Source::kept(path, Vec::new());
        let mut elf = Elf::headers(source, bytes.as_slice())?;
        elf.source = Source::kept(path, bytes);
        Ok(elf)
    }

    fn headers<'d>(source: Source, data: impl ReadRef<'d>) -> Result<Elf, ElfError> {
        match data.read_bytes_at(0, 4).or_else(|()| data.read_bytes_at(0, 2)).unwrap_or_default() {
            b"\x7fELF" => {}
            [b'M', b'Z', ..] => return Err(ElfError::Windows),
            _ => return Err(ElfError::Other),
        }
        let class = data.read_bytes_at(4, 1).ok().and_then(|bytes| bytes.first().copied());
        match class {
            Some(2) => Elf::parse::<FileHeader64<Endianness>, _>(source, data, true),
            _ => Elf::parse::<FileHeader32<Endianness>, _>(source, data, false),
        }
        .map_err(|error| ElfError::Malformed(error.to_string()))
    }

    fn parse<'d, H, R>(source: Source, data: R, is_64: bool) -> object::Result<Elf>
    where
        H: FileHeader<Endian = Endianness>,
        R: ReadRef<'d>,
    {
        let header = H::parse(data)?;
        let endian = header.endian()?;
        let headers = header.program_headers(endian, data)?;
        let segments: Vec<_> = headers.iter().filter_map(|header| Segment::loaded(header, endian)).collect();
        let sections = sections(header, endian, data).unwrap_or_default();
        let code = sections.iter().enumerate().filter(|(_, section)| section.executable);
        Ok(Elf {
            source,
            endian,
            is_64,
            machine: header.e_machine(endian),
            entry: header.e_entry(endian).into(),
            loaded: Cover::new(segments.iter().map(Segment::range).enumerate()),
            code: Cover::new(code.map(|(ix, section)| (ix, section.range()))),
            segments,
            protected: headers.iter().filter_map(|header| protected(header, endian)).collect(),
            sections,
            build_id: build_id(header, endian, data),
        })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// Size of the file in bytes.
    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// When the file was last changed, in seconds and nanoseconds since 1970.
    pub fn modified(&self) -> Option<(i64, i64)> {
        self.source.modified()
    }

    /// x86 of either width; `None` for other machines.
    pub fn class(&self) -> Option<Class> {
        match self.machine {
            elf::EM_X86_64 if self.is_64 && self.endian.is_little_endian() => Some(Class::Bits64),
            elf::EM_386 if !self.is_64 && self.endian.is_little_endian() => Some(Class::Bits32),
            _ => None,
        }
    }

    pub(super) fn machine(&self) -> elf::Machine {
        self.machine
    }

    /// Where it begins to run, if that is stated.
    pub fn entry(&self) -> Option<Svma> {
        (self.entry != 0).then_some(Svma(self.entry))
    }

    /// The build-id that the file states.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The name and CRC-32 of the separate debug file that the file states.
    pub fn debug_link(&self) -> Option<(PathBuf, u32)> {
        let link = self.section_bytes(self.section(".gnu_debuglink")?)?;
        let name = link.split(|&byte| byte == 0).next().filter(|name| !name.is_empty())?;
        let checksum = self.u32(&link, (name.len() / 4 + 1) * 4)?;
        // only a name: it is looked for in known folders
        let name = Path::new(OsStr::from_bytes(name));
        (name.components().count() == 1).then(|| Some((name.file_name()?.into(), checksum)))?
    }

    /// CRC-32 of the whole file.
    pub(super) fn checksum(&self) -> Option<u32> {
        let mut crc = flate2::Crc::new();
        let mut at = 0;
        while at < self.source.len() {
            let piece = self.source.read(at, (self.source.len() - at).min(1 << 20))?;
            crc.update(&piece);
            at += piece.len() as u64;
        }
        Some(crc.sum())
    }

    /// What is loaded.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// All sections, in the file's order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The first section of a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The bytes of a section; `None` if the file does not hold them.
    pub fn section_bytes(&self, section: &Section) -> Option<Vec<u8>> {
        if section.kind == elf::SHT_NOBITS {
            return None;
        }
        self.source.read(section.offset, section.size)
    }

    /// The bytes of a section, however large it is.
    pub(super) fn whole_section(&self, section: &Section) -> Option<Vec<u8>> {
        (section.kind != elf::SHT_NOBITS).then(|| self.source.read_any(section.offset, section.size))?
    }

    /// What stands at `offset`; `None` if the file does not hold all of it.
    pub(super) fn bytes(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        self.source.read(offset, len)
    }

    /// The file itself.
    pub(super) fn into_source(self) -> Source {
        self.source
    }

    pub(super) fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if self.endian.is_little_endian() { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    }

    pub(super) fn u64(&self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if self.endian.is_little_endian() { u64::from_le_bytes(raw) } else { u64::from_be_bytes(raw) })
    }

    /// The address of what stands at `offset`. Segments may share a page of the file: code wins.
    pub fn svma_at(&self, offset: u64) -> Option<Svma> {
        let holds = |s: &&Segment| offset.checked_sub(s.offset).is_some_and(|inside| inside < s.file_size);
        let code = self.segments.iter().filter(holds).find(|s| s.executable);
        let segment = code.or_else(|| self.segments.iter().find(holds))?;
        Some(Svma(segment.svma.wrapping_add(offset - segment.offset)))
    }

    /// The offset at which the byte of an address stands.
    pub fn offset_of(&self, at: Svma) -> Option<u64> {
        let (segment, inside) = self.segment_of(at)?;
        Some(segment.offset + inside)
    }

    fn segment_of(&self, at: Svma) -> Option<(&Segment, u64)> {
        let segment = self.segments.get(self.loaded.at(at.0)?)?;
        Some((segment, at.0 - segment.svma))
    }

    /// The bytes of a range of code, cut where its segment ends; `None` if it does not begin in code.
    pub fn code(&self, range: Range<Svma>) -> Option<Vec<u8>> {
        let (segment, inside) = self.segment_of(range.start)?;
        let wanted = range.end.0.checked_sub(range.start.0)?;
        if !segment.executable {
            return None;
        }
        self.source.read(segment.offset + inside, wanted.min(segment.file_size - inside))
    }

    /// Whether an address is in a segment that may be executed.
    pub fn is_code(&self, at: Svma) -> bool {
        self.segment_of(at).is_some_and(|(segment, _)| segment.executable)
    }

    /// Whether what stands at an address stays as the loader has left it.
    pub fn is_constant(&self, at: Svma) -> bool {
        self.segment_of(at).is_some_and(|(segment, _)| !segment.writable)
            || self.protected.iter().any(|range| range.contains(&at.0))
    }

    /// `len` bytes as they are before the program runs; `None` unless the file holds all of them.
    pub fn read(&self, at: Svma, len: u64) -> Option<Vec<u8>> {
        let (segment, inside) = self.segment_of(at)?;
        if len > segment.file_size - inside {
            return None;
        }
        self.source.read(segment.offset + inside, len)
    }

    /// The section that holds the code at an address.
    pub fn code_section(&self, at: Svma) -> Option<&Section> {
        self.sections.get(self.code.at(at.0)?)
    }
}

fn sections<'d, H: FileHeader, R: ReadRef<'d>>(
    header: &H,
    endian: H::Endian,
    data: R,
) -> object::Result<Vec<Section>> {
    let headers = header.section_headers(endian, data)?;
    let strings = match header.shstrndx(endian, data).ok().and_then(|index| headers.get(index as usize)) {
        Some(section) => section.data(endian, data)?,
        None => &[],
    };
    let mut strings = Strings::new(strings);
    let section = |header: &H::SectionHeader| Section {
        name: strings.at(header.sh_name(endian)),
        kind: header.sh_type(endian),
        svma: header.sh_addr(endian).into(),
        offset: header.sh_offset(endian).into(),
        size: header.sh_size(endian).into(),
        link: header.sh_link(endian) as usize,
        entry_size: header.sh_entsize(endian).into(),
        align: header.sh_addralign(endian).into(),
        executable: header.sh_flags(endian).contains(elf::SHF_EXECINSTR),
        compressed: header.sh_flags(endian).contains(elf::SHF_COMPRESSED),
    };
    Ok(headers.iter().map(section).collect())
}

fn build_id<'d, H: FileHeader, R: ReadRef<'d>>(header: &H, endian: H::Endian, data: R) -> Option<Vec<u8>> {
    let small = |size: u64| size <= LONGEST_NOTE;
    let segments = header.program_headers(endian, data).ok()?.iter();
    let sections = header.section_headers(endian, data).unwrap_or_default().iter();
    let in_segments = segments
        .filter(|segment| small(segment.p_filesz(endian).into()))
        .filter_map(|segment| segment.notes(endian, data).ok().flatten());
    let in_sections = sections
        .filter(|section| small(section.sh_size(endian).into()))
        .filter_map(|section| section.notes(endian, data).ok().flatten());
    in_segments.chain(in_sections).take(MOST_NOTES).find_map(|mut notes| {
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}
