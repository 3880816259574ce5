//! Flame graphs: one self-contained SVG that searches and zooms in a browser (Gregg, "The Flame Graph", CACM 2016).
//!
//! Widths are periods of one event, stacks those of [`Folded`]. The differential graph has the corrected widths, and its
//! colours say what correction changed: red where weight came, blue where it went. As most of what moves stays inside its
//! function, its leaves are source lines, or offsets where no lines are known.

use super::folded::{Folded, Leaf};
use super::{Context, CorrectedSample, Error, Exporter};
use crate::perfdata::AttrIx;
use inferno::flamegraph::{self, Options};
use std::collections::BTreeMap;
use std::io::Write;

/// Makes a flame graph of one event.
pub struct Flamegraph {
    folded: Folded,
}

impl Flamegraph {
    /// Of `event`; `None` for the first with samples.
    pub fn new(event: Option<AttrIx>) -> Flamegraph {
        Flamegraph { folded: Folded::new(event) }
    }
}

impl Exporter for Flamegraph {
    fn folds(&self) -> bool {
        self.folded.folds()
    }

    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        self.folded.sample(sample);
    }

    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let lines = self.folded.lines(context, Leaf::Function);
        let lines: Vec<String> = lines.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
        draw(&lines, self.folded.event_name(context), "", out)
    }
}

/// Makes a flame graph of what correction changed in one event.
pub struct FlamegraphDiff {
    wanted: Option<AttrIx>,
    events: BTreeMap<AttrIx, Compared>,
}

/// An event before and after.
struct Compared {
    before: Folded,
    after: Folded,
    moved: bool,
}

impl FlamegraphDiff {
    /// Of `event`; `None` for the first of which something moved.
    pub fn new(event: Option<AttrIx>) -> FlamegraphDiff {
        FlamegraphDiff { wanted: event, events: BTreeMap::new() }
    }
}

impl Exporter for FlamegraphDiff {
    fn folds(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        if self.wanted.is_some_and(|wanted| wanted != sample.attr) {
            return;
        }
        let folded = || Folded::new(Some(sample.attr));
        let new = || Compared { before: folded(), after: folded(), moved: false };
        let of = self.events.entry(sample.attr).or_insert_with(new);
        of.moved |= sample.moved;
        of.before.sample(&CorrectedSample { stack: sample.recorded, ..*sample });
        of.after.sample(sample);
    }

    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let changed = self.events.values().find(|of| of.moved).or(self.events.values().next());
        let Some(of) = changed else { return draw(&[], String::new(), "", out) };
        let mut both = BTreeMap::<String, (u64, u64)>::new();
        for (stack, weight) in of.before.lines(context, Leaf::Line) {
            both.entry(stack).or_default().0 = weight;
        }
        for (stack, weight) in of.after.lines(context, Leaf::Line) {
            both.entry(stack).or_default().1 = weight;
        }
        let line = |(stack, (before, after)): (&String, &(u64, u64))| format!("{stack} {before} {after}");
        let lines: Vec<String> = both.iter().map(line).collect();
        let subtitle = "after correction; red gained weight by it, blue lost";
        draw(&lines, of.after.event_name(context), subtitle, out)
    }
}

fn draw(lines: &[String], event: String, subtitle: &str, out: &mut dyn Write) -> Result<(), Error> {
    let mut options = Options::default();
    options.title = event.clone();
    options.subtitle = (!subtitle.is_empty()).then(|| subtitle.into());
    options.count_name = event;
    options.deterministic = true;
    match flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out) {
        // Of nothing, the graph says so.
        Err(_) if lines.is_empty() => Ok(()),
        drawn => Ok(drawn?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{CorrectedSample, Exporter};
    use super::*;

    fn draw(exporter: Box<dyn Exporter>, samples: &[CorrectedSample<'_>]) -> String {
        String::from_utf8(export(exporter, samples)).unwrap()
    }

    #[test]
    fn the_graph_has_the_event_s_weight_and_asks_nothing_of_a_network() {
        let (hot, cold) = ([leaf(PROG, 0x1110), caller(PROG, 0x1010)], [leaf(PROG, 0x1000)]);
        let samples = [sample(0, 5, &hot), sample(0, 7, &cold), sample(1, 1000, &hot)];
        let svg = draw(Box::new(Flamegraph::new(None)), &samples);
        assert!(svg.contains("all (12 cycles:u, 100%)"), "{svg}");
        assert!(svg.contains("helper (5 cycles:u, 41.67%)"), "{svg}");
        let fetched = svg.lines().any(|l| l.contains("href=\"http") || l.contains("src=\"http"));
        assert!(!fetched && !svg.contains("@import"), "{svg}");
    }

    #[test]
    fn the_difference_is_told_by_line() {
        let (before, after) = ([leaf(PROG, 0x1024)], [leaf(PROG, 0x1004)]);
        let moved = CorrectedSample { recorded: &before, moved: true, ..sample(0, 5, &after) };
        let stays = sample(0, 5, &before);
        let svg = draw(Box::new(FlamegraphDiff::new(None)), &[moved, stays]);
        assert!(svg.contains("prog.c:10 (5 cycles:u, 50.00%; +50.00%)"), "{svg}");
        assert!(svg.contains("prog.c:3 (5 cycles:u, 50.00%; -50.00%)"), "{svg}");
    }

    #[test]
    fn the_difference_is_that_of_the_first_event_which_moved() {
        let (before, after) = ([leaf(PROG, 0x1024)], [leaf(PROG, 0x1004)]);
        let moved = CorrectedSample { recorded: &before, moved: true, ..sample(1, 5, &after) };
        let samples = [sample(0, 3, &before), moved];
        let of = |event| draw(Box::new(FlamegraphDiff::new(event)), &samples);
        assert!(of(None).contains("prog.c:10 (5 ") && of(None).contains("+100.00%"), "{}", of(None));
        assert!(of(Some(AttrIx(0))).contains("all (3 cycles:u, 100%)"), "another if it is asked for");
    }

    #[test]
    fn nothing_sampled_is_still_a_picture() {
        for exporter in
            [Box::new(Flamegraph::new(None)) as Box<dyn Exporter>, Box::new(FlamegraphDiff::new(None))]
        {
            assert!(draw(exporter, &[]).contains("<svg"));
        }
    }
}
