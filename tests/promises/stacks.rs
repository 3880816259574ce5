//! Stacks that readers unwind themselves, from the registers and a copy of the stack: `perf record --call-graph dwarf`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

use crate::fixed::Fixed;
use crate::tool::{compile, folder, perf, record, text};

/// Nested calls without frame pointers, each with something to wait for.
const PROGRAM: &str = r#"
#include <stdlib.h>
static volatile unsigned long divisor = 7;
__attribute__((noinline)) unsigned long innermost(unsigned long n) {
    unsigned long sum = 1;
    for (unsigned long i = 0; i < 40; i++) sum = (sum + n) / divisor + i;
    return sum;
}
__attribute__((noinline)) unsigned long inner(unsigned long n) {
    unsigned char spread[200];
    for (int i = 0; i < 200; i++) spread[i] = n + i;
    return innermost(n) + innermost(n + spread[n % 200]) / divisor;
}
__attribute__((noinline)) unsigned long outer(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < 10; i++) sum += inner(n + i) * i;
    return sum;
}
int main(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < atoi(argv[1]); i++) sum += outer(i);
    return sum == 1;
}
"#;

/// A fresh recording with stacks, if perf can record.
fn fixed() -> Option<&'static Fixed> {
    static CACHE: OnceLock<Option<Fixed>> = OnceLock::new();
    let make = || {
        let folder = folder("stacks");
        let program = compile(&folder, "nested", PROGRAM, &["-O2", "-fomit-frame-pointer"]);
        let data = folder.join("stacks.data");
        let args = [
            "--call-graph",
            "dwarf,2048",
            "-e",
            "cpu-clock:u",
            "-c",
            "300007",
            "--",
            text(&program),
            "100000",
        ];
        record(&data, &args)?;
        Some(Fixed::new("stacks", &folder, &data, None, &[]))
    };
    CACHE.get_or_init(make).as_ref()
}

/// Addresses of the frames of every sample as `perf script` unwinds it, innermost first.
fn unwound(path: &Path) -> Vec<Vec<u64>> {
    let ran = perf(&["script", "-f", "-i", text(path), "-F", "time,ip", "--no-inline"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut samples: Vec<Vec<u64>> = vec![];
    for line in ran.out.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match u64::from_str_radix(line, 16) {
            Ok(frame) => samples.last_mut().unwrap().push(frame),
            Err(_) => samples.push(vec![]),
        }
    }
    samples
}

#[test]
fn stacks_stay_unwindable_and_their_callers_the_same() {
    let Some(fixed) = fixed() else { return };
    let (before, after) = (unwound(&fixed.before), unwound(&fixed.after));
    assert_eq!(before.len(), after.len());
    assert!(before.len() > 300, "{} samples", before.len());
    let (mut moved, mut deep) = (0, 0);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.len(), after.len(), "{before:x?} → {after:x?}");
        assert_eq!(before[1..], after[1..], "{before:x?} → {after:x?}");
        moved += usize::from(before[0] != after[0]);
        deep += usize::from(before.len() >= 4);
    }
    assert!(moved * 2 > before.len(), "{moved} of {} moved", before.len());
    assert!(deep * 10 > before.len() * 9, "{deep} of {} reach main", before.len());
}

#[test]
fn the_registers_of_a_moved_sample_say_the_new_address() {
    let Some(fixed) = fixed() else { return };
    let mut seen = HashSet::new();
    crate::fixed::each_record(&fixed.after, |_, _, sample| {
        if let Some(s) = sample {
            assert_eq!(s.user_regs.and_then(|r| r.ip), Some(s.ip));
            assert!(s.has_user_stack);
            seen.insert(s.ip);
        }
    });
    assert!(seen.len() > 1);
}

#[test]
fn only_addresses_differ_in_samples_with_stacks() {
    let Some(fixed) = fixed() else { return };
    crate::kept::assert_only_addresses_differ(fixed);
}
