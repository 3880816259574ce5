//! Two profiles compared: which functions and instructions have shares that differ beyond the uncertainty.
//!
//! A share's standard deviation is that of its 90 % interval taken as normal, and at least that of counting its samples. The
//! difference is tested with *z*; since many are tested at once, each probability is adjusted to that of the least of *m*
//! (Šidák 1967): *p′ = 1 − (1 − p)^m*. All of it is of sampling alone: two recordings do not tell how runs of one program differ.

use super::format::{Style, count, fit, percent, wrap};
use super::{EventReport, Report};
use crate::export::basename;
use crate::quantile::Z90;
use std::collections::BTreeMap;

/// Adjusted probabilities below this are told.
const SIGNIFICANT: f64 = 0.05;

/// One instruction's share of an event.
#[derive(Clone, Debug, Default)]
pub struct InstructionShare {
    /// The event.
    pub event: String,
    /// The binary's path.
    pub image: String,
    /// The binary's build-id, in hexadecimal.
    pub build_id: Option<String>,
    /// The function, or nothing.
    pub function: String,
    /// The address in the binary.
    pub address: u64,
    /// Its samples.
    pub samples: u64,
    /// Share of the event's weight, 0 to 1.
    pub share: f64,
    /// Lower end of its 90 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One profile.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// What was found.
    pub report: &'a Report,
    /// Its instructions.
    pub instructions: &'a [InstructionShare],
}

/// A function or instruction in both profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The function, or the instruction's function and address.
    pub name: String,
    /// The binary's path.
    pub image: String,
    /// Share in the first profile.
    pub before: f64,
    /// Share in the second.
    pub after: f64,
    /// Half of the 90 % interval of the difference.
    pub spread: f64,
    /// Probability of such a difference by chance, adjusted for the number of comparisons.
    pub probability: f64,
}

/// The differences of one event, largest first; of those that are equal, the functions with the largest shares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The event.
    pub event: String,
    /// Samples in each.
    pub samples: (u64, u64),
    /// Of functions.
    pub functions: Vec<Difference>,
    /// Of instructions, of binaries that are the same build in both.
    pub instructions: Vec<Difference>,
}

/// A share with its standard deviation.
#[derive(Clone, Copy, Default)]
struct Estimate {
    share: f64,
    deviation: f64,
}

type Shares = BTreeMap<(String, String), Estimate>;

/// Compares the events that both have.
pub fn compare(a: Side<'_>, b: Side<'_>) -> Vec<Compared> {
    let both = a.report.events.iter().filter_map(|of_a| {
        let of_b = b.report.events.iter().find(|e| e.name == of_a.name)?;
        (of_a.samples > 0 && of_b.samples > 0).then_some((of_a, of_b))
    });
    both.map(|(of_a, of_b)| Compared {
        event: of_a.name.clone(),
        samples: (of_a.samples, of_b.samples),
        functions: differences(&functions(of_a), &functions(of_b), (of_a.samples, of_b.samples)),
        instructions: differences(
            &instructions(a, b, &of_a.name, of_a.samples),
            &instructions(b, a, &of_a.name, of_b.samples),
            (of_a.samples, of_b.samples),
        ),
    })
    .collect()
}

fn functions(event: &EventReport) -> Shares {
    let mut shares = Shares::new();
    for f in &event.functions {
        let key = (basename(&f.image).to_owned(), f.name.clone());
        add(&mut shares, key, estimate(f.after, f.low, f.high, event.samples));
    }
    shares
}

/// Instructions of `side` in binaries of which `other` has the same build.
fn instructions(side: Side<'_>, other: Side<'_>, event: &str, samples: u64) -> Shares {
    let builds: std::collections::BTreeSet<(&str, &str)> = other
        .instructions
        .iter()
        .filter_map(|i| Some((basename(&i.image), i.build_id.as_deref()?)))
        .collect();
    let mut shares = Shares::new();
    for i in side.instructions.iter().filter(|i| i.event == event) {
        let image = basename(&i.image);
        if i.build_id.as_deref().is_some_and(|id| builds.contains(&(image, id))) {
            let key = (image.to_owned(), format!("{:x}  {}", i.address, i.function));
            add(&mut shares, key, estimate(i.share, i.low, i.high, samples));
        }
    }
    shares
}

fn add(shares: &mut Shares, key: (String, String), estimate: Estimate) {
    let sum = shares.entry(key).or_default();
    sum.share += estimate.share;
    sum.deviation = sum.deviation.hypot(estimate.deviation);
}

fn estimate(share: f64, low: f64, high: f64, samples: u64) -> Estimate {
    Estimate { share, deviation: ((high - low).max(0.0) / (2.0 * Z90)).max(counting(share, samples)) }
}

/// Standard deviation of a share by counting; of nothing seen, that of one sample.
fn counting(share: f64, samples: u64) -> f64 {
    let n = samples.max(1) as f64;
    let share = share.clamp(1.0 / n, (1.0 - 1.0 / n).max(1.0 / n));
    (share * (1.0 - share) / n).max(0.0).sqrt()
}

fn differences(a: &Shares, b: &Shares, samples: (u64, u64)) -> Vec<Difference> {
    let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let tests = keys.len() as f64;
    let mut differences: Vec<Difference> = keys
        .into_iter()
        .map(|key| {
            let absent = |samples| Estimate { share: 0.0, deviation: counting(0.0, samples) };
            let before = a.get(key).copied().unwrap_or_else(|| absent(samples.0));
            let after = b.get(key).copied().unwrap_or_else(|| absent(samples.1));
            let deviation = before.deviation.hypot(after.deviation);
            let z = (after.share - before.share) / deviation.max(f64::MIN_POSITIVE);
            Difference {
                image: key.0.clone(),
                name: key.1.clone(),
                before: before.share,
                after: after.share,
                spread: Z90 * deviation,
                probability: sidak(two_sided(z), tests),
            }
        })
        .collect();
    let size = |d: &Difference| [(d.after - d.before).abs(), d.after.max(d.before)];
    differences.sort_by(|x, y| {
        let ([dx, sx], [dy, sy]) = (size(x), size(y));
        dy.total_cmp(&dx).then(sy.total_cmp(&sx)).then_with(|| x.name.cmp(&y.name))
    });
    differences
}

/// Probability that the least of `tests` independent ones is as small as `p`.
fn sidak(p: f64, tests: f64) -> f64 {
    -(tests * (-p).ln_1p()).exp_m1()
}

/// Probability that a normal variable is at least as far from its mean as `z` deviations: erfc(|z|/√2).
fn two_sided(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.0 {
        // erf as its Maclaurin series (Abramowitz, Stegun 7.1.6)
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= 2.0 * x * x / (2 * n + 1) as f64;
            sum += term;
        }
        return (1.0 - 2.0 * scale * sum).clamp(0.0, 1.0);
    }
    // the continued fraction (7.1.14), from its end
    let fraction = (1..=60).rev().fold(x, |below, n| x + 0.5 * n as f64 / below);
    scale / fraction
}

/// What *p′* leaves out.
const ALONE: &str = "p' is of sampling alone, and runs of one program differ as well: record several of each, then skidconv stat A... \
    --against B...";

/// Draws what differs; with `all`, what does not as well.
pub fn render(compared: &[Compared], names: (&str, &str), all: bool, style: &Style) -> String {
    let mut text = format!("{}\n", style.bold(&format!("{} → {}", fit(names.0, 60), fit(names.1, 60))));
    if compared.is_empty() {
        return text + "The recordings have no event in common.\n";
    }
    for event in compared {
        let samples = format!("{} and {} samples", count(event.samples.0), count(event.samples.1));
        text += &format!("\n{}\n", style.bold(&format!("{} · {samples}", fit(&event.event, 40))));
        text += &table("functions", &event.functions, all, style);
        text += &table("instructions", &event.instructions, all, style);
    }
    let shown = |of: &[Difference]| of.iter().any(|d| all || d.probability < SIGNIFICANT);
    if compared.iter().any(|event| shown(&event.functions) || shown(&event.instructions)) {
        text += &format!("\n{}", style.dim(&wrap(ALONE, 0, style.columns())));
    }
    text
}

fn table(what: &str, differences: &[Difference], all: bool, style: &Style) -> String {
    let differ: Vec<&Difference> =
        differences.iter().filter(|d| all || d.probability < SIGNIFICANT).collect();
    if differences.is_empty() {
        return style.dim(&format!("  no {what} to compare: the binaries are not the same build\n"));
    }
    if differ.is_empty() {
        let compared = count(differences.len() as u64);
        return style.dim(&format!("  none of {compared} {what} differs beyond the uncertainty\n"));
    }
    let mut text = format!("{}\n", style.dim("      A       B   difference            p'"));
    for d in differ.iter().take(style.functions) {
        let change = format!("{:+6.1} ± {:.1}", 100.0 * (d.after - d.before), 100.0 * d.spread);
        let change = if d.probability < SIGNIFICANT {
            style.bold(&format!("{change:>15}"))
        } else {
            format!("{change:>15}")
        };
        let p = if d.probability < 1e-4 { "<0.0001".into() } else { format!("{:.4}", d.probability) };
        let name = fit(&d.name, style.columns().saturating_sub(62).max(20));
        let image = style.dim(&fit(&d.image, 20));
        text += &format!(
            "  {:>6}  {:>6}{change}  {p:>8}  {name}  {image}\n",
            percent(d.before),
            percent(d.after)
        );
    }
    if differ.len() > style.functions {
        text +=
            &style.dim(&format!("  and {} more {what}\n", count((differ.len() - style.functions) as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::FunctionShare;
    use super::*;

    fn report(samples: u64, shares: &[(&str, f64)]) -> Report {
        let function = |&(name, after): &(&str, f64)| FunctionShare {
            name: name.into(),
            image: "/bin/prog".into(),
            after,
            low: after,
            high: after,
            ..FunctionShare::default()
        };
        let functions = shares.iter().map(function).collect();
        let event = EventReport { name: "cycles".into(), samples, functions, ..Default::default() };
        Report { events: vec![event], ..Report::default() }
    }

    fn compared(a: &Report, b: &Report) -> Vec<Difference> {
        let side = |report| Side { report, instructions: &[] };
        compare(side(a), side(b)).remove(0).functions
    }

    #[test]
    fn probabilities_are_those_of_the_tables() {
        for (z, p) in
            [(0.0, 1.0), (1.0, 0.317_310_5), (1.96, 0.049_995_8), (3.0, 0.002_699_8), (5.0, 5.733e-7)]
        {
            assert!((two_sided(z) / p - 1.0).abs() < 1e-3, "{z}: {}", two_sided(z));
        }
        assert!((sidak(0.01, 5.0) - 0.049_009_95).abs() < 1e-8);
    }

    #[test]
    fn what_does_not_differ_begins_with_the_largest() {
        let a = report(1000, &[("a", 0.1), ("b", 0.6), ("c", 0.3)]);
        let names: Vec<String> = compared(&a, &a).into_iter().map(|d| d.name).collect();
        assert_eq!(names, ["b", "c", "a"]);
    }

    #[test]
    fn what_differs_by_chance_is_not_told() {
        let (a, b) = (report(1000, &[("f", 0.50), ("g", 0.50)]), report(1000, &[("f", 0.52), ("g", 0.48)]));
        assert!(compared(&a, &b).iter().all(|d| d.probability > SIGNIFICANT));
        let c = report(1000, &[("f", 0.65), ("g", 0.35)]);
        assert!(compared(&a, &c).iter().all(|d| d.probability < 1e-4));
    }

    #[test]
    fn more_comparisons_ask_for_more() {
        let many = |f: f64| -> Vec<(String, f64)> {
            let rest = (0..200).map(|n| (format!("g{n}"), (1.0 - f) / 200.0));
            [("f".to_owned(), f)].into_iter().chain(rest).collect()
        };
        let made = |shares: &[(String, f64)]| {
            report(1000, &shares.iter().map(|(n, s)| (n.as_str(), *s)).collect::<Vec<_>>())
        };
        let of_f = |differences: Vec<Difference>| differences.into_iter().find(|d| d.name == "f").unwrap();
        let alone = of_f(compared(&report(1000, &[("f", 0.30)]), &report(1000, &[("f", 0.36)])));
        let among = of_f(compared(&made(&many(0.30)), &made(&many(0.36))));
        assert!(alone.probability < SIGNIFICANT && among.probability > SIGNIFICANT, "{alone:?} {among:?}");
    }

    #[test]
    fn a_function_that_is_new_is_compared_with_none() {
        let (a, b) = (report(500, &[("f", 1.0)]), report(500, &[("f", 0.8), ("g", 0.2)]));
        let g = compared(&a, &b).into_iter().find(|d| d.name == "g").unwrap();
        assert!((g.before, g.after) == (0.0, 0.2) && g.probability < 1e-4);
        let text = render(
            &compare(Side { report: &a, instructions: &[] }, Side { report: &b, instructions: &[] }),
            ("a", "b"),
            false,
            &Style::default(),
        );
        assert!(
            text.contains("+20.0") && text.contains("<0.0001") && text.contains("not the same build"),
            "{text}"
        );
    }

    #[test]
    fn wherever_p_is_shown_it_is_said_of_what() {
        let (a, b) = (report(1000, &[("f", 0.50), ("g", 0.50)]), report(1000, &[("f", 0.65), ("g", 0.35)]));
        let side = |report| Side { report, instructions: &[] };
        let drawn = |b, all| render(&compare(side(&a), side(b)), ("a", "b"), all, &Style::default());
        for text in [drawn(&b, false), drawn(&a, true)] {
            assert!(
                text.contains("p' is of sampling alone") && text.contains("stat A... --against"),
                "{text}"
            );
        }
        assert!(!drawn(&a, false).contains("p'"), "nothing differs");
    }
}
