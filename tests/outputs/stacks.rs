//! Folded stacks and flame graphs.

use super::{Totals, by_symbol, bytes, periods, rows};

#[test]
fn folded_stacks_sum_to_the_event() {
    for command in ["fix", "convert"] {
        let text = String::from_utf8(bytes(command, "folded")).unwrap();
        let lines: Vec<(&str, u64)> = text
            .lines()
            .map(|l| l.rsplit_once(' ').unwrap())
            .map(|(stack, weight)| (stack, weight.parse().unwrap()))
            .collect();
        assert!(lines.iter().all(|(stack, _)| stack.starts_with("branchy;")));
        let mut leaves = Totals::new();
        for (stack, weight) in &lines {
            *leaves.entry(stack.rsplit(';').next().unwrap().into()).or_default() += weight;
        }
        assert_eq!(leaves, by_symbol(&rows(command), "cycles:u"), "of the first event");
        assert_eq!(leaves.values().sum::<u64>(), periods(command)["cycles:u"]);
    }
}

/// Weight of the whole graph and of the frames at its top, as its tool tips say: `name (1,234 event, 5.67%)`.
fn told(svg: &str, event: &str) -> (u64, Totals) {
    let titles = svg.split("<title>").skip(1).map(|rest| rest.split("</title>").next().unwrap());
    let (mut whole, mut frames) = (0, Totals::new());
    for title in titles.filter(|title| title.contains(&format!(" {event}, "))) {
        let (name, told) = title.rsplit_once(" (").unwrap();
        let weight = told.split(' ').next().unwrap().replace(',', "").parse().unwrap();
        match name {
            "all" => whole = weight,
            _ => *frames.entry(name.into()).or_default() += weight,
        }
    }
    (whole, frames)
}

#[test]
fn a_flame_graph_is_as_wide_as_the_event() {
    for command in ["fix", "convert"] {
        let svg = String::from_utf8(bytes(command, "svg")).unwrap();
        let (whole, frames) = told(&svg, "cycles:u");
        assert_eq!(whole, periods(command)["cycles:u"]);
        let leaves = by_symbol(&rows(command), "cycles:u");
        assert_eq!(frames["tally"], leaves["tally"], "it calls nothing");
        for fetching in ["href=\"http", "src=\"http", "url(http", "@import"] {
            assert!(!svg.contains(fetching), "it needs no network");
        }
    }
}

#[test]
fn the_differential_graph_says_what_moved_by_source_line() {
    let svg = String::from_utf8(bytes("fix", "diff.svg")).unwrap();
    let (whole, frames) = told(&svg, "cycles:u");
    assert_eq!(whole, periods("fix")["cycles:u"]);
    let lines =
        rows("fix").iter().filter(|row| row.event == "cycles:u").fold(Totals::new(), |mut lines, row| {
            let file = row.file.rsplit('/').next().unwrap();
            *lines.entry(format!("{file}:{}", row.line.unwrap_or(0))).or_default() += row.fixed_weight;
            lines
        });
    let (line, weight) =
        lines.iter().filter(|(l, _)| l.starts_with("branchy.c:")).max_by_key(|(_, w)| **w).unwrap();
    assert_eq!(frames[line], *weight);
    assert!(svg.contains("%; +") && svg.contains("%; -"), "something gained and something lost");
    let unmoved = String::from_utf8(bytes("again", "diff.svg")).unwrap();
    assert!(
        !unmoved.contains("%; +") && !unmoved.contains("%; -"),
        "nothing moves that was corrected before"
    );
}
