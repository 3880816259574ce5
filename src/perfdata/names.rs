//! Names of events that the recording does not name, as `perf` would print them.

use linux_perf_event_reader::constants as c;

use super::Attr;

const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const OPERATIONS: [(&str, &str); 3] = [("load", "loads"), ("store", "stores"), ("prefetch", "prefetches")];

/// `cycles`, `instructions:u`, `L1-dcache-load-misses:uppp`, `raw 0x1c4` …
pub(super) fn event_name(attr: &Attr) -> String {
    // The upper half of a generalized event's config chooses the PMU on processors of mixed cores.
    let which = attr.config & 0xffff_ffff;
    let named = |names: &[&str], what: &str| match names.get(which as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("unknown-{what} 0x{:x}", attr.config),
    };
    let name = match attr.kind {
        c::PERF_TYPE_HARDWARE => named(&HARDWARE, "hardware"),
        c::PERF_TYPE_SOFTWARE => named(&SOFTWARE, "software"),
        c::PERF_TYPE_HW_CACHE => cache_name(which).unwrap_or_else(|| format!("unknown-cache 0x{which:x}")),
        c::PERF_TYPE_RAW => format!("raw 0x{:x}", attr.config),
        c::PERF_TYPE_TRACEPOINT => return format!("tracepoint {}", attr.config),
        c::PERF_TYPE_BREAKPOINT => format!("mem:0x{:x}:{}", attr.config1, access(attr.bp_type)),
        pmu => format!("pmu {pmu} 0x{:x}", attr.config),
    };
    name + &modifiers(attr)
}

fn cache_name(config: u64) -> Option<String> {
    let cache = CACHES.get((config & 0xff) as usize)?;
    let (one, many) = OPERATIONS.get((config >> 8 & 0xff) as usize)?;
    match config >> 16 {
        0 => Some(format!("{cache}-{many}")),
        1 => Some(format!("{cache}-{one}-misses")),
        _ => None,
    }
}

fn access(bp_type: u32) -> String {
    let kinds = [(c::HW_BREAKPOINT_R, 'r'), (c::HW_BREAKPOINT_W, 'w'), (c::HW_BREAKPOINT_X, 'x')];
    kinds.into_iter().filter(|(bit, _)| bp_type & u32::from(*bit) != 0).map(|(_, c)| c).collect()
}

/// The rule of perf's `evsel__add_modifiers`.
fn modifiers(attr: &Attr) -> String {
    let mut letters = String::new();
    let mut guest_default = false;
    if attr.exclude_kernel || attr.exclude_user || attr.exclude_hv {
        let modes = [(attr.exclude_kernel, 'k'), (attr.exclude_user, 'u'), (attr.exclude_hv, 'h')];
        letters.extend(modes.iter().filter(|(excluded, _)| !excluded).map(|(_, c)| c));
        guest_default = true;
    }
    if attr.precise_ip > 0 {
        letters.extend(std::iter::repeat_n('p', attr.precise_ip.into()));
        guest_default = true;
    }
    if attr.exclude_host || attr.exclude_guest == guest_default {
        let sides = [(attr.exclude_host, 'H'), (attr.exclude_guest, 'G')];
        letters.extend(sides.iter().filter(|(excluded, _)| !excluded).map(|(_, c)| c));
    }
    if letters.is_empty() { letters } else { format!(":{letters}") }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Endian;
    use super::*;

    fn name(kind: u32, config: u64, change: impl Fn(&mut Attr)) -> String {
        let mut bytes = vec![0; 64];
        bytes[0..4].copy_from_slice(&kind.to_le_bytes());
        bytes[8..16].copy_from_slice(&config.to_le_bytes());
        let mut attr = Attr::parse(&bytes, Endian::Little, 0).unwrap();
        attr.exclude_guest = true;
        change(&mut attr);
        event_name(&attr)
    }

    #[test]
    fn generalized_events_have_their_names() {
        let plain = |_: &mut Attr| {};
        assert_eq!(name(0, 0x4_0000_0001, plain), "instructions");
        assert_eq!(name(1, 0, plain), "cpu-clock");
        assert_eq!(name(3, 0x1_0000, plain), "L1-dcache-load-misses");
        assert_eq!(name(3, 0x0103, plain), "dTLB-stores");
        assert_eq!(name(4, 0x1c4, plain), "raw 0x1c4");
        assert_eq!(name(0, 99, plain), "unknown-hardware 0x63");
        assert_eq!(name(5, 0, |a| (a.config1, a.bp_type) = (0x10, 3)), "mem:0x10:rw");
    }

    #[test]
    fn modifiers_follow_what_is_excluded() {
        let guests = |a: &mut Attr| a.exclude_guest = false;
        let user = |a: &mut Attr| (a.exclude_kernel, a.exclude_hv, a.exclude_guest) = (true, true, false);
        assert_eq!(name(0, 0, guests), "cycles:HG");
        assert_eq!(name(0, 0, user), "cycles:u");
        assert_eq!(name(0, 0, |a| a.precise_ip = 2), "cycles:ppH");
        assert_eq!(name(0, 0, |a| (a.precise_ip, a.exclude_guest) = (3, false)), "cycles:ppp");
    }
}
