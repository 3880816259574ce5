//! Recording calls: between the recorder, which knows threads, and the library, which knows code.

use crate::command::{code, not_started, tell};
use skidconv::image::FileMap;
use skidconv::variance::code::Code;
use skidconv::variance::lines::{self, Cost, End, Header, Line, Lost, Metric, Sample, Thread, VERSION};
use skidconv_recorder::output::{beside, is_stdout, stdout};
use skidconv_recorder::running::{self, Map};
use skidconv_recorder::set_aside::SetAside;
use skidconv_recorder::sys::{Clock, now, trace::Change};
use skidconv_recorder::variance::{
    self, Call, Candidate, Observer, Options, Outcome, Sampler, Stop, Stops, counters,
};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// What to record.
#[derive(Debug)]
pub struct Wanted {
    /// Whom.
    pub whom: Whom,
    /// No longer than this.
    pub duration: Option<Duration>,
    /// The file to write.
    pub output: PathBuf,
    /// Calls a second and thread.
    pub rate: f64,
    /// Of the random times.
    pub seed: u64,
}

/// Whom to record.
#[derive(Debug)]
pub enum Whom {
    /// A command with its arguments.
    Command(Vec<OsString>),
    /// A process that runs.
    Process(u32),
}

/// What a recorder that is killed loses at most.
const UNWRITTEN: Duration = Duration::from_millis(500);

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Recorder(#[from] variance::Error),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("no time")]
    Time(#[from] io::Error),
}

/// Records; the exit code is that of the command.
pub fn record(wanted: &Wanted) -> anyhow::Result<ExitCode> {
    match sample(wanted) {
        Ok((end, told)) => {
            tell(&told);
            Ok(ExitCode::from(match wanted.whom {
                Whom::Command(_) => end.map_or(1, exit),
                Whom::Process(_) => 0,
            }))
        }
        Err(Error::Recorder(variance::Error::Start { program, source })) => {
            let code = not_started(source.kind());
            let error = variance::Error::Start { program, source };
            tell(&format!("{:#}", anyhow::Error::from(error)));
            Ok(code)
        }
        Err(error) => Err(error.into()),
    }
}

fn sample(wanted: &Wanted) -> Result<(Option<Change>, String), Error> {
    let metrics: Vec<Metric> = counters::metrics().iter().map(metric).collect();
    let cost = variance::Cost::measure(wanted.seed)?;
    let stops = |ix: usize| cost.0.get(ix).copied().unwrap_or_default();
    let before = told(&metrics, stops);
    let header = Header {
        version: VERSION,
        writer: format!("skidconv {}", env!("CARGO_PKG_VERSION")),
        command: wanted.whom.words(),
        cost: before.cost.clone(),
        cost_sd: before.cost_sd.clone(),
        metrics: metrics.clone(),
        rate: wanted.rate,
        seed: wanted.seed,
        start: time()?,
    };
    let slowdown = stops(1).mean as u64;
    let mut calls = Calls::new(&wanted.output, Line::Header(header));
    let options = Options { rate: wanted.rate, seed: wanted.seed, duration: wanted.duration };
    let sampler = Sampler::new(options, slowdown, &mut calls);
    let done = match &wanted.whom {
        Whom::Process(pid) => sampler.attach(*pid),
        Whom::Command(words) => match words.split_first() {
            Some((name, arguments)) => {
                let mut command = Command::new(name);
                beside(&wanted.output, &mut command)?;
                sampler.run(command.args(arguments))
            }
            None => Err(io::Error::from(io::ErrorKind::InvalidInput).into()),
        },
    };
    let measured = |outcome: &Outcome| {
        let of = |ix: usize| outcome.stops.and_then(|of| of.get(ix).copied()).unwrap_or_else(|| stops(ix));
        outcome.stops.map(|_| told(&metrics, of))
    };
    let outcome = done.and_then(|outcome| calls.finish(outcome.end, measured(&outcome)).map(|()| outcome));
    let outcome = outcome.inspect_err(|_| calls.remove())?;
    let mut text = format!("{} calls: {}", calls.number, wanted.output.display());
    if outcome.unwatched > 0 {
        text += &format!("; {} threads were not watched: raise ulimit -n", outcome.unwatched);
    }
    if outcome.crowded > 0 {
        text += &format!("; {} threads were not watched: their debug registers are taken", outcome.crowded);
    }
    Ok((outcome.end, text))
}

impl Whom {
    /// The command line.
    fn words(&self) -> Vec<String> {
        match self {
            Whom::Command(words) => words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            Whom::Process(pid) => {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let words = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0);
                words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
            }
        }
    }
}

/// Writes what the recorder sees.
struct Calls {
    path: PathBuf,
    header: Line,
    /// There is none before the program runs.
    output: Option<BufWriter<File>>,
    /// An earlier recording of the same name.
    old: Option<SetAside>,
    flushed: Instant,
    code: Code,
    /// Functions and contexts of calls, by the number that the recorder has.
    begun: Vec<(u32, Option<u32>)>,
    number: u64,
}

impl Calls {
    fn new(path: &Path, header: Line) -> Calls {
        Calls {
            path: path.to_owned(),
            header,
            output: None,
            old: None,
            flushed: Instant::now(),
            code: Code::new(mappings),
            begun: Vec::new(),
            number: 0,
        }
    }

    fn create(&mut self) -> io::Result<()> {
        self.old = Some(SetAside::at(&self.path)?);
        let file = match is_stdout(&self.path) {
            true => stdout()?,
            false => File::create(&self.path)?,
        };
        let mut output = BufWriter::with_capacity(1 << 16, file);
        write(&mut output, &self.header)?;
        self.output = Some(output);
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<(), Error> {
        let done = match &mut self.output {
            Some(output) => write(output, line),
            None => {
                self.create().and_then(|()| self.output.as_mut().map_or(Ok(()), |output| write(output, line)))
            }
        };
        done.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    fn new_lines(&mut self) -> Result<(), Error> {
        self.code.new_lines().iter().try_for_each(|line| self.line(line))
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.flushed = Instant::now();
        let done = self.output.as_mut().map_or(Ok(()), Write::flush);
        done.map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    fn finish(&mut self, end: Option<Change>, cost: Option<Cost>) -> Result<(), Error> {
        cost.map_or(Ok(()), |cost| self.line(&Line::Cost(cost)))?;
        self.line(&Line::End(End { time: time()?, exit: end.map(|end| exit(end).into()) }))?;
        self.flush()?;
        self.old.iter_mut().for_each(SetAside::keep);
        Ok(())
    }

    fn remove(&mut self) {
        if self.output.take().is_some() && self.path.is_file() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn mappings(pid: u32) -> Vec<FileMap> {
    let mapping = |Map { range, offset, name, .. }| FileMap { range, offset, path: name };
    running::maps(pid).into_iter().map(mapping).collect()
}

fn write(to: &mut impl Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")
}

impl Observer for Calls {
    type Error = Error;

    fn thread(&mut self, pid: u32, tid: u32) -> Result<(), Error> {
        let name = String::from_utf8_lossy(&running::name(pid, tid)).into_owned();
        self.line(&Line::Thread(Thread { tid, pid, name }))
    }

    fn exec(&mut self, pid: u32) -> Result<(), Error> {
        self.code.forget(pid);
        Ok(())
    }

    fn running(&mut self, stop: &Stop<'_>) -> Result<Vec<Candidate>, Error> {
        let (context, entries) = self.code.sample(stop.pid, stop.registers, stop.stack);
        self.new_lines()?;
        self.line(&Line::Sample(Sample { tid: stop.tid, time: stop.time, context }))?;
        if self.flushed.elapsed() > UNWRITTEN {
            self.flush()?;
        }
        Ok(entries.iter().map(|entry| Candidate { entry: entry.start, end: entry.end }).collect())
    }

    fn called(&mut self, stop: &Stop<'_>) -> Result<u32, Error> {
        let begun = self.code.call(stop.pid, stop.registers, stop.stack);
        self.new_lines()?;
        let Some(begun) = begun else { return Ok(u32::MAX) };
        self.begun.push(begun);
        Ok(self.begun.len() as u32 - 1)
    }

    fn returned(&mut self, call: &Call) -> Result<(), Error> {
        let Some(&(function, context)) = self.begun.get(call.context as usize) else { return Ok(()) };
        self.number += 1;
        self.line(&Line::Call(lines::Call {
            tid: call.tid,
            function,
            context,
            start: call.start,
            end: call.end,
            slot: call.slot,
            weight: call.weight,
            stops: call.stops,
            values: call.values.clone(),
        }))
    }

    fn lost(&mut self, tid: u32, context: u32) -> Result<(), Error> {
        let Some(&(function, context)) = self.begun.get(context as usize) else { return Ok(()) };
        self.line(&Line::Lost(Lost { tid, function, context }))
    }
}

/// Times have a mean; what is counted in whole events has a usual value.
fn told(metrics: &[Metric], stops: impl Fn(usize) -> Stops) -> Cost {
    let is_time = |ix: usize| metrics[ix].unit == "ns";
    let cost = |ix| if is_time(ix) { stops(ix).mean } else { stops(ix).usual };
    Cost {
        cost: (0..metrics.len()).map(cost).collect(),
        cost_sd: (0..metrics.len()).map(|ix| stops(ix).sd).collect(),
    }
}

fn metric(metric: &counters::Metric) -> Metric {
    Metric { name: metric.name.into(), unit: metric.unit.into() }
}

fn time() -> io::Result<u64> {
    now(Clock::Monotonic)
}

fn exit(end: Change) -> u8 {
    match end {
        Change::Exited(status) => code(Some(status), None),
        Change::Killed(signal) => code(None, Some(signal)),
        Change::Signal(_) | Change::Event(..) => code(None, None),
    }
}
