//! Firefox Profiler's processed profile (<https://profiler.firefox.com>), with symbols, lines and inlined functions in it.
//!
//! One track per thread and event; a sample's weight is its period. Samples without a time are set 1 ms apart, in the order
//! of the recording. Of the difference that correction made, every track of which something moved is there as recorded, as
//! corrected, and as the change: each sample that moved is taken away where it was recorded, by a negative weight, and added
//! where it belongs. Sums over callers cancel in a change, so that the profiler's inverted call tree shows it, and its flame
//! graph nothing; before and after have flame graphs.

mod format;
mod libraries;
mod marks;
mod tables;
mod timeline;

use super::stacks::{StackId, Stacks};
use super::{Context, CorrectedSample, Error, Exporter, plain};
use crate::perfdata::AttrIx;
use format::{Category, Markers, Meta, Profile, SampleUnits, Thread};
use libraries::Libraries;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufWriter, Write};
use tables::Tables;
use timeline::{Entry, Timeline, milliseconds};

/// Bytes that are compressed at a time.
const PIECE: usize = 64 << 10;

/// Tracks that are shown from the start; the others are a click away.
const VISIBLE: usize = 30;

/// Makes a Firefox Profiler profile of all events.
#[derive(Default)]
pub struct Firefox {
    gzip: bool,
    difference: bool,
    stacks: Stacks,
    tracks: BTreeMap<TrackId, Track>,
    samples: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TrackId {
    pid: i32,
    tid: i32,
    attr: AttrIx,
    side: Side,
}

/// What a track shows of its samples.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Side {
    /// Where they belong, in a profile that is not about the difference.
    Only,
    Before,
    After,
    Change,
}

impl Side {
    /// Ahead of the track's name, of which the profiler shows some twenty letters.
    fn name(self) -> &'static str {
        match self {
            Side::Only => "",
            Side::Before => "before: ",
            Side::After => "after: ",
            Side::Change => "change: ",
        }
    }
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

    /// Of what correction changed.
    pub fn difference(gzip: bool) -> Firefox {
        Firefox { gzip, difference: true, ..Firefox::default() }
    }
}

impl Exporter for Firefox {
    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        let time = sample.time.unwrap_or(self.samples * 1_000_000);
        self.samples += 1;
        let weight = i64::try_from(sample.weight).unwrap_or(i64::MAX);
        let stack = self.stacks.of(sample);
        let after = Entry { time, stack, weight };
        if !self.difference {
            return self.track(sample, Side::Only).push(after);
        }
        let stack = self.stacks.intern(sample.recorded);
        let before = Entry { time, stack, weight };
        self.track(sample, Side::Before).push(before);
        self.track(sample, Side::After).push(after);
        if sample.moved {
            let change = self.track(sample, Side::Change);
            change.push(Entry { weight: -weight, ..before });
            change.push(after);
        }
    }

    fn finish(mut self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let profile = self.profile(context);
        if self.gzip {
            // what comes in single numbers compresses slowly
            let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let mut pieces = BufWriter::with_capacity(PIECE, &mut gzip);
            serde_json::to_writer(&mut pieces, &profile)?;
            pieces.flush()?;
            drop(pieces);
            gzip.finish()?;
        } else {
            serde_json::to_writer(out, &profile)?;
        }
        Ok(())
    }
}

impl Firefox {
    fn track(&mut self, sample: &CorrectedSample<'_>, side: Side) -> &mut Timeline {
        let id = TrackId { pid: sample.pid, tid: sample.tid, attr: sample.attr, side };
        let track = self.tracks.entry(id).or_default();
        // A thread is known by its latest name: the earlier ones are its parent's.
        if track.comm.is_empty() || sample.comm.is_some_and(|comm| comm != track.comm) {
            track.comm = sample.comm();
        }
        &mut track.timeline
    }

    /// Leaves out what did not change, of a difference.
    fn drop_unchanged(&mut self) {
        let changed: HashSet<_> = self.tracks.keys().filter(|id| id.side == Side::Change).copied().collect();
        let keep = |id: &TrackId| changed.contains(&TrackId { side: Side::Change, ..*id });
        self.tracks.retain(|id, _| id.side == Side::Only || keep(id));
    }

    fn profile(&mut self, context: &mut Context<'_>) -> Profile {
        self.drop_unchanged();
        let zero = self.tracks.values_mut().filter_map(|track| track.timeline.sort()).min().unwrap_or(0);
        let interval = timeline::interval(self.tracks.values().map(|track| &track.timeline));
        let libraries = Libraries::new(&self.stacks, context.names);
        let mut tables = Tables::default();
        let ends = tables.add(&self.stacks, &libraries, context.names);
        let events: BTreeMap<AttrIx, String> =
            self.tracks.keys().map(|id| (id.attr, plain(&context.event_name(id.attr)))).collect();
        let marked = self.heaviest_of_each();
        let mut threads: Vec<Thread> = Vec::new();
        for (ix, (id, track)) in self.tracks.iter().enumerate() {
            let (first, last) = track.timeline.span(zero);
            let markers = match marked.get(&id.attr) == Some(&ix) {
                true => marks::markers(context.regions, &events[&id.attr], (first, last), &mut tables),
                false => Markers::default(),
            };
            let samples = track.timeline.samples(zero, interval, &ends);
            threads.push(Thread { samples, markers, ..self.thread(*id, track, &events, zero) });
        }
        let meta = self.meta(zero, interval, &threads, context);
        Profile { meta, libs: libraries.list, shared: tables.finish(), threads }
    }

    /// Per event, the track with most samples.
    fn heaviest_of_each(&self) -> HashMap<AttrIx, usize> {
        let mut heaviest = HashMap::<AttrIx, (usize, usize)>::new();
        for (ix, (id, track)) in self.tracks.iter().enumerate() {
            let most = heaviest.entry(id.attr).or_insert((0, ix));
            if track.timeline.len() > most.0 {
                *most = (track.timeline.len(), ix);
            }
        }
        heaviest.into_iter().map(|(attr, (_, ix))| (attr, ix)).collect()
    }

    /// A track without its samples. A process shows its main thread under its own name, so with several events none is the
    /// main thread.
    fn thread(&self, id: TrackId, track: &Track, events: &BTreeMap<AttrIx, String>, zero: u64) -> Thread {
        let of_pid = TrackId { pid: id.pid, tid: i32::MIN, attr: AttrIx(0), side: Side::Only }..=TrackId {
            pid: id.pid,
            tid: i32::MAX,
            attr: AttrIx(u32::MAX),
            side: Side::Change,
        };
        let tracks = || self.tracks.range(of_pid.clone());
        let named = tracks().find(|(other, _)| other.tid == id.pid).or_else(|| tracks().next());
        let mut process_name = named.map(|(_, track)| plain(&track.comm)).unwrap_or_default();
        if let (1, Some(event)) = (events.len(), events.values().next()) {
            process_name = format!("{process_name} ({event})");
        }
        let spans = || tracks().map(|(_, track)| track.timeline.span(zero));
        let (first, last) = track.timeline.span(zero);
        Thread {
            process_type: "default",
            process_startup_time: spans().map(|s| s.0).fold(first, f64::min),
            process_shutdown_time: Some(spans().map(|s| s.1).fold(last, f64::max)),
            register_time: first,
            unregister_time: Some(last),
            paused_ranges: [],
            show_markers_in_timeline: true,
            name: format!("{}{} ({})", id.side.name(), plain(&track.comm), events[&id.attr]),
            is_main_thread: id.pid == id.tid && events.len() == 1 && id.side == Side::Only,
            process_name,
            pid: id.pid.max(0).to_string(),
            tid: id.tid.max(0).to_string(),
            samples: format::Samples::default(),
            markers: Markers::default(),
        }
    }

    fn meta(&self, zero: u64, interval: u64, threads: &[Thread], context: &Context<'_>) -> Meta {
        let category = |name, color| Category { name, color, subcategories: ["Other"] };
        let mut heaviest: Vec<usize> = (0..threads.len()).collect();
        heaviest.sort_by_key(|&ix| std::cmp::Reverse(threads[ix].samples.length));
        let sides: Vec<Side> = self.tracks.keys().map(|id| id.side).collect();
        let first = heaviest.iter().copied().find(|&ix| matches!(sides[ix], Side::Only | Side::Change));
        heaviest.truncate(VISIBLE);
        heaviest.sort_unstable();
        Meta {
            interval: milliseconds(interval),
            start_time: context.time_of_day(zero).map_or(0.0, |time| time.as_secs_f64() * 1e3),
            process_type: 0,
            // in the order of the constants in `tables`; the grey one is the default
            categories: vec![
                category("Other", "grey"),
                category("User", "yellow"),
                category("Kernel", "orange"),
                category("Library", "blue"),
            ],
            product: first.map_or_else(|| "skidconv".into(), |ix| threads[ix].name.clone()),
            stackwalk: 1,
            debug: false,
            version: 31,
            preprocessed_profile_version: format::VERSION,
            oscpu: "Linux".into(),
            symbolicated: true,
            symbolication_not_supported: true,
            marker_schema: vec![marks::schema()],
            sample_units: SampleUnits { time: "ms", event_delay: "ms", thread_cpu_delta: "µs" },
            imported_from: concat!("perf.data by skidconv ", env!("CARGO_PKG_VERSION")).into(),
            uses_only_one_stack_type: true,
            source_code_is_not_on_searchfox: true,
            initial_visible_threads: heaviest,
            initial_selected_threads: first.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
