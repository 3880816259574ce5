//! `variance`: reads a recording of calls, and shows it in all the ways that were asked for.

use crate::cli::Variance;
use crate::terminal;
use skidconv::export::{Error, Existing, Output};
use skidconv::options::{Files, is_stdout};
use skidconv::report::text::Style;
use skidconv::variance::{Group, Recording, Summary, render, write_csv, write_html, write_svg};
use std::path::Path;

/// Charts in an SVG.
const CHARTS: usize = 8;

/// Shows it.
pub fn show(wanted: &Variance) -> anyhow::Result<()> {
    let files = Files { read: vec![&wanted.input], written: wanted.outputs().collect(), ..Files::default() };
    files.check()?;
    let recording = Recording::open(&wanted.input)?;
    let metric = wanted.metric.as_deref().map(|name| metric(&recording, name)).transpose()?;
    let summary = Summary::new(&recording, metric);
    let mut outputs = Vec::new();
    let mut output = |path: &Path, fill: &dyn Fn(&mut Output) -> Result<(), Error>| {
        outputs.push(Output::staged(path, Existing::Replace, fill)?);
        Ok::<_, Error>(())
    };
    if let Some(path) = &wanted.csv {
        output(path, &|out| write_csv(&summary, out))?;
    }
    if let Some(path) = &wanted.svg {
        let groups = charts(&summary, wanted.function.as_deref())?;
        output(path, &|out| write_svg(&summary, &groups, out))?;
    }
    if let Some(path) = &wanted.html {
        output(path, &|out| write_html(&summary, out))?;
    }
    Output::commit_all(outputs)?;
    if wanted.outputs().any(is_stdout) {
        return Ok(());
    }
    let style = Style { functions: wanted.functions, ..terminal::style(true, wanted.show.color) };
    Ok(terminal::page(&render(&summary, &style), wanted.show)?)
}

fn metric(recording: &Recording, name: &str) -> anyhow::Result<usize> {
    let metrics = &recording.header.metrics;
    metrics.iter().position(|metric| metric.name == name).ok_or_else(|| {
        let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        anyhow::anyhow!("no metric {name} in the recording: it has {}", names.join(", "))
    })
}

fn charts<'a>(summary: &'a Summary<'_>, function: Option<&str>) -> anyhow::Result<Vec<&'a Group>> {
    let all = summary.functions.iter();
    let Some(name) = function else {
        return Ok(all.flat_map(|(_, contexts)| contexts).take(CHARTS).collect());
    };
    let of: Vec<&Group> = all
        .filter(|(group, _)| summary.name(group.function) == name)
        .flat_map(|(_, contexts)| contexts)
        .collect();
    anyhow::ensure!(!of.is_empty(), "no calls of {name} in the recording");
    Ok(of)
}
