//! pprof's gzipped profile.proto.
//!
//! Each event has two values, its samples and its periods, so that `pprof -sample_index=cycles` chooses. Samples of all
//! processes are merged by place: a location's address is the binary's own address, shifted by whole pages only where two
//! binaries claim the same (see [`mappings`]). Labels are `pid`, `tid`, `comm` and `cpu`, and of the leaf instruction the 90 %
//! interval of each event's weight, `EVENT low` and `EVENT high`, with `EVENT verdict`; order is that of first appearance
//! in the recording.

mod mappings;
pub mod proto;
mod tables;

use super::stacks::{StackId, Stacks};
use super::{Context, CorrectedSample, Error, Exporter, basename, plain};
use crate::image::{ImageId, Location};
use crate::perfdata::AttrIx;
use crate::report::brief;
use flate2::{Compression, write::GzEncoder};
use hashbrown::{DefaultHashBuilder, HashMap};
use mappings::Mappings;
use prost::Message;
use proto::{Label, Profile, ValueType};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use tables::{Locations, Strings};

/// Makes a pprof profile of all events.
#[derive(Default)]
pub struct Pprof {
    stacks: Stacks,
    index: HashMap<Key, usize, DefaultHashBuilder>,
    /// Names of threads, by number.
    comms: Vec<String>,
    comm_ids: HashMap<String, usize, DefaultHashBuilder>,
    samples: Vec<(Key, BTreeMap<AttrIx, Count>)>,
    events: BTreeSet<AttrIx>,
    times: Option<(u64, u64)>,
}

/// What is summed up in one pprof sample.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    stack: Option<StackId>,
    pid: i32,
    tid: i32,
    cpu: Option<u32>,
    /// Which of the names.
    comm: usize,
}

#[derive(Clone, Copy, Default)]
struct Count {
    samples: u64,
    weight: u64,
}

impl Exporter for Pprof {
    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        let stack = self.stacks.of(sample);
        let comm = self.comm(sample);
        let key = Key { stack, pid: sample.pid, tid: sample.tid, cpu: sample.cpu, comm };
        let samples = &mut self.samples;
        let at = *self.index.entry(key).or_insert_with_key(|key| {
            samples.push((*key, BTreeMap::new()));
            samples.len() - 1
        });
        let count = self.samples[at].1.entry(sample.attr).or_default();
        count.samples += 1;
        count.weight = count.weight.saturating_add(sample.weight);
        self.events.insert(sample.attr);
        if let Some(time) = sample.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let bytes = self.profile(context).encode_to_vec();
        let mut gzip = GzEncoder::new(out, Compression::default());
        gzip.write_all(&bytes)?;
        gzip.finish()?;
        Ok(())
    }
}

impl Pprof {
    fn comm(&mut self, sample: &CorrectedSample<'_>) -> usize {
        if let Some(&known) = sample.comm.and_then(|comm| self.comm_ids.get(comm)) {
            return known;
        }
        let Pprof { comms, comm_ids, .. } = self;
        *comm_ids.entry(sample.comm()).or_insert_with_key(|comm| {
            comms.push(comm.clone());
            comms.len() - 1
        })
    }

    fn profile(&self, context: &mut Context<'_>) -> Profile {
        let mut strings = Strings::default();
        let mappings = Mappings::place(&self.stacks, self.main_image(context), context.names);
        let mut locations = Locations::new(&mappings);
        let nodes = self.stacks.nodes().map(|(_, frame)| frame);
        let ids: Vec<u64> = nodes.map(|f| locations.id(f, context.names, &mut strings)).collect();
        let sample = self.samples.iter().map(|(key, counts)| {
            let walk = self.stacks.ids(key.stack);
            let mut label = labels(key, &self.comms[key.comm], &mut strings);
            let leaf = self.stacks.frames(key.stack).next().and_then(|frame| frame.location);
            if let Some(at) = leaf {
                counts.keys().for_each(|event| label.extend(interval(*event, at, context, &mut strings)));
            }
            proto::Sample {
                location_id: walk.map(|node| ids[node.index()]).collect(),
                value: self.values(counts),
                label,
            }
        });
        let mut profile = Profile { sample: sample.collect(), ..Profile::default() };
        self.describe(&mut profile, context, &mut strings);
        (profile.mapping, profile.location, profile.function) = locations.finish(context.names, &mut strings);
        profile.string_table = strings.into_table();
        profile
    }

    fn describe(&self, profile: &mut Profile, context: &Context<'_>, strings: &mut Strings) {
        for event in &self.events {
            let name = context.event_name(*event);
            let samples = if self.events.len() == 1 { "samples".into() } else { format!("{name}_samples") };
            profile.sample_type.push(value_type(&samples, "count", strings));
            profile.sample_type.push(value_type(&name, unit(&name), strings));
        }
        if let Some(event) = self.events.first() {
            profile.default_sample_type = profile.sample_type[1].r#type;
            profile.period_type = Some(profile.sample_type[1]);
            let attr = context.attrs.get(event.0 as usize).filter(|attr| !attr.freq);
            profile.period = attr.map_or_else(|| self.mean_period(*event), |attr| signed(attr.sample_period));
        }
        let started = self.times.and_then(|(first, _)| context.time_of_day(first));
        profile.time_nanos = started.map_or(0, |t| i64::try_from(t.as_nanos()).unwrap_or(0));
        profile.duration_nanos = self.times.map_or(0, |(first, last)| signed(last - first));
        profile.comment = comments(context).iter().map(|comment| strings.id(comment)).collect();
    }

    /// Events per sample, where a frequency was asked for.
    fn mean_period(&self, event: AttrIx) -> i64 {
        let counts = self.samples.iter().filter_map(|(_, counts)| counts.get(&event));
        let (samples, weight) =
            counts.fold((0u64, 0u64), |sum, c| (sum.0 + c.samples, sum.1.saturating_add(c.weight)));
        signed(weight / samples.max(1))
    }

    /// One samples and one weight per event that has samples.
    fn values(&self, counts: &BTreeMap<AttrIx, Count>) -> Vec<i64> {
        let count = |event| counts.get(event).copied().unwrap_or_default();
        self.events.iter().map(count).flat_map(|c| [signed(c.samples), signed(c.weight)]).collect()
    }

    /// pprof takes its first mapping for the program: the binary that is most often on the stacks of threads named after
    /// it, or else the one most often on any.
    fn main_image(&self, context: &Context<'_>) -> Option<ImageId> {
        let mut seen = BTreeMap::<ImageId, (u64, u64)>::new();
        for (key, counts) in &self.samples {
            let samples: u64 = counts.values().map(|count| count.samples).sum();
            let frames = self.stacks.frames(key.stack).filter(|frame| !frame.is_kernel());
            let images: BTreeSet<_> = frames.filter_map(|frame| Some(frame.location?.image)).collect();
            for image in images {
                let (named, any) = seen.entry(image).or_default();
                let path = context.names.path(image);
                *any += samples;
                *named += samples * u64::from(is_named_after(&self.comms[key.comm], basename(&path)));
            }
        }
        seen.into_iter()
            .max_by_key(|(image, score)| (*score, std::cmp::Reverse(*image)))
            .map(|(image, _)| image)
    }
}

/// Whether the kernel, which keeps 15 bytes, would name a thread so.
fn is_named_after(comm: &str, file: &str) -> bool {
    comm.as_bytes() == &file.as_bytes()[..file.len().min(15)]
}

fn labels(key: &Key, comm: &str, strings: &mut Strings) -> Vec<Label> {
    let mut number = |name, num| Label { key: strings.id(name), num, ..Label::default() };
    let mut labels = vec![number("pid", key.pid.into()), number("tid", key.tid.into())];
    labels.extend(key.cpu.map(|cpu| number("cpu", cpu.into())));
    labels.push(Label { key: strings.id("comm"), str: strings.id(&plain(comm)), ..Label::default() });
    labels
}

/// Labels with the 90 % interval of the leaf's weight, over all stacks, and what stands behind it. A sample has one leaf, so
/// they split none.
fn interval(event: AttrIx, leaf: Location, context: &Context<'_>, strings: &mut Strings) -> Vec<Label> {
    let Some((low, high, verdict)) = context.intervals.get(&(event, leaf)) else { return Vec::new() };
    let name = plain(&context.event_name(event));
    let mut number = |end: &str, value: f64| Label {
        key: strings.id(&format!("{name} {end}")),
        num: value.round() as i64,
        num_unit: strings.id(unit(&name)),
        ..Label::default()
    };
    let (low, high) = (number("low", *low), number("high", *high));
    let verdict = Label {
        key: strings.id(&format!("{name} verdict")),
        str: strings.id(brief(*verdict)),
        ..Label::default()
    };
    vec![low, high, verdict]
}

fn value_type(name: &str, unit: &str, strings: &mut Strings) -> ValueType {
    ValueType { r#type: strings.id(name), unit: strings.id(unit) }
}

/// What an event's period counts.
fn unit(event: &str) -> &'static str {
    match event.split(':').next() {
        Some("cpu-clock" | "task-clock") => "nanoseconds",
        _ => "count",
    }
}

fn comments(context: &Context<'_>) -> Vec<String> {
    let mut comments = vec![concat!("skidconv ", env!("CARGO_PKG_VERSION")).to_owned()];
    comments.extend(context.features.version.iter().map(|version| format!("perf-version:{version}")));
    if !context.features.cmdline.is_empty() {
        comments.push(format!("perf-command:{}", context.features.cmdline.join(" ")));
    }
    comments
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
