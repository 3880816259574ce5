//! Tables of sampled fetches, ops and accesses: two walks over the recording, and names for what they found.

mod listings;
mod tables;
mod walk;

use std::io::Write;

use super::Error;
use super::input::{Binaries, Input};
use crate::export::{Context, Existing, ImageNames, Output, plain};
use crate::ibs::{Kind, Processor, Raw, fetch_text, op_text};
use crate::image::{SourceText, Wholesym};
use crate::options::Options;
use crate::perfdata::Sample;
use crate::progress::Progress;
use crate::report::html;
use crate::report::ibs::{Sampled, write_functions, write_instructions};

use tables::Maker;

/// Makes the tables of a recording, and writes them where `options` wants them as rows (`csv`, `functions_csv`) or as a page.
pub fn ibs(options: &Options, progress: &dyn Progress) -> Result<Sampled, Error> {
    options.check()?;
    let input = Input::open(options)?;
    let binaries = Binaries::of(options)?;
    let survey = input.survey(&binaries, progress, |_, _| {})?;
    let file = &input.file;
    let counted = walk::count(file, &survey, &input.wanted, progress);
    let counted = counted.map_err(|source| input.unreadable(source))?;
    let (mut symbolizer, mut text) = (Wholesym::new()?, SourceText::new(&options.symfs));
    let mut context = Context {
        attrs: file.attrs(),
        features: file.features(),
        names: &mut ImageNames::new(&survey.images, &mut symbolizer),
        intervals: &Default::default(),
        regions: &[],
    };
    let sampled = Maker { file, survey: &survey, options }.make(counted, &mut text, &mut context);
    write(options, &sampled)?;
    Ok(sampled)
}

fn write(options: &Options, sampled: &Sampled) -> Result<(), Error> {
    let mut outputs = Vec::new();
    if let Some(path) = &options.csv {
        outputs.push(Output::staged(path, Existing::Replace, |out| write_instructions(sampled, out))?);
    }
    if let Some(path) = &options.functions_csv {
        outputs.push(Output::staged(path, Existing::Replace, |out| write_functions(sampled, out))?);
    }
    if let Some(path) = &options.html {
        let page = |out: &mut Output| Ok(html::write_sampled(sampled, out)?);
        outputs.push(Output::staged(path, Existing::Replace, page)?);
    }
    Ok(Output::commit_all(outputs)?)
}

/// Writes the registers of every sample of fetches and ops as text.
pub fn dump(options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let input = Input::open(options)?;
    let (file, wanted) = (&input.file, &input.wanted);
    let read = |source| input.unreadable(source);
    let kinds = crate::ibs::events(file.attrs(), file.features());
    let processor = file.features().cpu_id.as_deref().and_then(Processor::parse);
    let mut records = file.records().map_err(read)?;
    while let Some(record) = records.next().map_err(read)? {
        let Ok(Some(sample)) = file.sample(&record) else { continue };
        let event = sample.attr.0 as usize;
        if !wanted.get(event).is_some_and(|wanted| *wanted) {
            continue;
        }
        if let Some(registers) = registers(kinds[event], &sample, processor) {
            let name = plain(&file.attrs()[event].name);
            let Sample { pid, tid, ip, .. } = sample;
            let time = sample.time.map(|time| format!(" {time}")).unwrap_or_default();
            write!(out, "{pid}/{tid}{time} {name} {ip:x}\n{registers}\n")
                .map_err(crate::export::Error::Io)?;
        }
    }
    Ok(())
}

/// `None` of events that have none.
fn registers(kind: Kind, sample: &Sample<'_>, processor: Option<Processor>) -> Option<String> {
    let raw = || Raw::new(sample.raw);
    let text = match kind {
        Kind::Fetch => raw().and_then(|raw| raw.fetch(processor)).map(|fetch| fetch_text(&fetch)),
        Kind::Op(_) => raw().and_then(|raw| raw.op(processor)).map(|op| op_text(&op)),
        Kind::Memory | Kind::Plain => return None,
    };
    Some(text.unwrap_or_else(|damage| format!("damaged:\t{damage}\n")))
}
