//! What was mapped where, in which process, and when.
//!
//! In: the recording's mmap, comm, fork and exit records in any order. Out: for a process, a moment and an address, the
//! mapping it lies in; for a thread and a moment, its name. It opens no file.
//!
//! A later mapping hides what it overlaps. A fork sees its parent's mappings as of the fork, an exec sees nothing of what was
//! before, threads share their process's mappings. Records are collected first and replayed in order once, so that samples
//! can be resolved in the order in which the file has them.

mod company;
mod era;
mod lineage;
mod view;

pub use company::Company;
pub use era::{Era, Eras};
pub use view::View;

use std::collections::HashMap;
use std::sync::OnceLock;

use lineage::{Layer, Lineage};

use super::ImageId;
use super::identity;
use super::listing::Anchor;
use super::mapping::{Mapped, Mapping, MappingIx, Moment, Span, When};
use super::name::{ImageName, NameKind, canonical, classify, start_symbol};
use super::threads::Threads;
use crate::perfdata::{Comm, CpuMode, Mmap, Sideband, Task};

/// All address spaces of a recording, over time.
#[derive(Debug, Default)]
pub struct AddressSpaces {
    pending: Vec<(When, Event)>,
    timed: bool,
    /// Until they are sealed, all names that records state; then each file once.
    images: Vec<ImageName>,
    /// When each of them was mapped first and last.
    spans: Vec<Span>,
    image_ids: HashMap<ImageName, ImageId>,
    /// In order of their moments; `laid[i]` is when `mappings[i]` was made.
    mappings: Vec<Mapping>,
    laid: Vec<Moment>,
    spaces: Vec<Space>,
    lineage: Lineage,
    /// Of each space.
    views: Vec<View>,
    /// Once somebody asked.
    company: OnceLock<Company>,
    kernel: SpaceIx,
    anchor: Option<Anchor>,
    /// Where kernel modules begin.
    modules: HashMap<ImageId, u64>,
    processes: HashMap<i32, Vec<(Moment, SpaceIx)>>,
    threads: Threads,
    /// When something was mapped into the kernel, or into a process or it was entered: ascending.
    kernel_changes: Vec<Moment>,
    changes: HashMap<i32, Vec<Moment>>,
}

/// An index into [`AddressSpaces::spaces`].
type SpaceIx = usize;

#[derive(Debug, Default)]
struct Space {
    /// Numbers of its mappings, ascending.
    own: Vec<u32>,
    /// Whose mappings show through where this space has none, and how many had been laid at the fork.
    parent: Option<(SpaceIx, u32)>,
}

#[derive(Clone, Debug)]
enum Event {
    Map { pid: Option<i32>, mapping: Mapping },
    Comm(Comm),
    Fork(Task),
    Exit(Task),
}

impl AddressSpaces {
    /// No process yet.
    pub fn new() -> AddressSpaces {
        AddressSpaces::default()
    }

    /// Takes note of a record. It has effect with [`seal`](Self::seal).
    pub fn record(&mut self, ordinal: u64, sideband: &Sideband) {
        let (time, event) = match sideband {
            Sideband::Mmap(mmap) => match self.mapped(mmap) {
                Some(event) => (mmap.time, event),
                None => return,
            },
            Sideband::Comm(comm) => (comm.time, Event::Comm(comm.clone())),
            Sideband::Fork(task) => (task.time, Event::Fork(task.clone())),
            Sideband::Exit(task) => (task.time, Event::Exit(task.clone())),
            _ => return,
        };
        // Forks and exits have a time even in recordings whose other records have none: that tells nothing.
        self.timed |= time.is_some() && matches!(event, Event::Map { .. } | Event::Comm(_));
        self.pending.push((When { time, ordinal }, event));
    }

    fn mapped(&mut self, mmap: &Mmap) -> Option<Event> {
        let end = mmap.start.saturating_add(mmap.len);
        let pid = match mmap.mode {
            CpuMode::Kernel => None,
            CpuMode::User | CpuMode::Unknown if mmap.pid >= 0 => Some(mmap.pid),
            _ => return None,
        };
        if let (None, Some(symbol)) = (pid, start_symbol(&mmap.filename)) {
            let symbol = String::from_utf8_lossy(symbol).into_owned();
            self.anchor = Some(Anchor { symbol, address: mmap.pgoff });
        }
        let path = canonical(&mmap.filename).to_vec();
        let kind = classify(&path, mmap.mode);
        let private = matches!(kind, NameKind::Anonymous | NameKind::Memfd | NameKind::JitMap);
        let on_disk = matches!(kind, NameKind::File | NameKind::Deleted);
        let build_id = mmap.build_id.clone().filter(|id| id.iter().any(|&byte| byte != 0));
        let (inode, pid_of) = (mmap.inode.filter(|_| on_disk), pid.filter(|_| private));
        let name = ImageName { path, kind, build_id, inode, pid: pid_of };
        let image = self.intern(name);
        if kind == NameKind::KernelModule {
            self.modules.insert(image, mmap.start);
        }
        let executable = mmap.executable;
        let mapping = Mapping { start: mmap.start, end, file_offset: mmap.pgoff, image, executable };
        Some(Event::Map { pid, mapping })
    }

    fn intern(&mut self, name: ImageName) -> ImageId {
        *self.image_ids.entry(name).or_insert_with_key(|name| {
            self.images.push(name.clone());
            ImageId(self.images.len() as u32 - 1)
        })
    }

    /// Replays what was recorded. Call it once, after the last [`record`](Self::record).
    pub fn seal(&mut self) {
        let mut events = std::mem::take(&mut self.pending);
        events.sort_by_key(|(when, _)| self.moment(*when));
        self.kernel = self.new_space(None);
        for (when, event) in events {
            self.replay(self.moment(when), event);
        }
        self.identify();
        self.lineage = Lineage::new(&self.spaces, &self.mappings);
        self.views = view::views(&self.spaces, &self.mappings);
        self.note_changes();
    }

    /// Makes one image of all names that stand for one file.
    fn identify(&mut self) {
        let laid = self.mappings.iter().zip(&self.laid).map(|(mapping, &at)| (mapping.image, [at, at]));
        let of_names = spans(laid, self.images.len());
        let (files, ids) = identity::files(&self.images, &of_names);
        self.spans = spans(ids.iter().copied().zip(of_names), files.len());
        let id = |image: ImageId| ids[image.0 as usize];
        self.mappings.iter_mut().for_each(|mapping| mapping.image = id(mapping.image));
        self.modules = self.modules.drain().map(|(image, at)| (id(image), at)).collect();
        self.images = files;
    }

    fn note_changes(&mut self) {
        let laid = |space: SpaceIx| self.spaces[space].own.iter().map(|&ix| self.laid[ix as usize]);
        self.kernel_changes = laid(self.kernel).collect();
        let of = |spaces: &Vec<(Moment, SpaceIx)>| {
            let mut moments: Vec<Moment> =
                spaces.iter().flat_map(|&(at, space)| std::iter::once(at).chain(laid(space))).collect();
            moments.sort_unstable();
            moments
        };
        self.changes = self.processes.iter().map(|(&pid, spaces)| (pid, of(spaces))).collect();
    }

    fn moment(&self, at: When) -> Moment {
        (if self.timed { at.time.unwrap_or(0) } else { 0 }, at.ordinal)
    }

    fn replay(&mut self, at: Moment, event: Event) {
        match event {
            Event::Map { pid, mapping } => {
                let space = pid.map_or(self.kernel, |pid| self.current(pid));
                self.spaces[space].own.push(self.mappings.len() as u32);
                self.mappings.push(mapping);
                self.laid.push(at);
            }
            Event::Comm(comm) => {
                self.threads.comm(at, &comm);
                if comm.exec {
                    self.enter(at, comm.pid, None);
                }
            }
            Event::Fork(task) => {
                self.threads.fork(at, &task);
                if task.pid != task.ppid {
                    let parent = if task.made_up { None } else { self.as_of_now(task.ppid) };
                    self.enter(at, task.pid, parent);
                }
            }
            Event::Exit(task) => self.threads.exit(at, &task),
        }
    }

    /// What a fork of `pid` inherits. A space without mappings of its own passes on what it inherited.
    fn as_of_now(&self, pid: i32) -> Option<(SpaceIx, u32)> {
        let space = self.processes.get(&pid)?.last()?.1;
        match self.spaces[space].own.is_empty() {
            true => self.spaces[space].parent,
            false => Some((space, self.mappings.len() as u32)),
        }
    }

    fn enter(&mut self, at: Moment, pid: i32, parent: Option<(SpaceIx, u32)>) {
        let space = self.new_space(parent);
        self.processes.entry(pid).or_default().push((at, space));
    }

    fn new_space(&mut self, parent: Option<(SpaceIx, u32)>) -> SpaceIx {
        self.spaces.push(Space { parent, ..Space::default() });
        self.spaces.len() - 1
    }

    /// The space of `pid` now, during the replay.
    fn current(&mut self, pid: i32) -> SpaceIx {
        if let Some(&(_, space)) = self.processes.get(&pid).and_then(|spaces| spaces.last()) {
            return space;
        }
        self.enter((0, 0), pid, None);
        self.spaces.len() - 1
    }

    /// The mapping that `address` lies in. Kernel addresses are the same in all processes; guests' are not known.
    pub fn resolve(&self, mode: CpuMode, pid: i32, at: When, address: u64) -> Option<Mapped> {
        let find = |at: Moment| match mode {
            CpuMode::Kernel => self.lookup(self.kernel, at, address),
            CpuMode::User => self.lookup(self.space_of(pid, at)?, at, address),
            CpuMode::Unknown => self
                .space_of(pid, at)
                .and_then(|space| self.lookup(space, at, address))
                .or_else(|| self.lookup(self.kernel, at, address)),
            CpuMode::Hypervisor | CpuMode::GuestKernel | CpuMode::GuestUser => None,
        };
        // Without times the order is that of the buffers of several processors, and a mapping may come after its samples.
        let later = || (!self.timed).then_some((0, u64::MAX)).and_then(find);
        find(self.moment(at)).or_else(later)
    }

    fn space_of(&self, pid: i32, at: Moment) -> Option<SpaceIx> {
        let spaces = self.processes.get(&pid)?;
        let entered = spaces.partition_point(|&(from, _)| from <= at);
        // A sample before anything is known of its process belongs to what is known first.
        spaces.get(entered.saturating_sub(1)).map(|&(_, space)| space)
    }

    /// How many mappings had been laid by a moment.
    fn laid_by(&self, at: Moment) -> u32 {
        self.laid.partition_point(|&laid| laid <= at) as u32
    }

    fn lookup(&self, space: SpaceIx, at: Moment, address: u64) -> Option<Mapped> {
        let covering = |layer: &Layer, before: u32| layer.covering(address, before);
        let ix = self.lineage.find(space, self.laid_by(at), covering)?;
        Some(Mapped { ix: MappingIx(ix), mapping: self.mappings[ix as usize], address })
    }

    /// Where the process shows `file_offset` of `image`, if it does.
    pub fn address_of(
        &self,
        mode: CpuMode,
        pid: i32,
        at: When,
        image: ImageId,
        file_offset: u64,
    ) -> Option<u64> {
        let find = |at: Moment| self.shown(mode, pid, at, image, file_offset);
        // As for [`Self::resolve`].
        let later = || (!self.timed).then_some((0, u64::MAX)).and_then(find);
        find(self.moment(at)).or_else(later)
    }

    fn shown(
        &self,
        mode: CpuMode,
        pid: i32,
        moment: Moment,
        image: ImageId,
        file_offset: u64,
    ) -> Option<u64> {
        let space = if mode == CpuMode::Kernel { self.kernel } else { self.space_of(pid, moment)? };
        self.lineage.find(space, self.laid_by(moment), |layer, mut before| {
            while let Some(ix) = layer.having(image, file_offset, before) {
                let mapping = self.mappings[ix as usize];
                let address = mapping.start.wrapping_add(file_offset.wrapping_sub(mapping.file_offset));
                if self.lookup(space, moment, address).is_some_and(|found| found.ix.0 == ix) {
                    return Some(address);
                }
                // hidden: an earlier one may be elsewhere
                before = ix;
            }
            None
        })
    }

    /// Which images were in one process together. Ask when the spaces are sealed.
    pub fn company(&self) -> &Company {
        self.company.get_or_init(|| Company::new(self))
    }

    /// What was mapped, in the order of [`ImageId`].
    pub fn images(&self) -> &[ImageName] {
        &self.images
    }

    /// When each was mapped first and last.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Where kernel modules begin.
    pub(super) fn modules(&self) -> &HashMap<ImageId, u64> {
        &self.modules
    }

    /// Where the kernel was, if the recording tells.
    pub(super) fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    /// One mapping.
    pub fn mapping(&self, ix: MappingIx) -> Option<&Mapping> {
        self.mappings.get(ix.0 as usize)
    }

    /// The name of a thread, as of a moment.
    pub fn comm(&self, pid: i32, tid: i32, at: When) -> Option<&str> {
        self.threads.name(pid, tid, self.moment(at))
    }

    /// When the process was forked, in nanoseconds of the recording's clock; `None` if it was there before.
    pub fn process_start(&self, pid: i32, at: When) -> Option<u64> {
        self.threads.born(pid, self.moment(at)).filter(|_| self.timed)
    }

    /// When the process ended, if the recording saw it.
    pub fn process_end(&self, pid: i32, at: When) -> Option<u64> {
        self.threads.died(pid, self.moment(at)).filter(|_| self.timed)
    }
}

/// The first and the last moment of each of `n` images.
fn spans(mapped: impl Iterator<Item = (ImageId, Span)>, n: usize) -> Vec<Span> {
    let mut spans = vec![[(u64::MAX, u64::MAX), (0, 0)]; n];
    for (image, [from, to]) in mapped {
        let [first, last] = &mut spans[image.0 as usize];
        (*first, *last) = (from.min(*first), to.max(*last));
    }
    spans
}

#[cfg(test)]
mod tests;
