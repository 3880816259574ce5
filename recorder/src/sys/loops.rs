//! Code whose counts are known, to see where interrupts report it.
//!
//! Each loop is one that says one thing: in [`DIVIDES`] and [`LOADS`] all time is spent on one instruction; in [`SLED`] one
//! branch is far from the next; in [`BRANCHES`] one branch is guessed wrong every other time.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

/// Divides, each of which needs the one before.
pub const DIVIDES: &str = "divides";
/// Loads from memory that no cache holds, each of which needs the one before.
pub const LOADS: &str = "loads";
/// No-operations, and one branch back.
pub const SLED: &str = "sled";
/// A branch that goes one way or the other by chance, and back.
pub const BRANCHES: &str = "branches";

/// Lines of memory that [`LOADS`] goes round: 64 MiB.
const LINES: usize = 1 << 20;

/// A loop, ready to run.
pub struct Loop {
    /// Which.
    pub name: &'static str,
    /// Where its code begins.
    pub address: u64,
    /// Its code.
    pub bytes: Vec<u8>,
    /// Instructions and branches of a turn, on average.
    pub per_turn: (f64, f64),
    code: Code,
    memory: Vec<[usize; 8]>,
}

type Code = unsafe extern "C" fn(turns: u64, memory: *const [usize; 8]);

impl Loop {
    /// Runs it so many times.
    pub fn run(&self, turns: u64) {
        // SAFETY: the code keeps to the calling convention: it changes registers that the caller does not count on, and no
        // memory. It reads only `memory`, and only in `LOADS`, whose lines hold addresses of lines.
        unsafe { (self.code)(turns.max(1), self.memory.as_ptr()) }
    }

    /// All that there are for this processor's architecture.
    pub fn all() -> Vec<Loop> {
        code::all()
    }
}

/// Addresses of lines in one cycle through all, in no order (Sattolo, 1986).
fn lines() -> Vec<[usize; 8]> {
    let mut order: Vec<usize> = (0..LINES).collect();
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    for last in (1..LINES).rev() {
        order.swap(last, generator.random_range(0..last));
    }
    let mut lines = vec![[0; 8]; LINES];
    let first = lines.as_ptr() as usize;
    for (line, next) in lines.iter_mut().zip(order) {
        line[0] = first + next * size_of::<[usize; 8]>();
    }
    lines
}

#[cfg(target_arch = "x86_64")]
mod code {
    use super::{BRANCHES, Code, DIVIDES, LOADS, Loop, SLED};
    use std::arch::global_asm;

    global_asm!(
        ".pushsection .text.skidconv_loops, \"ax\", @progbits",
        ".p2align 6",
        ".globl skidconv_loop_divides",
        ".hidden skidconv_loop_divides",
        "skidconv_loop_divides:",
        "mov r8d, 3",
        "movabs rsi, 0x7fffffffffffffff",
        "mov rax, rsi",
        "2: xor edx, edx",
        "div r8",
        "add r9, 1",
        "add r10, 1",
        "add r11, 1",
        "nop",
        "or rax, rsi",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".p2align 6",
        ".globl skidconv_loop_loads",
        ".hidden skidconv_loop_loads",
        "skidconv_loop_loads:",
        "2: mov rsi, [rsi]",
        "add r9, 1",
        "add r10, 1",
        "add r11, 1",
        "nop",
        "add r8, 1",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".p2align 6",
        ".globl skidconv_loop_sled",
        ".hidden skidconv_loop_sled",
        "skidconv_loop_sled:",
        "2: .rept 1000",
        "nop",
        ".endr",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".p2align 6",
        ".globl skidconv_loop_branches",
        ".hidden skidconv_loop_branches",
        "skidconv_loop_branches:",
        // xorshift64 (Marsaglia, 2003)
        "movabs rax, 0x9e3779b97f4a7c15",
        "2: mov rdx, rax",
        "shl rdx, 13",
        "xor rax, rdx",
        "mov rdx, rax",
        "shr rdx, 7",
        "xor rax, rdx",
        "mov rdx, rax",
        "shl rdx, 17",
        "xor rax, rdx",
        "test al, 1",
        "jz 3f",
        ".rept 40",
        "nop",
        ".endr",
        "3: .rept 40",
        "nop",
        ".endr",
        "dec rdi",
        "jnz 2b",
        "ret",
        ".globl skidconv_loops_end",
        ".hidden skidconv_loops_end",
        "skidconv_loops_end:",
        ".popsection",
    );

    unsafe extern "C" {
        fn skidconv_loop_divides(turns: u64, memory: *const [usize; 8]);
        fn skidconv_loop_loads(turns: u64, memory: *const [usize; 8]);
        fn skidconv_loop_sled(turns: u64, memory: *const [usize; 8]);
        fn skidconv_loop_branches(turns: u64, memory: *const [usize; 8]);
        fn skidconv_loops_end(turns: u64, memory: *const [usize; 8]);
    }

    pub(super) fn all() -> Vec<Loop> {
        let loops: [(&str, Code, (f64, f64)); 4] = [
            (DIVIDES, skidconv_loop_divides, (9.0, 1.0)),
            (LOADS, skidconv_loop_loads, (8.0, 1.0)),
            (SLED, skidconv_loop_sled, (1002.0, 1.0)),
            (BRANCHES, skidconv_loop_branches, (73.0, 2.0)),
        ];
        let ends = [loops[1].1, loops[2].1, loops[3].1, skidconv_loops_end as Code];
        let made = loops.into_iter().zip(ends).map(|((name, code, per_turn), end)| {
            let (start, len) = (code as usize, end as usize - code as usize);
            // SAFETY: the code of the loops is one piece in the order above, readable as all code, and never written.
            let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, len) }.to_vec();
            let memory = if name == LOADS { super::lines() } else { vec![] };
            Loop { name, address: start as u64, bytes, per_turn, code, memory }
        });
        made.collect()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod code {
    pub(super) fn all() -> Vec<super::Loop> {
        vec![]
    }
}
