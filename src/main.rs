//! The command line: options in, files, a report and an exit code out. 0 done, 1 bad input or I/O, 2 usage.

mod bars;
#[cfg(target_os = "linux")]
mod calibrating;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
mod cli;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod recording;
mod terminal;
mod vary;

use anyhow::Context;
use clap::Parser;
use cli::{Action, Show, Tables, When};
use skidconv::options::{Annotate, Options, is_stdout};
use skidconv::pipeline;
use skidconv::pipeline::stat::StatOptions;
use skidconv::report::{annotate, diff, ibs, text, uncertainty};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match act(cli::Cli::parse().into_action()) {
        Ok(code) => code,
        // The reader has what it wanted.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let line = format!("skidconv: {error:#}").replace(['\n', '\r'], " ");
            let _ = writeln!(io::stderr(), "{}", skidconv::export::plain(&line));
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> anyhow::Result<ExitCode> {
    #[cfg(target_os = "linux")]
    if !action.records() {
        interrupt::watch()?;
    }
    let done = match action {
        #[cfg(target_os = "linux")]
        Action::Record(plan) => return recording::record(&plan),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Action::RecordCalls(wanted) => return calls::record(&wanted),
        Action::Variance(wanted) => vary::show(&wanted),
        #[cfg(target_os = "linux")]
        Action::Calibrate(time, folder) => calibrating::calibrate(time, &folder),
        Action::Write { options, quiet } => write(&options, quiet),
        Action::Report { options, show, functions, missing } => {
            let report = pipeline::run(&options, &bars::Bars::new(false))?.report;
            let style = text::Style { functions, ..terminal::paged(show.color) };
            let shown = if missing { text::nameless(&report, &style) } else { text::render(&report, &style) };
            Ok(terminal::page(&shown, show)?)
        }
        Action::Annotate { options, show } => list(&options, show),
        Action::Diff { sides, show, rows, all } => {
            let [a, b] = &*sides;
            let style = text::Style { functions: rows, ..terminal::paged(show.color) };
            Ok(terminal::page(&compare(a, b, all, &style)?, show)?)
        }
        Action::Stat { options, color } => uncertain(&options, color),
        Action::Ibs { options, tables } => sample_tables(&options, tables),
        Action::Completions(shell) => Ok(cli::generate::completions(shell)?),
        Action::Man(folder) => cli::generate::man(&folder)
            .with_context(|| format!("cannot write manual pages: {}", folder.display())),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Where an output has the standard output, the report goes to the standard error.
fn write(options: &Options, quiet: bool) -> anyhow::Result<()> {
    let done = pipeline::run(options, &bars::Bars::new(quiet))?;
    if quiet {
        return Ok(terminal::tell_of_damage(done.report.damage())?);
    }
    let on_stdout = !options.uses_stdout();
    let text = text::render(&done.report, &terminal::style(on_stdout, When::Auto));
    terminal::say(on_stdout, &text)?;
    Ok(terminal::tell_of_pipe(options.output.as_deref().filter(|_| !done.is_stream))?)
}

fn list(options: &Options, show: Show) -> anyhow::Result<()> {
    let done = pipeline::run(options, &bars::Bars::new(false))?;
    let style = terminal::paged(show.color);
    let events: Vec<Option<&str>> = match &*options.events {
        [] => vec![None],
        named => named.iter().map(|name| Some(name.as_str())).collect(),
    };
    let draw = |listing, event| annotate::render(listing, event, options.correct, &style);
    let of_events = |listing| events.iter().map(move |event| draw(listing, *event));
    let text: String = done.listings.iter().flat_map(of_events).collect();
    if let (true, Some(Annotate::Function(name))) = (text.is_empty(), &options.annotate) {
        anyhow::bail!("no function with samples and code is called {name}: see skidconv report");
    }
    Ok(terminal::page(text.trim_start_matches('\n'), show)?)
}

fn sample_tables(options: &Options, how: Tables) -> anyhow::Result<()> {
    let show = Show::new(how.no_pager, how.color);
    if how.dump {
        return Ok(pipeline::ibs::dump(options, &mut io::BufWriter::new(io::stdout().lock()))?);
    }
    let sampled = pipeline::ibs::ibs(options, &bars::Bars::new(false))?;
    let style = text::Style { functions: how.functions, ..terminal::style(true, how.color) };
    let shown = match &options.annotate {
        _ if options.uses_stdout() => return Ok(()),
        Some(Annotate::Function(name)) => {
            let shown = ibs::listings(&sampled, how.all, &style);
            anyhow::ensure!(
                !shown.is_empty(),
                "no function with samples and code is called {name}: see skidconv ibs"
            );
            shown
        }
        _ => ibs::functions(&sampled, how.all, &style),
    };
    Ok(terminal::page(shown.trim_start_matches('\n'), show)?)
}

fn compare(a: &Options, b: &Options, all: bool, style: &text::Style) -> anyhow::Result<String> {
    let run = |options: &Options| {
        let mut done = pipeline::run(options, &bars::Bars::new(false))?;
        done.report.events.retain(|event| options.wants(&event.name));
        anyhow::Ok(done)
    };
    let (of_a, of_b) = (run(a)?, run(b)?);
    let names = (of_a.report.input.as_str(), of_b.report.input.as_str());
    Ok(diff::render(&diff::compare(side(&of_a), side(&of_b)), names, all, style))
}

/// Where an output has the standard output, the text goes to the standard error.
fn uncertain(options: &StatOptions, color: When) -> anyhow::Result<()> {
    let told = pipeline::stat::stat(options, &bars::Bars::new(options.runs.len() > 1))?;
    let on_stdout = !options.outputs().any(is_stdout);
    let text = uncertainty::text::render(&told, &terminal::style(on_stdout, color));
    terminal::say(on_stdout, &text)?;
    Ok(terminal::tell_of_pipe(options.pooled.as_deref())?)
}

fn side(done: &pipeline::Done) -> diff::Side<'_> {
    diff::Side { report: &done.report, instructions: &done.instructions }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().map(io::Error::kind);
    error.chain().any(|cause| of(cause) == Some(io::ErrorKind::BrokenPipe))
}
