//! What kind of event each is, and so what is wrong with its addresses.

use linux_perf_event_reader::constants::PERF_TYPE_SOFTWARE;

use super::survey::EventCount;
use crate::perfdata::Attr;
use crate::report::Class;
use crate::skid::folded::Counts;

/// What is known of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its class.
    pub class: Class,
    /// Instructions that may cause it.
    pub causes: Counts,
    /// Bytes that come with one event: a line of a cache, or a page.
    pub span: u64,
    /// Whether its exact samples tell how often instructions ran.
    pub tells_runs: bool,
    /// Whether its exact samples tell where time went.
    pub tells_time: bool,
    /// Why, in a clause.
    pub reason: &'static str,
}

impl Kind {
    /// Whether its addresses are those of instructions behind the cause.
    pub fn is_late(&self) -> bool {
        matches!(self.class, Class::Time | Class::Retirement | Class::Occurrence)
    }
}

const fn kind(class: Class, causes: Counts, reason: &'static str) -> Kind {
    Kind { class, causes, span: LINE, tells_runs: false, tells_time: false, reason }
}

/// Of a cache.
const LINE: u64 = 64;
/// Of memory, which one entry of a TLB stands for.
const PAGE: u64 = 4096;

/// `PERF_COUNT_SW_DUMMY`, by which perf is told of mappings and threads.
const DUMMY: u64 = 9;

const TIME: &str =
    "time passes everywhere alike, but the instruction after the one waited for may be reported";
const RETIRED: &str = "reported late, where the processor waits rather than where it works";
const MISSED: &str = "reported late, on instructions behind its cause";

/// The kind of an event.
pub fn classify(attr: &Attr, count: &EventCount) -> Kind {
    use Class::Exact;
    let all = Counts::Instructions;
    if count.led > 0 && count.led == count.samples {
        return kind(Class::Led, all, "it was read at the samples of its group's leader and moves with them");
    }
    if let Some(sampled) = by_processor(attr) {
        return sampled;
    }
    // without hardware counters `perf record` asks for a clock as precise as can be, and gets it as late as ever
    let precise_ip = if attr.kind == PERF_TYPE_SOFTWARE { 0 } else { attr.precise_ip };
    if precise_ip == 0 && count.exact > 0 {
        return kind(
            Exact,
            all,
            "its samples are marked as exact though it was recorded without precision: corrected before, with wider intervals \
             than those of sampling, which stand here (see the .skidconv.json beside it)",
        );
    }
    let precise = if count.samples > 0 && count.exact == count.samples {
        kind(Exact, all, "every sample is marked as exact")
    } else if precise_ip >= 2 {
        kind(Exact, all, "it was recorded with precise addresses")
    } else {
        return imprecise(attr);
    };
    Kind { tells_time: imprecise(attr).class == Class::Time, ..precise }
}

/// What the event's samples are where nothing says that they are exact.
fn imprecise(attr: &Attr) -> Kind {
    use Class::{Synchronous, Time};
    let all = Counts::Instructions;
    match attr.kind {
        0 => hardware(attr.config & 0xff),
        PERF_TYPE_SOFTWARE if attr.config <= 1 => kind(Time, all, TIME),
        PERF_TYPE_SOFTWARE if attr.config == DUMMY => {
            kind(Synchronous, all, "it counts nothing and has no samples")
        }
        PERF_TYPE_SOFTWARE => kind(Synchronous, all, "the kernel raises it at the instruction itself"),
        2 => kind(Synchronous, all, "a tracepoint stands where it was placed"),
        5 => kind(Synchronous, all, "a breakpoint stands where it was placed"),
        3 => cache(attr.config),
        _ => by_name(&attr.name),
    }
}

/// AMD's sampling of fetches and ops, which notes addresses of its own.
fn by_processor(attr: &Attr) -> Option<Kind> {
    let told = |reason| Some(kind(Class::Exact, Counts::Instructions, reason));
    match attr.name.as_str() {
        name if name.starts_with("ibs_fetch") => {
            told("the processor notes what it fetched (see skidconv ibs)")
        }
        name if name.starts_with("ibs_op") && attr.config & COUNTS_OPS == 0 => told(BY_CYCLES),
        name if name.starts_with("ibs_op") => told(BY_OPS).map(|kind| Kind { tells_runs: true, ..kind }),
        _ => None,
    }
}

/// `IbsOpCntCtl`: ops are chosen by counting them, not cycles.
const COUNTS_OPS: u64 = 1 << 19;
const BY_CYCLES: &str = "the processor notes the op's instruction; tagged by cycles, so neither a profile of instructions nor \
    of time (see skidconv ibs)";
const BY_OPS: &str = "the processor notes the op's instruction; counted by ops, so that what ran how often is learnt from it \
    (see skidconv ibs)";

/// `PERF_COUNT_HW_*`.
fn hardware(config: u64) -> Kind {
    use Class::{Occurrence, Retirement, Time};
    match config {
        0 | 6 | 9 => kind(Time, Counts::Instructions, TIME),
        1 => kind(Retirement, Counts::Instructions, RETIRED),
        2 | 3 => kind(Occurrence, Counts::Memory, MISSED),
        4 => kind(Retirement, Counts::Transfers, RETIRED),
        5 => kind(Occurrence, Counts::Predicted, MISSED),
        _ => kind(Class::Unknown, Counts::Instructions, "an event of unknown kind"),
    }
}

/// `PERF_COUNT_HW_CACHE_*`: which cache, which operation, access or miss.
fn cache(config: u64) -> Kind {
    let (level, operation, missed) = (config & 0xff, config >> 8 & 0xff, config >> 16 & 0xff == 1);
    if level == 5 && !missed {
        // `branch-loads`, by which Intel's processors and AMD's count all branches
        return kind(Class::Retirement, Counts::Transfers, RETIRED);
    }
    let causes = match (level, operation) {
        (1 | 4, _) => Counts::Instructions,
        (5, _) => Counts::Predicted,
        (_, 0) => Counts::Loads,
        (_, 1) => Counts::Stores,
        _ => Counts::Memory,
    };
    let span = if level == 3 { PAGE } else { LINE };
    match missed || level > 1 {
        true => Kind { span, ..kind(Class::Occurrence, causes, MISSED) },
        false => kind(Class::Retirement, causes, RETIRED),
    }
}

/// What says that an event counts some branches only.
const SOME_BRANCHES: [&str; 6] = ["taken", "near", "far", "cond", "indirect", "call"];

/// Events of a processor's own list are known by their names only.
fn by_name(name: &str) -> Kind {
    let name = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|p| name.contains(p));
    let memory = if has(&["store"]) { Counts::Stores } else { Counts::Loads };
    let missed = if has(&["icache", "l1i", "itlb"]) { Counts::Instructions } else { memory };
    if has(&["arm_spe"]) {
        kind(Class::Exact, Counts::Instructions, "the processor notes the address itself")
    } else if has(&["br_misp", "branch-misses", "mispredict"]) {
        kind(Class::Occurrence, Counts::Predicted, MISSED)
    } else if has(&["miss", "fill", "replay"]) {
        let span = if has(&["tlb"]) { PAGE } else { LINE };
        Kind { span, ..kind(Class::Occurrence, missed, MISSED) }
    } else if has(&["cycles", "clk_unhalted", "cpu_clk"]) && !has(&["stall"]) {
        kind(Class::Time, Counts::Instructions, TIME)
    } else if has(&["br_inst", "branches", "branch-instructions"]) && !has(&SOME_BRANCHES) {
        kind(Class::Retirement, Counts::Transfers, RETIRED)
    } else if has(&["mem_inst_retired.all_loads", "mem_inst_retired.all_stores", "mem_uops_retired.all_"]) {
        kind(Class::Retirement, memory, RETIRED)
    } else if has(&["instructions", "ret_inst", "ex_ret_instr"]) || counts_all(&name) {
        kind(Class::Retirement, Counts::Instructions, RETIRED)
    } else {
        kind(Class::Unknown, Counts::Instructions, "an event of unknown kind: nothing is assumed of it")
    }
}

/// Whether an event is `inst_retired`, and not one of some instructions (`fp_arith_inst_retired`).
fn counts_all(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == "inst_retired")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: u32, config: u64, precise_ip: u8, samples: u64, exact: u64) -> Class {
        let attr = Attr { kind, config, precise_ip, ..Attr::default() };
        classify(&attr, &EventCount { samples, exact, ..EventCount::default() }).class
    }

    #[test]
    fn events_are_told_apart() {
        assert_eq!(of(0, 0, 0, 9, 0), Class::Time, "cycles");
        assert_eq!(of(0, 1, 0, 9, 0), Class::Retirement, "instructions");
        assert_eq!(of(0, 9, 0, 9, 0), Class::Time, "ref-cycles");
        assert_eq!(
            of(0, 8, 0, 9, 0),
            Class::Unknown,
            "stalled-cycles-backend: no measure of how long code takes"
        );
        assert_eq!(of(1, 0, 0, 9, 0), Class::Time, "cpu-clock");
        assert_eq!(of(1, 2, 0, 9, 0), Class::Synchronous, "page-faults");
        assert_eq!(of(3, 0x10000, 0, 9, 0), Class::Occurrence, "L1-dcache-load-misses");
        assert_eq!(of(2, 77, 0, 9, 0), Class::Synchronous, "a tracepoint");
        let led = EventCount { samples: 9, led: 9, ..EventCount::default() };
        assert_eq!(classify(&Attr { kind: 1, ..Attr::default() }, &led).class, Class::Led);
    }

    #[test]
    fn events_of_a_processors_list_are_what_their_names_say() {
        let of = |name: &str| {
            let Kind { class, causes, .. } = by_name(name);
            (class, causes)
        };
        let retired = |causes| (Class::Retirement, causes);
        for all in
            ["inst_retired.any:u", "cpu/instructions/", "cpu_core/inst_retired.prec_dist/p", "ex_ret_instr"]
        {
            assert_eq!(of(all), retired(Counts::Instructions), "{all}");
        }
        for branches in
            ["br_inst_retired.all_branches", "cpu/branch-instructions/", "BR_INST_RETIRED.ALL_BRANCHES"]
        {
            assert_eq!(of(branches), retired(Counts::Transfers), "{branches}");
        }
        assert_eq!(of("mem_inst_retired.all_loads"), retired(Counts::Loads));
        assert_eq!(of("mem_inst_retired.all_stores"), retired(Counts::Stores));
        for some in
            ["br_inst_retired.near_taken:u", "fp_arith_inst_retired.scalar_double", "mem_inst_retired.any"]
        {
            assert_eq!(of(some).0, Class::Unknown, "{some}");
        }
        assert_eq!(of("frontend_retired.l1i_miss"), (Class::Occurrence, Counts::Instructions));
        assert_eq!(of("mem_load_retired.l3_miss"), (Class::Occurrence, Counts::Loads));
        let Kind { class, causes, .. } = cache(5);
        assert_eq!((class, causes), retired(Counts::Transfers), "branch-loads");
    }

    #[test]
    fn a_clock_is_late_however_precise_it_was_asked_for() {
        assert_eq!(of(1, 0, 3, 9, 0), Class::Time);
        assert_eq!(of(1, 0, 3, 9, 4), Class::Exact, "corrected before");
    }

    #[test]
    fn precise_cycles_tell_where_time_went() {
        let of = |config, precise_ip, exact| {
            let attr = Attr { config, precise_ip, ..Attr::default() };
            classify(&attr, &EventCount { samples: 9, exact, ..EventCount::default() })
        };
        assert!(of(0, 2, 9).tells_time && of(0, 2, 9).class == Class::Exact);
        assert!(!of(1, 2, 9).tells_time, "instructions");
        assert!(!of(0, 0, 0).tells_time, "late ones are of another class");
        assert!(!of(0, 0, 9).tells_time, "corrected before");
    }

    #[test]
    fn sampled_ops_are_exact_whatever_their_marks_and_say_how_they_were_chosen() {
        let op = |config, exact| {
            let attr = Attr { kind: 10, config, name: "ibs_op//".into(), ..Attr::default() };
            classify(&attr, &EventCount { samples: 9, exact, ..EventCount::default() })
        };
        for exact in [0, 5, 9] {
            assert_eq!((op(0, exact).class, op(1 << 19, exact).class), (Class::Exact, Class::Exact));
            assert!(op(0, exact).reason.contains("tagged by cycles"));
            assert!(!op(1 << 19, exact).reason.contains("tagged by cycles"));
        }
    }

    #[test]
    fn precise_and_corrected_events_are_left_alone() {
        assert_eq!(of(0, 0, 2, 9, 9), Class::Exact);
        assert_eq!(of(0, 0, 3, 9, 4), Class::Exact, "precision was asked for");
        assert_eq!(of(0, 1, 0, 9, 3), Class::Exact, "marked by an earlier run");
        assert_eq!(of(0, 1, 1, 9, 3), Class::Retirement, "constant skid is still skid");
    }
}
