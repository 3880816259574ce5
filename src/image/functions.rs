//! Where functions begin and end.
//!
//! In: an ELF file, and its separate symbols if there are. Out: ranges with names, from the symbol table, else the dynamic
//! symbols; from PLT stubs; and, where none of them covers the code, from the unwind table, without names. Code that nothing
//! covers stays uncovered. It decodes no instruction.

use std::ops::Range;

use super::Svma;
use super::elf::Elf;
use super::plt::{Plt, PltTarget};
use super::symtab::{Binding, Symbol, Table, name_rank, symbols};
use super::unwind::Unwind;

/// What says that a function is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionSource {
    /// The symbol table, of the file or of its separate symbols.
    Symtab,
    /// The dynamic symbols.
    Dynsym,
    /// A stub that jumps to a function of another file.
    Plt,
    /// An entry of the unwind table.
    EhFrame,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRange {
    /// Its first address.
    pub start: Svma,
    /// The address after its last.
    pub end: Svma,
    /// Its name as the linker knows it; stubs are `name@plt`.
    pub name: Option<String>,
    /// What says so.
    pub source: FunctionSource,
}

/// All functions of an image, by start. Of several names for one start the one is kept that perf keeps.
#[derive(Debug, Default)]
pub struct Functions {
    ranges: Vec<FunctionRange>,
    /// From which address on which of them is the innermost.
    cuts: Vec<(Svma, Option<u32>)>,
}

struct Claim {
    range: FunctionRange,
    binding: Binding,
}

impl Claim {
    /// Least is best.
    fn rank(&self) -> impl Ord + '_ {
        let name = self.range.name.as_deref().unwrap_or_default();
        let empty = self.range.end <= self.range.start;
        (self.range.source, empty, name_rank(self.binding, name))
    }
}

impl Functions {
    /// Collects what the file and its separate symbols know.
    pub fn new(elf: &Elf, debug: Option<&Elf>, plt: &Plt, unwind: Option<&Unwind>) -> Functions {
        let mut claims = named(elf, debug);
        let stubs: Vec<Claim> = plt.stubs().map(|(range, target)| stub(range, target, &claims)).collect();
        claims.extend(stubs);
        let in_stubs =
            |frame: &Range<Svma>| plt.sections().iter().any(|stubs| stubs.contains(&frame.start.0));
        let frames = unwind.map(Unwind::ranges).unwrap_or_default();
        let frames = frames.into_iter().filter(|frame| !in_stubs(frame));
        claims.extend(frames.map(|frame| Claim {
            range: FunctionRange {
                start: frame.start,
                end: frame.end,
                name: None,
                source: FunctionSource::EhFrame,
            },
            binding: Binding::Local,
        }));
        Functions::from_ranges(merge(claims, elf))
    }

    /// From ranges in the order of their starts.
    fn from_ranges(ranges: Vec<FunctionRange>) -> Functions {
        let mut cuts: Vec<(Svma, Option<u32>)> = Vec::with_capacity(2 * ranges.len());
        let mut open: Vec<u32> = Vec::new();
        for (ix, range) in (0..).zip(&ranges) {
            close(&ranges, &mut open, range.start, &mut cuts);
            cuts.push((range.start, Some(ix)));
            open.push(ix);
        }
        close(&ranges, &mut open, Svma(u64::MAX), &mut cuts);
        Functions { ranges, cuts }
    }

    /// The innermost function that covers an address.
    pub fn at(&self, at: Svma) -> Option<&FunctionRange> {
        let cut = self.cuts.partition_point(|(from, _)| *from <= at).checked_sub(1)?;
        Some(&self.ranges[self.cuts[cut].1? as usize])
    }

    /// The code around an address that no function covers; `None` where one does.
    pub fn gap(&self, at: Svma) -> Option<Range<Svma>> {
        let behind = self.cuts.partition_point(|(from, _)| *from <= at);
        let start = match behind.checked_sub(1).map(|before| self.cuts[before]) {
            Some((_, Some(_))) => return None,
            Some((from, None)) => from,
            None => Svma(0),
        };
        Some(start..self.cuts.get(behind).map_or(Svma(u64::MAX), |(from, _)| *from))
    }

    /// The first that starts behind an address.
    fn next(&self, at: Svma) -> Option<&FunctionRange> {
        self.ranges.get(self.ranges.partition_point(|range| range.start <= at))
    }

    /// All of them, by start.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &FunctionRange> {
        self.ranges.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// Ends the `open` ranges, innermost last, that do not reach beyond `until`. What ends is followed by the one that it lies
/// inside or behind which it started, if that reaches further.
fn close(ranges: &[FunctionRange], open: &mut Vec<u32>, until: Svma, cuts: &mut Vec<(Svma, Option<u32>)>) {
    let end = |ix: &u32| ranges[*ix as usize].end;
    while let Some(at) = open.last().map(end).filter(|end| *end <= until) {
        while open.last().is_some_and(|outer| end(outer) <= at) {
            open.pop();
        }
        cuts.push((at, open.last().copied()));
    }
}

/// The symbol table: the file's, or where it was stripped that of its separate symbols.
fn kept(elf: &Elf, debug: Option<&Elf>) -> Vec<Symbol> {
    let own = symbols(elf, Table::Symtab);
    match debug {
        Some(debug) if own.is_empty() => symbols(debug, Table::Symtab),
        _ => own,
    }
}

fn named(elf: &Elf, debug: Option<&Elf>) -> Vec<Claim> {
    let mut source = FunctionSource::Symtab;
    let mut found = kept(elf, debug);
    if found.is_empty() {
        source = FunctionSource::Dynsym;
        found = symbols(elf, Table::Dynsym);
    }
    let claim = |symbol: Symbol| {
        let (start, end) = (Svma(symbol.value), Svma(symbol.value.saturating_add(symbol.size)));
        // `name@version` and `name@@version`: the dynamic symbols keep versions elsewhere, so that names have none there.
        let name = symbol.name.split('@').next().unwrap_or_default().to_owned();
        Claim { range: FunctionRange { start, end, name: Some(name), source }, binding: symbol.binding }
    };
    found.into_iter().filter(|symbol| symbol.function && !symbol.name.is_empty()).map(claim).collect()
}

/// Labels in code, each up to the next or to where a function or its section ends or begins.
pub(super) fn labels(elf: &Elf, debug: Option<&Elf>, functions: &Functions) -> Vec<FunctionRange> {
    let mut found = kept(elf, debug);
    found.retain(|symbol| symbol.label && !symbol.name.is_empty() && elf.is_code(Svma(symbol.value)));
    found.sort_by(|a, b| (a.value, a.binding, &a.name).cmp(&(b.value, b.binding, &b.name)));
    found.dedup_by_key(|symbol| symbol.value);
    let next = found.iter().skip(1).map(|symbol| symbol.value).chain([u64::MAX]);
    let range = |(symbol, next): (&Symbol, u64)| {
        let start = Svma(symbol.value);
        let section = elf.code_section(start).map_or(start.0, |section| section.range().end);
        let function = functions.next(start).map_or(u64::MAX, |function| function.start.0);
        let end = Svma(next.min(section).min(function));
        let name = Some(symbol.name.clone());
        FunctionRange { start, end, name, source: FunctionSource::Symtab }
    };
    found.iter().zip(next).map(range).collect()
}

/// A stub has the name of its symbol; of a resolver, the name of the function that it chooses an implementation of.
fn stub(range: &Range<Svma>, target: &PltTarget, named: &[Claim]) -> Claim {
    let name = match target {
        PltTarget::Symbol(name) => Some(name.clone()),
        PltTarget::Resolver(resolver) => {
            let chosen = |claim: &&Claim| Some(claim.range.start) == *resolver;
            let best = named.iter().filter(chosen).min_by(|a, b| a.rank().cmp(&b.rank()));
            best.and_then(|claim| claim.range.name.clone())
        }
    };
    let name = name.map(|name| format!("{name}@plt"));
    let Range { start, end } = *range;
    Claim { range: FunctionRange { start, end, name, source: FunctionSource::Plt }, binding: Binding::Local }
}

/// One range for each start. A named range without a size ends with the unwind entry of its start, else where the next
/// function or its section ends. Unnamed ranges that start inside a named one are parts of it.
fn merge(mut claims: Vec<Claim>, elf: &Elf) -> Vec<FunctionRange> {
    claims.retain(|claim| elf.is_code(claim.range.start));
    claims.sort_by(|a, b| (a.range.start, a.rank()).cmp(&(b.range.start, b.rank())));
    claims.dedup_by(|other, kept| {
        let same = other.range.start == kept.range.start;
        if same && kept.range.end <= kept.range.start {
            kept.range.end = other.range.end;
        }
        same
    });
    let mut ranges: Vec<FunctionRange> = claims.into_iter().map(|claim| claim.range).collect();
    let mut next = Svma(u64::MAX);
    for range in ranges.iter_mut().rev() {
        if range.end <= range.start {
            let section = elf.code_section(range.start).map_or(u64::MAX, |section| section.range().end);
            range.end = next.min(Svma(section));
        }
        next = range.start;
    }
    let mut covered = Svma(0);
    ranges.retain(|range| {
        let part = range.source == FunctionSource::EhFrame && range.start < covered;
        if !part && range.source != FunctionSource::EhFrame {
            covered = covered.max(range.end);
        }
        !part && range.end > range.start && range.end.0 != u64::MAX
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(start: u64, end: u64) -> FunctionRange {
        FunctionRange { start: Svma(start), end: Svma(end), name: None, source: FunctionSource::Symtab }
    }

    #[test]
    fn the_innermost_function_covers_an_address() {
        let functions = Functions::from_ranges(vec![
            range(0, 100),
            range(10, 60),
            range(20, 30),
            range(40, 50),
            range(200, 210),
        ]);
        let found = |at| functions.at(Svma(at)).map(|f| f.start.0);
        assert_eq!(found(5), Some(0));
        assert_eq!(found(25), Some(20));
        assert_eq!(found(35), Some(10));
        assert_eq!(found(45), Some(40));
        assert_eq!(found(70), Some(0));
        assert_eq!(found(150), None);
        assert_eq!(found(209), Some(200));
        assert_eq!(found(210), None);
        let gap = |at| functions.gap(Svma(at)).map(|gap| (gap.start.0, gap.end.0));
        assert_eq!([5, 150, 199, 200].map(gap), [None, Some((100, 200)), Some((100, 200)), None]);
        assert_eq!(gap(210), Some((210, u64::MAX)), "{functions:?}");
    }

    #[test]
    fn functions_nested_like_an_onion_are_told_apart() {
        const LAYERS: u64 = 200_000;
        let functions = Functions::from_ranges((0..LAYERS).map(|n| range(n, 2 * LAYERS - n)).collect());
        for n in 0..LAYERS {
            assert_eq!(functions.at(Svma(2 * LAYERS - 1 - n)).unwrap().start.0, n);
        }
    }

    proptest! {
        #[test]
        fn the_innermost_is_the_last_to_start_that_reaches_as_far(
            ranges in prop::collection::btree_map(0u64..60, 1u64..40, 0..30),
            at in 0u64..110,
        ) {
            let ranges: Vec<_> = ranges.iter().map(|(&start, len)| range(start, start + len)).collect();
            let expected = ranges.iter().rev().find(|f| (f.start.0..f.end.0).contains(&at)).cloned();
            let functions = Functions::from_ranges(ranges);
            prop_assert_eq!(functions.at(Svma(at)), expected.as_ref());
        }
    }
}
