//! A plot's frame: scales, ticks, and marks in the units of the data.

use crate::report::escape;
use crate::report::html::draw::step;
use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const BELOW: f64 = 24.0;

/// Colours fall back to these where no page gives any.
const STYLE: &str = "<style>.ax{stroke:var(--line,#ccc)}.ob{fill:var(--after,#d9541e);stroke:var(--after,#d9541e)}\
    .pr{fill:none;stroke:var(--accent,#1663b8);stroke-width:1.5}.dim{fill:var(--before,#a9b1bb)}\
    .ln{fill:none;stroke:var(--accent,#1663b8);stroke-width:1.5}.wh{stroke:var(--after,#d9541e);stroke-width:1.5}\
    .da{stroke:var(--dim,#69717c);stroke-dasharray:4 3}text{fill:var(--dim,#69717c);font:11px sans-serif}</style>";

/// A plot being drawn.
pub(super) struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    logarithmic: bool,
    svg: String,
}

impl Axes {
    /// Over these ranges; `None` if they are not finite or empty.
    pub(super) fn new(x: (f64, f64), y: (f64, f64)) -> Option<Axes> {
        let good = |(from, to): (f64, f64)| from.is_finite() && to.is_finite() && to > from;
        if !good(x) || !good(y) {
            return None;
        }
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" width=\"100%\" role=\"img\">{STYLE}",
            LEFT + WIDTH + 16.0,
            HEIGHT + BELOW + 12.0
        );
        Some(Axes { x, y, logarithmic: false, svg })
    }

    /// The vertical axis goes by powers of ten.
    pub(super) fn logarithmic(mut self) -> Axes {
        self.y = (self.y.0.log10(), self.y.1.log10());
        self.logarithmic = true;
        self
    }

    fn at_x(&self, x: f64) -> f64 {
        LEFT + WIDTH * (x - self.x.0) / (self.x.1 - self.x.0)
    }

    fn at_y(&self, y: f64) -> f64 {
        let y = if self.logarithmic { y.max(1e-300).log10() } else { y };
        6.0 + HEIGHT * (1.0 - ((y - self.y.0) / (self.y.1 - self.y.0)).clamp(-0.02, 1.02))
    }

    /// A line between two points.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.svg,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            self.at_x(from.0),
            self.at_y(from.1),
            self.at_x(to.0),
            self.at_y(to.1)
        );
    }

    /// A line through many.
    pub(super) fn curve(&mut self, points: &[(f64, f64)]) {
        let each = points.iter().map(|p| format!("{:.1},{:.1}", self.at_x(p.0), self.at_y(p.1)));
        let points = each.collect::<Vec<_>>().join(" ");
        let _ = write!(self.svg, "<polyline class=\"ln\" points=\"{points}\"/>");
    }

    /// A dot.
    pub(super) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let (x, y) = (self.at_x(at.0), self.at_y(at.1));
        let _ = write!(self.svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
    }

    /// An open square around a point.
    pub(super) fn square(&mut self, at: (f64, f64)) {
        let (x, y) = (self.at_x(at.0) - 4.0, self.at_y(at.1) - 4.0);
        let _ = write!(self.svg, "<rect class=\"pr\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"8\" height=\"8\"/>");
    }

    /// A bar from `base` up or down.
    pub(super) fn bar(&mut self, class: &str, (from, to): (f64, f64), base: f64, y: f64) {
        let (left, right) = (self.at_x(from), self.at_x(to));
        let (top, bottom) = (self.at_y(base.max(y)), self.at_y(base.min(y)));
        let _ = write!(
            self.svg,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            (right - left).max(0.5),
            (bottom - top).max(0.3)
        );
    }

    /// Words below the horizontal axis.
    pub(super) fn label(&mut self, x: f64, text: &str) {
        let (x, y) = (self.at_x(x), HEIGHT + 6.0 + 15.0);
        let _ = write!(
            self.svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            escape(text)
        );
    }

    /// Words at a point.
    pub(super) fn text(&mut self, at: (f64, f64), text: &str) {
        let (x, y) = (self.at_x(at.0) + 7.0, self.at_y(at.1) + 4.0);
        let _ = write!(self.svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(text));
    }

    /// Numbers along the horizontal axis.
    pub(super) fn ticks(&mut self) {
        for tick in ticks(self.x) {
            self.label(tick, &number(tick));
        }
    }

    /// Draws the axes with numbers along the vertical one, and ends.
    pub(super) fn finish(mut self) -> String {
        let ticks = if self.logarithmic { powers(self.y) } else { ticks(self.y) };
        for value in ticks {
            let y = self.at_y(value);
            let _ = write!(
                self.svg,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        let (right, bottom) = (LEFT + WIDTH, HEIGHT + 6.0);
        let _ = write!(
            self.svg,
            "<line class=\"ax\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\
             <line class=\"ax\" x1=\"{LEFT}\" y1=\"6\" x2=\"{LEFT}\" y2=\"{bottom}\"/></svg>"
        );
        self.svg
    }
}

fn ticks((from, to): (f64, f64)) -> Vec<f64> {
    let step = step((to - from) / 6.0);
    let first = (from / step).ceil();
    // scaled from whole numbers, lest sums of steps drift
    (0..12).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= to + 1e-9 * step).collect()
}

/// 1, 2 and 5 times powers of ten; of a long range the powers alone.
fn powers((from, to): (f64, f64)) -> Vec<f64> {
    let factors: &[f64] = if to - from < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (from.floor() as i32..=to.floor() as i32)
        .flat_map(|n| factors.iter().map(move |f| f * 10f64.powi(n)));
    all.filter(|value| (from..=to).contains(&value.log10())).take(40).collect()
}

fn number(x: f64) -> String {
    let text = if x.abs() >= 100.0 || x == 0.0 { format!("{x:.0}") } else { format!("{x:.3}") };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
