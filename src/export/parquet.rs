//! Parquet tables: one row per instruction, or one per sample (<https://parquet.apache.org/docs/file-format/>).
//!
//! The schemas are [`INSTRUCTIONS`] and [`SAMPLES`]; the columns of the first mean what those of the CSV do. Addresses are
//! those in the binary, or at run time where nothing is known to be mapped; then `image` is null.

use super::stacks::{StackId, Stacks};
use super::{Context, CorrectedSample, Error, Exporter, InstructionRow, StackFrame};
use crate::image::Location;
use crate::perfdata::AttrIx;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// One row per event and instruction that held samples before or after.
pub const INSTRUCTIONS: &str = "message instructions {
  required binary event (UTF8);
  optional binary image (UTF8);
  required int64 address (UINT_64);
  optional binary symbol (UTF8);
  optional binary file (UTF8);
  optional int32 line (UINT_32);
  required int64 raw_samples (UINT_64);
  required int64 raw_weight (UINT_64);
  required int64 fixed_samples (UINT_64);
  required int64 fixed_weight (UINT_64);
  required double low;
  required double high;
  required binary verdict (UTF8);
}";

/// One row per sample, in the recording's order: where it stands after correction, and where it was recorded.
pub const SAMPLES: &str = "message samples {
  required binary event (UTF8);
  optional int64 time;
  required int32 pid;
  required int32 tid;
  optional int32 cpu (UINT_32);
  required binary comm (UTF8);
  required int64 weight (UINT_64);
  required boolean moved;
  optional binary image (UTF8);
  required int64 address (UINT_64);
  optional binary symbol (UTF8);
  optional binary file (UTF8);
  optional int32 line (UINT_32);
  optional binary raw_image (UTF8);
  required int64 raw_address (UINT_64);
  optional binary raw_symbol (UTF8);
}";

/// Rows of a group, which is held in memory whole.
const GROUP: usize = 1 << 18;

/// Writes `rows`.
pub fn write_parquet(
    rows: Vec<InstructionRow>,
    context: &mut Context<'_>,
    out: &mut (dyn Write + Send),
) -> Result<(), Error> {
    let mut writer = writer(INSTRUCTIONS, out)?;
    let places: Vec<Place> = rows.iter().map(|row| place(row.location, row.address, context)).collect();
    let events: Vec<ByteArray> = rows.iter().map(|row| text(&context.event_name(row.attr))).collect();
    let mut group = writer.next_row_group()?;
    required::<ByteArrayType>(&mut group, events)?;
    optional::<ByteArrayType>(&mut group, places.iter().map(|p| p.image.clone()))?;
    required::<Int64Type>(&mut group, places.iter().map(|p| p.address))?;
    optional::<ByteArrayType>(&mut group, places.iter().map(|p| p.symbol.clone()))?;
    optional::<ByteArrayType>(&mut group, places.iter().map(|p| p.file.clone()))?;
    optional::<Int32Type>(&mut group, places.iter().map(|p| p.line))?;
    required::<Int64Type>(&mut group, rows.iter().map(|row| row.raw_samples as i64))?;
    required::<Int64Type>(&mut group, rows.iter().map(|row| row.raw_weight as i64))?;
    required::<Int64Type>(&mut group, rows.iter().map(|row| row.fixed_samples as i64))?;
    required::<Int64Type>(&mut group, rows.iter().map(|row| row.fixed_weight as i64))?;
    required::<DoubleType>(&mut group, rows.iter().map(|row| row.low))?;
    required::<DoubleType>(&mut group, rows.iter().map(|row| row.high))?;
    required::<ByteArrayType>(&mut group, rows.iter().map(|row| text(&row.verdict.to_string())))?;
    group.close()?;
    writer.close()?;
    Ok(())
}

/// Makes the table of samples.
#[derive(Default)]
pub struct ParquetSamples {
    stacks: Stacks,
    comms: Vec<ByteArray>,
    comm_ids: HashMap<String, u32>,
    rows: Vec<Row>,
}

struct Row {
    attr: AttrIx,
    pid: i32,
    tid: i32,
    cpu: Option<u32>,
    comm: u32,
    time: Option<u64>,
    weight: u64,
    moved: bool,
    leaf: Option<StackId>,
    recorded: Option<StackId>,
}

impl Exporter for ParquetSamples {
    fn sample(&mut self, sample: &CorrectedSample<'_>) {
        let comms = &mut self.comms;
        let comm = *self.comm_ids.entry(sample.comm()).or_insert_with_key(|comm| {
            comms.push(text(comm));
            comms.len() as u32 - 1
        });
        let mut leaf = |stack: &[StackFrame]| self.stacks.intern(&stack[..stack.len().min(1)]);
        let (leaf, recorded) = (leaf(sample.stack), leaf(sample.recorded));
        let &CorrectedSample { attr, pid, tid, cpu, time, weight, moved, .. } = sample;
        self.rows.push(Row { attr, pid, tid, cpu, comm, time, weight, moved, leaf, recorded });
    }

    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let nodes = self.stacks.nodes().map(|(_, frame)| place(frame.location, frame.address, context));
        let places: Vec<Place> = nodes.collect();
        let events: Vec<ByteArray> = context.attrs.iter().map(|attr| text(&attr.name)).collect();
        // the writer wants to be sent to other threads, which an output of the caller's may not be
        let mut file = tempfile::tempfile()?;
        let mut writer = writer(SAMPLES, &mut file)?;
        for rows in self.rows.chunks(GROUP) {
            self.group(rows, &places, &events, writer.next_row_group()?)?;
        }
        writer.close()?;
        std::io::Seek::rewind(&mut file)?;
        std::io::copy(&mut file, out)?;
        Ok(())
    }
}

impl ParquetSamples {
    fn group<W: Write + Send>(
        &self,
        rows: &[Row],
        places: &[Place],
        events: &[ByteArray],
        mut group: SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), Error> {
        let nowhere = Place::default();
        let at = |id: Option<StackId>| id.map_or(&nowhere, |id| &places[id.index()]);
        let event = |row: &Row| events.get(row.attr.0 as usize).cloned().unwrap_or_default();
        required::<ByteArrayType>(&mut group, rows.iter().map(event))?;
        optional::<Int64Type>(&mut group, rows.iter().map(|r| r.time.map(|time| time as i64)))?;
        required::<Int32Type>(&mut group, rows.iter().map(|r| r.pid))?;
        required::<Int32Type>(&mut group, rows.iter().map(|r| r.tid))?;
        optional::<Int32Type>(&mut group, rows.iter().map(|r| r.cpu.map(|cpu| cpu as i32)))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|r| self.comms[r.comm as usize].clone()))?;
        required::<Int64Type>(&mut group, rows.iter().map(|r| r.weight as i64))?;
        required::<BoolType>(&mut group, rows.iter().map(|r| r.moved))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|r| at(r.leaf).image.clone()))?;
        required::<Int64Type>(&mut group, rows.iter().map(|r| at(r.leaf).address))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|r| at(r.leaf).symbol.clone()))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|r| at(r.leaf).file.clone()))?;
        optional::<Int32Type>(&mut group, rows.iter().map(|r| at(r.leaf).line))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|r| at(r.recorded).image.clone()))?;
        required::<Int64Type>(&mut group, rows.iter().map(|r| at(r.recorded).address))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|r| at(r.recorded).symbol.clone()))?;
        group.close()?;
        Ok(())
    }
}

/// A place as the tables tell it.
#[derive(Clone, Default)]
struct Place {
    image: Option<ByteArray>,
    address: i64,
    symbol: Option<ByteArray>,
    file: Option<ByteArray>,
    line: Option<i32>,
}

fn place(at: Option<Location>, address: u64, context: &mut Context<'_>) -> Place {
    let Some(at) = at else { return Place { address: address as i64, ..Place::default() } };
    let symbol = context.names.symbol(at);
    let source = symbol.as_ref().and_then(|symbol| symbol.frames.first());
    Place {
        image: Some(text(&context.names.path(at.image))),
        address: at.svma.0 as i64,
        file: source.and_then(|source| source.file.as_deref()).map(text),
        line: source.and_then(|source| source.line).map(|line| line as i32),
        symbol: symbol.as_ref().map(|symbol| text(&symbol.name)),
    }
}

fn text(text: &str) -> ByteArray {
    ByteArray::from(text.as_bytes().to_vec())
}

fn writer<W: Write + Send>(schema: &str, out: W) -> Result<SerializedFileWriter<W>, Error> {
    let schema = Arc::new(parse_message_type(schema)?);
    let compression = Compression::ZSTD(ZstdLevel::default());
    let by = concat!("skidconv ", env!("CARGO_PKG_VERSION")).to_owned();
    let properties = WriterProperties::builder().set_compression(compression).set_created_by(by).build();
    Ok(SerializedFileWriter::new(out, schema, Arc::new(properties))?)
}

/// Writes the next column, which has a value in each row.
fn required<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl IntoIterator<Item = T::T>,
) -> Result<(), Error> {
    let values: Vec<T::T> = values.into_iter().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, None, None)?;
        column.close()?;
    }
    Ok(())
}

/// Writes the next column, where values may be missing.
fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl IntoIterator<Item = Option<T::T>>,
) -> Result<(), Error> {
    let mut levels = Vec::new();
    let present = values.into_iter().inspect(|value| levels.push(i16::from(value.is_some()))).flatten();
    let present: Vec<T::T> = present.collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
