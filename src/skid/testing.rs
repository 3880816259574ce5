//! Code and its samples for tests.

use super::classes::Classes;
use super::folded::{Counts, Folded};
use super::hold::Reporting;
use super::{Model, Region, assemble};
use crate::code::testing::{Bytes, NoStubs};
use crate::code::{Program, Told, explore};

/// A function of this `code`, and `samples` for each of its instructions from the first on.
pub fn sampled(code: &[u8], samples: &[f64]) -> (Program, Folded) {
    let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
    let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
    let weight = samples.iter().enumerate().map(|(i, n)| ((0, i), n * 7.0)).collect();
    (program, Folded { weight, period: 7.0, counts: Counts::Instructions, exact: false, stray: 0.0 })
}

/// A loop around two instructions that may be skipped, with `samples` for each of its six, and with `timed` as many cycles.
pub fn skipping(samples: [f64; 6], timed: bool, reporting: Reporting) -> Model {
    // 0: je 4; 2: nop; 3: nop; 4: dec %edi; 6: jne 0; 8: ret
    let code = Bytes(0, vec![0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xf8, 0xc3]);
    let program = Program::link(vec![(0, explore(&code, 0..9, &[]))], &NoStubs, &Told::default());
    let weight = samples.iter().enumerate().map(|(inst, n)| ((0, inst), 1000.0 * n)).collect();
    let folded = Folded { weight, period: 1000.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
    let (classes, time) = (Classes::of(&program), timed.then(|| folded.clone()));
    assemble::model(&program, &classes, &[0], &[folded], time.as_ref(), reporting, &|_, _| true)
}

/// A loop that calls a function with a branch in it, and a second root.
pub fn called() -> Region {
    // 0: nop; 1: call 10; 6: dec edi; 8: jne 1; a: ret | 10: je 14; 12: nop; 13: nop; 14: ret | 18: dec; jne 18; ret
    let mut code = vec![0x90, 0xe8, 0x0a, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
    code.resize(0x10, 0xcc);
    code.extend([0x74, 0x02, 0x90, 0x90, 0xc3]);
    code.resize(0x18, 0xcc);
    code.extend([0xff, 0xcf, 0x75, 0xfc, 0xc3]);
    let source = Bytes(0, code);
    let functions = [0..0xb, 0x10..0x15, 0x18..0x1d].map(|r| (0, explore(&source, r, &[])));
    let program = Program::link(functions.into(), &NoStubs, &Told::default());
    Region::build(&program, &Classes::of(&program), &[0, 1, 2], &|_, _| true)
}

/// An interpreter of three operations that ends with the third, with a copy of its switch behind each of the others.
pub fn threaded() -> Region {
    // 0: jmp *20(,%rax,8) — 7: nop; jmp — f: nop; nop; jmp — 18: ret — the table at 20
    let jump = [0xff, 0x24, 0xc5, 0x20, 0, 0, 0];
    let mut code = [&jump[..], &[0x90], &jump, &[0x90, 0x90], &jump, &[0xc3]].concat();
    code.resize(0x20, 0x90);
    code.extend([0x7u64, 0xf, 0x18].iter().flat_map(|target| target.to_le_bytes()));
    let functions = vec![(0, explore(&Bytes(0, code), 0..0x20, &[]))];
    let program = Program::link(functions, &NoStubs, &Told::default());
    Region::build(&program, &Classes::of(&program), &[0], &|_, _| true)
}
