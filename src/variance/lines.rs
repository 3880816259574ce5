//! The lines of a recording of calls.
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

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
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

impl Header {
    /// Whether all that is by metric is there for each, and there are not absurdly many.
    pub(super) fn is_sound(&self) -> bool {
        let metrics = self.metrics.len();
        let finite = |values: &[f64]| values.len() == metrics && values.iter().all(|value| value.is_finite());
        (1..=64).contains(&metrics) && finite(&self.cost) && finite(&self.cost_sd)
    }
}
