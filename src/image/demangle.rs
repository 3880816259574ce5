//! Names of functions as people wrote them.
//!
//! In: names as the linker knows them, of any file. Out: those of C++ and Rust in the form of their language, all others as they
//! are. What is written is bounded: a name may repeat its parts, and each repetition may have others in it, so that some hundred
//! bytes stand for gigabytes.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};
use rustc_demangle::try_demangle;

/// Names that get longer stay as they are; the longest of large programs have some thousand bytes.
const LONGEST: usize = 64 << 10;

/// A name as it is shown.
pub struct Demangled {
    /// The name.
    pub name: String,
    /// Whether it stays as it is because it gets too long, as it would for one who does not look.
    pub endless: bool,
}

/// Demangles what is mangled and does not get too long.
pub fn demangle(name: &str) -> String {
    demangled(name).name
}

/// The same, and why it stays.
pub fn demangled(name: &str) -> Demangled {
    let (plain, version) = name.split_at(name.find('@').unwrap_or(name.len()));
    match written(plain, LONGEST) {
        Some(Ok(Bounded { source, .. })) => Demangled { name: source + version, endless: false },
        written => Demangled { name: name.to_owned(), endless: written.is_some() },
    }
}

/// Whether a name gets longer than `most` bytes.
pub fn exceeds(name: &str, most: usize) -> bool {
    written(name, most).is_some_and(|written| written.is_err())
}

/// `None` of what is not mangled, an error of what gets longer than `most` bytes.
fn written(name: &str, most: usize) -> Option<Result<Bounded, fmt::Error>> {
    if !["_Z", "__Z", "_R"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let mut out = Bounded { source: String::new(), most };
    if let Ok(rust) = try_demangle(name) {
        return Some(write!(out, "{rust:#}").map(|()| out));
    }
    let symbol = Symbol::new(name.as_bytes()).ok()?;
    let options = DemangleOptions::new().no_return_type();
    Some(symbol.structured_demangle(&mut out, &options).map(|()| out))
}

/// A name that takes no more than it may have.
struct Bounded {
    source: String,
    most: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.source.len() + part.len() > self.most {
            return Err(fmt::Error);
        }
        self.source.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn only_mangled_names_change() {
        for (linker, source) in [
            ("_start", "_start"),
            ("__libc_start_main", "__libc_start_main"),
            ("memcpy@plt", "memcpy@plt"),
            ("_ZN3foo3barEv", "foo::bar()"),
            ("__ZN3foo3barEv", "foo::bar()"),
            ("_ZN3foo3barEv@plt", "foo::bar()@plt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Zz", "_Zz"),
            ("camlA__b__c_1002", "camlA__b__c_1002"),
        ] {
            assert_eq!(demangle(linker), source);
        }
    }

    #[test]
    fn names_that_no_compiler_makes_stay_as_they_are() {
        let deep = format!("__SM1aK1b{}", "A".repeat(100_000));
        for name in ["__ST99aa", "__SM1aD1bi", "__ST1\u{e9}", &deep] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn names_that_repeat_without_end_are_not_written() {
        let doubling = |levels| testing::doubling("1a", levels);
        let is_endless = |name: &str| demangled(name).endless;
        assert!(demangle(&doubling(3)).starts_with("f("), "{}", demangle(&doubling(3)));
        let long = doubling(17);
        assert_eq!(demangle(&long), long);
        assert!(is_endless(&long) && !is_endless(&doubling(3)) && !is_endless("main"));
    }
}
