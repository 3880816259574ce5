//! The estimators, each run as a user would run it.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use skidconv::code::Program;
use skidconv::options::{Options, Solver};
use skidconv::perfdata::PerfFile;
use skidconv::pipeline::run_watched;
use skidconv::progress::Silent;
use skidconv::skid::region::{ArmKind, By};
use skidconv::solve::Solved;

use super::cases::Case;
use super::score::{Scores, distance, levels};
use super::truth::{Profile, Truth};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The samples as recorded.
    Raw,
    /// `fix --solver` with this.
    Fix(Solver),
}

/// All of them.
pub const ALL: [Estimator; 10] = [
    Estimator::Raw,
    Estimator::Fix(Solver::Mean),
    Estimator::Fix(Solver::Flow),
    Estimator::Fix(Solver::Timed),
    Estimator::Fix(Solver::Profi),
    Estimator::Fix(Solver::Bolt),
    Estimator::Fix(Solver::Mcf),
    Estimator::Fix(Solver::Ics),
    Estimator::Fix(Solver::Argmin),
    Estimator::Fix(Solver::Gibbs),
];

/// Control transfers by the addresses of the binary.
type Edges = std::collections::BTreeMap<(u64, u64), f64>;

impl Estimator {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Raw => "raw",
            Estimator::Fix(Solver::Gibbs) => "gibbs",
            Estimator::Fix(Solver::Argmin) => "argmin",
            Estimator::Fix(Solver::Flow) => "flow",
            Estimator::Fix(Solver::Timed) => "timed",
            Estimator::Fix(Solver::Ics) => "ics",
            Estimator::Fix(Solver::Mean) => "mean",
            Estimator::Fix(Solver::Profi) => "profi",
            Estimator::Fix(Solver::Bolt) => "bolt",
            Estimator::Fix(Solver::Mcf) => "mcf",
        }
    }

    /// Runs it on a case and scores what comes out.
    pub fn run(self, case: &Case, truth: &Truth) -> Result<Scores> {
        let Estimator::Fix(solver) = self else { return scored(&case.recording(), truth) };
        let folder = tempfile::tempdir()?;
        let (output, csv) = (folder.path().join("fixed.data"), folder.path().join("rows.csv"));
        let options = Options {
            input: case.recording(),
            output: Some(output.clone()),
            csv: Some(csv.clone()),
            symfs: vec![case.symfs()],
            solver,
            seed: 1,
            correct: true,
            ..Options::default()
        };
        let mut edges = Edges::new();
        let started = Instant::now();
        run_watched(&options, &Silent, &mut |program, solved| edges = transfers(program, solved))
            .with_context(|| case.name.clone())?;
        let seconds = Some(started.elapsed().as_secs_f64());
        let mut scores = Scores { seconds, ..scored(&output, truth)? };
        if solver != Solver::Mean {
            let bias = truth.image.1;
            let moved = edges.iter().map(|(&(a, b), n)| ((a.wrapping_add(bias), b.wrapping_add(bias)), *n));
            scores.edge = distance(&moved.collect::<Edges>(), &truth.edges);
        }
        if matches!(solver, Solver::Gibbs | Solver::Argmin | Solver::Flow | Solver::Timed) {
            (scores.covered, scores.covered_weighted) = coverage(&csv, truth)?;
        }
        Ok(scores)
    }
}

/// Distances of the samples of a recording.
fn scored(recording: &Path, truth: &Truth) -> Result<Scores> {
    let [function, block, instruction] = levels(truth, &samples(recording, "instructions")?.0);
    let at =
        |event: &str, truth: &Profile| Ok::<_, anyhow::Error>(distance(&samples(recording, event)?.0, truth));
    Ok(Scores {
        function,
        block,
        instruction,
        cycles: at("cycles", &truth.heads)?,
        loads: at("L1-dcache-load-misses", &truth.loads)?,
        branches: at("branch-misses", &truth.branches)?,
        ..Scores::default()
    })
}

/// Weights by address, and the number of samples, of the events whose name begins so.
pub fn samples(recording: &Path, event: &str) -> Result<(Profile, usize)> {
    let file = PerfFile::open(recording)?;
    let mut records = file.records()?;
    let (mut profile, mut count) = (Profile::new(), 0);
    while let Some(record) = records.next()? {
        if let Some(sample) = file.sample(&record)?
            && file.attrs()[sample.attr.0 as usize].name.starts_with(event)
        {
            *profile.entry(sample.ip).or_default() += sample.period as f64;
            count += 1;
        }
    }
    Ok((profile, count))
}

/// How often control goes from each transfer to each target, by the answer's arms and returns.
fn transfers(program: &Program, solved: &Solved) -> Edges {
    let mut edges = Edges::new();
    for answer in &solved.answers {
        let region = &answer.model.region;
        let address = |n: usize| program.place(region.nodes[n].function, region.nodes[n].inst).address;
        for (from, node) in region.nodes.iter().enumerate().filter(|(_, n)| n.transfers) {
            for at in region.starts[from]..region.starts[from + 1] {
                let step = region.steps[at];
                let over = |arm: usize| matches!(region.arms[arm].kind, ArmKind::Skip { .. });
                if !matches!(step.by, By::Arm(arm) if over(arm)) {
                    let flow = answer.rates.blocks[node.block] * answer.rates.steps[at];
                    *edges.entry((address(from), address(step.to))).or_default() += flow;
                }
            }
        }
    }
    edges
}

/// Shares of the instructions with a row, plain and weighted, whose true executions lie in the row's interval.
fn coverage(csv: &Path, truth: &Truth) -> Result<(Option<f64>, Option<f64>)> {
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
        if !row[event].starts_with("instructions") || row[image] != truth.image.0 {
            continue;
        }
        let own = u64::from_str_radix(row[address].trim_start_matches("0x"), 16)?;
        let ran = truth.executions.get(&own.wrapping_add(truth.image.1)).copied().unwrap_or(0.0);
        rows = (rows.0 + 1.0, rows.1 + ran);
        if (row[low].parse::<f64>()?..=row[high].parse()?).contains(&ran) {
            inside = (inside.0 + 1.0, inside.1 + ran);
        }
    }
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    Ok((share(inside.0, rows.0), share(inside.1, rows.1)))
}
