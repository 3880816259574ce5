//! What to record, as it was asked for.

use crate::names::Wanted;
use crate::sys::Rate;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Whom to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A program with its arguments, its threads and its children.
    Command(Vec<OsString>),
    /// A process that runs, and what it starts from then on.
    Process(u32),
    /// Threads that run, and what they start from then on.
    Threads(Vec<u32>),
    /// Everything on the machine, as long as a program runs if there is one.
    System(Option<Vec<OsString>>),
}

/// How callchains are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callchains {
    /// By the kernel, along frame pointers.
    FramePointers,
    /// By readers, from so many bytes of stack.
    Dwarf(u32),
    /// By the processor's records of calls.
    BranchRecords,
}

/// A recording to make.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Groups of events; cycles and instructions if there are none.
    pub events: Vec<Vec<Wanted>>,
    /// Whom.
    pub target: Target,
    /// Only what runs in these modes, whatever events say: user, kernel, hypervisor.
    pub modes: Option<[bool; 3]>,
    /// Only these processors, if not all.
    pub processors: Option<Vec<u32>>,
    /// How often, if not as suits each event.
    pub rate: Option<Rate>,
    /// Draw each interval anew, from this seed.
    pub randomize: Option<u64>,
    /// With callchains.
    pub callchains: Option<Callchains>,
    /// With the last branches taken.
    pub branches: bool,
    /// Fail where there are no hardware counters.
    pub require_counters: bool,
    /// No longer than this.
    pub duration: Option<Duration>,
    /// Pages of each ring, a power of two.
    pub pages: usize,
    /// The file to write.
    pub output: PathBuf,
    /// The command line, to be kept in the file.
    pub words: Vec<String>,
}

/// Pages of a ring, unless asked for otherwise: 512 KiB, what anyone may have.
pub const PAGES: usize = 128;

impl Plan {
    /// A recording of `target` into `output`.
    pub fn new(target: Target, output: PathBuf) -> Plan {
        Plan {
            events: vec![],
            target,
            modes: None,
            processors: None,
            rate: None,
            randomize: None,
            callchains: None,
            branches: false,
            require_counters: false,
            duration: None,
            pages: PAGES,
            output,
            words: vec![],
        }
    }

    pub(crate) fn command(&self) -> Option<&[OsString]> {
        match &self.target {
            Target::Command(words) | Target::System(Some(words)) => Some(words),
            _ => None,
        }
    }

    pub(crate) fn is_system_wide(&self) -> bool {
        matches!(self.target, Target::System(_))
    }
}

/// Something to tell whoever asked for the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// There are no hardware counters, so that the clock is recorded.
    NoCounters,
    /// The kernel may not be recorded, for this is what `perf_event_paranoid` is.
    UserOnly(String),
    /// An event has exact addresses: its level of precision.
    Precise(String, u8),
    /// A group does not fit the counters, so that its events are recorded each for itself.
    Ungrouped(Vec<String>),
    /// Of so many intervals drawn, so many were shorter than it took to set them.
    Late(u64, u64),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::NoCounters => {
                write!(
                    f,
                    "no hardware counters here (a virtual machine?): recording cpu-clock instead of cycles"
                )
            }
            Note::UserOnly(paranoid) => {
                write!(
                    f,
                    "recording user space only: kernel.perf_event_paranoid is {paranoid}, 1 or CAP_PERFMON is needed for the kernel"
                )
            }
            Note::Precise(event, level) => {
                write!(f, "{event} is recorded with exact addresses (precise_ip {level})")
            }
            Note::Ungrouped(events) => {
                write!(
                    f,
                    "{} do not fit one group of counters: each is recorded for itself",
                    events.join(" and ")
                )
            }
            Note::Late(drawn, late) => {
                write!(
                    f,
                    "{late} of {drawn} intervals drawn were over before they could be set: take longer ones"
                )
            }
        }
    }
}
