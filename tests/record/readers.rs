//! Recordings as perf and this reader have them: of every kind, from a pipe, of tracepoints and groups.

use super::*;
use crate::tool::command;
use std::process::Command;

#[test]
fn recordings_of_every_kind_have_as_many_samples_for_every_reader() {
    let folder = folder("record-kinds");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    let spin = text(&spin);
    let mut other = Command::new(spin).arg("600000").spawn().unwrap();
    let pid = other.id().to_string();
    let kinds: [(&str, &[&str], Option<i32>); 6] = [
        ("single", &["--", spin, "100"], Some(0)),
        ("threads", &["-F", "1000", "--", spin, "50", "all"], Some(3)),
        ("random", &["--randomize", "-c", "1000003", "--", spin, "50", "all"], Some(3)),
        (
            "groups",
            &["-e", "{cpu-clock,page-faults}", "--call-graph", "fp", "--", spin, "50", "all"],
            Some(3),
        ),
        ("process", &["-p", &pid, "--duration", "0.2"], Some(0)),
        ("machine", &["-a", "--call-graph", "dwarf,256", "--", spin, "100"], Some(0)),
    ];
    for (name, args, code) in kinds {
        let name = format!("{name}.data");
        let args = [&["-e", "cpu-clock", "-o", &name][..], args].concat();
        let args = if args.contains(&"{cpu-clock,page-faults}") { &args[2..] } else { &args[..] };
        let Some(ran) = record(&folder, args) else { break };
        assert_eq!(ran.code, code, "{name}: {}", ran.err);
        let data = folder.join(&name);
        let ours = samples(&data).len();
        assert!(ours > 10, "{name}: {ours}");
        let told: usize = if name == "groups.data" { ours } else { told(&ran) };
        assert_eq!(told, ours, "{name}");
        assert!(by_perf(&data).is_none_or(|theirs| theirs == ours), "{name}");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_thread_a_processor_and_a_mode_are_recorded_alone() {
    let folder = folder("record-alone");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    // the first of two that run
    let mut other = [0; 2].map(|_| Command::new(&spin).arg("600000").spawn().unwrap());
    let [tid, _] = other.each_ref().map(|child| child.id());
    let data = folder.join("perf.data");
    let kept = |args: &[&str]| {
        let ran = record(&folder, &[&["-e", "cpu-clock"], args].concat())?;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let seen = of_samples(&data, |sample| (sample.tid, sample.cpu, sample.mode));
        assert!(seen.len() > 10 && told(&ran) == seen.len(), "{}", ran.err);
        assert!(by_perf(&data).is_none_or(|theirs| theirs == seen.len()));
        Some(seen)
    };
    let text = tid.to_string();
    let thread = kept(&["-t", &text, "--duration", "0.3"]);
    let processor = kept(&["-C", "0", "--duration", "0.2"]);
    let user = kept(&["-a", "--all-user", "--duration", "0.2"]);
    other.iter_mut().for_each(|child| child.kill().and_then(|()| child.wait()).map(drop).unwrap());
    let all = |seen: Option<Vec<(i32, Option<u32>, CpuMode)>>,
               is: fn(u32, (i32, Option<u32>, CpuMode)) -> bool| {
        seen.is_none_or(|seen| seen.into_iter().all(|sample| is(tid, sample)))
    };
    assert!(all(thread, |tid, (of, ..)| of == tid as i32));
    assert!(all(processor, |_, (_, cpu, _)| cpu == Some(0)));
    assert!(all(user, |_, (.., mode)| mode == CpuMode::User));
}

/// As perf and this reader have it from the pipe, and the program's own output beside it.
#[test]
fn a_recording_goes_down_a_pipe() {
    let folder = folder("record-pipe");
    let script = "echo printed; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; page=$(ls /)";
    let events = ["-e", "cpu-clock", "-e", "page-faults"];
    let mut all = command(&folder, &[&["record", "-o", "-"], &events[..], &["sh", "-c", script]].concat());
    let output = all.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(!perf_is_required(), "skidconv cannot record here: {told}");
        eprintln!("skipped: skidconv cannot record here: {told}");
        return;
    }
    assert!(told.contains("printed"), "{told}");
    let data = folder.join("piped");
    std::fs::write(&data, &output.stdout).unwrap();
    let file = PerfFile::open(&data).unwrap();
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    let names: Vec<_> = file.attrs().iter().map(|attr| attr.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "page-faults"]);
    let features = file.features();
    assert!(features.cpu_id.is_some() && features.clock.is_some() && !features.build_ids.is_empty());
    let ours = samples(&data).len();
    let counts = told.lines().find(|line| line.contains(" cpu-clock")).unwrap_or(&told).to_owned();
    let numbers = counts.split(' ').filter_map(|word| word.parse::<usize>().ok());
    assert!(ours > 10 && numbers.sum::<usize>() == ours, "{ours}: {told}");
    assert!(by_perf(&data).is_none_or(|theirs| theirs == ours));
    let pipe = format!("{} convert --csv c.csv - < piped", env!("CARGO_BIN_EXE_skidconv"));
    let ran = Command::new("sh").args(["-c", &pipe]).current_dir(&folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Every switch of the scheduler, with the fields that perf prints of it; and counts of a whole group at each sample.
#[test]
fn tracepoints_and_counts_of_groups_are_as_perf_reads_them() {
    let folder = folder("record-traced");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    let Some(ran) = record(&folder, &["-e", "{cpu-clock,page-faults}:S", "--", text(&spin), "100"]) else {
        return;
    };
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let data = folder.join("perf.data");
    let ours = samples(&data).len();
    assert!(ours > 10, "{ours}");
    if has_perf() {
        let script = perf(&["script", "-f", "-i", text(&data), "-F", "event"]).out;
        let count = |name| script.lines().filter(|line| line.contains(name)).count();
        assert!(count("cpu-clock") == ours && count("page-faults") > 0, "{ours}: {script}");
    }

    let traced = ["-e", "sched:sched_process_fork,sched:sched_process_exit", "-o", "traced.data", "--"];
    let ran = skidconv(&folder, &[&["record"], &traced[..], &[text(&spin), "1", "all"]].concat());
    if ran.code != Some(3) {
        assert!(ran.code != Some(0) && ran.err.contains("/sys/kernel/tracing"), "{}", ran.err);
        eprintln!("skipped: {}", ran.err);
        return;
    }
    // four threads and three children, and the program itself
    let data = folder.join("traced.data");
    assert_eq!(samples(&data).len(), 7 + 8);
    if has_perf() {
        let script = perf(&["script", "-f", "-i", text(&data)]).out;
        assert_eq!(script.lines().filter(|line| line.contains("child_comm=spin")).count(), 7, "{script}");
        assert_eq!(script.lines().filter(|line| line.contains("sched_process_exit: comm=spin")).count(), 8);
    }
    let ran = skidconv(&folder, &["record", "-e", "sched:no_such", "--", "true"]);
    assert!(ran.code == Some(2) && ran.err.contains("there is no event sched:no_such"), "{}", ran.err);
}
