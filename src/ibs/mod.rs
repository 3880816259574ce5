//! The registers of AMD's Instruction-Based Sampling → what they say of one fetch or one op, and counts of it.
//!
//! In: the bytes that the kernel puts into `PERF_SAMPLE_RAW` of `ibs_fetch//` and `ibs_op//` samples, a capability word and
//! then registers; and, of any processor, a sample's data source and weight. Out: decoded samples, their text as `perf
//! report -D` has it, and tables whose columns count them. It knows the registers of families 10h to 1Ah and which errata
//! make which field void; it knows nothing of binaries or of where a sample stands.
//!
//! What a bit means depends on the capability word of the sample, and in a few places on the processor's family and model
//! ([`Dialect`]). Bits that neither explains are carried and named by their number, never guessed.
//!
//! Sources: AMD, *BIOS and Kernel Developer's Guide* for families 10h, 12h, 14h, 15h and 16h, *Processor Programming
//! Reference* for families 17h, 19h and 1Ah (MSRC001_1030 to MSRC001_103D, CPUID Fn8000_001B_EAX), and the revision guides
//! with their errata; Linux, `arch/x86/events/amd/ibs.c`; P. J. Drongowski, *Instruction-Based Sampling*, AMD, 2007, for the
//! tables. The derived events are those of AMD's *Software Optimization Guide*, appendix on IBS, event selects F000h to F24Ch.

mod capabilities;
mod column;
mod data_source;
mod dialect;
mod event;
mod fetch;
mod memory;
mod op;
mod raw;
pub mod register;
mod straddle;
mod tally;
mod text;

pub use capabilities::Capabilities;
pub use column::{Cell, Column, FETCH, MEMORY, OP, Value, tally};
pub use data_source::DataSource;
pub use dialect::{Dialect, Processor};
pub use event::{Counting, Kind, events, is_forwarded, lacks_registers};
pub use fetch::{Fetch, PageSize};
pub use memory::{Access, Level};
pub use op::{Op, Translation};
pub use raw::{Damage, Raw};
pub use straddle::{FETCH_BLOCK, straddling};
pub use tally::{Tally, Unknown};
pub use text::{fetch as fetch_text, op as op_text};
