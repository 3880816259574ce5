//! Events by their names, as `perf list` shows them.

use crate::error::Error;
use crate::file::Described;
use crate::sys::{Access, Source};
use crate::tracepoints::{self, Missing};
use crate::units;

/// `PERF_TYPE_HARDWARE`
pub const HARDWARE: u32 = 0;
/// `PERF_TYPE_SOFTWARE`
pub const SOFTWARE: u32 = 1;
/// `PERF_TYPE_TRACEPOINT`
pub const TRACEPOINT: u32 = 2;
/// `PERF_TYPE_HW_CACHE`
pub const CACHE: u32 = 3;
/// `PERF_TYPE_RAW`
pub const RAW: u32 = 4;

/// `PERF_COUNT_HW_*` by their places.
const HARDWARE_NAMES: [&[&str]; 10] = [
    &["cycles", "cpu-cycles"],
    &["instructions"],
    &["cache-references"],
    &["cache-misses"],
    &["branches", "branch-instructions"],
    &["branch-misses"],
    &["bus-cycles"],
    &["stalled-cycles-frontend", "idle-cycles-frontend"],
    &["stalled-cycles-backend", "idle-cycles-backend"],
    &["ref-cycles"],
];
/// `PERF_COUNT_SW_*` by their places.
const SOFTWARE_NAMES: [&[&str]; 9] = [
    &["cpu-clock"],
    &["task-clock"],
    &["page-faults", "faults"],
    &["context-switches", "cs"],
    &["cpu-migrations", "migrations"],
    &["minor-faults"],
    &["major-faults"],
    &["alignment-faults"],
    &["emulation-faults"],
];
/// `PERF_COUNT_HW_CACHE_*` by their places.
const CACHES: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
/// Read, write, prefetch; then accesses, misses.
const ACCESSES: [[&str; 2]; 3] =
    [["-loads", "-load-misses"], ["-stores", "-store-misses"], ["-prefetches", "-prefetch-misses"]];

/// How exact an address was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// As exact as the machine can, where nothing was asked for.
    #[default]
    Best,
    /// `:p` to `:ppp`, or `:i` for none.
    Level(u8),
}

/// An event as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// With its modifiers.
    pub name: String,
    /// What is counted.
    pub source: Source,
    /// How exact.
    pub precision: Precision,
    /// Only what runs in these modes: user, kernel, hypervisor; all if none.
    pub modes: [bool; 3],
    /// Samples of the group's first event count the others as well: `:S`.
    pub leads: bool,
}

/// Groups of events: `a,{b,c}:u,cpu/event=0x3c,umask=1/p`, `mem:0x1234:x`.
pub fn parse(text: &str) -> Result<Vec<Vec<Wanted>>, Error> {
    split(text).into_iter().filter(|part| !part.is_empty()).map(group).collect()
}

/// At commas outside of braces and slashes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut term) = (vec![], 0, 0u32, false);
    // the slash of mem:ADDRESS/LENGTH opens nothing
    let is_breakpoint = |start: usize| text[start..].trim_start_matches('{').starts_with("mem:");
    for (at, letter) in text.char_indices() {
        match letter {
            '{' if !term => depth += 1,
            '}' if !term => depth = depth.saturating_sub(1),
            '/' if !is_breakpoint(start) => term = !term,
            ',' if depth == 0 && !term => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn group(text: &str) -> Result<Vec<Wanted>, Error> {
    let Some(rest) = text.strip_prefix('{') else { return Ok(vec![event(text)?]) };
    let bad = |what: &str| Error::BadEvent { event: text.into(), what: what.into() };
    let (members, modifiers) = rest.rsplit_once('}').ok_or_else(|| bad("a brace is open"))?;
    let modifiers = modifiers.strip_prefix(':').unwrap_or(modifiers);
    split(members)
        .into_iter()
        .map(|member| {
            let mut wanted = event(member)?;
            modify(&mut wanted, modifiers)?;
            Ok(wanted)
        })
        .collect()
}

fn event(text: &str) -> Result<Wanted, Error> {
    let (source, modifiers) = if let Some(rest) = text.strip_prefix("mem:") {
        breakpoint(text, rest)?
    } else if let Some((unit, rest)) = text.split_once('/') {
        let (terms, modifiers) = rest.rsplit_once('/').ok_or_else(|| Error::NoEvent(text.into()))?;
        (units::event(unit, terms)?, modifiers.strip_prefix(':').unwrap_or(modifiers))
    } else {
        let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
        match named(name) {
            Some(source) => (source, modifiers),
            None => traced(text)?,
        }
    };
    let precision = Precision::Best;
    let mut wanted = Wanted { name: text.into(), source, precision, modes: [false; 3], leads: false };
    let modifiers = modifiers.to_owned();
    modify(&mut wanted, &modifiers)?;
    Ok(wanted)
}

fn modify(wanted: &mut Wanted, modifiers: &str) -> Result<(), Error> {
    for letter in modifiers.chars() {
        match (letter, wanted.precision) {
            ('u', _) => wanted.modes[0] = true,
            ('k', _) => wanted.modes[1] = true,
            ('h', _) => wanted.modes[2] = true,
            ('P', _) => wanted.precision = Precision::Best,
            ('i', _) => wanted.precision = Precision::Level(0),
            ('S', _) => wanted.leads = true,
            ('p', Precision::Level(level)) if level < 3 => wanted.precision = Precision::Level(level + 1),
            ('p', Precision::Best) => wanted.precision = Precision::Level(1),
            _ => {
                let what = format!("there is no modifier {letter} here: u, k, h, p, P, S and i are known");
                return Err(Error::BadEvent { event: wanted.name.clone(), what });
            }
        }
    }
    Ok(())
}

fn named(name: &str) -> Option<Source> {
    let place = |names: &[&[&str]]| names.iter().position(|names| names.contains(&name)).map(|at| at as u64);
    if let Some(config) = place(&HARDWARE_NAMES) {
        return Some(plain(HARDWARE, config));
    }
    if let Some(config) = place(&SOFTWARE_NAMES) {
        return Some(plain(SOFTWARE, config));
    }
    let raw = name.strip_prefix('r').and_then(|digits| u64::from_str_radix(digits, 16).ok());
    cache(name).or(raw.map(|config| plain(RAW, config))).or_else(|| units::named(name))
}

/// `SYSTEM:NAME[:MODIFIERS]`
fn traced(text: &str) -> Result<(Source, &str), Error> {
    let mut parts = text.splitn(3, ':');
    let (Some(system), Some(name)) = (parts.next(), parts.next()) else {
        return Err(Error::NoEvent(text.into()));
    };
    match tracepoints::id(system, name) {
        Ok(id) => Ok((plain(TRACEPOINT, id), parts.next().unwrap_or(""))),
        Err(Missing::Event) => Err(Error::NoEvent(text.into())),
        Err(Missing::Folder(why)) => {
            let what = format!("tracepoints are found in /sys/kernel/tracing, which cannot be read: {why}");
            Err(Error::BadEvent { event: text.into(), what })
        }
    }
}

/// System and name, of an event that is a tracepoint.
pub fn tracepoint(event: &Described) -> Option<(String, String)> {
    let is_one = matches!(event.attr.source, Source::Event { kind: TRACEPOINT, .. });
    let mut parts = event.name.split(':').map(str::to_owned);
    parts.next().zip(parts.next()).filter(|_| is_one)
}

fn plain(kind: u32, config: u64) -> Source {
    Source::Event { kind, config: [config, 0, 0, 0] }
}

/// `config = cache | operation << 8 | result << 16`
fn cache(name: &str) -> Option<Source> {
    let (level, access) =
        CACHES.iter().enumerate().find_map(|(at, cache)| Some((at, name.strip_prefix(cache)?)))?;
    let (operation, missed) = ACCESSES
        .iter()
        .enumerate()
        .find_map(|(operation, names)| Some((operation, names.iter().position(|name| *name == access)?)))?;
    Some(plain(CACHE, (level | operation << 8 | missed << 16) as u64))
}

/// `mem:ADDRESS[/LENGTH][:ACCESS[:MODIFIERS]]`
fn breakpoint<'t>(text: &str, rest: &'t str) -> Result<(Source, &'t str), Error> {
    let bad = |what: &str| Error::BadEvent { event: text.into(), what: what.into() };
    let mut parts = rest.splitn(3, ':');
    let place = parts.next().unwrap_or_default();
    let access = match parts.next().unwrap_or("rw") {
        "r" => Access::Read,
        "w" => Access::Write,
        "rw" | "wr" => Access::ReadWrite,
        "x" => Access::Execute,
        _ => return Err(bad("an access is r, w, rw or x")),
    };
    let (address, length) =
        place.split_once('/').map_or((place, None), |(address, length)| (address, Some(length)));
    let address = number(address).ok_or_else(|| bad("an address is a number"))?;
    let natural = if access == Access::Execute { size_of::<usize>() as u64 } else { 4 };
    let length = match length {
        None => natural,
        Some(length) => number(length)
            .filter(|n| [1, 2, 4, 8].contains(n))
            .ok_or_else(|| bad("a length is 1, 2, 4 or 8"))?,
    };
    Ok((Source::Breakpoint { access, address, length }, parts.next().unwrap_or("")))
}

/// Decimal, or hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Wanted {
    /// The event with this name, which has no modifiers.
    pub(crate) fn of(name: &str) -> Option<Wanted> {
        event(name).ok()
    }

    /// `PERF_TYPE_*` and config.
    pub(crate) fn id(&self) -> (u32, u64) {
        match self.source {
            Source::Event { kind, config } => (kind, config[0]),
            Source::Breakpoint { .. } => (5, 0),
        }
    }

    /// Whether the processor has to have a counter for it.
    pub fn is_hardware(&self) -> bool {
        ![SOFTWARE, TRACEPOINT, 5].contains(&self.id().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Vec<(u32, u64)>> {
        parse(text).unwrap().iter().map(|g| g.iter().map(Wanted::id).collect()).collect()
    }

    #[test]
    fn events_are_known_by_the_names_that_perf_gives_them() {
        assert_eq!(of("cycles,instructions"), [[(0, 0)], [(0, 1)]]);
        assert_eq!(of("{cpu-cycles,instructions},cs"), [vec![(0, 0), (0, 1)], vec![(1, 3)]]);
        assert_eq!(of("LLC-load-misses,dTLB-stores,r1a8"), [[(3, 0x10002)], [(3, 0x103)], [(4, 0x1a8)]]);
        assert!(parse("magic").is_err() && parse("{cycles").is_err() && parse("cycles:q").is_err());
    }

    #[test]
    fn modifiers_of_a_group_are_those_of_its_members() {
        let groups = parse("{cycles:p,instructions}:u").unwrap();
        let found: Vec<_> = groups[0].iter().map(|e| (e.precision, e.modes)).collect();
        let user = [true, false, false];
        assert_eq!(found, [(Precision::Level(1), user), (Precision::Best, user)]);
    }

    #[test]
    fn breakpoints_have_an_address_a_length_and_an_access() {
        let source = |text| parse(text).unwrap()[0][0].source;
        let at = |access, length| Source::Breakpoint { access, address: 0x1234, length };
        assert_eq!(source("mem:0x1234:x"), at(Access::Execute, 8));
        assert_eq!(source("mem:0x1234/8:w"), at(Access::Write, 8));
        assert_eq!(source("mem:4660"), at(Access::ReadWrite, 4));
        assert_eq!(of("mem:0x10/4:w,cs"), [[(5, 0)], [(1, 3)]]);
        assert!(parse("mem:0x1234/3").is_err() && parse("mem:here").is_err());
        assert_eq!(parse("mem:0x1234:x:u").unwrap()[0][0].modes, [true, false, false]);
    }
}
