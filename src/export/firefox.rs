//! Firefox Profiler's processed profile (<https://profiler.firefox.com>), with the symbols in it.
//!
//! One track per thread and event. A sample's weight is its period; weights are 32-bit whole numbers there, so each event
//! has a unit (see [`weight`]), which the track's name states unless it is 1. The format's crate knows neither lines nor
//! inlined functions. Samples without a time are set 1 ms apart, in the order of the recording.

mod libraries;
mod timeline;
mod weight;

use super::stacks::{StackId, Stacks};
use super::{Context, CorrectedSample, Error, Exporter, StackFrame, plain};
use crate::perfdata::AttrIx;
use fx::{CategoryColor, CategoryPairHandle, Frame, FrameFlags, FrameInfo, Profile};
use fx::{ProcessHandle, StackHandle, ThreadHandle};
use fxprof_processed_profile as fx;
use libraries::Libraries;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use timeline::{Entry, Timeline};
use weight::{Unit, Units};

/// Makes a Firefox Profiler profile of all events.
#[derive(Default)]
pub struct Firefox {
    gzip: bool,
    stacks: Stacks,
    tracks: BTreeMap<TrackId, Track>,
    units: Units,
    samples: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TrackId {
    pid: i32,
    tid: i32,
    attr: AttrIx,
}

#[derive(Default)]
struct Track {
    comm: String,
    timeline: Timeline,
}

impl Firefox {
    /// As JSON, or gzipped JSON, which the profiler opens as well.
    pub fn new(gzip: bool) -> Firefox {
        Firefox { gzip, ..Firefox::default() }
    }
}

impl Exporter for Firefox {
    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        let stack = self.stacks.intern(sample.stack);
        let id = TrackId { pid: sample.pid, tid: sample.tid, attr: sample.attr };
        let track = self.tracks.entry(id).or_default();
        // A thread is known by its latest name: the earlier ones are its parent's.
        if track.comm.is_empty() || sample.comm.is_some_and(|comm| comm != track.comm) {
            track.comm = sample.comm();
        }
        let time = sample.time.unwrap_or(self.samples * 1_000_000);
        track.timeline.push(Entry { time, stack, weight: sample.weight });
        self.units.add(sample.attr, sample.weight);
        self.samples += 1;
    }

    fn finish(mut self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let profile = self.profile(context);
        if self.gzip {
            let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            serde_json::to_writer(&mut gzip, &profile)?;
            gzip.finish()?;
        } else {
            serde_json::to_writer(out, &profile)?;
        }
        Ok(())
    }
}

impl Firefox {
    fn profile(&mut self, context: &mut Context<'_>) -> Profile {
        let zero = self.tracks.values_mut().filter_map(|track| track.timeline.sort()).min().unwrap_or(0);
        let interval = timeline::interval(self.tracks.values().map(|track| &track.timeline));
        let mut profile = empty(zero, interval, context);
        let libraries = Libraries::new(&self.stacks, context.names, &mut profile);
        let frames = Frames::new(&self.stacks, &libraries, &mut profile);
        let mut processes = Processes::new(self, context, zero);
        for (id, track) in &self.tracks {
            let thread = processes.thread(*id, track, &mut profile);
            let handles = frames.stacks(thread, &track.timeline, &mut profile);
            let unit = self.units.of(id.attr);
            track.timeline.write(thread, zero, interval, unit, &handles, &mut profile);
        }
        if let Some(heaviest) = processes.heaviest {
            profile.set_product(&heaviest.name);
            profile.add_initial_selected_thread(heaviest.thread);
        }
        profile
    }
}

/// A profile that says where times begin and that it has its symbols.
fn empty(zero: u64, interval: u64, context: &Context<'_>) -> Profile {
    let started = context.time_of_day(zero).unwrap_or_default();
    let started = fx::ReferenceTimestamp::from_duration_since_unix_epoch(started);
    let interval = fx::SamplingInterval::from_nanos(interval);
    let mut profile = Profile::new("skidconv", started, interval);
    profile.set_os_name("Linux");
    profile.set_symbolicated(true);
    profile
}

/// The tracks' processes and names.
struct Processes<'a> {
    tracks: &'a BTreeMap<TrackId, Track>,
    names: BTreeMap<AttrIx, String>,
    zero: u64,
    handles: HashMap<i32, ProcessHandle>,
    heaviest: Option<Heaviest>,
}

struct Heaviest {
    samples: usize,
    name: String,
    thread: ThreadHandle,
}

impl<'a> Processes<'a> {
    fn new(firefox: &'a Firefox, context: &Context<'_>, zero: u64) -> Processes<'a> {
        let name = |attr, unit: Unit| match unit.size() {
            1 => plain(&context.event_name(attr)),
            size => format!("{} ×{size}", plain(&context.event_name(attr))),
        };
        let names = firefox.units.iter().map(|(attr, unit)| (attr, name(attr, unit))).collect();
        Processes { tracks: &firefox.tracks, names, zero, handles: HashMap::new(), heaviest: None }
    }

    /// Adds a track. A process shows its main thread under its own name, so with several events none is the main thread.
    fn thread(&mut self, id: TrackId, track: &Track, profile: &mut Profile) -> ThreadHandle {
        let (first, last) = track.timeline.span(self.zero);
        let name = format!("{} ({})", plain(&track.comm), self.names[&id.attr]);
        let process = self.process(id.pid, profile);
        let is_main = id.pid == id.tid && self.names.len() == 1;
        let thread = profile.add_thread(process, unsigned(id.tid), first, is_main);
        profile.set_thread_name(thread, &name);
        profile.set_thread_end_time(thread, last);
        let samples = track.timeline.len();
        if self.heaviest.as_ref().is_none_or(|heaviest| samples > heaviest.samples) {
            self.heaviest = Some(Heaviest { samples, name, thread });
        }
        thread
    }

    fn process(&mut self, pid: i32, profile: &mut Profile) -> ProcessHandle {
        let of_pid = TrackId { pid, tid: i32::MIN, attr: AttrIx(0) }..=TrackId {
            pid,
            tid: i32::MAX,
            attr: AttrIx(u32::MAX),
        };
        let tracks: Vec<_> = self.tracks.range(of_pid).collect();
        let named = tracks.iter().find(|(id, _)| id.tid == pid).or(tracks.first());
        let mut name = named.map(|(_, track)| plain(&track.comm)).unwrap_or_default();
        if let (1, Some(event)) = (self.names.len(), self.names.values().next()) {
            name = format!("{name} ({event})");
        }
        let spans = || tracks.iter().map(|(_, track)| track.timeline.span(self.zero));
        let (first, last) = (spans().map(|s| s.0).min(), spans().map(|s| s.1).max());
        *self.handles.entry(pid).or_insert_with(|| {
            let start = first.unwrap_or(fx::Timestamp::from_nanos_since_reference(0));
            let process = profile.add_process(&name, unsigned(pid), start);
            profile.set_process_end_time(process, last.unwrap_or(start));
            process
        })
    }
}

/// Unknown ids are negative; there they are 0, like the idle task.
fn unsigned(id: i32) -> u32 {
    u32::try_from(id).unwrap_or(0)
}

/// Every node of the stacks as the format's frame.
struct Frames<'a> {
    stacks: &'a Stacks,
    infos: Vec<FrameInfo>,
}

impl<'a> Frames<'a> {
    fn new(stacks: &'a Stacks, libraries: &Libraries, profile: &mut Profile) -> Frames<'a> {
        let user = profile.add_category("User", CategoryColor::Yellow).into();
        let kernel = profile.add_category("Kernel", CategoryColor::Orange).into();
        let info = |frame: &StackFrame| {
            let category_pair: CategoryPairHandle = if frame.is_kernel() { kernel } else { user };
            let elsewhere = || frame.described().map_or(frame.inside(), |at| at.svma.0);
            let frame = libraries.frame(frame).unwrap_or_else(|| Frame::InstructionPointer(elsewhere()));
            FrameInfo { frame, category_pair, flags: FrameFlags::empty() }
        };
        Frames { stacks, infos: stacks.nodes().map(|(_, frame)| info(frame)).collect() }
    }

    /// The stacks of one thread's samples, in its own tables.
    fn stacks(
        &self,
        thread: ThreadHandle,
        timeline: &Timeline,
        profile: &mut Profile,
    ) -> HashMap<StackId, StackHandle> {
        let mut handles = HashMap::new();
        for leaf in timeline.stacks() {
            let new: Vec<_> =
                self.stacks.ids(Some(leaf)).take_while(|id| !handles.contains_key(id)).collect();
            for id in new.into_iter().rev() {
                let caller = self.stacks.ids(Some(id)).nth(1).map(|caller| handles[&caller]);
                let frame = profile.intern_frame(thread, self.infos[id.index()].clone());
                handles.insert(id, profile.intern_stack(thread, caller, frame));
            }
        }
        handles
    }
}

#[cfg(test)]
mod tests;
