//! Progress bars on the standard error, one per stage.

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use skidconv::progress::{Progress, Stage};
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bar of the stage that is running. Draws nothing where the standard error is not a terminal.
#[derive(Default)]
pub struct Bars {
    quiet: bool,
    running: Mutex<Vec<(Stage, ProgressBar)>>,
}

impl Bars {
    /// Draws nothing at all if `quiet`.
    pub fn new(quiet: bool) -> Bars {
        Bars { quiet, ..Bars::default() }
    }

    fn with(&self, stage: Stage, act: impl FnOnce(&ProgressBar)) {
        if let Some((_, bar)) = self.running().iter().find(|(running, _)| *running == stage) {
            act(bar);
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<(Stage, ProgressBar)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bars {
    fn start(&self, stage: Stage, total: u64) {
        let target = if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style(stage));
        self.finish(stage);
        self.running().push((stage, bar));
    }

    fn advance(&self, stage: Stage, units: u64) {
        self.with(stage, |bar| bar.inc(units));
    }

    fn finish(&self, stage: Stage) {
        self.with(stage, ProgressBar::finish_and_clear);
        self.running().retain(|(running, _)| *running != stage);
    }
}

fn style(stage: Stage) -> ProgressStyle {
    let (verb, amount) = match stage {
        Stage::Read => ("reading", "{share}"),
        Stage::Decode => ("decoding", "{pos}/{len} functions"),
        Stage::Flow => ("balancing", "{pos}/{len} regions"),
        Stage::Learn => ("learning", "{pos}/{len} regions"),
        Stage::Solve => ("solving", "{pos}/{len} regions"),
        Stage::Plan => ("planning", "{pos}/{len} regions"),
        Stage::Write => ("writing", "{share}"),
    };
    ProgressStyle::with_template(&format!("{verb:>9} {{bar:40}} {amount} {{eta}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("share", |state: &ProgressState, out: &mut dyn Write| {
            let total = HumanBytes(state.len().unwrap_or(0));
            let _ = write!(out, "{}/{total}", HumanBytes(state.pos()));
        })
        .progress_chars("█▉▊▋▌▍▎▏ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_come_and_go_in_any_order() {
        let bars = Bars::new(true);
        bars.advance(Stage::Read, 1);
        bars.start(Stage::Read, 10);
        bars.start(Stage::Solve, 0);
        bars.advance(Stage::Read, 20);
        bars.with(Stage::Read, |bar| assert_eq!((bar.position(), bar.length()), (20, Some(10))));
        bars.finish(Stage::Read);
        bars.finish(Stage::Read);
        assert_eq!(bars.running().len(), 1);
    }

    #[test]
    fn every_stage_has_a_valid_template() {
        for stage in
            [Stage::Read, Stage::Decode, Stage::Flow, Stage::Learn, Stage::Solve, Stage::Plan, Stage::Write]
        {
            let (bar, state) = (ProgressBar::hidden(), style(stage));
            bar.set_style(state);
            bar.tick();
        }
    }
}
