//! Sampled accesses of any processor, as perf names them.

use crate::made::{EXACT, Event, MEMORY, Machine, Sampled};
use crate::tool::{folder, has_perf, perf, skidconv, text};

const LOADS: Event = Event { kind: 4, config: 0x1cd, name: "cpu/mem-loads,ldlat=30/P" };

/// `union perf_mem_data_src` as kernels write it: operation, level by bits, snoop, lock, TLB, level by number, remote.
const SOURCES: [u64; 10] = [
    // Intel's table of load latencies: L1, fill buffer, L2, L3, L3 with a modified line elsewhere
    2 | (8 | 2) << 5 | 2 << 19 | (8 | 2) << 26 | 1 << 33,
    2 | (0x10 | 2) << 5 | 2 << 19 | (8 | 0x10 | 2) << 26 | 0xc << 33,
    2 | (0x20 | 2) << 5 | 2 << 19 | (8 | 0x10 | 2) << 26 | 2 << 33,
    2 | (0x40 | 2) << 5 | 2 << 19 | (0x10 | 4) << 26 | 3 << 33,
    2 | (0x40 | 2) << 5 | 0x10 << 19 | (8 | 2) << 26 | 3 << 33,
    // memory of this node and of another, locked
    2 | (0x80 | 2) << 5 | 8 << 19 | (8 | 2) << 26 | 0xd << 33,
    2 | (0x100 | 2) << 5 | 8 << 19 | 2 << 24 | (0x10 | 4) << 26 | 0xd << 33 | 1 << 37,
    // stores that hit and missed the first level
    4 | (8 | 2) << 5 | 1 << 19 | (8 | 2) << 26 | 1 << 33,
    4 | (8 | 4) << 5 | 1 << 19 | (0x10 | 4) << 26,
    // nothing is told
    1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26 | 0xf << 33,
];

#[test]
fn accesses_are_counted_as_perf_names_them() {
    let folder = folder("ibs-memory");
    let data = folder.join("perf.data");
    let mut machine = Machine::new("GenuineIntel,6,85,4", MEMORY, vec![LOADS]);
    for (n, &data_src) in SOURCES.iter().enumerate() {
        for _ in 0..=n {
            let weight = 10 * n as u64;
            let ip = 0x40_1000 + n as u64;
            machine
                .sample(EXACT, &Sampled { ip, address: 0x7fff_0000, weight, data_src, ..Sampled::default() });
        }
    }
    machine.write(&data);
    let ran = skidconv(&folder, &["ibs", text(&data), "--csv", "-"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut rows = ran.out.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    let keys = rows.next().unwrap();
    // the event's name has a comma, so that its quotes are one field more
    let value = |row: &[String], key: &str| row[keys.iter().position(|k| k == key).unwrap() + 1].clone();
    let rows: Vec<Vec<String>> = rows.collect();
    assert_eq!(rows.len(), SOURCES.len(), "{}", ran.out);
    let count =
        |key: &str| -> Vec<String> { rows.iter().map(|row| value(row, &format!("memory_{key}"))).collect() };
    let of = |bits: [u64; 10]| bits.iter().zip(1..).map(|(bit, n)| (bit * n).to_string()).collect::<Vec<_>>();
    assert_eq!(count("load"), of([1, 1, 1, 1, 1, 1, 1, 0, 0, 0]));
    assert_eq!(count("store"), of([0, 0, 0, 0, 0, 0, 0, 1, 1, 0]));
    assert_eq!(count("l1_hit"), of([1, 0, 0, 0, 0, 0, 0, 1, 0, 0]));
    assert_eq!(count("dc_miss"), of([0, 1, 1, 1, 1, 1, 1, 0, 1, 0]));
    assert_eq!(count("fill_buffer"), of([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(count("l3_hit"), of([0, 0, 0, 1, 1, 0, 0, 0, 0, 0]));
    assert_eq!(count("from_memory"), of([0, 0, 0, 0, 0, 1, 1, 0, 0, 0]));
    assert_eq!(count("remote"), of([0, 0, 0, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(count("hitm"), of([0, 0, 0, 0, 1, 0, 0, 0, 0, 0]));
    assert_eq!(count("dtlb_miss"), of([0, 0, 0, 1, 0, 0, 1, 0, 1, 0]));
    assert_eq!(count("locked"), of([0, 0, 0, 0, 0, 0, 1, 0, 0, 0]));
    let latency: Vec<String> = (0..10).map(|n| format!("{n}0.00").replace("00.00", "0.00")).collect();
    assert_eq!(count("latency"), latency);
    compare_with_perf(&data, &rows, &value);
}

/// perf's words for each sample against the columns that count it.
fn compare_with_perf(
    data: &std::path::Path,
    rows: &[Vec<String>],
    value: &dyn Fn(&[String], &str) -> String,
) {
    if !has_perf() {
        return eprintln!("skipped: perf is not there");
    }
    let script = perf(&["script", "-f", "-G", "-F", "ip,data_src", "-i", text(data)]).out;
    // versions of perf differ in how they word a level, but not in these
    let words: [(&[&str], &str); 8] = [
        (&["OP LOAD"], "memory_load"),
        (&["OP STORE"], "memory_store"),
        (&["LVL ", "L1 hit"], "memory_l1_hit"),
        (&["LVL ", "L2 hit"], "memory_l2_hit"),
        (&["LVL ", "L3 hit"], "memory_l3_hit"),
        (&["SNP HitM"], "memory_hitm"),
        (&["TLB L2 miss"], "memory_dtlb_miss"),
        (&["LCK Yes"], "memory_locked"),
    ];
    for (n, row) in rows.iter().enumerate() {
        let end = format!("{:x}", 0x40_1000 + n);
        let lines: Vec<&str> = script.lines().filter(|line| line.trim_end().ends_with(&end)).collect();
        assert_eq!(lines.len(), n + 1, "{script}");
        for (words, key) in words {
            let says = |line: &&&str| {
                line.split('|')
                    .any(|part| part.starts_with(words[0]) && words.iter().all(|word| part.contains(word)))
            };
            let said = lines.iter().filter(says).count();
            assert_eq!(value(row, key), said.to_string(), "{words:?}: {}", lines[0]);
        }
    }
}
