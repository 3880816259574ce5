//! Cases of IA-32: the programs of `--unoptimized`, compiled as position-independent code of 32 bits, on the cores and with the skids that they
//! have there. Nothing was chosen by them but that two loads of one line come together.

use super::grid::{CHAINS, Case, HUMP, MISSES, PLAIN, With, about};
use crate::core::Model;
use crate::interrupt::Lands::{AfterHead, OnHead};

cases! {
    /// See the module.
    IA32:
    "machine-m32-wide4-20" "machine-m32" Wide4 about(20), AfterHead, 20000, CHAINS;
    "viterbi-m32-wide8-60" "viterbi-m32" Wide8 about(60), OnHead, 20000, PLAIN;
    "arcs-m32-wide6-60" "arcs-m32" Wide6 about(60), AfterHead, 20000, With { misses: true, ..CHAINS };
    "sparse-m32-wide8-20" "sparse-m32" Wide8 about(20), AfterHead, 20000, PLAIN;
    "trips-m32-wide6-5" "trips-m32" Wide6 about(5), AfterHead, 20000, PLAIN;
    "interp-m32-wide8-hump" "interp-m32" Wide8 HUMP, AfterHead, 20000, PLAIN;
    "tree-m32-wide4-60" "tree-m32" Wide4 about(60), AfterHead, 20000, CHAINS;
    "bisect-m32-wide6-20" "bisect-m32" Wide6 about(20), AfterHead, 20000, MISSES;
    "ratios-m32-wide4-20" "ratios-m32" Wide4 about(20), AfterHead, 20000, PLAIN;
    "enter-m32-wide4-60" "enter-m32" Wide4 about(60), OnHead, 20000, PLAIN;
    "blend-m32-wide6-hump" "blend-m32" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "compare-m32-wide6-60" "compare-m32" Wide6 about(60), AfterHead, 20000, CHAINS;
    "scan-m32-wide8-60" "scan-m32" Wide8 about(60), AfterHead, 20000, PLAIN;
    "sled-m32-wide4-45" "sled-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "counters-m32-wide4-45" "counters-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "dot-m32-wide4-45" "dot-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sorts-m32-wide4-45" "sorts-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lex-m32-wide4-45" "lex-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lz-m32-wide4-45" "lz-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "virt-m32-wide4-45" "virt-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "fft-m32-wide4-45" "fft-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
    "match-m32-wide4-45" "match-m32" Wide4 about(45), AfterHead, 20000, PLAIN;
}
