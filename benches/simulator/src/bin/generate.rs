//! `generate OUT_DIR`: writes recordings with exact ground truth, and prints how far they are from it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Parser;
use skidconv_simulator::distance::Distance;
use skidconv_simulator::grid::Case;
use skidconv_simulator::program::Source;
use skidconv_simulator::sets::{CASES, QUICK};
use skidconv_simulator::trace::Trace;
use skidconv_simulator::{Result, counter::Event};

/// Makes perf recordings whose truth is known: NAME.perf.data, NAME.truth.tsv, and binaries under symfs/.
///
/// Needs `cc` and `valgrind`. Example: generate /tmp/cases --case tree-wide4-60
#[derive(Parser)]
struct Options {
    /// Where the files go; made if it does not exist.
    out: PathBuf,
    /// Only about ten cases, one or two of each kind of core.
    #[arg(long)]
    quick: bool,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Programs traced and simulated at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let cases = chosen(&options)?;
    std::fs::create_dir_all(&options.out)?;
    println!("{:26} {:22} {:>7} {:>8} {:>8} {:>8}", "case", "event", "samples", "func", "instr", "floor");
    let mut programs: Vec<&'static str> = cases.iter().map(|c| c.program).collect();
    programs.dedup();
    let queue = Mutex::new(programs.into_iter());
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let Some(program) = queue.lock().ok().and_then(|mut q| q.next()) else { return Ok(()) };
                generate(program, &cases, &options.out)?;
            }
        };
        let workers: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
    })?;
    Ok(())
}

/// The cases asked for, those of one program together.
fn chosen(options: &Options) -> Result<Vec<&'static Case>> {
    let mut cases: Vec<&Case> = match (options.quick, options.cases.as_slice()) {
        (_, [_, ..]) => options.cases.iter().map(|n| Case::named(n)).collect::<Result<_>>()?,
        (true, _) => QUICK.iter().map(|n| Case::named(n)).collect::<Result<_>>()?,
        (false, _) => CASES.iter().collect(),
    };
    cases.sort_by_key(|c| c.program);
    Ok(cases)
}

/// One program is traced once, whatever the number of cores it runs on.
fn generate(program: &'static str, cases: &[&Case], out: &Path) -> Result<()> {
    let trace = Trace::record(Source::named(program)?.compile(&out.join("symfs"))?)?;
    for case in cases.iter().filter(|c| c.program == program) {
        for (event, distance) in case.write(&trace, out)? {
            print(case.name, event, distance);
        }
    }
    Ok(())
}

fn print(case: &str, event: Event, d: Distance) {
    let Distance { samples, function, instruction, floor } = d;
    println!("{case:26} {:22} {samples:7} {function:8.4} {instruction:8.4} {floor:8.4}", event.name());
}
