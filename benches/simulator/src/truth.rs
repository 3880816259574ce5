//! The truth table beside a recording: `M`, `S`, `I`, `E` and `T` lines, tab-separated, addresses as the recording has them.
//!
//! ```text
//! M start end pgoff path                        S start end module name
//! I addr length executions head-cycles l1-misses branch-misses branches loads stores
//! E from to count                               T instructions cycles mispredicts
//! ```

use std::io::Write;
use std::path::Path;

use crate::sampler::{Happened, Plan, Recording};
use crate::trace::Trace;
use crate::{Error, Result};

/// Writes the truth of `recording` to `path`.
pub fn write(path: &Path, trace: &Trace, plan: &Plan, recording: &Recording) -> Result<()> {
    let file = std::fs::File::create(path).map_err(Error::io(path))?;
    write_all(&mut std::io::BufWriter::new(file), trace, plan, recording).map_err(Error::io(path))
}

fn write_all(out: &mut impl Write, trace: &Trace, plan: &Plan, recording: &Recording) -> std::io::Result<()> {
    for (module, map) in trace.modules.iter().filter_map(|m| Some((m, m.mapping()?))) {
        writeln!(out, "M\t{:x}\t{:x}\t{:x}\t{}", map.start, map.end, map.offset, module.recorded_path)?;
    }
    for (module, bias) in trace.modules.iter().filter_map(|m| Some((m, m.bias?))) {
        for f in &module.image.functions {
            let (start, end) = (f.start + bias, f.end + bias);
            writeln!(out, "S\t{start:x}\t{end:x}\t{}\t{}", module.name(), f.name)?;
        }
    }
    let mut lines: Vec<_> = trace.insts.iter().zip(&recording.truth).collect();
    lines.sort_by_key(|(inst, _)| inst.address);
    for (inst, h) in lines {
        let Happened { executions, head_cycles, load_misses, mispredicts, branches, loads, stores } = h;
        write!(out, "I\t{:x}\t{}\t{executions}\t{head_cycles}", inst.address, inst.length)?;
        writeln!(out, "\t{load_misses}\t{mispredicts}\t{branches}\t{loads}\t{stores}")?;
    }
    write_edges(out, trace, plan)?;
    let total = |of: fn(&Happened) -> u64| recording.truth.iter().map(of).sum::<u64>();
    writeln!(out, "T\t{}\t{}\t{}", total(|h| h.executions), recording.cycles, total(|h| h.mispredicts))?;
    out.flush()
}

fn write_edges(out: &mut impl Write, trace: &Trace, plan: &Plan) -> std::io::Result<()> {
    let address = |ix| trace.inst(ix).address;
    let mut edges: Vec<_> = trace.edges.iter().map(|(&(a, b), &n)| (address(a), address(b), n)).collect();
    edges.sort_unstable();
    for (from, to, n) in edges {
        writeln!(out, "E\t{from:x}\t{to:x}\t{}", n * u64::from(plan.passes))?;
    }
    Ok(())
}
