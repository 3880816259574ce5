//! Events that have nothing to correct are left alone, and the report says why.

use std::path::PathBuf;

use crate::bytes::{EXACT, SAMPLE};
use crate::fixed::{Fixed, all, case, symfs};
use crate::recording::{Recording, example};
use crate::tool::{compile, folder, skidconv, text};

/// Where a word stands in the file header: the attributes' place and length, and that of the data.
const ATTRS: usize = 24;
const DATA: usize = 40;
/// A field of an attribute.
const KIND: usize = 0;
const CONFIG: usize = 8;
const FLAGS: usize = 40;

/// A case's recording that is about to say something else.
struct Forged {
    name: &'static str,
    bytes: Vec<u8>,
}

impl Forged {
    fn of(name: &'static str, case_name: &str) -> Forged {
        Forged { name, bytes: std::fs::read(case(case_name)).unwrap() }
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    /// Changes a word of an event's attribute.
    fn attr(&mut self, event: usize, field: usize, change: impl Fn(u64) -> u64) {
        let at = self.word(ATTRS) as usize + self.word(16) as usize * event + field;
        let word = change(self.word(at));
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Marks every sample for which `which` says so, by its number, as exact.
    fn mark_exact(&mut self, which: impl Fn(usize) -> bool) {
        let mut at = self.word(DATA) as usize;
        let end = at + self.word(DATA + 8) as usize;
        let mut n = 0;
        while at < end {
            let head = self.word(at);
            if head as u32 == SAMPLE {
                if which(n) {
                    self.bytes[at + 5] |= (EXACT >> 8) as u8;
                }
                n += 1;
            }
            at += (head >> 48) as usize;
        }
    }

    fn fix(self) -> Fixed {
        let folder = folder(self.name);
        let data: PathBuf = folder.join("perf.data");
        std::fs::write(&data, self.bytes).unwrap();
        Fixed::new(self.name, &folder, &data, Some(&symfs()), &[])
    }
}

/// Nothing changed for the event with this number, and the report says so with this class and reason.
fn assert_left(fixed: &Fixed, number: u32, class: &str, why: &str) {
    let samples: Vec<_> = fixed.samples().into_iter().filter(|(before, _)| before.attr == number).collect();
    assert!(!samples.is_empty());
    for (before, after) in &samples {
        assert_eq!(before, after, "{}", fixed.name);
    }
    let event = &fixed.report["events"][number as usize];
    assert_eq!((&event["class"], &event["moved"]), (&class.into(), &0.into()), "{}", fixed.name);
    assert!(event["reason"].as_str().unwrap().contains(why), "{}: {}", fixed.name, event["reason"]);
}

fn moved(fixed: &Fixed, number: usize) -> u64 {
    fixed.report["events"][number]["moved"].as_u64().unwrap()
}

#[test]
fn a_recording_made_with_pp_comes_out_with_every_address_unchanged() {
    let mut precise = Forged::of("precise", "nist_fn");
    for event in 0..2 {
        precise.attr(event, FLAGS, |flags| flags | 2 << 15);
    }
    precise.mark_exact(|_| true);
    let fixed = precise.fix();
    assert_left(&fixed, 0, "exact", "every sample is marked as exact");
    assert_left(&fixed, 1, "exact", "every sample is marked as exact");
    assert_eq!(fixed.report["model"], serde_json::Value::Null, "no skid was needed");
}

#[test]
fn a_precise_event_is_left_alone_even_where_a_sample_is_not_marked() {
    let mut precise = Forged::of("precise-in-part", "nist_fn");
    precise.attr(1, FLAGS, |flags| flags | 2 << 15);
    precise.mark_exact(|n| n % 3 > 0);
    let fixed = precise.fix();
    assert_left(&fixed, 1, "exact", "recorded with precise addresses");
}

#[test]
fn an_imprecise_event_beside_a_precise_one_is_still_corrected() {
    let mut mixed = Forged::of("mixed", "nist_fn");
    mixed.attr(0, FLAGS, |flags| flags | 2 << 15);
    let fixed = mixed.fix();
    assert_left(&fixed, 0, "exact", "recorded with precise addresses");
    assert!(moved(&fixed, 1) > 5000);
}

#[test]
fn page_faults_tracepoints_and_breakpoints_are_left_alone() {
    for (name, kind, config, why) in [
        ("page-faults", 1u64, 2, "the kernel raises it at the instruction itself"),
        ("tracepoint", 2, 315, "where it was placed"),
        ("breakpoint", 5, 0, "where it was placed"),
    ] {
        let mut synchronous = Forged::of(name, "nist_fn");
        synchronous.attr(0, KIND, |word| word >> 32 << 32 | kind);
        synchronous.attr(0, CONFIG, |_| config);
        let fixed = synchronous.fix();
        assert_left(&fixed, 0, "synchronous", why);
        assert!(moved(&fixed, 1) > 5000, "{name}: the event beside it is corrected");
    }
}

#[test]
fn an_event_of_unknown_kind_is_left_alone() {
    let mut unknown = Forged::of("unknown", "nist_fn");
    unknown.attr(0, KIND, |word| word >> 32 << 32 | 14);
    unknown.attr(0, CONFIG, |_| 0x1234);
    let fixed = unknown.fix();
    // its name, in a section of its own, still says cycles
    let class = fixed.report["events"][0]["class"].as_str().unwrap();
    assert!(["unknown", "time"].contains(&class), "{class}");
}

#[test]
fn what_others_recorded_precisely_is_left_alone() {
    let mut events = 0;
    for fixed in all() {
        for (number, event) in fixed.report["events"].as_array().unwrap().iter().enumerate() {
            let samples = event["samples"].as_u64().unwrap();
            if event["class"] == "exact" && samples > 0 {
                let reason = event["reason"].as_str().unwrap();
                assert_left(fixed, number as u32, "exact", reason);
                events += 1;
            }
        }
    }
    assert!(events >= 6, "{events} precise events");
}

#[test]
fn a_solver_is_told_of_where_it_has_nothing_to_solve() {
    let told = |name, events: u64| {
        let mut time = Forged::of(name, "nist_fn");
        (0..2).for_each(|event| time.attr(event, CONFIG, |config| config.min(events)));
        let (folder, symfs) = (folder(name), symfs());
        std::fs::write(folder.join("perf.data"), time.bytes).unwrap();
        let args = ["--solver", "flow", "--skid", "9", "--symfs", text(&symfs), "--no-calibration"];
        skidconv(&folder, &[&["fix", "perf.data"], &args[..]].concat()).out
    };
    let vain = "--solver and --skid have no effect here";
    assert!(told("time-alone", 0).contains(vain));
    assert!(!told("time-and-instructions", 1).contains("no effect here"));
}

#[test]
fn samples_of_another_machine_stay_and_the_machine_is_named() {
    let folder = folder("another-machine");
    let program = compile(&folder, "program", "int main(void) { return 0; }", &[]);
    let mut binary = std::fs::read(&program).unwrap();
    // EM_AARCH64 instead of EM_X86_64
    binary[18..20].copy_from_slice(&183u16.to_le_bytes());
    std::fs::write(&program, binary).unwrap();
    let assert_told = |r: &Recording| {
        std::fs::write(folder.join("perf.data"), r.file()).unwrap();
        let ran = skidconv(&folder, &["fix", "perf.data", "--force"]);
        let told =
            "left as recorded: the machine is aarch64, and only code of x86-64 and 32-bit x86 is followed";
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code == Some(0) && words.contains(told), "{ran:?}");
    };
    let mut r = example(false);
    r.features = vec![(6, r.string("aarch64"))];
    assert_told(&r);
    // where the header names none, the binary does
    r.features.clear();
    r.records.insert(1, r.mmap(&program, 0x40_0000, 0x10_0000, 0));
    assert_told(&r);
}
