//! Code bytes → instructions → blocks → loops, and functions linked by their calls.
//!
//! In: the bytes of sampled functions, and addresses known to be instructions (the samples themselves). Out: functions with
//! their control-flow graph, dominators and loops, and a [`Program`] that links calls and returns between them. It knows
//! x86 and nothing of files, samples or statistics.

mod beside;
mod callbacks;
mod cfg;
mod chances;
mod condition;
mod constants;
mod course;
mod decode;
mod dominators;
mod effect;
mod entry;
mod explore;
mod followed;
mod frame;
mod function;
mod guess;
mod here;
mod implicit;
mod induction;
mod inst;
mod jump_table;
mod known;
mod linear;
mod link;
mod loops;
mod meaning;
mod mnemonic;
mod operand;
mod program;
mod references;
mod returns;
mod source;
mod stacks;
mod state;
mod stored;
mod stride;
mod sum;
#[cfg(test)]
pub(crate) mod testing;
mod through;
mod trips;
mod values;
mod vector;
mod width;

pub use callbacks::{Callbacks, Memory};
pub use cfg::{Block, BlockIx, Cfg, Edge, EdgeKind, Exit};
pub use decode::{Bitness, decode, disassemble};
pub use dominators::Dominators;
pub use effect::{Effect, Number, Operation};
pub use explore::{discover, explore, instructions};
pub use function::{Chance, Function, Stack};
pub use inst::{Address, Flow, Inst, Kind, Registers};
pub use link::{Linker, Seen, Slot, Taken, Told};
pub use loops::{Counted, Loop, LoopIx, Loops};
pub use mnemonic::Mnemonic;
pub use operand::{Operand, operands};
pub(crate) use program::MOST_INSIDE;
pub(crate) use program::closure;
pub use program::{CallSite, FunctionIx, Place, Program, Target};
pub use references::References;
pub use returns::{Callee, returns};
pub use source::Source;
pub use stored::stored;
pub use stride::Stride;
pub use sum::Sum;
