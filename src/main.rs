//! The command line: options in, files, a report and an exit code out. 0 done, 1 bad input or I/O, 2 usage.

mod bars;
mod cli;

use clap::Parser;
use cli::Action;
use skidconv::options::Options;
use skidconv::pipeline;
use skidconv::report::{Report, text};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match act(cli::Cli::parse().into_action()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has what it wanted.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let line = format!("skidconv: {error:#}").replace(['\n', '\r'], " ");
            let _ = writeln!(io::stderr(), "{}", skidconv::export::plain(&line));
            ExitCode::FAILURE
        }
    }
}

fn act(action: Action) -> anyhow::Result<()> {
    match action {
        Action::Write { options, quiet } => run(&options, quiet),
    }
}

fn run(options: &Options, quiet: bool) -> anyhow::Result<()> {
    let report = pipeline::run(options, &bars::Bars::new(quiet))?;
    if !quiet {
        print(&report, options.uses_stdout())?;
    }
    Ok(())
}

/// Where an output has the standard output, the report goes to the standard error.
fn print(report: &Report, stdout_is_taken: bool) -> io::Result<()> {
    let is_terminal = if stdout_is_taken { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let mut style = text::Style { color: is_terminal && wants_color(), ..Default::default() };
    if let Some((width, _)) = terminal_size::terminal_size().filter(|_| is_terminal) {
        style.width = width.0.into();
    }
    let text = text::render(report, &style);
    match stdout_is_taken {
        true => io::stderr().write_all(text.as_bytes()),
        false => io::stdout().write_all(text.as_bytes()),
    }
}

/// <https://no-color.org>
fn wants_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().map(io::Error::kind);
    error.chain().any(|cause| of(cause) == Some(io::ErrorKind::BrokenPipe))
}
