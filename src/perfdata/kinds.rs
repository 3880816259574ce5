//! Types of records: those of the kernel are named in `linux_perf_event_reader::constants`, those of perf itself here.

/// Callers in user space of an earlier sample (Linux 6.18).
pub const CALLCHAIN_DEFERRED: u32 = 22;
/// Numbers below are the kernel's, from here on perf's own.
pub const USER_TYPE_START: u32 = 64;
/// An event's description, in pipe mode.
pub const HEADER_ATTR: u32 = 64;
/// Formats of tracepoints; as many bytes as it states follow the record.
pub const HEADER_TRACING_DATA: u32 = 66;
/// A build-id, in pipe mode.
pub const HEADER_BUILD_ID: u32 = 67;
/// Everything before it that is older than the round before is complete.
pub const FINISHED_ROUND: u32 = 68;
/// Hardware trace data; as many bytes as it states follow the record.
pub const AUXTRACE: u32 = 71;
/// A change to an event's description, such as its name.
pub const EVENT_UPDATE: u32 = 78;
/// A header section, in pipe mode.
pub const HEADER_FEATURE: u32 = 80;
/// Records, compressed by zstd.
pub const COMPRESSED: u32 = 81;
/// Records, compressed by zstd, with their exact size (Linux 6.16).
pub const COMPRESSED2: u32 = 83;

const KERNEL: [&str; 22] = [
    "MMAP",
    "LOST",
    "COMM",
    "EXIT",
    "THROTTLE",
    "UNTHROTTLE",
    "FORK",
    "READ",
    "SAMPLE",
    "MMAP2",
    "AUX",
    "ITRACE_START",
    "LOST_SAMPLES",
    "SWITCH",
    "SWITCH_CPU_WIDE",
    "NAMESPACES",
    "KSYMBOL",
    "BPF_EVENT",
    "CGROUP",
    "TEXT_POKE",
    "AUX_OUTPUT_HW_ID",
    "CALLCHAIN_DEFERRED",
];
const USER: [&str; 23] = [
    "ATTR",
    "EVENT_TYPE",
    "TRACING_DATA",
    "BUILD_ID",
    "FINISHED_ROUND",
    "ID_INDEX",
    "AUXTRACE_INFO",
    "AUXTRACE",
    "AUXTRACE_ERROR",
    "THREAD_MAP",
    "CPU_MAP",
    "STAT_CONFIG",
    "STAT",
    "STAT_ROUND",
    "EVENT_UPDATE",
    "TIME_CONV",
    "FEATURE",
    "COMPRESSED",
    "FINISHED_INIT",
    "COMPRESSED2",
    "BPF_METADATA",
    "SCHEDSTAT_CPU",
    "SCHEDSTAT_DOMAIN",
];

/// The name of a type as `perf report --stats` prints it; `None` if it is not known.
pub fn kind_name(kind: u32) -> Option<&'static str> {
    match kind.checked_sub(USER_TYPE_START) {
        Some(i) => USER.get(i as usize).copied(),
        None => KERNEL.get(kind.checked_sub(1)? as usize).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_types_have_names_and_others_none() {
        assert_eq!(kind_name(9), Some("SAMPLE"));
        assert_eq!(kind_name(COMPRESSED2), Some("COMPRESSED2"));
        assert_eq!(kind_name(HEADER_FEATURE), Some("FEATURE"));
        assert!([0, 23, 63, 87, 32768].iter().all(|&kind| kind_name(kind).is_none()));
    }
}
