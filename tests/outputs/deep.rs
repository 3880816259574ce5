//! Code that nobody writes, and whoever is sent it must not run out of memory by.

use std::fmt::Write;
use std::process::Command;

use super::recording::{Recording, USER};
use super::tool::{compile, folder, run, text};

const LOOPS: usize = 20_000;
/// What it may take, in KiB. With the blocks of each loop in a list of its own it would be 3 GB.
const MEMORY: u64 = 1_000_000;

#[test]
fn loops_nested_thousands_deep_take_little_memory_and_the_page_shows_them() {
    let folder = folder("deep");
    let mut source = String::from(".globl _start\n.type _start, @function\n_start:\n");
    (0..LOOPS).for_each(|ix| writeln!(source, "l{ix}: nop").unwrap());
    (0..LOOPS).rev().for_each(|ix| writeln!(source, "jne l{ix}").unwrap());
    source += "ret\n.size _start, . - _start\n";
    let program = compile(&folder, "deep", &source, &["-nostdlib", "-static", "-no-pie"]);
    let symbols = run("nm", &[text(&program)]);
    let line = symbols.lines().find(|line| line.ends_with(" T _start")).unwrap();
    let start = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    recording.records.push(recording.mmap(&program, start & !0xfff, 0x10_0000, 0x1000));
    for n in 0..100 {
        recording.records.push(recording.sample(5, start + 2 * n, 1000 + n, &[USER, start + 2 * n]));
    }
    std::fs::write(folder.join("deep.data"), recording.file()).unwrap();
    let limited = format!("ulimit -d {MEMORY}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_skidconv"), "convert", "deep.data"]);
    let output = command.args(["-q", "--html", "deep.html"]).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.join("deep.html")).unwrap();
    assert!(page.matches(" of the function").count() >= LOOPS);
}
