//! What a reader must find on the terminal.

use super::*;
use crate::report::{Class, FunctionShare, Quantiles, UnverifiedImage};

fn made() -> Report {
    let function = |name: &str, before, after, low, high| FunctionShare {
        name: name.into(),
        image: "/usr/bin/prog".into(),
        samples: 10,
        before,
        after,
        low,
        high,
        address: Some(0x1000),
        verdict: Verdict::Gibbs,
    };
    let cycles = EventReport {
        name: "instructions:u".into(),
        class: Class::Retirement,
        samples: 12_000,
        weight: 12_000_000,
        moved: 6_000,
        distance: Some(Distance { bytes: Quantiles { median: 4, p90: 31, max: 212 }, instructions: None }),
        verdict: Verdict::Gibbs,
        reason: "late by the skid".into(),
        functions: vec![
            function("std::vector<int>::at(unsigned long)", 0.10, 0.60, 0.55, 0.65),
            function("main", 0.9, 0.4, 0.35, 0.45),
        ],
    };
    Report {
        corrected: true,
        input: "perf.data".into(),
        output: Some("perf.fixed.data".into()),
        samples: 12_000,
        lost: 3,
        model: Some(Model {
            skid_cycles: 12.34,
            interval: Some([10.0, 15.0]),
            late: Some(true),
            in_order: true,
            ..Model::default()
        }),
        events: vec![cycles],
        ..Report::default()
    }
}

#[test]
fn addresses_that_are_late_after_long_waits_only_are_told_so() {
    let mut report = made();
    report.model = report.model.map(|model| Model { after_long_waits: true, ..model });
    let text = plain(&report).replace('\n', " ");
    let expected = "reported on the instruction waited for, or after long waits on the one after it";
    assert!(text.contains(expected), "{text}");
}

fn plain(report: &Report) -> String {
    render(report, &Style::default())
}

#[test]
fn an_event_says_what_was_done_and_how_far_samples_moved() {
    let text = plain(&made());
    for expected in [
        "perf.data → perf.fixed.data",
        "12,000 samples · 3 lost while recording · solver gibbs, seed 0",
        "skid 12.3 cycles [10.0, 15.0], reported on the instruction after the one waited for; the processor",
        "seems to issue in order",
        "instructions:u · 12,000 samples, 6,000 moved (50.0%)",
        "an event of retirement, solved by Gibbs sampling: late by the skid",
        "moved by 4 bytes at the median, 31 at 90%, 212 at most",
        "10.0%   60.0%    55.0% –  65.0%  ████████████  std::vector<int>::at(unsigned long)  prog",
        "perf report -i perf.fixed.data",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn the_last_line_can_be_pasted_into_a_shell() {
    let mut report = made();
    let mut last = |output: &str| {
        report.output = Some(output.into());
        plain(&report).lines().last().unwrap().to_owned()
    };
    assert_eq!(last("a-b_1.fixed.data"), "perf report -i a-b_1.fixed.data");
    assert_eq!(last("o/ä b's.data"), r"perf report -i 'o/ä b'\''s.data'");
    assert!(!last("a\n\x1b[31m.data").contains("perf report"));
}

#[test]
fn a_member_of_a_group_moves_with_its_leader() {
    let mut report = made();
    (report.events[0].class, report.events[0].verdict) = (Class::Led, Verdict::Unchanged);
    let text = plain(&report);
    assert!(text.contains("an event of a group: late by the skid") && !text.contains("left as"), "{text}");
}

#[test]
fn lines_keep_to_the_width() {
    let mut report = made();
    report.events[0].functions[0].name = "very_long_name_".repeat(30);
    report.events[0].functions[1].image = "/a/".to_owned() + &"long".repeat(40);
    report.events[0].reason = "because of this and that ".repeat(20);
    for width in [60, 80, 100, 200] {
        let text = render(&report, &Style { width, ..Style::default() });
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= width, "{longest} > {width}\n{text}");
    }
}

#[test]
fn a_missing_binary_comes_with_what_to_do() {
    let mut report = made();
    report.missing.push(MissingImage {
        path: "/opt/lib\x1b[2Jx.so".into(),
        build_id: Some("abcd".into()),
        samples: 77,
        reason: "no such file".into(),
        remedy: "give --symfs".into(),
    });
    let text = plain(&report);
    assert!(text.contains("1 binary not found; samples there stay as recorded"), "{text}");
    assert!(text.contains("/opt/lib[2Jx.so, 77 samples: no such file (build-id abcd)"), "{text}");
    assert!(text.contains("→ give --symfs"), "{text}");
}

#[test]
fn binaries_of_unknown_build_are_counted_and_a_few_named() {
    let mut report = made();
    assert!(!plain(&report).contains("taken by path"));
    let image = |n: u64| UnverifiedImage {
        path: format!("/opt/{n}"),
        file: format!("/symfs/opt/{n}"),
        samples: 1000 * n,
        changed_since: n == 1,
    };
    report.unverified = vec![image(1)];
    let unwrapped = |report: &Report| plain(report).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "1,000 samples in a binary whose build the recording does not tell; taken by path: /symfs/opt/1 \
                    (changed after the recording)";
    assert!(unwrapped(&report).contains(expected), "{}", unwrapped(&report));
    report.unverified = (1..=5).map(image).collect();
    let text = unwrapped(&report);
    assert!(text.contains("15,000 samples in 5 binaries whose build"), "{text}");
    assert!(text.contains("/symfs/opt/3, 2 more") && !text.contains("/symfs/opt/4"), "{text}");
}

#[test]
fn regions_without_a_posterior_are_named() {
    let mut report = made();
    let region = |verdict, name: &str, samples| RegionReport {
        functions: vec![name.into()],
        samples,
        verdict,
        reason: "chains did not mix".into(),
        rhat: Some(1.318),
        branches: Some(Branches { free: 17, told: 3.25 }),
        ..RegionReport::default()
    };
    report.regions = vec![
        region(Verdict::Gibbs, "good", 500),
        region(Verdict::Flow, "bad", 500),
        region(Verdict::Flow, "small", 5),
    ];
    let text = plain(&report);
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        unwrapped.contains("bad, 500 samples: flow conservation only (chains did not mix, R-hat 1.32; samples and time decide 3.2 of 17 branches)"),
        "{text}"
    );
    assert!(!text.contains("good") && !text.contains("small"));
}

#[test]
fn colours_are_used_only_when_asked_for() {
    assert!(!plain(&made()).contains('\x1b'));
    let painted = render(&made(), &Style { color: true, ..Style::default() });
    assert!(painted.contains("\x1b[1m"));
    assert_eq!(painted.matches("\x1b[0m").count() * 2, painted.matches('\x1b').count());
}

#[test]
fn a_run_that_moved_nothing_says_so() {
    let mut report = made();
    report.events[0].moved = 0;
    assert!(plain(&report).contains("Nothing needed correcting"));
    report.corrected = false;
    let text = plain(&report);
    assert!(!text.contains("Nothing") && !text.contains("moved (") && !text.contains("interval"), "{text}");
}

#[test]
fn small_functions_are_summed_up() {
    let mut report = made();
    report.events[0].functions = vec![report.events[0].functions[0].clone(); 25];
    report.events[0].functions.iter_mut().for_each(|f| f.after = 0.04);
    assert!(plain(&report).contains("and 5 more with 20.0%"));
}
