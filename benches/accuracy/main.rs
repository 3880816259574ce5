//! How near each estimator comes to the truth, and what it costs.
//!
//!     cargo bench --bench accuracy -- [--quick] [--others] [--fresh] [--patient] [--real] [--languages] [--runtimes] [--unoptimized]
//!         [--ia32] [--linked] [--missing] [--retired] [--write-readme] [--cost] [FOLDER…]
//!
//! Cases are recordings whose truth is known: those of `testdata/cases`, those of the simulator's grid, which are made in
//! `target/accuracy` where they are missing (that takes valgrind), and those of each FOLDER. Each goes through
//! `fix --solver …`, and what is scored is the samples of the recording that comes out.
//!
//! ```text
//! cases → estimator → score (truth) → table, readme
//!                        cost (recordings of many functions)
//! ```

mod cases;
mod cost;
mod coverage;
mod estimator;
mod readme;
mod score;
mod table;
mod transfers;
mod truth;

use clap::Parser;

use cases::Case;
use estimator::Estimator;
use table::Table;

/// Scores every estimator on recordings whose truth is known.
#[derive(Parser)]
struct Arguments {
    /// Folders with more cases: NAME.perf.data, NAME.truth.tsv and symfs/
    folders: Vec<std::path::PathBuf>,
    /// Only the quick part of the grid
    #[arg(long)]
    quick: bool,
    /// Also generated cases of other programs, which most numbers were chosen without
    #[arg(long)]
    others: bool,
    /// Also generated cases of the same programs on other cores and with other skids
    #[arg(long)]
    fresh: bool,
    /// Also generated cases whose addresses are late only after long waits
    #[arg(long)]
    patient: bool,
    /// Also cases of real code (sqlite, lua, zlib …); takes the libraries' Debian packages
    #[arg(long)]
    real: bool,
    /// Also generated cases of programs in C++ and Rust; takes rustc
    #[arg(long)]
    languages: bool,
    /// Also generated cases of programs in Fortran, Go and OCaml; takes gfortran, golang-go and ocaml
    #[arg(long)]
    runtimes: bool,
    /// Also generated cases of programs in C that are compiled without optimization
    #[arg(long)]
    unoptimized: bool,
    /// Also generated cases of programs in C that are compiled for IA-32; takes gcc-multilib
    #[arg(long)]
    ia32: bool,
    /// Also generated cases of programs that are linked with shared libraries; takes the libraries' Debian packages
    #[arg(long)]
    linked: bool,
    /// Also generated cases of misses in programs of all kinds; takes the libraries and rustc
    #[arg(long)]
    missing: bool,
    /// Also generated cases of branches, loads and stores that retire
    #[arg(long)]
    retired: bool,
    /// Only cases with this in their name; may be repeated
    #[arg(long = "case", value_name = "PART")]
    cases: Vec<String>,
    /// Only this estimator; may be repeated
    #[arg(long = "estimator", value_name = "NAME", value_parser = estimator::ALL.map(|e| e.name()))]
    estimators: Vec<String>,
    /// Print the README's table as Markdown
    #[arg(long)]
    readme: bool,
    /// Put it into the README
    #[arg(long)]
    write_readme: bool,
    /// Measure seconds by samples and functions instead
    #[arg(long)]
    cost: bool,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    /// Sets that are asked for beside the grid.
    fn sets(&self) -> impl Iterator<Item = &'static str> {
        let sets = [
            (self.others, "others"),
            (self.fresh, "fresh"),
            (self.patient, "patient"),
            (self.real, "real"),
            (self.languages, "languages"),
            (self.runtimes, "runtimes"),
            (self.unoptimized, "unoptimized"),
            (self.ia32, "ia32"),
            (self.linked, "linked"),
            (self.missing, "missing"),
            (self.retired, "retired"),
        ];
        sets.into_iter().filter(|(asked, _)| *asked).map(|(_, set)| set)
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.cost {
        return cost::measure(arguments.quick);
    }
    let mut all: Vec<Case> = cases::held()?;
    all.extend(cases::grid(arguments.quick)?);
    for set in arguments.sets() {
        all.extend(cases::of(set)?);
    }
    for folder in &arguments.folders {
        all.extend(cases::within(folder, folder.display().to_string())?);
    }
    all.retain(|c| arguments.cases.is_empty() || arguments.cases.iter().any(|part| c.name.contains(part)));
    let wanted = |e: &&Estimator| {
        arguments.estimators.is_empty() || arguments.estimators.iter().any(|name| name == e.name())
    };
    let estimators: Vec<Estimator> = estimator::ALL.iter().filter(wanted).copied().collect();
    let mut table = Table::default();
    table.head();
    for case in &all {
        let truth = truth::Truth::read(&case.truth(), &case.symfs())?;
        table.noise(case, &truth)?;
        for &estimator in &estimators {
            let scores = estimator.run(case, &truth)?;
            table.row(case, estimator, scores);
        }
    }
    table.means();
    if arguments.readme || arguments.write_readme {
        let text = readme::table(&table);
        println!("\n{text}");
        if arguments.write_readme {
            readme::write(&text)?;
        }
    }
    Ok(())
}
