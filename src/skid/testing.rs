//! Code and its samples for tests.

use super::classes::Classes;
use super::folded::{Counts, Folded};
use super::hold::Reporting;
use super::{Model, assemble};
use crate::code::testing::{Bytes, NoStubs};
use crate::code::{Program, Told, explore};

/// A loop around two instructions that may be skipped, with `samples` for each of its six, and with `timed` as many cycles.
pub fn skipping(samples: [f64; 6], timed: bool, reporting: Reporting) -> Model {
    // 0: je 4; 2: nop; 3: nop; 4: dec %edi; 6: jne 0; 8: ret
    let code = Bytes(0, vec![0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xf8, 0xc3]);
    let program = Program::link(vec![(0, explore(&code, 0..9, &[]))], &NoStubs, &Told::default());
    let weight = samples.iter().enumerate().map(|(inst, n)| ((0, inst), 1000.0 * n)).collect();
    let folded = Folded { weight, period: 1000.0, counts: Counts::Instructions, exact: false };
    let (classes, time) = (Classes::of(&program), timed.then(|| folded.clone()));
    assemble::model(&program, &classes, &[0], &[folded], time.as_ref(), reporting, &|_, _| true)
}
