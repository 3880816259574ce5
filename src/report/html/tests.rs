//! What a reader must find on the page.

use super::super::listing::{Cell, Line, ListedEvent, ListedLoop, SourceLine, Trips};
use super::super::{Bin, Branches, Class, Fit, Model, NamelessImage, Verdict};
use super::*;

fn made() -> (Report, Vec<Listing>) {
    let function = |name: &str, after| FunctionShare {
        name: name.into(),
        image: "/bin/prog".into(),
        samples: 9,
        before: 0.5,
        after,
        low: after * 0.9,
        high: after * 1.1,
        address: Some(0x1000),
        verdict: Verdict::Gibbs,
    };
    let event = EventReport {
        name: "instructions:u".into(),
        class: Class::Retirement,
        samples: 1200,
        functions: vec![function("work<script>alert(1)</script>", 0.75)],
        ..Default::default()
    };
    let bin = |from, share| Bin { from, to: from + 10.0, share };
    let model =
        Model { skid_cycles: 12.0, distribution: vec![bin(0.0, 0.4), bin(10.0, 0.6)], ..Model::default() };
    let fit = Some(Fit { distance: 0.3, noise: 0.01 });
    let region = RegionReport {
        functions: vec!["work".into()],
        rhat: Some(1.01),
        fit,
        branches: Some(Branches { free: 17, told: 3.25 }),
        ..Default::default()
    };
    let nameless =
        NamelessImage { path: "/lib/gone.so".into(), command: "perf archive".into(), ..Default::default() };
    let report = Report {
        corrected: true,
        input: "perf.data".into(),
        events: vec![event],
        model: Some(model),
        regions: vec![region],
        nameless: vec![nameless],
        ..Report::default()
    };
    (report, vec![listing()])
}

fn listing() -> Listing {
    let cell = Cell { before: 10, after: 30, low: 20.0, high: 40.0, verdict: Verdict::Gibbs };
    let source =
        SourceLine { file: "/src/a.c".into(), line: 7, text: Some("a < b && c;".into()), inlined: None };
    let line = Line {
        address: 0x1004,
        text: "div ecx".into(),
        source: Some(source),
        inside: Some(0),
        cells: vec![cell],
    };
    Listing {
        function: "work".into(),
        image: "/bin/prog".into(),
        address: 0x1000,
        events: vec![ListedEvent {
            name: "instructions:u".into(),
            total: 40,
            before: 10,
            after: 30,
            ..Default::default()
        }],
        lines: vec![line],
        loops: vec![ListedLoop {
            depth: 1,
            trips: Some(Trips { value: 25.04, low: 21.3, high: 30.0 }),
            weight: vec![(10, 30)],
            ..Default::default()
        }],
    }
}

fn page() -> String {
    let (report, listings) = made();
    let mut bytes = Vec::new();
    write(&report, &listings, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_page_says_what_was_found() {
    let page = page();
    for expected in [
        "<td class=n data-v=\"0.750000000\">75.0%</td>",
        "67.5% – 82.5%",
        "href=\"#f0\"",
        "×25",
        "div ecx",
        "a &lt; b &amp;&amp; c;",
        "12.0 cycles late on average",
        "<b class=bad>30.0%</b>",
        ">3.2 of 17</td>",
        "/lib/gone.so",
        "perf archive",
    ] {
        assert!(page.contains(expected), "{expected:?} is not in\n{page}");
    }
}

/// The list of loops of a function where each lies in the one before, but for one beside them.
fn nested(loops: usize) -> String {
    let (report, mut listings) = made();
    let deep = (0..loops).map(|ix| ListedLoop {
        header: ix,
        parent: ix.checked_sub(1),
        weight: vec![(10, 30)],
        ..Default::default()
    });
    listings[0].loops = deep.chain([ListedLoop { header: loops, ..Default::default() }]).collect();
    let mut bytes = Vec::new();
    write(&report, &listings, &mut bytes).unwrap();
    let page = String::from_utf8(bytes).unwrap();
    let (from, to) = (page.find("<ul class=loops>").unwrap(), page.find("<div class=code>").unwrap());
    page[from..to].to_owned()
}

#[test]
fn loops_lie_in_each_other_on_the_page_as_in_the_code() {
    let item = |address, shares| format!("<li>{address}<b></b> · {shares} of the function");
    let (whole, none) = ("100.0%", "0.0%");
    let inner = format!("<ul class=loops>{}</li></ul>", item("0", whole));
    let outer = format!("{}{inner}</li>", item("1004 · a.c:7", whole));
    assert_eq!(nested(2), format!("<ul class=loops>{outer}{}</li></ul></div>", item("0", none)));
}

#[test]
fn however_deep_loops_lie_all_are_on_the_page() {
    let list = nested(20_000);
    assert_eq!(list.matches("<li>").count(), 20_001);
    assert_eq!(list.matches("</li>").count(), 20_001);
    let lists = list.matches("<ul class=loops>").count();
    assert_eq!(lists, list.matches("</ul>").count());
    assert!(lists < 100, "browsers draw lists in lists only so deep: {lists}");
}

#[test]
fn names_are_text_and_nothing_is_fetched() {
    let page = page();
    assert!(page.contains("work&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert"));
    for fetching in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(fetching), "{fetching}");
    }
}
