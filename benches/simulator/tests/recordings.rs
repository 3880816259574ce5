//! Whole recordings of small runs. Without `cc` and `valgrind` there is nothing to record, and the tests say so and pass.

use std::path::Path;
use std::process::Command;

use skidconv_simulator::core::Model;
use skidconv_simulator::counter::{Event, Period, Setup};
use skidconv_simulator::distance;
use skidconv_simulator::grid::Case;
use skidconv_simulator::interrupt::{Lands, Skid};
use skidconv_simulator::program::{Program, Source};
use skidconv_simulator::sampler::{self, Plan};
use skidconv_simulator::scale::SIZES;
use skidconv_simulator::trace::Trace;

fn present(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no {tool}");
    }
    found
}

fn program(name: &'static str, args: &str, dir: &Path) -> Option<Program> {
    if !present("cc") || !present("valgrind") {
        return None;
    }
    let mut program = Source::named(name).unwrap().compile(dir).unwrap();
    program.args = vec![args.into()];
    Some(program)
}

fn trace(name: &'static str, args: &str, dir: &Path) -> Option<Trace> {
    Some(Trace::record(program(name, args, dir)?).unwrap())
}

#[test]
fn precise_samples_are_as_near_the_truth_as_chance_allows() {
    let dir = tempfile::tempdir().unwrap();
    let Some(trace) = trace("trips", "1500", dir.path()) else { return };
    for model in [Model::InOrder, Model::Wide6, Model::Shared] {
        let exact =
            |event| Setup { event, period: Period::Fixed(101), skid: Skid::Precise, lands: Lands::OnHead };
        let counters = vec![exact(Event::Instructions), exact(Event::Cycles)];
        let plan = Plan { counters, passes: 4, call_chains: false, branch_depth: 0, seed: 1 };
        let recording = sampler::record(&trace, &mut *model.core(1), &plan);
        for event in [Event::Instructions, Event::Cycles] {
            let d = distance::measure(&trace, &plan, &recording, event);
            assert!(d.samples > 5000 && d.instruction < 1.2 * d.floor, "{model:?} {event:?} {d:?}");
        }
    }
}

#[test]
fn a_late_interrupt_is_far_from_the_truth() {
    let dir = tempfile::tempdir().unwrap();
    let Some(trace) = trace("trips", "1500", dir.path()) else { return };
    let late = Skid::Jitter { base: 20, spread: 0.3 };
    let setup =
        Setup { event: Event::Instructions, period: Period::Fixed(101), skid: late, lands: Lands::OnHead };
    let plan = Plan { counters: vec![setup], passes: 4, call_chains: false, branch_depth: 0, seed: 1 };
    let recording = sampler::record(&trace, &mut *Model::Wide6.core(1), &plan);
    let d = distance::measure(&trace, &plan, &recording, Event::Instructions);
    assert!(d.instruction > 5.0 * d.floor, "{d:?}");
}

#[test]
fn a_recording_does_not_depend_on_where_it_was_made() {
    let dirs =
        [tempfile::tempdir().unwrap(), tempfile::Builder::new().prefix("another-place").tempdir().unwrap()];
    let case = Case { samples: 100, ..*Case::named("scan-shared-150-lbr").unwrap() };
    let written = dirs.each_ref().map(|dir| {
        let trace = trace("scan", "1", dir.path())?;
        case.write(&trace, dir.path()).unwrap();
        Some(
            ["perf.data", "truth.tsv"]
                .map(|end| std::fs::read(dir.path().join(format!("{}.{end}", case.name))).unwrap()),
        )
    });
    assert!(written[0] == written[1]);
}

#[test]
fn what_ran_is_what_lackey_and_callgrind_count() {
    let dir = tempfile::tempdir().unwrap();
    for (name, few, many) in [("ratios", "2000", "5000"), ("hash", "500", "900"), ("interp", "10", "90")] {
        let Some(few) = program(name, few, dir.path()) else { return };
        let many = Program { args: vec![many.into()], ..few.clone() };
        let (counted, more) = (collected(&few), collected(&many));
        let lackey = counted_by("lackey", &few, "guest instrs:");
        let (few, many) = (Trace::record(few).unwrap(), Trace::record(many).unwrap());
        // The length of the program's path makes start-up longer or shorter by an instruction or two.
        assert!(few.reported.abs_diff(lackey) <= 8, "{name}: {} and {lackey}", few.reported);
        // Valgrind's tools preload libraries with names of unequal length, over which start-up loops: only differences agree.
        let (traced, counted) = (many.reported - few.reported, more - counted);
        assert!(traced.abs_diff(counted) <= 8, "{name}: {traced} and {counted}");
        assert_eq!(few.executions.iter().sum::<u64>(), few.instructions());
        assert!(few.instructions() <= few.reported);
    }
}

fn collected(program: &Program) -> u64 {
    counted_by("callgrind", program, "Collected :")
}

fn counted_by(tool: &str, program: &Program, label: &str) -> u64 {
    let path = std::env::var_os("PATH").unwrap();
    let valgrind = std::env::split_paths(&path).map(|d| d.join("valgrind")).find(|p| p.is_file()).unwrap();
    let mut run = Command::new(valgrind);
    run.env_clear().current_dir(program.binary.parent().unwrap()).arg(format!("--tool={tool}"));
    if tool == "callgrind" {
        run.arg("--callgrind-out-file=/dev/null");
    }
    // The C library writes differently to a pipe than to the null device.
    run.arg(format!("./{}", program.name)).args(&program.args).stdout(std::process::Stdio::null());
    let text = String::from_utf8_lossy(&run.output().unwrap().stderr).into_owned();
    let line = text.lines().find(|l| l.contains(label)).unwrap();
    line.rsplit(' ').next().unwrap().replace(',', "").parse().unwrap()
}

#[test]
fn each_instruction_runs_as_often_as_control_reaches_it() {
    let dir = tempfile::tempdir().unwrap();
    for (name, args) in [("tree", "1"), ("lex-so", "1")] {
        let Some(trace) = trace(name, args, dir.path()) else { return };
        // Only the entry point is reached from nowhere.
        assert!(astray(&trace) <= 2, "{name}: {}", astray(&trace));
    }
}

/// How much executions and what reaches them differ.
fn astray(trace: &Trace) -> u64 {
    let mut reached = vec![0u64; trace.insts.len()];
    let mut left = vec![false; trace.insts.len()];
    for (&(from, to), &n) in &trace.edges {
        reached[to.0 as usize] += n;
        left[from.0 as usize] = true;
    }
    let by_address: std::collections::HashMap<u64, usize> =
        trace.insts.iter().enumerate().map(|(i, inst)| (inst.address, i)).collect();
    for (i, inst) in trace.insts.iter().enumerate().filter(|&(i, _)| !left[i]) {
        if let Some(&next) = by_address.get(&inst.end()) {
            reached[next] += trace.executions[i];
        }
    }
    reached.iter().zip(&trace.executions).map(|(r, e)| r.abs_diff(*e)).sum()
}

#[test]
fn a_program_is_traced_with_its_loader_and_its_libraries() {
    let dir = tempfile::tempdir().unwrap();
    let Some(trace) = trace("lex-so", "1", dir.path()) else { return };
    for name in ["lex-so", "ld-linux", "libc.so"] {
        let module = trace.modules.iter().find(|m| m.name().starts_with(name)).unwrap();
        let map = module.mapping().unwrap();
        let ran = trace
            .insts
            .iter()
            .zip(&trace.executions)
            .filter(|(i, _)| (map.start..map.end).contains(&i.address));
        assert!(ran.map(|(_, n)| n).sum::<u64>() > 10_000, "{name}");
        assert!(
            dir.path().join(&module.recorded_path[1..]).exists(),
            "{name} is where the recording is looked up"
        );
    }
    let case = Case { samples: 500, ..*Case::named("lex-so-wide4-45").unwrap() };
    case.write(&trace, dir.path()).unwrap();
    if !present("perf") {
        return;
    }
    let run = Command::new("perf")
        .args(["report", "-f", "--stdio", "--sort", "dso,sym", "--symfs"])
        .arg(dir.path())
        .arg("-i")
        .arg(dir.path().join("lex-so-wide4-45.perf.data"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(text.contains("libc.so.6") && text.contains("[.] expr") && !text.contains("[unknown]"), "{text}");
}

#[test]
fn perf_reads_a_recording_without_a_word_and_the_same_seed_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let Some(trace) = trace("ratios", "3000", dir.path()) else { return };
    let case = Case { samples: 500, ..*Case::named("ratios-wide8-150").unwrap() };
    case.write(&trace, dir.path()).unwrap();
    let path = dir.path().join("ratios-wide8-150.perf.data");
    let first = std::fs::read(&path).unwrap();
    case.write(&trace, dir.path()).unwrap();
    assert_eq!(first, std::fs::read(&path).unwrap());
    if !present("perf") {
        return;
    }
    for command in ["script", "report"] {
        let run = Command::new("perf")
            .args([command, "-f", "--symfs"])
            .arg(dir.path())
            .arg("-i")
            .arg(&path)
            .output()
            .unwrap();
        assert!(run.status.success());
        assert_eq!(String::from_utf8_lossy(&run.stderr), "", "perf {command}");
        assert!(String::from_utf8_lossy(&run.stdout).contains("turn"));
    }
}

#[test]
fn a_size_has_as_many_hot_functions_and_samples_as_it_says() {
    if !present("cc") || !present("valgrind") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let size = SIZES.iter().rev().min_by_key(|s| s.functions() * s.samples).copied().unwrap();
    let recording = size.recording(dir.path()).unwrap();
    let truth = std::fs::read_to_string(recording.with_extension("").with_extension("truth.tsv")).unwrap();
    let field = |line: &str, n: usize| line.split('\t').nth(n).unwrap().to_owned();
    let address = |text: String| u64::from_str_radix(&text, 16).unwrap();
    let hot: Vec<u64> = truth
        .lines()
        .filter(|l| l.starts_with("I\t") && field(l, 3).parse::<u64>().unwrap() > 100)
        .map(|l| address(field(l, 1)))
        .collect();
    // the leaves are called f, their module's number and their own
    let leaf = |l: &&str| l.starts_with("S\t") && field(l, 4)[1..].parse::<u32>().is_ok_and(|n| n >= 10);
    let runs = |l: &&str| hot.iter().any(|at| (address(field(l, 1))..address(field(l, 2))).contains(at));
    assert_eq!(truth.lines().filter(leaf).count(), 1000);
    assert_eq!(truth.lines().filter(leaf).filter(runs).count() as u64, size.functions());
    assert!(
        std::fs::metadata(&recording).unwrap().len() > size.samples * 2 * 24,
        "two events of so many samples"
    );
}
