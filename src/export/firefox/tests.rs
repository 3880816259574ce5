//! Profiles read back through the format's own required fields (version 61: `src/types/profile.ts` of the profiler).

use super::super::testing::*;
use super::super::{CorrectedSample, StackFrame};
use super::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    meta: Meta,
    libs: Vec<Lib>,
    shared: Shared,
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shared {
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    resource_table: ResourceTable,
    native_symbols: NativeSymbols,
    string_array: Vec<String>,
    sources: Sources,
}

#[derive(Deserialize)]
struct Sources {
    length: usize,
    filename: Vec<usize>,
}

#[derive(Deserialize)]
struct Markers {
    length: usize,
    data: Vec<serde_json::Value>,
    name: Vec<usize>,
    category: Vec<usize>,
    phase: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    interval: f64,
    start_time: f64,
    preprocessed_profile_version: u32,
    symbolicated: bool,
    product: String,
    marker_schema: Vec<serde_json::Value>,
    initial_selected_threads: Vec<usize>,
    initial_visible_threads: Vec<usize>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Category {
    name: String,
    color: String,
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
    markers: Markers,
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
    inline_depth: Vec<u32>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
    #[serde(rename = "innerWindowID")]
    window: Vec<Option<u32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    length: usize,
    name: Vec<usize>,
    resource: Vec<i64>,
    source: Vec<Option<usize>>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant: Vec<bool>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
}

#[derive(Deserialize)]
struct ResourceTable {
    length: usize,
    lib: Vec<usize>,
    name: Vec<usize>,
    host: Vec<Option<usize>>,
    r#type: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NativeSymbols {
    length: usize,
    lib_index: Vec<usize>,
    name: Vec<usize>,
    address: Vec<i64>,
    function_size: Vec<Option<u64>>,
}

fn read(samples: &[CorrectedSample<'_>]) -> Read {
    let bytes = export(Box::new(Firefox::new(false)), samples);
    let profile: Read = serde_json::from_slice(&bytes).unwrap();
    assert_tables(&profile);
    profile.threads.iter().for_each(|thread| assert_thread(&profile, thread));
    profile
}

/// Columns are as long as their table says, and every index resolves.
fn assert_tables(profile: &Read) {
    let Shared { stack_table, frame_table: f, func_table, native_symbols: n, .. } = &profile.shared;
    let (resources, sources) = (&profile.shared.resource_table, &profile.shared.sources);
    assert_eq!([stack_table.prefix.len(), stack_table.frame.len()], [stack_table.length; 2]);
    for (index, (prefix, frame)) in stack_table.prefix.iter().zip(&stack_table.frame).enumerate() {
        assert!(prefix.is_none_or(|prefix| prefix < index) && *frame < f.length);
    }
    let lengths =
        [f.address.len(), f.category.len(), f.subcategory.len(), f.func.len(), f.native_symbol.len()];
    assert_eq!(lengths, [f.length; 5]);
    assert_eq!([f.inline_depth.len(), f.line.len(), f.column.len(), f.window.len()], [f.length; 4]);
    for frame in 0..f.length {
        let category = &profile.meta.categories[f.category[frame]];
        assert!(f.subcategory[frame] < category.subcategories.len());
        assert!(f.func[frame] < func_table.length);
        assert!(f.native_symbol[frame].is_none_or(|symbol| symbol < n.length));
    }
    let t = func_table;
    let lengths = [t.name.len(), t.resource.len(), t.source.len(), t.is_js.len(), t.relevant.len()];
    assert_eq!(lengths, [t.length; 5]);
    assert_eq!([t.line_number.len(), t.column_number.len()], [t.length; 2]);
    assert!(t.resource.iter().all(|resource| (-1..resources.length as i64).contains(resource)));
    assert!(t.source.iter().flatten().all(|source| *source < sources.length));
    assert_eq!([resources.lib.len(), resources.name.len(), resources.host.len()], [resources.length; 3]);
    assert!(
        resources.lib.iter().all(|lib| *lib < profile.libs.len()) && resources.r#type.iter().all(|t| *t == 1)
    );
    assert_eq!([n.lib_index.len(), n.name.len(), n.address.len(), n.function_size.len()], [n.length; 4]);
    assert!(n.lib_index.iter().all(|lib| *lib < profile.libs.len()));
    assert_eq!(sources.filename.len(), sources.length);
    let strings = &profile.shared.string_array;
    let mut names = t.name.iter().chain(&n.name).chain(&resources.name).chain(&sources.filename);
    assert!(names.all(|name| *name < strings.len()));
    let distinct: std::collections::HashSet<_> = strings.iter().collect();
    assert_eq!(distinct.len(), strings.len());
    assert!(profile.meta.categories.iter().any(|c| c.color == "grey" && c.subcategories[0] == "Other"));
    let shown = profile.meta.initial_selected_threads.iter().chain(&profile.meta.initial_visible_threads);
    assert!(shown.copied().all(|thread| thread < profile.threads.len()));
}

fn assert_thread(profile: &Read, thread: &Thread) {
    let Thread { samples, markers, .. } = thread;
    let lengths = [samples.weight.len(), samples.stack.len(), samples.time_deltas.len(), samples.cpu.len()];
    assert_eq!(lengths, [samples.length; 4]);
    assert!(samples.stack.iter().flatten().all(|stack| *stack < profile.shared.stack_table.length));
    let lengths = [markers.data.len(), markers.name.len(), markers.category.len(), markers.phase.len()];
    assert_eq!(lengths, [markers.length; 4]);
    let types: Vec<_> = profile.meta.marker_schema.iter().map(|schema| &schema["name"]).collect();
    assert!(markers.data.iter().all(|data| types.contains(&&data["type"])));
    assert!(markers.name.iter().all(|name| *name < profile.shared.string_array.len()));
}

/// A sample's frames, leaf first: category and function.
fn stack(profile: &Read, thread: &Thread, sample: usize) -> Vec<String> {
    let shared = &profile.shared;
    let frame = |stack: usize| {
        let frame = shared.stack_table.frame[stack];
        let name = shared.func_table.name[shared.frame_table.func[frame]];
        let category = &profile.meta.categories[shared.frame_table.category[frame]].name;
        format!("{category} {}", shared.string_array[name])
    };
    let stacks = std::iter::successors(thread.samples.stack[sample], |s| shared.stack_table.prefix[*s]);
    stacks.map(frame).collect()
}

#[test]
fn stacks_are_named_and_categorised() {
    let frames =
        [leaf(KERNEL, 0xffff_ffff_8100_0010), caller(PROG, 0x1200), caller(LIBC, 0x30), unmapped(0x77)];
    let profile = read(&[sample(0, 5, &frames)]);
    assert_eq!(profile.meta.preprocessed_profile_version, 61);
    assert!(profile.meta.symbolicated && profile.meta.interval > 0.0 && profile.meta.start_time == 5000.5);
    let expected = ["Kernel schedule", "User helper(int)", "Library 0x2f", "User 0x77"];
    assert_eq!(stack(&profile, &profile.threads[0], 0), expected);
    assert_eq!(profile.shared.frame_table.address.iter().max(), Some(&0x11ff), "inside the call");
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
    let expected =
        [("my prog (cycles:u)", "7", 1), ("my prog (cycles:u)", "7", 2), ("my prog (cpu-clock)", "7", 1)];
    assert_eq!(tracks, expected);
    assert!(profile.threads.iter().all(|t| !t.is_main_thread && t.process_name == "my prog"));
    assert_eq!(profile.meta.product, "my prog (cycles:u)");
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

#[test]
fn inlined_functions_are_frames_of_their_own_with_their_lines() {
    let profile = read(&[sample(0, 5, &[leaf(PROG, 0x1030), caller(PROG, 0x1110)])]);
    assert_eq!(
        stack(&profile, &profile.threads[0], 0),
        ["User square(int)", "User main", "User helper(int)"]
    );
    let frames = &profile.shared.frame_table;
    let told: Vec<_> = (0..frames.length).map(|f| (frames.inline_depth[f], frames.line[f])).collect();
    assert_eq!(told, [(0, Some(20)), (0, Some(11)), (1, Some(3))]);
    let file = profile.shared.string_array[profile.shared.sources.filename[0]].as_str();
    assert_eq!((file, profile.shared.sources.length), ("prog.c", 1));
}

#[test]
fn what_correction_changed_is_taken_away_and_added() {
    let (before, after) = ([leaf(PROG, 0x1110)], [leaf(PROG, 0x1000)]);
    let moved = CorrectedSample { recorded: &before, moved: true, ..sample(0, 5, &after) };
    let bytes = export(Box::new(Firefox::difference(false)), &[moved, sample(0, 7, &before)]);
    let profile: Read = serde_json::from_slice(&bytes).unwrap();
    assert_tables(&profile);
    let told = |thread: &Thread| -> Vec<_> {
        (0..2).map(|n| (thread.samples.weight[n], stack(&profile, thread, n).remove(0))).collect()
    };
    let (helper, main) = (|| "User helper(int)".to_owned(), || "User main".to_owned());
    let [before, after, change] = &profile.threads[..] else { panic!("{} tracks", profile.threads.len()) };
    assert_eq!(told(before), [(5, helper()), (7, helper())]);
    assert_eq!(told(after), [(5, main()), (7, helper())]);
    assert_eq!(told(change), [(-5, helper()), (5, main())]);
    assert_eq!(change.samples.length, 2, "what stayed is no change");
}

#[test]
fn a_rejected_model_is_marked_on_the_heaviest_track_of_its_event() {
    let frames = [leaf(PROG, 0x1000)];
    let one = sample(0, 5, &frames);
    let profile = read(&[one, CorrectedSample { tid: 7, ..one }, one, sample(1, 9, &frames)]);
    let marked: Vec<_> = profile.threads.iter().filter(|t| t.markers.length > 0).collect();
    assert_eq!((marked.len(), &marked[0].tid[..], &marked[0].name[..]), (1, "8", "my prog (cycles:u)"));
    assert_eq!(marked[0].markers.length, 1, "none where no model is tried");
    let data = &marked[0].markers.data[0];
    assert_eq!((&data["functions"], &data["answer"]), (&"main".into(), &"flow".into()));
}
