//! `skidconv stat` on recordings.

use std::path::{Path, PathBuf};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use skidconv::perfdata::{PerfFile, kinds};

use crate::recording::{Recording, samples};
use crate::tool::{folder, perf, run, skidconv, testdata, text};

/// Rows of a CSV file as (column, value).
pub fn rows(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

pub fn ran(folder: &Path, words: &[&str]) -> String {
    let ran = skidconv(folder, words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
    ran.out
}

/// Samples at random among twenty places of one binary, run by run, each later than the one before; with `same`, the same in
/// each run.
fn write_runs(folder: &Path, n: u64, same: bool) -> Vec<PathBuf> {
    let one = |run: u64| {
        let seed = if same { 1 } else { run + 1 };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let ids = vec![vec![100 + run]];
        let mut r = Recording { events: ids, ..Recording::default() };
        let start = 1_000_000_000 * (run + 1);
        r.records.push(r.mmap(Path::new("/nowhere/prog"), 0x40_0000, 0x1000, 0));
        for ix in 0..600 {
            let ip = 0x40_0000 + 4 * (20.0 * rng.random::<f64>().sqrt()) as u64;
            r.records.push(r.sample(100 + run, ip, start + 1000 * ix, &[]));
        }
        let path = folder.join(format!("run-{run:02}.data"));
        std::fs::write(&path, r.file()).unwrap();
        path
    };
    (0..n).map(one).collect()
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| text(path)).collect()
}

#[test]
fn one_recording_has_its_models_and_a_page() {
    let folder = folder("stat-one");
    let (data, symfs) = (testdata("cases/nist_fn.perf.data"), testdata("cases/symfs"));
    std::fs::write(folder.join("calls.csv"), "function,calls\nfn1,20\nfn2,8000000\nnone,1\n").unwrap();
    let words = [
        "stat",
        text(&data),
        "--symfs",
        text(&symfs),
        "--event",
        "instructions:u",
        "--calls",
        "calls.csv",
        "--csv",
        "a.csv",
        "--html",
        "a.html",
        "--svg",
        "plots",
    ];
    let out = ran(&folder, &words);
    assert!(
        out.contains("self-time fragmentation: fn2")
            && out.contains("no function with samples is called none")
    );
    let rows = rows(&folder.join("a.csv"));
    let total: f64 = rows.iter().map(|row| row["mean"].parse::<f64>().unwrap()).sum();
    let fn2 = rows.iter().find(|row| row["function"] == "fn2").unwrap();
    let number = |column: &str| fn2[column].parse::<f64>().unwrap();
    let n = number("mean");
    assert!(total > 1000.0 && (number("share") - n / total).abs() < 1e-5);
    assert!((number("sd_gprof") - n.sqrt()).abs() < 1e-4);
    assert!((number("sd_multinomial") - (n * (1.0 - n / total)).sqrt()).abs() < 1e-4);
    assert!((number("sd_quantisation") - (n * (1.0 - n / 8e6)).sqrt()).abs() < 1e-3);
    let page = std::fs::read_to_string(folder.join("a.html")).unwrap();
    assert!(page.contains("fn2") && page.contains("<svg") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("src=") && !page.contains("NaN"));
    let plots: Vec<_> = std::fs::read_dir(folder.join("plots")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(plots.len() > 1);
    for plot in plots {
        let svg = std::fs::read_to_string(plot).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>") && !svg.contains("NaN"));
    }
}

#[test]
fn equal_seeds_give_equal_tables_on_any_number_of_threads() {
    let folder = folder("stat-seed");
    let paths = write_runs(&folder, 12, false);
    let table = |seed: &str, threads: &str| {
        let words = [
            &["stat"],
            &names(&paths)[..],
            &["--csv", "-", "--replicates", "500", "--seed", seed, "--threads", threads],
        ];
        let ran = skidconv(&folder, &words.concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let one = table("1", "1");
    assert_eq!(one.lines().count(), 2, "{one}");
    assert_eq!(one, table("1", "2"));
}

#[test]
fn pooled_runs_are_a_recording_of_all_their_samples() {
    let folder = folder("stat-pool");
    let paths = write_runs(&folder, 8, false);
    let mut shuffled = paths.clone();
    shuffled.swap(0, 5);
    // in any order, but the bias test asks that they are repetitions: it must not mind
    ran(
        &folder,
        &[&["stat"], &names(&shuffled)[..], &["--replicates", "100", "--pool", "pooled.data"]].concat(),
    );
    let each = |path: &PathBuf| samples(&PerfFile::open(path).unwrap());
    let pooled = folder.join("pooled.data");
    let all: Vec<_> = paths.iter().flat_map(each).map(|(ip, chain, _)| (ip, chain)).collect();
    let found: Vec<_> = each(&pooled).into_iter().map(|(ip, chain, _)| (ip, chain)).collect();
    assert_eq!((found.len(), &found), (4800, &all));
    let file = PerfFile::open(&pooled).unwrap();
    assert_eq!((file.attrs()[0].ids.len(), file.warnings().len()), (8, 0));
    let again = skidconv(&folder, &[&["stat"], &names(&paths)[..], &["--pool", "pooled.data"]].concat());
    assert!(again.code == Some(1) && again.err.contains("exists"), "{}", again.err);
}

#[test]
fn a_pool_on_the_standard_output_is_a_recording_and_nothing_else() {
    let folder = folder("stat-pool-stdout");
    let paths = write_runs(&folder, 8, false);
    let words = |to| [&["stat"], &names(&paths)[..], &["--replicates", "100", "--pool", to]].concat();
    let told = ran(&folder, &words("pooled.data"));
    let output = crate::tool::command(&folder, &words("-")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, std::fs::read(folder.join("pooled.data")).unwrap());
    let beside = String::from_utf8(output.stderr).unwrap();
    let (text, hint) = beside.split_at(told.len());
    assert_eq!(text, told, "the text gives way");
    assert!(hint.contains("not a stream") && hint.lines().count() == 1, "{hint}");
}

#[test]
fn runs_that_repeat_each_other_are_pooled_by_force_only() {
    let folder = folder("stat-repeat");
    let paths = write_runs(&folder, 8, true);
    let words = [&["stat"], &names(&paths)[..], &["--replicates", "100", "--pool", "pooled.data"]].concat();
    let refused = skidconv(&folder, &words);
    assert!(refused.code == Some(1) && refused.err.contains("again and again"), "{}", refused.err);
    assert!(!folder.join("pooled.data").exists());
    let forced = ran(&folder, &[&words[..], &["--force"]].concat());
    assert!(forced.contains("not to be pooled") && folder.join("pooled.data").exists());
}

#[test]
fn recordings_that_do_not_fit_together_are_not_pooled() {
    let folder = folder("stat-unlike");
    let mut paths = write_runs(&folder, 2, false);
    paths.push(paths[0].clone());
    let ran =
        skidconv(&folder, &[&["stat"], &names(&paths)[..], &["--pool", "pooled.data", "--force"]].concat());
    assert!(ran.code == Some(1) && ran.err.contains("before or after"), "{}", ran.err);
    assert!(!folder.join("pooled.data").exists());
}

#[test]
fn losses_are_told() {
    let folder = folder("stat-lost");
    let mut r = Recording { events: vec![vec![5]], ..Recording::default() };
    r.records = (0..200).map(|ix| r.sample(5, 0x40_0000 + ix, 1000 * ix + 1, &[])).collect();
    let trailer: Vec<u8> = [42 << 32 | 41, 9000, 5].iter().flat_map(|&w: &u64| r.word(w)).collect();
    let words = |words: &[u64]| words.iter().flat_map(|&w| r.word(w)).collect::<Vec<u8>>();
    let lost = r.record(2, 0, &[words(&[5, 50]), trailer.clone()].concat());
    let throttle = r.record(5, 0, &[words(&[9000, 5, 5]), trailer].concat());
    r.records.extend([lost, throttle, r.record(kinds::FINISHED_ROUND, 0, &[])]);
    std::fs::write(folder.join("a.data"), r.file()).unwrap();
    let out = ran(&folder, &["stat", "a.data"]);
    assert!(
        out.contains("lost samples: 50 samples were lost")
            && out.contains("throttling: sampling was stopped 1 time because"),
        "{out}"
    );
}

#[test]
fn a_loss_that_records_of_two_kinds_tell_of_is_counted_once_and_what_a_filter_drops_is_none() {
    let folder = folder("stat-lost-twice");
    let mut r = Recording { events: vec![vec![5]], ..Recording::default() };
    r.records = (0..200).map(|ix| r.sample(5, 0x40_0000 + ix, 1000 * ix + 1, &[])).collect();
    let told = |r: &Recording, kind, misc, body: &[u64]| {
        let words = body.iter().chain(&[42 << 32 | 41, 9000, 5]);
        r.record(kind, misc, &words.flat_map(|&word| r.word(word)).collect::<Vec<u8>>())
    };
    let (lost, samples) = (told(&r, 2, 0, &[5, 30]), told(&r, 13, 0, &[48]));
    let filtered = told(&r, 13, 1 << 15, &[7000]);
    r.records.extend([lost.clone(), lost, samples, filtered]);
    std::fs::write(folder.join("a.data"), r.file()).unwrap();
    let out = ran(&folder, &["stat", "a.data"]);
    assert!(out.contains("lost samples: 60 samples were lost"), "{out}");
    let quiet = skidconv(&folder, &["convert", "a.data", "-q", "--report-json", "-"]);
    assert!(quiet.code == Some(0) && quiet.out.contains("\"lost\": 60"), "{quiet:?}");
    assert_eq!(quiet.err, "skidconv: warning: samples or other records lost while recording: 60\n");
}

#[test]
fn two_groups_are_compared_and_proportions_projected() {
    let folder = folder("stat-groups");
    let paths = write_runs(&folder, 8, false);
    let words =
        [&["stat"], &names(&paths)[..4], &["--replicates", "100", "--against"], &names(&paths)[4..]].concat();
    let out = ran(&folder, &words);
    assert!(out.contains("difference: 4 runs → 4 runs") && out.contains("too few runs"), "{out}");
}

#[test]
fn tables_that_make_no_sense_are_refused_with_their_line() {
    let folder = folder("stat-table");
    let paths = write_runs(&folder, 1, false);
    for (table, word) in [
        ("name,calls\nf,1\n", "line 1"),
        ("function,calls\nf,-1\n", "line 2"),
        ("function,calls\nf\n", "calls.csv"),
    ] {
        std::fs::write(folder.join("calls.csv"), table).unwrap();
        let ran = skidconv(&folder, &["stat", text(&paths[0]), "--calls", "calls.csv"]);
        assert!(ran.code == Some(1) && ran.err.contains(word) && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

/// The experiment of the note, once: `benches/nist/run` repeats it.
#[test]
fn the_experiments_script_makes_recordings_that_stat_reads() {
    let folder = folder("stat-nist");
    if crate::tool::record(&folder.join("try.data"), &["-e", "cpu-clock", "true"]).is_none() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/nist/run");
    let sink = folder.join("nist");
    run(
        "env",
        &["NIST_WORK=4000000", "NIST_ROUNDS=700", "NIST_CPU=0", "sh", text(&script), text(&sink), "1"],
    );
    let data = sink.join("calls-10000/run-0001.data");
    let calls = sink.join("calls-10000/calls.csv");
    let out = ran(&folder, &["stat", text(&data), "--calls", text(&calls)]);
    assert!(out.contains("fn1") && out.contains("fn2"), "{out}");
    assert!(sink.join("reverse/run-0001.data").exists() && sink.join("expected.csv").exists());
    pools_for_perf(&folder, [&data, &sink.join("calls-320/run-0001.data")]);
}

/// perf finds all samples of two recordings in the pool, under the same names.
fn pools_for_perf(folder: &Path, two: [&Path; 2]) {
    let [a, b] = two.map(text);
    ran(folder, &["stat", a, b, "--replicates", "100", "--force", "--pool", "pooled.data"]);
    let pooled = folder.join("pooled.data");
    let lines = |data: &str| {
        let script = perf(&["script", "-i", data, "-F", "comm,event,ip,sym"]);
        assert_eq!(script.code, Some(0), "{}", script.err);
        script.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // in the order in which they were made
    assert_eq!(lines(text(&pooled)), [lines(b), lines(a)].concat());
    let stats = perf(&["report", "-i", text(&pooled), "--stats"]);
    assert!(stats.code == Some(0) && stats.err.is_empty(), "{}", stats.err);
}

/// The recorded program is nowhere on this machine but in what is named.
#[test]
fn binaries_of_an_archive_are_as_good_as_those_of_a_folder() {
    let folder = folder("stat-archive");
    let (data, symfs) = (testdata("cases/nist_fn.perf.data"), testdata("cases/symfs"));
    let file = PerfFile::open(&data).unwrap();
    let id = file.features().build_ids.iter().find(|id| id.filename.ends_with(b"nist_fn")).unwrap();
    let (hex, program) = (skidconv::image::hex(&id.bytes), String::from_utf8_lossy(&id.filename));
    let entry = folder.join(".build-id").join(&hex[..2]).join(&hex[2..]);
    std::fs::create_dir_all(&entry).unwrap();
    std::fs::copy(symfs.join(program.trim_start_matches('/')), entry.join("elf")).unwrap();
    run("tar", &["cf", text(&folder.join("a.tar")), "-C", text(&folder), ".build-id"]);
    let table = |more: &[&str]| skidconv(&folder, &[&["stat", text(&data), "--csv", "-"], more].concat()).out;
    let packed = table(&["--archive", "a.tar"]);
    assert!(packed.contains("fn1"), "{packed}");
    assert_eq!(packed, table(&["--symfs", text(&symfs)]));
    assert!(!table(&[]).contains("fn1"));
}
