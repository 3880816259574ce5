//! Which causes a report may have, and how likely each is.

use rayon::prelude::*;

use crate::skid::hold::{Reporting, each_step};
use crate::skid::{Holds, Kernel, Rates, Region, Skid};

/// Causes less likely than this share of a report's likeliest are dropped.
const LEAST: f64 = 1e-5;

/// For each node reported, its possible causes (node, joint weight), by node.
pub type Coupling = Vec<Vec<(usize, f64)>>;

/// Causes of an event that overflows behind the executions in `origin` (per node) and is reported after `skid`.
pub fn by_overflow(
    region: &Region,
    rates: &Rates,
    holds: &Holds,
    skid: &Skid,
    reporting: Reporting,
    origin: &[f64],
) -> Coupling {
    let causes: Vec<usize> = (0..region.nodes.len()).filter(|&m| origin[m] > 0.0).collect();
    let landed: Vec<Vec<f64>> = causes
        .par_iter()
        .map_init(Kernel::default, |kernel, &m| {
            let mut one = vec![0.0; region.nodes.len()];
            one[m] = origin[m];
            let bins = kernel.reports(region, rates, holds, skid, reporting, &one);
            mix(&bins, &skid.weights)
        })
        .collect();
    transpose(region.nodes.len(), &causes, &landed)
}

/// Causes of a report of time: the instructions that may have been waited for.
pub fn by_waiting(region: &Region, rates: &Rates, reporting: Reporting) -> Coupling {
    let n = region.nodes.len();
    let leader = |i: usize| if reporting.fused && region.nodes[i].fused && i > 0 { i - 1 } else { i };
    let mut coupling: Coupling = vec![Vec::new(); n];
    if reporting.late {
        each_step(region, rates, |from, to, flow| {
            if flow > 0.0 {
                add(&mut coupling[to], leader(from), flow);
            }
        });
    }
    for (i, causes) in coupling.iter_mut().enumerate() {
        if causes.is_empty() {
            causes.push((leader(i), 1.0));
        }
        causes.sort_by_key(|c| c.0);
    }
    coupling
}

fn add(causes: &mut Vec<(usize, f64)>, cause: usize, weight: f64) {
    match causes.iter_mut().find(|c| c.0 == cause) {
        Some(known) => known.1 += weight,
        None => causes.push((cause, weight)),
    }
}

fn mix(bins: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut mixed = vec![0.0; bins.first().map_or(0, Vec::len)];
    for (bin, weight) in bins.iter().zip(weights) {
        mixed.iter_mut().zip(bin).for_each(|(sum, b)| *sum += weight * b);
    }
    mixed
}

fn transpose(n: usize, causes: &[usize], landed: &[Vec<f64>]) -> Coupling {
    let mut coupling: Coupling = vec![Vec::new(); n];
    let mut likeliest = vec![0.0f64; n];
    for row in landed {
        likeliest.iter_mut().zip(row).for_each(|(top, &w)| *top = top.max(w));
    }
    for (&cause, row) in causes.iter().zip(landed) {
        for (report, &weight) in row.iter().enumerate() {
            if weight > LEAST * likeliest[report] {
                coupling[report].push((cause, weight));
            }
        }
    }
    coupling
}
