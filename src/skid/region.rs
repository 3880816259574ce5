//! A connected piece of the program as plain numbers: instructions are nodes, and every transfer of control is an arm.

mod build;
mod copies;
mod expectation;
mod known;
mod returning;

use std::ops::Range;

pub use expectation::LEAVES_LOOP;
pub use returning::Context;

use super::operands::Operands;
use crate::code::{FunctionIx, Kind};

/// An instruction.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its function in the program.
    pub function: FunctionIx,
    /// Its index in the function.
    pub inst: usize,
    /// Its block in the region.
    pub block: usize,
    /// Instructions of one class take like time: mnemonic and whether memory is read.
    pub class: usize,
    /// What the units do for it.
    pub kind: Kind,
    /// It reads memory.
    pub loads: bool,
    /// It writes memory.
    pub stores: bool,
    /// Latency to expect where nothing was measured, cycles.
    pub latency: f64,
    /// It is the second of a pair that may be fused with the node before it.
    pub fused: bool,
    /// Waits for it may be reported on it even by late interrupts ([`Reporting::waited`](super::hold::Reporting::waited)).
    pub stays: bool,
    /// It is the first behind a choice of ways, where a wrong guess is paid for.
    pub chosen: bool,
    /// It reads what a load before it in its block read.
    pub fed: bool,
    /// The values that it needs and makes.
    pub operands: Operands,
    /// It copies a register.
    pub copies: bool,
    /// It is a branch, call or return.
    pub transfers: bool,
    /// It is a transfer that may go more than one way.
    pub predicted: bool,
}

/// A straight run of nodes.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its nodes.
    pub nodes: Range<usize>,
    /// Its function in the program.
    pub function: FunctionIx,
    /// Events that it counts each time it runs, of those that the scale of executions is of: its instructions, or its branches.
    pub events: f64,
}

/// A way control may go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// The node that transfers.
    pub node: usize,
    /// The block entered; `None` outside the region.
    pub to: Option<usize>,
    /// What it is.
    pub kind: ArmKind,
    /// It calls a function that may still be running: its entry's rate does not follow from it.
    pub again: bool,
    /// Logit that the code alone suggests, against 0 for an arm of which it says nothing.
    pub prior: f64,
}

/// What kind of transfer an arm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmKind {
    /// Inside a function.
    Edge,
    /// A call, which also goes on behind itself; `after` is the node there.
    Call {
        /// Node behind the call.
        after: Option<usize>,
    },
    /// A call into code outside the region, which comes straight back.
    Skip {
        /// Node behind the call.
        after: Option<usize>,
    },
    /// A jump to another function.
    Tail,
}

/// Arms of which exactly one is taken each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Its arms.
    pub arms: Range<usize>,
    /// The first of its free logits, which it may share with others.
    pub first: usize,
}

/// One step of the walk that a processor takes through the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node entered.
    pub to: usize,
    /// What its probability is.
    pub by: By,
}

/// Where a step's probability comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// It is certain.
    Sure,
    /// It is that of an arm.
    Arm(usize),
    /// It is that of [`Region::returns`] with this index.
    Return(usize),
}

/// Calls of a function by what it calls itself.
///
/// How often it then runs is a root of its own: as a consequence of its branches it would be all or nothing, for near the
/// end of a deep recursion a thousandth more of them multiplies the runs. That the calls and the runs are as many is asked
/// for by [`recursions`](super::recursions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recursion {
    /// The function's entry block.
    pub entry: usize,
    /// Arms that lead there, whether from it or from elsewhere.
    pub calls: Vec<usize>,
    /// Whether it is called from outside the region, nobody knows how often.
    pub open: bool,
}

/// A call of code outside the region that has samples of its own: skid carries samples there and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Away {
    /// The arm that steps over the call.
    pub arm: usize,
    /// Samples of what is called.
    pub samples: f64,
}

/// A loop that runs as often as the code says.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// The decision that leaves it or stays.
    pub decision: usize,
    /// How often that is made each time the loop is entered, ≥ 1.
    pub passes: f64,
    /// Its blocks without those of inner loops.
    pub blocks: Vec<usize>,
}

/// A branch that goes by what its loop computes of nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Chance {
    /// The decision.
    pub decision: usize,
    /// Logit of its second arm.
    pub logit: f64,
    /// Standard deviation of that.
    pub deviation: f64,
    /// The loop's blocks without those of inner loops.
    pub blocks: Vec<usize>,
    /// The block that runs before the loop each time that is entered, where that is in the region and the loop may be too short for
    /// what holds in the long run.
    pub before: Option<usize>,
}

/// A stack that a loop pushes on and pops from.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Arms by which its top moves up, and how far, in bytes, > 0.
    pub up: Vec<(usize, f64)>,
    /// Arms by which that moves down, likewise.
    pub down: Vec<(usize, f64)>,
    /// The block by which the loop is entered …
    pub header: usize,
    /// … and arms that lead back there.
    pub back: Vec<usize>,
    /// Arms behind which it may be another.
    pub anew: Vec<usize>,
}

/// The region.
#[derive(Clone, Debug, Default)]
pub struct Region {
    /// Instructions, by function and address.
    pub nodes: Vec<Node>,
    /// Blocks, in the order of their nodes.
    pub blocks: Vec<Block>,
    /// Arms, grouped by the node that transfers.
    pub arms: Vec<Arm>,
    /// Arms with an alternative.
    pub decisions: Vec<Decision>,
    /// Steps of each node: `steps[starts[n]..starts[n + 1]]`.
    pub steps: Vec<Step>,
    /// See `steps`.
    pub starts: Vec<usize>,
    /// Call arms that functions return behind, by the functions' contexts.
    pub returns: Vec<usize>,
    /// What returns behind the same calls, those that lead to others by tail calls before these.
    pub contexts: Vec<Context>,
    /// Entry blocks of functions that nothing in the region enters, or that call themselves: each has a rate of its own.
    pub roots: Vec<usize>,
    /// Functions that call themselves, directly or not.
    pub recursions: Vec<Recursion>,
    /// Loops that run as often as the code says.
    pub turns: Vec<Turns>,
    /// Branches that go by what their loop computes of nothing else.
    pub chances: Vec<Chance>,
    /// Stacks that loops keep.
    pub levels: Vec<Level>,
    /// Calls of sampled code that is outside the region.
    pub away: Vec<Away>,
    /// Number of classes over the whole program.
    pub classes: usize,
}

impl Region {
    /// Number of free branch logits: arms beyond the first of each decision, those of decisions that share them once.
    pub fn freedom(&self) -> usize {
        self.decisions.iter().map(|d| d.logits().end).max().unwrap_or(0)
    }

    /// Whether the function entered at block `entry` calls itself, and nothing outside calls it.
    pub fn closed(&self, entry: usize) -> bool {
        self.recursions.iter().any(|r| r.entry == entry && !r.open)
    }

    /// Logits that the shape of the code suggests, relative to each decision's first arm.
    pub fn expectation(&self) -> Vec<f64> {
        self.per_logit(|decision, arm| self.arms[arm].prior - self.arms[decision.arms.start].prior)
    }

    /// The arms of which `arm` is one and exactly one is taken each time.
    pub fn ways(&self, arm: usize) -> Range<usize> {
        let behind = self.decisions.partition_point(|decision| decision.arms.end <= arm);
        let decision = self.decisions.get(behind).filter(|decision| decision.arms.contains(&arm));
        decision.map_or(arm..arm + 1, |decision| decision.arms.clone())
    }

    /// The steps that `node` may take.
    pub fn steps_of(&self, node: usize) -> &[Step] {
        &self.steps[self.starts[node]..self.starts[node + 1]]
    }
}

impl Decision {
    /// Its free logits, one for each arm but the first.
    pub fn logits(&self) -> Range<usize> {
        self.first..self.first + self.arms.len() - 1
    }
}

impl Level {
    /// The least of its moves, bytes.
    pub fn least(&self) -> f64 {
        self.up.iter().chain(&self.down).map(|(_, by)| *by).fold(f64::INFINITY, f64::min)
    }
}

impl Arm {
    /// A call, or the step over one.
    pub fn is_call(&self) -> bool {
        matches!(self.kind, ArmKind::Call { .. } | ArmKind::Skip { .. })
    }
}

#[cfg(test)]
mod tests {
    use crate::skid::testing::{called, threaded};

    #[test]
    fn ways_are_those_of_one_choice() {
        for region in [called(), threaded()] {
            for arm in 0..region.arms.len() {
                let choice = region.decisions.iter().find(|decision| decision.arms.contains(&arm));
                assert_eq!(region.ways(arm), choice.map_or(arm..arm + 1, |choice| choice.arms.clone()));
            }
        }
    }
}
