//! Instructions that decide something, each from its bytes.

use super::*;
use crate::code::Kind;

fn long(bytes: &[u8]) -> Inst {
    decode(Bitness::Bits64, 0x1000, bytes).expect("decodes")
}

#[test]
fn a_conditional_branch_has_its_target() {
    let jle = long(&[0x7e, 0xf0]);
    assert_eq!(jle.flow, Flow::Branch(0x0ff2));
    assert!(jle.is_conditional() && jle.falls_through());
    assert_eq!(jle.kind, Kind::Branch);
}

#[test]
fn calls_returns_and_jumps_are_told_apart() {
    assert_eq!(long(&[0xe8, 0xfb, 0xff, 0xff, 0xff]).flow, Flow::Call(0x1000));
    assert_eq!(long(&[0xc3]).flow, Flow::Return);
    assert_eq!(long(&[0xf3, 0xc3]).flow, Flow::Return);
    assert_eq!(long(&[0xff, 0xe0]).flow, Flow::IndirectJump { via: None });
    assert_eq!(long(&[0xff, 0x25, 0x10, 0, 0, 0]).flow, Flow::IndirectJump { via: Some(0x1016) });
    assert_eq!(long(&[0xf2, 0xff, 0x25, 0x10, 0, 0, 0]).flow, Flow::IndirectJump { via: Some(0x1017) });
    assert_eq!(long(&[0xff, 0xd2]).flow, Flow::IndirectCall { via: None });
    assert_eq!(long(&[0x0f, 0x0b]).flow, Flow::Stop);
}

#[test]
fn an_lea_is_no_load_and_a_pop_is_one() {
    let lea = long(&[0x48, 0x8d, 0x0d, 0x13, 0x02, 0, 0]);
    assert!(!lea.loads && !lea.stores);
    assert_eq!(lea.memory.map(|address| address.disp), Some(0x121a));
    let pop = long(&[0x58]);
    assert!(pop.loads && !pop.stores);
    let store = long(&[0x48, 0x89, 0x07]);
    assert!(store.stores && !store.loads);
}

#[test]
fn a_compare_of_memory_with_a_constant_does_not_fuse_everywhere() {
    assert!(long(&[0x3b, 0x39]).fuses, "cmp (%rcx),%edi");
    let constant = long(&[0x83, 0x39, 0x05]);
    assert!(!constant.fuses && constant.fuses_constant, "cmpl $5,(%rcx)");
    assert!(long(&[0x48, 0x85, 0xc0]).fuses, "test %rax,%rax");
    assert!(!long(&[0x48, 0x8d, 0x01]).fuses, "lea");
}

#[test]
fn a_division_joins_what_widens_its_dividend_and_a_multiplication_what_copies_its_factor() {
    let joins = |first: &[u8], second: &[u8]| {
        let before = long(first);
        let after = Inst { address: before.end(), ..long(second) };
        after.joins(&before)
    };
    let (cqo, clear, other) = (&[0x48, 0x99][..], &[0x31, 0xd2][..], &[0x31, 0xc9][..]);
    let (idiv, of_memory) = (&[0x48, 0xf7, 0xf9][..], &[0x48, 0xf7, 0x39][..]);
    assert!(joins(cqo, idiv) && joins(clear, idiv), "cqo; xor %edx,%edx");
    assert!(!joins(other, idiv) && !joins(cqo, of_memory) && !joins(cqo, &[0x90]));
    let (copy, load) = (&[0x49, 0x89, 0xfa][..], &[0x4c, 0x8b, 0x17][..]);
    assert!(joins(copy, &[0x4c, 0x0f, 0xaf, 0xd1]), "mov %rdi,%r10; imul %rcx,%r10");
    assert!(!joins(copy, &[0x48, 0x0f, 0xaf, 0xf9]), "imul %rcx,%rdi");
    assert!(!joins(load, &[0x4c, 0x0f, 0xaf, 0xd1]), "mov (%rdi),%r10");
    assert!(!joins(copy, &[0x49, 0xf7, 0xe2]), "mul %r10 makes two registers");
}

#[test]
fn kinds_follow_the_mnemonic() {
    assert_eq!(long(&[0x48, 0xf7, 0xf9]).kind, Kind::Divide);
    assert_eq!(long(&[0xf2, 0x0f, 0x5e, 0xc1]).kind, Kind::FloatDivide);
    assert_eq!(long(&[0xf2, 0x0f, 0x59, 0xc1]).kind, Kind::Float);
    assert_eq!(long(&[0xf0, 0x48, 0x0f, 0xb1, 0x0f]).kind, Kind::Atomic);
    assert_eq!(long(&[0x66, 0x0f, 0x1f, 0x44, 0, 0]).kind, Kind::Nop);
}

#[test]
fn what_is_overwritten_is_not_needed() {
    let general = |numbers: &[u8]| {
        numbers.iter().map(|&n| Registers::general(n)).fold(Registers::default(), Registers::or)
    };
    let vector = |n| Registers::vector(n);
    assert_eq!(long(&[0x6b, 0xce, 0x07]).reads, general(&[6]), "imul $7,%esi,%ecx");
    assert_eq!(long(&[0x0f, 0xaf, 0xce]).reads, general(&[6, 1]), "imul %esi,%ecx");
    assert_eq!(long(&[0x8b, 0x04, 0x90]).reads, general(&[0, 2]), "mov (%rax,%rdx,4),%eax");
    assert_eq!(long(&[0xf3, 0x0f, 0xbc, 0xc6]).reads, general(&[6]), "tzcnt %esi,%eax");
    assert_eq!(long(&[0x66, 0x0f, 0xd7, 0xc1]).reads, vector(1), "pmovmskb %xmm1,%eax");
    assert_eq!(long(&[0x66, 0x0f, 0x70, 0xc1, 0xee]).reads, vector(1), "pshufd $0xee,%xmm1,%xmm0");
    assert_eq!(long(&[0xf2, 0x0f, 0x2c, 0xc1]).reads, vector(1), "cvttsd2si %xmm1,%eax");
    assert_eq!(long(&[0xf2, 0x0f, 0x10, 0x06]).reads, general(&[6]), "movsd (%rsi),%xmm0");
}

#[test]
fn what_may_stay_or_stays_in_part_is_needed() {
    let (ecx, edx) = (Registers::general(1), Registers::general(2));
    assert_eq!(long(&[0x0f, 0x4c, 0xd1]).reads, ecx.or(edx).or(Registers::FLAGS), "cmovl %ecx,%edx");
    assert_eq!(long(&[0x0f, 0x4c, 0x11]).reads, ecx.or(edx).or(Registers::FLAGS), "cmovl (%rcx),%edx");
    let both = Registers::vector(0).or(Registers::vector(1));
    assert_eq!(long(&[0xf2, 0x0f, 0x10, 0xc1]).reads, both, "movsd %xmm1,%xmm0");
    assert_eq!(long(&[0x0f, 0x16, 0x01]).reads, ecx.or(Registers::vector(0)), "movhps (%rcx),%xmm0");
    let store = long(&[0x0f, 0x17, 0x01]); // movhps %xmm0,(%rcx)
    assert!(store.stores && !store.loads);
}

#[test]
fn bytes_that_are_no_instruction_decode_to_nothing() {
    assert!(decode(Bitness::Bits64, 0, &[0x06]).is_none());
    assert!(decode(Bitness::Bits64, 0, &[]).is_none());
    assert!(decode(Bitness::Bits64, 0, &[0xe8, 0x01]).is_none(), "cut short");
    assert!(decode(Bitness::Bits32, 0, &[0x06]).is_some(), "push %es exists in 32-bit code");
}

#[test]
fn thirty_two_bit_targets_wrap_at_four_gigabytes() {
    let jump = decode(Bitness::Bits32, 0xffff_fff0, &[0xe9, 0x20, 0, 0, 0]).expect("decodes");
    assert_eq!(jump.flow, Flow::Jump(0x15));
}

#[test]
fn operands_are_kept_as_addresses_are_made_of_them() {
    let slot = Some(Address { base: Some(5), disp: -16, ..Address::default() });
    let counter = long(&[0x83, 0x45, 0xf0, 0x01]); // addl $1,-16(%rbp)
    assert_eq!(counter.memory, slot);
    assert_eq!(counter.effect, Effect::Add { to: Number::Memory, from: Number::Constant(1), minus: false });
    let wide = long(&[0x48, 0x69, 0xd2, 0xdc, 0, 0, 0]); // imul $0xdc,%rdx,%rdx
    let rdx = Number::Register(2);
    assert_eq!(wide.effect, Effect::Scale { to: rdx, from: rdx, by: 0xdc });
    let gather = long(&[0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88]); // vgatherdps %ymm2,(%rax,%ymm1,4),%ymm0
    assert!(gather.memory.is_some_and(|m| m.opaque));
}

#[test]
fn what_the_decoder_calls_complex_has_effects_too() {
    let [rax, rcx, rdx] = [0, 1, 2].map(Registers::general);
    let r11 = Registers::general(11);
    assert_eq!(long(&[0x0f, 0x05]).writes, rax.or(rcx).or(r11), "syscall");
    assert_eq!(long(&[0x0f, 0x31]).writes, rax.or(rdx), "rdtsc");
    let bts = long(&[0x48, 0x0f, 0xab, 0x07]); // bts %rax,(%rdi)
    assert!(bts.loads && bts.stores && bts.writes == Registers::FLAGS);
    let gather = long(&[0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88]); // vgatherdps %ymm2,(%rax,%ymm1,4),%ymm0
    assert!(gather.loads && !gather.stores && gather.writes == Registers::vector(0));
    let xsave = long(&[0x0f, 0xae, 0x20]); // xsave (%rax)
    assert!(xsave.stores && !xsave.loads && xsave.writes.is_empty());
}

#[test]
fn strings_read_and_write_what_they_say_and_count_where_they_repeat() {
    let rcx = Registers::general(1);
    let [scan, store, both] = [&[0xae][..], &[0xf3, 0xaa], &[0xf3, 0xa4]].map(long);
    assert!(scan.loads && !scan.stores && scan.writes.and(rcx).is_empty(), "scasb");
    assert!(!store.loads && store.stores && store.writes.and(rcx) == rcx, "rep stosb");
    assert!(both.loads && both.stores && both.reads.and(rcx) == rcx, "rep movsb");
}

#[test]
fn the_second_byte_of_a_register_is_no_copy_of_it() {
    let high = long(&[0x0f, 0xb6, 0xcc]); // movzbl %ah,%ecx
    assert_eq!((high.reads, high.writes), (Registers::general(0), Registers::general(1)));
    assert_eq!(high.effect, Effect::Other);
    let low = long(&[0x0f, 0xb6, 0xc8]); // movzbl %al,%ecx
    assert_eq!(low.effect, Effect::Copy { to: Number::Register(1), from: Number::Register(0) });
}

#[test]
fn what_writes_a_part_of_a_register_makes_no_number_of_it() {
    assert_eq!(long(&[0x30, 0xc9]).effect, Effect::Other, "xor %cl,%cl");
    assert_eq!(long(&[0x66, 0xff, 0xc0]).effect, Effect::Other, "inc %ax");
    let compared = Effect::Compare { left: Number::Register(0), right: Number::Constant(5) };
    assert_eq!(long(&[0x3c, 5]).effect, compared, "cmp $5,%al");
}

#[test]
fn a_prefetch_waits_for_nothing() {
    for prefetch in
        [[0x0f, 0x18, 0x07], [0x0f, 0x18, 0x0f], [0x0f, 0x18, 0x17], [0x0f, 0x0d, 0x0f]].map(|b| long(&b))
    {
        assert!(!prefetch.loads && !prefetch.stores && prefetch.memory.is_some(), "{}", &*prefetch.mnemonic);
    }
}

#[test]
fn what_lies_in_a_segment_has_no_address_that_is_known() {
    let canary = long(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]); // mov %fs:0x28,%rax
    assert_eq!(canary.memory.map(|m| (m.opaque, m.fixed())), Some((true, None)));
    assert!(canary.loads && canary.reads.is_empty());
    let call = long(&[0x65, 0xff, 0x14, 0x25, 0x10, 0, 0, 0]); // call *%gs:0x10
    assert_eq!(call.flow, Flow::IndirectCall { via: None });
    assert_eq!(long(&[0x65, 0x8b, 0x04, 0x90]).reads, Registers(0b101), "mov %gs:(%rax,%rdx,4),%eax");
}

#[test]
fn an_address_in_the_upper_half_stands_in_four_bytes() {
    let call = [0xff, 0x14, 0x25, 0xd8, 0xa1, 0xc3, 0x82]; // call *0xffffffff82c3a1d8
    assert_eq!(long(&call).flow, Flow::IndirectCall { via: Some(0xffff_ffff_82c3_a1d8) });
    let short = decode(Bitness::Bits32, 0, &[0xff, 0x15, 0xd8, 0xa1, 0xc3, 0x82]).expect("decodes");
    assert_eq!(short.flow, Flow::IndirectCall { via: Some(0x82c3_a1d8) });
}

#[test]
fn slow_instructions_are_no_quick_ones() {
    assert_eq!(long(&[0xf3, 0x90]).kind, Kind::System, "pause");
    assert_eq!(long(&[0x90]).kind, Kind::Nop, "nop");
    assert_eq!(long(&[0xd9, 0xfe]).kind, Kind::System, "fsin");
    assert_eq!(long(&[0x0f, 0xc7, 0xf0]).kind, Kind::System, "rdrand %eax");
    assert_eq!(long(&[0xf2, 0x0f, 0x38, 0xf1, 0xc8]).kind, Kind::Multiply, "crc32 %eax,%ecx");
}

#[test]
fn a_breakpoint_stops() {
    assert_eq!(long(&[0xcc]).flow, Flow::Stop, "int3");
    assert_eq!(long(&[0xcd, 0x80]).flow, Flow::Next, "int $0x80");
}

#[test]
fn sums_of_three_operands_and_what_is_masked_need_what_they_change() {
    let reads = |bytes: &[u8], register: u8| !long(bytes).reads.and(Registers::vector(register)).is_empty();
    assert!(reads(&[0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2], 0), "vpdpbusd %zmm2,%zmm1,%zmm0");
    assert!(reads(&[0x62, 0xf3, 0x75, 0x48, 0x25, 0xc2, 0x96], 0), "vpternlogd $0x96,%zmm2,%zmm1,%zmm0");
    assert!(reads(&[0xf2, 0x0f, 0x2a, 0xc0], 0), "cvtsi2sd %eax,%xmm0");
    assert!(!reads(&[0xc5, 0xf3, 0x2a, 0xc0], 0), "vcvtsi2sd %eax,%xmm1,%xmm0");
    assert!(reads(&[0x62, 0xf1, 0xf5, 0x49, 0x58, 0xc2], 0), "vaddpd %zmm2,%zmm1,%zmm0, k1 set");
    assert!(
        !reads(&[0x62, 0xf1, 0xf5, 0xc9, 0x58, 0xc2], 0),
        "vaddpd %zmm2,%zmm1,%zmm0, k1 set, else cleared"
    );
    assert!(!reads(&[0x62, 0xf1, 0xf5, 0x48, 0x58, 0xc2], 0), "vaddpd %zmm2,%zmm1,%zmm0");
}

#[test]
fn a_number_that_is_put_into_a_vector_is_needed_and_a_status_that_is_stored_is_written() {
    let pinsrd = long(&[0x66, 0x0f, 0x3a, 0x22, 0xc0, 0x01]);
    assert_eq!(pinsrd.reads, Registers::general(0).or(Registers::vector(0)));
    assert_eq!(long(&[0xdf, 0xe0]).writes, Registers::general(0), "fnstsw %ax");
    assert_eq!(long(&[0xe3, 0xfe]).writes, Registers::default(), "jrcxz");
}
