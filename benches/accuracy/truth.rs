//! What a truth table says (`testdata/cases/README.md` has its format), and the units that profiles are compared by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use skidconv::image::Elf;

/// Weights by address, or by whatever addresses are grouped to.
pub type Profile = BTreeMap<u64, f64>;

/// The truth about a recording; addresses are the recording's.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// How often each instruction ran.
    pub executions: Profile,
    /// Cycles at the head of the retirement queue.
    pub heads: Profile,
    /// First-level misses.
    pub loads: Profile,
    /// Mispredicted branches.
    pub branches: Profile,
    /// Branches, loads and stores that retired, where the table has them.
    pub retired: [Profile; 3],
    /// How often control went from one instruction to another that is not simply the next.
    pub edges: BTreeMap<(u64, u64), f64>,
    /// The files of the recording: their paths, and by how much their addresses are above the binaries' own.
    pub images: BTreeMap<String, u64>,
    /// Functions: start and end, by start.
    functions: Vec<(u64, u64)>,
    /// Mappings: start, end, offset and path.
    maps: Vec<(u64, u64, u64, String)>,
    blocks: BTreeMap<u64, u64>,
}

impl Truth {
    /// Reads a table; `symfs` holds the binaries it is about.
    pub fn read(path: &Path, symfs: &Path) -> Result<Truth> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut truth = Truth::default();
        let mut lengths = BTreeMap::new();
        for (n, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            let read = truth.line(&fields, &mut lengths);
            read.with_context(|| format!("{}:{}", path.display(), n + 1))?;
        }
        truth.functions.sort_unstable();
        truth.find_blocks(&lengths);
        truth.find_biases(symfs)?;
        Ok(truth)
    }

    /// A mapping says how far addresses are above offsets of the file, and its first page may be another segment's as well: an
    /// instruction tells by how much they are above the binary's own.
    fn find_biases(&mut self, symfs: &Path) -> Result<()> {
        for &(start, end, offset, ref path) in &self.maps {
            let Some((&at, _)) = self.executions.range(start..end).next() else { continue };
            let elf = Elf::open(&symfs.join(path.trim_start_matches('/')))?;
            let own = elf.svma_at(at - start + offset).with_context(|| format!("{path} has no {at:#x}"))?;
            self.images.entry(path.clone()).or_insert(at.wrapping_sub(own.0));
        }
        Ok(())
    }

    fn line(&mut self, fields: &[&str], lengths: &mut BTreeMap<u64, u64>) -> Result<()> {
        let field = |n: usize| fields.get(n).copied().context("a field is missing");
        let address = |n: usize| -> Result<u64> { Ok(u64::from_str_radix(field(n)?, 16)?) };
        let count = |n: usize| -> Result<f64> { Ok(field(n)?.parse()?) };
        match field(0)? {
            "M" => self.maps.push((address(1)?, address(2)?, address(3)?, field(4)?.into())),
            "S" => self.functions.push((address(1)?, address(2)?.max(address(1)? + 1))),
            "I" => {
                lengths.insert(address(1)?, field(2)?.parse()?);
                let columns = [&mut self.executions, &mut self.heads, &mut self.loads, &mut self.branches];
                let columns = columns.into_iter().chain(&mut self.retired).zip(3..fields.len());
                for (column, n) in columns {
                    if count(n)? > 0.0 {
                        column.insert(address(1)?, count(n)?);
                    }
                }
            }
            "E" => _ = self.edges.insert((address(1)?, address(2)?), count(3)?),
            "T" => {}
            other => bail!("a record of unknown kind: {other}"),
        }
        Ok(())
    }

    /// A block begins where control comes from elsewhere, behind a transfer, behind a gap, and with a function.
    fn find_blocks(&mut self, lengths: &BTreeMap<u64, u64>) {
        let targets: BTreeSet<u64> = self.edges.keys().map(|e| e.1).collect();
        let transfers: BTreeSet<u64> = self.edges.keys().map(|e| e.0).collect();
        let mut last: Option<(u64, u64, u64)> = None;
        for (&at, &length) in lengths {
            let begun = last.filter(|&(before, end, block)| {
                end == at
                    && !targets.contains(&at)
                    && !transfers.contains(&before)
                    && self.function(at) == self.function(block)
            });
            let block = begun.map_or(at, |l| l.2);
            self.blocks.insert(at, block);
            last = Some((at, at + length, block));
        }
    }

    /// The function around an address, else its mapping, else nothing.
    pub fn function(&self, at: u64) -> u64 {
        let before = self.functions.partition_point(|f| f.0 <= at);
        let around = self.functions[..before].last().filter(|f| at < f.1).map(|f| f.0);
        let map = || self.maps.iter().find(|m| (m.0..m.1).contains(&at)).map(|m| !m.0);
        around.or_else(map).unwrap_or(0)
    }

    /// The block around an address; all that the table does not have are one.
    pub fn block(&self, at: u64) -> u64 {
        self.blocks.get(&at).copied().unwrap_or(u64::MAX)
    }
}
