//! What can go wrong, in the words that a person reads.

use std::io;
use std::path::PathBuf;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is no event.
    #[error("there is no event {0}")]
    NoEvent(String),
    /// Something of an event's name.
    #[error("{event}: {what}")]
    BadEvent {
        /// The event.
        event: String,
        /// What is wrong with it.
        what: String,
    },
    /// A virtual machine, mostly.
    #[error(
        "{event} needs a hardware counter, and this machine has none (virtual machines often do not): record cpu-clock"
    )]
    NoCounters {
        /// The event.
        event: String,
    },
    /// Not allowed.
    #[error(
        "no permission to record {event}: kernel.perf_event_paranoid is {paranoid}; as root, set it to {needed} with sysctl or give this program the capability CAP_PERFMON with setcap"
    )]
    Permission {
        /// The event.
        event: String,
        /// What the setting is.
        paranoid: String,
        /// What would do.
        needed: i32,
    },
    /// The kernel says no.
    #[error("cannot open {event}: {cause}{hint}")]
    Open {
        /// The event.
        event: String,
        /// Why.
        cause: io::Error,
        /// What may help, with punctuation before it.
        hint: String,
    },
    /// Memory for records.
    #[error("cannot get memory for records: {cause}; kernel.perf_event_mlock_kb or ulimit -l is too small")]
    Ring {
        /// Why.
        cause: io::Error,
    },
    /// The command.
    #[error("cannot run {program}: {cause}")]
    Program {
        /// Its first word.
        program: String,
        /// Why.
        cause: io::Error,
    },
    /// The process to record.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The thread to record.
    #[error("there is no thread {0}")]
    NoThread(u32),
    /// The processor to record.
    #[error("there is no processor {0}, or it is switched off")]
    NoProcessor(u32),
    /// The recording.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// Its file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Something of the system.
    #[error("{what}: {cause}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// Why not.
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |cause| Error::System { what, cause }
    }
}

/// What the administrator allows: kernel.perf_event_paranoid.
pub(crate) fn paranoid() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    text.map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}
