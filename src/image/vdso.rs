//! The code that the running kernel shows every process of this machine.
//!
//! In: the build-id that a recording states. Out: that code, if the running kernel is of the same build: a recording is most
//! often read where it was made, and perf keeps a copy in its cache only where it is let to. 64-bit code only: the program's own.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::elf::Elf;
use super::locate::same_build;

/// It takes a few pages; the kernel's are two.
const LARGEST: u64 = 1 << 20;

/// The code of this machine's kernel in user space, if its build-id is `build_id`.
pub fn running(build_id: &[u8]) -> Option<Elf> {
    let elf = Elf::from_bytes(Path::new("[vdso]"), mapped()?).ok()?;
    elf.build_id().is_some_and(|found| same_build(build_id, found)).then_some(elf)
}

/// Its bytes, from the memory of this process.
fn mapped() -> Option<Vec<u8>> {
    let maps = read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let len = end.checked_sub(start).filter(|len| *len <= LARGEST)?;
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::functions::Functions;
    use crate::image::plt::Plt;
    use crate::image::unwind::Unwind;

    #[test]
    fn only_the_recorded_build_is_taken() {
        let Some(bytes) = mapped() else {
            return eprintln!("not run: no memory of our own can be read here");
        };
        let build_id = Elf::from_bytes(Path::new("[vdso]"), bytes).unwrap().build_id().unwrap().to_vec();
        let elf = running(&build_id).unwrap();
        let functions = Functions::new(&elf, None, &Plt::default(), Unwind::new(&elf).as_ref());
        let names: Vec<_> = functions.iter().filter_map(|function| function.name.as_deref()).collect();
        assert!(names.iter().any(|name| name.contains("gettime")), "{names:?}");
        let other: Vec<u8> = build_id.iter().map(|byte| !byte).collect();
        assert!(running(&other).is_none());
    }
}
