//! The Firefox Profiler's file.

use serde::Deserialize;
use serde_json::Value;

use super::{Totals, by_symbol, bytes, rows, sums};

#[derive(Deserialize)]
struct Profile {
    meta: Value,
    libs: Vec<Value>,
    shared: Shared,
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
struct Thread {
    name: String,
    samples: Samples,
    markers: Value,
}

#[derive(Deserialize)]
struct Samples {
    length: usize,
    stack: Vec<Option<usize>>,
    weight: Vec<i64>,
}

/// The tables that all threads share.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shared {
    stack_table: StackTable,
    frame_table: FrameTable,
    native_symbols: Symbols,
    string_array: Vec<String>,
}

#[derive(Deserialize)]
struct StackTable {
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    native_symbol: Vec<Option<usize>>,
    line: Vec<Option<u32>>,
}

#[derive(Deserialize)]
struct Symbols {
    name: Vec<usize>,
}

impl Profile {
    /// The function that the leaf's code stands in.
    fn leaf(&self, stack: Option<usize>) -> &str {
        let frame = self.shared.stack_table.frame[stack.unwrap()];
        let symbol = self.shared.frame_table.native_symbol[frame].unwrap();
        &self.shared.string_array[self.shared.native_symbols.name[symbol]]
    }

    fn depth(&self, stack: Option<usize>) -> usize {
        std::iter::successors(stack, |stack| self.shared.stack_table.prefix[*stack]).count()
    }
}

impl Thread {
    /// The event, which the thread's name tells: `program (event)`.
    fn event(&self) -> &str {
        self.name.rsplit_once('(').unwrap().1.trim_end_matches(')')
    }
}

#[test]
fn firefox_s_profile_says_the_same() {
    for command in ["fix", "convert"] {
        let profile: Profile = serde_json::from_slice(&bytes(command, "json")).unwrap();
        let meta = |key: &str| &profile.meta[key];
        assert!(meta("interval").is_number() && meta("startTime").is_number() && meta("product").is_string());
        assert!(meta("version").is_u64() && meta("preprocessedProfileVersion").is_u64());
        assert!(meta("categories").as_array().is_some_and(|categories| !categories.is_empty()));
        assert!(profile.libs.iter().any(|lib| lib["name"] == "branchy"));
        let rows = rows(command);
        let mut totals = Totals::new();
        for thread in &profile.threads {
            let event = thread.event();
            let Samples { length, stack, weight } = &thread.samples;
            assert_eq!((stack.len(), weight.len()), (*length, *length));
            *totals.entry(event.into()).or_default() += weight.iter().sum::<i64>() as u64;
            let mut leaves = Totals::new();
            for (stack, weight) in stack.iter().zip(weight) {
                *leaves.entry(profile.leaf(*stack).into()).or_default() += *weight as u64;
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
            assert!(stack.iter().any(|stack| profile.depth(*stack) >= 3), "callers are there");
            assert_eq!(thread.markers["length"], 0, "no model was rejected");
        }
        assert!(profile.shared.frame_table.line.iter().flatten().any(|line| *line > 1), "lines are there");
        assert_eq!(totals, sums(&rows, |r| r.fixed_weight), "{command}");
    }
}

#[test]
fn the_difference_takes_away_as_much_as_it_adds() {
    let profile: Profile = serde_json::from_slice(&bytes("fix", "diff.json")).unwrap();
    let moved = |thread: &Thread| thread.samples.weight.iter().filter(|weight| **weight > 0).count();
    let of =
        |side: &str| profile.threads.iter().filter(|t| t.name.starts_with(&format!("{side}: "))).collect();
    let [before, after, changes]: [Vec<&Thread>; 3] = ["before", "after", "change"].map(of);
    assert!(before.len() == changes.len() && 3 * changes.len() == profile.threads.len());
    assert!(changes.iter().all(|t| t.samples.weight.iter().sum::<i64>() == 0 && moved(t) > 0));
    for (before, after) in before.iter().zip(after) {
        assert!(before.samples.weight == after.samples.weight && before.samples.stack != after.samples.stack);
    }
    let report: Value = serde_json::from_slice(&bytes("fix", "report.json")).unwrap();
    let told = report["events"].as_array().unwrap().iter().map(|e| e["moved"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(changes.iter().copied().map(moved).sum::<usize>() as u64, told);
    let unmoved: Profile = serde_json::from_slice(&bytes("again", "diff.json")).unwrap();
    assert!(unmoved.threads.is_empty());
}
