//! Functions instruction by instruction, with what was counted on each.

use std::collections::{BTreeMap, BTreeSet};

use super::walk;
use crate::export::Context;
use crate::ibs::Cell;
use crate::image::{ImageId, Location, SourceText, Svma};
use crate::options::{Annotate, Options};
use crate::pipeline::decoding::Range;
use crate::pipeline::listings::{instruction_text, matching, source};
use crate::pipeline::survey::Survey;
use crate::pipeline::tally::Spot;
use crate::report::ibs::{Line, Listing, Table};

/// Of functions that nobody named, those with a larger share of the samples are listed,
const LEAST_SHARE: f64 = 0.005;
/// but no more than so many.
const MOST: usize = 40;
/// Instructions of one function, at most.
const LONGEST: usize = 20_000;

/// What listings are made from.
pub struct Lister<'a> {
    /// Binaries.
    pub survey: &'a Survey,
    /// Places that are known to be instructions.
    pub known: &'a BTreeSet<Location>,
    /// Which functions are wanted: those of the name asked for, or for a page the hottest ones.
    pub wanted: &'a Options,
}

impl Lister<'_> {
    /// The functions of a table that are wanted, those with the most samples first.
    pub fn listings(
        &self,
        table: &Table,
        rows: &BTreeMap<Spot, Vec<Cell>>,
        text: &mut SourceText,
        context: &mut Context<'_>,
    ) -> Vec<Listing> {
        let mut held: BTreeMap<Range, u64> = BTreeMap::new();
        for (spot, cells) in rows {
            if let Spot::At(at) = spot
                && let Some(range) = walk::function(self.survey, *at)
            {
                *held.entry(range).or_default() += cells.iter().map(|cell| cell.n).max().unwrap_or(0);
            }
        }
        let mut hot: Vec<(Range, u64)> = held.into_iter().collect();
        hot.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        let chosen: Vec<Range> = match &self.wanted.annotate {
            Some(Annotate::Function(asked)) => {
                let named: Vec<(String, Range)> =
                    hot.iter().map(|(range, _)| (name(*range, context), *range)).collect();
                matching(&named, asked)
            }
            None if self.wanted.html.is_none() => Vec::new(),
            _ => {
                let least = LEAST_SHARE * table.samples as f64;
                hot.iter().filter(|hot| hot.1 as f64 >= least).take(MOST).map(|hot| hot.0).collect()
            }
        };
        chosen.into_iter().map(|range| self.listing(range, table, rows, text, context)).collect()
    }

    fn listing(
        &self,
        range: Range,
        table: &Table,
        rows: &BTreeMap<Spot, Vec<Cell>>,
        text: &mut SourceText,
        context: &mut Context<'_>,
    ) -> Listing {
        let at = |address| Location { image: ImageId(range.0), svma: Svma(address) };
        let mut insts = walk::instructions(self.survey, range, self.known);
        insts.truncate(LONGEST);
        let mut lines: BTreeMap<u64, Line> = BTreeMap::new();
        for inst in &insts {
            let line = Line {
                address: inst.address,
                text: instruction_text(&self.survey.images, at(inst.address).image, inst, context),
                source: context.names.symbol(at(inst.address)).and_then(|symbol| source(&symbol, text)),
                cells: vec![Cell::default(); table.columns.len()],
            };
            lines.insert(inst.address, line);
        }
        for (spot, cells) in rows.range(Spot::At(at(range.1))..Spot::At(at(range.2))) {
            let Spot::At(Location { svma, .. }) = spot else { continue };
            let stray = || Line { address: svma.0, text: String::new(), source: None, cells: Vec::new() };
            lines.entry(svma.0).or_insert_with(stray).cells = cells.clone();
        }
        Listing {
            function: name(range, context),
            image: context.names.path(ImageId(range.0)),
            address: range.1,
            lines: lines.into_values().collect(),
        }
    }
}

fn name(range: Range, context: &mut Context<'_>) -> String {
    let at = Location { image: ImageId(range.0), svma: Svma(range.1) };
    context.names.function(at).map_or_else(|| format!("{:#x}", range.1), |symbol| symbol.name.clone())
}
