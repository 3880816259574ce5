//! pprof's file: <https://github.com/google/pprof/blob/main/proto/profile.proto>, whose field numbers these are.

use std::collections::BTreeMap;
use std::io::Read;

use super::wire::Message;
use super::{Totals, by_symbol, bytes, rows};

/// Of a profile.
const SAMPLE_TYPE: u64 = 1;
const SAMPLE: u64 = 2;
const MAPPING: u64 = 3;
const LOCATION: u64 = 4;
const FUNCTION: u64 = 5;
const STRING_TABLE: u64 = 6;
const TIME: u64 = 9;
const DURATION: u64 = 10;
const PERIOD_TYPE: u64 = 11;
const PERIOD: u64 = 12;
/// Of what else has one.
const ID: u64 = 1;

/// By id.
fn table<'a>(profile: &Message<'a>, field: u64) -> BTreeMap<u64, Message<'a>> {
    profile.messages(field).into_iter().map(|row| (row.number(ID), row)).collect()
}

#[test]
fn pprof_s_profile_says_the_same() {
    for command in ["fix", "convert"] {
        let mut plain = vec![];
        flate2::read::GzDecoder::new(&*bytes(command, "pb.gz")).read_to_end(&mut plain).unwrap();
        let profile = Message::new(&plain);
        let strings = profile.strings(STRING_TABLE);
        assert_eq!(strings[0], "");
        let text = |row: &Message<'_>, field: u64| strings[row.number(field) as usize];
        let (locations, functions) = (table(&profile, LOCATION), table(&profile, FUNCTION));
        let (mappings, samples) = (table(&profile, MAPPING), profile.messages(SAMPLE));
        let types: Vec<&str> = profile.messages(SAMPLE_TYPE).iter().map(|kind| text(kind, 1)).collect();
        let rows = rows(command);
        for (n, event) in types.iter().enumerate().filter(|(_, kind)| !kind.ends_with("_samples")) {
            let mut leaves = Totals::new();
            for sample in &samples {
                let (places, values) = (sample.numbers(1), sample.numbers(2));
                assert_eq!(values.len(), types.len());
                if values[n] == 0 {
                    continue;
                }
                let leaf = &locations[&places[0]];
                let mapping = &mappings[&leaf.number(2)];
                assert!((mapping.number(2)..mapping.number(3)).contains(&leaf.number(3)));
                // inlined functions come first, the one that the code stands in last
                let lines = leaf.messages(4);
                let function = &functions[&lines.last().unwrap().number(1)];
                *leaves.entry(text(function, 2).into()).or_default() += values[n];
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
        }
        assert!(types.contains(&"cycles:u") && types.contains(&"instructions:u"), "{types:?}");
        assert!(samples.iter().any(|sample| sample.numbers(1).len() >= 3), "callers are there");
        for (what, told) in [
            ("duration", profile.number(DURATION) > 0),
            ("period", profile.number(PERIOD) > 0 && profile.messages(PERIOD_TYPE).len() == 1),
            ("build-ids", mappings.values().all(|mapping| !text(mapping, 6).is_empty())),
            ("start lines", functions.values().any(|function| function.number(5) > 1)),
            ("labels", samples.iter().all(|sample| sample.messages(3).len() >= 3)),
        ] {
            assert!(told, "{what} of {command}");
        }
        // recordings whose clock is not tied to the day's have no time
        assert_eq!(profile.number(TIME), 0);
    }
}
