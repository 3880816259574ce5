//! Calls whose target the code alone does not tell are linked by the binaries and by who was seen to call.

use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SegmentFlags};
use skidconv::code::{Flow, Place, Program};
use skidconv::image::SearchPath;
use skidconv::pipeline::linking::link;
use skidconv::pipeline::survey::Survey;
use skidconv::progress::Silent;
use skidconv::skid::hot::Scope;

use crate::recording::{Recording, USER, open};
use crate::tool::{compile, folder, text};

/// Where a position-independent program is mapped; others are where they ask to be.
const BASE: u64 = 0x5555_0000_0000;

/// A compiled file, and where it is mapped.
struct Loaded {
    bytes: Vec<u8>,
    path: std::path::PathBuf,
    base: u64,
}

impl Loaded {
    fn of(path: &Path, base: u64) -> Loaded {
        Loaded { bytes: std::fs::read(path).unwrap(), path: path.into(), base }
    }

    fn symbol(&self, name: &str) -> u64 {
        let file = object::File::parse(&*self.bytes).unwrap();
        file.symbols().find(|s| s.name() == Ok(name)).unwrap_or_else(|| panic!("no {name}")).address()
    }

    /// Mappings of what holds code.
    fn mappings(&self, recording: &Recording) -> Vec<Vec<u8>> {
        let file = object::File::parse(&*self.bytes).unwrap();
        let runs = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & 1 != 0);
        let code = file.segments().filter(|s| runs(s.flags()));
        code.map(|s| {
            let (skip, (offset, _)) = (s.address() % 4096, s.file_range());
            recording.mmap(&self.path, self.base + s.address() - skip, s.size() + skip, offset - skip)
        })
        .collect()
    }

    /// The address behind the call of `callee` in `caller`.
    fn behind(&self, program: &Program, caller: &str, callee: &str) -> u64 {
        let at = Place { space: 0, address: self.symbol(caller) };
        let insts = &program.functions[program.function_at(at).unwrap()].1.insts;
        insts.iter().find(|i| i.flow == Flow::Call(self.symbol(callee))).unwrap().end()
    }
}

/// What a recording of samples (address, callers) in these files is linked to.
fn linked(files: &[&Loaded], samples: &[(u64, Vec<u64>)]) -> Program {
    let mut recording = Recording { events: vec![vec![7]], ..Recording::default() };
    recording.records = files.iter().flat_map(|f| f.mappings(&recording)).collect();
    for (n, (ip, callers)) in samples.iter().enumerate() {
        let chain = [&[USER, *ip], &callers[..]].concat();
        recording.records.push(recording.sample(7, *ip, 2 + n as u64, &chain));
    }
    let file = open(&recording.file());
    let survey = Survey::take(&file, SearchPath::system(vec![]), 1, &Silent, |_, _| {}).unwrap();
    link(&survey, Scope::Noticeable, &|_| true, &Silent)
}

/// The functions that calls and tail calls of the function at `from` may enter, by start.
fn targets(program: &Program, from: Place) -> Vec<u64> {
    let caller = program.function_at(from).unwrap();
    let calls = program.calls.iter().filter(|c| c.caller == caller);
    calls.flat_map(|c| &c.targets).map(|t| program.functions[t.function].1.range.start).collect()
}

#[test]
fn a_stub_leads_to_what_its_resolver_chose() {
    let source = r#"
__attribute__((noinline)) static int small(int n) { return n * 3; }
__attribute__((noinline)) static int large(int n) { return n * 5 + 1; }
volatile int which;
static void *choose(void) { return which ? (void *)small : (void *)large; }
int chosen(int n) __attribute__((ifunc("choose")));
void _start(void) { int n = 1; for (;;) n = chosen(n); }
"#;
    for (name, args) in
        [("fixed", ["-static", "-no-pie", "-fno-pie"]), ("moved", ["-pie", "-fPIE", "-Wl,-z,now"])]
    {
        let args = [&["-nostdlib", "-O1"], &args[..]].concat();
        let program = compile(&folder(&format!("linked_ifunc_{name}")), "program", source, &args);
        let file = Loaded::of(&program, if name == "fixed" { 0 } else { BASE });
        let at = |symbol: &str| (file.base + file.symbol(symbol), vec![]);
        let program = linked(&[&file], &["large", "large", "_start"].map(at));
        let start = Place { space: 0, address: file.symbol("_start") };
        let stubs = targets(&program, start);
        assert_eq!(stubs.len(), 1, "{name}");
        let led = if stubs[0] == file.symbol("large") {
            stubs
        } else {
            targets(&program, Place { space: 0, address: stubs[0] })
        };
        assert_eq!(led, [file.symbol("large")], "{name}");
    }
}

#[test]
fn a_call_through_the_global_offset_table_enters_the_library() {
    let plain = "int work(int n) { return n * 3; }";
    let chosen = r#"
static int quick(int n) { return n * 3; }
static void *choose(void) { return quick; }
int work(int n) __attribute__((ifunc("choose")));
"#;
    let source = "int work(int); void _start(void) { int n = 1; for (;;) n = work(n); }";
    for (name, library, entered) in [("linked_got", plain, "work"), ("linked_got_chosen", chosen, "quick")] {
        let folder = folder(name);
        let library = compile(&folder, "libwork.so", library, &["-shared", "-fPIC", "-O1"]);
        let args = ["-nostdlib", "-O1", "-fno-plt", "-fPIE", "-pie", "-Wl,--no-as-needed", text(&library)];
        let program = compile(&folder, "program", source, &args);
        let (program, library) = (Loaded::of(&program, BASE), Loaded::of(&library, BASE + 0x1000_0000));
        let at = |file: &Loaded, symbol: &str| (file.base + file.symbol(symbol), vec![]);
        let linked = linked(&[&program, &library], &[at(&program, "_start"), at(&library, entered)]);
        let call = linked.calls.iter().find(|c| !c.targets.is_empty()).expect("a call that is linked");
        let caller = &linked.functions[call.caller].1;
        assert_eq!(caller.range.start, program.symbol("_start"), "{name}");
        assert!(matches!(caller.insts[call.inst].flow, Flow::IndirectCall { .. }), "{name}");
        let target = &linked.functions[call.targets[0].function].1;
        assert_eq!(target.range.start, library.symbol(entered), "{name}");
    }
}

/// A function that calls what it is given, and one that calls nothing unknown.
const CALLBACK: &str = r#"
__attribute__((noinline)) static int leaf(int n) { return n * 3; }
__attribute__((noinline)) static int other(int n) { return n * 5; }
int (*volatile given)(int) = leaf;
int (*volatile too)(int) = other;
__attribute__((noinline)) static int framed(int (*f)(int), int n) { int s = 0; while (n--) s += f(n); return s; }
__attribute__((noinline)) static int plain(int n) { int s = 0; while (n--) s ^= s * 5 + n; return s; }
void _start(void) { volatile int n = 9; for (;;) n = framed(given, n) + plain(n) + (n > 77 ? too(n) : 0); }
"#;

#[test]
fn the_caller_that_a_chain_skipped_is_below_the_call_it_names() {
    let args = ["-nostdlib", "-O1", "-static", "-no-pie", "-fno-pie", "-fcf-protection=none"];
    let file = Loaded::of(&compile(&folder("linked_callback"), "program", CALLBACK, &args), 0);
    let at = |symbol: &str| (file.symbol(symbol), vec![]);
    let bare = linked(&[&file], &["leaf", "framed", "plain", "_start"].map(at));
    let [framed, plain] = ["framed", "plain"].map(|callee| file.behind(&bare, "_start", callee));
    let chained = |symbol: &str, callers: &[u64]| (file.symbol(symbol), callers.to_vec());
    let place = |symbol: &str| Place { space: 0, address: file.symbol(symbol) };

    let own = [chained("framed", &[framed]), chained("plain", &[plain]), chained("_start", &[])];
    let skipped = linked(&[&file], &[&own[..], &[chained("leaf", &[framed])]].concat());
    assert_eq!(targets(&skipped, place("framed")), [file.symbol("leaf")]);
    let leaf = skipped.function_at(place("leaf")).unwrap();
    assert!(!skipped.hidden.contains(&leaf));
    let seen = skipped.calls.iter().flat_map(|c| &c.targets).find(|t| t.function == leaf).unwrap().seen;
    assert_eq!(seen, 1);

    // below `plain` nothing calls what is not known
    let hidden = linked(&[&file], &[&own[..], &[chained("leaf", &[plain])]].concat());
    let leaf = hidden.function_at(place("leaf")).unwrap();
    assert!(hidden.hidden.contains(&leaf) && targets(&hidden, place("framed")).is_empty());
}

#[test]
fn samples_below_a_skipped_caller_are_those_of_all_its_calls() {
    let source = r#"
__attribute__((noinline)) static int tiny(int n) { return n * 3; }
__attribute__((noinline)) static int one(int n) { return tiny(n) + 1; }
__attribute__((noinline)) static int two(int n) { return tiny(n) - tiny(n + 1); }
void _start(void) { volatile int n = 9; for (;;) n = one(n) + two(n); }
"#;
    let args = ["-nostdlib", "-O1", "-static", "-no-pie", "-fno-pie", "-fcf-protection=none"];
    let file = Loaded::of(&compile(&folder("linked_skipped"), "program", source, &args), 0);
    let bare = linked(&[&file], &["tiny", "one", "two", "_start"].map(|name| (file.symbol(name), vec![])));
    let [one, two] = ["one", "two"].map(|callee| file.behind(&bare, "_start", callee));
    let tiny = |back: u64| (file.symbol("tiny"), vec![back]);
    let own = [("one", one), ("two", two)].map(|(name, back)| (file.symbol(name), vec![back]));
    let program = linked(&[&file], &[&own[..], &[tiny(one), tiny(two), tiny(two)]].concat());
    let function = |name: &str| program.function_at(Place { space: 0, address: file.symbol(name) }).unwrap();
    let pair = |caller: &str| (function(caller), function("tiny"));
    assert_eq!(program.skipped, [(pair("one"), 1), (pair("two"), 2)].into_iter().collect());
    assert!(!program.hidden.contains(&function("tiny")));
}
