//! All outputs of one recording, and the functions' names in each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tool::{perf, skidconv, text, with_outputs};
use super::wire::Message;

/// How an output spells functions: whole, or without their parameters.
#[derive(Clone, Copy)]
enum Spelt {
    Whole,
    Cut,
}

const DIFFERENCE: &str = "Firefox's difference";

pub struct Outputs {
    folder: PathBuf,
    terminal: String,
    diff: String,
}

impl Outputs {
    pub fn of(folder: &Path, data: &str, flags: &[&str]) -> Outputs {
        let terminal = with_outputs(folder, "fix", &[&[data, "--force"], flags].concat(), "out").out;
        let diff = ["diff", "out.data", "out.data", "--raw", "--all"];
        let diff = skidconv(folder, &[&diff[..], flags].concat()).out;
        Outputs { folder: folder.to_owned(), terminal, diff }
    }

    /// As text, or unpacked bytes.
    pub fn text(&self, end: &str) -> String {
        String::from_utf8_lossy(&self.bytes(end)).into_owned()
    }

    fn bytes(&self, end: &str) -> Vec<u8> {
        let bytes = std::fs::read(self.folder.join(format!("out.{end}"))).unwrap();
        if !bytes.starts_with(&[0x1f, 0x8b]) {
            return bytes;
        }
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
        unpacked
    }

    /// Every output names the function, as it spells functions.
    pub fn assert_named(&self, name: &str) {
        let cut = name.split('(').next().unwrap();
        let mut all = self.names();
        // what runs in memory is not moved
        all.retain(|(output, ..)| self.moved().contains(name) || *output != DIFFERENCE);
        for (output, spelt, names) in all {
            let wanted = match spelt {
                Spelt::Whole => name,
                Spelt::Cut => cut,
            };
            assert!(names.contains(wanted), "{output} has no {wanted} among {names:?}");
        }
        let page = unescaped(&self.text("html"));
        assert!(page.contains(&format!(">{name}<")) || page.contains(&format!("\"{name}\"")), "{name}: page");
        assert!(self.terminal.contains(cut), "{cut} in\n{}", self.terminal);
        assert!(self.diff.contains(&cut[..cut.len().min(12)]), "{cut} in\n{}", self.diff);
    }

    fn names(&self) -> Vec<(&'static str, Spelt, BTreeSet<String>)> {
        let stacks = self.text("folded");
        let folded = stacks.lines().filter_map(|line| line.rsplit_once(' ')?.0.rsplit(';').next());
        #[cfg_attr(not(feature = "parquet"), expect(unused_mut))]
        let mut all = vec![
            ("the table", Spelt::Whole, self.samples().into_keys().collect()),
            ("pprof's file", Spelt::Whole, self.pprof()),
            ("Firefox's file", Spelt::Whole, self.firefox("json")),
            (DIFFERENCE, Spelt::Whole, self.firefox("diff.json")),
            ("folded stacks", Spelt::Cut, folded.map(str::to_owned).collect()),
            ("the flame graph", Spelt::Cut, self.graph("svg")),
            ("the differential flame graph", Spelt::Cut, self.graph("diff.svg")),
            ("the report", Spelt::Whole, self.report()),
        ];
        #[cfg(feature = "parquet")]
        for end in ["parquet", "samples.parquet"] {
            all.push(("Parquet", Spelt::Whole, self.parquet(end)));
        }
        all
    }

    /// Samples per symbol.
    pub fn samples(&self) -> BTreeMap<String, u64> {
        let csv = self.text("csv");
        let mut samples = BTreeMap::new();
        for row in csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap) {
            *samples.entry(row[3].to_owned()).or_default() += row[8].parse::<u64>().unwrap();
        }
        samples
    }

    /// Symbols of instructions that have fewer or more samples than before.
    pub fn moved(&self) -> BTreeSet<String> {
        let csv = self.text("csv");
        let rows = csv::Reader::from_reader(csv.as_bytes()).into_records().map(Result::unwrap);
        rows.filter(|row| row[6] != row[8]).map(|row| row[3].to_owned()).collect()
    }

    fn pprof(&self) -> BTreeSet<String> {
        const STRING_TABLE: u64 = 6;
        let profile = self.bytes("pb.gz");
        Message::new(&profile).strings(STRING_TABLE).into_iter().map(str::to_owned).collect()
    }

    fn firefox(&self, end: &str) -> BTreeSet<String> {
        let profile: Value = serde_json::from_slice(&self.bytes(end)).unwrap();
        let strings = profile["shared"]["stringArray"].as_array().unwrap();
        strings.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }

    /// Names in the tool tips: `name (1,234 event, 5.67%)`.
    fn graph(&self, end: &str) -> BTreeSet<String> {
        let svg = self.text(end);
        let tips = svg.split("<title>").skip(1).filter_map(|rest| rest.split("</title>").next());
        tips.filter_map(|tip| tip.rsplit_once(" (")).map(|(name, _)| unescaped(name)).collect()
    }

    fn report(&self) -> BTreeSet<String> {
        let report: Value = serde_json::from_slice(&self.bytes("report.json")).unwrap();
        let events = report["events"].as_array().unwrap().iter();
        let functions = events.flat_map(|event| event["functions"].as_array().unwrap());
        functions.map(|function| function["name"].as_str().unwrap().to_owned()).collect()
    }

    #[cfg(feature = "parquet")]
    fn parquet(&self, end: &str) -> BTreeSet<String> {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let file = std::fs::File::open(self.folder.join(format!("out.{end}"))).unwrap();
        let rows = SerializedFileReader::new(file).unwrap();
        let symbol = |row: parquet::record::Row| {
            let mut columns = row.get_column_iter();
            columns.find(|(name, _)| *name == "symbol").map(|(_, field)| field.to_string())
        };
        let names = rows.get_row_iter(None).unwrap().map(Result::unwrap).filter_map(symbol);
        names.map(|name| name.trim_matches('"').to_owned()).collect()
    }

    /// `perf report` of the corrected recording names it, by as much of its name as perf tells.
    pub fn assert_named_by_perf(&self, name: &str) {
        let data = self.folder.join("out.data");
        let args = ["--stdio", "--no-children", "-g", "none", "-F", "sym"];
        let ran = perf(&[&["report", "-f", "-i", text(&data)], &args[..]].concat());
        assert!(ran.code == Some(0) && ran.out.contains(&format!("] {name}")), "{name} in\n{}", ran.out);
    }

    /// The listing of the function asked for.
    pub fn annotated(&self, asked: &str) -> String {
        skidconv(&self.folder, &["annotate", "out.data", asked, "--raw", "--color", "never"]).out
    }
}

fn unescaped(text: &str) -> String {
    let quotes = text.replace("&#39;", "'").replace("&quot;", "\"").replace("&apos;", "'");
    quotes.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
