//! The report for the terminal: functions, what to do about them, and their contexts.

use super::summary::{Group, Summary};
use super::timeline::amount;
use crate::export::plain;
use crate::report::format::{Style, counted, wrap};
use std::fmt::Write as _;

/// Contexts shown of a function.
const CONTEXTS: usize = 4;
/// Columns of the numbers.
const NUMBERS: &str = "  time   calls        mean          sd      cv       ±  within between  ";

/// Draws a summary. Names come out without control characters.
pub fn render(summary: &Summary<'_>, style: &Style) -> String {
    let mut text = head(summary, style);
    if summary.functions.is_empty() {
        text += "\nno call was sampled: the program may have run too shortly, or its functions were called too rarely\n";
        return text;
    }
    let _ = writeln!(text, "\n{}", style.dim(&format!("{NUMBERS}{:20}function", "guidance")));
    let shown = summary.functions.iter().take(style.functions);
    shown.for_each(|(function, contexts)| text += &self::function(summary, function, contexts, style));
    let more = summary.functions.len().saturating_sub(style.functions);
    if more > 0 {
        let _ = writeln!(text, "{}", style.dim(&format!("  and {more} more functions")));
    }
    text + &foot(summary, style)
}

fn head(summary: &Summary<'_>, style: &Style) -> String {
    let recording = summary.recording;
    let header = &recording.header;
    let metric = &header.metrics[summary.metric];
    let mut text = format!("{}\n", style.bold(&plain(&header.command.join(" "))));
    let seconds = recording.end.map(|end| end.time.saturating_sub(header.start) as f64 * 1e-9);
    let mut facts = vec![format!("{} sampled", counted(recording.calls.len() as u64, "call"))];
    facts.push(counted(recording.threads.len() as u64, "thread"));
    facts.extend(seconds.map(|seconds| format!("{seconds:.1} s")));
    facts.extend((!recording.lost.is_empty()).then(|| format!("{} without return", recording.lost.len())));
    let _ = writeln!(text, "{}", facts.join(" · "));
    let cost = amount(header.cost[summary.metric], &metric.unit);
    let _ = writeln!(text, "judged by {}, less {cost} a call that measuring costs", metric.name);
    if recording.end.is_none() {
        text += "warning: the recording has no end: the recorder was killed\n";
    }
    if recording.damaged > 0 {
        let _ = writeln!(text, "warning: {} lines are damaged and were left out", recording.damaged);
    }
    text
}

fn function(summary: &Summary<'_>, group: &Group, contexts: &[Group], style: &Style) -> String {
    let advice = summary.advice(group);
    let name = plain(summary.name(group.function));
    let advised = format!("{:20}", advice.brief());
    let advised = if advice == super::Advice::Reduce { style.bold(&advised) } else { advised };
    let mut text = format!("{}{advised}{}\n", numbers(summary, group), style.bold(&name));
    if contexts.len() == 1 && contexts[0].context.is_none() {
        return text;
    }
    for context in contexts.iter().take(CONTEXTS) {
        let path = plain(&summary.path(context.context));
        let path = if path.is_empty() { "(unknown)".into() } else { path };
        let line = format!("{}{:20}  from {path}", numbers(summary, context), "");
        let _ = writeln!(text, "{}", style.dim(&line));
    }
    let more = contexts.len().saturating_sub(CONTEXTS);
    if more > 0 {
        let line = format!("{:1$}  and {more} more contexts", "", NUMBERS.len() + 20);
        let _ = writeln!(text, "{}", style.dim(&line));
    }
    text
}

fn numbers(summary: &Summary<'_>, group: &Group) -> String {
    let moments = &group.all[summary.metric];
    let unit = &summary.recording.header.metrics[summary.metric].unit;
    let (within, between) = group.variation(summary.metric);
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    let between = if group.threads.len() > 1 { percent(between) } else { "–".into() };
    let error = group.cv_error(summary.metric).map_or_else(|| "–".into(), percent);
    format!(
        "{:>6}{:>8}{:>12}{:>12}{:>8}{error:>8}{:>8}{between:>8}  ",
        percent(group.share),
        group.calls(),
        amount(moments.mean(), unit),
        amount(moments.sd(), unit),
        percent(moments.cv()),
        percent(within),
    )
}

fn foot(summary: &Summary<'_>, style: &Style) -> String {
    let (sampled, worst) = (summary.recording.samples.len(), summary.functions.iter());
    let mut text = String::from("\n");
    let note = format!(
        "time: part of {sampled} samples with the function on the stack · cv: standard deviation / mean · ±: its standard error · within, between: \
         cv of calls of one thread, and of the means of threads"
    );
    text += &style.dim(&wrap(&note, 0, style.columns()));
    let told = [super::Advice::Reduce, super::Advice::Short];
    for (group, _) in worst.filter(|(group, _)| told.contains(&summary.advice(group))).take(3) {
        let name = plain(summary.name(group.function));
        let _ = writeln!(text, "{}: {}", style.bold(&name), summary.advice(group).sentence());
    }
    text
}
