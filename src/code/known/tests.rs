use super::super::decode::{Bitness, decode};
use super::*;

/// Numbers at which something happens, and some others.
const NUMBERS: [u64; 9] = [0, 1, 5, 0x7f, 0x80, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x8123_4567_89ab_cdef];

/// What is known behind `code`, if the accumulator, the counter and the data register hold numbers.
fn behind(code: &[u8], [rax, rcx, rdx]: [u64; 3]) -> Known {
    let mut known: Known =
        [(0, rax), (1, rcx), (2, rdx)].map(|(r, n)| (Location::Register(r), Some(n))).into_iter().collect();
    let inst = decode(Bitness::Bits64, 0, code).expect("an instruction");
    assert_eq!(usize::from(inst.len), code.len());
    known.run(&inst, None);
    known
}

fn register(code: &[u8], numbers: [u64; 3], register: u8) -> Option<u64> {
    behind(code, numbers).get(Location::Register(register))
}

/// All pairs of numbers.
fn pairs() -> impl Iterator<Item = (u64, u64)> {
    NUMBERS.into_iter().flat_map(|a| NUMBERS.into_iter().map(move |b| (a, b)))
}

#[test]
fn branches_behind_a_comparison_go_by_what_is_greater() {
    for (a, b) in pairs() {
        let takes = |code: &[u8]| {
            let known = behind(code, [a, b, 0]);
            move |branch: &str| known.takes(branch)
        };
        // cmp %cl,%al; cmp %ecx,%eax; cmp %rcx,%rax
        let all = [
            (takes(&[0x38, 0xc8]), (a as u8).cmp(&(b as u8)), (a as i8).cmp(&(b as i8))),
            (takes(&[0x39, 0xc8]), (a as u32).cmp(&(b as u32)), (a as i32).cmp(&(b as i32))),
            (takes(&[0x48, 0x39, 0xc8]), a.cmp(&b), (a as i64).cmp(&(b as i64))),
        ];
        for (takes, unsigned, signed) in all {
            let told = ["jz", "jnz", "jb", "jnb", "jna", "ja", "jl", "jge", "jle", "jg"].map(takes);
            let meant = [
                (unsigned.is_eq(), unsigned.is_ne()),
                (unsigned.is_lt(), unsigned.is_ge()),
                (unsigned.is_le(), unsigned.is_gt()),
                (signed.is_lt(), signed.is_ge()),
                (signed.is_le(), signed.is_gt()),
            ];
            let meant: Vec<Option<bool>> = meant.iter().flat_map(|&(a, b)| [Some(a), Some(b)]).collect();
            assert_eq!(told[..], meant, "{a:x} {b:x}");
        }
    }
}

#[test]
fn results_are_as_wide_as_their_operands() {
    for (a, b) in pairs() {
        let of = |code: &[u8]| register(code, [a, b, 0], 0);
        let (short, by) = (a as u32, b as u32);
        assert_eq!(of(&[0x01, 0xc8]), Some(u64::from(short.wrapping_add(by))), "add %ecx,%eax");
        assert_eq!(of(&[0x48, 0x29, 0xc8]), Some(a.wrapping_sub(b)), "sub %rcx,%rax");
        assert_eq!(of(&[0x0f, 0xaf, 0xc1]), Some(u64::from(short.wrapping_mul(by))), "imul %ecx,%eax");
        assert_eq!(of(&[0x31, 0xc8]), Some(u64::from(short ^ by)), "xor %ecx,%eax");
        assert_eq!(of(&[0xf7, 0xd8]), Some(u64::from(short.wrapping_neg())), "neg %eax");
        assert_eq!(of(&[0xf7, 0xd0]), Some(u64::from(!short)), "not %eax");
        assert_eq!(of(&[0xd3, 0xe0]), Some(u64::from(short.wrapping_shl(by))), "shl %cl,%eax");
        assert_eq!(of(&[0xd3, 0xe8]), Some(u64::from(short.wrapping_shr(by))), "shr %cl,%eax");
        assert_eq!(of(&[0x48, 0xd3, 0xf8]), Some((a as i64).wrapping_shr(by) as u64), "sar %cl,%rax");
        assert_eq!(of(&[0xd1, 0xc8]), Some(u64::from(short.rotate_right(1))), "ror %eax");
        assert_eq!(of(&[0x48, 0xc1, 0xc0, 7]), Some(a.rotate_left(7)), "rol $7,%rax");
        assert_eq!(of(&[0x0f, 0xb6, 0xc1]), Some(b & 0xff), "movzbl %cl,%eax");
        assert_eq!(of(&[0x48, 0x63, 0xc1]), Some(b as i32 as u64), "movslq %ecx,%rax");
        let sum = short.wrapping_add(by.wrapping_mul(2)).wrapping_sub(1);
        assert_eq!(of(&[0x8d, 0x44, 0x48, 0xff]), Some(u64::from(sum)), "lea -1(%rax,%rcx,2),%eax");
        assert_eq!(of(&[0x83, 0xe0, 0xf0]), Some(u64::from(short & !15)), "and $-16,%eax");
    }
}

#[test]
fn products_fill_two_registers() {
    for (a, b) in pairs() {
        let of = |code: &[u8]| [0, 2].map(|r| register(code, [a, b, 0], r));
        let halves = |wide: u128, bits: u32| {
            let mask = (1 << bits) - 1;
            [wide & mask, wide >> bits & mask].map(|half| Some(half as u64))
        };
        let short = u128::from(a as u32) * u128::from(b as u32);
        assert_eq!(of(&[0xf7, 0xe1]), halves(short, 32), "mul %ecx");
        let signed = i128::from(a as i64) * i128::from(b as i64);
        assert_eq!(of(&[0x48, 0xf7, 0xe9]), halves(signed as u128, 64), "imul %rcx");
    }
}

#[test]
fn what_is_not_followed_is_unknown() {
    let numbers = [7, 3, 0];
    assert_eq!(register(&[0xf7, 0xf1], numbers, 0), None, "div %ecx");
    assert_eq!(register(&[0x8b, 0x01], numbers, 0), None, "mov (%rcx),%eax");
    assert_eq!(register(&[0xb0, 5], numbers, 0), None, "mov $5,%al");
    assert_eq!(register(&[0x0f, 0x44, 0xc1], numbers, 0), None, "cmove %ecx,%eax");
    assert_eq!(behind(&[0x69, 0xc1, 5, 0, 0, 0], numbers).takes("jz"), None, "imul $5,%ecx,%eax");
    assert_eq!(behind(&[0xff, 0xc0], numbers).takes("jb"), None, "inc %eax leaves the carry");
    assert_eq!(behind(&[0xff, 0xc0], numbers).takes("jz"), Some(false));
    assert_eq!(behind(&[0xe8, 0, 0, 0, 0], numbers).get(Location::Register(0)), None, "call");
}

#[test]
fn where_ways_meet_what_both_bring_is_known() {
    let known = |numbers: [u64; 2]| -> Known {
        let slot = Location::Slot(None, -8);
        [(Location::Register(0), Some(numbers[0])), (slot, Some(numbers[1]))].into_iter().collect()
    };
    let mut met = known([1, 2]);
    met.meet(&known([1, 3]));
    let held = [Location::Register(0), Location::Slot(None, -8)].map(|location| met.get(location));
    assert_eq!(held, [Some(1), None]);
}

#[test]
fn a_slot_is_read_as_far_as_it_was_stored() {
    let slot = Some(Location::Slot(None, -8));
    let mut known: Known = [(Location::Register(0), Some(0x1234_5678))].into_iter().collect();
    let mut run = |code: &[u8]| {
        let inst = decode(Bitness::Bits64, 0, code).expect("an instruction");
        known.run(&inst, slot);
        known.get(Location::Register(1))
    };
    run(&[0x89, 0x45, 0xf8]);
    assert_eq!(run(&[0x8b, 0x4d, 0xf8]), Some(0x1234_5678), "mov %eax,-8(%rbp); mov -8(%rbp),%ecx");
    assert_eq!(run(&[0x0f, 0xb6, 0x4d, 0xf8]), Some(0x78), "movzbl -8(%rbp),%ecx");
    assert_eq!(run(&[0x48, 0x8b, 0x4d, 0xf8]), None, "mov -8(%rbp),%rcx");
}
