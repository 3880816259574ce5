//! The registers as text: what `perf report -D` prints of the same samples.

use crate::made::{EXACT, Event, FETCH, Machine, OP, RAW, Sampled, raw};
use crate::tool::{folder, has_perf, perf, skidconv, text};

/// Branch targets, and the second control register of fetches: perf takes both to be there.
const ALWAYS: u32 = 1 << 5 | 1 << 9;

/// Processors: what perf notes of them, their capability word, and whether they have Zen 4's extensions.
const PROCESSORS: [(&str, u32, bool); 7] = [
    ("AuthenticAMD,16,4,3", 0x1f | ALWAYS, false),
    ("AuthenticAMD,21,2,0", 0xff | ALWAYS, false),
    ("AuthenticAMD,22,48,1", 0x3ff, false),
    ("AuthenticAMD,23,113,0", 0x3ff, false),
    ("AuthenticAMD,25,1,1", 0x3ff, false),
    ("AuthenticAMD,25,97,2", 0xbff, true),
    ("AuthenticAMD,26,2,1", 0xbff, true),
];

const FETCHES: Event = Event { kind: FETCH, config: 1 << 57, name: "ibs_fetch/rand_en=1/" };
const OPS: Event = Event { kind: OP, config: 1 << 19, name: "ibs_op/cnt_ctl=1/" };

/// Register values: each bit alone, all, none, and mixtures, so that every field has every kind of value.
fn values() -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mixed = std::iter::from_fn(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state)
    });
    (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]).chain(mixed.take(60)).collect()
}

/// Samples in which each register takes each of the values, the others being what they are in `base`.
fn each_register<const N: usize>(base: [u64; N], always: u64) -> impl Iterator<Item = [u64; N]> {
    (0..N).flat_map(move |register| {
        values().into_iter().map(move |value| {
            let mut registers = base;
            registers[register] = value;
            registers[0] |= always;
            registers
        })
    })
}

/// A recording of one processor in which every field of every register is exercised.
fn exercised(cpu_id: &'static str, capabilities: u32, zen4: bool) -> Machine {
    let mut machine = Machine::new(cpu_id, RAW, vec![FETCHES, OPS]);
    machine.zen4 = zen4;
    let mut add = |event, registers: &[u64]| {
        let raw = raw(capabilities, registers);
        machine.sample(EXACT, &Sampled { event, ip: registers[1], raw, ..Sampled::default() });
    };
    // enabled and valid, without which perf prints nothing
    let none = [0, 0x40_1000, 0x1234_5000, 0];
    let good = [0x0017_0007_0000_0000, 0x40_1040, 0x1234_5040, 9];
    each_register(none, 3 << 48).chain(each_register(good, 3 << 48)).for_each(|f| add(0, &f));
    let none = [0, 0x40_1000, 0, 0, 0, 0, 0, 0];
    let load = [0x1000, 0x40_1000, 1 << 37, 3, 0x87 | 7 << 17 | 100 << 32, 0x7fff_1234, 0x1234, 0x40_2000];
    each_register(none, 3 << 17).chain(each_register(load, 3 << 17)).for_each(|o| add(1, &o));
    machine
}

/// The lines that perf prints of registers.
fn registers(text: &str) -> Vec<String> {
    let ours = |line: &&str| line.starts_with("ibs_caps:") || line.starts_with("ibs_op_data4:");
    let known = |line: &&str| {
        ["ibs_", "Ibs", "ic_ibs"].iter().any(|start| line.starts_with(start)) && line.contains(":\t")
    };
    text.lines().filter(known).filter(|line| !ours(line)).map(wording).collect()
}

/// Later versions of perf have other words for sources of data.
fn wording(line: &str) -> String {
    const LATER: [(&str, &str); 7] = [
        ("=Another CCX cache in the same NUMA node", "=A peer cache in a near CCX"),
        ("3=DRAM", "3=Data returned from DRAM"),
        ("=Another CCX cache in a different NUMA node", "=A peer cache in a far CCX"),
        ("=Long-latency DIMM", "=DRAM address map with \"long latency\" bit set"),
        ("=MMIO/Config/PCI/APIC", "=Data returned from MMIO/Config/PCI/APIC"),
        ("=Extension Memory", "=Extension Memory (S-Link, GenZ, etc)"),
        ("=Coherent Memory of a different processor type", "=Peer Agent Memory"),
    ];
    let later = LATER.into_iter().find(|(later, _)| line.ends_with(later));
    later.map_or_else(|| line.to_owned(), |(later, word)| line.replace(later, word))
}

#[test]
fn every_field_reads_as_perf_prints_it() {
    if !has_perf() {
        return eprintln!("skipped: perf is not there");
    }
    let folder = folder("ibs-perf");
    for (cpu_id, capabilities, zen4) in PROCESSORS {
        let data = folder.join(format!("{cpu_id}.data"));
        let mut machine = exercised(cpu_id, capabilities, zen4);
        machine.write(&data);
        let (theirs, ours) = (
            perf(&["report", "-f", "-D", "-i", text(&data)]),
            skidconv(&folder, &["ibs", text(&data), "--dump"]),
        );
        assert_eq!((ours.code, ours.err.as_str()), (Some(0), ""), "{cpu_id}");
        let (theirs, ours) = (registers(&theirs.out), registers(&ours.out));
        let first = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs != ours);
        assert_eq!(first, None, "{cpu_id}: perf's line and ours");
        assert_eq!(theirs.len(), ours.len(), "{cpu_id}");
        // four lines a fetch at least, and five an op
        assert!(theirs.len() > 3 * 2 * 4 * 126 + 5 * 2 * 8 * 126, "{cpu_id}: {}", theirs.len());
        eprintln!("{cpu_id}: {} lines are perf's", ours.len());
    }
}

/// Registers of real processors, as AMD and Linux show them: a Zen 2's fetch and store in "perf report: Enable AMD IBS raw
/// data decoding" (commit 291dcb98d7ee), a Zen 4's store in perf-amd-ibs(1), and another's in AMD's amd-perf-tools.
#[test]
fn registers_of_real_processors_make_sense() {
    let folder = folder("ibs-real");
    let data = folder.join("perf.data");
    let mut machine = Machine::new("AuthenticAMD,23,49,0", RAW, vec![FETCHES, OPS]);
    let fetch = [0x0217_0007_ffff_ffff, 0x5601_6b2e_ad40, 0x11_5ced_fd40, 0];
    let ops: [[u64; 8]; 3] = [
        [0x9e_009e_8968, 0x5601_6b2e_a73d, 0xb_0002, 2, 0xc6_0002, 0x7f13_3c31_9ce0, 0x2_7048_5ce0, 0],
        [
            0x2c3_0006_186a,
            0xffff_ffff_8204_aea7,
            0x100_0255_0001,
            0x13,
            0x3196_0092,
            0xff11_0008_a539_8920,
            0x8_a539_8920,
            0,
        ],
        [
            0x1_904c_0006_1dec,
            0xffff_ffff_a208_e00e,
            0x100_000d_0004,
            0,
            0xc4_0002,
            0xffff_a54e_782b_3958,
            0x10_0701_7e40,
            0xffff_ffff_a208_e00e,
        ],
    ];
    machine.sample(EXACT, &Sampled { ip: fetch[1], raw: raw(0x3ff, &fetch), ..Sampled::default() });
    for op in &ops {
        machine.sample(EXACT, &Sampled { event: 1, ip: op[1], raw: raw(0x3ff, op), ..Sampled::default() });
    }
    machine.write(&data);
    let dump = skidconv(&folder, &["ibs", text(&data), "--dump"]).out;
    for shown in [
        "MaxCnt 1048560 Cnt 1048560 Lat     7 En 1 Val 1 Comp 1 IcMiss 0 PhyAddrValid 1 L1TlbPgSz 4KB L1TlbMiss 0",
        "MaxCnt  10000000 En 1 Val 1 CntCtl 1=uOps CurCnt       158",
        "MaxCnt    100000 En 1 Val 1 CntCtl 0=cycles CurCnt       707",
        "CompToRetCtr     1 TagToRetCtr   597 BrnRet 0  RipInvalid 0 BrnFuse 0 Microcode 1",
        "RmtNode 1 DataSrc 3=DRAM",
        "L2Miss 1 SwPf 0 OpMemWidth 32 bytes OpDcMissOpenMemReqs 12 DcMissLat     0",
    ] {
        assert!(dump.contains(shown), "{shown}\n{dump}");
    }
    assert!(!dump.contains("unknown:"), "{dump}");
    let csv =
        skidconv(&folder, &["ibs", text(&data), "--functions-csv", "-", "--event", "ibs_op/cnt_ctl=1/"]).out;
    let row: Vec<(&str, &str)> = {
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (keys, values) = (lines.next().unwrap(), lines.next().unwrap());
        keys.into_iter().zip(values).collect()
    };
    let of = |key: &str| row.iter().find(|(k, _)| *k == key).unwrap_or_else(|| panic!("{key}: {csv}")).1;
    assert_eq!(
        (of("samples"), of("op_store"), of("op_load"), of("op_dc_miss"), of("op_l2_miss")),
        ("3", "3", "0", "1", "1")
    );
    assert_eq!((of("op_microcode"), of("op_tag_to_retire"), of("op_miss_latency")), ("2", "207.00", ""));
}

#[test]
fn what_is_unknown_is_named_and_what_is_missing_is_told() {
    let folder = folder("ibs-unknown");
    let data = folder.join("perf.data");
    let mut machine = Machine::new("AuthenticAMD,27,1,0", RAW, vec![FETCHES, OPS]);
    let capabilities = 0x3ff | 1 << 17 | 1 << 30;
    let op = [3 << 17, 0x40_1000, 1 << 41, 1 << 63, 1, 0, 0, 0, 7, 8];
    let mut add = |registers: &[u64]| {
        let raw = raw(capabilities, registers);
        machine.sample(EXACT, &Sampled { event: 1, ip: 0x40_1000, raw, ..Sampled::default() });
    };
    add(&op);
    add(&op[..3]);
    add(&[0; 8]);
    machine.write(&data);
    let ran = skidconv(&folder, &["ibs", text(&data)]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "capabilities 0x400203ff IBSFFV FetchSam OpSam RdWrOpCnt OpCnt BrnTrgt OpCntExt RipInvalidChk OpBrnFuse \
         IbsFetchCtlExtd bit 17 bit 30",
        "set, but not known to this version: capability bit 17 (1 sample), capability bit 30 (1 sample), \
         IBS_OP_DATA[41] (1 sample), IBS_OP_DATA2[63] (1 sample), 2 further registers (1 sample)",
        "1 sample was left out: their registers say that they hold no sample",
        "1 sample was left out: their registers are not all there",
    ] {
        assert!(out.contains(told), "{told}\n{out}");
    }
    let dump = skidconv(&folder, &["ibs", text(&data), "--dump"]).out;
    assert!(dump.contains("unknown:\tibs_op_data[41] ibs_op_data2[63] 2 registers"), "{dump}");
    assert!(dump.contains("damaged:\t3 registers, where 7 are always there"), "{dump}");
}
