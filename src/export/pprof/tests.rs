//! Files read back: by prost, and by the format's own rules.

use super::super::testing::*;
use super::super::{CorrectedSample, StackFrame};
use super::*;
use std::collections::HashSet;
use std::io::Read;

fn read(samples: &[CorrectedSample<'_>]) -> Profile {
    let gzipped = export(Box::new(Pprof::default()), samples);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&gzipped[..]).read_to_end(&mut bytes).unwrap();
    let profile = Profile::decode(&bytes[..]).unwrap();
    assert_valid(&profile);
    profile
}

/// What pprof's own `CheckValid` refuses, and a mapping that does not hold its locations.
fn assert_valid(p: &Profile) {
    assert_eq!(p.string_table[0], "");
    assert_eq!(p.string_table.iter().collect::<HashSet<_>>().len(), p.string_table.len());
    let ids = |ids: Vec<u64>| {
        let set: HashSet<u64> = ids.iter().copied().collect();
        assert!(set.len() == ids.len() && !set.contains(&0), "{ids:?}");
        set
    };
    let functions = ids(p.function.iter().map(|f| f.id).collect());
    let locations = ids(p.location.iter().map(|l| l.id).collect());
    ids(p.mapping.iter().map(|m| m.id).collect());
    for sample in &p.sample {
        assert_eq!(sample.value.len(), p.sample_type.len());
        assert!(sample.location_id.iter().all(|id| locations.contains(id)));
    }
    for location in &p.location {
        assert!(location.line.iter().all(|line| functions.contains(&line.function_id)));
        if location.mapping_id != 0 {
            let mapping = p.mapping.iter().find(|m| m.id == location.mapping_id).unwrap();
            assert!((mapping.memory_start..mapping.memory_limit).contains(&location.address));
        }
    }
    let strings = p.sample_type.iter().flat_map(|t| [t.r#type, t.unit]);
    let strings = strings.chain(p.function.iter().flat_map(|f| [f.name, f.system_name, f.filename]));
    let strings = strings.chain(p.sample.iter().flat_map(|s| &s.label).flat_map(|l| [l.key, l.str]));
    let strings = strings.chain(p.mapping.iter().flat_map(|m| [m.filename, m.build_id]));
    let mut strings = strings.chain(p.comment.iter().copied()).chain([p.default_sample_type]);
    assert!(strings.all(|id| (0..p.string_table.len() as i64).contains(&id)));
}

fn text(p: &Profile, id: i64) -> &str {
    &p.string_table[id as usize]
}

/// The function names of a sample's frames, leaf first, inlined ones joined by `<`.
fn stack<'a>(p: &'a Profile, sample: &proto::Sample) -> Vec<String> {
    let name = |id: u64| text(p, p.function.iter().find(|f| f.id == id).unwrap().name);
    let frame = |id: &u64| {
        let location = p.location.iter().find(|l| l.id == *id).unwrap();
        location.line.iter().map(|line| name(line.function_id)).collect::<Vec<&'a str>>().join("<")
    };
    sample.location_id.iter().map(frame).collect()
}

#[test]
fn one_event_has_samples_and_periods() {
    let frames = [leaf(PROG, 0x1030), caller(PROG, 0x1110), unmapped(5)];
    let p = read(&[sample(0, 7, &frames), sample(0, 5, &frames)]);
    let types: Vec<_> = p.sample_type.iter().map(|t| (text(&p, t.r#type), text(&p, t.unit))).collect();
    assert_eq!(types, [("samples", "count"), ("cycles:u", "count")]);
    assert_eq!(text(&p, p.default_sample_type), "cycles:u");
    assert_eq!(p.sample.len(), 1);
    assert_eq!(p.sample[0].value, [2, 12]);
    assert_eq!(stack(&p, &p.sample[0]), ["square(int)<main", "helper(int)", ""]);
    let labels: Vec<_> =
        p.sample[0].label.iter().map(|l| (text(&p, l.key), text(&p, l.str), l.num)).collect();
    assert_eq!(labels, [("pid", "", 7), ("tid", "", 8), ("cpu", "", 1), ("comm", "my prog", 0)]);
    assert_eq!(p.time_nanos, 5_000_500_000);
    assert_eq!(p.period, 6, "of a frequency, the mean");
}

#[test]
fn events_share_samples_and_keep_their_own_values() {
    let frames = [leaf(PROG, 0x1000)];
    let p = read(&[sample(1, 1000, &frames), sample(0, 5, &frames), sample(1, 1000, &frames)]);
    let types: Vec<_> = p.sample_type.iter().map(|t| (text(&p, t.r#type), text(&p, t.unit))).collect();
    let count = |name| (name, "count");
    let expected = [
        count("cycles:u_samples"),
        count("cycles:u"),
        count("cpu-clock_samples"),
        ("cpu-clock", "nanoseconds"),
    ];
    assert_eq!(types, expected);
    assert_eq!(p.sample.iter().map(|s| &s.value[..]).collect::<Vec<_>>(), [[1, 5, 2, 2000]]);
}

#[test]
fn a_lone_event_with_a_period_states_it() {
    let p = read(&[sample(1, 1000, &[leaf(PROG, 0x1000)])]);
    assert_eq!((p.period, text(&p, p.period_type.unwrap().unit)), (1000, "nanoseconds"));
}

#[test]
fn threads_and_processors_are_told_apart() {
    let frames = [leaf(PROG, 0x1000)];
    let one = sample(0, 1, &frames);
    let others = [CorrectedSample { tid: 9, ..one }, CorrectedSample { cpu: None, ..one }, one];
    let p = read(&[one, others[0], others[1], others[2]]);
    assert_eq!(p.sample.iter().map(|s| s.value[0]).collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn the_program_is_the_first_mapping_and_binaries_do_not_overlap() {
    let libc = [leaf(LIBC, 0x1004), caller(PROG, 0x1010)];
    let one = CorrectedSample { comm: Some("prog"), ..sample(0, 1, &libc) };
    let p = read(&[CorrectedSample { stack: &libc[..1], ..one }, one]);
    assert_eq!(text(&p, p.mapping[0].filename), "/usr/bin/prog");
    assert_eq!(text(&p, p.mapping[0].build_id), "000102030405060708090a0b0c0d0e0f10111213");
    let (prog, libc) = (&p.mapping[0], &p.mapping[1]);
    assert_eq!((prog.memory_start, prog.file_offset), (0x1000, 0x3000));
    assert!(libc.memory_start >= prog.memory_limit);
    assert!(prog.has_functions && prog.has_inline_frames && !libc.has_functions);
}

#[test]
fn processes_with_different_layouts_are_merged() {
    let here = [leaf(PROG, 0x1004)];
    let there = [StackFrame { address: 0x99, ..here[0] }];
    let p = read(&[sample(0, 1, &here), sample(0, 1, &there)]);
    assert_eq!((p.location.len(), p.location[0].address), (1, 0x1004));
}

#[test]
fn nothing_sampled_is_still_a_profile() {
    let p = read(&[]);
    assert!(p.sample.is_empty() && p.mapping.is_empty());
}

#[test]
fn equal_samples_give_equal_bytes() {
    let frames = [[leaf(PROG, 0x1000)], [leaf(LIBC, 0x10)], [leaf(KERNEL, !0)]];
    let samples: Vec<_> = (0..60).map(|i| sample(i % 2, 3, &frames[i as usize % 3])).collect();
    let once = export(Box::new(Pprof::default()), &samples);
    assert_eq!(once, export(Box::new(Pprof::default()), &samples));
}

#[test]
fn the_leaf_s_interval_and_the_function_s_start_are_there() {
    let p = read(&[
        sample(0, 5, &[leaf(PROG, 0x1000), caller(PROG, 0x1110)]),
        sample(1, 9, &[leaf(PROG, 0x1000)]),
    ]);
    let labels = |s: &proto::Sample| -> Vec<String> {
        let told = s.label.iter().filter(|l| text(&p, l.key).contains(' '));
        told.map(|l| format!("{}={}{}{}", text(&p, l.key), text(&p, l.str), l.num, text(&p, l.num_unit)))
            .collect()
    };
    let expected = ["cycles:u low=3count", "cycles:u high=8count", "cycles:u verdict=gibbs0"];
    assert_eq!(labels(&p.sample[0]), expected);
    assert!(labels(&p.sample[1]).is_empty(), "nothing is known of the other event");
    let start = |name| p.function.iter().find(|f| text(&p, f.name) == name).unwrap().start_line;
    assert_eq!((start("main"), start("helper(int)")), (10, 20));
}
