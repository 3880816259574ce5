//! The Firefox Profiler's file.

use serde::Deserialize;
use serde_json::Value;

use super::{Totals, by_symbol, bytes, rows, sums};

#[derive(Deserialize)]
struct Profile {
    meta: Value,
    libs: Vec<Value>,
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    name: String,
    samples: Samples,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    string_array: Vec<String>,
}

#[derive(Deserialize)]
struct Samples {
    length: usize,
    stack: Vec<Option<usize>>,
    weight: Vec<u64>,
}

#[derive(Deserialize)]
struct StackTable {
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Deserialize)]
struct FrameTable {
    func: Vec<usize>,
}

#[derive(Deserialize)]
struct FuncTable {
    name: Vec<usize>,
}

impl Thread {
    /// The event, and how many of it a weight of 1 stands for, which the thread's name tells: `program (event ×unit)`.
    fn event(&self) -> (&str, u64) {
        let told = self.name.rsplit_once('(').unwrap().1.trim_end_matches(')');
        match told.split_once(" ×") {
            Some((event, unit)) => (event, unit.replace([',', '\u{202f}', ' '], "").parse().unwrap()),
            None => (told, 1),
        }
    }

    fn leaf(&self, sample: usize) -> &str {
        let frame = self.stack_table.frame[self.samples.stack[sample].unwrap()];
        &self.string_array[self.func_table.name[self.frame_table.func[frame]]]
    }

    fn depth(&self, sample: usize) -> usize {
        std::iter::successors(self.samples.stack[sample], |stack| self.stack_table.prefix[*stack]).count()
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
            let (event, unit) = thread.event();
            assert_eq!(
                (thread.samples.stack.len(), thread.samples.weight.len()),
                (thread.samples.length, thread.samples.length)
            );
            *totals.entry(event.into()).or_default() += unit * thread.samples.weight.iter().sum::<u64>();
            let mut leaves = Totals::new();
            for n in 0..thread.samples.length {
                *leaves.entry(thread.leaf(n).into()).or_default() += unit * thread.samples.weight[n];
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
            assert!((0..thread.samples.length).any(|n| thread.depth(n) >= 3), "callers are there");
        }
        assert_eq!(totals, sums(&rows, |r| r.fixed_weight), "{command}");
    }
}
