//! How often the truth lies in the 90 % intervals that are told.

use std::path::Path;

use anyhow::{Context, Result};
use skidconv::report::Report;
use skidconv::solve::{Solved, credible};

use super::score::grouped;
use super::transfers::{Code, Edges};
use super::truth::Truth;

/// Functions and transfers with a smaller share of all executions are not asked after.
const LEAST_SHARE: f64 = 1e-3;

/// Shares of the instructions with a row, plain and weighted, whose true executions lie in the row's interval.
pub fn instructions(csv: &Path, truth: &Truth) -> Result<(Option<f64>, Option<f64>)> {
    let mut reader = csv::Reader::from_path(csv)?;
    let column = |name: &str, header: &csv::StringRecord| {
        header.iter().position(|h| h == name).with_context(|| format!("no column {name}"))
    };
    let header = reader.headers()?.clone();
    let [event, image, address, low, high] = ["event", "image", "address", "low", "high"]
        .map(|name| column(name, &header))
        .into_iter()
        .collect::<Result<Vec<usize>>>()?[..]
    else {
        anyhow::bail!("columns are missing")
    };
    let (mut rows, mut inside) = ((0.0, 0.0), (0.0, 0.0));
    for row in reader.records() {
        let row = row?;
        let Some(above) = truth.images.get(&row[image]).filter(|_| row[event].starts_with("instructions"))
        else {
            continue;
        };
        let own = u64::from_str_radix(row[address].trim_start_matches("0x"), 16)?;
        let ran = truth.executions.get(&own.wrapping_add(*above)).copied().unwrap_or(0.0);
        rows = (rows.0 + 1.0, rows.1 + ran);
        if (row[low].parse::<f64>()?..=row[high].parse()?).contains(&ran) {
            inside = (inside.0 + 1.0, inside.1 + ran);
        }
    }
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    Ok((share(inside.0, rows.0), share(inside.1, rows.1)))
}

/// Share of the functions whose true share lies in their interval.
pub fn functions(report: &Report, truth: &Truth) -> Option<f64> {
    let event = report.events.iter().find(|e| e.name.starts_with("instructions"))?;
    let ran = grouped(&truth.executions, |at| truth.function(at));
    let all: f64 = ran.values().sum();
    let mut rows = (0.0, 0.0);
    for function in &event.functions {
        let Some(above) = truth.images.get(&function.image) else { continue };
        let start = function.address?.wrapping_add(*above);
        let at = truth.function(start);
        let share = ran.get(&at).copied().unwrap_or(0.0) / all;
        // one that the truth has no name for is one with others there
        if share >= LEAST_SHARE && at == start {
            let inside = (function.low..=function.high).contains(&share);
            rows = (rows.0 + 1.0, rows.1 + f64::from(u8::from(inside)));
        }
    }
    (rows.0 > 0.0).then(|| rows.1 / rows.0)
}

/// Share of the control transfers whose true count lies in the interval of the draws, counting noise included.
pub fn edges(code: &Code<'_>, solved: &Solved, truth: &Truth) -> Option<f64> {
    let all = truth.edges.values().sum::<f64>();
    let mut rows = (0.0, 0.0);
    for answer in solved.answers.iter().filter(|answer| !answer.draws.is_empty()) {
        let drawn: Vec<Edges> = answer.draws.iter().map(|draw| code.transfers(answer, draw)).collect();
        for (edge, flow) in code.transfers(answer, &answer.rates) {
            let ran = truth.edges.get(&edge).copied().unwrap_or(0.0);
            if ran >= LEAST_SHARE * all {
                let mut draws: Vec<f64> = drawn.iter().map(|edges| edges[&edge]).collect();
                let (low, high) = credible(flow, &mut draws, answer.model.events[0].period);
                rows = (rows.0 + 1.0, rows.1 + f64::from(u8::from((low..=high).contains(&ran))));
            }
        }
    }
    (rows.0 > 0.0).then(|| rows.1 / rows.0)
}
