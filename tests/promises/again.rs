//! The same input gives the same output, and a corrected recording has nothing left to correct.

use std::path::Path;

use crate::fixed::{Fixed, case, cases, symfs, the};
use crate::tool::{folder, skidconv, text};

#[test]
fn fixing_a_fixed_recording_changes_no_address() {
    let folder = folder("again");
    for fixed in cases() {
        let again = Fixed::new(&fixed.name, &folder, &fixed.after, Some(&symfs()), &["--seed", "8"]);
        for (n, (before, after)) in again.samples().into_iter().enumerate() {
            assert_eq!(before, after, "{}, sample {n}", fixed.name);
        }
        assert_eq!(
            std::fs::read(&again.before).unwrap(),
            std::fs::read(&again.after).unwrap(),
            "{}",
            fixed.name
        );
        for event in again.report["events"].as_array().unwrap() {
            assert_eq!(event["moved"], 0);
            assert!(event["reason"].as_str().unwrap().contains("corrected before"), "{event}");
        }
    }
}

/// Fixes `input` with all outputs and returns their bytes, the recording's first. The report, which names the files, is not
/// among them.
fn outputs(folder: &Path, input: &str, args: &[&str]) -> Vec<Vec<u8>> {
    let names = ["o.data", "o.csv", "o.pb.gz", "o.json", "o.folded"];
    let symfs = symfs();
    let flags = ["-o", "--csv", "--pprof", "--firefox", "--folded"];
    let mut words = vec!["fix", input, "--force", "--quiet", "--symfs", text(&symfs)];
    words.extend(flags.iter().zip(names).flat_map(|(flag, name)| [*flag, name]));
    words.extend(args);
    let ran = skidconv(folder, &words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    names.iter().map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = folder("threads");
    for fixed in cases() {
        let one = outputs(&folder, text(&fixed.before), &["--seed", "7", "--threads", "1"]);
        let as_many_as_there_are = std::fs::read(&fixed.after).unwrap();
        assert!(one[0] == as_many_as_there_are, "{}", fixed.name);
    }
    let input = case("nist_fn");
    let on = |threads| outputs(&folder, text(&input), &["--seed", "7", "--threads", threads]);
    let (one, two, three) = (on("1"), on("2"), on("3"));
    assert!(one == two && one == three);
}

#[test]
fn neither_the_input_s_name_nor_its_folder_nor_the_run_changes_a_byte() {
    let (here, there) = (folder("named"), folder("elsewhere"));
    let name = "recording of monday.data";
    std::fs::copy(case("nist_fn"), here.join(name)).unwrap();
    let first = outputs(&here, name, &["--seed", "7"]);
    let path = here.join(name);
    let second = outputs(&there, text(&path), &["--seed", "7"]);
    for (n, (first, second)) in first.iter().zip(&second).enumerate() {
        assert!(first == second, "output {n}");
    }
    assert_eq!(first[0], std::fs::read(&the("nist_fn").after).unwrap());
}

#[test]
fn another_seed_deals_samples_out_anew_but_keeps_to_the_same_picture() {
    let folder = folder("seeds");
    let other = Fixed::new("nist_fn", &folder, &case("nist_fn"), Some(&symfs()), &["--seed", "11"]);
    let (first, second) = (the("nist_fn").samples(), other.samples());
    let differ = first.iter().zip(&second).filter(|(a, b)| a.1.ip != b.1.ip).count();
    assert!(differ > 0);
    let share = |samples: &[(crate::fixed::Seen, crate::fixed::Seen)], ip: u64| {
        samples.iter().filter(|s| s.1.attr == 1 && s.1.ip == ip).count() as f64 / samples.len() as f64
    };
    for ip in [0x401720, 0x401730, 0x4016f0] {
        assert!((share(&first, ip) - share(&second, ip)).abs() < 0.03, "{ip:#x}");
    }
}
