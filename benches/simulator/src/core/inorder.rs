//! A small in-order core: two instructions a cycle at most, and whoever lacks an operand stops everybody behind.
//!
//! Time therefore stands on the *users* of slow results, not on the slow instructions, which is the opposite of what an
//! out-of-order core shows. With a blocking cache a miss stops the load itself.

use super::{Core, Cycle, Executed, Hierarchy, Latencies, Memory, Predictor, Timing};
use crate::inst::Work;

/// The pipeline's state.
#[derive(Debug)]
pub struct InOrder {
    name: String,
    width: u32,
    blocking: bool,
    flush: Cycle,
    latencies: Latencies,
    caches: Hierarchy,
    predictor: Predictor,
    now: Cycle,
    issued: u32,
    memory_used: bool,
    fetch: Cycle,
    ready: [Cycle; 64],
    memory_busy: Cycle,
}

impl InOrder {
    /// `blocking`: a first-level miss stops the pipeline with the load in it.
    pub fn new(name: &str, width: u32, blocking: bool, memory: Memory, seed: u64) -> InOrder {
        InOrder {
            name: name.into(),
            width,
            blocking,
            flush: 8,
            latencies: Latencies::SMALL,
            caches: Hierarchy::new(memory, seed),
            predictor: Predictor::new(10, 0),
            now: 1,
            issued: 0,
            memory_used: false,
            fetch: 0,
            ready: [0; 64],
            memory_busy: 0,
        }
    }

    /// Takes an issue slot no earlier than `earliest`; at most one access to memory a cycle.
    fn issue(&mut self, earliest: Cycle, memory: bool) -> Cycle {
        if earliest > self.now {
            self.advance(earliest);
        }
        if self.issued == self.width || (memory && self.memory_used) {
            self.advance(self.now + 1);
        }
        self.issued += 1;
        self.memory_used |= memory;
        self.now
    }

    fn advance(&mut self, to: Cycle) {
        self.now = to;
        self.issued = 0;
        self.memory_used = false;
    }
}

impl Core for InOrder {
    fn execute(&mut self, step: Executed<'_>) -> Timing {
        let inst = step.inst;
        let operands = bits(inst.reads).map(|r| self.ready[r]).max().unwrap_or(0);
        let memory = !step.loads.is_empty() || !step.stores.is_empty();
        let start = self.issue(operands.max(self.fetch), memory);
        let mut timing = Timing { retire: start, ..Timing::default() };
        let mut data = start;
        for &address in step.loads {
            let (cycles, missed) = self.caches.access(address, start);
            data = data.max(start + cycles);
            if missed {
                timing.miss = Some(data);
                self.memory_busy = self.memory_busy.max(data);
            }
        }
        for &address in step.stores {
            self.caches.access(address, start);
        }
        let slow = matches!(inst.work, Work::Divide | Work::FloatDivide | Work::Serialize | Work::Microcode);
        let done = match inst.work {
            Work::Move if data > start => data,
            work => data + self.latencies.of(work),
        };
        for r in bits(inst.writes) {
            self.ready[r] = done;
        }
        if slow || (self.blocking && timing.miss.is_some()) {
            timing.retire = done;
            self.advance(done);
        }
        if !self.predictor.predicts(inst, step.next) {
            timing.mispredict = Some(done);
            self.fetch = done + self.flush;
        }
        timing.memory_busy = self.memory_busy;
        timing
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// The registers in a set.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let r = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (r < 64).then_some(r)
    })
}
