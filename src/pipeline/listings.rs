//! Functions instruction by instruction: code, source lines and loops beside what stood there before and after.

use std::collections::BTreeMap;

use super::correct::Correction;
use super::decoding::{self, Range};
use super::intervals::left;
use super::survey::Survey;
use super::tally::{Count, Spot, Tally};
use crate::code::{Flow, Function, Inst, disassemble};
use crate::export::Context;
use crate::image::{ImageId, Images, Location, SourceText, Svma, Symbol};
use crate::options::Annotate;
use crate::perfdata::AttrIx;
use crate::report::EventReport;
use crate::report::listing::{Cell, Line, ListedEvent, ListedLoop, Listing, SourceLine};

/// Of functions that nobody named, those with a larger share of some event are listed.
const LEAST_SHARE: f64 = 0.005;
/// But no more than so many.
const MOST: usize = 40;
/// Instructions of one function, at most.
const LONGEST: usize = 20_000;

/// What listings are made from.
pub struct Lister<'a> {
    /// Where samples stand, and the binaries.
    pub survey: &'a Survey,
    /// What was decided.
    pub correction: &'a Correction,
    /// What stands where.
    pub tally: &'a Tally,
    /// What was said of the events.
    pub events: &'a [EventReport],
}

impl Lister<'_> {
    /// The functions that are wanted, hottest first.
    pub fn listings(
        &self,
        wanted: &Annotate,
        text: &mut SourceText,
        context: &mut Context<'_>,
    ) -> Vec<Listing> {
        let mut hot: Vec<(f64, Range)> =
            self.functions().into_iter().map(|(range, share)| (share, range)).collect();
        hot.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut name = |range: &Range| {
            let at = Location { image: ImageId(range.0), svma: Svma(range.1) };
            context.names.symbol(at).map_or_else(String::new, |symbol| symbol.name.clone())
        };
        let chosen: Vec<Range> = match wanted {
            Annotate::Hottest => hot
                .into_iter()
                .filter(|(share, _)| *share >= LEAST_SHARE)
                .take(MOST)
                .map(|(_, r)| r)
                .collect(),
            Annotate::Function(asked) => {
                let named: Vec<(String, Range)> = hot.iter().map(|(_, r)| (name(r), *r)).collect();
                matching(&named, asked)
            }
        };
        chosen.into_iter().map(|range| self.listing(range, text, context)).collect()
    }

    /// Named functions with samples, and their largest share of any event.
    fn functions(&self) -> BTreeMap<Range, f64> {
        let mut shares: BTreeMap<Range, BTreeMap<AttrIx, (u64, u64)>> = BTreeMap::new();
        for (&(attr, spot), count) in &self.tally.spots {
            let Spot::At(at) = spot else { continue };
            let image = self.survey.images.get(at.image);
            let (Some(f), Some(_)) = (image.function_at(at.svma), decoding::bitness(image)) else { continue };
            let sum = shares.entry((at.image.0, f.start.0, f.end.0)).or_default().entry(attr).or_default();
            (sum.0, sum.1) = (sum.0 + count.raw_weight, sum.1 + count.fixed_weight);
        }
        let total = |attr: &AttrIx| self.survey.events[attr.0 as usize].weight.max(1) as f64;
        let largest = |events: BTreeMap<AttrIx, (u64, u64)>| {
            events.iter().map(|(attr, sum)| sum.0.max(sum.1) as f64 / total(attr)).fold(0.0, f64::max)
        };
        shares.into_iter().map(|(range, events)| (range, largest(events))).collect()
    }

    fn listing(&self, range: Range, text: &mut SourceText, context: &mut Context<'_>) -> Listing {
        let (image, start, end) = (ImageId(range.0), Svma(range.1), Svma(range.2));
        let place = |svma| Location { image, svma };
        let counts = self.counts(image, start, end);
        let events: Vec<AttrIx> = {
            let mut events: Vec<_> = counts.keys().map(|(_, attr)| *attr).collect();
            events.sort_unstable();
            events.dedup();
            events
        };
        let mut known: Vec<u64> = counts.keys().map(|(at, _)| at.0).collect();
        known.dedup();
        let mut function = decoding::function(&self.survey.images, range, &known);
        function.insts.truncate(LONGEST);
        let lines = function.insts.iter().enumerate().map(|(ix, inst)| Line {
            address: inst.address,
            text: instruction_text(&self.survey.images, image, inst, context),
            source: context.names.symbol(place(Svma(inst.address))).and_then(|s| source(&s, text)),
            inside: function.loops.of(function.cfg.block_of(ix)),
            cells: events.iter().map(|attr| self.cell(*attr, place(Svma(inst.address)), &counts)).collect(),
        });
        let lines: Vec<Line> = lines.collect();
        let (symbol, path) = (context.names.symbol(place(start)), context.names.path(image));
        let name = symbol.map_or_else(|| format!("{:#x}", start.0), |s| s.name.clone());
        Listing {
            loops: self.loops(image, &function, &lines, events.len()),
            events: events.iter().map(|attr| self.event(*attr, start, &path, &lines, &events)).collect(),
            lines,
            function: name,
            image: path,
            address: start.0,
        }
    }

    fn counts(&self, image: ImageId, start: Svma, end: Svma) -> BTreeMap<(Svma, AttrIx), Count> {
        let mut counts = BTreeMap::new();
        let at = |svma| Spot::At(Location { image, svma });
        for attr in (0..self.survey.events.len()).map(|ix| AttrIx(ix as u32)) {
            for (&(_, spot), count) in self.tally.spots.range((attr, at(start))..(attr, at(end))) {
                if let Spot::At(at) = spot {
                    counts.insert((at.svma, attr), *count);
                }
            }
        }
        counts
    }

    fn cell(&self, attr: AttrIx, at: Location, counts: &BTreeMap<(Svma, AttrIx), Count>) -> Cell {
        let count = counts.get(&(at.svma, attr)).copied().unwrap_or_default();
        let known = self.correction.intervals.get(&(attr, at)).copied();
        let (low, high, verdict) = known.unwrap_or_else(|| left(self.correction, attr, &count));
        Cell { before: count.raw_weight, after: count.fixed_weight, low: low.max(0.0), high, verdict }
    }

    fn event(
        &self,
        attr: AttrIx,
        start: Svma,
        image: &str,
        lines: &[Line],
        events: &[AttrIx],
    ) -> ListedEvent {
        let column = events.iter().position(|e| *e == attr).unwrap_or(0);
        let sum = |of: fn(&Cell) -> u64| lines.iter().map(|line| of(&line.cells[column])).sum::<u64>();
        let event = &self.events[attr.0 as usize];
        let total = event.weight;
        let told = event.functions.iter().find(|f| f.address == Some(start.0) && f.image == image);
        let after = sum(|cell| cell.after);
        let share = |share: f64| share * total as f64;
        ListedEvent {
            name: event.name.clone(),
            index: attr.0 as usize,
            total,
            before: sum(|cell| cell.before),
            after,
            low: told.map_or(after as f64, |f| share(f.low)),
            high: told.map_or(after as f64, |f| share(f.high)),
            verdict: told.map_or(event.verdict, |f| f.verdict),
        }
    }

    fn loops(&self, image: ImageId, function: &Function, lines: &[Line], events: usize) -> Vec<ListedLoop> {
        let listed = |l: &crate::code::Loop| {
            let header = function.cfg.blocks[l.header].first;
            let mut weight = vec![(0, 0); events];
            for block in function.loops.blocks(l) {
                let block = &function.cfg.blocks[block];
                let cells = (block.first..block.end)
                    .filter_map(|ix| lines.get(ix))
                    .flat_map(|line| line.cells.iter().enumerate());
                cells.for_each(|(e, cell)| {
                    weight[e].0 += cell.before;
                    weight[e].1 += cell.after;
                });
            }
            let svma = Svma(function.insts.get(header).map_or(0, |inst| inst.address));
            let trips = self.correction.trips.get(&Location { image, svma }).copied();
            ListedLoop { header, parent: l.parent, depth: l.depth, trips, weight }
        };
        function.loops.all.iter().map(listed).collect()
    }
}

/// An instruction as text, direct targets as addresses with their function's name.
pub fn instruction_text(images: &Images, image: ImageId, inst: &Inst, context: &mut Context<'_>) -> String {
    let binary = images.get(image);
    let code = binary.code(Svma(inst.address)..Svma(inst.end()));
    let text = decoding::bitness(binary).zip(code).and_then(|(bits, code)| disassemble(bits, &code));
    let (Flow::Jump(to) | Flow::Branch(to) | Flow::Call(to)) = inst.flow else {
        return text.unwrap_or_else(|| inst.mnemonic.to_string());
    };
    let Some(symbol) = context.names.symbol(Location { image, svma: Svma(to) }) else {
        return format!("{} {to:#x}", inst.mnemonic);
    };
    match to.wrapping_sub(symbol.start.0) {
        0 => format!("{} {to:#x} <{}>", inst.mnemonic, symbol.name),
        _ if matches!(inst.flow, Flow::Call(_)) => {
            format!("{} {to:#x} <{}+…>", inst.mnemonic, symbol.name)
        }
        _ => format!("{} {to:#x}", inst.mnemonic),
    }
}

/// Functions of the name asked for: that very name, else without its arguments, else those that contain it.
pub fn matching(named: &[(String, Range)], asked: &str) -> Vec<Range> {
    let is: [&dyn Fn(&str) -> bool; 3] =
        [&|name| name == asked, &|name| name.split(['(', '<']).next() == Some(asked), &|name| {
            name.contains(asked)
        }];
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<Range> {
        named.iter().filter(|(name, _)| is(name)).map(|(_, range)| *range).collect()
    };
    is.iter().map(|is| of(is)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The innermost source line of a place.
pub fn source(symbol: &Symbol, text: &mut SourceText) -> Option<SourceLine> {
    let frame = symbol.frames.first()?;
    let (file, line) = (frame.file.clone()?, frame.line?);
    let inlined = frame.function.clone().filter(|_| symbol.frames.len() > 1);
    let text = text.line(&file, line).map(|text| text.trim_end().replace('\t', "    "));
    Some(SourceLine { text, file, line, inlined })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_as_much_of_its_name_as_is_given() {
        let named: Vec<(String, Range)> = ["ns::f(int)", "ns::f<int>(char)", "main", "ns::main_loop()"]
            .map(String::from)
            .into_iter()
            .zip((0..).map(|n| (n, 0, 1)))
            .collect();
        let found = |asked| matching(&named, asked).iter().map(|r| r.0).collect::<Vec<_>>();
        assert_eq!(found("main"), [2], "the very name wins");
        assert_eq!(found("ns::f"), [0, 1]);
        assert_eq!(found("loop"), [3]);
        assert!(found("absent").is_empty());
    }
}
