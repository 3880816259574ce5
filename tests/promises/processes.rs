//! Processes of several programs share what is solved of a library, and no sample moves into a program that its process does not run.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::fixed::Fixed;
use crate::recording::{Recording, USER};
use crate::tool::{address, compile, folder, text};

/// What both call.
const LIBRARY: &str = "
.text
.globl work
.type work, @function
work:
    imul %eax, %eax
    add $1, %eax
    xor %eax, %esi
    add $1, %esi
    ret
.size work, . - work
";

/// A loop that calls it.
const PROGRAM: &str = "
.text
.globl _start
.type _start, @function
_start:
    imul %edx, %edx
    add $1, %edx
    xor %edx, %edi
    add $1, %edi
    call *work@GOTPCREL(%rip)
    jmp _start
.size _start, . - _start
";

#[test]
fn samples_of_a_library_go_back_into_the_program_of_their_process() {
    let folder = folder("processes");
    let library = compile(&folder, "libwork.so", LIBRARY, &["-shared", "-nostdlib"]);
    let program = |name: &str| {
        compile(&folder, name, PROGRAM, &["-nostdlib", "-pie", "-Wl,--no-as-needed", text(&library)])
    };
    let (work, bases) = (0x7f00_0000_0000 + address(&library, "work"), [0x5500_0000_0000, 0x5600_0000_0000]);
    let mut processes = BTreeMap::new();
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    for (pid, (name, base)) in (43..).zip(["one", "other"].into_iter().zip(bases)) {
        let program = program(name);
        let start = base + address(&program, "_start");
        recording.pid = Some(pid as u32);
        for (file, at) in [(&program, start), (&library, work)] {
            recording.records.push(recording.mmap(file, at & !0xfff, 0x1000, 0x1000));
        }
        processes.insert(pid, start);
    }
    for n in 0..2000 {
        let (&pid, start) = processes.iter().nth(n % 2).expect("two");
        recording.pid = Some(pid as u32);
        let at = if n < 100 { *start } else { work };
        recording.records.push(recording.sample(5, at, 1000 + n as u64, &[USER, at]));
    }
    let data = folder.join("processes.data");
    std::fs::write(&data, recording.file()).unwrap();
    let fixed = Fixed::new("processes", &folder, &data, None, &[]);
    let mut moved: BTreeMap<i32, u64> = BTreeMap::new();
    for (before, after) in fixed.samples() {
        let within = |start: u64| -> Range<u64> { start..start + 0x100 };
        assert!(
            within(work).contains(&after.ip) || within(processes[&after.pid]).contains(&after.ip),
            "{after:x?}"
        );
        *moved.entry(after.pid).or_default() +=
            u64::from(before.ip == work && !within(work).contains(&after.ip));
    }
    assert!(moved.values().all(|&moved| moved > 200), "{moved:?}");
    let warnings = fixed.report["warnings"].to_string();
    assert!(!warnings.contains("left where they stand"), "{warnings}");
}
