//! pprof's file.

use std::collections::BTreeMap;
use std::io::Read;

use prost::Message;

use super::{Totals, by_symbol, bytes, rows};

/// The parts of <https://github.com/google/pprof/blob/main/proto/profile.proto> that are looked at.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub kind: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub start: u64,
        #[prost(uint64, tag = "3")]
        pub limit: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
    }
}

#[test]
fn pprof_s_profile_says_the_same() {
    for command in ["fix", "convert"] {
        let mut plain = vec![];
        flate2::read::GzDecoder::new(&*bytes(command, "pb.gz")).read_to_end(&mut plain).unwrap();
        let profile = proto::Profile::decode(&*plain).unwrap();
        let text = |ix: i64| profile.string_table[ix as usize].as_str();
        assert_eq!(text(0), "");
        let locations: BTreeMap<u64, &proto::Location> = profile.location.iter().map(|l| (l.id, l)).collect();
        let functions: BTreeMap<u64, &str> = profile.function.iter().map(|f| (f.id, text(f.name))).collect();
        let rows = rows(command);
        let is_weight = |kind: &proto::ValueType| !text(kind.kind).ends_with("_samples");
        for (n, kind) in profile.sample_type.iter().enumerate().filter(|(_, kind)| is_weight(kind)) {
            let event = text(kind.kind);
            let mut leaves = Totals::new();
            for sample in profile.sample.iter().filter(|s| s.value[n] > 0) {
                assert_eq!(sample.value.len(), profile.sample_type.len());
                let leaf = locations[&sample.location[0]];
                let mapping = profile.mapping.iter().find(|m| m.id == leaf.mapping).unwrap();
                assert!((mapping.start..mapping.limit).contains(&leaf.address));
                let function = functions[&leaf.line.last().unwrap().function];
                *leaves.entry(function.into()).or_default() += sample.value[n] as u64;
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
        }
        let events: Vec<&str> = profile.sample_type.iter().map(|kind| text(kind.kind)).collect();
        assert!(events.contains(&"cycles:u") && events.contains(&"instructions:u"), "{events:?}");
        assert!(profile.sample.iter().any(|s| s.location.len() >= 3), "callers are there");
    }
}
