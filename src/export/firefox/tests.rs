//! Profiles read back through the format's own required fields (version 55: `src/types/profile.ts` of the profiler).

use super::super::testing::*;
use super::super::{CorrectedSample, StackFrame};
use super::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    meta: Meta,
    libs: Vec<Lib>,
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    interval: f64,
    start_time: f64,
    preprocessed_profile_version: u32,
    symbolicated: bool,
    product: String,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Category {
    name: String,
    subcategories: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lib {
    path: String,
    breakpad_id: String,
    code_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    name: String,
    process_name: String,
    pid: String,
    tid: String,
    is_main_thread: bool,
    register_time: f64,
    samples: Samples,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    resource_table: ResourceTable,
    native_symbols: NativeSymbols,
    string_array: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Samples {
    length: usize,
    weight_type: String,
    weight: Vec<i64>,
    stack: Vec<Option<usize>>,
    time_deltas: Vec<f64>,
    #[serde(rename = "threadCPUDelta")]
    cpu: Vec<f64>,
}

#[derive(Deserialize)]
struct StackTable {
    length: usize,
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    length: usize,
    address: Vec<i64>,
    category: Vec<usize>,
    subcategory: Vec<usize>,
    func: Vec<usize>,
    native_symbol: Vec<Option<usize>>,
}

#[derive(Deserialize)]
struct FuncTable {
    length: usize,
    name: Vec<usize>,
    resource: Vec<i64>,
}

#[derive(Deserialize)]
struct ResourceTable {
    length: usize,
    lib: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeSymbols {
    length: usize,
    lib_index: Vec<usize>,
    name: Vec<usize>,
}

fn read(samples: &[CorrectedSample<'_>]) -> Read {
    let bytes = export(Box::new(Firefox::new(false)), samples);
    let profile: Read = serde_json::from_slice(&bytes).unwrap();
    profile.threads.iter().for_each(|thread| assert_valid(&profile, thread));
    profile
}

/// Columns are as long as their table says, and every index resolves.
fn assert_valid(profile: &Read, thread: &Thread) {
    let Thread { samples, stack_table, frame_table, func_table, native_symbols, .. } = thread;
    let lengths = [samples.weight.len(), samples.stack.len(), samples.time_deltas.len(), samples.cpu.len()];
    assert_eq!(lengths, [samples.length; 4]);
    assert!(samples.stack.iter().flatten().all(|stack| *stack < stack_table.length));
    for (index, (prefix, frame)) in stack_table.prefix.iter().zip(&stack_table.frame).enumerate() {
        assert!(prefix.is_none_or(|prefix| prefix < index) && *frame < frame_table.length);
    }
    for frame in 0..frame_table.length {
        let category = &profile.meta.categories[frame_table.category[frame]];
        assert!(frame_table.subcategory[frame] < category.subcategories.len());
        assert!(frame_table.func[frame] < func_table.length);
        assert!(frame_table.native_symbol[frame].is_none_or(|symbol| symbol < native_symbols.length));
    }
    assert!(func_table.resource.iter().all(|resource| *resource < thread.resource_table.length as i64));
    assert!(thread.resource_table.lib.iter().all(|lib| *lib < profile.libs.len()));
    assert!(native_symbols.lib_index.iter().all(|lib| *lib < profile.libs.len()));
    let mut names = func_table.name.iter().chain(&native_symbols.name);
    assert!(names.all(|name| *name < thread.string_array.len()));
}

/// A sample's frames, leaf first: category and function.
fn stack(profile: &Read, thread: &Thread, sample: usize) -> Vec<String> {
    let frame = |stack: usize| {
        let frame = thread.stack_table.frame[stack];
        let name = thread.func_table.name[thread.frame_table.func[frame]];
        let category = &profile.meta.categories[thread.frame_table.category[frame]].name;
        format!("{category} {}", thread.string_array[name])
    };
    let stacks = std::iter::successors(thread.samples.stack[sample], |s| thread.stack_table.prefix[*s]);
    stacks.map(frame).collect()
}

#[test]
fn stacks_are_named_and_categorised() {
    let frames =
        [leaf(KERNEL, 0xffff_ffff_8100_0010), caller(PROG, 0x1200), caller(LIBC, 0x30), unmapped(0x77)];
    let profile = read(&[sample(0, 5, &frames)]);
    assert_eq!(profile.meta.preprocessed_profile_version, 55);
    assert!(profile.meta.symbolicated && profile.meta.interval > 0.0 && profile.meta.start_time == 5000.5);
    let expected = ["Kernel schedule", "User helper(int)", "User 0x2f", "User 0x77"];
    assert_eq!(stack(&profile, &profile.threads[0], 0), expected);
    assert_eq!(profile.threads[0].frame_table.address.iter().max(), Some(&0x11ff), "inside the call");
}

#[test]
fn libraries_carry_their_build_ids() {
    let profile = read(&[sample(0, 5, &[leaf(PROG, 0x1000)])]);
    let lib = &profile.libs[0];
    assert_eq!(lib.path, "/usr/bin/prog");
    assert_eq!(lib.code_id.as_deref(), Some("000102030405060708090a0b0c0d0e0f10111213"));
    assert_eq!(lib.breakpad_id, "030201000504070608090A0B0C0D0E0F0");
}

#[test]
fn each_thread_and_event_has_its_track() {
    let frames = [leaf(PROG, 0x1000)];
    let one = sample(0, 5, &frames);
    let profile = read(&[one, sample(1, 1000, &frames), CorrectedSample { tid: 7, ..one }, one]);
    let tracks: Vec<_> =
        profile.threads.iter().map(|t| (&t.name[..], &t.pid[..], t.samples.length)).collect();
    let expected = [
        ("my prog (cpu-clock ×1000)", "7", 1),
        ("my prog (cycles:u ×5)", "7", 1),
        ("my prog (cycles:u ×5)", "7", 2),
    ];
    assert_eq!(tracks, expected);
    assert!(profile.threads.iter().all(|t| !t.is_main_thread && t.process_name == "my prog"));
    assert_eq!(profile.meta.product, "my prog (cycles:u ×5)");
}

#[test]
fn a_lone_event_is_named_by_the_process_which_shows_its_main_thread() {
    let frames = [leaf(PROG, 0x1000)];
    let worker = sample(0, 5, &frames);
    let profile = read(&[worker, CorrectedSample { tid: 7, comm: Some("prog"), weight: 6, ..worker }]);
    let names: Vec<_> = profile.threads.iter().map(|t| (&t.name[..], &t.tid[..], t.is_main_thread)).collect();
    assert_eq!(names, [("prog (cycles:u)", "7", true), ("my prog (cycles:u)", "8", false)]);
    assert_eq!(profile.threads[1].process_name, "prog (cycles:u)");
}

#[test]
fn samples_are_in_time_order_with_their_own_weights() {
    let frames = [leaf(PROG, 0x1000)];
    let at = |ms: u64, weight| CorrectedSample {
        time: Some(50_000_000 + ms * 1_000_000),
        ..sample(0, weight, &frames)
    };
    let profile = read(&[at(1, 10), at(0, 7), at(2, 30), at(100, 1)]);
    let samples = &profile.threads[0].samples;
    assert_eq!((&samples.weight[..], &samples.weight_type[..]), (&[7, 10, 30, 1][..], "samples"));
    assert_eq!(samples.time_deltas, [0.0, 1.0, 1.0, 98.0]);
    assert_eq!(samples.cpu, [0.0, 1000.0, 1000.0, 2000.0], "two intervals of a long gap");
    assert_eq!((profile.meta.interval, profile.threads[0].register_time), (1.0, 0.0));
}

#[test]
fn samples_without_a_time_keep_their_order() {
    let frames = [leaf(PROG, 0x1000)];
    let timeless = |weight| CorrectedSample { time: None, ..sample(0, weight, &frames) };
    let profile = read(&[timeless(3), timeless(1), timeless(2)]);
    assert_eq!(profile.threads[0].samples.weight, [3, 1, 2]);
    assert_eq!(profile.threads[0].samples.time_deltas, [0.0, 1.0, 1.0]);
}

#[test]
fn recursion_and_unknown_threads_are_no_trouble() {
    let frames = vec![caller(PROG, 0x1010); 3000];
    let unknown = CorrectedSample { pid: -1, tid: -1, comm: None, ..sample(0, 1, &frames) };
    let profile = read(&[unknown, CorrectedSample { stack: &[], ..unknown }]);
    assert_eq!(stack(&profile, &profile.threads[0], 0).len(), 3000);
    assert_eq!(profile.threads[0].samples.stack[1], None);
}

#[test]
fn gzip_holds_the_same_json() {
    let frames = [leaf(PROG, 0x1000)];
    let samples = [sample(0, 5, &frames)];
    let plain = export(Box::new(Firefox::new(false)), &samples);
    let gzipped = export(Box::new(Firefox::new(true)), &samples);
    let mut unzipped = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&gzipped[..]), &mut unzipped).unwrap();
    assert_eq!(plain, unzipped);
}

#[test]
fn a_place_too_far_from_its_library_is_still_shown() {
    let far = StackFrame { address: 0xabc, ..leaf(PROG, 1 << 40) };
    let profile = read(&[sample(0, 5, &[far])]);
    assert_eq!(stack(&profile, &profile.threads[0], 0), ["User 0x10000000000"]);
}
