//! Events that /sys/bus/event_source lists: a unit's number, where the terms of an event stand in its configuration, and the
//! events it has names for.

use crate::error::Error;
use crate::names::number;
use crate::sys::Source;
use std::path::{Path, PathBuf};

const DEVICES: &str = "/sys/bus/event_source/devices";
/// Units of the processor itself, whose events are known without theirs.
const CORES: [&str; 2] = ["cpu", "cpu_core"];

/// Name and number of each.
pub fn all() -> Vec<(String, u32)> {
    let entries = std::fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let mut units: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, number_of(&entry.path())?)))
        .collect();
    units.sort_by_key(|unit| unit.1);
    units
}

/// An event of the processor that its unit has a name for.
pub fn named(name: &str) -> Option<Source> {
    CORES.iter().find_map(|unit| {
        let folder = Path::new(DEVICES).join(unit);
        folder.join("events").join(name).exists().then(|| event_in(&folder, name).ok())?
    })
}

/// `cpu/event=0x3c,umask=0x1/` or `cpu/mem-loads/`.
pub fn event(unit: &str, terms: &str) -> Result<Source, Error> {
    let name = || format!("{unit}/{terms}/");
    let plain = !unit.is_empty() && !unit.contains(['/', '.']) && !terms.contains(['/', '.']);
    let folder = Some(Path::new(DEVICES).join(unit)).filter(|folder| plain && folder.exists());
    let folder = folder.ok_or_else(|| Error::NoEvent(name()))?;
    event_in(&folder, terms).map_err(|what| Error::BadEvent { event: name(), what })
}

fn number_of(folder: &Path) -> Option<u32> {
    text(folder.join("type"))?.parse().ok()
}

fn event_in(folder: &Path, terms: &str) -> Result<Source, String> {
    let mut config = [0; 4];
    let kind = number_of(folder).ok_or("its unit has no number")?;
    for term in terms.split(',') {
        let (name, value) = term.split_once('=').map_or((term, None), |(name, value)| (name, Some(value)));
        match text(folder.join("events").join(name)).filter(|_| value.is_none()) {
            Some(meaning) => meaning.split(',').try_for_each(|term| set(folder, term, &mut config))?,
            None => set(folder, term, &mut config)?,
        }
    }
    Ok(Source::Event { kind, config })
}

fn set(folder: &Path, term: &str, config: &mut [u64; 4]) -> Result<(), String> {
    let (name, value) = term.split_once('=').unwrap_or((term, "1"));
    let value = number(value).ok_or_else(|| format!("{value} is no number"))?;
    if let Some(at) = ["config", "config1", "config2", "config3"].iter().position(|known| *known == name) {
        config[at] = value;
        return Ok(());
    }
    let format = text(folder.join("format").join(name)).ok_or_else(|| format!("there is no term {name}"))?;
    deposit(&format, value, config).ok_or_else(|| format!("{name} has no room for {value:#x}"))
}

/// `config:0-7,32-35`: the bits of `value` go there, lowest first.
fn deposit(format: &str, value: u64, config: &mut [u64; 4]) -> Option<()> {
    let (word, ranges) = format.split_once(':')?;
    let word = config.get_mut(word.strip_prefix("config")?.parse().unwrap_or(0usize))?;
    let mut left = value;
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        for bit in low.parse::<u32>().ok()?..=high.parse().ok().filter(|&bit: &u32| bit < 64)? {
            *word |= (left & 1) << bit;
            left >>= 1;
        }
    }
    (left == 0).then_some(())
}

fn text(path: PathBuf) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_go_to_the_bits_that_their_format_names() {
        let mut config = [0; 4];
        deposit("config:0-7,32-35", 0xabc, &mut config).unwrap();
        deposit("config1:63", 1, &mut config).unwrap();
        assert_eq!(config, [0xa_0000_00bc, 1 << 63, 0, 0]);
        assert!(deposit("config:0-7", 0x100, &mut config).is_none(), "it does not fit");
        assert!(deposit("config:0-64", 1, &mut config).is_none());
        assert!(deposit("config9:0", 1, &mut config).is_none());
    }

    #[test]
    fn a_unit_is_known_by_its_folder() {
        assert!(all().iter().any(|unit| unit == &("software".to_owned(), 1)));
        assert_eq!(event("software", "config=2").unwrap(), Source::Event { kind: 1, config: [2, 0, 0, 0] });
        assert!(event("..", "config=2").is_err() && event("software", "magic=2").is_err());
    }
}
