//! Samples of events that come at known places: none is lost without a word, and random intervals keep no step.

use super::*;
use skidconv_recorder::records::kinds;
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes one word from eight places in turn, 60,000 times.
const WRITES: u64 = 60_000;
const WRITER: &str = r#"
volatile unsigned long written;
static void rest(void) { for (int i = 0; i < 20; i++) __builtin_ia32_pause(); }
int main(void) {
    for (int i = 0; i < 7500; i++) {
        written = 1; rest(); written = 2; rest(); written = 3; rest(); written = 4; rest();
        written = 5; rest(); written = 6; rest(); written = 7; rest(); written = 8; rest();
    }
    return 0;
}
"#;

#[test]
fn what_has_no_room_in_memory_is_told_as_lost() {
    let folder = folder("record-lost");
    let (writer, event) = writer(&folder);
    // each write a sample, and room for a hundred of them; on an idle machine the recorder would keep up even so
    let arguments = ["-e", &event, "-c", "1", "-m", "1", "--", text(&writer)];
    let Some(ran) = on_a_busy_machine(|| record(&folder, &arguments)) else { return };
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    let mut walk = file.records().unwrap();
    let (mut seen, mut lost) = (0, 0);
    while let Some(record) = walk.next().unwrap() {
        match record.kind {
            kinds::SAMPLE => seen += 1,
            kinds::LOST => lost += u64::from_ne_bytes(record.bytes[16..24].try_into().unwrap()),
            _ => {}
        }
    }
    assert!(lost > 0, "{seen} samples and none lost");
    // what is lost may be records of mappings as well
    assert!((WRITES..WRITES + 50).contains(&(seen + lost)), "{seen} samples, {lost} lost");
    assert!(ran.err.contains("were lost"), "{}", ran.err);
}

/// What `what` gives while every processor has more to do than it can.
fn on_a_busy_machine<T>(what: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..4 * processors {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        done.store(true, Ordering::Relaxed);
        found.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// The program, and the event of its writes.
fn writer(folder: &Path) -> (std::path::PathBuf, String) {
    let writer = compile(folder, "writer", WRITER, &["-O1", "-no-pie"]);
    let symbols = run("nm", &[text(&writer)]);
    let line = symbols.lines().find(|line| line.ends_with(" written")).unwrap();
    (writer, format!("mem:0x{}/8:w", line.split(' ').next().unwrap()))
}

/// Two of eight places in step with the period, all eight if intervals are random; and these are as even as they should be.
#[test]
fn random_intervals_are_uniform_and_break_the_step_that_a_fixed_one_keeps() {
    const MEAN: u64 = 400;
    let folder = folder("record-random");
    let (writer, event) = writer(&folder);
    let mean = MEAN.to_string();
    let args = ["-e", &event, "-c", &mean, "-o", "fixed.data", "--", text(&writer)];
    if record(&folder, &args).is_none() {
        return;
    }
    let fixed = samples(&folder.join("fixed.data"));
    // a breakpoint that is missed while the thread moves from one processor to another changes the step
    let (share, places) = most(&fixed);
    assert!(share > 0.5 && places < 8, "the fixed period keeps step: {share} {places}");
    let args = [&["--randomize", "--seed", "7"], &args[..]].concat();
    let args: Vec<&str> = args.iter().map(|a| if *a == "fixed.data" { "random.data" } else { *a }).collect();
    record(&folder, &args).unwrap();
    let random = samples(&folder.join("random.data"));
    let (share, places) = most(&random);
    assert!(share < 0.35 && places == 8, "random intervals do not: {share} {places}");
    // those that the recorder came too late for are longer than any that is drawn
    let mut intervals: Vec<u64> = random.iter().map(|sample| sample.1).collect();
    intervals.sort();
    let drawn = intervals.partition_point(|&interval| interval < MEAN * 3 / 2);
    assert!(drawn * 10 >= intervals.len() * 9, "{} of {} in range", drawn, intervals.len());
    // Kolmogorov–Smirnov: √n D beyond 2.2 has a probability of 0.0001
    let n = drawn as f64;
    let uniform = |interval: u64| (interval.max(MEAN / 2) - MEAN / 2) as f64 / MEAN as f64;
    let distance = |(at, &interval): (usize, &u64)| (uniform(interval) - (at as f64 + 0.5) / n).abs();
    let distance = intervals[..drawn].iter().enumerate().map(distance).fold(0.0, f64::max);
    assert!(distance * n.sqrt() < 2.2, "intervals are uniform: {distance} of {n}");
}

/// The share of the place with the most samples, and how many places there are.
fn most(samples: &[(u64, u64)]) -> (f64, usize) {
    let mut counts = std::collections::BTreeMap::<u64, u64>::new();
    samples.iter().for_each(|sample| *counts.entry(sample.0).or_default() += 1);
    let most = counts.values().max().copied().unwrap_or(0);
    (most as f64 / samples.len() as f64, counts.len())
}
