//! perf's own tools read what comes out, without a word of complaint.

use crate::fixed::{Fixed, all, case, cases, symfs};
use crate::tool::{Ran, folder, has_perf, perf, text};

/// Read, and nothing said about it that was not said of the recording as it was.
fn assert_read(fixed: &Fixed, run: impl Fn(&str) -> Ran) -> (Ran, Ran) {
    let (before, after) = (run(text(&fixed.before)), run(text(&fixed.after)));
    assert_eq!(after.code, Some(0), "{}: {}", fixed.name, after.err);
    assert_eq!(complaints(&after), complaints(&before), "{}", fixed.name);
    (before, after)
}

/// What perf says, less what it says of the machine it runs on.
fn complaints(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|l| !l.trim().is_empty() && !l.contains("kptr_restrict")).collect()
}

#[test]
fn perf_script_reads_every_sample() {
    if !has_perf() {
        return;
    }
    let symfs = symfs();
    for fixed in cases() {
        let script = |path: &str| {
            perf(&["script", "-f", "-i", path, "--symfs", text(&symfs), "-F", "tid,time,period,event", "-G"])
        };
        let (before, after) = assert_read(fixed, script);
        assert!(complaints(&after).is_empty(), "{}: {}", fixed.name, after.err);
        assert_eq!(before.out, after.out, "{}: threads, times, periods and events", fixed.name);
        assert_eq!(after.out.lines().filter(|l| !l.trim().is_empty()).count(), fixed.samples().len());
    }
}

#[test]
fn perf_script_and_we_agree_on_the_new_addresses() {
    if !has_perf() {
        return;
    }
    let symfs = symfs();
    for fixed in cases() {
        let ran =
            perf(&["script", "-f", "-i", text(&fixed.after), "--symfs", text(&symfs), "-F", "ip", "-G"]);
        let theirs: Vec<u64> =
            ran.out.split_whitespace().map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let ours: Vec<u64> = crate::fixed::samples(&fixed.after).iter().map(|s| s.ip).collect();
        assert_eq!(theirs, ours, "{}", fixed.name);
    }
}

#[test]
fn perf_report_reads_it() {
    if !has_perf() {
        return;
    }
    let symfs = symfs();
    for fixed in cases() {
        let args = ["--stdio", "--no-children", "-g", "none", "--symfs", text(&symfs)];
        let report = |path: &str| perf(&[&["report", "-f", "-i", path], &args[..]].concat());
        let (before, after) = assert_read(fixed, report);
        assert!(complaints(&after).is_empty(), "{}: {}", fixed.name, after.err);
        let totals = |ran: &Ran| -> Vec<String> {
            ran.out
                .lines()
                .filter(|l| l.contains("Event count") || l.contains("# Samples"))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!((totals(&before), totals(&after).len()), (totals(&after), 4), "{}", fixed.name);
        assert!(after.out.contains(if fixed.name == "nist_fn" { "fn2" } else { "main" }), "{}", after.out);
    }
}

#[test]
fn perf_annotate_reads_it_and_shows_the_samples_where_they_are_now() {
    if !has_perf() {
        return;
    }
    let symfs = symfs();
    let fixed = crate::fixed::the("nist_fn");
    let annotate =
        |path: &str| perf(&["annotate", "-f", "-i", path, "--symfs", text(&symfs), "--stdio", "-s", "fn2"]);
    let (before, after) = assert_read(fixed, annotate);
    assert!(complaints(&after).is_empty(), "{}", after.err);
    // of its second table, that of instructions: share of the load that fn2 begins with
    let share = |ran: &Ran| -> f64 {
        let mut rows = ran.out.lines().filter(|l| l.contains(" 401710:"));
        rows.next_back().unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(share(&after) < 10.0, "it runs once in 33 instructions: {}", share(&after));
    assert!((share(&before) - share(&after)).abs() > 1.0);
}

#[test]
fn perf_reads_recordings_of_others_as_it_did_before() {
    if !has_perf() {
        return;
    }
    let mut read = 0;
    for fixed in all() {
        let report = |path: &str| perf(&["report", "-f", "-i", path, "--stats"]);
        if report(text(&fixed.before)).code == Some(0) {
            assert_eq!(report(text(&fixed.after)).code, Some(0), "{}", fixed.name);
            read += 1;
        }
    }
    assert!(read > 8, "{read} read");
}

#[test]
fn perf_inject_takes_it() {
    if !has_perf() {
        return;
    }
    let folder = folder("inject");
    let out = folder.join("injected.data");
    let fixed = Fixed::new("nist_fn", &folder, &case("nist_fn"), Some(&symfs()), &[]);
    let ran = perf(&["inject", "-f", "-i", text(&fixed.after), "-o", text(&out)]);
    assert_eq!((ran.code, complaints(&ran)), (Some(0), vec![]), "{}", ran.err);
    assert_eq!(crate::fixed::samples(&out), crate::fixed::samples(&fixed.after));
}
