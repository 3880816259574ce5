//! Cells → the folded samples that the solver learns from.

use std::collections::BTreeMap;

use super::correct::Desk;
use super::linking::place;
use crate::report::Class;
use crate::skid::folded::Folded;
use crate::solve::Evidence;

impl Desk<'_> {
    /// Folded samples of the events that the solver learns from: retirement and time.
    pub(super) fn evidence(&self) -> Evidence {
        let of = |class: Class| (0..self.kinds.len()).filter(move |&ix| self.kinds[ix].class == class);
        Evidence {
            retired: of(Class::Retirement)
                .map(|ix| self.folded(ix))
                .filter(|f| !f.weight.is_empty())
                .collect(),
            time: of(Class::Time)
                .map(|ix| self.folded(ix))
                .filter(|f| !f.weight.is_empty())
                .max_by(|a, b| a.weight.values().sum::<f64>().total_cmp(&b.weight.values().sum())),
        }
    }

    pub(super) fn folded(&self, event: usize) -> Folded {
        let mut weight = BTreeMap::new();
        for cell in self.survey.cells.iter().filter(|c| c.attr.0 as usize == event) {
            if let Some(node) = self.program.find(place(cell.at)) {
                *weight.entry(node).or_default() += cell.weight as f64;
            }
        }
        let count = &self.survey.events[event];
        Folded {
            weight,
            period: count.weight as f64 / count.samples.max(1) as f64,
            counts: self.kinds[event].causes,
        }
    }
}
