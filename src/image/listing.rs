//! Symbols that are listed in text, for code that is no file: the kernel's, and what programs made at run time.
//!
//! In: `kallsyms` of the recorded kernel (the user's, the running one's, perf's copy) or its `vmlinux`, files of its modules;
//! `/tmp/perf-PID.map`, `jit-PID.dump`. Out: names for run-time addresses. A list is used only if it belongs to what was recorded: the kernel's by
//! its build-id, by where it lies or the user's word, a process's by its owner.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf::{Elf, Section};
use super::locate::{SearchPath, hex, same_build};
use super::symtab::{Binding, Symbol, Table, name_rank, symbols};
use super::{ImageId, jitdump};

/// No list that is read may be longer: 256 MiB.
const LONGEST: u64 = 1 << 28;
const PAGE: u64 = 4096;
/// Where a kernel of x86-64 lies unless it is put elsewhere (`nokaslr`).
const USUAL: u64 = 0xffff_ffff_8100_0000;

/// A symbol of the kernel and where it was when recorded: lists of another boot have all addresses moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// `_text` or `_stext`.
    pub symbol: String,
    /// Its address.
    pub address: u64,
}

/// Whose symbols.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listed {
    /// The kernel's and its modules'.
    Kernel,
    /// A kernel module's, in its own file.
    Module(ImageId),
    /// Those of a process's run-time code, in this map or this dump.
    Process(PathBuf, Option<PathBuf>),
}

/// Names of ranges of addresses.
#[derive(Debug, Default)]
pub struct Listing {
    /// By start.
    symbols: Vec<(Range<u64>, String)>,
}

struct Line {
    address: u64,
    binding: Binding,
    name: String,
    module: Option<String>,
}

impl Line {
    /// By address; of several names for one, the one that serves best first.
    fn rank(&self) -> impl Ord + '_ {
        // Made by macros beside the names that people know.
        let generated = ["__pi_", "__ia32_"].iter().any(|start| self.name.starts_with(start));
        (self.address, generated, name_rank(self.binding, &self.name))
    }
}

/// Whether `file` lists symbols of a kernel: who may not see their addresses is shown zeros.
pub fn lists_kernel(file: &Path) -> bool {
    Listing::of_file(file, None).is_some()
}

impl Listing {
    /// The symbols of the recorded kernel, if they are listed anywhere: where the user says, as of this machine if it runs
    /// that kernel, in perf's caches, in the kernel's own image. A recording that knows no build-ids is taken for one of this
    /// machine unless `--symfs` is given, and its kernel for the one that runs if that lies where it lay: elsewhere after each boot,
    /// unless that is where all kernels lie by default, and then the recording has to name this one.
    pub fn of_kernel(
        search: &SearchPath,
        build_id: Option<&[u8]>,
        anchor: Option<&Anchor>,
    ) -> Option<Listing> {
        search.kallsyms.as_ref().and_then(|file| Listing::of_file(file, anchor)).or_else(|| {
            let Some(build_id) = build_id else {
                let here = anchor.filter(|_| search.symfs.is_empty())?;
                return Listing::where_it_lies(open(Path::new("/proc/kallsyms"))?, here, search.here);
            };
            let id = hex(build_id);
            let cached = |cache: &PathBuf| {
                Some(cache.join(".build-id").join(id.get(..2)?).join(&id[2..]).join("kallsyms"))
            };
            let running = is_running(build_id).then(|| PathBuf::from("/proc/kallsyms"));
            let mut files = running.into_iter().chain(search.caches().filter_map(cached));
            let listed = files.find_map(|file| Listing::kallsyms(open(&file)?, anchor));
            listed.or_else(|| Listing::vmlinux(&search.kernel(build_id)?, anchor))
        })
    }

    /// A kernel's symbols if it lies where the `anchor` says; `named` says that more than that speaks for it.
    fn where_it_lies(text: impl BufRead, anchor: &Anchor, named: bool) -> Option<Listing> {
        let lines = kallsyms_lines(text);
        let there = |line: &Line| line.name == anchor.symbol && line.address == anchor.address;
        let lies = (named || anchor.address != USUAL) && lines.iter().any(there);
        Listing::of_kallsyms(lines, 0).filter(|_| lies)
    }

    /// Those that a file lists, or that it has if it is a kernel's image.
    fn of_file(file: &Path, anchor: Option<&Anchor>) -> Option<Listing> {
        match Elf::open(file) {
            Ok(kernel) => Listing::vmlinux(&kernel, anchor),
            Err(_) => Listing::kallsyms(open(file)?, anchor),
        }
    }

    /// The functions of a kernel's image, moved to where the kernel was.
    fn vmlinux(kernel: &Elf, anchor: Option<&Anchor>) -> Option<Listing> {
        let symbols = symbols(kernel, Table::Symtab);
        let moved = match anchor {
            Some(anchor) => {
                let listed = symbols.iter().find(|symbol| symbol.name == anchor.symbol)?.value;
                anchor.address.wrapping_sub(listed)
            }
            None => 0,
        };
        Listing::functions(&symbols, |symbol| Some(symbol.value.wrapping_add(moved)))
    }

    /// The functions of a module's file as it stands in a kernel that put its code at `start`: sections of code behind each
    /// other in their order, but for those that are thrown away once the module runs (`layout_sections` in
    /// kernel/module/main.c of Linux).
    pub fn of_module(module: &Elf, start: u64) -> Option<Listing> {
        let mut end = start;
        let mut place = |section: &Section| {
            if !section.executable || section.name.starts_with(".init") {
                return None;
            }
            let at = end.checked_next_multiple_of(section.align.max(1))?;
            end = at.checked_add(section.size)?;
            Some(at)
        };
        let places: Vec<Option<u64>> = module.sections().iter().map(&mut place).collect();
        Listing::functions(&symbols(module, Table::Symtab), |symbol| {
            places.get(symbol.section).copied()??.checked_add(symbol.value)
        })
    }

    /// The functions among `symbols`, `place` being where each begins; of several for one place, the one that serves best.
    fn functions(symbols: &[Symbol], place: impl Fn(&Symbol) -> Option<u64>) -> Option<Listing> {
        let wanted = |symbol: &&Symbol| symbol.function && symbol.size > 0 && !symbol.name.is_empty();
        let placed = |symbol| Some((place(symbol)?, symbol));
        let mut functions: Vec<(u64, &Symbol)> = symbols.iter().filter(wanted).filter_map(placed).collect();
        functions.sort_by(|(a, x), (b, y)| {
            a.cmp(b).then_with(|| name_rank(x.binding, &x.name).cmp(&name_rank(y.binding, &y.name)))
        });
        functions.dedup_by_key(|(start, _)| *start);
        let range =
            |(start, symbol): (u64, &Symbol)| (start..start.saturating_add(symbol.size), symbol.name.clone());
        let symbols: Vec<_> = functions.into_iter().map(range).collect();
        (!symbols.is_empty()).then_some(Listing { symbols })
    }

    /// The names that a program wrote for its run-time code: as a map for perf, or in the dump that it had mapped.
    pub fn of_process(search: &SearchPath, map: &Path, dump: Option<&Path>) -> Option<Listing> {
        let from_map = trusted(search, map).map(Listing::perf_map);
        from_map.or_else(|| {
            let functions = jitdump::functions(trusted(search, dump?)?);
            Some(Listing::latest(functions)).filter(|listing| !listing.symbols.is_empty())
        })
    }

    /// Of two for one start, the later holds.
    fn latest(mut symbols: Vec<(Range<u64>, String)>) -> Listing {
        symbols.reverse();
        symbols.sort_by_key(|(range, _)| range.start);
        symbols.dedup_by_key(|(range, _)| range.start);
        Listing { symbols }
    }

    /// `address type name [module]`; `None` if the anchor is not in it or addresses are hidden.
    fn kallsyms(text: impl BufRead, anchor: Option<&Anchor>) -> Option<Listing> {
        let lines = kallsyms_lines(text);
        let moved = match anchor {
            Some(anchor) => {
                let listed = lines.iter().find(|line| line.name == anchor.symbol)?.address;
                anchor.address.wrapping_sub(listed)
            }
            None => 0,
        };
        Listing::of_kallsyms(lines, moved)
    }

    /// `None` of nothing but hidden addresses.
    fn of_kallsyms(mut lines: Vec<Line>, moved: u64) -> Option<Listing> {
        if lines.iter().all(|line| line.address == 0) {
            return None;
        }
        lines.sort_by(|a, b| a.rank().cmp(&b.rank()));
        lines.dedup_by_key(|line| line.address);
        let ends = lines.iter().skip(1).map(Some).chain([None]);
        let symbols = lines.iter().zip(ends).map(|(line, next)| {
            let end = match next {
                Some(next) if next.module == line.module => next.address,
                _ => (line.address / PAGE + 1).saturating_mul(PAGE),
            };
            let size = end.saturating_sub(line.address);
            let start = line.address.wrapping_add(moved);
            (start..start.saturating_add(size), line.name.clone())
        });
        Some(Listing { symbols: symbols.collect() })
    }

    /// `start size name`, hexadecimal; of two for one start the later holds.
    fn perf_map(text: impl BufRead) -> Listing {
        let entry = |line: String| {
            let (start, rest) = line.trim_start().split_once(' ')?;
            let (size, name) = rest.trim_start().split_once(' ')?;
            let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
            let start = number(start)?;
            Some((start..start.saturating_add(number(size)?), name.trim().to_owned()))
        };
        Listing::latest(text.lines().map_while(Result::ok).filter_map(entry).collect())
    }

    /// The symbol at a run-time address.
    pub fn at(&self, address: u64) -> Option<(&Range<u64>, &str)> {
        let ix = self.symbols.partition_point(|(range, _)| range.start <= address).checked_sub(1)?;
        let (range, name) = &self.symbols[ix];
        range.contains(&address).then_some((range, name))
    }
}

fn kallsyms_lines(text: impl BufRead) -> Vec<Line> {
    text.lines().map_while(Result::ok).filter_map(|line| kallsyms_line(&line)).collect()
}

fn kallsyms_line(line: &str) -> Option<Line> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let binding = match words.next()? {
        "T" => Binding::Global,
        "t" => Binding::Local,
        "W" | "w" => Binding::Weak,
        _ => return None,
    };
    let name = words.next()?.to_owned();
    Some(Line { address, binding, name, module: words.next().map(str::to_owned) })
}

fn open(path: &Path) -> Option<impl BufRead + use<>> {
    let regular = fs::metadata(path).ok()?.is_file();
    regular.then(|| File::open(path).ok()).flatten().map(|file| BufReader::new(file.take(LONGEST)))
}

/// A file of a process: under a folder of the user's, or where it was. Anyone may write to /tmp: there it counts if it is
/// ours or root's.
fn trusted(search: &SearchPath, path: &Path) -> Option<impl BufRead + use<>> {
    let inside = |root: &PathBuf| Some(root.join(path.strip_prefix("/").ok()?));
    if let Some(file) = search.symfs.iter().filter_map(inside).find_map(|file| open(&file)) {
        return Some(file);
    }
    let owner = fs::metadata(path).ok()?.uid();
    let trusted = search.symfs.is_empty() && (owner == 0 || Some(owner) == our_uid());
    trusted.then(|| open(path)).flatten()
}

fn our_uid() -> Option<u32> {
    Some(fs::metadata("/proc/self").ok()?.uid())
}

/// Whether the kernel of this machine, as of now, has a build-id: an ELF note `4, length, 3, "GNU\0", id`.
fn is_running(build_id: &[u8]) -> bool {
    let notes = fs::read("/sys/kernel/notes").unwrap_or_default();
    let name = notes.windows(8).position(|window| window == b"\x03\0\0\0GNU\0");
    let id = name.and_then(|at| {
        let len = u32::from_ne_bytes(notes.get(at.checked_sub(4)?..at)?.try_into().ok()?);
        notes.get(at + 8..(at + 8).checked_add(len as usize)?)
    });
    id.is_some_and(|id| same_build(build_id, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t helper
ffffffff81000100 T __visible
ffffffff81000180 d some_data
ffffffff81000200 W weak_one
ffffffffc0000010 t in_module\t[xfs]
ffffffffc0000050 t other\t[xfs]
";

    #[test]
    fn kernel_symbols_move_with_their_anchor() {
        let anchor = Anchor { symbol: "_text".into(), address: 0xffff_ffff_9100_0000 };
        let listing = Listing::kallsyms(KALLSYMS.as_bytes(), Some(&anchor)).unwrap();
        let name = |address| listing.at(address).map(|(_, name)| name);
        assert_eq!(name(0xffff_ffff_9100_0000), Some("_stext"));
        assert_eq!(name(0xffff_ffff_9100_01ff), Some("__visible"));
        assert_eq!(name(0xffff_ffff_9100_0fff), Some("weak_one"));
        assert_eq!(name(0xffff_ffff_9100_1000), None, "the last before a module ends with its page");
        assert_eq!(name(0xffff_ffff_d000_0011), Some("in_module"));
        assert_eq!(name(0xffff_ffff_8100_0000), None);
        let absent = Anchor { symbol: "_absent".into(), address: 0 };
        assert!(Listing::kallsyms(KALLSYMS.as_bytes(), Some(&absent)).is_none());
    }

    #[test]
    fn a_kernel_is_the_one_that_runs_where_it_lies_where_that_does() {
        let moved = KALLSYMS.replace("ffffffff81", "ffffffff9a");
        let anchor = |address| Anchor { symbol: "_text".into(), address };
        let lies = |text: &str, address, named| {
            Listing::where_it_lies(text.as_bytes(), &anchor(address), named).is_some()
        };
        assert!(lies(&moved, 0xffff_ffff_9a00_0000, false));
        assert!(!lies(&moved, 0xffff_ffff_9b00_0000, true), "another boot");
        assert!(!lies(KALLSYMS, USUAL, false), "any kernel lies there");
        assert!(lies(KALLSYMS, USUAL, true));
    }

    #[test]
    fn hidden_kernel_addresses_are_no_symbols() {
        assert!(
            Listing::kallsyms("0000000000000000 T _text\n0000000000000000 T f\n".as_bytes(), None).is_none()
        );
    }

    #[test]
    fn the_later_of_two_functions_made_at_one_address_holds() {
        let map = "1000 20 old one\n0x1040 10 LazyCompile:~f /x.js:1\nnonsense\n1000 10 new one\n";
        let listing = Listing::perf_map(map.as_bytes());
        assert_eq!(listing.at(0x1008).unwrap(), (&(0x1000..0x1010), "new one"));
        assert_eq!(listing.at(0x1018), None);
        assert_eq!(listing.at(0x1041).unwrap().1, "LazyCompile:~f /x.js:1");
    }
}
