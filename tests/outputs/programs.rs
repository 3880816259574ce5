//! The outputs in the programs that people open them in.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tool::{folder, has, has_perf, perf, run as tool, testdata, text};
#[cfg(feature = "parquet")]
use super::{Row, periods};
use super::{Totals, by_symbol, rows, run};

fn path(command: &str, extension: &str) -> PathBuf {
    run(command).join(format!("{command}.{extension}"))
}

#[test]
fn go_tool_pprof_prints_the_same_top() {
    if !has("go") {
        return;
    }
    let profile = path("fix", "pb.gz");
    let rows = rows("fix");
    for (event, unit) in [("cycles:u", "count"), ("instructions:u", "count")] {
        let (index, unit) = (format!("-sample_index={event}"), format!("-unit={unit}"));
        let all =
            ["-nodecount=100000", "-nodefraction=0", "-edgefraction=0", "-symbolize=none", "-noinlines"];
        let args = [&["tool", "pprof", "-top", &index, &unit], &all[..], &[text(&profile)]].concat();
        let top = tool("go", &args);
        let table = top.lines().skip_while(|line| !line.trim_start().starts_with("flat")).skip(1);
        let mut flat = Totals::new();
        for line in table {
            let words: Vec<&str> = line.split_whitespace().collect();
            let weight: u64 = words[0].parse().unwrap();
            let name = words[5..].join(" ");
            if weight > 0 {
                *flat.entry(name).or_default() += weight;
            }
        }
        assert_eq!(flat, by_symbol(&rows, event), "{event}:\n{top}");
    }
}

/// Weights per function as `perf report` tells them.
fn perf_report(data: &Path, event: &str) -> Totals {
    let symfs = testdata("cases/symfs");
    let args =
        ["--symfs", text(&symfs), "--stdio", "--no-children", "-g", "none", "-F", "period,sym", "-t", ";"];
    let ran = perf(&[&["report", "-f", "-i", text(data)], &args[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let heading = format!("of event '{event}'");
    let section = ran.out.split("# Samples:").find(|part| part.contains(&heading)).unwrap();
    let lines = section.lines().filter(|line| !line.starts_with('#') && line.contains(';'));
    lines.fold(Totals::new(), |mut totals, line| {
        let (weight, symbol) = line.split_once(';').unwrap();
        let name = symbol.trim().split_once("] ").map_or(symbol.trim(), |(_, name)| name);
        *totals.entry(name.to_owned()).or_default() += weight.trim().parse::<u64>().unwrap();
        totals
    })
}

#[test]
fn perf_report_equals_the_table_function_for_function() {
    if !has_perf() {
        return;
    }
    for command in ["fix", "convert"] {
        for event in ["cycles:u", "instructions:u"] {
            assert_eq!(
                perf_report(&path(command, "data"), event),
                by_symbol(&rows(command), event),
                "{command}, {event}"
            );
        }
    }
}

/// Runs headless chromium on a page, in a window of this size.
fn chromium(page: &Path, (width, height): (usize, usize), args: &[&str]) -> Vec<u8> {
    let home = folder("chromium");
    let profile = format!("--user-data-dir={}", text(&home));
    let window = format!("--window-size={width},{height}");
    let usual = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", &window, &profile];
    let url = format!("file://{}", text(page));
    let output = Command::new("chromium").args(usual).args(args).arg(url).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What part of the page is of each of these colours, as it is painted.
fn painted<const N: usize>(
    page: &Path,
    size: (usize, usize),
    args: &[&str],
    colors: [[u8; 3]; N],
) -> [f64; N] {
    let picture = folder("page").join("page.png");
    let shot = format!("--screenshot={}", text(&picture));
    chromium(page, size, &[&[shot.as_str()], args].concat());
    let (width, height, pixels) = unpack(&std::fs::read(&picture).unwrap());
    assert_eq!((width, height), size);
    colors.map(|color| pixels.iter().filter(|p| **p == color).count() as f64 / pixels.len() as f64)
}

#[test]
fn the_page_opens_in_a_browser_and_shows_its_bars() {
    if !has("chromium") {
        return;
    }
    let page = path("fix", "html");
    // background, bars after, bars before
    let light = [[0xfb, 0xfb, 0xfa], [0xd9, 0x54, 0x1e], [0xa9, 0xb1, 0xbb]];
    let dark = [[0x14, 0x17, 0x1a], [0xf0, 0x7c, 0x48], [0x5b, 0x65, 0x70]];
    for (size, args, colors) in
        [((1400, 1800), &[][..], light), ((500, 1800), &["--blink-settings=preferredColorScheme=0"], dark)]
    {
        let [background, after, before] = painted(&page, size, args, colors);
        assert!(background > 0.2, "{size:?}: {background} is background");
        assert!(after > 0.0005 && before > 0.0003, "{size:?}: bars after {after} and before {before}");
    }
    let dom = String::from_utf8(chromium(&page, (1400, 1800), &["--dump-dom"])).unwrap();
    assert!(dom.contains("aria-pressed=\"true\"") && dom.contains("aria-pressed=\"false\""), "scripts ran");
    for part in
        ["Skid", "Posterior check", "Code", "Loops", "nine in ten between", "90 % interval", "branchy.c:"]
    {
        assert!(dom.contains(part), "{part} is on the page");
    }
    // of each event the functions of the table, with their shares
    let rows = rows("fix");
    for event in ["cycles:u", "instructions:u"] {
        let (shares, name) = (by_symbol(&rows, event), format!("<h2>{event}</h2>"));
        let section = dom.split("<section").find(|part| part.contains(&name)).unwrap();
        let total: u64 = shares.values().sum();
        for name in ["tally", "main"] {
            let row = section.split("<tr").find(|row| row.contains(&format!(">{name}<"))).unwrap();
            let share = 100.0 * shares[name] as f64 / total as f64;
            assert!(row.contains(&format!(">{share:.1}%<")), "{event}, {name}, {share}: {row}");
        }
    }
}

/// The pixels of an 8-bit PNG without interlacing (<https://www.w3.org/TR/png-3/>, 9 and 10).
fn unpack(png: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    let channels = match png[25] {
        2 => 3,
        6 => 4,
        other => panic!("colour type {other}"),
    };
    let (mut at, mut packed) = (8, Vec::new());
    while at < png.len() {
        let len = number(at);
        if &png[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&png[at + 8..at + 8 + len]);
        }
        at += 12 + len;
    }
    let mut raw = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&packed[..]), &mut raw).unwrap();
    let stride = width * channels;
    let mut above = vec![0u8; stride];
    let mut pixels = Vec::with_capacity(width * height);
    for row in raw.chunks_exact(stride + 1) {
        let mut line = row[1..].to_vec();
        for i in 0..stride {
            let left = if i >= channels { line[i - channels] } else { 0 };
            let corner = if i >= channels { above[i - channels] } else { 0 };
            let predicted = match row[0] {
                0 => 0,
                1 => left,
                2 => above[i],
                3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
                _ => paeth(left, above[i], corner),
            };
            line[i] = line[i].wrapping_add(predicted);
        }
        pixels.extend(line.chunks_exact(channels).map(|p| [p[0], p[1], p[2]]));
        above = line;
    }
    (width, height, pixels)
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i32::from(left), i32::from(up), i32::from(corner));
    let (far_a, far_b, far_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    match () {
        () if far_a <= far_b && far_a <= far_c => left,
        () if far_b <= far_c => up,
        () => corner,
    }
}

/// DuckDB, where Python has it.
#[cfg(feature = "parquet")]
fn query(sql: &str) -> String {
    let script = "import duckdb, sys\nfor row in duckdb.sql(sys.argv[1]).fetchall(): print(*row, sep='|')";
    tool("python3", &["-c", script, sql])
}

#[cfg(feature = "parquet")]
#[test]
fn duckdb_reads_the_parquet_and_its_sums_agree() {
    let there =
        Command::new("python3").args(["-c", "import duckdb"]).output().is_ok_and(|o| o.status.success());
    if !there {
        assert!(std::env::var_os("SKIDCONV_REQUIRE_TOOLS").is_none(), "duckdb is required");
        return;
    }
    for command in ["fix", "convert"] {
        let (rows, totals) = (rows(command), periods(command));
        let (instructions, samples) = (path(command, "parquet"), path(command, "samples.parquet"));
        let sums = query(&format!(
            "select event, sum(raw_weight), sum(fixed_weight), count(*) from '{}' group by event order by event",
            text(&instructions)
        ));
        let of = |event: &str| rows.iter().filter(|row| row.event == event).count();
        let expected: String = totals.iter().map(|(e, w)| format!("{e}|{w}|{w}|{}\n", of(e))).collect();
        assert_eq!(sums, expected, "{command}");
        let by_symbol = |event: &str, column: &str| -> Totals {
            let sql = format!(
                "select {column}, sum(weight) from '{}' where event = '{event}' group by {column}",
                text(&samples)
            );
            let told = query(&sql);
            told.lines()
                .map(|l| l.rsplit_once('|').unwrap())
                .map(|(s, w)| (s.into(), w.parse().unwrap()))
                .collect()
        };
        for event in totals.keys() {
            assert_eq!(by_symbol(event, "symbol"), super::by_symbol(&rows, event), "{command}, {event}");
            let recorded = rows.iter().filter(|r| r.event == *event && r.raw_weight > 0);
            let recorded = recorded.fold(Totals::new(), |mut sums, row: &Row| {
                *sums.entry(row.symbol.clone()).or_default() += row.raw_weight;
                sums
            });
            assert_eq!(by_symbol(event, "raw_symbol"), recorded, "{command}, {event}");
        }
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_the_feature_there_is_no_such_flag() {
    let ran = super::tool::skidconv(&folder("no-parquet"), &["convert", "perf.data", "--parquet", "x"]);
    assert_eq!(ran.code, Some(2));
}
