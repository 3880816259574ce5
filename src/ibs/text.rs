//! The registers as text, line for line as `perf report -D` has it of the same sample.
//!
//! perf takes the newer fields from what the recording says of the processor; here the capability word of the sample
//! decides. What perf does not print comes in lines of its own, which begin with `ibs_caps:`, `ibs_op_data4:`, `also:` and
//! `unknown:`.

use std::fmt::Write as _;

use super::data_source::number;
use super::register::{
    Field, Register, fetch_ctl as fc, fetch_ctl_ext, op_ctl as oc, op_data as od, op_data2 as o2,
    op_data3 as o3, op_data4,
};
use super::tally::bits;
use super::{Capabilities, Dialect, Fetch, Op};

/// A name, and the value of the field behind it whether or not the processor has it, as perf does it.
fn flag(register: Register, name: &str, field: &Field) -> String {
    format!(" {name} {}", register.get(field))
}

fn if_has(dialect: &Dialect, capability: u32, text: impl FnOnce() -> String) -> String {
    if dialect.has(capability) { text() } else { String::new() }
}

/// A fetch.
pub fn fetch(fetch: &Fetch) -> String {
    let mut text = capabilities(fetch.dialect.capabilities);
    text += &fetch_control(fetch);
    let _ = writeln!(text, "IbsFetchLinAd:\t{:016x}", fetch.linear);
    if fetch.control.is(&fc::PHYSICAL_VALID) {
        let _ = writeln!(text, "IbsFetchPhysAd:\t{:016x}", fetch.physical);
    }
    let silent = fetch.dialect.fetches_need_translation() && !fetch.control.is(&fc::PHYSICAL_VALID);
    if let Some(extended) = fetch.extended.filter(|_| !silent) {
        let latency = extended.get(&fetch_ctl_ext::TLB_LATENCY);
        let _ = writeln!(text, "ic_ibs_ext_ctl:\t{:016x} IbsItlbRefillLat {latency:3}", extended.0);
    }
    let unknown = [
        ("ibs_fetch_ctl", fetch.control.unknown(&fc::FIELDS, &fetch.dialect)),
        ("ic_ibs_ext_ctl", fetch.extended.map_or(0, |e| e.unknown(&fetch_ctl_ext::FIELDS, &fetch.dialect))),
    ];
    text + &self::unknown(&unknown, fetch.rest)
}

fn fetch_control(fetch: &Fetch) -> String {
    let (control, dialect) = (fetch.control, &fetch.dialect);
    let mut text = format!(
        "ibs_fetch_ctl:\t{:016x} MaxCnt {:7} Cnt {:7}",
        control.0,
        control.get(&fc::MAX_COUNT) << 4,
        control.get(&fc::COUNT) << 4
    );
    let translated = control.is(&fc::PHYSICAL_VALID);
    let zen4 = dialect.has(Capabilities::ZEN4);
    let state = [("En", &fc::ENABLED), ("Val", &fc::VALID), ("Comp", &fc::COMPLETE)]
        .map(|(name, field)| flag(control, name, field))
        .concat();
    if dialect.fetches_need_translation() && !translated {
        text += &state;
        text += &[flag(control, "PhyAddrValid", &fc::PHYSICAL_VALID), flag(control, "RandEn", &fc::RANDOM)]
            .concat();
        text += &if_has(dialect, Capabilities::ZEN4, || flag(control, "L3MissOnly", &fc::L3_MISS_ONLY));
        return text + "\n";
    }
    let _ = write!(text, " Lat {:5}{state}", control.get(&fc::LATENCY));
    if !dialect.is_first_zen3() {
        text += &flag(control, "IcMiss", &fc::IC_MISS);
    }
    text += &flag(control, "PhyAddrValid", &fc::PHYSICAL_VALID);
    if translated {
        let sizes = match dialect.is_first_zen3() {
            true => ["4KB", "16KB", "2MB", "1GB"],
            false => ["4KB", "2MB", "1GB", "RESERVED"],
        };
        let _ = write!(text, " L1TlbPgSz {}", sizes[control.get(&fc::PAGE_SIZE) as usize & 3]);
    }
    for (name, field) in
        [("L1TlbMiss", &fc::L1_TLB_MISS), ("L2TlbMiss", &fc::L2_TLB_MISS), ("RandEn", &fc::RANDOM)]
    {
        text += &flag(control, name, field);
    }
    if control.is(&fc::COMPLETE) {
        text += &flag(control, "L2Miss", &fc::L2_MISS);
    }
    if zen4 {
        let fields = [
            ("L3MissOnly", &fc::L3_MISS_ONLY),
            ("FetchOcMiss", &fc::OP_CACHE_MISS),
            ("FetchL3Miss", &fc::L3_MISS),
        ];
        text += &fields.map(|(name, field)| flag(control, name, field)).concat();
    }
    text + "\n"
}

/// An op.
pub fn op(op: &Op) -> String {
    let mut text = capabilities(op.dialect.capabilities);
    text += &op_control(op.control, &op.dialect);
    if !op.data.is(&od::RIP_INVALID) {
        let _ = writeln!(text, "IbsOpRip:\t{:016x}", op.rip);
    }
    text += &op_data(op.data);
    if !op.is_garbled() {
        text += &op_data2(op.data2, &op.dialect);
    }
    text += &op_data3(op);
    if op.data3.is(&o3::LINEAR_VALID) {
        let _ = writeln!(text, "IbsDCLinAd:\t{:016x}", op.linear);
    }
    if op.data3.is(&o3::PHYSICAL_VALID) {
        let _ = writeln!(text, "IbsDCPhysAd:\t{:016x}", op.physical);
    }
    if let Some(target) = op.target.filter(|&target| op.data.is(&od::BRANCH) && target != 0) {
        let _ = writeln!(text, "IbsBrTarget:\t{target:016x}");
    }
    if let Some(data4) = op.data4 {
        let _ = writeln!(text, "ibs_op_data4:\t{:016x}", data4.0);
    }
    text += &also(op);
    let unknown = [
        ("ibs_op_ctl", op.control.unknown(&oc::FIELDS, &op.dialect)),
        ("ibs_op_data", op.data.unknown(&od::FIELDS, &op.dialect)),
        ("ibs_op_data2", op.data2.unknown(&o2::FIELDS, &op.dialect)),
        ("ibs_op_data3", op.data3.unknown(&o3::FIELDS, &op.dialect)),
        ("ibs_op_data4", op.data4.map_or(0, |d| d.unknown(&op_data4::FIELDS, &op.dialect))),
    ];
    text + &self::unknown(&unknown, op.rest)
}

fn op_control(control: Register, dialect: &Dialect) -> String {
    let most = control.get(&oc::MAX_COUNT_EXTENDED) << 16 | control.get(&oc::MAX_COUNT);
    let mut text = format!("ibs_op_ctl:\t{:016x} MaxCnt {:9}", control.0, most << 4);
    text += &if_has(dialect, Capabilities::ZEN4, || flag(control, "L3MissOnly", &oc::L3_MISS_ONLY));
    let by = if control.is(&oc::COUNTS_OPS) { "1=uOps" } else { "0=cycles" };
    let count = control.get(&oc::COUNT_EXTENDED) << 20 | control.get(&oc::COUNT);
    text += &[flag(control, "En", &oc::ENABLED), flag(control, "Val", &oc::VALID)].concat();
    let _ = write!(text, " CntCtl {by} CurCnt {count:9}");
    text += &if_has(dialect, Capabilities::LOAD_LATENCY, || {
        let (threshold, on) = (control.get(&oc::LATENCY_THRESHOLD), control.get(&oc::LATENCY_ENABLED));
        format!(" LdLatThrsh {threshold:2} LdLatEn {on}")
    });
    text + "\n"
}

fn op_data(data: Register) -> String {
    let mut text = format!(
        "ibs_op_data:\t{:016x} CompToRetCtr {:5} TagToRetCtr {:5}",
        data.0,
        data.get(&od::COMPLETION_TO_RETIREMENT),
        data.get(&od::TAG_TO_RETIREMENT)
    );
    if data.is(&od::BRANCH) {
        let fields =
            [("OpReturn", &od::RETURN), ("OpBrnTaken", &od::TAKEN), ("OpBrnMisp", &od::MISPREDICTED)];
        text += &fields.map(|(name, field)| flag(data, name, field)).concat();
    }
    // perf has two blanks behind the first
    let _ = write!(text, " BrnRet {} ", data.get(&od::BRANCH));
    let fields = [("RipInvalid", &od::RIP_INVALID), ("BrnFuse", &od::FUSED), ("Microcode", &od::MICROCODE)];
    text + &fields.map(|(name, field)| flag(data, name, field)).concat() + "\n"
}

fn op_data2(data: Register, dialect: &Dialect) -> String {
    let zen4 = dialect.has(Capabilities::ZEN4);
    let code = number(data, zen4);
    let mut text = format!("ibs_op_data2:\t{:016x} ", data.0);
    text += &if_has(dialect, Capabilities::STREAMING_STORE, || {
        format!("RmtSocket {} StrmSt {} ", data.get(&o2::REMOTE_SOCKET), data.get(&o2::STREAMING_STORE))
    });
    if code == 2 || zen4 && matches!(code, 1 | 5) {
        text += if data.is(&o2::OWNED) { "CacheHitSt 1=O-State " } else { "CacheHitSt 0=M-state " };
    }
    let _ = write!(text, "RmtNode {}", data.get(&o2::REMOTE));
    match source(code, zen4) {
        "" => {}
        name => {
            let _ = write!(text, " DataSrc {code}={name}");
        }
    }
    text + "\n"
}

/// What perf 6.1 calls a source; nothing for none, and for those that it leaves out.
fn source(code: u8, extended: bool) -> &'static str {
    match (extended, code) {
        (_, 0) | (_, 13..) => "",
        (false, 2) => "Local node cache",
        (false, 3) => "DRAM",
        (false, 4) => "Remote node cache",
        (false, 7) => "Other",
        (true, 1) => "Local L3 or other L1/L2 in CCX",
        (true, 2) => "A peer cache in a near CCX",
        (true, 3) => "Data returned from DRAM",
        (true, 5) => "A peer cache in a far CCX",
        (true, 6) => "DRAM address map with \"long latency\" bit set",
        (true, 7) => "Data returned from MMIO/Config/PCI/APIC",
        (true, 8) => "Extension Memory (S-Link, GenZ, etc)",
        (true, 12) => "Peer Agent Memory",
        _ => "(reserved)",
    }
}

fn op_data3(op: &Op) -> String {
    let (data, dialect) = (op.data3, &op.dialect);
    let all = |fields: &[(&str, &Field)]| -> String {
        fields.iter().map(|(name, field)| flag(data, name, field)).collect()
    };
    let translated = data.is(&o3::PHYSICAL_VALID);
    let pages = dialect.has(Capabilities::DTLB_PAGE_SIZE);
    let misses = [("DcL1TlbMiss", &o3::L1_TLB_MISS), ("DcL2TlbMiss", &o3::L2_TLB_MISS)];
    let mut text =
        format!("ibs_op_data3:\t{:016x}{}", data.0, all(&[("LdOp", &o3::LOAD), ("StOp", &o3::STORE)]));
    if !pages {
        text += &all(&misses);
        text += &all(&[
            ("DcL1TlbHit2M", &o3::L1_TLB_HIT_2M),
            ("DcL1TlbHit1G", &o3::L1_TLB_HIT_1G),
            ("DcL2TlbHit2M", &o3::L2_TLB_HIT_2M),
        ]);
    } else if translated {
        let size = data.get(&o3::L1_TLB_HIT_1G) << 1 | data.get(&o3::L1_TLB_HIT_2M);
        text += &format!("{} DcPageSize {:>4}", all(&misses), ["4K", "2M", "1G", "??"][size as usize & 3]);
    }
    text += &all(&[
        ("DcMiss", &o3::MISS),
        ("DcMisAcc", &o3::MISALIGNED),
        ("DcWcMemAcc", &o3::WRITE_COMBINING),
        ("DcUcMemAcc", &o3::UNCACHED),
        ("DcLockedOp", &o3::LOCKED),
        ("DcMissNoMabAlloc", &o3::NO_BUFFER),
        ("DcLinAddrValid", &o3::LINEAR_VALID),
        ("DcPhyAddrValid", &o3::PHYSICAL_VALID),
    ]);
    if !pages {
        text += &flag(data, "DcL2TlbHit1G", &o3::L2_TLB_HIT_1G);
    }
    text += &if op.is_garbled() { String::new() } else { flag(data, "L2Miss", &o3::L2_MISS) };
    text += &flag(data, "SwPf", &o3::PREFETCH);
    if let Some(power) = data.get(&o3::WIDTH).checked_sub(1) {
        let _ = write!(text, " OpMemWidth {:2} bytes", 1u32 << power);
    }
    if !op.is_garbled() {
        let _ = write!(text, " OpDcMissOpenMemReqs {:2}", data.get(&o3::OPEN_MISSES));
    }
    let _ = write!(text, " DcMissLat {:5}", data.get(&o3::MISS_LATENCY));
    // perf 6.1 prints it of every op
    let _ = write!(text, " TlbRefillLat {:5}", data.get(&o3::TLB_LATENCY));
    text + "\n"
}

fn capabilities(capabilities: Capabilities) -> String {
    format!("ibs_caps:\t{capabilities}\n")
}

/// Fields of the first processors, which perf does not know.
fn also(op: &Op) -> String {
    let fields = [
        (op.data, &od::RESYNC),
        (op.data, &od::MISPREDICTED_RETURN),
        (op.data3, &o3::LOAD_BANK_CONFLICT),
        (op.data3, &o3::STORE_BANK_CONFLICT),
        (op.data3, &o3::FORWARDED),
        (op.data3, &o3::FORWARDING_CANCELLED),
        (op.data3, &o3::BUFFER_HIT),
    ];
    let fourth = op.data4.map(|data4| (data4, &op_data4::LOAD_RESYNC));
    let told =
        fields.into_iter().chain(fourth).filter(|(r, field)| field.is_known(&op.dialect) && r.is(field));
    let told: String = told.map(|(_, field)| format!(" {} 1", field.name)).collect();
    if told.is_empty() { told } else { format!("also:\t{}\n", told.trim_start()) }
}

fn unknown(registers: &[(&str, u64)], rest: usize) -> String {
    let mut text = String::new();
    for (name, word) in registers {
        bits(*word).for_each(|bit| text += &format!(" {name}[{bit}]"));
    }
    if rest > 0 {
        let _ = write!(text, " {rest} registers");
    }
    if text.is_empty() { text } else { format!("unknown:\t{}\n", text.trim_start()) }
}

#[cfg(test)]
mod tests {
    use crate::ibs::{FETCH, OP, Processor, Raw, Tally};

    fn raw(capabilities: u32, registers: &[u64]) -> Vec<u8> {
        let words = registers.iter().flat_map(|word| word.to_le_bytes());
        capabilities.to_le_bytes().into_iter().chain(words).collect()
    }

    #[test]
    fn fields_of_later_processors_are_in_the_form_of_later_versions_of_perf() {
        let op = |capabilities, registers: [u64; 8]| {
            super::op(&Raw::new(&raw(capabilities, &registers)).unwrap().op(None).unwrap())
        };
        let text = op(0x9_1bff, [0xf << 59 | 1 << 63, 0, 0, 3 << 8 | 3, 1 << 18 | 1 << 4, 0, 0, 0]);
        for shown in [
            "CurCnt         0 LdLatThrsh 15 LdLatEn 1",
            "RmtSocket 1 StrmSt 1 RmtNode 0 DataSrc 3=",
            " StOp 0 DcL1TlbMiss 0 DcL2TlbMiss 0 DcPageSize   2M DcMiss 0",
        ] {
            assert!(text.contains(shown), "{shown}\n{text}");
        }
        assert!(!text.contains("DcL1TlbHit2M") && !text.contains("unknown:"), "{text}");
        let untranslated = op(0x9_1bff, [0; 8]);
        assert!(untranslated.contains(" StOp 0 DcMiss 0"), "{untranslated}");
    }

    #[test]
    fn fields_of_the_first_processors_have_a_line_of_their_own() {
        let registers = [0, 0, 3 << 32, 0, 0x1_1e00, 0, 0];
        let first = Some(Processor { family: 0x10, model: 4 });
        let op = super::op(&Raw::new(&raw(0x1f, &registers)).unwrap().op(first).unwrap());
        let also = op.lines().find_map(|line| line.strip_prefix("also:\t")).unwrap();
        let names: Vec<&str> = also.split(' ').filter(|word| *word != "1").collect();
        assert_eq!(
            names,
            [
                "IbsOpBrnResync",
                "IbsOpMispReturn",
                "IbsDcLdBnkCon",
                "IbsDcStBnkCon",
                "IbsDcStToLdFwd",
                "IbsDcStToLdCan",
                "IbsDcMabHit"
            ]
        );
    }

    #[test]
    fn any_bytes_can_be_printed_and_counted() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        let mut tally = Tally::<u8>::default();
        for n in 0..2000 {
            let registers: Vec<u64> = (0..n % 12).map(|_| next()).collect();
            let bytes = raw(next() as u32, &registers);
            let family = [0x10, 0x14, 0x15, 0x16, 0x17, 0x19, 0x1a, 0x1b][n % 8];
            let processor = Some(Processor { family, model: next() as u32 % 256 });
            let raw = Raw::new(&bytes[..bytes.len() - n % 3]).unwrap();
            if let Ok(fetch) = raw.fetch(processor) {
                assert!(super::fetch(&fetch).ends_with('\n'));
                tally.note_fetch(&fetch);
                tally.count(&FETCH, 0, &fetch);
            }
            if let Ok(op) = raw.op(processor) {
                assert!(super::op(&op).ends_with('\n'));
                tally.note_op(&op);
                tally.count(&OP, 1, &op);
            }
        }
        assert_eq!(tally.rows.len(), 2);
    }
}
