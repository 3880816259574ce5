//! What the words on the command line come to.

use super::*;
use skidconv::options::Solver;

fn parse(words: &str) -> Options {
    match Cli::try_parse_from(words.split(' ')).unwrap().into_action() {
        Action::Write { options, .. } => options,
        Action::Report { options, .. } => options,
        Action::Annotate { options, .. } => options,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_flag_reaches_the_options() {
    let o = parse(
        "skidconv fix in -o out --symfs a --symfs b --archive t --kallsyms k --debuginfod --csv c --pprof p --firefox f --firefox-diff fd --folded - --flamegraph g --flamegraph-diff d --html h --report-json r \
         --event cycles --event instructions --solver ics --skid 12.5 --seed 9 --threads 3 --force --strict --quiet",
    );
    assert!(o.correct && o.force && o.strict && o.solver == Solver::Ics && o.skid == Some(12.5));
    assert_eq!((o.seed, o.threads, o.events.len(), o.symfs.len()), (9, Some(3), 2, 2));
    assert!(o.debuginfod && o.kallsyms == Some("k".into()) && o.archives.len() == 1);
    let side: Vec<_> = o.side_outputs().map(|p| p.to_str().unwrap()).collect();
    assert_eq!(side, ["c", "p", "f", "fd", "-", "g", "d", "h", "r"]);
}

#[test]
fn fix_samples_by_default_and_convert_does_not_correct() {
    assert!(parse("skidconv fix in").correct);
    assert_eq!(parse("skidconv fix in").solver, Solver::Gibbs);
    assert!(!parse("skidconv convert in --csv c").correct);
}

#[test]
fn numbers_out_of_range_are_refused() {
    for words in ["--skid -1", "--skid nan", "--skid inf", "--threads 0", "--seed -1", "--solver magic"] {
        let words = format!("skidconv fix in {words}");
        assert!(Cli::try_parse_from(words.split(' ')).is_err(), "{words}");
    }
}

#[test]
fn the_definitions_are_sound() {
    Cli::command().debug_assert();
}

#[test]
fn showing_corrects_but_writes_no_recording() {
    for words in ["report in", "annotate in main", "report in --html h"] {
        let options = parse(&format!("skidconv {words}"));
        assert!(options.correct && options.recording().unwrap().is_none(), "{words}");
    }
    assert!(!parse("skidconv annotate in --raw").correct);
}
