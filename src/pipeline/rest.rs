//! Time in code that was not solved, beside events that were.
//!
//! In: a correction of what was solved, and which address the samples of time report. Out: moves of the other samples of time,
//! which need nothing but the code around them. How often anything runs there it takes from the code's shape.

use rayon::prelude::*;

use super::correct::{Correction, Desk};
use super::linking;
use super::located::Located;
use super::moves::Moving;
use super::survey::CellIx;
use crate::perfdata::AttrIx;
use crate::progress::{Progress, Stage, each};
use crate::report::Class;
use crate::skid::hold::Reporting;
use crate::skid::hot::Scope;
use crate::solve::{Evidence, Settings, share_out};

impl Desk<'_> {
    /// Plans the samples of the events of time among those `moving` that are in no region of `correction`.
    pub(super) fn rest(
        &self,
        moving: &[Moving],
        reporting: Reporting,
        settings: &Settings,
        correction: &mut Correction,
        progress: &dyn Progress,
    ) {
        let is_time = |event: AttrIx| self.kinds[event.0 as usize].class == Class::Time;
        let of_time: Vec<&Moving> = moving.iter().filter(|moving| is_time(moving.event)).collect();
        if of_time.is_empty() || !reporting.late {
            return;
        }
        let solved = &correction.cells;
        let late = |cell: CellIx| self.survey.cells[cell as usize].exact == 0;
        let left = |cell| !solved.contains_key(&cell) && late(cell) && self.misfits.fits(self.survey, cell);
        let program = linking::link(self.survey, Scope::Sampled, &left, progress);
        let located = Located::new(self.survey, &program, &left);
        let desk = Desk { program: &program, located: &located, ..*self };
        for moving in of_time {
            let time = desk.folded(moving.event.0 as usize);
            if time.weight.is_empty() {
                continue;
            }
            let evidence = Evidence { retired: Vec::new(), time: Some(time) };
            let shared = share_out(&program, &evidence, reporting, settings, progress);
            let draft = |answer| desk.draft(moving, answer, &shared);
            let drafts = each(progress, Stage::Plan, shared.answers.par_iter(), draft);
            for (answer, draft) in shared.answers.iter().zip(drafts) {
                desk.settle(answer, draft, correction);
            }
        }
    }
}
