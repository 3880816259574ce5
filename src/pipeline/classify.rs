//! What kind of event each is, and so what is wrong with its addresses.

use super::survey::EventCount;
use crate::perfdata::Attr;
use crate::report::Class;

/// `PERF_TYPE_*`.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const HW_CACHE: u32 = 3;
const BREAKPOINT: u32 = 5;

/// The class of an event, and why.
pub fn classify(attr: &Attr, count: &EventCount) -> (Class, &'static str) {
    if count.samples > 0 && count.exact == count.samples {
        return (Class::Exact, "every sample says that its address is exact");
    }
    if attr.precise_ip >= 2 {
        return (Class::Exact, "the event was asked for with precise addresses");
    }
    match (attr.kind, attr.config & 0xffff_ffff) {
        (HARDWARE, 0 | 9) => (Class::Time, "time: the instruction after the one waited for may be reported"),
        (HARDWARE, 1 | 4) => (Class::Retirement, "a retirement event: late, and in the shadow of slow instructions"),
        (HARDWARE, 2 | 3 | 5) => (Class::Occurrence, "an occurrence: spread over what follows its cause"),
        (HARDWARE, 6..=8) => (Class::Time, "time: the instruction after the one waited for may be reported"),
        (SOFTWARE, 0 | 1) => (Class::Time, "a clock: the instruction after the one waited for may be reported"),
        (SOFTWARE, _) => (Class::Synchronous, "raised by the kernel at the instruction itself"),
        (TRACEPOINT, _) => (Class::Synchronous, "a tracepoint stands where it was placed"),
        (BREAKPOINT, _) => (Class::Synchronous, "a breakpoint stands where it was placed"),
        (HW_CACHE, config) => cache(config),
        _ => by_name(&attr.name),
    }
}

/// The third byte of a cache event's configuration is 1 for misses.
fn cache(config: u64) -> (Class, &'static str) {
    match config >> 16 & 0xff {
        1 => (Class::Occurrence, "misses: spread over what follows their cause"),
        _ => (Class::Retirement, "accesses: late, and in the shadow of slow instructions"),
    }
}

/// Events of a processor's own list are known by their names only.
fn by_name(name: &str) -> (Class, &'static str) {
    let name = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|p| name.contains(p));
    if has(&["ibs_", "arm_spe"]) {
        (Class::Exact, "the processor notes the address itself")
    } else if has(&["miss", "fill", "stall", "replay"]) {
        (Class::Occurrence, "an occurrence, by its name: spread over what follows its cause")
    } else if has(&["cycles", "clk", "unhalted"]) {
        (Class::Time, "time, by its name: the instruction after the one waited for may be reported")
    } else if has(&["inst", "retired", "branches", "br_", "loads", "stores", "uops"]) {
        (Class::Retirement, "a retirement event, by its name: late, and in the shadow of slow instructions")
    } else {
        (Class::Unknown, "an event of unknown kind: nothing is assumed of it")
    }
}
