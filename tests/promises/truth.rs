//! The program as it is, without help from the code under test: what ran according to the truth, and what could have run
//! according to `objdump`.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;

use crate::fixed::symfs;
use crate::tool::{run, testdata, text};

/// What is known of a program.
#[derive(Default)]
pub struct Truth {
    /// Executions of instructions by address.
    pub executions: BTreeMap<u64, u64>,
    lengths: HashMap<u64, u64>,
    graph: Graph,
}

/// Which instruction may follow which.
#[derive(Default)]
pub struct Graph {
    next: HashMap<u64, Vec<u64>>,
    /// Unconditional jumps: the function they stand in, and where they lead.
    jumps: HashSet<(u64, u64)>,
}

impl Graph {
    /// Steps from instruction to instruction that `objdump` shows: to the next one, to a jump's target, into a call and behind
    /// it. `ret`s lead back behind every call of their function if `functions` says where those begin.
    pub fn of(program: &Path) -> Graph {
        let listing = run("objdump", &["-d", "--no-show-raw-insn", text(program)]);
        let mut graph = Graph::default();
        let mut last: Option<(u64, bool)> = None;
        let mut function = 0;
        let (mut returns, mut calls) = (Vec::new(), Vec::new());
        for line in listing.lines() {
            if let Some(start) = line.strip_suffix(">:").and_then(|l| l.split(' ').next()) {
                function = hex(start);
            }
            let Some((address, words)) = instruction(line) else { continue };
            if let Some((before, true)) = last {
                graph.add(before, address);
                if calls.last().is_some_and(|&(from, _, behind)| from == before && behind == 0) {
                    calls.last_mut().unwrap().2 = address;
                }
            }
            let target = words.get(1).and_then(|t| u64::from_str_radix(t, 16).ok());
            if let ("jmp", Some(to)) = (words[0], target) {
                graph.jumps.insert((function, to));
            }
            match (words[0], target) {
                (op, Some(to)) if op.starts_with('j') => graph.add(address, to),
                ("call", Some(to)) => {
                    graph.add(address, to);
                    calls.push((address, to, 0));
                }
                ("ret", _) => returns.push((function, address)),
                _ => {}
            }
            last = Some((address, !matches!(words[0], "jmp" | "ret" | "hlt" | "ud2")));
        }
        let by_target: HashMap<u64, Vec<u64>> =
            calls.iter().fold(HashMap::new(), |mut known, &(_, to, behind)| {
                known.entry(to).or_insert_with(Vec::new).push(behind);
                known
            });
        for (function, from) in returns {
            by_target.get(&function).into_iter().flatten().for_each(|&behind| graph.add(from, behind));
        }
        graph
    }

    fn add(&mut self, from: u64, to: u64) {
        let next = self.next.entry(from).or_default();
        if !next.contains(&to) {
            next.push(to);
        }
    }

    /// Whether a tail call leads from the function that begins at `from` to one that begins at `to`.
    pub fn tail_calls(&self, from: u64, to: u64) -> bool {
        self.jumps.contains(&(from, to))
    }

    /// Where the unconditional jumps lead that the function at `from` holds.
    pub fn jumps(&self, from: u64) -> impl Iterator<Item = u64> {
        self.jumps.iter().filter(move |jump| jump.0 == from).map(|jump| jump.1)
    }

    /// Whether an instruction begins at `address`.
    pub fn has(&self, address: u64) -> bool {
        self.next.contains_key(&address)
    }

    /// The number of steps on the shortest way from `from` to each of `to`; `None` for those beyond `limit` steps.
    pub fn steps(&self, from: u64, to: &HashSet<u64>, limit: usize) -> HashMap<u64, usize> {
        let mut found = HashMap::new();
        let mut known = HashSet::from([from]);
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((at, steps)) = queue.pop_front() {
            if to.contains(&at) {
                found.insert(at, steps);
            }
            if steps == limit || found.len() == to.len() {
                continue;
            }
            for &next in self.next.get(&at).into_iter().flatten() {
                if known.insert(next) {
                    queue.push_back((next, steps + 1));
                }
            }
        }
        found
    }
}

/// Address and words of an instruction's line.
fn instruction(line: &str) -> Option<(u64, Vec<&str>)> {
    let (address, rest) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    (!words.is_empty()).then_some((address, words))
}

impl Truth {
    /// What is known of a case.
    pub fn of(case: &str) -> Truth {
        let program = symfs().join(format!("opt/cases/{case}/{case}"));
        let mut truth = Truth { graph: Graph::of(&program), ..Truth::default() };
        let table = std::fs::read_to_string(testdata(&format!("cases/{case}.truth.tsv"))).unwrap();
        let mut transfers = HashSet::new();
        for line in table.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let address = |n: usize| hex(fields[n]);
            match fields[0] {
                "I" => {
                    truth.lengths.insert(address(1), fields[2].parse().unwrap());
                    truth.executions.insert(address(1), fields[3].parse().unwrap());
                }
                "E" => {
                    transfers.insert(address(1));
                    truth.graph.add(address(1), address(2));
                }
                _ => {}
            }
        }
        for (&at, len) in truth.lengths.iter().filter(|(at, _)| !transfers.contains(at)) {
            truth.graph.add(at, at + len);
        }
        truth
    }

    /// Which instruction may follow which.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

/// Where functions begin and end, and what they are called.
pub struct Functions(Vec<(u64, u64, String)>);

impl Functions {
    /// Those of a case.
    pub fn of_case(case: &str) -> Functions {
        let table = std::fs::read_to_string(testdata(&format!("cases/{case}.truth.tsv"))).unwrap();
        let rows = table.lines().filter(|l| l.starts_with('S')).map(|l| l.split('\t').collect());
        Functions::new(rows.map(|f: Vec<&str>| (hex(f[1]), hex(f[2]), f[4].to_owned())).collect())
    }

    /// Those that `nm` shows with their sizes.
    pub fn of_program(program: &Path) -> Functions {
        let listing = run("nm", &["-S", text(program)]);
        let rows = listing.lines().map(|l| l.split(' ').collect::<Vec<_>>()).filter(|l| l.len() == 4);
        Functions::new(rows.map(|w| (hex(w[0]), hex(w[0]) + hex(w[1]), w[3].to_owned())).collect())
    }

    fn new(mut list: Vec<(u64, u64, String)>) -> Functions {
        list.sort();
        Functions(list)
    }

    /// Where the function around `address` begins.
    pub fn around(&self, address: u64) -> Option<u64> {
        let behind = self.0.partition_point(|f| f.0 <= address);
        self.0[..behind].iter().rev().take(8).find(|f| address < f.1).map(|f| f.0)
    }

    /// Where the function with this name begins.
    pub fn start(&self, name: &str) -> u64 {
        self.0.iter().find(|f| f.2 == name).unwrap_or_else(|| panic!("no {name}")).0
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}
