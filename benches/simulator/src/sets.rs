//! The sets of cases: programs × cores × skids × sample counts, chosen so that each program meets cores unlike one another.

use crate::compiled::{IA32, LINKED, UNOPTIMIZED};
use crate::core::Model;
use crate::grid::{CHAINS, Case, HUMP, MISSES, PLAIN, Retired, TAIL, With, about, cases, lognormal};
use crate::interrupt::Lands::{AfterHead, AfterLongHead, OnHead};
use crate::interrupt::Skid;

/// All sets, by name.
pub const SETS: [(&str, &[Case]); 12] = [
    ("grid", CASES),
    ("others", OTHERS),
    ("fresh", FRESH),
    ("real", REAL),
    ("languages", LANGUAGES),
    ("runtimes", RUNTIMES),
    ("unoptimized", UNOPTIMIZED),
    ("ia32", IA32),
    ("linked", LINKED),
    ("missing", MISSING),
    ("patient", PATIENT),
    ("retired", RETIRED),
];

const FREQUENCY: With = With { frequency: true, ..PLAIN };
const ALL: With = With { retired: Retired::All, ..PLAIN };
const PARTS: With = With { retired: Retired::Parts, ..PLAIN };
const BRANCHES: With = With { retired: Retired::Branches, ..PLAIN };

cases! {
    /// The cases that choices were made by.
    CASES:
    "machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, CHAINS;
    "machine-inorder-5" "machine" InOrder about(5), OnHead, 20000, PLAIN;
    "machine-shared-hump" "machine" Shared HUMP, AfterHead, 20000, PLAIN;
    "viterbi-wide8-60" "viterbi" Wide8 about(60), OnHead, 20000, PLAIN;
    "viterbi-wide4-150" "viterbi" Wide4 about(150), AfterHead, 5000, PLAIN;
    "arcs-wide6-60" "arcs" Wide6 about(60), AfterHead, 20000, With { misses: true, ..CHAINS };
    "arcs-bursty-hump" "arcs" Bursty HUMP, AfterHead, 20000, PLAIN;
    "arcs-blocking-20" "arcs" Blocking about(20), OnHead, 5000, MISSES;
    "hash-bursty-memory" "hash" Bursty Skid::AfterMemory { base: 30 }, OnHead, 20000, MISSES;
    "hash-wide4-lognormal20" "hash" Wide4 lognormal(20.0), AfterHead, 50000, CHAINS;
    "sparse-wide8-20" "sparse" Wide8 about(20), AfterHead, 20000, PLAIN;
    "sparse-inorder-60-freq" "sparse" InOrder about(60), OnHead, 20000, FREQUENCY;
    "trips-wide6-5" "trips" Wide6 about(5), AfterHead, 20000, PLAIN;
    "trips-wide4-lognormal60" "trips" Wide4 lognormal(60.0), AfterLongHead(8), 20000, PLAIN;
    "trips-shared-150" "trips" Shared about(150), OnHead, 20000, PLAIN;
    "interp-wide6-20-lbr" "interp" Wide6 about(20), AfterHead, 20000, With { branches: 32, ..PLAIN };
    "interp-inorder-20" "interp" InOrder about(20), OnHead, 5000, PLAIN;
    "interp-wide8-hump" "interp" Wide8 HUMP, AfterHead, 50000, PLAIN;
    "tree-wide4-60" "tree" Wide4 about(60), AfterHead, 20000, CHAINS;
    "tree-bursty-tail" "tree" Bursty TAIL, AfterHead, 20000, CHAINS;
    "bisect-wide6-20" "bisect" Wide6 about(20), AfterHead, 20000, MISSES;
    "bisect-blocking-60" "bisect" Blocking about(60), OnHead, 20000, PLAIN;
    "ratios-wide4-20" "ratios" Wide4 about(20), AfterHead, 20000, PLAIN;
    "ratios-wide8-150" "ratios" Wide8 about(150), OnHead, 50000, CHAINS;
    "ratios-shared-tail" "ratios" Shared TAIL, AfterHead, 5000, CHAINS;
    "enter-wide4-60" "enter" Wide4 about(60), OnHead, 20000, PLAIN;
    "enter-wide6-hump-freq" "enter" Wide6 HUMP, AfterHead, 20000, FREQUENCY;
    "enter-wide4-precise" "enter" Wide4 about(60), AfterHead, 20000, With { precise_cycles: true, ..PLAIN };
    "blend-wide4-5" "blend" Wide4 about(5), AfterHead, 20000, PLAIN;
    "blend-wide6-hump" "blend" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "blend-wide8-60" "blend" Wide8 about(60), OnHead, 20000, PLAIN;
    "compare-wide6-60" "compare" Wide6 about(60), AfterLongHead(8), 20000, CHAINS;
    "compare-inorder-5-few" "compare" InOrder about(5), OnHead, 500, PLAIN;
    "scan-wide8-60" "scan" Wide8 about(60), AfterHead, 20000, PLAIN;
    "scan-bursty-20-few" "scan" Bursty about(20), AfterHead, 500, CHAINS;
    "scan-shared-150-lbr" "scan" Shared about(150), AfterHead, 5000, With { branches: 16, ..PLAIN };
    "missing-arcs-inorder-20" "arcs" InOrder about(20), OnHead, 20000, MISSES;
    "missing-hash-wide4-20" "hash" Wide4 about(20), AfterHead, 20000, MISSES;
    "missing-sparse-wide8-60" "sparse" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-tree-wide6-hump" "tree" Wide6 HUMP, AfterHead, 20000, MISSES;
    "missing-interp-wide6-lognormal20" "interp" Wide6 lognormal(20.0), AfterHead, 20000, MISSES;
    "missing-compare-shared-60" "compare" Shared about(60), AfterHead, 20000, MISSES;
    "missing-scan-blocking-5" "scan" Blocking about(5), OnHead, 20000, MISSES;
    "missing-trips-wide4-tail" "trips" Wide4 TAIL, AfterHead, 20000, MISSES;
}

cases! {
    /// Cases of other programs, which came when most numbers had been chosen.
    OTHERS:
    "sled-wide4-45" "sled" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sled-wide6-lognormal30" "sled" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "sled-wide8-20" "sled" Wide8 about(20), OnHead, 20000, PLAIN;
    "sled-inorder-15" "sled" InOrder about(15), OnHead, 8000, PLAIN;
    "leaves-wide4-45" "leaves" Wide4 about(45), AfterHead, 20000, PLAIN;
    "leaves-wide4-90-few" "leaves" Wide4 about(90), AfterHead, 3000, PLAIN;
    "leaves-bursty-hump" "leaves" Bursty HUMP, AfterHead, 20000, PLAIN;
    "counters-wide4-45" "counters" Wide4 about(45), AfterHead, 20000, PLAIN;
    "counters-wide6-tail" "counters" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "counters-wide8-150" "counters" Wide8 about(150), AfterHead, 10000, CHAINS;
    "dot-wide4-45" "dot" Wide4 about(45), AfterHead, 20000, PLAIN;
    "dot-wide6-lognormal30" "dot" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "dot-wide8-20" "dot" Wide8 about(20), OnHead, 20000, PLAIN;
    "dot-blocking-30" "dot" Blocking about(30), OnHead, 20000, PLAIN;
    "sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sorts-wide4-90-few" "sorts" Wide4 about(90), AfterHead, 3000, PLAIN;
    "sorts-bursty-hump" "sorts" Bursty HUMP, AfterHead, 20000, PLAIN;
    "lex-wide4-45" "lex" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lex-shared-60" "lex" Shared about(60), AfterHead, 20000, PLAIN;
    "lex-wide6-tail" "lex" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "lex-wide8-150" "lex" Wide8 about(150), AfterHead, 10000, CHAINS;
    "lz-wide4-45" "lz" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lz-wide6-lognormal30" "lz" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, PLAIN;
    "lz-wide8-150" "lz" Wide8 about(150), AfterHead, 10000, CHAINS;
    "virt-wide4-45" "virt" Wide4 about(45), AfterHead, 20000, PLAIN;
    "virt-inorder-15" "virt" InOrder about(15), OnHead, 8000, PLAIN;
    "virt-wide4-90-few" "virt" Wide4 about(90), AfterHead, 3000, PLAIN;
    "virt-bursty-hump" "virt" Bursty HUMP, AfterHead, 20000, PLAIN;
    "fft-wide4-45" "fft" Wide4 about(45), AfterHead, 20000, PLAIN;
    "fft-bursty-hump" "fft" Bursty HUMP, AfterHead, 20000, PLAIN;
    "fft-wide6-tail" "fft" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "fft-wide8-150" "fft" Wide8 about(150), AfterHead, 10000, CHAINS;
    "match-wide4-45" "match" Wide4 about(45), AfterHead, 20000, PLAIN;
    "match-wide6-lognormal30" "match" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "match-wide8-20" "match" Wide8 about(20), OnHead, 20000, PLAIN;
    "match-wide6-tail" "match" Wide6 TAIL, AfterHead, 20000, PLAIN;
}

cases! {
    /// Cases of real code: libraries as Debian has them. They came last; one number was chosen by 13 of them (`REACH` of the solver).
    REAL:
    "sqlite-wide4-60" "sqlite" Wide4 about(60), AfterHead, 20000, PLAIN;
    "sqlite-wide6-hump" "sqlite" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "lua-wide4-20" "lua" Wide4 about(20), AfterHead, 20000, PLAIN;
    "lua-wide8-60" "lua" Wide8 about(60), OnHead, 20000, PLAIN;
    "mujs-wide4-60" "mujs" Wide4 about(60), AfterHead, 20000, PLAIN;
    "mujs-bursty-hump" "mujs" Bursty HUMP, AfterHead, 20000, PLAIN;
    "zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, PLAIN;
    "bzip2-wide6-20" "bzip2" Wide6 about(20), AfterHead, 20000, PLAIN;
    "lzma-wide4-45" "lzma" Wide4 about(45), AfterHead, 20000, PLAIN;
    "zstd-wide6-lognormal30" "zstd" Wide6 lognormal(30.0), AfterHead, 20000, PLAIN;
    "brotli-wide4-tail" "brotli" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "expat-wide8-20" "expat" Wide8 about(20), OnHead, 20000, PLAIN;
    "pcre2-wide4-45" "pcre2" Wide4 about(45), AfterHead, 20000, PLAIN;
    "jansson-wide4-60" "jansson" Wide4 about(60), AfterHead, 20000, CHAINS;
    "jpeg-wide4-45" "jpeg" Wide4 about(45), AfterHead, 20000, PLAIN;
    "jpeg-inorder-15" "jpeg" InOrder about(15), OnHead, 8000, PLAIN;
    "gsl-wide6-60" "gsl" Wide6 about(60), AfterHead, 20000, PLAIN;
    "glpk-blocking-30" "glpk" Blocking about(30), OnHead, 20000, PLAIN;
    "svm-wide6-20" "svm" Wide6 about(20), AfterHead, 20000, PLAIN;
    "svm-shared-150" "svm" Shared about(150), AfterHead, 5000, PLAIN;
}

cases! {
    /// Cases of C++ and Rust, of which nothing was chosen.
    LANGUAGES:
    "words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, PLAIN;
    "words-bursty-hump" "words" Bursty HUMP, AfterHead, 20000, PLAIN;
    "shapes-wide6-20" "shapes" Wide6 about(20), AfterHead, 20000, PLAIN;
    "shapes-inorder-15" "shapes" InOrder about(15), OnHead, 8000, PLAIN;
    "parse-wide4-60" "parse" Wide4 about(60), AfterHead, 20000, CHAINS;
    "parse-wide8-lognormal30" "parse" Wide8 lognormal(30.0), AfterHead, 5000, PLAIN;
    "graph-wide4-tail" "graph" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "graph-bursty-60" "graph" Bursty about(60), OnHead, 20000, PLAIN;
    "regexes-wide4-60" "regexes" Wide4 about(60), AfterHead, 20000, PLAIN;
    "regexes-wide6-hump" "regexes" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "tokens-wide4-45" "tokens" Wide4 about(45), AfterHead, 20000, PLAIN;
    "tokens-wide8-20" "tokens" Wide8 about(20), OnHead, 20000, PLAIN;
    "ledger-wide6-60" "ledger" Wide6 about(60), AfterHead, 20000, PLAIN;
    "ledger-blocking-30" "ledger" Blocking about(30), OnHead, 20000, PLAIN;
    "numbers-wide4-20" "numbers" Wide4 about(20), AfterHead, 20000, PLAIN;
    "numbers-shared-150" "numbers" Shared about(150), AfterHead, 5000, PLAIN;
}

cases! {
    /// Cases of Fortran, Go and OCaml, whose code and runtime are made by compilers of their own.
    RUNTIMES:
    "flow-wide4-45" "flow" Wide4 about(45), AfterHead, 20000, PLAIN;
    "flow-wide8-20" "flow" Wide8 about(20), OnHead, 20000, PLAIN;
    "cards-wide6-60" "cards" Wide6 about(60), AfterHead, 20000, CHAINS;
    "cards-inorder-15" "cards" InOrder about(15), OnHead, 8000, PLAIN;
    "counts-wide4-60" "counts" Wide4 about(60), AfterHead, 20000, CHAINS;
    "counts-wide6-lognormal30" "counts" Wide6 lognormal(30.0), AfterHead, 20000, PLAIN;
    "figures-wide4-20" "figures" Wide4 about(20), AfterHead, 20000, PLAIN;
    "figures-bursty-hump" "figures" Bursty HUMP, AfterHead, 20000, CHAINS;
    "records-wide6-45" "records" Wide6 about(45), AfterHead, 20000, PLAIN;
    "records-wide8-60" "records" Wide8 about(60), OnHead, 20000, CHAINS;
    "folds-wide4-45" "folds" Wide4 about(45), AfterHead, 20000, PLAIN;
    "folds-wide6-tail" "folds" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "terms-wide4-60" "terms" Wide4 about(60), AfterHead, 20000, PLAIN;
    "terms-shared-30" "terms" Shared about(30), AfterHead, 5000, PLAIN;
}

cases! {
    /// Cases of misses in other programs than those that what is said of misses was chosen by, but for what is said of switches.
    MISSING:
    "missing-machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, MISSES;
    "missing-viterbi-wide8-60" "viterbi" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, MISSES;
    "missing-lex-wide6-tail" "lex" Wide6 TAIL, AfterHead, 20000, MISSES;
    "missing-lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, MISSES;
    "missing-virt-bursty-hump" "virt" Bursty HUMP, AfterHead, 20000, MISSES;
    "missing-fft-wide4-60" "fft" Wide4 about(60), AfterHead, 20000, MISSES;
    "missing-match-wide6-lognormal30" "match" Wide6 lognormal(30.0), AfterHead, 20000, MISSES;
    "missing-sled-inorder-15" "sled" InOrder about(15), OnHead, 20000, MISSES;
    "missing-words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, MISSES;
    "missing-graph-wide6-20" "graph" Wide6 about(20), AfterHead, 20000, MISSES;
    "missing-tokens-wide8-60" "tokens" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-ledger-wide4-lognormal30" "ledger" Wide4 lognormal(30.0), AfterHead, 20000, MISSES;
    "missing-zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, MISSES;
    "missing-lua-wide6-45" "lua" Wide6 about(45), AfterHead, 20000, MISSES;
    "missing-glpk-wide4-20" "glpk" Wide4 about(20), AfterHead, 20000, MISSES;
}

cases! {
    /// Cases whose addresses are late only after long waits. What these are taken for was chosen by them (`skid/patience.rs`).
    PATIENT:
    "hash-wide4-45-after8" "hash" Wide4 about(45), AfterLongHead(8), 20000, PLAIN;
    "tree-wide6-60-after8" "tree" Wide6 about(60), AfterLongHead(8), 20000, PLAIN;
    "interp-wide8-60-after8" "interp" Wide8 about(60), AfterLongHead(8), 20000, PLAIN;
    "machine-wide4-30-after5" "machine" Wide4 about(30), AfterLongHead(5), 20000, PLAIN;
    "lex-wide4-60-after8" "lex" Wide4 about(60), AfterLongHead(8), 20000, PLAIN;
    "match-wide6-45-after12" "match" Wide6 about(45), AfterLongHead(12), 20000, PLAIN;
    "sorts-bursty-20-after8" "sorts" Bursty about(20), AfterLongHead(8), 20000, PLAIN;
    "sparse-wide4-60-after20" "sparse" Wide4 about(60), AfterLongHead(20), 20000, PLAIN;
    "enter-wide6-45-after8" "enter" Wide6 about(45), AfterLongHead(8), 20000, PLAIN;
    "lz-wide6-20-after10" "lz" Wide6 about(20), AfterLongHead(10), 20000, PLAIN;
    "fft-wide4-45-after8" "fft" Wide4 about(45), AfterLongHead(8), 20000, PLAIN;
    "virt-wide8-45-after8" "virt" Wide8 about(45), AfterLongHead(8), 20000, PLAIN;
}

cases! {
    /// Cases of programs above on other cores and with other skids. They came last of all; that guessed calls may lead nowhere else
    /// (`skid/outside.rs`) was judged by them, nothing before it.
    FRESH:
    "machine-wide6-lognormal30" "machine" Wide6 lognormal(30.0), AfterHead, 20000, PLAIN;
    "machine-bursty-90-few" "machine" Bursty about(90), AfterHead, 3000, CHAINS;
    "viterbi-bursty-hump" "viterbi" Bursty HUMP, AfterHead, 20000, PLAIN;
    "viterbi-inorder-15-few" "viterbi" InOrder about(15), OnHead, 2000, PLAIN;
    "arcs-wide4-45" "arcs" Wide4 about(45), AfterHead, 20000, PLAIN;
    "arcs-shared-90" "arcs" Shared about(90), OnHead, 20000, PLAIN;
    "hash-wide6-20-few" "hash" Wide6 about(20), AfterHead, 1000, PLAIN;
    "hash-shared-hump" "hash" Shared HUMP, AfterHead, 20000, PLAIN;
    "sparse-wide4-lognormal60" "sparse" Wide4 lognormal(60.0), AfterHead, 20000, PLAIN;
    "sparse-blocking-tail" "sparse" Blocking TAIL, OnHead, 20000, PLAIN;
    "trips-wide8-45" "trips" Wide8 about(45), AfterHead, 20000, CHAINS;
    "trips-bursty-30" "trips" Bursty about(30), AfterHead, 20000, PLAIN;
    "interp-wide4-90" "interp" Wide4 about(90), AfterHead, 20000, CHAINS;
    "interp-shared-30-few" "interp" Shared about(30), OnHead, 2000, PLAIN;
    "tree-wide8-150" "tree" Wide8 about(150), AfterHead, 20000, PLAIN;
    "tree-inorder-5" "tree" InOrder about(5), OnHead, 20000, PLAIN;
    "bisect-wide4-lognormal20" "bisect" Wide4 lognormal(20.0), AfterHead, 50000, PLAIN;
    "bisect-bursty-60" "bisect" Bursty about(60), AfterHead, 20000, FREQUENCY;
    "ratios-wide6-hump" "ratios" Wide6 HUMP, AfterHead, 20000, PLAIN;
    "ratios-inorder-30" "ratios" InOrder about(30), OnHead, 20000, PLAIN;
    "enter-wide8-45" "enter" Wide8 about(45), AfterHead, 20000, PLAIN;
    "enter-bursty-20-few" "enter" Bursty about(20), AfterHead, 1000, CHAINS;
    "blend-wide4-150" "blend" Wide4 about(150), AfterHead, 20000, PLAIN;
    "blend-shared-45" "blend" Shared about(45), OnHead, 20000, PLAIN;
    "compare-wide4-30" "compare" Wide4 about(30), AfterHead, 20000, PLAIN;
    "compare-wide8-hump" "compare" Wide8 HUMP, AfterHead, 50000, CHAINS;
    "scan-wide6-20" "scan" Wide6 about(20), AfterHead, 20000, PLAIN;
    "scan-wide4-tail" "scan" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "sled-bursty-60" "sled" Bursty about(60), AfterHead, 20000, PLAIN;
    "leaves-wide6-20" "leaves" Wide6 about(20), AfterHead, 20000, PLAIN;
    "counters-bursty-hump-few" "counters" Bursty HUMP, AfterHead, 2000, PLAIN;
    "dot-bursty-tail" "dot" Bursty TAIL, AfterHead, 20000, PLAIN;
    "sorts-wide8-60" "sorts" Wide8 about(60), OnHead, 20000, CHAINS;
    "lex-wide4-lognormal45" "lex" Wide4 lognormal(45.0), AfterHead, 20000, PLAIN;
    "lz-bursty-30" "lz" Bursty about(30), AfterHead, 20000, PLAIN;
    "virt-wide6-20" "virt" Wide6 about(20), AfterHead, 50000, PLAIN;
    "fft-inorder-60" "fft" InOrder about(60), OnHead, 20000, PLAIN;
    "match-shared-90" "match" Shared about(90), AfterHead, 20000, PLAIN;
    "words-wide6-lognormal45" "words" Wide6 lognormal(45.0), AfterHead, 20000, PLAIN;
    "shapes-wide4-60" "shapes" Wide4 about(60), AfterHead, 20000, PLAIN;
    "zlib-wide6-20" "zlib" Wide6 about(20), AfterHead, 20000, PLAIN;
    "lua-wide6-tail" "lua" Wide6 TAIL, AfterHead, 20000, PLAIN;
}

cases! {
    /// Cases of several events that retire, or of others than instructions. Nothing was chosen by them.
    RETIRED:
    "all-machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, ALL;
    "all-arcs-bursty-hump" "arcs" Bursty HUMP, AfterHead, 20000, ALL;
    "all-interp-wide8-hump" "interp" Wide8 HUMP, AfterHead, 20000, ALL;
    "all-trips-wide6-5" "trips" Wide6 about(5), AfterHead, 20000, ALL;
    "all-enter-wide4-60" "enter" Wide4 about(60), OnHead, 20000, ALL;
    "all-scan-wide8-60" "scan" Wide8 about(60), AfterHead, 20000, ALL;
    "all-lex-wide4-45" "lex" Wide4 about(45), AfterHead, 20000, ALL;
    "all-lua-wide4-20" "lua" Wide4 about(20), AfterHead, 20000, ALL;
    "parts-tree-wide4-60" "tree" Wide4 about(60), AfterHead, 20000, PARTS;
    "parts-hash-wide4-lognormal20" "hash" Wide4 lognormal(20.0), AfterHead, 20000, PARTS;
    "parts-sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, PARTS;
    "parts-words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, PARTS;
    "branches-ratios-wide4-20" "ratios" Wide4 about(20), AfterHead, 20000, BRANCHES;
    "branches-blend-wide6-hump" "blend" Wide6 HUMP, AfterHead, 20000, BRANCHES;
    "branches-lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, BRANCHES;
    "branches-zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, BRANCHES;
}

/// The cases of `--quick`: one or two of each kind of core.
pub const QUICK: &[&str] = &[
    "machine-wide4-20",
    "machine-inorder-5",
    "viterbi-wide8-60",
    "arcs-wide6-60",
    "hash-bursty-memory",
    "trips-wide6-5",
    "interp-wide6-20-lbr",
    "tree-bursty-tail",
    "ratios-shared-tail",
    "enter-wide4-60",
];
