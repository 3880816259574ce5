//! Callchains that fit: they begin at the address, and every return address in them stands behind a call that leads inwards.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use object::{Object, ObjectSegment};
use skidconv::perfdata::Callchain;

use crate::fixed::{Fixed, Seen, all, cases, symfs, the};
use crate::recording::{Recording, USER};
use crate::tool::{compile, folder};
use crate::truth::{Functions, Graph, Truth};

/// The entries of the mode of the sample, if it has a chain.
fn own(sample: &Seen) -> &[u64] {
    let start = sample.chain.iter().rposition(|&entry| Callchain::is_marker(entry)).map_or(0, |at| at + 1);
    &sample.chain[start..]
}

#[test]
fn the_address_is_the_first_entry_of_the_chain() {
    for fixed in cases().iter().chain(all()) {
        let mut chains = 0;
        for (before, after) in fixed.samples() {
            if own(&before).first() == Some(&before.ip) {
                assert_eq!(own(&after).first(), Some(&after.ip), "{}", fixed.name);
                chains += 1;
            }
        }
        let has_chains = ["branchy", "mcf_like"].contains(&fixed.name.as_str());
        assert!(chains > 10_000 || !has_chains, "{}: {chains} chains", fixed.name);
    }
}

/// Instructions of a stub.
const STUB: usize = 3;

/// What a return address stands behind.
#[derive(Debug, PartialEq)]
enum Call {
    Direct(u64),
    Indirect,
    None,
}

/// The code of a program, to look at calls.
struct Code(Vec<(u64, Vec<u8>)>);

impl Code {
    fn of(program: &Path) -> Code {
        let bytes = std::fs::read(program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        Code(file.segments().map(|s| (s.address(), s.data().unwrap().to_vec())).collect())
    }

    fn before(&self, address: u64, len: usize) -> &[u8] {
        let at = |(start, bytes): &&(u64, Vec<u8>)| {
            (start + len as u64..start + bytes.len() as u64).contains(&address)
        };
        let Some((start, bytes)) = self.0.iter().find(at) else { return &[] };
        let end = (address - start) as usize;
        &bytes[end - len..end]
    }

    /// `e8` and four bytes, or `ff /2` in one of its lengths.
    fn call_before(&self, back: u64) -> Call {
        if let &[0xe8, a, b, c, d] = self.before(back, 5) {
            return Call::Direct(back.wrapping_add_signed(i32::from_le_bytes([a, b, c, d]).into()));
        }
        let indirect = |len| matches!(self.before(back, len), [0xff, modrm, ..] if modrm >> 3 & 7 == 2);
        if (2..=7).any(indirect) { Call::Indirect } else { Call::None }
    }
}

/// Checks the chains of all samples that are in another function than before, and returns how many are.
fn crossings(fixed: &Fixed, program: &Path, graph: &Graph, functions: &Functions) -> u64 {
    let code = Code::of(program);
    let mut crossed = 0;
    for (before, after) in fixed.samples() {
        let (old, new) = (own(&before), own(&after));
        if new.is_empty() {
            assert!(old.is_empty(), "{}: the chain is as it was", fixed.name);
        } else if old[1..] == new[1..] {
            let leads = leads(graph, functions, functions.around(after.ip), functions.around(before.ip));
            assert!(leads, "{}: {:#x} → {:#x} with the same callers", fixed.name, before.ip, after.ip);
        } else {
            assert_calls(fixed, functions, (&code, graph), old, new);
            crossed += 1;
        }
    }
    crossed
}

/// Whether who calls `from` may find himself in `to`: the same function, or one at the end of a jump, to it or to a stub that
/// was seen to lead there. Stubs, which jump to wherever the linker sees fit, are in no function.
fn leads(graph: &Graph, functions: &Functions, from: Option<u64>, to: Option<u64>) -> bool {
    match (from, to) {
        (Some(from), Some(to)) => {
            let leads = |stub| graph.steps(stub, &HashSet::from([to]), STUB).contains_key(&to);
            let mut stubs = graph.jumps(from).filter(|&at| functions.around(at).is_none());
            from == to || graph.tail_calls(from, to) || stubs.any(leads)
        }
        _ => true,
    }
}

/// Every return address of the `new` chain that is not in the `old` one, and the first that is, stand behind a call of what
/// is inside.
fn assert_calls(
    fixed: &Fixed,
    functions: &Functions,
    (code, graph): (&Code, &Graph),
    old: &[u64],
    new: &[u64],
) {
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut inner = functions.around(new[0]);
    for &back in new[1..].iter().take(new.len() - same) {
        let told = || format!("{}: {old:x?} → {new:x?}: {back:#x}", fixed.name);
        match code.call_before(back) {
            Call::Direct(to) => {
                assert!(
                    leads(graph, functions, functions.around(to), inner),
                    "{} returns from elsewhere",
                    told()
                )
            }
            Call::Indirect => {}
            Call::None => panic!("{} follows no call", told()),
        }
        inner = functions.around(back);
    }
}

#[test]
fn a_sample_that_moved_into_another_function_has_a_chain_of_calls_that_lead_there() {
    for case in ["branchy", "mcf_like"] {
        let program = symfs().join(format!("opt/cases/{case}/{case}"));
        let crossed = crossings(the(case), &program, Truth::of(case).graph(), &Functions::of_case(case));
        eprintln!("{case}: {crossed} moved into a caller or a callee");
        assert!(crossed > 100 || case == "branchy", "{case}: {crossed} moved to other functions");
    }
}

/// Two functions that call a third.
const CALLS: &str = "
.text
.globl _start
.type _start, @function
_start:
    mov $1000000, %ebx
1:  call left
    call right
    dec %ebx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
.size _start, . - _start
.type left, @function
left:
    push %rbp
    mov %rsp, %rbp
    imul %eax, %eax
    call leaf
    add $1, %eax
    pop %rbp
    ret
.size left, . - left
.type right, @function
right:
    push %rbp
    mov %rsp, %rbp
    imul %edx, %edx
    imul %edx, %edx
    call leaf
    add $1, %edx
    pop %rbp
    ret
.size right, . - right
.type leaf, @function
leaf:
    push %rbp
    mov %rsp, %rbp
    add $3, %esi
    xor %esi, %edi
    pop %rbp
    ret
.size leaf, . - leaf
";

#[test]
fn samples_of_a_shared_callee_move_into_the_caller_that_their_chain_names() {
    let folder = folder("calls");
    let program = compile(&folder, "calls", CALLS, &["-nostdlib", "-static", "-no-pie"]);
    let functions = Functions::of_program(&program);
    let start = |name: &str| functions.start(name);
    // behind `call left`, `call right`; behind `call leaf` in either
    let (from_left, from_right) = (start("_start") + 10, start("_start") + 15);
    let (in_left, in_right) = (start("left") + 12, start("right") + 15);
    let mut recording = Recording { events: vec![vec![5]], ..Recording::default() };
    let page = start("_start") & !0xfff;
    recording.records.push(recording.mmap(&program, page, 0x1000, 0x1000));
    let mut sample = |n: u64, chain: &[u64]| {
        let chain = [&[USER], chain].concat();
        recording.records.push(recording.sample(5, chain[1], 1000 + n, &chain));
    };
    for n in 0..3000 {
        let leaf = start("leaf") + [1, 4, 7, 9][n as usize % 4];
        match n % 3 {
            0 => sample(n, &[leaf, in_left, from_left]),
            1 => sample(n, &[leaf, in_right, from_right]),
            _ if n % 2 == 0 => sample(n, &[start("right") + 7, from_right]),
            _ => sample(n, &[start("left") + 7, from_left]),
        }
    }
    let data = folder.join("calls.data");
    std::fs::write(&data, recording.file()).unwrap();
    let fixed = Fixed::new("calls", &folder, &data, None, &[]);
    let crossed = crossings(&fixed, &program, &Graph::of(&program), &functions);
    assert!(crossed > 100, "{crossed} moved to other functions");
}

#[test]
fn chains_grow_and_shrink_by_few_calls() {
    for fixed in cases().iter().filter(|f| f.name != "nist_fn") {
        let mut grown: BTreeMap<i64, u64> = BTreeMap::new();
        for (before, after) in fixed.samples() {
            *grown.entry(after.chain.len() as i64 - before.chain.len() as i64).or_default() += 1;
        }
        assert!(grown.keys().all(|by| by.abs() <= 4), "{}: {grown:?}", fixed.name);
    }
}
