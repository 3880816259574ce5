//! The complete instruction and address trace of one run, taken by valgrind's `lackey`.
//!
//! Its text (`I  addr,size`, ` L addr,size`, ` S addr,size`, ` M addr,size`, hexadecimal addresses) is read as a stream and
//! kept as one word per executed instruction. A repeated string instruction appears there once per repetition; here, as on a
//! processor's counter, it is one instruction.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::decode::{self, Bitness};
use crate::inst::{Flow, Inst};
use crate::module::Module;
use crate::program::Program;
use crate::{Error, Result};

const INDEX_BITS: u32 = 26;
const ACCESS_LIMIT: u32 = 7;

/// Index of an instruction in [`Trace::insts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstIx(pub u32);

/// Everything a run did, in order.
#[derive(Debug)]
pub struct Trace {
    /// The program that ran.
    pub program: Program,
    /// Itself, its loader and its libraries.
    pub modules: Vec<Module>,
    /// Each distinct instruction that ran, in order of first execution.
    pub insts: Vec<Inst>,
    /// How many instructions `lackey` reported inside the modules, repetitions included.
    pub reported: u64,
    /// Executions of each instruction.
    pub executions: Vec<u64>,
    /// Control transfers and how often each happened; a branch that falls through is one.
    pub edges: HashMap<(InstIx, InstIx), u64>,
    steps: Vec<u32>,
    accesses: Vec<u64>,
}

/// One executed instruction.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Which instruction.
    pub index: InstIx,
    /// Addresses it read.
    pub loads: &'a [u64],
    /// Addresses it wrote.
    pub stores: &'a [u64],
    /// The instruction that ran next; itself at the end of the trace.
    pub next: InstIx,
}

impl Trace {
    /// Runs `program` under valgrind and keeps what it did.
    pub fn record(program: Program) -> Result<Trace> {
        let place = Place::copy_of(&program)?;
        let modules = Module::all(&program, || place.loading(&program))?;
        let options = ["--tool=lackey", "--basic-counts=no", "--trace-mem=yes"];
        let mut run = place.valgrind(&program, &options).spawn().map_err(|e| failed(e.to_string()))?;
        let mut parser = Parser::new(program, modules);
        if let Some(text) = run.stderr.take() {
            parser.read(BufReader::with_capacity(1 << 20, text))?;
        }
        let status = run.wait().map_err(|e| failed(e.to_string()))?;
        if !status.success() {
            return Err(failed(status.to_string()));
        }
        parser.finish()
    }

    /// Instructions executed in one run.
    pub fn instructions(&self) -> u64 {
        self.steps.len() as u64
    }

    /// The run, instruction by instruction.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut at = 0;
        self.steps.iter().enumerate().map(move |(i, &word)| {
            let (loads, stores) = counts(word);
            let first = at;
            at += loads + stores;
            Step {
                index: index(word),
                loads: &self.accesses[first..first + loads],
                stores: &self.accesses[first + loads..at],
                next: index(*self.steps.get(i + 1).unwrap_or(&word)),
            }
        })
    }

    /// The instruction `index` names.
    pub fn inst(&self, index: InstIx) -> &Inst {
        &self.insts[index.0 as usize]
    }

    /// Where the function around `address` begins; 0 if none is known.
    pub fn function(&self, address: u64) -> u64 {
        self.modules.iter().find_map(|m| m.function(address)).unwrap_or(0)
    }

    /// The code from `address` on.
    fn code_at(&self, address: u64) -> Option<(Bitness, &[u8])> {
        self.modules.iter().find_map(|m| Some((m.image.bitness, m.bytes_at(address)?)))
    }

    fn count(&mut self) {
        self.executions = vec![0; self.insts.len()];
        let mut edges = HashMap::new();
        for (i, &word) in self.steps.iter().enumerate() {
            let from = index(word);
            self.executions[from.0 as usize] += 1;
            let Some(&next) = self.steps.get(i + 1) else { continue };
            let (inst, to) = (&self.insts[from.0 as usize], index(next));
            if inst.flow != Flow::Next || self.insts[to.0 as usize].address != inst.end() {
                *edges.entry((from, to)).or_insert(0) += 1;
            }
        }
        self.edges = edges;
    }
}

fn index(word: u32) -> InstIx {
    InstIx(word & ((1 << INDEX_BITS) - 1))
}

fn counts(word: u32) -> (usize, usize) {
    (((word >> INDEX_BITS) & 7) as usize, (word >> (INDEX_BITS + 3)) as usize)
}

fn which(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|d| d.join(tool)).find(|p| p.is_file()).unwrap_or_else(|| tool.into())
}

fn failed(reason: String) -> Error {
    Error::Tool { tool: "valgrind", reason }
}

/// A directory whose path is equally long in every run. The path lies on the program's stack, and where the stack lies decides
/// which cache sets it falls into.
struct Place(PathBuf);

impl Place {
    fn copy_of(program: &Program) -> Result<Place> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(format!("skidconv-{:010}-{:04}", unique.0, unique.1));
        std::fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        std::fs::copy(&program.binary, dir.join(program.name)).map_err(Error::io(&program.binary))?;
        Ok(Place(dir))
    }

    /// A run of the program here, with `options` for valgrind.
    fn valgrind(&self, program: &Program, options: &[&str]) -> Command {
        let mut run = Command::new(which("valgrind"));
        run.env_clear()
            .current_dir(&self.0)
            .args(options)
            .arg(format!("./{}", program.name))
            .args(&program.args);
        run.stdout(Stdio::null()).stderr(Stdio::piped());
        run
    }

    /// What the program's loader says while it loads.
    fn loading(&self, program: &Program) -> Result<String> {
        let mut run = self.valgrind(program, &["--tool=none"]);
        let output = run.env("LD_DEBUG", "files,libs").output().map_err(|e| failed(e.to_string()))?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A leftover in the temporary directory is not worth failing for.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Parser {
    trace: Trace,
    by_address: HashMap<u64, InstIx>,
    current: Option<InstIx>,
    loads: Vec<u64>,
    stores: Vec<u64>,
}

impl Parser {
    fn new(program: Program, modules: Vec<Module>) -> Parser {
        Parser {
            trace: Trace {
                program,
                modules,
                insts: Vec::new(),
                reported: 0,
                executions: Vec::new(),
                edges: HashMap::new(),
                steps: Vec::new(),
                accesses: Vec::new(),
            },
            by_address: HashMap::new(),
            current: None,
            loads: Vec::new(),
            stores: Vec::new(),
        }
    }

    fn read(&mut self, mut text: impl BufRead) -> Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let n = text.read_until(b'\n', &mut line).map_err(Error::io("valgrind's output"))?;
            match line.get(..3) {
                Some(b"I  ") => self.instruction(hex(&line[3..]))?,
                Some(b" L ") => self.loads.push(hex(&line[3..])),
                Some(b" S ") => self.stores.push(hex(&line[3..])),
                Some(b" M ") => {
                    self.loads.push(hex(&line[3..]));
                    self.stores.push(hex(&line[3..]));
                }
                _ => {}
            }
            if n == 0 {
                return Ok(());
            }
        }
    }

    fn instruction(&mut self, address: u64) -> Result<()> {
        let index = self.lookup(address)?;
        self.trace.reported += u64::from(index.is_some());
        if index.is_some()
            && index == self.current
            && self.trace.insts[index.map_or(0, |i| i.0 as usize)].repeats
        {
            return Ok(());
        }
        self.flush();
        self.current = index;
        Ok(())
    }

    /// `None` for code outside the modules, of which nothing is kept.
    fn lookup(&mut self, address: u64) -> Result<Option<InstIx>> {
        if let Some(&known) = self.by_address.get(&address) {
            return Ok(Some(known));
        }
        self.enter(address);
        let Some((bitness, bytes)) = self.trace.code_at(address) else { return Ok(None) };
        let inst = decode::decode(bitness, address, bytes)
            .ok_or_else(|| self.bad(format!("no instruction at {address:x}")))?;
        let index = InstIx(self.trace.insts.len() as u32);
        self.trace.insts.push(inst);
        self.by_address.insert(address, index);
        Ok(Some(index))
    }

    /// The first instruction is the loader's, or the program's if it has none; the first outside what is known then is the program's.
    fn enter(&mut self, address: u64) {
        let known = self.trace.code_at(address).is_some();
        if let Some(module) = self.trace.modules.iter_mut().rfind(|m| m.bias.is_none()).filter(|_| !known) {
            module.bias = Some(address.wrapping_sub(module.image.entry));
        }
    }

    /// Writes the instruction that has just ended. Accesses beyond what fits the word are dropped (state saving, gathers).
    fn flush(&mut self) {
        if let Some(index) = self.current.take() {
            self.loads.truncate(ACCESS_LIMIT as usize);
            self.stores.truncate(ACCESS_LIMIT as usize);
            let (loads, stores) = (self.loads.len() as u32, self.stores.len() as u32);
            self.trace.steps.push(index.0 | loads << INDEX_BITS | stores << (INDEX_BITS + 3));
            self.trace.accesses.append(&mut self.loads);
            self.trace.accesses.append(&mut self.stores);
        }
        self.loads.clear();
        self.stores.clear();
    }

    fn finish(mut self) -> Result<Trace> {
        self.flush();
        if self.trace.steps.is_empty() {
            return Err(self.bad("nothing ran".into()));
        }
        self.trace.count();
        Ok(self.trace)
    }

    fn bad(&self, reason: String) -> Error {
        Error::Trace { program: self.trace.program.name.into(), reason }
    }
}

fn hex(text: &[u8]) -> u64 {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    text.iter().map_while(digit).fold(0, |n, d| n << 4 | u64::from(d))
}
