//! Loops that the code says how often they run: in the five programs, they do.

use std::collections::BTreeMap;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use skidconv::code::{Bitness, Counted, Function, Source, explore};

/// The code of an executable.
struct Text {
    start: u64,
    bytes: Vec<u8>,
}

impl Source for Text {
    fn bitness(&self) -> Bitness {
        Bitness::Bits64
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let rest = self.bytes.get(address.wrapping_sub(self.start) as usize..).unwrap_or_default();
        rest[..len.min(rest.len())].to_vec()
    }
}

/// The functions of a case's program.
fn functions(cases: &Path, name: &str) -> Vec<Function> {
    let file = std::fs::read(cases.join("symfs/opt/cases").join(name).join(name)).expect("the program");
    let file = object::File::parse(&*file).expect("an ELF file");
    let section = file.section_by_name(".text").expect("code");
    let text = Text { start: section.address(), bytes: section.data().expect("its bytes").to_vec() };
    let code = text.start..text.start + text.bytes.len() as u64;
    let symbols = file.symbols().filter(|s| s.kind() == SymbolKind::Text && code.contains(&s.address()));
    symbols.map(|s| explore(&text, s.address()..s.address() + s.size(), &[])).collect()
}

/// How often each branch went where.
fn transfers(cases: &Path, name: &str) -> BTreeMap<u64, Vec<u64>> {
    let table = std::fs::read_to_string(cases.join(name).with_extension("truth.tsv")).expect("the truth");
    let mut transfers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for row in table.lines().filter_map(|line| line.strip_prefix("E\t")) {
        let fields: Vec<&str> = row.split('\t').collect();
        let from = u64::from_str_radix(fields[0], 16).expect("an address");
        transfers.entry(from).or_default().push(fields[2].parse().expect("a count"));
    }
    transfers
}

#[test]
fn counted_loops_run_as_often_as_their_code_says() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/cases");
    let mut seen = 0;
    for name in ["branchy", "hmmer_like", "matmul", "mcf_like", "nist_fn"] {
        let transfers = transfers(&cases, name);
        for function in functions(&cases, name) {
            for Counted { exit, passes, .. } in function.counted.iter().filter(|counted| counted.only) {
                let branch = &function.insts[function.cfg.blocks[*exit].end - 1];
                let Some([a, b]) = transfers.get(&branch.address).map(Vec::as_slice) else { continue };
                let found = (a + b) as f64 / *a.min(b) as f64;
                let off = (found / passes - 1.0).abs();
                assert!(off < 0.01, "{name} {:#x}: {found} passes, not {passes}", branch.address);
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "only {seen} ran");
}
