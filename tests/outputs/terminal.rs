//! What `report`, `annotate` and `diff` print, and how.

use super::tool::{Ran, folder, has, run, skidconv, testdata, text};
use super::{by_symbol, case, rows};

fn show(command: &str, words: &[&str]) -> Ran {
    let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
    let ran = skidconv(&folder("show"), &[&[command, text(&input), "--symfs", text(&symfs)], words].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    ran
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[test]
fn the_report_has_the_shares_of_the_table() {
    let text = show("report", &[]).out;
    let rows = rows("fix");
    for event in ["cycles:u", "instructions:u"] {
        let shares = by_symbol(&rows, event);
        let total: u64 = shares.values().sum();
        let section = text.split("\n\n").skip_while(|part| !part.starts_with(event)).nth(1).unwrap();
        for name in ["tally", "main"] {
            let after = percent(shares[name] as f64 / total as f64);
            let line = section.lines().find(|line| line.contains(&format!("  {name} "))).unwrap();
            assert_eq!(line.split_whitespace().nth(1), Some(after.as_str()), "{event}: {line}");
        }
    }
    assert!(!text.contains('\x1b'), "no colours outside of a terminal");
}

#[test]
fn annotating_has_the_instructions_of_the_table_and_marks_loops() {
    let text = show("annotate", &["tally", "--event", "instructions"]).out;
    let rows: Vec<_> =
        rows("fix").into_iter().filter(|r| r.event == "instructions:u" && r.symbol == "tally").collect();
    let total: u64 = rows.iter().map(|row| row.fixed_weight).sum();
    let hot = rows.iter().filter(|row| row.fixed_weight * 100 > total);
    for row in hot.clone() {
        let address = row.address.trim_start_matches("0x");
        let line = text.lines().find(|line| line.split_whitespace().any(|word| word == address)).unwrap();
        assert!(line.contains(&percent(row.fixed_weight as f64 / total as f64)), "{address}: {line}");
    }
    assert!(hot.count() > 10);
    assert!(text.contains("┌ ") && text.contains("└"), "{text}");
    assert!(text.contains("branchy.c:"), "source lines stand beside the code: {text}");
    let none = skidconv(&folder("none"), &["annotate", self::text(&case("branchy")), "no_such_function"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("no_such_function") && none.err.lines().count() == 1, "{}", none.err);
}

#[test]
fn annotating_shows_each_event_that_was_asked_for() {
    let one = |event| show("annotate", &["tally", "--raw", "--event", event]).out;
    let both = show("annotate", &["tally", "--raw", "--event", "instructions", "--event", "cycles"]).out;
    let [instructions, cycles] = ["instructions", "cycles"].map(one);
    assert!(instructions.contains("instructions:u: 9") && cycles.contains("cycles:u: 9"));
    assert_eq!(both, format!("{instructions}\n{cycles}"));
}

#[test]
fn missing_symbols_are_listed_with_what_would_help() {
    let input = case("branchy");
    let nowhere = folder("missing");
    let ran = skidconv(&nowhere, &["report", "--missing", "--raw", text(&input), "--symfs", text(&nowhere)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("24,119 of 24,119") && ran.out.contains("branchy"), "{}", ran.out);
    assert!(ran.out.contains("--symfs") || ran.out.contains("--archive"), "{}", ran.out);
    assert!(show("report", &["--missing", "--raw"]).out.contains("every sample has a symbol"));
    let stripped = nowhere.join("opt/cases/branchy");
    std::fs::create_dir_all(&stripped).unwrap();
    let (whole, stripped) = (testdata("cases/symfs/opt/cases/branchy/branchy"), stripped.join("branchy"));
    run("objcopy", &["--strip-all", text(&whole), text(&stripped)]);
    let ran = skidconv(&nowhere, &["report", "--missing", "--raw", text(&input), "--symfs", text(&nowhere)]);
    assert!(ran.out.contains("its symbols were stripped"), "made-up names are no symbols: {}", ran.out);
}

/// Runs skidconv on a terminal of its own.
fn on_a_terminal(variables: &str, words: &str) -> String {
    let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
    let program = env!("CARGO_BIN_EXE_skidconv");
    let command =
        format!("{variables} {program} {words} {} --symfs {} 2>/dev/null", text(&input), text(&symfs));
    super::tool::run("script", &["-qec", &command, "/dev/null"])
}

#[test]
fn a_terminal_gets_colours_and_a_pager() {
    if !has("script") {
        return;
    }
    let paged = on_a_terminal("TERM=xterm PAGER='sed s/^/paged:/'", "report --raw");
    assert!(paged.lines().all(|line| line.starts_with("paged:")) && paged.contains("\x1b[1m"), "{paged}");
    let plain = on_a_terminal("TERM=xterm NO_COLOR=1 PAGER=cat", "report --raw");
    assert!(plain.contains("tally") && !plain.contains('\x1b'), "{plain}");
    let unpaged = on_a_terminal("TERM=xterm PAGER=false", "report --raw --no-pager");
    assert!(unpaged.contains("tally"));
    let absent = on_a_terminal("TERM=xterm PAGER=/no/such/pager", "report --raw");
    assert!(absent.contains("tally"), "what cannot be paged is printed");
}

#[test]
fn a_recording_does_not_differ_from_itself_but_from_its_uncorrected_self() {
    let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
    let (one, fixed) = (text(&input), super::run("fix").join("fix.data"));
    let diff = |b: &str| skidconv(&folder("diff"), &["diff", "--raw", one, b, "--symfs", text(&symfs)]).out;
    let same = diff(one);
    assert!(same.matches("differs beyond the uncertainty").count() == 4, "{same}");
    let moved = diff(text(&fixed));
    assert!(moved.contains("tally") && moved.contains("<0.0001"), "instructions moved: {moved}");
}

#[test]
fn recordings_are_compared_in_the_events_that_were_asked_for() {
    let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
    let words =
        ["diff", "--raw", text(&input), text(&input), "--symfs", text(&symfs), "--event", "instructions"];
    let out = skidconv(&folder("diff-event"), &words).out;
    assert!(out.contains("instructions:u · 11,800 and 11,800") && !out.contains("cycles"), "{out}");
    assert!(out.contains("none of 53 instructions differs"), "{out}");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = folder("generated");
    let bash = skidconv(&folder, &["completions", "bash"]);
    assert_eq!(skidconv(&folder, &["man", "man1"]).code, Some(0));
    for command in ["fix", "convert", "report", "annotate", "diff"] {
        assert!(
            bash.out.contains(&format!("skidconv__subcmd__{command}")) || bash.out.contains(command),
            "{command}"
        );
        let page = std::fs::read_to_string(folder.join(format!("man1/skidconv-{command}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS") && page.contains("symfs"), "{page}");
    }
}
