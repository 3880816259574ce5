//! A binary of a recording, opened when it is first asked for.
//!
//! In: what the recording says of it and the folders to search. Out: its code, functions, stubs and unwind rows, each read
//! once; or why they are not there.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::Svma;
use super::builds::Build;
use super::chain::{RETURN, Rules};
use super::elf::{Class, Elf};
use super::functions::{FunctionRange, Functions, labels};
use super::locate::{Missing, SearchPath};
use super::name::{ImageName, NameKind};
use super::plt::{Plt, PltTarget};
use super::pointers::{Pointers, Standing};
use super::symtab::{Binding, Table, symbols};
use super::unwind::{RowId, Unwind};
use super::vdso;

/// Whether an image's code can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// Yes, from this file.
    Found {
        /// The file that was opened.
        file: PathBuf,
        /// Whether its build-id is the recorded one. Where the recording knows none, the path had to do.
        verified: bool,
    },
    /// No; the reason says what to do.
    Missing(Missing),
    /// No: the kernel's code is patched as it runs, and samples in it stay where they are.
    Kernel,
    /// No: a kernel module, as for the kernel.
    KernelModule,
    /// No: the kernel's code in user space, and neither perf's cache nor the running kernel has that build.
    Vdso,
    /// No: memory without a file.
    Anonymous,
    /// No: code made at run time; the map that the program may have written has names only.
    Jit {
        /// `/tmp/perf-PID.map`.
        map: PathBuf,
    },
}

/// A binary, or what stands for one.
#[derive(Debug)]
pub struct Image {
    name: ImageName,
    /// As recorded.
    pub path: String,
    build: Build,
    search: Arc<SearchPath>,
    opened: OnceLock<(ImageState, Option<Elf>)>,
    debug: OnceLock<Option<Elf>>,
    functions: OnceLock<Functions>,
    plt: OnceLock<Plt>,
    pointers: OnceLock<Pointers>,
    unwind: OnceLock<Option<Unwind>>,
    exported: OnceLock<HashMap<String, Svma>>,
    labels: OnceLock<Vec<FunctionRange>>,
}

impl Image {
    pub(super) fn new(name: ImageName, build: Build, search: Arc<SearchPath>) -> Image {
        Image {
            path: String::from_utf8_lossy(&name.path).into_owned(),
            name,
            build,
            search,
            opened: OnceLock::new(),
            debug: OnceLock::new(),
            functions: OnceLock::new(),
            plt: OnceLock::new(),
            pointers: OnceLock::new(),
            unwind: OnceLock::new(),
            exported: OnceLock::new(),
            labels: OnceLock::new(),
        }
    }

    /// As recorded.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build.id()
    }

    /// What the recorded name stands for.
    pub fn kind(&self) -> NameKind {
        self.name.kind
    }

    /// Whether the code can be had.
    pub fn state(&self) -> &ImageState {
        &self.open().0
    }

    /// The file, if it was found.
    pub fn elf(&self) -> Option<&Elf> {
        self.open().1.as_ref()
    }

    /// Whether the file is known to have been changed after the recording had ended.
    pub fn is_later(&self) -> bool {
        self.elf().is_some_and(|elf| self.search.is_later(elf))
    }

    fn open(&self) -> &(ImageState, Option<Elf>) {
        self.opened.get_or_init(|| match self.name.kind {
            NameKind::Kernel => (ImageState::Kernel, None),
            NameKind::KernelModule => (ImageState::KernelModule, None),
            NameKind::Anonymous | NameKind::Memfd | NameKind::JitMap => (self.run_time_code(), None),
            NameKind::Vdso | NameKind::File | NameKind::Deleted => self.open_file(),
        })
    }

    fn open_file(&self) -> (ImageState, Option<Elf>) {
        if let Build::Other(why) = &self.build {
            return (ImageState::Missing(why.clone()), None);
        }
        match self.search.locate(&self.name, self.build_id()) {
            Ok(elf) => {
                let (file, verified) = (elf.path().to_owned(), self.build_id().is_some());
                (ImageState::Found { file, verified }, Some(elf))
            }
            Err(_) if self.name.kind == NameKind::Vdso => match self.build_id().and_then(vdso::running) {
                Some(elf) => (ImageState::Found { file: elf.path().to_owned(), verified: true }, Some(elf)),
                None => (ImageState::Vdso, None),
            },
            Err(why) => (ImageState::Missing(why), None),
        }
    }

    /// The file of a kernel module, which tells its symbols only: the kernel patches its code.
    pub(super) fn module(&self) -> Option<Elf> {
        self.search.locate(&self.name, self.build_id()).ok()
    }

    fn run_time_code(&self) -> ImageState {
        let stack_or_heap = self.name.path.starts_with(b"[") && self.name.path != b"[anon]";
        match self.name.pid {
            Some(pid) if !stack_or_heap => ImageState::Jit { map: format!("/tmp/perf-{pid}.map").into() },
            _ => ImageState::Anonymous,
        }
    }

    /// The separate file with this image's symbols, if the image has none itself and there is one.
    pub fn debug(&self) -> Option<&Elf> {
        let find = || {
            let elf = self.elf()?;
            let stripped = elf.section(".symtab").is_none();
            stripped.then(|| self.search.debug_file(elf))?
        };
        self.debug.get_or_init(find).as_ref()
    }

    /// How wide addresses are; `None` without the file or for machines other than x86.
    pub fn class(&self) -> Option<Class> {
        self.elf()?.class()
    }

    /// The bytes of a range of code, cut where its segment ends.
    pub fn code(&self, range: Range<Svma>) -> Option<Vec<u8>> {
        self.elf()?.code(range)
    }

    /// `len` bytes of code or data as they are in the file, before relocation.
    pub fn read_data(&self, at: Svma, len: usize) -> Option<Vec<u8>> {
        self.elf()?.read(at, len as u64)
    }

    /// Where its functions begin and end; nothing without the file.
    pub fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| match self.elf() {
            Some(elf) => Functions::new(elf, self.debug(), self.plt(), self.unwind()),
            None => Functions::default(),
        })
    }

    /// The innermost function that covers an address.
    pub fn function_at(&self, at: Svma) -> Option<&FunctionRange> {
        self.functions().at(at)
    }

    /// The function that begins at `at`.
    pub fn function_from(&self, at: Svma) -> Option<&FunctionRange> {
        self.function_at(at).filter(|function| function.start == at)
    }

    /// The code around an address that no function covers; `None` where one does.
    pub fn gap_at(&self, at: Svma) -> Option<std::ops::Range<Svma>> {
        self.functions().gap(at)
    }

    fn plt(&self) -> &Plt {
        self.plt.get_or_init(|| self.elf().map(Plt::new).unwrap_or_default())
    }

    /// Where the stub at an address leads.
    pub fn plt_target(&self, at: Svma) -> Option<&PltTarget> {
        self.plt().target(at)
    }

    /// Where its stubs begin.
    pub fn stubs(&self) -> impl Iterator<Item = Svma> {
        self.plt().stubs().map(|(range, _)| range.start)
    }

    /// Where what jumps through the slot of the global offset table at an address leads.
    pub fn slot_target(&self, at: Svma) -> Option<&PltTarget> {
        self.plt().slot(at)
    }

    fn pointers(&self, elf: &Elf) -> &Pointers {
        self.pointers.get_or_init(|| Pointers::new(elf, self.debug().unwrap_or(elf)))
    }

    /// The word of its data at an address, as it is when the program starts.
    pub fn word(&self, at: Svma) -> Option<u64> {
        let elf = self.elf()?;
        self.pointers(elf).word(elf, at)
    }

    /// The word of its data at an address, where the program does not change it, nor the loader but by what the file says.
    pub fn constant(&self, at: Svma) -> Option<u64> {
        let unchanged = self.elf()?.is_constant(at) && self.slot_target(at).is_none();
        unchanged.then(|| self.word(at))?
    }

    /// Where each of the addresses `wanted` stands when the program starts.
    pub fn pointers_to(&self, wanted: &BTreeSet<u64>) -> Standing {
        self.elf().map(|elf| self.pointers(elf).to(elf, wanted)).unwrap_or_default()
    }

    /// How many bytes behind where pointers to it lead an address is in a named object of its data, and how many there are.
    pub fn within_object(&self, at: Svma) -> Option<(i64, i64)> {
        self.pointers(self.elf()?).within(at.0)
    }

    fn unwind(&self) -> Option<&Unwind> {
        self.unwind.get_or_init(|| Unwind::new(self.elf()?)).as_ref()
    }

    /// Which unwind rules hold at an address: equal ids of one image mean equal rules.
    pub fn unwind_row(&self, at: Svma) -> Option<RowId> {
        self.unwind()?.row(at)
    }

    /// How to get from an address to its caller.
    pub fn rules(&self, at: Svma) -> Rules {
        let table = self.unwind().and_then(|unwind| unwind.caller(at, RETURN));
        table.map_or(Rules::FramePointer, Rules::Table)
    }

    /// What stands behind the nearest label before an address that no function covers.
    pub fn label_at(&self, at: Svma) -> Option<&FunctionRange> {
        let find = || self.elf().map(|elf| labels(elf, self.debug(), self.functions()));
        let labels = self.labels.get_or_init(|| find().unwrap_or_default());
        let before = labels.partition_point(|label| label.start <= at);
        labels.get(before.checked_sub(1)?).filter(|label| at < label.end)
    }

    /// The function that other files reach by a name.
    pub fn exported(&self, name: &str) -> Option<Svma> {
        let collect = || {
            let symbols = self.elf().map(|elf| symbols(elf, Table::Dynsym)).unwrap_or_default();
            let functions =
                symbols.into_iter().filter(|symbol| symbol.function && symbol.binding != Binding::Local);
            functions.map(|symbol| (symbol.name, Svma(symbol.value))).collect()
        };
        self.exported.get_or_init(collect).get(name).copied()
    }

    /// Whether addresses stand for themselves, because there is no file that they could be offsets of.
    pub(super) fn is_memory(&self) -> bool {
        use NameKind::{Anonymous, JitMap, Kernel, KernelModule, Memfd};
        matches!(self.name.kind, Kernel | KernelModule | Anonymous | Memfd | JitMap)
    }
}
