//! Stacks of `perf record --call-graph dwarf`: all formats have the callers that `perf script` unwinds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;

use super::tool::{compile, folder, perf, record, skidconv, text};

/// Calls without frame pointers, from a sorting library function and from a signal's handler as well.
const PROGRAM: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile double sink;
__attribute__((noinline)) double burn(int n) {
    double sum = 0;
    for (int i = 1; i < n; i++) sum += (double)i / (sum + 1);
    return sum;
}
__attribute__((noinline)) void handler(int signal) { sink += burn(300000); }
__attribute__((noinline)) int compare(const void *a, const void *b) {
    return *(const int *)a / 3 - *(const int *)b / 3;
}
__attribute__((noinline)) void sorts(int n) {
    int *values = malloc(n * sizeof *values);
    for (int i = 0; i < n; i++) values[i] = rand() % 1000;
    qsort(values, n, sizeof *values, compare);
    free(values);
}
int main(void) {
    struct itimerval every = {{0, 2000}, {0, 2000}};
    signal(SIGPROF, handler);
    setitimer(ITIMER_PROF, &every, 0);
    for (int i = 0; i < 100; i++) sorts(20000);
    return 0;
}
"#;

/// The folder of a fresh recording, if perf can record.
fn recorded() -> Option<&'static PathBuf> {
    static CACHE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let folder = folder("unwound");
        let program = compile(&folder, "signals", PROGRAM, &["-O2", "-fomit-frame-pointer"]);
        let stacks = ["--call-graph", "dwarf,4096", "-e", "cpu-clock:u", "-c", "500007"];
        record(&folder.join("perf.data"), &[&stacks[..], &["--", text(&program)]].concat())?;
        Some(folder)
    };
    CACHE.get_or_init(make).as_ref()
}

/// Weights of stacks, outermost frame first, of those that reach `main`; from there on.
type Stacks = BTreeMap<Vec<String>, u64>;

fn noted(stacks: &mut Stacks, names: impl Iterator<Item = String>, weight: u64) {
    // what has no name in perf has one here, of its own making
    let names = names.map(|name| if name.starts_with("fun_") { "[unknown]".into() } else { name });
    let names: Vec<String> = names.skip_while(|name| name != "main").collect();
    if !names.is_empty() {
        *stacks.entry(names).or_default() += weight;
    }
}

fn of_perf(path: &str) -> Stacks {
    let ran = perf(&["script", "-f", "-i", path, "-F", "ip,sym", "--no-inline"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut stacks = Stacks::new();
    for sample in ran.out.split("\n\n") {
        let frames: Vec<&str> =
            sample.lines().filter_map(|line| line.trim().split_once(' ')).map(|f| f.1).collect();
        let plain = |name: &&str| name.split('@').next().unwrap().to_owned();
        noted(&mut stacks, frames.iter().rev().map(plain), 500_007);
    }
    stacks
}

fn of_folded(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    for (stack, weight) in text.lines().map(|line| line.rsplit_once(' ').unwrap()) {
        noted(&mut stacks, stack.split(';').map(str::to_owned), weight.parse().unwrap());
    }
    stacks
}

fn sum(stacks: &Stacks) -> u64 {
    stacks.values().sum()
}

/// Nineteen in twenty of what `perf script` unwinds of a recording are among `ours`.
fn assert_unwound(ours: &Stacks, path: &str) {
    let perf = of_perf(path);
    let common: u64 = perf.iter().map(|(stack, &n)| n.min(ours.get(stack).copied().unwrap_or(0))).sum();
    assert!(common * 100 >= sum(&perf) * 95, "{common} of {}: {perf:#?} {ours:#?}", sum(&perf));
    assert!(sum(ours) >= common, "of {}", sum(ours));
}

#[test]
fn folded_stacks_are_those_that_perf_unwinds_signals_included() {
    let Some(folder) = recorded() else { return };
    let ran = skidconv(folder, &["convert", "perf.data", "--folded", "stacks.folded"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let ours = of_folded(&std::fs::read_to_string(folder.join("stacks.folded")).unwrap());
    assert_unwound(&ours, text(&folder.join("perf.data")));
    let within =
        |name: &str| ours.iter().filter(|(s, _)| s.iter().any(|f| f == name)).map(|(_, n)| n).sum::<u64>();
    assert!(within("handler") * 20 > sum(&ours) && within("compare") * 20 > sum(&ours));
    assert!(ours.keys().any(|s| s.ends_with(&["[unknown]".into(), "handler".into(), "burn".into()])));
}

#[test]
fn a_corrected_sample_keeps_the_callers_that_its_stack_shows() {
    let Some(folder) = recorded() else { return };
    let args =
        ["fix", "perf.data", "-o", "fixed.data", "--folded", "fixed.folded", "--firefox", "fixed.json"];
    let ran = skidconv(folder, &args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let ours = of_folded(&std::fs::read_to_string(folder.join("fixed.folded")).unwrap());
    assert_unwound(&ours, text(&folder.join("fixed.data")));
    let profile: Value = serde_json::from_slice(&std::fs::read(folder.join("fixed.json")).unwrap()).unwrap();
    let stacks = &profile["shared"]["stackTable"]["prefix"];
    assert!(stacks.as_array().unwrap().iter().filter(|prefix| !prefix.is_null()).count() > 10);
}
