//! One row per function, context, thread and metric (<https://www.rfc-editor.org/rfc/rfc4180>).

use super::summary::{Group, Summary};
use super::{Moments, Split};
use crate::export::{Error, plain};
use serde::Serialize;
use std::io::Write;

/// The columns, in order.
#[derive(Serialize)]
struct Columns<'a> {
    function: String,
    context: String,
    /// `all` for all threads together.
    thread: String,
    metric: &'a str,
    unit: &'a str,
    calls: u64,
    mean: String,
    sd: String,
    cv: String,
    least: String,
    most: String,
    estimated_calls: String,
    /// Of `all`: standard deviation within threads, and between them.
    sd_within: Option<String>,
    sd_between: Option<String>,
    share: Option<String>,
    advice: Option<&'static str>,
    image: String,
    /// Of `all`: the standard error of cv, where there are enough calls.
    cv_error: Option<String>,
}

/// Writes a header and, of each function with calls, its contexts: all threads together, then each thread.
pub fn write_csv(summary: &Summary<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let mut writer = ::csv::Writer::from_writer(out);
    for group in summary.functions.iter().flat_map(|(_, contexts)| contexts) {
        for metric in 0..summary.recording.header.metrics.len() {
            let split = group.split(metric);
            writer.serialize(row(summary, group, metric, None, &group.all[metric], Some(split)))?;
            for (tid, metrics) in &group.threads {
                writer.serialize(row(summary, group, metric, Some(*tid), &metrics[metric], None))?;
            }
        }
    }
    writer.flush()?;
    Ok(())
}

fn row<'a>(
    summary: &'a Summary<'_>,
    group: &Group,
    metric: usize,
    tid: Option<u32>,
    moments: &Moments,
    split: Option<Split>,
) -> Columns<'a> {
    let function = &summary.recording.functions[group.function as usize];
    let of = &summary.recording.header.metrics[metric];
    let number = |value: f64| format!("{value:.6}");
    let is_judged = split.is_some() && metric == summary.metric;
    Columns {
        function: plain(&function.name),
        context: plain(&summary.path(group.context)),
        thread: tid.map_or_else(|| "all".into(), |tid| tid.to_string()),
        metric: &of.name,
        unit: &of.unit,
        calls: moments.n(),
        mean: number(moments.mean()),
        sd: number(moments.sd()),
        cv: number(moments.cv()),
        least: number(moments.least()),
        most: number(moments.most()),
        estimated_calls: format!("{:.0}", moments.weight()),
        sd_within: split.map(|split| number(split.within.sqrt())),
        sd_between: split.map(|split| number(split.between.sqrt())),
        share: split.map(|_| number(group.share)),
        advice: is_judged.then(|| summary.advice(group).brief()),
        image: plain(&function.image),
        cv_error: split.and_then(|_| group.cv_error(metric)).map(number),
    }
}
