//! The processed profile format, version 61 (`src/types/profile.ts` of the profiler): tables of columns, shared by all
//! threads, and per thread its samples and markers.

use serde::Serialize;

/// Later versions of the front end upgrade from here.
pub(super) const VERSION: u32 = 61;

#[derive(Serialize)]
pub(super) struct Profile {
    pub meta: Meta,
    pub libs: Vec<Lib>,
    pub shared: Shared,
    pub threads: Vec<Thread>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    /// Milliseconds.
    pub interval: f64,
    /// Milliseconds since 1970.
    pub start_time: f64,
    pub process_type: u32,
    pub categories: Vec<Category>,
    pub product: String,
    pub stackwalk: u32,
    pub debug: bool,
    pub version: u32,
    pub preprocessed_profile_version: u32,
    pub oscpu: String,
    pub symbolicated: bool,
    pub symbolication_not_supported: bool,
    pub marker_schema: Vec<MarkerSchema>,
    pub sample_units: SampleUnits,
    pub imported_from: String,
    pub uses_only_one_stack_type: bool,
    pub source_code_is_not_on_searchfox: bool,
    pub initial_visible_threads: Vec<usize>,
    pub initial_selected_threads: Vec<usize>,
}

#[derive(Serialize)]
pub(super) struct Category {
    pub name: &'static str,
    pub color: &'static str,
    pub subcategories: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MarkerSchema {
    pub name: &'static str,
    pub tooltip_label: &'static str,
    pub table_label: &'static str,
    pub chart_label: &'static str,
    pub display: [&'static str; 2],
    pub fields: Vec<MarkerField>,
    pub description: &'static str,
}

#[derive(Serialize)]
pub(super) struct MarkerField {
    pub key: &'static str,
    pub label: &'static str,
    pub format: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleUnits {
    pub time: &'static str,
    pub event_delay: &'static str,
    #[serde(rename = "threadCPUDelta")]
    pub thread_cpu_delta: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lib {
    pub arch: String,
    pub name: String,
    pub path: String,
    pub debug_name: String,
    pub debug_path: String,
    pub breakpad_id: String,
    pub code_id: Option<String>,
}

/// Tables that all threads point into. Indices are into the table of the column's name.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shared {
    pub stack_table: StackTable,
    pub frame_table: FrameTable,
    pub func_table: FuncTable,
    pub resource_table: ResourceTable,
    pub native_symbols: NativeSymbols,
    pub string_array: Vec<String>,
    pub sources: Sources,
}

#[derive(Default, Serialize)]
pub(super) struct StackTable {
    pub length: usize,
    pub frame: Vec<usize>,
    /// The caller; a smaller index.
    pub prefix: Vec<Option<usize>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub length: usize,
    /// In the library; −1 outside of all.
    pub address: Vec<i64>,
    /// 0 for the function that the code stands in, 1 for what is inlined there, and so on.
    pub inline_depth: Vec<u32>,
    pub category: Vec<usize>,
    pub subcategory: Vec<usize>,
    pub func: Vec<usize>,
    pub native_symbol: Vec<Option<usize>>,
    #[serde(rename = "innerWindowID")]
    pub inner_window_id: Vec<Option<u32>>,
    pub line: Vec<Option<u32>>,
    pub column: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    pub length: usize,
    pub name: Vec<usize>,
    #[serde(rename = "isJS")]
    pub is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub relevant_for_js: Vec<bool>,
    /// −1 for none.
    pub resource: Vec<i64>,
    pub source: Vec<Option<usize>>,
    pub line_number: Vec<Option<u32>>,
    pub column_number: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
pub(super) struct ResourceTable {
    pub length: usize,
    pub lib: Vec<usize>,
    pub name: Vec<usize>,
    pub host: Vec<Option<usize>>,
    pub r#type: Vec<u32>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeSymbols {
    pub length: usize,
    pub lib_index: Vec<usize>,
    pub address: Vec<i64>,
    pub name: Vec<usize>,
    pub function_size: Vec<Option<u64>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sources {
    pub length: usize,
    pub id: Vec<Option<String>>,
    pub filename: Vec<usize>,
    pub start_line: Vec<u32>,
    pub start_column: Vec<u32>,
    #[serde(rename = "sourceMapURL")]
    pub source_map_url: Vec<Option<usize>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    pub process_type: &'static str,
    pub process_startup_time: f64,
    pub process_shutdown_time: Option<f64>,
    pub register_time: f64,
    pub unregister_time: Option<f64>,
    pub paused_ranges: [u32; 0],
    pub show_markers_in_timeline: bool,
    pub name: String,
    pub is_main_thread: bool,
    pub process_name: String,
    pub pid: String,
    pub tid: String,
    pub samples: Samples,
    pub markers: Markers,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Samples {
    pub length: usize,
    pub stack: Vec<Option<usize>>,
    /// Milliseconds.
    pub time_deltas: Vec<f64>,
    pub weight: Vec<i64>,
    pub weight_type: &'static str,
    /// Microseconds.
    #[serde(rename = "threadCPUDelta")]
    pub thread_cpu_delta: Vec<f64>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Markers {
    pub length: usize,
    pub data: Vec<Rejected>,
    pub name: Vec<usize>,
    pub start_time: Vec<f64>,
    pub end_time: Vec<f64>,
    pub phase: Vec<u32>,
    pub category: Vec<usize>,
}

/// A region whose model was rejected.
#[derive(Serialize)]
pub(super) struct Rejected {
    pub r#type: &'static str,
    pub functions: String,
    pub samples: u64,
    pub answer: &'static str,
    pub reason: String,
}

/// An interval, as markers' phases go.
pub(super) const INTERVAL: u32 = 1;
/// A library, as resources' types go.
pub(super) const LIBRARY: u32 = 1;
