//! The end of a run: formats and report are written, and everything appears together.

use std::path::{Path, PathBuf};

use super::audience::Audience;
use super::correct::Correction;
use super::listings::Lister;
use super::second::Second;
use super::survey::Survey;
use super::tally::Tally;
use super::{Done, Error, summary};
use crate::export::{
    self, Context, Existing, Exporter, Firefox, Flamegraph, FlamegraphDiff, Folded, ImageNames, Output,
    Pprof, write_csv, write_sidecar,
};
use crate::image::{SourceText, Wholesym};
use crate::options::{Annotate, Options, is_called};
use crate::perfdata::{Attr, AttrIx, PerfFile};
use crate::report::listing::Listing;
use crate::report::{Report, html};

/// What is made from samples, and where it goes.
pub fn exporters(options: &Options, attrs: &[Attr]) -> Vec<(PathBuf, Box<dyn Exporter>)> {
    let called = |name: &String| attrs.iter().position(|attr| is_called(&attr.name, name));
    let event = options.events.iter().find_map(called).map(|ix| AttrIx(ix as u32));
    let mut exporters: Vec<(PathBuf, Box<dyn Exporter>)> = Vec::new();
    let mut add = |path: &Option<PathBuf>, make: &dyn Fn(&Path) -> Box<dyn Exporter>| {
        exporters.extend(path.iter().map(|path| (path.clone(), make(path))));
    };
    #[cfg(feature = "parquet")]
    add(&options.parquet_samples, &|_| Box::new(export::ParquetSamples::default()));
    add(&options.pprof, &|_| Box::new(Pprof::default()));
    add(&options.firefox, &|path| Box::new(Firefox::new(path.extension().is_some_and(|e| e == "gz"))));
    add(&options.firefox_diff, &|path| {
        Box::new(Firefox::difference(path.extension().is_some_and(|e| e == "gz")))
    });
    add(&options.folded, &|_| Box::new(Folded::new(event)));
    add(&options.flamegraph, &|_| Box::new(Flamegraph::new(event)));
    add(&options.flamegraph_diff, &|_| Box::new(FlamegraphDiff::new(event)));
    exporters
}

/// What is known when all samples have been seen.
pub struct Finish<'a> {
    /// The recording that was read.
    pub file: &'a PerfFile,
    /// What the user asked for.
    pub options: &'a Options,
    /// The recording that was written.
    pub recording: Option<&'a Path>,
    /// Where samples stood.
    pub survey: &'a Survey,
    /// What was decided.
    pub correction: &'a Correction,
}

impl Finish<'_> {
    /// Writes the formats, to `paths` what the exporters make, and the report; lets all `outputs` appear.
    pub fn finish(
        &self,
        mut second: Second<'_>,
        paths: Vec<PathBuf>,
        mut outputs: Vec<Output>,
    ) -> Result<Done, Error> {
        let (survey, correction) = (self.survey, self.correction);
        let mut symbolizer = Wholesym::new()?;
        let mut context = Context {
            attrs: self.file.attrs(),
            features: self.file.features(),
            names: &mut ImageNames::new(&survey.images, &mut symbolizer),
            intervals: &correction.intervals,
            regions: &correction.regions,
        };
        outputs.extend(self.tables(&second.audience, &mut context)?);
        for (path, exporter) in paths.iter().zip(std::mem::take(&mut second.audience.exporters)) {
            outputs.push(Output::staged(path, Existing::Replace, |out| exporter.finish(&mut context, out))?);
        }
        let (options, recording) = (self.options, self.recording);
        let report = summary::report(options, recording, survey, correction, &second, &mut context);
        let listings = self.listings(&report, &second.audience.tally, &mut context, &mut outputs)?;
        outputs.extend(self.reports(&report)?);
        Output::commit_all(outputs)?;
        let instructions = match options.instructions {
            true => summary::instructions(survey, correction, &second.audience, &mut context),
            false => Vec::new(),
        };
        Ok(Done { report, listings, instructions, is_stream: self.file.is_pipe() })
    }

    /// Rows of instructions.
    fn tables(&self, audience: &Audience, context: &mut Context<'_>) -> Result<Vec<Output>, export::Error> {
        let mut outputs = Vec::new();
        let rows = || summary::rows(audience, self.correction);
        if let Some(path) = &self.options.csv {
            outputs.push(Output::staged(path, Existing::Replace, |out| write_csv(rows(), context, out))?);
        }
        #[cfg(feature = "parquet")]
        if let Some(path) = &self.options.parquet {
            let write = |out: &mut Output| export::write_parquet(rows(), context, out);
            outputs.push(Output::staged(path, Existing::Replace, write)?);
        }
        Ok(outputs)
    }

    /// Functions instruction by instruction: those of the page, which is written, and those asked for.
    fn listings(
        &self,
        report: &Report,
        tally: &Tally,
        context: &mut Context<'_>,
        outputs: &mut Vec<Output>,
    ) -> Result<Vec<Listing>, export::Error> {
        let (survey, correction) = (self.survey, self.correction);
        let lister = Lister { survey, correction, tally, events: &report.events };
        let mut text = SourceText::new(&self.options.symfs);
        if let Some(path) = &self.options.html {
            let listings = lister.listings(&Annotate::Hottest, &mut text, context);
            let write = |out: &mut Output| Ok(html::write(report, &listings, out)?);
            outputs.push(Output::staged(path, Existing::Replace, write)?);
        }
        let wanted = self.options.annotate.as_ref();
        Ok(wanted.map(|wanted| lister.listings(wanted, &mut text, context)).unwrap_or_default())
    }

    /// The report where it was asked for, and beside a corrected recording.
    fn reports(&self, report: &Report) -> Result<Vec<Output>, export::Error> {
        let mut outputs = Vec::new();
        if let Some(path) = &self.options.report_json {
            let write = |out: &mut Output| Ok(report.write_json(out)?);
            outputs.push(Output::staged(path, Existing::Replace, write)?);
        }
        if let Some(path) = self.recording.filter(|_| self.options.correct) {
            outputs.extend(write_sidecar(report, path)?);
        }
        Ok(outputs)
    }
}
