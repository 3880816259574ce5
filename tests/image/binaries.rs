//! Small programs, built as the tests need them. `cc` and the binutils that it comes with are required.

use std::path::{Path, PathBuf};
use std::process::Command;

use skidconv::image::{AddressSpaces, Image, ImageId, Images, SearchPath};
use skidconv::perfdata::{BuildId, CpuMode, Mmap, Sideband};

/// Runs a tool and returns what it prints.
pub fn run(tool: &str, args: &[&str]) -> String {
    let output =
        Command::new(tool).args(args).output().unwrap_or_else(|error| panic!("{tool} is required: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {args:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles C (or assembly, if the name ends in `.s`) to `dir/name`.
pub fn build(dir: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
    let is_assembly = source.trim_start().starts_with('.');
    let file = dir.join(format!("{name}.{}", if is_assembly { "s" } else { "c" }));
    std::fs::write(&file, source).unwrap();
    let out = dir.join(name);
    let args = [args, &["-o", text(&out), text(&file)]].concat();
    run("cc", &args);
    out
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A mapping of a file, as the kernel records it.
pub fn mapping(path: &str, start: u64, len: u64, pgoff: u64) -> Mmap {
    Mmap {
        time: Some(0),
        pid: 1,
        tid: 1,
        start,
        len,
        pgoff,
        filename: path.into(),
        build_id: None,
        inode: None,
        mode: CpuMode::User,
        executable: true,
    }
}

/// The address spaces after some mappings.
pub fn spaces(mappings: Vec<Mmap>) -> AddressSpaces {
    let mut spaces = AddressSpaces::new();
    for (ordinal, mmap) in (0..).zip(mappings) {
        spaces.record(ordinal, &Sideband::Mmap(mmap));
    }
    spaces.seal();
    spaces
}

/// One file, as if a process had mapped it.
pub fn images(path: &Path) -> Images {
    images_with(path, None, SearchPath::default())
}

/// One recorded path with its build-id, to be searched.
pub fn images_with(path: &Path, build_id: Option<Vec<u8>>, search: SearchPath) -> Images {
    let spaces = spaces(vec![mapping(text(path), 0, 1 << 40, 0)]);
    let stated =
        build_id.map(|bytes| BuildId { pid: -1, mode: CpuMode::User, bytes, filename: text(path).into() });
    Images::new(&spaces, stated.as_slice(), search)
}

/// The only image.
pub fn only(images: &Images) -> &Image {
    images.get(ImageId(0))
}

/// Functions by `nm`: address and name.
pub fn nm(path: &Path) -> Vec<(u64, String)> {
    let listing = run("nm", &["--defined-only", text(path)]);
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_code = matches!(words.next()?, "T" | "t" | "i" | "W");
        is_code.then_some((address, words.next()?.to_owned()))
    };
    listing.lines().filter_map(line).collect()
}

/// The address of a function by `nm`.
pub fn address_of(path: &Path, name: &str) -> u64 {
    let found = nm(path).into_iter().find(|(_, found)| found == name);
    found.unwrap_or_else(|| panic!("no {name} in {}", path.display())).0
}
