//! Which address other programs take for the leaf of a corrected sample: the one that the table has, in each of them.
//!
//! They disagree on where to look. `perf report` takes the sample's address; what reads `perf script` (FlameGraph, inferno)
//! takes the first of the callchain, and so do samply and hotspot's parser; where the stack is unwound from a copy, samply
//! takes the registers' program counter, and hotspot's parser unwinds from there. `create_llvm_prof` takes the sample's
//! address, of recordings without copies of stacks; of 0.19, the program must have debug information no newer than DWARF 4,
//! and `--use_lbr=false` must be said where there are no branch stacks, or the profile is empty. samply and FlameGraph are in
//! no distribution: they are asked where they are installed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use serde::Deserialize;
use serde_json::Value;

use super::hotspot::{self, PERFPARSER};
use super::tool::{compile, folder, has, has_perf, perf, record, run as tool, skidconv, testdata, text};
use super::{Row, run};

/// Weight or samples by address in the program.
type Leaves = BTreeMap<u64, u64>;

/// Where the programs of these tests are linked to; their segments stand in the file where they stand in memory behind it.
const BASE: u64 = 0x40_0000;

/// A corrected recording, its table, and where its binaries are.
struct Fixed {
    data: PathBuf,
    rows: Vec<Row>,
    symfs: PathBuf,
}

impl Fixed {
    /// By callchains that the kernel walked.
    fn chains() -> Fixed {
        Fixed { data: run("fix").join("fix.data"), rows: super::rows("fix"), symfs: testdata("cases/symfs") }
    }

    /// By copies of the stack. `None` where nothing can be recorded.
    fn copies() -> Option<Fixed> {
        static FIXED: OnceLock<Option<PathBuf>> = OnceLock::new();
        Fixed::live(FIXED.get_or_init(|| live("leaves", &["--call-graph", "dwarf,512"])).as_ref()?)
    }

    /// Without callers. `None` where nothing can be recorded.
    fn plain() -> Option<Fixed> {
        Fixed::live(&live("leaves-plain", &[])?)
    }

    fn live(folder: &Path) -> Option<Fixed> {
        let table = std::fs::read(folder.join("fixed.csv")).unwrap();
        let rows = csv::Reader::from_reader(&table[..]).into_deserialize().map(Result::unwrap).collect();
        Some(Fixed { data: folder.join("fixed.data"), rows, symfs: "/".into() })
    }

    fn events(&self) -> Vec<&str> {
        let mut events: Vec<&str> = self.rows.iter().map(|row| row.event.as_str()).collect();
        events.dedup();
        events
    }

    /// What the table says of the program's own code.
    fn table(&self, event: &str, value: fn(&Row) -> u64) -> Leaves {
        let of_event = self.rows.iter().filter(|row| row.event == event && value(row) > 0);
        let address = |row: &Row| u64::from_str_radix(&row.address[2..], 16).unwrap();
        of_event.filter(|row| program(&row.image)).map(|row| (address(row), value(row))).collect()
    }
}

fn program(image: &str) -> bool {
    image.ends_with("/branchy") || image.ends_with("/divide")
}

const DIVIDE: &str = "
    static volatile unsigned long sink, most = 200000;
    __attribute__((noinline)) unsigned long divide(unsigned long n) {
        unsigned long sum = 1;
        for (unsigned long i = 1; i < n; i++) {
            // what waits for the quotient is in its line
            sum = ((sum ^ i) | 1ul << 63) / (i | 1);
        }
        return sum;
    }
    __attribute__((noinline)) unsigned long mix(unsigned long n) {
        unsigned long sum = 1;
        for (unsigned long i = 1; i < n; i++) { sum = sum * 6364136223846793005ul + i; sum ^= sum >> 17; }
        return sum;
    }
    int main(void) {
        for (int round = 0; round < 160; round++) sink += divide(most) + mix(3 * most);
        return 0;
    }";

fn live(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = folder(name);
    let program = compile(&folder, "divide", DIVIDE, &["-O1", "-gdwarf-4", "-no-pie"]);
    let data = folder.join("perf.data");
    record(&data, &[&["-e", "cpu-clock:u", "-F", "1500"], flags, &["--", text(&program)]].concat())?;
    let ran = skidconv(&folder, &["fix", "perf.data", "-o", "fixed.data", "--csv", "fixed.csv"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    Some(folder)
}

/// A program that is in no distribution.
fn is_installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output().unwrap();
    if !found.status.success() {
        eprintln!("skipped: {program} is not there");
    }
    found.status.success()
}

/// `perf script`, with addresses for names.
fn script(data: &Path) -> String {
    let ran = perf(&["script", "-f", "-i", text(data), "--symfs", "/nowhere"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

/// Leaves of folded stacks, which say `[program <address>]` or `[address]`.
fn of_folded(folded: &str) -> Leaves {
    let mut leaves = Leaves::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let leaf = stack.rsplit(';').next().unwrap();
        if let Some((_, address)) = leaf.split_once('<').filter(|(name, _)| !name.contains(".so")) {
            let offset = u64::from_str_radix(address.trim_end_matches(['>', ']']), 16).unwrap();
            *leaves.entry(BASE + offset).or_default() += weight.parse::<u64>().unwrap();
        }
    }
    leaves
}

#[test]
fn what_folds_perf_script_has_them_on_the_table_s_instructions() {
    if !has_perf() {
        return;
    }
    let fixed = Fixed::chains();
    let script = script(&fixed.data);
    // of periods that perf pads, because names of events differ in length, inferno makes 1
    let unpadded = "instructions:u";
    let mut options = Options::default();
    (options.include_addrs, options.event_filter) = (true, Some("instructions".to_owned()));
    let mut folder = Folder::from(options);
    let mut folded = Vec::new();
    folder.collapse(script.as_bytes(), &mut folded).unwrap();
    let table = fixed.table(unpadded, |row| row.fixed_weight);
    assert_eq!(of_folded(&String::from_utf8(folded).unwrap()), table, "inferno");
    if is_installed("stackcollapse-perf.pl") {
        for event in fixed.events() {
            let filter = format!("--event-filter={event}");
            let folded = piped("stackcollapse-perf.pl", &["--addrs", &filter], &script);
            assert_eq!(of_folded(&folded), fixed.table(event, |row| row.fixed_weight), "FlameGraph, {event}");
        }
    }
}

fn piped(program: &str, args: &[&str], input: &str) -> String {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hotspot_s_parser_has_them_on_the_table_s_instructions() {
    if !has(PERFPARSER) {
        return;
    }
    for fixed in [Some(Fixed::chains()), Fixed::copies()].into_iter().flatten() {
        let parsed = hotspot::leaves(&fixed.data, &fixed.symfs);
        for (index, event) in fixed.events().into_iter().enumerate() {
            let of_event = parsed.iter().filter(|((of, _), _)| *of == index as i32);
            // libraries and the kernel lie beyond
            let leaves: Leaves = of_event
                .map(|((_, address), weight)| (*address, *weight))
                .filter(|(a, _)| *a < 2 * BASE)
                .collect();
            let table = fixed.table(event, |row| row.fixed_weight);
            assert!(table.len() > 3);
            assert_eq!(leaves, table, "{event} of {}", fixed.data.display());
        }
    }
}

/// The tables of samply's file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    samples: Value,
    stack_table: Value,
    frame_table: Value,
    func_table: Value,
    resource_table: Value,
}

#[test]
fn samply_has_them_on_the_table_s_instructions() {
    if !is_installed("samply") {
        return;
    }
    for fixed in [Some(Fixed::chains()), Fixed::copies()].into_iter().flatten() {
        let output = fixed.data.with_extension("samply.json");
        tool("samply", &["import", "--save-only", "--no-open", "-o", text(&output), text(&fixed.data)]);
        let profile: Value = serde_json::from_slice(&std::fs::read(&output).unwrap()).unwrap();
        let number = |value: &Value, name: &str, ix: usize| value[name][ix].as_u64().map(|n| n as usize);
        let mut leaves = Leaves::new();
        for thread in profile["threads"].as_array().unwrap() {
            let t: Thread = serde_json::from_value(thread.clone()).unwrap();
            for stack in t.samples["stack"].as_array().unwrap().iter().filter_map(Value::as_u64) {
                let frame = number(&t.stack_table, "frame", stack as usize).unwrap();
                let function = number(&t.frame_table, "func", frame).unwrap();
                let Some(resource) = number(&t.func_table, "resource", function) else { continue };
                let library = number(&t.resource_table, "lib", resource).unwrap();
                if profile["libs"][library]["path"].as_str().is_some_and(program) {
                    let address = t.frame_table["address"][frame].as_u64().unwrap();
                    *leaves.entry(BASE + address).or_default() += 1;
                }
            }
        }
        // samply has the first event as its samples, each weighing the same
        let table = fixed.table(fixed.events()[0], |row| row.fixed_samples);
        assert_eq!(leaves, table, "{}", fixed.data.display());
    }
}

/// Samples of `divide` by line, counted from that of its name, in a profile for LLVM.
fn lines_of_divide(data: &Path) -> BTreeMap<u32, u64> {
    let (program, output) = (data.with_file_name("divide"), data.with_extension("afdo"));
    let arg = |name: &str, path: &Path| format!("--{name}={}", text(path));
    let args = [arg("binary", &program), arg("profile", data), arg("out", &output)];
    // for want of branch stacks
    let args = args.iter().map(String::as_str).chain(["--format=text", "--use_lbr=false"]);
    tool("create_llvm_prof", &args.collect::<Vec<_>>());
    let profile = std::fs::read_to_string(&output).unwrap();
    let lines = profile.lines().skip_while(|line| !line.starts_with("divide:")).skip(1);
    let lines =
        lines.take_while(|line| line.starts_with(' ')).map(|line| line.trim().split_once(": ").unwrap());
    lines.map(|(line, samples)| (line.parse().unwrap(), samples.parse().unwrap())).collect()
}

#[test]
fn create_llvm_prof_has_more_on_the_division_than_before() {
    if !has("create_llvm_prof") {
        return;
    }
    let Some(fixed) = Fixed::plain() else { return };
    let before = lines_of_divide(&fixed.data.with_file_name("perf.data"));
    let after = lines_of_divide(&fixed.data);
    let division = |lines: &BTreeMap<u32, u64>| lines.get(&4).copied().unwrap_or(0);
    let all = |lines: &BTreeMap<u32, u64>| lines.values().sum::<u64>();
    assert!(all(&before) > 100, "{before:?}");
    assert!(
        division(&after) * 10 > all(&after) * 9 && division(&after) > division(&before),
        "{before:?} → {after:?}"
    );
}
