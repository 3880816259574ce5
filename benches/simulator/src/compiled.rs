//! Cases of programs that are compiled otherwise than their sources say, each with its core and skid.

use crate::core::Model;
use crate::grid::{CHAINS, Case, HUMP, MISSES, PLAIN, TAIL, With, about, cases, lognormal};
use crate::interrupt::Lands::{AfterHead, OnHead};

/// The same programs, cores and skids for each way to compile.
macro_rules! compiled {
    ($($program:literal $core:literal $model:ident $skid:expr, $lands:expr, $samples:literal, $with:expr;)*) => {
        /// Cases of code that is not optimized, of which nothing was chosen.
        pub const UNOPTIMIZED: &[Case] =
            &[$(compiled!(@ "-O0" $program $core $model $skid, $lands, $samples, $with)),*];
        /// Cases of position-independent code of IA-32. Nothing was chosen by them but that two loads of one line come together.
        pub const IA32: &[Case] =
            &[$(compiled!(@ "-m32" $program $core $model $skid, $lands, $samples, $with)),*];
    };
    (@ $variant:literal $program:literal $core:literal $model:ident $skid:expr, $lands:expr, $samples:literal, $with:expr) => {
        Case {
            name: concat!($program, $variant, "-", $core), program: concat!($program, $variant),
            model: Model::$model, skid: $skid, lands: $lands, samples: $samples, with: $with,
        }
    };
}

compiled! {
    "machine" "wide4-20" Wide4 about(20), AfterHead, 20000, CHAINS;
    "viterbi" "wide8-60" Wide8 about(60), OnHead, 20000, PLAIN;
    "arcs" "wide6-60" Wide6 about(60), AfterHead, 20000, With { misses: true, ..CHAINS };
    "hash" "wide4-lognormal20" Wide4 lognormal(20.0), AfterHead, 20000, CHAINS;
    "sparse" "wide8-20" Wide8 about(20), AfterHead, 20000, PLAIN;
    "trips" "wide6-5" Wide6 about(5), AfterHead, 20000, PLAIN;
    "interp" "wide8-hump" Wide8 HUMP, AfterHead, 20000, PLAIN;
    "tree" "wide4-60" Wide4 about(60), AfterHead, 20000, CHAINS;
    "bisect" "wide6-20" Wide6 about(20), AfterHead, 20000, MISSES;
    "ratios" "wide4-20" Wide4 about(20), AfterHead, 20000, PLAIN;
    "enter" "wide4-60" Wide4 about(60), OnHead, 20000, PLAIN;
    "blend" "wide6-hump" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "compare" "wide6-60" Wide6 about(60), AfterHead, 20000, CHAINS;
    "scan" "wide8-60" Wide8 about(60), AfterHead, 20000, PLAIN;
    "sled" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "counters" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "dot" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sorts" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lex" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lz" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "virt" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "fft" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
    "match" "wide4-45" Wide4 about(45), AfterHead, 20000, PLAIN;
}

cases! {
    /// Cases of programs that are linked with shared libraries, as Debian's compiler does unless it is told otherwise, and of these
    /// libraries. Nothing was chosen by them.
    LINKED:
    "words-so-wide4-45" "words-so" Wide4 about(45), AfterHead, 20000, PLAIN;
    "shapes-so-wide6-20" "shapes-so" Wide6 about(20), AfterHead, 20000, PLAIN;
    "parse-so-wide4-60" "parse-so" Wide4 about(60), AfterHead, 20000, CHAINS;
    "graph-so-wide4-tail" "graph-so" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "regexes-so-wide6-hump" "regexes-so" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "compare-so-wide6-60" "compare-so" Wide6 about(60), AfterHead, 20000, CHAINS;
    "lex-so-wide4-45" "lex-so" Wide4 about(45), AfterHead, 20000, PLAIN;
    "interp-so-wide8-hump" "interp-so" Wide8 HUMP, AfterHead, 20000, PLAIN;
    "match-so-wide6-lognormal30" "match-so" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "virt-so-inorder-15" "virt-so" InOrder about(15), OnHead, 8000, PLAIN;
    "sqlite-so-wide6-hump" "sqlite-so" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "lua-so-wide4-20" "lua-so" Wide4 about(20), AfterHead, 20000, PLAIN;
    "zlib-so-wide4-60" "zlib-so" Wide4 about(60), AfterHead, 20000, PLAIN;
    "zstd-so-wide6-lognormal30" "zstd-so" Wide6 lognormal(30.0), AfterHead, 20000, PLAIN;
    "expat-so-wide8-20" "expat-so" Wide8 about(20), OnHead, 20000, PLAIN;
    "pcre2-so-wide4-45" "pcre2-so" Wide4 about(45), AfterHead, 20000, PLAIN;
    "jansson-so-wide4-60" "jansson-so" Wide4 about(60), AfterHead, 20000, CHAINS;
    "jpeg-so-inorder-15" "jpeg-so" InOrder about(15), OnHead, 8000, PLAIN;
    "gsl-so-wide6-60" "gsl-so" Wide6 about(60), AfterHead, 20000, PLAIN;
    "svm-so-shared-150" "svm-so" Shared about(150), AfterHead, 5000, PLAIN;
}
