//! Callchains whose part in user space comes in a later record (`PERF_RECORD_CALLCHAIN_DEFERRED`, Linux 6.18).

mod recording;
mod tool;

use std::fs;
use std::path::Path;

use recording::{Recording, USER, open, records, rewritten, samples};
use skidconv::perfdata::{Patch, kinds};
use tool::{folder, skidconv};

const KERNEL: u64 = -128i64 as u64;
const DEFERRED: u64 = -640i64 as u64;

/// The chain that was put off under a number, of the thread of the samples or another.
fn put_off(r: &Recording, tid: u32, cookie: u64, chain: &[u64]) -> Vec<u8> {
    let words = [&[cookie, chain.len() as u64], chain].concat();
    let mut body: Vec<u8> = words.iter().flat_map(|&w| r.word(w)).collect();
    body.extend([r.half(41), r.half(tid)].concat());
    body.extend([900, 5].iter().flat_map(|&w| r.word(w)));
    r.record(kinds::CALLCHAIN_DEFERRED, 2, &body)
}

/// Whole chains of four samples, and how they look where the user's part was put off: two in one system call, one in user
/// space, and one whose record stands before it in the file.
fn recordings(big: bool) -> (Recording, Recording) {
    let mut whole = Recording { big, events: vec![vec![5]], ..Recording::default() };
    let mut parted = whole.clone();
    let chains: [(u64, &[u64], u64, &[u64]); 4] = [
        (
            0xffff_8000_0000_1000,
            &[KERNEL, 0xffff_8000_0000_1000, 0xffff_8000_0000_2000],
            11,
            &[0x401010, 0x402000],
        ),
        (0xffff_8000_0000_3000, &[KERNEL, 0xffff_8000_0000_3000], 11, &[0x401010, 0x402000]),
        (0x401000, &[], 12, &[0x401000, 0x402000, 0x403000]),
        (0x401020, &[], 13, &[0x401020, 0x404000]),
    ];
    parted.records.push(put_off(&parted, 42, 13, &[&[USER], chains[3].3].concat()));
    for (n, (ip, kernel, cookie, user)) in chains.into_iter().enumerate() {
        let time = 100 * (n as u64 + 1);
        whole.records.push(whole.sample(5, ip, time, &[kernel, &[USER], user].concat()));
        parted.records.push(parted.sample(5, ip, time, &[kernel, &[DEFERRED, cookie]].concat()));
        if n == 1 || n == 2 {
            // what another thread put off under the same number is not taken
            parted.records.push(put_off(&parted, 43, cookie, &[USER, 0xbad]));
            parted.records.push(put_off(&parted, 42, cookie, &[&[USER], user].concat()));
        }
    }
    (whole, parted)
}

#[test]
fn stacks_in_all_outputs_are_those_of_a_recording_with_whole_chains() {
    let folder = folder("deferred-outputs");
    let (whole, parted) = recordings(false);
    let pair = [("whole.data", whole.file()), ("parted.data", parted.file())];
    let piped = [("whole.pipe", whole.pipe()), ("parted.pipe", parted.pipe())];
    let packed = parted.compressed(kinds::COMPRESSED2, 64).file();
    for (name, bytes) in pair.into_iter().chain(piped).chain([("packed.data", packed)]) {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let outputs = |name: &str| {
        let args =
            ["--folded", "out.folded", "--csv", "out.csv", "--pprof", "out.pb", "--flamegraph", "out.svg"];
        let ran = skidconv(&folder, &[&["convert", name, "-q"][..], &args].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}");
        let files = ["out.folded", "out.csv", "out.pb", "out.svg"];
        let mut made = files.map(|file| fs::read(folder.join(file)).unwrap()).to_vec();
        // by time, one by one
        let ran = skidconv(&folder, &["convert", name, "-q", "--firefox", "out.json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("out.json")).unwrap()).unwrap();
        made.push(json["threads"].to_string().into_bytes());
        made
    };
    let expected = outputs("whole.data");
    let stacks = String::from_utf8(expected[0].clone()).unwrap();
    assert!(stacks.lines().any(|line| line.matches(';').count() == 4), "{stacks}");
    for name in ["parted.data", "parted.pipe", "packed.data", "whole.pipe"] {
        assert!(outputs(name) == expected, "{name}");
    }
}

#[test]
fn a_sample_that_moves_gets_its_whole_chain_and_the_others_stay_as_they_are() {
    for big in [false, true] {
        let (whole, parted) = recordings(big);
        let input = open(&parted.file());
        let (same, _) = rewritten(&input, |_, _| None);
        assert!(same == parted.file(), "nothing moves, nothing changes");
        let mut seen = vec![];
        let (out, done) = rewritten(&input, |_, sample| {
            seen.push(sample.callchain.iter().collect::<Vec<_>>());
            let moved = Patch { ip: 0x40_0ff0, drop: 1, push: vec![0x40_0ff0], ..Patch::default() };
            (sample.ip == 0x401000).then_some(moved)
        });
        let chains: Vec<_> = samples(&open(&whole.file())).into_iter().map(|(_, chain, _)| chain).collect();
        assert_eq!((seen, done.patched), (chains, 1));
        let found = samples(&open(&out));
        assert_eq!((found[2].0, &found[2].1[..]), (0x40_0ff0, &[USER, 0x40_0ff0, 0x402000, 0x403000][..]));
        let before = samples(&input);
        assert_eq!((&found[0], &found[1], &found[3]), (&before[0], &before[1], &before[3]));
        assert_eq!(found[2].2, before[2].2, "the fields behind the chain are the same");
        assert_eq!(records(&open(&out)).len(), parted.records.len());
    }
}

#[test]
fn what_was_put_off_and_never_came_is_told() {
    let folder = folder("deferred-missing");
    let (_, mut parted) = recordings(false);
    parted.records.retain(|record| record[0] == 9);
    fs::write(folder.join("perf.data"), parted.file()).unwrap();
    let ran = skidconv(&folder, &["convert", "perf.data", "--folded", "out.folded"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = format!("{}{}", ran.out, ran.err);
    assert!(told.contains("4 samples have callers in user space that were put off"), "{told}");
    let stacks = fs::read_to_string(Path::new(&folder).join("out.folded")).unwrap();
    assert!(!stacks.contains("bad"), "{stacks}");
}

#[test]
fn a_record_that_promises_more_than_it_has_is_passed_over() {
    let (_, mut parted) = recordings(false);
    for record in parted.records.iter_mut().filter(|record| record[0] != 9) {
        record[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    }
    let input = open(&parted.file());
    let mut deferred = 0;
    rewritten(&input, |_, sample| {
        deferred += u32::from(sample.callchain.is_deferred());
        None
    });
    assert_eq!(deferred, 4);
}
