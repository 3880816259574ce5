//! Recordings made here: what is in them, and what happens where there can be none.
#![cfg(target_os = "linux")]

mod failures;
mod intervals;
mod readers;
#[path = "../tool/mod.rs"]
mod tool;

use skidconv::perfdata::{CpuMode, PerfFile, Sample};
use std::path::Path;
use tool::{Ran, compile, folder, has_perf, perf, perf_is_required, run, skidconv, text};

/// Spins for so many milliseconds; then so in four threads, then so in three children that run it anew.
const SPIN: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long left;
__attribute__((noinline)) static void *spin(void *unused) {
    struct timespec now;
    long until;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + left;
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
    return unused;
}
int main(int count, char **words) {
    left = atol(words[1]);
    spin(0);
    if (count > 2) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(threads + i, 0, spin, 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        for (int i = 0; i < 3; i++)
            if (!fork()) execl(words[0], words[0], words[1], (char *)0);
        while (wait(0) > 0) {}
    }
    return count > 2 ? 3 : 0;
}
"#;

/// Records, where the kernel allows it; with `SKIDCONV_REQUIRE_PERF` set it has to.
fn record(folder: &Path, args: &[&str]) -> Option<Ran> {
    let ran = skidconv(folder, &[&["record"], args].concat());
    let refused = ["perf_event_paranoid is", "cannot open "].iter().any(|why| ran.err.contains(why));
    if ran.code == Some(1) && refused {
        assert!(!perf_is_required(), "skidconv cannot record here: {}", ran.err);
        eprintln!("skipped: skidconv cannot record here: {}", ran.err);
        return None;
    }
    Some(ran)
}

/// Samples as skidconv's reader has them: address and period.
fn samples(data: &Path) -> Vec<(u64, u64)> {
    of_samples(data, |sample| (sample.ip, sample.period))
}

fn of_samples<T>(data: &Path, what: impl Fn(&Sample<'_>) -> T) -> Vec<T> {
    let file = PerfFile::open(data).unwrap();
    let mut walk = file.records().unwrap();
    let mut found = vec![];
    while let Some(record) = walk.next().unwrap() {
        found.extend(file.sample(&record).unwrap().map(|sample| what(&sample)));
    }
    found
}

/// Samples as perf has them; `None` without perf.
fn by_perf(data: &Path) -> Option<usize> {
    let script = || perf(&["script", "-f", "-i", text(data), "-F", "tid"]);
    has_perf().then(|| script().out.lines().filter(|line| !line.trim().is_empty()).count())
}

/// What the recorder says it recorded.
fn told(ran: &Ran) -> usize {
    let line = ran.err.lines().find(|line| line.contains(" samples, ")).expect(&ran.err);
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_recording_tells_of_its_machine_and_its_binaries() {
    let folder = folder("record-header");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread", "-Wl,--build-id=0x1234567890abcdef"]);
    if record(&folder, &["-e", "{cpu-clock,page-faults}", "--", text(&spin), "50"]).is_none() {
        return;
    }
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    let features = file.features();
    assert!(features.cmdline.iter().any(|word| word == "{cpu-clock,page-faults}"));
    let ids = &features.build_ids;
    let id = ids.iter().find(|id| id.filename == text(&spin).as_bytes()).expect("the program's build-id");
    assert_eq!(id.bytes, 0x1234_5678_90ab_cdef_u64.to_be_bytes());
    let names: Vec<_> = file.attrs().iter().map(|attr| attr.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "page-faults"]);
    let (first, last) = features.sample_time.unwrap();
    assert!(0 < first && first <= last);
    assert!(features.clock.is_some() && features.nr_cpus.is_some());
    if has_perf() {
        let header = perf(&["report", "-f", "--header-only", "-i", text(&folder.join("perf.data"))]).out;
        for fact in ["# hostname :", "# cpuid :", "# group: {cpu-clock,page-faults}", "clockid = 1"] {
            assert!(header.contains(fact), "{fact}: {header}");
        }
        let report =
            perf(&["report", "-f", "--stdio", "-s", "symbol", "-i", text(&folder.join("perf.data"))]);
        assert!(report.out.contains("spin"), "{}", report.out);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_skid_of_this_machine_is_measured_stored_and_used() {
    let folder = folder("record-calibrate");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    if record(&folder, &["-e", "cpu-clock", "-F", "4000", "--", text(&spin), "200"]).is_none() {
        return;
    }
    let ran = skidconv(&folder, &["calibrate", "--duration", "0.3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let event = if skidconv_recorder::has_counters() { "cycles" } else { "cpu-clock" };
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    let cpuid = file.features().cpu_id.clone().unwrap();
    let stored = folder.join("skidconv/calibrations");
    let skid = skidconv::skid::Calibration::load(&stored, &cpuid).expect("the recording is from here");
    let divides = &skid.event(event).unwrap().behind["divides"];
    // a loop that does nothing but divide: all samples are on the divide or close behind it
    assert!(divides[..3].iter().sum::<f64>() > 0.9, "{divides:?}");
    let measured = "measured on such a processor";
    if event == "cpu-clock" {
        assert!(skidconv(&folder, &["report", "perf.data"]).out.replace("\n ", "").contains("on such a"));
        let plain = skidconv(&folder, &["report", "--no-calibration", "perf.data"]);
        assert!(plain.code == Some(0) && !plain.out.contains(measured));
    }
}
