//! Branches that go by what their loop computes of nothing else: counters modulo a constant, generators of random numbers.
//!
//! In: a function's numbers. Out: how often such branches are taken. The loop runs on numbers alone ([`super::course`]), from its
//! beginning to its end where both are known, else some way from several places; then a branch counts if it is taken as often from
//! each of them. It knows nothing of data, and takes it that what changes in a loop goes through its numbers evenly: what happens
//! in its first turns alone tells nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::BlockIx;
use super::course::{Course, Turn, passed, stays};
use super::effect::Effect;
use super::followed::Numbers;
use super::function::{Chance, Function};
use super::induction::Inductions;
use super::loops::LoopIx;
use super::state::Location;

/// Places that a loop is begun from …
const BEGINNINGS: u64 = 8;
/// … stretches that it goes on for from each …
const STRETCHES: usize = 2;
/// … and turns of a stretch.
const TURNS: u64 = 512;
/// Turns of a loop that ends by itself, at most.
const LONGEST: u64 = 4096;
/// Instructions of a loop, at most …
const LARGEST: usize = 500;
/// … and that are run for all loops of a function.
const MOST: usize = 1 << 22;
/// Standard deviation of the logit of what numbers decide.
const EXACT: f64 = 0.02;
/// Standard errors by which beginnings may differ.
const DIFFERS: f64 = 4.0;

/// Those of a function.
pub(super) fn chances(numbers: &Numbers<'_>) -> Vec<Chance> {
    let function = numbers.function;
    let loops = 0..function.loops.all.len();
    let candidates: Vec<LoopIx> = loops.filter(|&ix| may_decide(function, ix)).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(inductions) = Inductions::of(numbers) else { return Vec::new() };
    let mut left = MOST;
    let courses = candidates.into_iter().filter_map(|ix| Course::of(&inductions, ix));
    let chances = courses.flat_map(|course| {
        from_beginning(&course, &mut left).unwrap_or_else(|| from_anywhere(&course, &mut left))
    });
    chances.collect()
}

/// Whether a loop has a branch between its own blocks that numbers may decide.
fn may_decide(function: &Function, ix: LoopIx) -> bool {
    let around = &function.loops.all[ix];
    let blocks = || function.loops.blocks(around);
    let size = |b: BlockIx| function.cfg.blocks[b].end - function.cfg.blocks[b].first;
    if blocks().map(size).sum::<usize>() > LARGEST {
        return false;
    }
    let passed = passed(function, around);
    blocks().any(|b| passed.contains(&b) && stays(function, ix, b) && by_numbers(function, b))
}

/// Whether it is numbers that decide at the end of `block`.
fn by_numbers(function: &Function, block: BlockIx) -> bool {
    function.decides(block).is_some_and(|ix| function.insts[ix].effect != Effect::Other)
}

/// How often branches were made and taken; `None` of those that something unknown decided.
#[derive(Default)]
struct Tallies(BTreeMap<BlockIx, Option<Tally>>);

#[derive(Clone, Copy, Default)]
struct Tally {
    made: f64,
    taken: f64,
}

impl Tallies {
    /// `None` if none is left that numbers decide.
    fn count(&mut self, turn: &Turn) -> Option<()> {
        for &(block, takes) in &turn.branches {
            let tally = self.0.entry(block).or_insert(Some(Tally::default()));
            let counted =
                |tally: Tally| Some(Tally { made: tally.made + 1.0, taken: tally.taken + f64::from(takes?) });
            *tally = tally.and_then(counted);
        }
        self.0.values().any(Option::is_some).then_some(())
    }

    /// Whether some branch goes both ways.
    fn vary(&self) -> bool {
        self.0.values().flatten().any(|tally| tally.taken > 0.0 && tally.taken < tally.made)
    }

    fn decided(self) -> impl Iterator<Item = (BlockIx, Tally)> {
        self.0.into_iter().filter_map(|(block, tally)| Some((block, tally?)))
    }
}

/// Of a loop from its beginning to its end; `None` if something unknown may end it before, or it is long.
fn from_beginning(course: &Course<'_>, left: &mut usize) -> Option<Vec<Chance>> {
    let mut known = course.beginning();
    let mut tallies = Tallies::default();
    for _ in 0..LONGEST {
        *left = left.checked_sub(course.size)?;
        let turn = course.turn(known, true);
        tallies.count(&turn).filter(|()| !turn.may_end)?;
        match turn.next {
            Some(next) => known = next,
            None => {
                return Some(
                    tallies.decided().filter_map(|(block, tally)| exact(course.ix, block, tally)).collect(),
                );
            }
        }
    }
    None
}

fn exact(of: LoopIx, block: BlockIx, Tally { made, taken }: Tally) -> Option<Chance> {
    let share = taken / made;
    (share > 0.0 && share < 1.0).then_some(Chance { of, block, whole: true, taken: share, deviation: EXACT })
}

/// Of a loop from several places, as if it went on for ever.
fn from_anywhere(course: &Course<'_>, left: &mut usize) -> Vec<Chance> {
    let mut unknown = BTreeSet::new();
    let mut seen: BTreeMap<BlockIx, Vec<Tally>> = BTreeMap::new();
    for beginning in 0..BEGINNINGS {
        let Some(stretches) = some_turns(course, beginning, &mut unknown, left) else { return Vec::new() };
        if !stretches.iter().all(Tallies::vary) {
            return Vec::new();
        }
        let tallies = stretches.into_iter().flat_map(Tallies::decided);
        tallies.for_each(|(block, tally)| seen.entry(block).or_default().push(tally));
    }
    seen.into_iter().filter_map(|(block, tallies)| alike(course.ix, block, &tallies)).collect()
}

/// Some turns from one place, if so many instructions are `left` to run. What turns out to be `unknown` at the header is so from the
/// first of them on. `None` if nothing is decided.
fn some_turns(
    course: &Course<'_>,
    beginning: u64,
    unknown: &mut BTreeSet<Location>,
    left: &mut usize,
) -> Option<[Tallies; STRETCHES]> {
    'begun: loop {
        let begin = |location| (!unknown.contains(&location)).then(|| some_number(beginning, location));
        let mut known = course.somewhere(begin);
        let mut stretches: [Tallies; STRETCHES] = Default::default();
        for tallies in &mut stretches {
            for _ in 0..TURNS {
                *left = left.checked_sub(course.size)?;
                let turn = course.turn(known, false);
                let next = turn.next.as_ref()?;
                let count = unknown.len();
                unknown.extend(course.written().filter(|&location| next.get(location).is_none()));
                if unknown.len() > count {
                    continue 'begun;
                }
                tallies.count(&turn)?;
                known = turn.next?;
            }
        }
        return Some(stretches);
    }
}

/// Of 21 bits, so that few steps lead neither to 0 nor to the end of the numbers (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014: the finalizer).
fn some_number(beginning: u64, location: Location) -> u64 {
    let place = match location {
        Location::Register(register) => u64::from(register),
        Location::Slot(_, at) => at as u64,
    };
    let mut z = (beginning << 48 ^ place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    1 << 20 | (z ^ z >> 31) & 0xf_ffff
}

/// What stretches from several beginnings say, if all say the same.
fn alike(of: LoopIx, block: BlockIx, tallies: &[Tally]) -> Option<Chance> {
    let sum = |of: fn(&Tally) -> f64| tallies.iter().map(of).sum::<f64>();
    let (made, taken) = (sum(|tally| tally.made), sum(|tally| tally.taken));
    let share = taken / made;
    let one = share * (1.0 - share);
    // one more or less at the ends is chance
    let same = |tally: &Tally| {
        let off = (tally.taken - share * tally.made).abs();
        tally.taken > 0.0 && tally.taken < tally.made && off <= 1.0 + DIFFERS * (one * tally.made).sqrt()
    };
    let all = tallies.len() == BEGINNINGS as usize * STRETCHES && tallies.iter().all(same);
    all.then(|| Chance {
        of,
        block,
        whole: false,
        taken: share,
        deviation: EXACT.hypot((one * made).sqrt().recip()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;

    /// How often branches of `code` are taken.
    fn taken(code: &[u8]) -> Vec<f64> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        function.chances.iter().map(|chance| chance.taken).collect()
    }

    #[test]
    fn a_counter_modulo_a_power_of_two_goes_round() {
        // 0: test $3,%cl; jne 7; inc %eax; 7: inc %ecx; cmp %ecx,%edx; jne 0; ret
        let code = [0xf6, 0xc1, 3, 0x75, 2, 0xff, 0xc0, 0xff, 0xc1, 0x39, 0xca, 0x75, 0xf3, 0xc3];
        assert_eq!(taken(&code), [0.75]);
        // what steps by 4 is as it was given: add $4,%ecx
        let code = [0xf6, 0xc1, 3, 0x75, 2, 0xff, 0xc0, 0x83, 0xc1, 4, 0x39, 0xca, 0x75, 0xf2, 0xc3];
        assert!(taken(&code).is_empty());
    }

    #[test]
    fn a_remainder_made_by_multiplication_is_one() {
        // 0: movslq %ebx,%rdx; imul $0x55555556,%rdx,%rdx; shr $32,%rdx; mov %ebx,%eax; sar $31,%eax; sub %eax,%edx;
        // lea (%rdx,%rdx,2),%eax; cmp %eax,%ebx; jne +2; inc %ecx; inc %ebx; cmp %ebx,%edi; jne 0; ret
        let code = [
            0x48, 0x63, 0xd3, 0x48, 0x69, 0xd2, 0x56, 0x55, 0x55, 0x55, 0x48, 0xc1, 0xea, 0x20, 0x89, 0xd8,
            0xc1, 0xf8, 0x1f, 0x29, 0xc2, 0x8d, 0x04, 0x52, 0x39, 0xc3, 0x75, 2, 0xff, 0xc1, 0xff, 0xc3,
            0x39, 0xdf, 0x75, 0xdc, 0xc3,
        ];
        assert!((taken(&code)[0] - 2.0 / 3.0).abs() < 1e-3, "{:?}", taken(&code));
    }

    #[test]
    fn a_generator_of_random_numbers_is_followed() {
        // 0: imul $0x19660d,%ebx,%ebx; add $0x3c6ef35f,%ebx; mov %ebx,%eax; shr $24,%eax; cmp $64,%eax; jae +2; inc %ecx;
        // dec %edi; jne 0; ret
        let code = [
            0x69, 0xdb, 0x0d, 0x66, 0x19, 0, 0x81, 0xc3, 0x5f, 0xf3, 0x6e, 0x3c, 0x89, 0xd8, 0xc1, 0xe8, 24,
            0x83, 0xf8, 64, 0x73, 2, 0xff, 0xc1, 0xff, 0xcf, 0x75, 0xe4, 0xc3,
        ];
        assert!((taken(&code)[0] - 0.75).abs() < 0.02, "{:?}", taken(&code));
    }

    #[test]
    fn a_loop_that_ends_by_itself_is_gone_through() {
        // mov $10,%ecx; 5: cmp $3,%ecx; jae +2; inc %eax; dec %ecx; jne 5; ret: 10 to 3, then 2 and 1
        let code = [0xb9, 10, 0, 0, 0, 0x83, 0xf9, 3, 0x73, 2, 0xff, 0xc0, 0xff, 0xc9, 0x75, 0xf5, 0xc3];
        assert_eq!(taken(&code), [0.8]);
        // unless something else may end it before: test %edi,%edi; je ret
        let code = [
            0xb9, 10, 0, 0, 0, 0x85, 0xff, 0x74, 11, 0x83, 0xf9, 3, 0x73, 2, 0xff, 0xc0, 0xff, 0xc9, 0x75,
            0xf1, 0xc3,
        ];
        assert!(taken(&code).is_empty());
    }

    #[test]
    fn what_is_loaded_decides_nothing() {
        // 0: mov (%rsi,%rcx,4),%ebx; test $3,%bl; jne +2; inc %eax; inc %rcx; cmp %rcx,%rdx; jne 0; ret
        let code = [
            0x8b, 0x1c, 0x8e, 0xf6, 0xc3, 3, 0x75, 2, 0xff, 0xc0, 0x48, 0xff, 0xc1, 0x48, 0x39, 0xca, 0x75,
            0xee, 0xc3,
        ];
        assert!(taken(&code).is_empty());
    }

    #[test]
    fn a_step_on_one_of_two_ways_that_nobody_knows_is_not_followed() {
        // 0: cmp (%rsi),%eax; je +2; inc %ecx; test $3,%cl; jne +2; inc %eax; dec %edx; jne 0; ret
        let code = [
            0x3b, 0x06, 0x74, 2, 0xff, 0xc1, 0xf6, 0xc1, 3, 0x75, 2, 0xff, 0xc0, 0xff, 0xca, 0x75, 0xef, 0xc3,
        ];
        assert!(taken(&code).is_empty());
    }

    #[test]
    fn what_comes_to_an_end_by_itself_is_not_taken_to_go_on() {
        // 0: test $1,%dl; je +6; cmpw $0,(%rax); jne ret; add $4,%rax; shr %rdx; cmp %rax,%rcx; jne 0; ret: bits of a mask
        let code = [
            0xf6, 0xc2, 1, 0x74, 6, 0x66, 0x83, 0x38, 0, 0x75, 12, 0x48, 0x83, 0xc0, 4, 0x48, 0xd1, 0xea,
            0x48, 0x39, 0xc1, 0x75, 0xe9, 0xc3,
        ];
        assert!(taken(&code).is_empty());
    }

    #[test]
    fn a_branch_behind_one_that_is_decided_is_decided_too() {
        // 0: test $1,%cl; jne 12; test $2,%cl; jne 12; inc %eax; 12: inc %ecx; cmp %ecx,%edx; jne 0; ret
        let code = [
            0xf6, 0xc1, 1, 0x75, 7, 0xf6, 0xc1, 2, 0x75, 2, 0xff, 0xc0, 0xff, 0xc1, 0x39, 0xca, 0x75, 0xee,
            0xc3,
        ];
        assert_eq!(taken(&code), [0.5, 0.5]);
    }

    #[test]
    fn a_counter_in_the_frame_counts() {
        // push %rbp; mov %rsp,%rbp; movl $0,-4(%rbp); 11: mov -4(%rbp),%eax; and $3,%eax; test %eax,%eax; jne +4; addl $1,-8(%rbp);
        // addl $1,-4(%rbp); cmp -4(%rbp),%edi; jne 11; pop %rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0xc7, 0x45, 0xfc, 0, 0, 0, 0, 0x8b, 0x45, 0xfc, 0x83, 0xe0, 3, 0x85,
            0xc0, 0x75, 4, 0x83, 0x45, 0xf8, 1, 0x83, 0x45, 0xfc, 1, 0x3b, 0x7d, 0xfc, 0x75, 0xe9, 0x5d,
            0xc3,
        ];
        assert_eq!(taken(&code), [0.75]);
    }
}
