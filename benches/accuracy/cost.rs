//! What `fix` costs by the size of a recording: seconds with the default solver, and how many times as many they are as they
//! would be if cost grew as samples or functions do.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use skidconv::options::Options;
use skidconv::pipeline::run;
use skidconv::progress::Silent;
use skidconv_simulator::scale::{SIZES, Size};

use super::cases::root;

/// Clock ticks a second in `/proc`, on every Linux there is.
const TICKS: f64 = 100.0;

/// Measures every size, or with `quick` the full one alone.
pub fn measure(quick: bool) -> Result<()> {
    let folder = root().join("target/accuracy/scale");
    std::fs::create_dir_all(&folder)?;
    println!("{:>9} {:>9} {:>8} {:>8}  of linear", "functions", "samples", "seconds", "of cpu");
    let mut full: Option<(Size, f64)> = None;
    for &size in SIZES.iter().take(if quick { 1 } else { SIZES.len() }) {
        let (seconds, cpu) = timed(&size.recording(&folder)?, &folder.join("symfs"))?;
        let (first, most) = *full.get_or_insert((size, cpu));
        let fraction = |a: u64, b: u64| a as f64 / b as f64;
        let part = fraction(size.functions(), first.functions()) * fraction(size.samples, first.samples);
        println!(
            "{:9} {:9} {seconds:8.1} {cpu:8.1} {:8.2} ×",
            size.functions(),
            size.samples,
            cpu / (most * part)
        );
    }
    Ok(())
}

/// Seconds of one run, by the clock and of all processors together.
fn timed(input: &Path, symfs: &Path) -> Result<(f64, f64)> {
    let out = tempfile::tempdir()?;
    let options = Options {
        input: input.into(),
        output: Some(out.path().join("fixed.data")),
        symfs: vec![symfs.into()],
        correct: true,
        ..Options::default()
    };
    let (started, before) = (Instant::now(), processor_seconds()?);
    run(&options, &Silent)?;
    Ok((started.elapsed().as_secs_f64(), processor_seconds()? - before))
}

/// User and system time of this process (proc(5), stat, fields 14 and 15).
fn processor_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("/proc/self/stat has no name")?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<std::result::Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS)
}
