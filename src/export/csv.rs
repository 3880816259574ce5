//! One row per instruction, before and after (<https://www.rfc-editor.org/rfc/rfc4180>).

use super::{Context, Error, plain};
use crate::image::Location;
use crate::perfdata::AttrIx;
use crate::report::Verdict;
use serde::Serialize;
use std::io::Write;

/// An instruction that held samples of an event before or after.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRow {
    /// The event.
    pub attr: AttrIx,
    /// Where it is; `None` where nothing is known to be mapped.
    pub location: Option<Location>,
    /// The run-time address, used only when `location` is `None`.
    pub address: u64,
    /// Samples as recorded.
    pub raw_samples: u64,
    /// Sum of their periods.
    pub raw_weight: u64,
    /// Samples after.
    pub fixed_samples: u64,
    /// Sum of their periods.
    pub fixed_weight: u64,
    /// Lower end of the 90 % interval of the weight, ≥ 0: 0 where an event was corrected and nothing was found for this place, the
    /// weight where it was not.
    pub low: f64,
    /// Upper end; the weight where the event was not corrected.
    pub high: f64,
    /// What stands behind `fixed_weight`.
    pub verdict: Verdict,
}

/// The columns, in order.
#[derive(Serialize)]
struct Columns {
    event: String,
    image: String,
    address: String,
    symbol: String,
    file: String,
    line: Option<u32>,
    raw_samples: u64,
    raw_weight: u64,
    fixed_samples: u64,
    fixed_weight: u64,
    low: String,
    high: String,
    verdict: Verdict,
}

/// Writes a header and `rows`, sorted by event, image path and address.
pub fn write_csv(
    mut rows: Vec<InstructionRow>,
    context: &mut Context<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    rows.sort_by_cached_key(|row| {
        let path = row.location.map(|at| context.names.path(at.image));
        (row.attr, path, row.location, row.address)
    });
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    writer.write_record(HEADER)?;
    for row in &rows {
        writer.serialize(columns(row, context))?;
    }
    Ok(writer.flush()?)
}

const HEADER: [&str; 13] = [
    "event",
    "image",
    "address",
    "symbol",
    "file",
    "line",
    "raw_samples",
    "raw_weight",
    "fixed_samples",
    "fixed_weight",
    "low",
    "high",
    "verdict",
];

fn columns(row: &InstructionRow, context: &mut Context<'_>) -> Columns {
    let symbol = row.location.and_then(|at| context.names.symbol(at));
    let source = symbol.as_ref().and_then(|symbol| symbol.frames.first()).cloned().unwrap_or_default();
    let address = row.location.map_or(row.address, |at| at.svma.0);
    Columns {
        event: plain(&context.event_name(row.attr)),
        image: row.location.map_or_else(|| "[unknown]".into(), |at| plain(&context.names.path(at.image))),
        address: format!("{address:#x}"),
        symbol: symbol.map_or_else(String::new, |symbol| plain(&symbol.name)),
        file: plain(&source.file.unwrap_or_default()),
        line: source.line,
        raw_samples: row.raw_samples,
        raw_weight: row.raw_weight,
        fixed_samples: row.fixed_samples,
        fixed_weight: row.fixed_weight,
        low: format!("{:.1}", row.low),
        high: format!("{:.1}", row.high),
        verdict: row.verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::image::{ImageId, Svma};

    fn row(attr: u32, image: Option<ImageId>, address: u64) -> InstructionRow {
        InstructionRow {
            attr: AttrIx(attr),
            location: image.map(|image| Location { image, svma: Svma(address) }),
            address,
            raw_samples: 1,
            raw_weight: 100,
            fixed_samples: 2,
            fixed_weight: 200,
            low: 150.25,
            high: 250.0,
            verdict: Verdict::Gibbs,
        }
    }

    fn write(rows: Vec<InstructionRow>) -> Vec<csv::StringRecord> {
        let mut bytes = Vec::new();
        with_context(|context| write_csv(rows, context, &mut bytes)).unwrap();
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        assert_eq!(reader.headers().unwrap(), HEADER.as_slice());
        reader.records().map(Result::unwrap).collect()
    }

    #[test]
    fn a_row_says_where_and_how_much() {
        let records = write(vec![row(0, Some(PROG), 0x1024)]);
        let expected = [
            "cycles:u",
            "/usr/bin/prog",
            "0x1024",
            "main",
            "prog.c",
            "3",
            "1",
            "100",
            "2",
            "200",
            "150.2",
            "250.0",
            "gibbs",
        ];
        assert_eq!(records[0], expected[..]);
    }

    #[test]
    fn rows_are_sorted_by_event_path_and_address_not_by_image_number() {
        let rows = vec![
            row(1, Some(LIBC), 1),
            row(0, Some(PROG), 0x1001),
            row(0, Some(PROG), 0x1000),
            row(0, Some(LIBC), 9),
            row(0, None, 0x77),
        ];
        let order: Vec<_> = write(rows).iter().map(|r| format!("{} {} {}", &r[0], &r[1], &r[2])).collect();
        let expected = [
            "cycles:u [unknown] 0x77",
            "cycles:u /lib/libc.so.6 0x9",
            "cycles:u /usr/bin/prog 0x1000",
            "cycles:u /usr/bin/prog 0x1001",
            "cpu-clock /lib/libc.so.6 0x1",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn nothing_sampled_still_has_a_header() {
        assert!(write(vec![]).is_empty());
    }
}
