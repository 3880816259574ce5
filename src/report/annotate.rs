//! A listing for the terminal: each instruction's share before and after, with its interval, loops in the margin, and source
//! lines beside the code.

use super::format::{Style, counted, fit, fit_function, percent, wrap};
use super::listing::{Cell, Line, Listing, Nests, SourceLine};
use super::words::{trips, verdict};
use crate::export::{basename, plain};
use crate::options::is_called;

/// Longer runs of instructions without samples are left out but for what stands at their ends.
const LONGEST_COLD: usize = 8;
/// Instructions kept at each end of such a run.
const KEPT: usize = 2;
/// Loops drawn in the margin, outermost first.
const DEEPEST: usize = 4;
/// Columns of the two shares and the interval.
const NUMBERS: usize = 2 + 6 + 8 + 18;
/// Shares that come out as 0.0%.
const LEAST: f64 = 5e-4;
/// Widest an instruction may be before it is cut.
const CODE: usize = 44;
/// What is left to an instruction on a narrow terminal, if it is that long.
const LEAST_CODE: usize = 24;
/// What a source line needs to stand beside its instruction; it gets a row of its own where there is less.
const LEAST_SOURCE: usize = 24;

/// Draws `listing` with the shares of one of its events: the one asked for by name, else the first of which something moved.
pub fn render(listing: &Listing, event: Option<&str>, corrected: bool, style: &Style) -> String {
    let Some(column) = column(listing, event) else { return String::new() };
    let mut text = head(listing, column, corrected, style);
    let drawn = Drawn::new(listing, column, corrected, style);
    text += &drawn.heading();
    let shown = shown(listing);
    let (mut ix, mut before) = (0, None);
    while ix < listing.lines.len() {
        if !shown[ix] {
            let end = (ix..shown.len()).find(|&next| shown[next]).unwrap_or(shown.len());
            let left_out = format!("{:NUMBERS$}  ⋯ {}", "", counted((end - ix) as u64, "instruction"));
            text += &format!("{}\n", style.dim(&left_out));
            (ix, before) = (end, None);
            continue;
        }
        text += &drawn.row(ix, before);
        before = listing.lines[ix].source.as_ref();
        ix += 1;
    }
    text
}

fn column(listing: &Listing, event: Option<&str>) -> Option<usize> {
    let named = |name: &str| listing.events.iter().position(|e| is_called(&e.name, name));
    let moved =
        |column: &usize| listing.lines.iter().any(|l| l.cells[*column].before != l.cells[*column].after);
    match event {
        Some(name) => named(name),
        None => (0..listing.events.len()).find(moved).or((!listing.events.is_empty()).then_some(0)),
    }
}

fn head(listing: &Listing, column: usize, corrected: bool, style: &Style) -> String {
    let event = &listing.events[column];
    let share = |weight: f64| percent(weight / event.total.max(1) as f64);
    let title = format!(
        "{}  {}",
        fit_function(&listing.function, style.columns() - 20),
        fit(basename(&listing.image), 40)
    );
    let told = match corrected {
        true => format!(
            "{}: {} → {} [{} – {}] of the event, {}",
            event.name,
            share(event.before as f64),
            share(event.after as f64),
            share(event.low),
            share(event.high),
            verdict(event.verdict),
        ),
        false => format!("{}: {} of the event", event.name, share(event.after as f64)),
    };
    let mut text = format!("\n{}\n{}", style.bold(&title), wrap(&told, 2, style.columns()));
    let others: Vec<&str> = listing
        .events
        .iter()
        .enumerate()
        .filter(|(ix, _)| *ix != column)
        .map(|(_, e)| e.name.as_str())
        .collect();
    if !others.is_empty() {
        text +=
            &style.dim(&wrap(&format!("--event shows {} instead", others.join(", ")), 2, style.columns()));
    }
    text
}

/// Which instructions are drawn: all but the inner ones of long runs without samples and without a loop's begin.
fn shown(listing: &Listing) -> Vec<bool> {
    let cold = |line: &Line| line.cells.iter().all(|cell| cell.before == 0 && cell.after == 0);
    let warm: Vec<usize> = (0..listing.lines.len())
        .filter(|&ix| {
            !cold(&listing.lines[ix]) || listing.loops.iter().any(|l| l.header == ix && l.trips.is_some())
        })
        .collect();
    let mut shown = vec![true; listing.lines.len()];
    let starts = [0].into_iter().chain(warm.iter().map(|&ix| ix + 1));
    for (start, end) in starts.zip(warm.iter().copied().chain([listing.lines.len()])) {
        if end.saturating_sub(start) > LONGEST_COLD {
            shown[start + KEPT..end - KEPT].fill(false);
        }
    }
    shown
}

fn place(source: &SourceLine) -> String {
    format!("{}:{}", plain(basename(&source.file)), source.line)
}

/// One listing being drawn.
struct Drawn<'a> {
    listing: &'a Listing,
    column: usize,
    corrected: bool,
    style: &'a Style,
    /// Weight that shares are of.
    before: f64,
    after: f64,
    /// Loops that are drawn.
    nests: Nests<'a>,
    margin: usize,
    label: usize,
    address: usize,
    code: usize,
    /// Whether source lines stand beside instructions, or above them.
    beside: bool,
}

impl<'a> Drawn<'a> {
    fn new(listing: &'a Listing, column: usize, corrected: bool, style: &'a Style) -> Drawn<'a> {
        let event = &listing.events[column];
        let depth = listing.loops.iter().map(|l| l.depth as usize).max().unwrap_or(0).min(DEEPEST);
        let longest = listing.lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
        let last = listing.lines.last().map_or(0, |line| line.address);
        let address = format!("{last:x}").len().max("address".len()) + 2;
        let (before, after) = (event.before.max(1) as f64, event.after.max(1) as f64);
        let mut drawn = Drawn {
            listing,
            column,
            corrected,
            style,
            before,
            after,
            nests: Nests::of(listing, DEEPEST),
            margin: depth,
            label: 0,
            address,
            code: longest.clamp(10, CODE),
            beside: true,
        };
        let labels = (0..listing.lines.len()).map(|ix| drawn.label(ix).chars().count());
        drawn.label = labels.max().unwrap_or(0);
        let sources = || listing.lines.iter().filter_map(|line| line.source.as_ref());
        let place = sources().map(|source| place(source).chars().count()).max().unwrap_or(0);
        let text = if sources().any(|source| source.text.is_some()) { LEAST_SOURCE } else { 0 };
        drawn.beside = place == 0 || drawn.taken() + place + 2 + text <= style.columns();
        if !drawn.beside {
            let room = style.columns().saturating_sub(drawn.taken() - drawn.code - 2);
            drawn.code = drawn.code.min(room.max(LEAST_CODE));
        }
        drawn
    }

    /// Columns before a source line that stands beside an instruction.
    fn taken(&self) -> usize {
        NUMBERS + self.margin_width() + self.address + 2 + self.code + 2
    }

    fn margin_width(&self) -> usize {
        if self.margin > 0 { self.margin + self.label + 3 } else { 1 }
    }

    /// What is known of a loop that begins at an instruction: how often it goes round, and its share.
    fn label(&self, ix: usize) -> String {
        let Some(begun) = self.listing.loops.iter().find(|l| l.header == ix) else { return String::new() };
        let share = percent(begun.weight[self.column].1 as f64 / self.after);
        begun.trips.map_or_else(|| share.clone(), |known| format!("{} {share}", trips(&known)))
    }

    fn heading(&self) -> String {
        let numbers = match self.corrected {
            true => "  before   after      90% interval",
            false => "           share                  ",
        };
        let (margin, address, code) = (self.margin_width(), self.address, self.code);
        let source = if self.beside { "source" } else { "" };
        let line =
            format!("{numbers}{:margin$}{:>address$}  {:code$}  {source}", "", "address", "instruction");
        format!("{}\n", self.style.dim(line.trim_end()))
    }

    fn row(&self, ix: usize, before: Option<&SourceLine>) -> String {
        let line = &self.listing.lines[ix];
        let (width, code) = (self.address, self.code);
        let text = format!("{:code$}", fit(&line.text, code));
        let address = self.style.dim(&format!("{:>width$}", format!("{:x}", line.address)));
        let (numbers, margin) = (self.numbers(&line.cells[self.column]), self.margin(ix, true));
        let row = format!("{numbers}{margin}{address}  {text}");
        match line.source.as_ref().filter(|source| before != Some(*source)) {
            None => format!("{}\n", row.trim_end()),
            Some(source) if self.beside => {
                format!("{}\n", format!("{row}  {}", self.source(source, self.taken())).trim_end())
            }
            Some(source) => {
                let told = self.source(source, NUMBERS + self.margin + 5);
                let margin = self.margin(ix, false);
                format!("{:NUMBERS$}{margin}  {told}\n{}\n", "", row.trim_end())
            }
        }
    }

    /// Shares of the function's weight.
    fn numbers(&self, cell: &Cell) -> String {
        let of = |weight: f64, all: f64| if weight > 0.0 { percent(weight / all) } else { String::new() };
        let known = cell.low < cell.high && cell.high / self.after >= LEAST;
        if cell.before == 0 && cell.after == 0 && !known {
            return format!("{:NUMBERS$}", "");
        }
        let before = if self.corrected { of(cell.before as f64, self.before) } else { String::new() };
        let share = cell.after as f64 / self.after;
        let after = format!("{:>8}", of(cell.after as f64, self.after));
        let after = match share {
            _ if share >= 0.1 => self.style.hot(&after),
            _ if share >= 0.01 => self.style.bold(&after),
            _ => after,
        };
        let interval = match self.corrected && known {
            true => {
                let high = (cell.high / self.after).min(1.0);
                format!("{:>6} – {:>6}", percent(cell.low / self.after), percent(high))
            }
            false => String::new(),
        };
        format!("  {}{after}{interval:>18}", self.style.dim(&format!("{before:>6}")))
    }

    /// Brackets of the loops around; on an instruction's own row, where they begin and end, and what is known of them.
    fn margin(&self, ix: usize, own: bool) -> String {
        if self.margin == 0 {
            return " ".into();
        }
        let around = self.nests.around(ix);
        let holds = |ix: Option<usize>, l: &usize| ix.is_some_and(|ix| self.nests.around(ix).contains(l));
        let mut brackets = String::from("  ");
        for depth in 0..self.margin {
            brackets.push(match around.get(depth) {
                None => ' ',
                Some(l) => match (own, holds(ix.checked_sub(1), l), holds(Some(ix + 1), l)) {
                    (false, false, _) => ' ',
                    (false, true, _) | (true, true, true) => '│',
                    (true, false, true) => '┌',
                    (true, true, false) => '└',
                    (true, false, false) => '╶',
                },
            });
        }
        let label = if own { format!(" {:<1$}", self.label(ix), self.label) } else { String::new() };
        format!("{}{}", self.style.dim(&brackets), self.style.loops(&label))
    }

    /// A source line in what the terminal has left behind `taken` columns.
    fn source(&self, source: &SourceLine, taken: usize) -> String {
        let inlined = source.inlined.as_ref().map(|name| format!("[{}] ", fit(name, 24))).unwrap_or_default();
        let place = place(source);
        let text = source.text.as_deref().unwrap_or("").trim();
        let room = self.style.columns().saturating_sub(taken + place.chars().count() + 2);
        let text = fit(&format!("{inlined}{text}"), room.max(LEAST_SOURCE));
        format!("{}  {}", self.style.dim(&place), text).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::listing::{ListedEvent, ListedLoop, Trips};
    use super::*;

    /// 14 instructions: two with samples, the second a loop of its own on line 3 of a file.
    fn made() -> Listing {
        let cell = |before, after| Cell {
            before,
            after,
            low: after as f64 * 0.9,
            high: after as f64 * 1.1,
            verdict: Verdict::Gibbs,
        };
        let line = |n: u64| Line {
            address: 0x1000 + n,
            text: format!("inst {n}"),
            source: (n == 1).then(|| SourceLine {
                file: "/src/a.c".into(),
                line: 3,
                text: Some("  x /= y;".into()),
                inlined: Some("halve".into()),
            }),
            inside: (n == 1).then_some(0),
            cells: vec![match n {
                0 => cell(100, 20),
                1 => cell(0, 80),
                _ => Cell::default(),
            }],
        };
        Listing {
            function: "work\x1b[31m".into(),
            image: "/bin/prog".into(),
            events: vec![ListedEvent {
                name: "instructions:u".into(),
                total: 200,
                before: 100,
                after: 100,
                low: 90.0,
                high: 110.0,
                ..Default::default()
            }],
            lines: (0..14).map(line).collect(),
            loops: vec![ListedLoop {
                header: 1,
                depth: 1,
                trips: Some(Trips { value: 312.4, low: 280.0, high: 350.6 }),
                weight: vec![(0, 80)],
                ..Default::default()
            }],
            ..Listing::default()
        }
    }

    #[test]
    fn shares_are_the_function_s_and_a_loop_tells_its_trips() {
        let text = render(&made(), None, true, &Style { width: 140, ..Style::default() });
        for expected in [
            "instructions:u: 50.0% → 50.0% [45.0% – 55.0%] of the event",
            "  100.0%   20.0%    18.0% –  22.0%",
            "80.0%    72.0% –  88.0%  ╶ ×312 [280 – 351] 80.0%     1001  inst 1",
            "a.c:3  [halve] x /= y;",
            "⋯ 8 instructions",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(!text.contains('\x1b'), "no colours, and no control characters of others");
    }

    #[test]
    fn source_lines_stand_above_the_code_where_they_do_not_fit_beside_it() {
        let mut listing = made();
        listing.lines[1].text = "nopw   %cs:0x0(%rax,%rax,1)".into();
        let narrow = render(&listing, None, true, &Style { width: 80, ..Style::default() });
        let lines: Vec<&str> = narrow.lines().collect();
        let of = |text: &str| lines.iter().position(|l| l.contains(text)).expect(text);
        assert_eq!(of("a.c:3  [halve] x /= y;") + 1, of("nopw"), "{narrow}");
        assert!(lines[of("a.c:3")].chars().count() <= 80, "{narrow}");
        let wide = render(&listing, None, true, &Style { width: 140, ..Style::default() });
        assert!(wide.lines().any(|l| l.contains("nopw") && l.contains("a.c:3  [halve] x /= y;")), "{wide}");
    }

    #[test]
    fn an_event_that_has_no_samples_here_draws_nothing() {
        assert_eq!(render(&made(), Some("cycles"), true, &Style::default()), "");
        assert!(!render(&made(), Some("instructions"), true, &Style::default()).is_empty());
    }

    #[test]
    fn without_correction_there_is_one_share_and_no_interval() {
        let text = render(&made(), None, false, &Style::default());
        assert!(!text.contains("% –") && text.contains("80.0%") && !text.contains("100.0%"), "{text}");
    }
}
