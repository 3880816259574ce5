//! The machine a recording is made on.

use std::fs;
use std::io;

/// What a recording says of its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// Version of the kernel.
    pub release: String,
    /// As `uname -m` gives it.
    pub arch: String,
    /// The processor's name.
    pub processor: String,
    /// Vendor, family, model and stepping, as perf writes them.
    pub cpuid: String,
    /// Processors that are on, by number.
    pub online: Vec<u32>,
    /// Processors that there could be.
    pub possible: u32,
    /// Memory in KiB.
    pub memory: u64,
}

impl Machine {
    /// This one.
    pub fn this() -> io::Result<Machine> {
        let info = fs::read_to_string("/proc/cpuinfo")?;
        let online = fs::read_to_string("/sys/devices/system/cpu/online")?;
        let present = fs::read_to_string("/sys/devices/system/cpu/present").unwrap_or_default();
        let online = list(&online).filter(|cpus| !cpus.is_empty());
        let online = online.ok_or_else(|| io::Error::other("which processors are on is not told"))?;
        Ok(Machine {
            host: trimmed("/proc/sys/kernel/hostname")?,
            release: trimmed("/proc/sys/kernel/osrelease")?,
            arch: trimmed("/proc/sys/kernel/arch").unwrap_or_else(|_| std::env::consts::ARCH.into()),
            processor: field(&info, "model name").unwrap_or_default().into(),
            cpuid: cpuid(&info),
            possible: list(&present).map_or(0, |cpus| cpus.len()).max(online.len()) as u32,
            online,
            memory: memory().unwrap_or(0),
        })
    }
}

fn trimmed(path: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

/// Of the first processor of /proc/cpuinfo.
fn field<'t>(info: &'t str, name: &str) -> Option<&'t str> {
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// `vendor,family,model,stepping`, where there is such a thing.
fn cpuid(info: &str) -> String {
    let parts = ["vendor_id", "cpu family", "model", "stepping"].map(|name| field(info, name));
    let parts: Option<Vec<_>> = parts.into_iter().collect();
    parts.map_or_else(String::new, |parts| parts.join(","))
}

/// Processors as `0-3,5`; `None` of anything else.
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = vec![];
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok().filter(|&last: &u32| last < 1 << 16)?);
    }
    Some(cpus)
}

fn memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    field(&info, "MemTotal")?.split(' ').next()?.parse().ok()
}

/// The speed of the processors in events of `cycles` a second, as far as it is known.
pub(crate) fn frequency() -> f64 {
    let kilohertz = trimmed("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok();
    let max = kilohertz.and_then(|text| text.parse::<f64>().ok()).map(|kilohertz| kilohertz * 1e3);
    let now = || {
        let info = fs::read_to_string("/proc/cpuinfo").ok()?;
        field(&info, "cpu MHz")?.parse::<f64>().ok().map(|megahertz| megahertz * 1e6)
    };
    max.or_else(now).filter(|hertz| (1e8..1e11).contains(hertz)).unwrap_or(3e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(list("0-3,5,7-8\n"), Some(vec![0, 1, 2, 3, 5, 7, 8]));
        assert_eq!(list("0-"), None);
        assert_eq!(list("0-99999999"), None);
    }

    #[test]
    fn the_processor_is_named_as_perf_names_it() {
        let info = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 142\nmodel name\t: i7\nstepping\t: 12\n\nvendor_id\t: other\n";
        assert_eq!(cpuid(info), "GenuineIntel,6,142,12");
        assert_eq!(cpuid("processor : 0\n"), "");
    }
}
