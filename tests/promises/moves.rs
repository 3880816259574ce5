//! Samples move backwards only, along ways that execution could have taken.

use std::collections::{BTreeMap, HashMap, HashSet};

use skidconv::perfdata::PerfFile;

use crate::fixed::{Fixed, cases, samples};
use crate::recording::{Recording, USER};
use crate::tool::{address, compile, folder, run, text};
use crate::truth::{Graph, Truth};

/// Instructions on the longest way that a late interrupt is believed to be late by.
const LATEST: usize = 600;

/// How many samples moved from a reported place to each place.
fn moves(fixed: &Fixed) -> BTreeMap<u64, HashMap<u64, u64>> {
    let mut moves: BTreeMap<u64, HashMap<u64, u64>> = BTreeMap::new();
    for (before, after) in fixed.samples().into_iter().filter(|(before, after)| before.ip != after.ip) {
        *moves.entry(after.ip).or_default().entry(before.ip).or_default() += 1;
    }
    moves
}

#[test]
fn a_way_of_execution_leads_from_every_new_address_to_the_reported_one() {
    for fixed in cases() {
        let truth = Truth::of(&fixed.name);
        let (mut moved, mut longest) = (0, 0);
        for (to, from) in moves(fixed) {
            let reported: HashSet<u64> = from.keys().copied().collect();
            let steps = truth.graph().steps(to, &reported, LATEST);
            for (at, count) in from {
                let steps = steps.get(&at);
                assert!(
                    steps.is_some(),
                    "{}: {count} samples moved from {at:#x} to {to:#x}, which does not lead there",
                    fixed.name
                );
                longest = longest.max(*steps.unwrap());
                moved += count;
            }
        }
        eprintln!("{}: {moved} moved, by {longest} instructions at most", fixed.name);
    }
}

#[test]
fn samples_stand_on_instructions_and_hardly_ever_on_some_that_did_not_run() {
    for fixed in cases() {
        let truth = Truth::of(&fixed.name);
        let (mut moved, mut idle) = (0, 0);
        for (to, from) in moves(fixed) {
            assert!(truth.graph().has(to), "{}: {to:#x} is amid an instruction", fixed.name);
            let count: u64 = from.values().sum();
            moved += count;
            idle += if truth.executions.get(&to).is_some_and(|n| *n > 0) { 0 } else { count };
        }
        assert!(idle * 200 <= moved, "{}: {idle} of {moved} moved to what did not run", fixed.name);
    }
}

/// Two loops, one after the other, that never meet again.
const PHASES: &str = "
.text
.globl _start
.type _start, @function
_start:
    mov $1000000, %ecx
early:
    imul %eax, %eax
    add $1, %eax
    xor %eax, %esi
    dec %ecx
    jnz early
between:
    mov $1000000, %ecx
late:
    imul %edx, %edx
    add $1, %edx
    xor %edx, %edi
    dec %ecx
    jnz late
    mov $60, %eax
    xor %edi, %edi
    syscall
.size _start, . - _start
";

/// A loop, and a function that hardly runs.
const SELDOM: &str = "
.text
.globl _start
.type _start, @function
_start:
    mov $1000000, %ecx
often:
    div %esi
    add $1, %edx
    dec %ecx
    jnz often
    mov $60, %eax
    syscall
.size _start, . - _start
.globl seldom
.type seldom, @function
seldom:
    div %esi
    add $1, %edx
    ret
.size seldom, . - seldom
";

/// Fixes cycles of that program, and instructions beside them or not; one of the 30,000 is in the function.
fn fix_seldom(name: &str, instructions: bool) -> (Fixed, [u64; 2]) {
    let folder = folder(name);
    let program = compile(&folder, "seldom", SELDOM, &["-nostdlib", "-static", "-no-pie"]);
    let [often, seldom] = ["often", "seldom"].map(|name| address(&program, name));
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    recording.records.push(recording.mmap(&program, often & !0xfff, 0x1000, 0x1000));
    if instructions {
        recording.events.push(vec![6]);
    }
    for n in 0..30_000 {
        // div takes 2 bytes
        let at = if n == 15_000 { seldom } else { often } + 2;
        recording.records.push(recording.sample(5, at, 1000 + n, &[USER, at]));
        if instructions {
            recording.records.push(recording.sample(6, often + 2, 1000 + n, &[USER, often + 2]));
        }
    }
    let data = folder.join("seldom.data");
    let mut bytes = recording.file();
    // the first event counts cycles
    let attr = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    bytes[attr + 8] = 0;
    std::fs::write(&data, bytes).unwrap();
    (Fixed::new(name, &folder, &data, None, &[]), [often, seldom])
}

#[test]
fn a_single_sample_of_time_among_many_goes_to_what_was_waited_for() {
    for (name, instructions) in [("seldom", false), ("seldom-beside", true)] {
        let (fixed, [often, seldom]) = fix_seldom(name, instructions);
        let moved = moves(&fixed);
        assert_eq!(moved.get(&seldom), Some(&HashMap::from([(seldom + 2, 1)])), "{name}: {moved:x?}");
        assert!(moved[&often][&(often + 2)] >= 29_999, "{name}: {moved:x?}");
    }
}

/// Most interrupts report the instruction behind the slow one of their loop.
#[test]
fn samples_of_one_loop_do_not_move_into_one_that_runs_later() {
    let folder = folder("phases");
    let program = compile(&folder, "phases", PHASES, &["-nostdlib", "-static", "-no-pie"]);
    let [early, between, late] = ["early", "between", "late"].map(|name| address(&program, name));
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    recording.records.push(recording.mmap(&program, early & !0xfff, 0x1000, 0x1000));
    for n in 0..4000 {
        // imul takes 3 bytes, add 3, xor 2
        let offset = [3, 3, 3, 6, 8, 0][n as usize % 6];
        let at = if n < 2000 { early } else { late } + offset;
        recording.records.push(recording.sample(5, at, 1000 + n, &[USER, at]));
    }
    let data = folder.join("phases.data");
    std::fs::write(&data, recording.file()).unwrap();
    let fixed = Fixed::new("phases", &folder, &data, None, &[]);
    let mut moved = 0;
    for (before, after) in fixed.samples() {
        let phase = |ip: u64| (ip >= between, ip >= late);
        assert!(phase(after.ip) <= phase(before.ip), "{:#x} moved on to {:#x}", before.ip, after.ip);
        moved += u64::from(before.ip != after.ip);
    }
    assert!(moved > 1000, "{moved} moved");
    let graph = Graph::of(&program);
    for (to, from) in moves(&fixed) {
        let reported: HashSet<u64> = from.into_keys().collect();
        assert_eq!(
            graph.steps(to, &reported, LATEST).len(),
            reported.len(),
            "{to:#x} leads to where it was reported"
        );
    }
    let ips: HashSet<u64> = samples(&fixed.after).iter().map(|s| s.ip).collect();
    assert!(ips.contains(&early) && ips.contains(&late), "the slow instructions have samples: {ips:x?}");
    assert_eq!(PerfFile::open(&fixed.after).unwrap().attrs().len(), 1);
}

/// Samples of the first loop of [`PHASES`], the event that they count as, and what is done with them.
fn fix_early(name: &str, config: u8, copies: &[u64], args: &[&str]) -> (Fixed, u64) {
    let folder = folder(name);
    let program = compile(&folder, "phases", PHASES, &["-nostdlib", "-static", "-no-pie"]);
    let early = address(&program, "early");
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    for copy in copies {
        recording.records.push(recording.mmap(&program, (early & !0xfff) + copy, 0x1000, 0x1000));
    }
    for n in 0..3000 {
        let offset = [3, 3, 3, 6, 8, 0][n as usize % 6];
        let at = early + offset + copies[n as usize % copies.len()];
        recording.records.push(recording.sample(5, at, 1000 + n, &[USER, at]));
    }
    let data = folder.join("early.data");
    let mut bytes = recording.file();
    let attr = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    bytes[attr + 8] = config;
    std::fs::write(&data, bytes).unwrap();
    (Fixed::new(name, &folder, &data, None, args), early)
}

#[test]
fn samples_stay_in_their_mapping_of_a_file_that_is_mapped_twice() {
    let (fixed, early) = fix_early("mapped-twice", 1, &[0, 0x10_0000], &[]);
    let mut moved = 0;
    for (before, after) in fixed.samples() {
        let copy = |ip: u64| ip >= early + 0x8_0000;
        assert_eq!(copy(before.ip), copy(after.ip), "{:#x} moved to {:#x}", before.ip, after.ip);
        moved += u64::from(before.ip != after.ip);
    }
    assert!(moved > 1000, "{moved} moved");
}

#[test]
fn where_branches_are_counted_nothing_else_has_any() {
    let csv = folder("branches-counted").join("table.csv");
    let (fixed, early) = fix_early("branches-counted", 4, &[0], &["--csv", text(&csv)]);
    let jump = early + 10;
    let there = fixed.samples().iter().filter(|(_, after)| after.ip == jump).count();
    assert!(there > 2900, "{there} of 3000 stand on the jump");
    let table = std::fs::read_to_string(csv).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name| names.iter().position(|n| *n == name).unwrap();
    let [address, weight, low, high] = ["address", "fixed_weight", "low", "high"].map(column);
    let number = |text: &str| text.parse::<f64>().unwrap();
    for row in lines {
        let [weight, low, high] = [weight, low, high].map(|column| number(row[column]));
        match row[address] == format!("{jump:#x}") {
            true => assert!(low > 0.5 * weight, "{row:?}"),
            false => assert!(high <= weight, "{row:?}"),
        }
    }
}

/// A loop of six instructions across the border of two pages, behind 4090 bytes that nothing runs.
const ACROSS: &str = "
.text
.globl _start
_start:
    jmp early
.balign 4096
.space 4088, 0x90
early:
    imul %eax, %eax
    add $1, %eax
    xor %eax, %esi
    add $2, %edi
    dec %ecx
    jnz early
    ret
";

#[test]
fn a_loop_without_a_symbol_is_one_across_the_border_of_pages() {
    let folder = folder("across");
    let program = compile(&folder, "across", ACROSS, &["-nostdlib", "-static", "-no-pie"]);
    let early = address(&program, "early");
    run("strip", &["-s", text(&program)]);
    assert_eq!(early % 4096, 4088);
    let starts = [0, 3, 6, 8, 11, 13].map(|offset| early + offset);
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    recording.records.push(recording.mmap(&program, early & !0xfff, 0x2000, early & 0xfff_f000 & !0x40_0000));
    for n in 0..3000 {
        // what is waited for is the first, behind which all stand
        let at = starts[[1, 1, 1, 1, 1, 3][n as usize % 6]];
        recording.records.push(recording.sample(5, at, 1000 + n, &[USER, at]));
    }
    let data = folder.join("across.data");
    std::fs::write(&data, recording.file()).unwrap();
    let fixed = Fixed::new("across", &folder, &data, None, &[]);
    for at in starts {
        let there = fixed.samples().iter().filter(|(_, after)| after.ip == at).count();
        assert!((450..=550).contains(&there), "{there} of 3000 at {at:#x}");
    }
}
