//! The skid of a processor, measured on code whose counts are known.
//!
//! In: samples of such loops, instruction by instruction. Out, per event: how many instructions behind the one waited for it
//! is reported, and, of an event that comes from one instruction of a long straight loop, the skid in cycles as a lognormal
//! distribution. A recording from a processor of the same kind starts from there; its own samples have the last word where
//! they say enough.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::code::{Bitness, Inst, Kind, decode};

/// Fewer samples behind what was waited for tell nothing.
const LEAST_SAMPLES: u64 = 200;
/// Instructions behind the one waited for that are told of.
const BEHIND: usize = 6;
/// A smaller share two behind is what the second instruction may take itself.
const LEAST_SHARE: f64 = 0.1;
/// Narrowest distribution of the skid, standard deviation of its logarithm.
const NARROWEST: f64 = 0.15;

/// Samples of one event in one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled<'a> {
    /// Name of the event.
    pub event: &'a str,
    /// Name of the loop.
    pub code: &'a str,
    /// Where its code begins.
    pub address: u64,
    /// Its code, of x86-64.
    pub bytes: &'a [u8],
    /// Samples by address.
    pub samples: &'a BTreeMap<u64, u64>,
    /// Turns of the loop, and instructions of a turn.
    pub turns: (u64, f64),
    /// Events counted.
    pub count: u64,
}

/// Of one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSkid {
    /// Samples inside the loops.
    pub samples: u64,
    /// Whether the address reported is behind the instruction waited for; `None` if that could not be told.
    pub late: Option<bool>,
    /// Of the samples behind it, the share that is two behind; 0 to 1.
    pub second: f64,
    /// Per loop that waits for one instruction, the shares of samples on it, one behind it, two behind, ...
    pub behind: BTreeMap<String, Vec<f64>>,
    /// The skid in cycles, of an event that comes from one instruction of the loop.
    pub cycles: Option<Spread>,
}

/// A lognormal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Cycles.
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub deviation: f64,
}

/// Of one kind of processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Vendor, family, model and stepping, as recordings have them.
    pub cpuid: String,
    /// Its name.
    pub processor: String,
    /// Version of the kernel it was measured under.
    pub kernel: String,
    /// By the name of the event.
    pub events: BTreeMap<String, EventSkid>,
}

impl Calibration {
    /// What the samples of all events in all loops say.
    pub fn fit(cpuid: &str, processor: &str, kernel: &str, sampled: &[Sampled<'_>]) -> Calibration {
        let mut events: BTreeMap<String, EventSkid> = BTreeMap::new();
        for loop_ in sampled {
            let event = events.entry(loop_.event.into()).or_default();
            event.samples += loop_.samples.values().sum::<u64>();
            if let Some(behind) = loop_.behind() {
                event.behind.insert(loop_.code.into(), behind);
            }
            if let Some(pace) = pace(sampled, loop_.code).filter(|_| loop_.event == "branches") {
                event.cycles = event.cycles.or_else(|| loop_.spread(pace));
            }
        }
        for event in events.values_mut() {
            event.decide();
        }
        let [cpuid, processor, kernel] = [cpuid, processor, kernel].map(str::to_owned);
        Calibration { cpuid, processor, kernel, events }
    }

    /// Of the event with this name, whatever its modifiers.
    pub fn event(&self, name: &str) -> Option<&EventSkid> {
        let name = name.split(':').next().unwrap_or(name);
        self.events.get(if name == "cpu-cycles" { "cycles" } else { name })
    }

    /// The skid of interrupts of counters: they all take the same way.
    pub fn cycles(&self) -> Option<Spread> {
        self.events.values().find_map(|event| event.cycles)
    }

    /// The stored one for a processor; `None` if there is none, or none that can be read.
    pub fn load(folder: &Path, cpuid: &str) -> Option<Calibration> {
        let text = std::fs::read(file(folder, cpuid)).ok()?;
        let found: Calibration = serde_json::from_slice(&text).ok()?;
        (found.cpuid == cpuid && found.is_sound()).then_some(found)
    }

    /// Stores it, and says where.
    pub fn store(&self, folder: &Path) -> io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = file(folder, &self.cpuid);
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut new, self)?;
        new.persist(&path)?;
        Ok(path)
    }

    /// Numbers that someone wrote into the file may be any.
    fn is_sound(&self) -> bool {
        let sound = |event: &EventSkid| {
            let spread = event
                .cycles
                .is_none_or(|s| (0.1..1e4).contains(&s.median) && (0.01..10.0).contains(&s.deviation));
            spread && (0.0..=1.0).contains(&event.second)
        };
        self.events.values().all(sound)
    }
}

/// A name for the file that no separator of paths is in.
fn file(folder: &Path, cpuid: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    folder.join(format!("{}.json", cpuid.chars().map(plain).collect::<String>()))
}

impl EventSkid {
    /// From divides and loads whether it is late, from divides alone how late: what follows a load may wait for it as well.
    fn decide(&mut self) {
        let on: f64 = self.behind.values().map(|shares| shares[0]).sum();
        let one_or_two: f64 = self.behind.values().map(|shares| shares[1] + shares[2]).sum();
        self.late = (!self.behind.is_empty()).then_some(one_or_two > on);
        let divides = self.behind.get("divides").filter(|_| self.late == Some(true));
        let share = divides.map_or(0.0, |shares| shares[2] / (shares[1] + shares[2]).max(f64::MIN_POSITIVE));
        self.second = if share < LEAST_SHARE { 0.0 } else { share };
    }
}

impl Sampled<'_> {
    fn insts(&self) -> Vec<Inst> {
        let (mut insts, mut at) = (vec![], 0);
        while let Some(bytes) = self.bytes.get(at..).filter(|bytes| !bytes.is_empty()) {
            let Some(inst) = decode(Bitness::Bits64, self.address + at as u64, bytes) else { break };
            at += usize::from(inst.len);
            insts.push(inst);
        }
        insts
    }

    fn at(&self, inst: &Inst) -> u64 {
        self.samples.get(&inst.address).copied().unwrap_or(0)
    }

    /// Shares of the samples on the one instruction that the loop waits for and on those behind it; `None` where it waits
    /// for no single one, or has too few samples.
    fn behind(&self) -> Option<Vec<f64>> {
        let insts = self.insts();
        let slow = |inst: &&Inst| matches!(inst.kind, Kind::Divide) || inst.loads;
        let place = insts.iter().position(|inst| slow(&inst))?;
        let near: Vec<u64> = insts.get(place..place + BEHIND)?.iter().map(|inst| self.at(inst)).collect();
        let sum: u64 = near.iter().sum();
        (sum >= LEAST_SAMPLES).then(|| near.iter().map(|&n| n as f64 / sum as f64).collect())
    }

    /// The skid of an event that only the branch back causes, where an instruction takes `pace` cycles: each report stands
    /// so many no-operations behind the branch as the interrupt took to come.
    fn spread(&self, pace: f64) -> Option<Spread> {
        let insts = self.insts();
        let back = insts.iter().position(Inst::is_conditional).filter(|&place| place > 100)?;
        // the branch itself counts as one round
        let logs: Vec<(f64, f64)> = insts[..=back]
            .iter()
            .enumerate()
            .map(|(behind, inst)| (((behind as f64 + 0.5) * pace).ln(), self.at(inst) as f64))
            .collect();
        let n: f64 = logs.iter().map(|(_, n)| n).sum();
        if n < LEAST_SAMPLES as f64 {
            return None;
        }
        let mean = logs.iter().map(|(log, n)| log * n).sum::<f64>() / n;
        let variance = logs.iter().map(|(log, n)| (log - mean).powi(2) * n).sum::<f64>() / n;
        Some(Spread { median: mean.exp(), deviation: variance.sqrt().max(NARROWEST) })
    }
}

/// Cycles an instruction of the loop takes, where cycles were counted.
fn pace(sampled: &[Sampled<'_>], code: &str) -> Option<f64> {
    let cycles = sampled.iter().find(|s| s.event == "cycles" && s.code == code)?;
    let instructions = cycles.turns.0 as f64 * cycles.turns.1;
    (instructions > 0.0 && cycles.count > 0).then(|| cycles.count as f64 / instructions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `div %r8; add $1,%r9; add $1,%r10; add $1,%r11; nop; or %rsi,%rax; dec %rdi; ret`
    const DIVIDE: [u8; 23] = [
        0x49, 0xf7, 0xf0, 0x49, 0x83, 0xc1, 1, 0x49, 0x83, 0xc2, 1, 0x49, 0x83, 0xc3, 1, 0x90, 0x48, 0x09,
        0xf0, 0x48, 0xff, 0xcf, 0xc3,
    ];

    fn divides(samples: [u64; 4]) -> Calibration {
        let samples: BTreeMap<u64, u64> = [0x100, 0x103, 0x107, 0x10b].into_iter().zip(samples).collect();
        let (event, code) = ("cpu-clock", "divides");
        let (turns, count) = ((1, 7.0), 1);
        let one = Sampled { event, code, address: 0x100, bytes: &DIVIDE, samples: &samples, turns, count };
        Calibration::fit("a,1,2,3", "", "", &[one])
    }

    #[test]
    fn what_stands_behind_a_divide_was_waited_for_before() {
        let skid = divides([10, 640, 360, 5]);
        let event = skid.event("cpu-clock:u").unwrap();
        assert_eq!((event.late, event.second), (Some(true), 0.36));
        assert_eq!(divides([900, 50, 40, 10]).event("cpu-clock").unwrap().late, Some(false));
        assert_eq!(divides([10, 900, 50, 40]).event("cpu-clock").unwrap().second, 0.0);
        assert_eq!(divides([1, 9, 5, 4]).event("cpu-clock").unwrap().late, None, "too few");
    }

    #[test]
    fn branches_in_a_sled_tell_the_skid_in_cycles() {
        // 1000 nops, dec %rdi, jnz back
        let mut bytes = vec![0x90; 1000];
        bytes.extend([0x48, 0xff, 0xcf, 0x0f, 0x85, 0x0f, 0xfc, 0xff, 0xff, 0xc3]);
        // lognormal around 160 nops
        let samples: BTreeMap<u64, u64> = (0..1000u64)
            .map(|at| {
                let off = ((at as f64 + 0.5) / 160.0).ln() / 0.3;
                (at, ((-0.5 * off * off).exp() / (at as f64 + 0.5) * 160.0 * 100.0) as u64)
            })
            .collect();
        let none = BTreeMap::new();
        let of = |event, samples, count| Sampled {
            event,
            code: "sled",
            address: 0,
            bytes: &bytes,
            samples,
            turns: (10, 1002.0),
            count,
        };
        let skid = Calibration::fit("a", "", "", &[of("cycles", &none, 2505), of("branches", &samples, 10)]);
        let spread = skid.cycles().unwrap();
        assert!((spread.median - 40.0).abs() < 1.0, "{spread:?}");
        assert!((spread.deviation - 0.3).abs() < 0.03, "{spread:?}");
    }

    #[test]
    fn it_is_found_by_the_processor_and_by_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let skid = divides([10, 640, 360, 5]);
        let path = skid.store(folder.path()).unwrap();
        assert_eq!(path.file_name().unwrap(), "a-1-2-3.json");
        let found = Calibration::load(folder.path(), "a,1,2,3").unwrap();
        let late = |skid: &Calibration| skid.event("cpu-clock").unwrap().late;
        assert_eq!((found.cpuid.as_str(), late(&found)), ("a,1,2,3", late(&skid)));
        assert_eq!(Calibration::load(folder.path(), "a.1.2.3"), None, "of another");
        std::fs::write(path, "{}").unwrap();
        assert_eq!(Calibration::load(folder.path(), "a,1,2,3"), None);
    }
}
