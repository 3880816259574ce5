//! The programs: sources of several languages carried in this crate, compiled when a case is made.
//!
//! Comments at the beginning of each source say by which compiler and how it is compiled (`cc:`, `c++:`, `rustc:`, `gfortran:`,
//! `go:`, `ocamlopt:`), with which arguments it runs (`args:`), which libraries it is linked with (`libs:`) and the Debian packages
//! that hold these (`needs:`), so that a new program is one new file and one new word in [`SOURCES`]. Those in `programs/real` do little
//! themselves: what runs is the library, as Debian compiled it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

macro_rules! sources {
    ($($folder:literal $extension:literal: $($name:literal),*;)*) => {
        /// Every program: its name and its text.
        pub const SOURCES: &[Source] = &[$($(
            Source {
                name: $name,
                extension: $extension,
                text: include_str!(concat!("../programs/", $folder, $name, $extension)),
                options: None,
            },
        )*)*];
    };
}

sources!(
    "" ".c": "machine", "viterbi", "arcs", "hash", "sparse", "trips", "interp", "tree", "bisect", "ratios", "enter",
    "compare", "scan", "blend", "many", "sled", "leaves", "counters", "dot", "sorts", "lex", "lz", "virt",
    "fft", "match";
    "real/" ".c": "sqlite", "lua", "mujs", "zlib", "bzip2", "lzma", "zstd", "brotli", "expat", "pcre2", "jansson", "jpeg",
    "gsl", "glpk", "svm";
    "cpp/" ".cc": "words", "shapes", "parse", "graph", "regexes";
    "rust/" ".rs": "tokens", "ledger", "numbers";
    "fortran/" ".f90": "flow", "cards";
    "go/" ".go": "counts", "figures", "records";
    "ocaml/" ".ml": "folds", "terms";
);

/// What several programs work on, beside each source.
const TEXT: (&str, &str) = ("text.h", include_str!("../programs/real/text.h"));

/// What turns a source into a program.
struct Compiler {
    name: &'static str,
    /// What the comment of the source begins with that holds its options.
    marker: &'static str,
    /// The option that replaces the beginning of paths, if there is one.
    prefix_map: Option<&'static str>,
    libraries: &'static [&'static str],
}

const CC: Compiler =
    Compiler { name: "cc", marker: "cc: ", prefix_map: Some("-ffile-prefix-map"), libraries: &["-lm"] };
const CXX: Compiler = Compiler { name: "c++", marker: "c++: ", ..CC };
const GFORTRAN: Compiler = Compiler { name: "gfortran", marker: "gfortran: ", libraries: &[], ..CC };
const RUSTC: Compiler =
    Compiler { name: "rustc", marker: "rustc: ", prefix_map: Some("--remap-path-prefix"), libraries: &[] };
const GO: Compiler = Compiler { name: "go", marker: "go: ", prefix_map: None, libraries: &[] };
const OCAMLOPT: Compiler = Compiler { name: "ocamlopt", marker: "ocamlopt: ", ..GO };

/// A program as source text.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name, also that of the binary.
    pub name: &'static str,
    /// How its file's name ends, e.g. `.c`.
    extension: &'static str,
    /// The text.
    pub text: &'static str,
    /// The compiler's options, in place of those that the text says.
    options: Option<&'static str>,
}

/// What the name of a program ends with that is compiled otherwise than its source says, and how that is: without optimization, and for
/// IA-32, as position-independent code (Debian's gcc-multilib).
const VARIANTS: [(&str, &str); 2] =
    [("-O0", "-O0 -g -static"), ("-m32", "-O2 -g -static -m32 -fpie -fno-omit-frame-pointer")];

/// What the name of a program ends with that is linked with shared libraries, and the option that it is compiled without.
const LINKED: (&str, &str) = ("-so", "-static");

/// A compiled program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Where the binary is on this disk.
    pub binary: PathBuf,
    /// The folder that stands for `/` of what is recorded.
    pub symfs: PathBuf,
    /// The path that recordings give it, e.g. `/opt/generated/tree/tree`.
    pub recorded_path: String,
    /// The arguments it runs with.
    pub args: Vec<String>,
}

impl Source {
    /// Looks a program up by name; with `-O0` behind it that program without optimization, with `-m32` for IA-32, with `-so` linked
    /// with shared libraries.
    pub fn named(name: &'static str) -> Result<Source> {
        let variant = |(ending, options)| Some((name.strip_suffix(ending)?, Some(options)));
        let same = name.strip_suffix(LINKED.0).unwrap_or(name);
        let (held, options) = VARIANTS.into_iter().find_map(variant).unwrap_or((same, None));
        let source = SOURCES.iter().find(|s| s.name == held).ok_or_else(|| Error::Unknown(name.into()))?;
        Ok(Source { name, options, ..*source })
    }

    /// Compiles into `symfs`, below the path that recordings will name.
    pub fn compile(self, symfs: &Path) -> Result<Program> {
        let recorded_dir = format!("/opt/generated/{}", self.name);
        let dir = symfs.join(&recorded_dir[1..]);
        std::fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        let dir = dir.canonicalize().map_err(Error::io(&dir))?;
        let file = format!("{}{}", self.name, self.extension);
        let source = dir.join(&file);
        std::fs::write(&source, self.text).map_err(Error::io(&source))?;
        let beside = dir.join(TEXT.0);
        std::fs::write(&beside, TEXT.1).map_err(Error::io(&beside))?;
        let compiler = self.compiler();
        // The debug information must not depend on where the case is made.
        let prefix = compiler.prefix_map.map(|option| format!("{option}={}={recorded_dir}", dir.display()));
        let run = Command::new(compiler.name)
            .current_dir(&dir)
            .args(self.options(compiler))
            .args(prefix)
            .args(["-o", self.name, &file])
            .args(self.words("libs: "))
            .args(compiler.libraries)
            .output()
            .map_err(|e| Error::Tool { tool: compiler.name, reason: e.to_string() })?;
        if !run.status.success() {
            let mut reason = String::from_utf8_lossy(&run.stderr).into_owned();
            let needs: Vec<&str> = self.words("needs: ").collect();
            if !needs.is_empty() {
                reason.push_str(&format!("{} needs Debian's {}", self.name, needs.join(", ")));
            }
            return Err(Error::Tool { tool: compiler.name, reason });
        }
        Ok(Program {
            name: self.name,
            binary: dir.join(self.name),
            symfs: symfs.into(),
            recorded_path: format!("{recorded_dir}/{}", self.name),
            args: self.words("args: ").map(String::from).collect(),
        })
    }

    fn compiler(self) -> &'static Compiler {
        match self.extension {
            ".cc" => &CXX,
            ".f90" => &GFORTRAN,
            ".go" => &GO,
            ".ml" => &OCAMLOPT,
            ".rs" => &RUSTC,
            _ => &CC,
        }
    }

    fn options(self, compiler: &Compiler) -> impl Iterator<Item = &'static str> {
        let all = self.options.unwrap_or_else(|| self.line(compiler.marker)).split_whitespace();
        all.filter(move |&option| option != LINKED.1 || !self.name.ends_with(LINKED.0))
    }

    fn words(self, marker: &str) -> impl Iterator<Item = &'static str> {
        self.line(marker).split_whitespace()
    }

    /// What stands behind `marker` in a comment of the text.
    fn line(self, marker: &str) -> &'static str {
        self.text.lines().find_map(|l| comment(l)?.strip_prefix(marker)).unwrap_or("")
    }
}

/// What a line that is a comment says, in any of the languages.
fn comment(line: &str) -> Option<&str> {
    let enclosed = || line.strip_prefix("(* ")?.strip_suffix(" *)");
    ["// ", "! "].iter().find_map(|&mark| line.strip_prefix(mark)).or_else(enclosed)
}
