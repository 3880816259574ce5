//! Reading a recording of calls.
//!
//! In: a file of [`Line`]s. Out: what it says, as far as it makes sense, and how many lines do not. It knows nothing of
//! statistics.

use super::lines::{Call, Context, Cost, End, Function, Header, Line, Lost, Sample, Thread, VERSION};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a line at most.
const LONGEST: u64 = 1 << 20;

/// Frames of a context at most: the recorder follows half as many. What is done for each context takes time by them.
const DEEPEST: usize = 512;

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
                if context.id as usize == contexts
                    && known(context.function, context.parent)
                    && self.frames(context.parent).take(DEEPEST).count() < DEEPEST =>
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
    fn contexts_deeper_than_any_that_is_recorded_are_left_out() {
        let function = r#"{"function":{"id":0,"name":"f","image":"/x","address":16}}"#;
        let context = |id: usize| {
            let parent = id.checked_sub(1).map_or("null".into(), |parent| parent.to_string());
            format!(r#"{{"context":{{"id":{id},"parent":{parent},"function":0,"address":20}}}}"#)
        };
        let contexts: Vec<_> = (0..DEEPEST + 5).map(context).collect();
        let recording = read(&format!("{HEADER}\n{function}\n{}\n", contexts.join("\n"))).unwrap();
        assert_eq!((recording.contexts.len(), recording.damaged), (DEEPEST, 5));
    }

    #[test]
    fn endless_lines_are_skipped() {
        let long = "x".repeat(3 * LONGEST as usize + 5);
        let recording = read(&format!("{HEADER}\n{long}\n{{\"end\":{{\"time\":9,\"exit\":0}}}}\n")).unwrap();
        assert_eq!((recording.damaged, recording.end.is_some()), (1, true));
    }
}
