//! The file of a recording of calls, and reading it.
//!
//! One JSON object a line, each with one key that says what it is ([`Line`]): first the header, then what happened in its
//! order. Functions and contexts come before what refers to them. Ids count from 0. A recording whose writer was killed ends
//! anywhere; all lines that are whole can be used.
//!
//! ```text
//! {"skidconv-variance":{"version":1,"metrics":[{"name":"wall","unit":"ns"},…],"cost":[…],…}}
//! {"thread":{"tid":70,"pid":70,"name":"model"}}
//! {"function":{"id":0,"name":"search","image":"/opt/model","address":4432}}
//! {"context":{"id":0,"parent":null,"function":1,"image":"/opt/model","address":4511}}
//! {"sample":{"tid":70,"time":91200,"context":0}}
//! {"call":{"tid":70,"function":0,"context":0,"start":100,"end":900,"slot":140722,"weight":21.5,"stops":0,"values":[800,…]}}
//! {"lost":{"tid":70,"function":0,"context":0}}
//! {"cost":{"cost":[…],"cost_sd":[…]}}
//! {"end":{"time":5000,"exit":0}}
//! ```

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// Bytes of a line at most.
const LONGEST: u64 = 1 << 20;

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// As perf calls it; the first is `wall`.
    pub name: String,
    /// `ns`, or nothing for events.
    pub unit: String,
}

/// What was recorded, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    #[serde(default)]
    pub writer: String,
    /// The command and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
    /// What is counted.
    pub metrics: Vec<Metric>,
    /// What a sampled call of an empty function counts on average, by metric; every stop during a call adds as much.
    pub cost: Vec<f64>,
    /// The standard deviation of it.
    pub cost_sd: Vec<f64>,
    /// Calls a second and thread that were wanted.
    #[serde(default)]
    pub rate: f64,
    /// Of the random times.
    #[serde(default)]
    pub seed: u64,
    /// When it began: nanoseconds of the clock of all times.
    pub start: u64,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Counts from 0.
    pub id: u32,
    /// Demangled.
    pub name: String,
    /// The path of its binary.
    pub image: String,
    /// Where it begins in the binary.
    pub address: u64,
}

/// A frame of a calling context: a place in a function, and the frame that called it. Contexts with equal callers share them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Counts from 0.
    pub id: u32,
    /// The caller; smaller than `id`.
    pub parent: Option<u32>,
    /// The function.
    pub function: u32,
    /// The place in its binary that the call returns to; of a [`Sample`]'s innermost frame, the function's first.
    pub address: u64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// As it called itself when it was first seen.
    pub name: String,
}

/// What ran at a random time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The thread.
    pub tid: u32,
    /// When, ns.
    pub time: u64,
    /// Where.
    pub context: Option<u32>,
}

/// A call that was measured from its first instruction to its return.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The thread.
    pub tid: u32,
    /// The function.
    pub function: u32,
    /// Its caller, where that is known.
    pub context: Option<u32>,
    /// When it began, ns.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    /// Where its return address lay.
    pub slot: u64,
    /// How many calls it stands for.
    pub weight: f64,
    /// How often the recorder stopped the thread during the call.
    pub stops: u32,
    /// What was counted, with what the recorder cost; by metric.
    pub values: Vec<Option<u64>>,
}

/// A call that was sampled and did not return before the thread ended, or ended by `longjmp` or an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The thread.
    pub tid: u32,
    /// The function.
    pub function: u32,
    /// Its caller.
    pub context: Option<u32>,
}

/// What stops cost while the program ran, in place of what the header has from before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// As [`Header::cost`].
    pub cost: Vec<f64>,
    /// As [`Header::cost_sd`].
    pub cost_sd: Vec<f64>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When, ns.
    pub time: u64,
    /// The exit code; 128 and the signal's number if one ended it; `None` of a process that goes on.
    pub exit: Option<i32>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Line {
    #[serde(rename = "skidconv-variance")]
    Header(Header),
    Thread(Thread),
    Function(Function),
    Context(Context),
    Sample(Sample),
    Call(Call),
    Lost(Lost),
    Cost(Cost),
    End(End),
}

/// A recording of calls.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Recording {
    pub header: Header,
    pub functions: Vec<Function>,
    pub contexts: Vec<Context>,
    pub threads: Vec<Thread>,
    pub samples: Vec<Sample>,
    pub calls: Vec<Call>,
    pub lost: Vec<Lost>,
    /// `None` if the recorder was killed.
    pub end: Option<End>,
    /// Lines that cannot be used.
    pub damaged: u64,
}

/// Why a recording is not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be opened or read.
    #[error("cannot read recording of calls: {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else.
    #[error("not a recording of calls: {}: make one with skidconv record --variance", .0.display())]
    Foreign(PathBuf),
    /// It is of another version.
    #[error("recording of calls has version {found}, this program reads {VERSION}: {}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

impl Recording {
    /// Reads a file. Lines that are damaged, or refer to what is not there, are counted and left out.
    pub fn open(path: &Path) -> Result<Recording, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        Recording::read(BufReader::new(file), path)
    }

    /// Reads a stream that goes by the name of `path`.
    pub fn read(mut from: impl BufRead, path: &Path) -> Result<Recording, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let mut line = Vec::new();
        let mut recording = Recording::default();
        next(&mut from, &mut line).map_err(failed)?;
        // the version before all else: what comes with it may have changed
        let first: serde_json::Value = serde_json::from_slice(&line).unwrap_or_default();
        let header = &first["skidconv-variance"];
        let version = header["version"].as_u64().and_then(|version| u32::try_from(version).ok());
        recording.header = match (version, serde_json::from_slice(&line)) {
            (Some(VERSION), Ok(Line::Header(header))) if header.is_sound() => header,
            (Some(found), _) if found != VERSION => {
                return Err(Error::Version { path: path.to_owned(), found });
            }
            _ => return Err(Error::Foreign(path.to_owned())),
        };
        while next(&mut from, &mut line).map_err(failed)? {
            let taken = serde_json::from_slice(&line).is_ok_and(|line| recording.take(line));
            recording.damaged += u64::from(!taken);
        }
        Ok(recording)
    }

    /// Whether the line makes sense after those before.
    fn take(&mut self, line: Line) -> bool {
        let (functions, contexts) = (self.functions.len(), self.contexts.len());
        let known = |function: u32, context: Option<u32>| {
            (function as usize) < functions && context.is_none_or(|context| (context as usize) < contexts)
        };
        match line {
            Line::Function(function) if function.id as usize == functions => self.functions.push(function),
            Line::Context(context)
                if context.id as usize == contexts && known(context.function, context.parent) =>
            {
                self.contexts.push(context);
            }
            Line::Thread(thread) => self.threads.push(thread),
            Line::Sample(sample) if sample.context.is_none_or(|c| (c as usize) < contexts) => {
                self.samples.push(sample);
            }
            Line::Call(call)
                if known(call.function, call.context)
                    && call.values.len() == self.header.metrics.len()
                    && call.weight.is_finite()
                    && call.weight > 0.0 =>
            {
                self.calls.push(call);
            }
            Line::Lost(lost) if known(lost.function, lost.context) => self.lost.push(lost),
            Line::Cost(Cost { cost, cost_sd }) => {
                let header = Header { cost, cost_sd, ..self.header.clone() };
                if !header.is_sound() {
                    return false;
                }
                self.header = header;
            }
            Line::End(end) => self.end = Some(end),
            _ => return false,
        }
        true
    }

    /// What a call counted without what the recorder cost, ≥ 0; `None` where nothing was counted.
    pub fn value(&self, call: &Call, metric: usize) -> Option<f64> {
        let raw = (*call.values.get(metric)?)? as f64;
        let cost = self.header.cost[metric] * (1.0 + f64::from(call.stops));
        Some((raw - cost).max(0.0))
    }

    /// The frames of a context, innermost first.
    pub fn frames(&self, context: Option<u32>) -> impl Iterator<Item = &Context> {
        let get = |id: u32| self.contexts.get(id as usize);
        // a parent's id is smaller, so that this ends
        std::iter::successors(context.and_then(get), move |frame| frame.parent.and_then(get))
    }

    /// How often each function was called, estimated from the calls that were sampled. Functions that were not sampled are
    /// not among them; those that are called every few microseconds are counted badly, see the recorder's `plan`.
    pub fn call_counts(&self) -> impl Iterator<Item = (&Function, f64)> {
        let mut counts = vec![0.0; self.functions.len()];
        self.calls.iter().for_each(|call| counts[call.function as usize] += call.weight);
        self.functions.iter().zip(counts).filter(|(_, count)| *count > 0.0)
    }
}

impl Header {
    fn is_sound(&self) -> bool {
        let metrics = self.metrics.len();
        let finite = |values: &[f64]| values.len() == metrics && values.iter().all(|value| value.is_finite());
        (1..=64).contains(&metrics) && finite(&self.cost) && finite(&self.cost_sd)
    }
}

/// The next line into `line`, of which no more is kept than a line may have. Whether there was one.
fn next(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = from.take(LONGEST).read_until(b'\n', line)?;
    if read as u64 == LONGEST && line.last() != Some(&b'\n') {
        // skip the rest, piece by piece
        let mut rest = Vec::new();
        while from.take(LONGEST).read_until(b'\n', &mut rest)? as u64 == LONGEST && !rest.ends_with(b"\n") {
            rest.clear();
        }
        line.clear();
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"skidconv-variance":{"version":1,"metrics":[{"name":"wall","unit":"ns"},{"name":"task-clock","unit":"ns"}],"cost":[10.0,20.0],"cost_sd":[1.0,1.0],"start":5}}"#;

    fn read(text: &str) -> Result<Recording, Error> {
        Recording::read(text.as_bytes(), Path::new("f"))
    }

    #[test]
    fn lines_make_a_recording() {
        let text = format!(
            "{HEADER}\n{}\n{}\n{}\n{}\n",
            r#"{"function":{"id":0,"name":"search","image":"/x","address":16}}"#,
            r#"{"context":{"id":0,"parent":null,"function":0,"address":20}}"#,
            r#"{"call":{"tid":1,"function":0,"context":0,"start":1,"end":2,"slot":8,"weight":3.0,"stops":1,"values":[100,30]}}"#,
            r#"{"end":{"time":9,"exit":0}}"#
        );
        let recording = read(&text).unwrap();
        assert_eq!((recording.calls.len(), recording.damaged, recording.end.is_some()), (1, 0, true));
        let call = &recording.calls[0];
        assert_eq!([0, 1, 2].map(|m| recording.value(call, m)), [Some(80.0), Some(0.0), None]);
        assert_eq!(recording.frames(call.context).count(), 1);
        let counts: Vec<_> = recording.call_counts().map(|(f, n)| (f.name.as_str(), n)).collect();
        assert_eq!(counts, [("search", 3.0)]);
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        for text in ["", "PERFILE2", "{}", "[1]\n", r#"{"skidconv-variance":{"version":1}}"#] {
            assert!(matches!(read(text), Err(Error::Foreign(_))), "{text}");
        }
        let other = HEADER.replace("\"version\":1", "\"version\":2");
        assert!(matches!(read(&other), Err(Error::Version { found: 2, .. })));
        let short = HEADER.replace("[10.0,20.0]", "[10.0]");
        assert!(matches!(read(&short), Err(Error::Foreign(_))));
    }

    #[test]
    fn damaged_lines_are_left_out_and_counted() {
        let bad = [
            "",
            "{",
            r#"{"function":{"id":4294967295,"name":"","image":"","address":0}}"#,
            r#"{"context":{"id":0,"parent":0,"function":0,"address":20}}"#,
            r#"{"call":{"tid":1,"function":0,"context":null,"start":1,"end":2,"slot":8,"weight":1,"stops":0,"values":[1,1]}}"#,
            r#"{"lost":{"tid":1,"function":0,"context":7}}"#,
            r#"{"sample":{"tid":1,"time":0,"context":1}}"#,
            HEADER,
        ];
        let recording = read(&format!("{HEADER}\n{}\n{{\"en", bad.join("\n"))).unwrap();
        assert_eq!(recording.damaged, bad.len() as u64 + 1);
        assert!(recording.functions.is_empty() && recording.contexts.is_empty() && recording.end.is_none());
    }

    #[test]
    fn endless_lines_are_skipped() {
        let long = "x".repeat(3 * LONGEST as usize + 5);
        let recording = read(&format!("{HEADER}\n{long}\n{{\"end\":{{\"time\":9,\"exit\":0}}}}\n")).unwrap();
        assert_eq!((recording.damaged, recording.end.is_some()), (1, true));
    }
}
