//! Finds a function's instructions by following control flow from its entry and from addresses known to be instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::cfg::Cfg;
use super::decode::decode;
use super::dominators::Dominators;
use super::effect::{Effect, Number};
use super::followed::Numbers;
use super::function::Function;
use super::inst::{Flow, Inst, Kind};
use super::jump_table::{Code, Table};
use super::loops::Loops;
use super::mnemonic::Mnemonic;
use super::returns::{self, Callee};
use super::source::Source;
use super::{chances, constants, here, stacks, through, trips};

/// Functions larger than this are read only up to here; none is that large but by a damaged symbol table.
const LARGEST_FUNCTION: u64 = 4 << 20;

/// Decodes the function in `range`, which starts with its entry. `known` are addresses of instructions that were seen to
/// run, in any order; those outside `range` are ignored. An entry that is no code gives a function of one opaque
/// instruction.
pub fn explore(source: &dyn Source, range: Range<u64>, known: &[u64]) -> Function {
    follow_all(source, range.clone(), Some(range.start), known)
}

/// Decodes what is reached inside `range` from the `known` addresses alone, where nothing tells where functions begin. The
/// range of the result starts at its first instruction.
pub fn discover(source: &dyn Source, range: Range<u64>, known: &[u64]) -> Function {
    let mut found = follow_all(source, range, None, known);
    if let Some(first) = found.insts.first() {
        found.range.start = first.address;
    }
    found
}

/// The instructions of such a function alone.
pub fn instructions(source: &dyn Source, range: Range<u64>) -> Vec<Inst> {
    let entry = range.start;
    Search::all(source, range, Some(entry), &[]).settled(&[])
}

fn follow_all(source: &dyn Source, range: Range<u64>, entry: Option<u64>, known: &[u64]) -> Function {
    let mut roots: Vec<u64> = known.iter().copied().filter(|a| range.contains(a)).collect();
    roots.sort_unstable();
    let mut found = Search::all(source, range.clone(), entry, &roots);
    let insts = found.settled(&roots);
    let cfg = Cfg::build(&insts, &found.tables, &roots);
    let dominators = Dominators::find(&cfg);
    let loops = Loops::find(&cfg, &dominators);
    let doomed = returns::doomed(&insts, &cfg);
    told(Function {
        range,
        insts,
        cfg,
        dominators,
        loops,
        doomed,
        counted: Vec::new(),
        chances: Vec::new(),
        stacks: Vec::new(),
        throughs: BTreeMap::new(),
    })
}

/// A function with what the numbers tell that it computes.
fn told(mut function: Function) -> Function {
    let numbers = Numbers::of(&function);
    let calls = constants::loaded_calls(&numbers);
    let (counted, stacks) = (trips::counted(&numbers), stacks::stacks(&numbers));
    let (chances, throughs) = (chances::chances(&numbers), through::throughs(&numbers));
    calls.into_iter().for_each(|(ix, to)| function.insts[ix].flow = Flow::Call(to));
    Function { counted, chances, stacks, throughs, ..function }
}

struct Search<'a> {
    source: &'a dyn Source,
    range: Range<u64>,
    bytes: Vec<u8>,
    insts: BTreeMap<u64, Inst>,
    /// Where jumps stand, by where they lead; `None` where several do.
    jumps: BTreeMap<u64, Option<u64>>,
    /// Constants that are put into registers.
    taken: BTreeSet<u64>,
    /// Indirect jumps whose tables were not looked for yet.
    open: Vec<u64>,
    /// Seen instructions that no known edge enters, as of when there were so many instructions.
    orphans: (usize, Vec<u64>),
    /// Targets of each indirect jump whose table was read, by the jump's address.
    tables: BTreeMap<u64, Vec<u64>>,
}

impl<'a> Search<'a> {
    /// Finds all that is reached in `range` from its `entry` and from `roots`.
    fn all(source: &'a dyn Source, range: Range<u64>, entry: Option<u64>, roots: &[u64]) -> Search<'a> {
        let len = range.end.saturating_sub(range.start).min(LARGEST_FUNCTION);
        let mut search = Search {
            source,
            bytes: source.read(range.start, len as usize),
            range,
            insts: BTreeMap::new(),
            jumps: BTreeMap::new(),
            taken: BTreeSet::new(),
            open: Vec::new(),
            orphans: (0, Vec::new()),
            tables: BTreeMap::new(),
        };
        entry.iter().chain(roots).for_each(|&root| search.follow(root));
        search.read_tables(roots);
        search
    }

    /// The instructions found, from such `roots` too.
    fn settled(&mut self, roots: &[u64]) -> Vec<Inst> {
        let mut insts: Vec<Inst> = std::mem::take(&mut self.insts).into_values().collect();
        if here::is_asked(&insts) {
            let cfg = Cfg::build(&insts, &self.tables, roots);
            here::settle(&mut insts, &cfg, self.source);
        }
        insts
    }

    /// Decodes all that is reachable from `root` without indirect jumps.
    fn follow(&mut self, root: u64) {
        let mut work = vec![root];
        while let Some(address) = work.pop() {
            if !self.range.contains(&address) || self.insts.contains_key(&address) {
                continue;
            }
            let mut inst = self.decode(address);
            constants::settle(&mut inst, self.source);
            here::ask(&mut inst, self.source);
            inst.noreturn = Callee::of(&inst).is_some_and(|callee| self.source.noreturn(callee));
            work.extend(next(&inst, &self.range));
            if matches!(inst.flow, Flow::IndirectJump { via: None }) {
                self.open.push(address);
            }
            if let Some(to) = inst.jumps_to() {
                self.jumps.entry(to).and_modify(|jump| *jump = None).or_insert(Some(address));
            }
            let constant = inst.constant().filter(|(to, _)| *to != Number::Memory);
            self.taken.extend(constant.map(|(_, value)| value));
            self.insts.insert(address, inst);
        }
    }

    fn decode(&self, address: u64) -> Inst {
        let offset = (address - self.range.start) as usize;
        let bytes = self.bytes.get(offset..).unwrap_or_default();
        decode(self.source.bitness(), address, bytes).unwrap_or_else(|| opaque(address))
    }

    /// Reads the table of every indirect jump, and of those that the new code brings: first those whose length is known, for where
    /// others end shows by the instructions found. An indirect jump whose table can't be read may go to any seen instruction that
    /// nothing else reaches.
    fn read_tables(&mut self, seen: &[u64]) {
        let mut known: BTreeMap<u64, Option<Table>> = BTreeMap::new();
        let mut looked_through = 0;
        loop {
            known.extend(std::mem::take(&mut self.open).into_iter().map(|jump| (jump, None)));
            if self.insts.len() > std::mem::replace(&mut looked_through, self.insts.len()) {
                for (&jump, table) in known.iter_mut().filter(|(_, table)| table.is_none()) {
                    *table = self.code().table(jump);
                }
            }
            let bounded = |table: &Option<Table>| table.as_ref().is_some_and(Table::is_bounded);
            let next = known.iter().find(|(_, table)| bounded(table));
            let next = next.or_else(|| known.iter().find(|(_, table)| table.is_some()));
            let Some((&jump, table)) = next.or_else(|| known.first_key_value()) else { break };
            let found = table.as_ref().map(|table| self.code().targets(table)).unwrap_or_default();
            known.remove(&jump);
            let targets = if found.is_empty() { self.orphans(seen) } else { found };
            targets.iter().for_each(|&target| self.follow(target));
            self.tables.insert(jump, targets);
        }
    }

    fn code(&self) -> Code<'_> {
        Code {
            source: self.source,
            range: &self.range,
            insts: &self.insts,
            jumps: &self.jumps,
            taken: &self.taken,
        }
    }

    /// Seen instructions that start a run of code which no known edge enters.
    fn orphans(&mut self, seen: &[u64]) -> Vec<u64> {
        if self.orphans.0 != self.insts.len() {
            let edges = self.insts.values().flat_map(|inst| next(inst, &self.range));
            let entered: BTreeSet<u64> = edges.chain([self.range.start]).collect();
            let orphans = seen.iter().copied().filter(|a| !entered.contains(a)).collect();
            self.orphans = (self.insts.len(), orphans);
        }
        self.orphans.1.clone()
    }
}

/// Where control goes from an instruction of the function in `range`, as far as that stands in it: behind it, and to the target of
/// a jump, or of a call that stays in the function.
fn next(inst: &Inst, range: &Range<u64>) -> impl Iterator<Item = u64> + use<> {
    let called = match inst.flow {
        Flow::Call(to) if returns::inside(to, range) => Some(to),
        _ => None,
    };
    inst.falls_through().then_some(inst.end()).into_iter().chain(inst.jumps_to()).chain(called)
}

/// Stands where a byte does not decode.
fn opaque(address: u64) -> Inst {
    Inst {
        address,
        len: 1,
        flow: Flow::Stop,
        noreturn: false,
        kind: Kind::Opaque,
        loads: false,
        stores: false,
        memory: None,
        effect: Effect::default(),
        fuses: false,
        fuses_constant: false,
        reads: Default::default(),
        writes: Default::default(),
        word: 0,
        width: 0,
        mnemonic: Mnemonic::of("(bad)"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bytes;
    use super::*;

    #[test]
    fn code_after_an_unconditional_jump_is_found_only_where_it_is_reached() {
        // 0: jmp 4; 2: (data) 06 06; 4: ret
        let source = Bytes(0, vec![0xeb, 0x02, 0x06, 0x06, 0xc3]);
        let f = explore(&source, 0..5, &[]);
        assert_eq!(f.insts.iter().map(|i| i.address).collect::<Vec<_>>(), [0, 4]);
    }

    #[test]
    fn a_byte_that_does_not_decode_ends_its_block_and_spares_the_rest() {
        // 0: je 3; 2: (bad); 3: ret
        let source = Bytes(0, vec![0x74, 0x01, 0x06, 0xc3]);
        let f = explore(&source, 0..4, &[]);
        assert_eq!(f.insts.len(), 3);
        assert!(f.cfg.blocks.iter().any(|b| b.low_confidence));
        assert_eq!(f.cfg.blocks.iter().filter(|b| !b.low_confidence).count(), 2);
    }

    #[test]
    fn without_an_entry_only_what_was_seen_is_followed() {
        // 0: (data); 2: nop; 3: ret
        let f = discover(&Bytes(0, vec![0x06, 0x06, 0x90, 0xc3]), 0..4, &[2]);
        assert_eq!((f.range.start, f.insts.len()), (2, 2));
        assert!(discover(&Bytes(0, vec![0x06]), 0..1, &[]).insts.is_empty());
    }

    #[test]
    fn a_sampled_address_nothing_leads_to_is_code_all_the_same() {
        // 0: jmp *%rax; 2: nop; 3: ret, seen at 2
        let source = Bytes(0, vec![0xff, 0xe0, 0x90, 0xc3]);
        let f = explore(&source, 0..4, &[2]);
        assert_eq!(f.insts.len(), 3);
        assert_eq!(f.cfg.successors(0).count(), 1, "the jump that can't be read goes to the seen address");
    }
}
