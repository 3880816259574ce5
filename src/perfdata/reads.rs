//! What the counter values in samples amount to (`PERF_SAMPLE_READ`, `{a,b}:S`).
//!
//! Only the leader of such a group interrupts; its samples carry the values of all counters. As perf does
//! (`deliver_sample_group` in tools/perf/util/session.c), each value that has grown since the sample before is a sample of
//! its own event, at the same place, with the difference as its period; the leader's period is its difference, too.

use std::collections::HashMap;

use super::{AttrIx, PerfFile, Sample};

/// The values seen last. Samples have to come in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    last: HashMap<(u64, i32), u64>,
}

impl Reads {
    /// Names the events that a sample is one of, each with its period: for most samples their own event alone.
    #[inline]
    pub fn split(&mut self, file: &PerfFile, sample: &Sample<'_>, mut each: impl FnMut(AttrIx, u64)) {
        match &sample.read {
            None => each(sample.attr, sample.period),
            Some(_) => self.split_values(file, sample, &mut each),
        }
    }

    fn split_values(&mut self, file: &PerfFile, sample: &Sample<'_>, each: &mut dyn FnMut(AttrIx, u64)) {
        // Inherited counters count for each thread from 0.
        let inherited = file.attrs().get(sample.attr.0 as usize).is_some_and(|attr| attr.inherit);
        let thread = if inherited { sample.tid } else { 0 };
        let mut nameless = true;
        for counter in sample.read.iter().flat_map(|read| read.iter()) {
            let Some(id) = counter.id else { continue };
            nameless = false;
            let Some(attr) = file.event_of_id(id) else { continue };
            let last = self.last.insert((id, thread), counter.value).unwrap_or(0);
            // A counter that is behind itself was begun anew.
            let period = counter.value.checked_sub(last).unwrap_or(counter.value);
            if period > 0 {
                each(attr, period);
            }
        }
        if nameless {
            each(sample.attr, sample.period);
        }
    }
}
