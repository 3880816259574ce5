//! One recording, by functions.
//!
//! In: a recording. Out, per event: samples of each function and of each place, and what one run alone says. Its samples in
//! order are held only meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::StatOptions;
use super::branches::{Calls, Stacks};
use super::functions::Functions;
use super::table::Known;
use crate::code::decode;
use crate::export::{ImageNames, plain};
use crate::image::{Svma, Wholesym};
use crate::options::Options;
use crate::perfdata::{AttrIx, PerfFile};
use crate::pipeline::Error;
use crate::pipeline::decoding::bitness;
use crate::pipeline::input::{Binaries, Input};
use crate::pipeline::survey::Survey;
use crate::progress::Progress;
use crate::stat::{self, Losses, Profile, Series, Single};

/// A function: its binary's file name, and its own.
pub type Name = (String, String);

/// Stands for all functions that are not told apart.
pub const OTHER: &str = "other";
/// Functions whose instructions are looked at for attraction: those with so many samples.
const CODE: u64 = 200;
/// Longer functions are not decoded.
const LONGEST: u64 = 1 << 16;

/// A recording, read.
#[derive(Clone, Debug)]
pub struct Run {
    /// The recording.
    pub path: PathBuf,
    /// Its events that have samples.
    pub events: Vec<EventRun>,
    /// What was tolerated.
    pub warnings: Vec<String>,
}

/// One event of a recording.
#[derive(Clone, Debug)]
pub struct EventRun {
    /// Its name.
    pub event: String,
    /// Events between samples, if that is fixed.
    pub period: Option<u64>,
    /// Samples.
    pub total: u64,
    /// Samples of every function.
    pub counts: BTreeMap<Name, u64>,
    /// Samples of every place that is in a function.
    pub places: BTreeMap<(Name, u64), u32>,
    /// How often functions were called, where that is known.
    pub calls: BTreeMap<Name, f64>,
    /// Calls that branch stacks saw.
    pub calls_seen: u64,
    /// Functions told apart, hottest first, all others last.
    pub names: Vec<Name>,
    /// What the run alone says of them.
    pub single: Single,
    /// Samples kept in order less than all, if so.
    pub left_out: u64,
}

impl EventRun {
    /// What is to be said where not all samples were kept in order.
    fn unexamined(&self) -> Option<String> {
        let kept = self.total.saturating_sub(self.left_out);
        (self.left_out > 0).then(|| {
            format!(
                "{}: order and drift are those of the first {kept} samples of {}; counts are of all",
                self.event, self.total
            )
        })
    }
}

/// Reads the recording of `reading`, whose binaries are among `binaries`.
pub fn collect(
    reading: &Options,
    binaries: &Binaries,
    options: &StatOptions,
    known: &Known,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let input = Input::open(reading)?;
    let survey = input.survey(binaries, progress, |_, _| {})?;
    let (file, wanted) = (&input.file, &input.wanted);
    let mut symbolizer = Wholesym::new()?;
    let mut names = ImageNames::new(&survey.images, &mut symbolizer);
    let functions = Functions::of(&survey, &mut names);
    let mut stacks = Stacks::new(file, &survey, &functions);
    let mut series =
        series(file, &survey, &functions, &mut stacks).map_err(|source| input.unreadable(source))?;
    let calls = stacks.finish();
    let collect = Collect { file, survey: &survey, functions: &functions, calls: &calls, options, known };
    let events: Vec<EventRun> = (0..wanted.len())
        .filter(|&ix| wanted[ix] && survey.events[ix].samples > 0)
        .map(|ix| collect.event(AttrIx(ix as u32), std::mem::take(&mut series[ix])))
        .collect();
    let mut warnings: Vec<String> = survey.tolerated().map(String::from).collect();
    warnings.extend(events.iter().filter_map(EventRun::unexamined));
    Ok(Run { path: reading.input.clone(), events, warnings })
}

/// The samples of each event in order; the function after the last stands for what is nowhere.
fn series(
    file: &PerfFile,
    survey: &Survey,
    functions: &Functions,
    stacks: &mut Stacks<'_>,
) -> Result<Vec<Series>, crate::perfdata::Error> {
    let mut series = vec![Series::default(); file.attrs().len()];
    let nowhere = functions.names.len() as u32;
    let mut reads = crate::perfdata::Reads::default();
    let mut records = file.records()?;
    while let Some(record) = records.next()? {
        let Some(sample) = file.sample(&record).ok().flatten() else { continue };
        let place = survey.place(&record, &sample);
        let function = place.and_then(|at| functions.at(at)).unwrap_or(nowhere);
        stacks.take(&record, &sample);
        reads.split(file, &sample, |attr, period| {
            if let Some(series) = series.get_mut(attr.0 as usize) {
                series.push(stat::Sample {
                    function,
                    time: sample.time.unwrap_or(0),
                    cpu: sample.cpu.unwrap_or(0),
                    thread: sample.tid,
                    period,
                });
            }
        });
    }
    series.iter_mut().for_each(Series::sort);
    Ok(series)
}

struct Collect<'a> {
    file: &'a PerfFile,
    survey: &'a Survey,
    functions: &'a Functions,
    calls: &'a Calls,
    options: &'a StatOptions,
    known: &'a Known,
}

impl Collect<'_> {
    fn event(&self, attr: AttrIx, series: Series) -> EventRun {
        let of = &self.file.attrs()[attr.0 as usize];
        let event = &self.survey.events[attr.0 as usize];
        let mut by_number = vec![0; self.functions.names.len() + 1];
        let mut places = BTreeMap::new();
        for cell in self.survey.cells.iter().filter(|cell| cell.attr == attr) {
            let Some(number) = self.functions.at(cell.at) else { continue };
            by_number[number as usize] += cell.samples;
            let name = self.functions.names[number as usize].clone();
            *places.entry((name, cell.at.svma.0)).or_default() += cell.samples as u32;
        }
        let placed: u64 = by_number.iter().sum();
        by_number[self.functions.names.len()] += event.samples.saturating_sub(placed);
        let name = |number: usize| {
            let nowhere = || (String::new(), "[unknown]".to_owned());
            self.functions.names.get(number).cloned().unwrap_or_else(nowhere)
        };
        let mut counts = BTreeMap::new();
        for (number, n) in by_number.iter().enumerate().filter(|(_, n)| **n > 0) {
            *counts.entry(name(number)).or_default() += *n;
        }
        let (names, of_number) = self.told_apart(&by_number, &name);
        let calls = self.calls(&by_number, &name);
        let left_out = series.left_out;
        let profile = self.profile(attr, (&names, &calls), &of_number, &by_number, series);
        let single = stat::single(&profile, &self.options.asked);
        let period = (!of.freq && of.sample_period > 0).then_some(of.sample_period);
        EventRun {
            event: plain(&of.name),
            period,
            total: event.samples,
            counts,
            places,
            calls,
            calls_seen: self.calls.seen,
            names,
            single,
            left_out,
        }
    }

    /// How often functions with samples were called: as a table says, else as branch stacks do.
    fn calls(&self, by_number: &[u64], name: &dyn Fn(usize) -> Name) -> BTreeMap<Name, f64> {
        let of = |number: usize| {
            let name = name(number);
            let calls = self.known.calls.get(&name.1).copied().or_else(|| self.calls.of(number as u32))?;
            Some((name, calls))
        };
        (0..by_number.len()).filter(|&number| by_number[number] > 0).filter_map(of).collect()
    }

    /// The functions with the most samples and those that a table names; for each number its index among them.
    fn told_apart(&self, by_number: &[u64], name: &dyn Fn(usize) -> Name) -> (Vec<Name>, Vec<u32>) {
        let mut order: Vec<usize> = (0..by_number.len()).filter(|&n| by_number[n] > 0).collect();
        order.sort_by_key(|&n| (std::cmp::Reverse(by_number[n]), name(n)));
        let kept =
            |(rank, n): &(usize, &usize)| *rank < self.options.functions || self.known.names(&name(**n).1);
        let kept: Vec<usize> = order.iter().enumerate().filter(kept).map(|(_, n)| *n).collect();
        let mut names: Vec<Name> = kept.iter().map(|&n| name(n)).collect();
        let mut of_number = vec![names.len() as u32; by_number.len()];
        (0..).zip(&kept).for_each(|(ix, &n)| of_number[n] = ix);
        if kept.len() < order.len() {
            names.push((String::new(), OTHER.into()));
        }
        (names, of_number)
    }

    fn profile(
        &self,
        attr: AttrIx,
        (names, calls): (&[Name], &BTreeMap<Name, f64>),
        of_number: &[u32],
        by_number: &[u64],
        mut series: Series,
    ) -> Profile {
        series.renumber(|function| of_number[function as usize]);
        let mut counts = vec![0; names.len()];
        for (number, n) in by_number.iter().enumerate().filter(|(_, n)| **n > 0) {
            counts[of_number[number] as usize] += n;
        }
        let calls = |name: &Name| calls.get(name).map(|calls| calls.round() as u64);
        let mut sites = vec![Vec::new(); names.len()];
        if self.options.runs.len() + self.options.against.len() == 1 {
            for (number, _) in by_number.iter().enumerate().filter(|(_, n)| **n >= CODE) {
                sites[of_number[number] as usize] = self.sites(attr, number as u32).unwrap_or_default();
            }
        }
        let losses = Losses { lost: self.survey.losses.lost(), throttled: self.survey.losses.throttled };
        let frequency = self.file.attrs()[attr.0 as usize].freq;
        Profile { counts, calls: names.iter().map(calls).collect(), sites, series, losses, frequency }
    }

    /// The addresses of a function's instructions and the samples on them.
    fn sites(&self, attr: AttrIx, number: u32) -> Option<Vec<(u64, u64)>> {
        let start = *self.functions.starts.get(&number)?;
        let image = self.survey.images.get(start.image);
        let function = image.function_at(start.svma)?;
        let end = function.end.0.min(function.start.0.saturating_add(LONGEST));
        let (bytes, bits) = (image.code(function.start..Svma(end))?, bitness(image)?);
        let mut samples: HashMap<u64, u64> = HashMap::new();
        for cell in self.survey.cells.iter().filter(|c| c.attr == attr && c.at.image == start.image) {
            *samples.entry(cell.at.svma.0).or_default() += cell.samples;
        }
        let (mut sites, mut at) = (Vec::new(), 0);
        while let Some(inst) =
            bytes.get(at..).and_then(|rest| decode(bits, function.start.0 + at as u64, rest))
        {
            let address = function.start.0 + at as u64;
            sites.push((address, samples.get(&address).copied().unwrap_or(0)));
            at += usize::from(inst.len);
        }
        Some(sites)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_were_not_kept_in_order_are_told() {
        let of = |left_out| EventRun {
            event: "cycles".into(),
            period: None,
            total: 3_000_000,
            counts: BTreeMap::new(),
            places: BTreeMap::new(),
            calls: BTreeMap::new(),
            calls_seen: 0,
            names: Vec::new(),
            single: stat::single(&Profile::default(), &stat::Asked::default()),
            left_out,
        };
        assert_eq!(of(0).unexamined(), None);
        let told = of(1_951_424).unexamined().unwrap();
        assert!(told.contains("first 1048576 samples of 3000000"), "{told}");
    }
}
