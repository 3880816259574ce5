//! Which address the interrupt reports: that of the instruction waited for, or of the one after it.
//!
//! Fit alone can't tell; the code can. Time is spent waiting for slow instructions, so where it stands on the quick ones
//! right behind them, the address is one late; where it stands on a slow one that quick ones lead to, it is not. A place speaks as
//! loud as the standard deviations by which it stands out, not as its samples: one load of a hot loop that misses would outvote all
//! others. What else was tried stands in `docs/refuted.md`. Where that speaks for both, the solver finds out under which of them the
//! code runs at its pace, and where only time was sampled it is what is likelier. It knows
//! nothing of what retires as one ([`fusion`]).

use super::core::Shape;
use super::folded::Folded;
use super::fusion;
use super::heads::{Head, heads};
use super::hold::Reporting;
use super::uses;
use crate::code::{Address, Inst, Kind, Program};

/// An instruction is slow beside one that is waited for so many times less.
const CONTRAST: f64 = 2.0;
/// Samples that may stand anywhere: so many tell nothing. Of code that runs once, as when a program starts, there are many places with
/// one, and where its page is brought an interrupt finds the instruction that needed it.
const CHANCE: f64 = 0.5;
/// A place stands out where it holds more than so many times its block's mean.
const NOTICEABLE: f64 = 1.5;
/// Weight of a pair whose second uses what the first computes: on a core that issues in order the second is waited for.
const DEPENDENT: f64 = 0.3;
/// How many times as much a division tells, or what locks memory: they are waited for wherever they run, and loads where they miss.
const CERTAIN: f64 = 8.0;
/// How much longer the first instruction behind a branch is waited for than another, on average, cycles.
const REFILL: f64 = 2.0;
/// Of what a load is waited for, cycles, so much is over where another from beside it is waited for right before.
const HIDDEN: f64 = 0.75;
/// Addresses so near each other are mostly in one line, bytes.
const BESIDE: u64 = 16;
/// Most processors let the instruction that is waited for finish before they take an interrupt.
const LATE: bool = true;
/// Less evidence decides nothing.
pub(super) const LEAST_EVIDENCE: f64 = 5.0;
/// Evidence for one that is so many times that for the other leaves no doubt.
const CLEAR: f64 = 2.5;
/// Evidence that addresses are late counts so many times where there is doubt: of 222 recordings of time that is late, 43 of them of
/// programs under a real clock, at most 1.3 times as much speaks against it as for it, of 60 of 63 of such that is not 1.55 times and
/// more.
const LEAN: f64 = 1.4;

/// How a file's interrupts seem to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How.
    pub reporting: Reporting,
    /// How much the code says about lateness.
    pub certainty: Certainty,
}

/// How much the code says about lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Next to nothing.
    Silent,
    /// Evidence speaks for both: which one makes time fit the code better should decide.
    Doubtful,
    /// It shows.
    Clear,
}

impl Verdict {
    /// How they report if nothing else can decide: unless it is clear, as is `known` of the processor, else what is likelier, and where
    /// nothing is seen late, as on most.
    pub fn likely(self, known: Option<bool>) -> Reporting {
        let late = match self.certainty {
            Certainty::Silent => known.unwrap_or(LATE),
            Certainty::Doubtful => known.unwrap_or(self.reporting.late),
            Certainty::Clear => self.reporting.late,
        };
        Reporting { late, ..self.reporting }
    }

    /// What it may be instead. Where it is not clear that all are late, those may be that come after long waits. Cores that
    /// issue in order (Atoms before Silvermont, Knights Corner) do not fuse a compare with its branch, and what they wait for
    /// has not begun when an interrupt comes, so that it is what is reported.
    pub fn others(&self) -> Vec<Reporting> {
        let Verdict { reporting, certainty } = *self;
        let doubtful = certainty == Certainty::Doubtful;
        let flipped = doubtful.then_some(Reporting { late: !reporting.late, ..reporting });
        let patient = Reporting { late: true, patient: true, ..reporting };
        let patient = (doubtful || !reporting.late).then_some(patient);
        let in_order = Reporting { late: false, shape: Shape::IN_ORDER, ..reporting };
        flipped.into_iter().chain(patient).chain((!reporting.fused).then_some(in_order)).collect()
    }
}

/// How the file's interrupts report, from the samples of its `time` event and of all its `events`. Without evidence it is
/// what is `known` of the processor; or else late, as on most.
pub fn decide(program: &Program, time: Option<&Folded>, events: &[&Folded], known: Option<bool>) -> Verdict {
    let seen = time.and_then(|t| is_late(program, t));
    let late = seen.map(|(late, _)| late).or(known).unwrap_or(LATE);
    let fused = fusion::is_fused(program, events);
    let fused_constants = fused && fusion::are_constants_fused(program, events);
    let reporting = Reporting { late, fused, fused_constants, ..Reporting::default() };
    Verdict { reporting, certainty: seen.map_or(Certainty::Silent, |(_, certainty)| certainty) }
}

/// Whether addresses are late, and how certain that is; `None` without evidence.
fn is_late(program: &Program, time: &Folded) -> Option<(bool, Certainty)> {
    let mut places = Places::default();
    for (f, (_, function)) in program.functions.iter().enumerate() {
        let seen = |b: usize| {
            let block = &function.cfg.blocks[b];
            time.any(f, block.first..block.end)
        };
        for (block, head) in function.cfg.blocks.iter().zip(heads(function, &seen)) {
            let samples: Vec<f64> = (block.first..block.end).map(|i| time.samples_at(f, i)).collect();
            places.add(&function.insts, block.first, &samples, head);
        }
    }
    let Places { on, behind } = places;
    (on + behind >= LEAST_EVIDENCE).then(|| {
        let in_order = uses::are_waited_for(program, time);
        let doubtful = on.max(behind) < CLEAR * on.min(behind) && !in_order;
        (LEAN * behind > on && !in_order, if doubtful { Certainty::Doubtful } else { Certainty::Clear })
    })
}

/// How loud all places together speak for addresses of what is waited for, and of what is behind it.
#[derive(Default)]
struct Places {
    on: f64,
    behind: f64,
}

impl Places {
    /// Adds those of a block that begins with instruction `first`, its `head`, with these `samples`.
    fn add(&mut self, insts: &[Inst], first: usize, samples: &[f64], head: Head) {
        let usual = NOTICEABLE * samples.iter().sum::<f64>() / samples.len() as f64;
        let excess = |samples: f64| (samples - usual - CHANCE).max(0.0).sqrt();
        self.on += head.on * excess(samples[0]);
        self.behind += head.behind * excess(samples[0]);
        for (i, pair) in (first..).zip(samples.windows(2)) {
            let refilled = head.refilled && i == first;
            let together = come_together(&insts[i], &insts[i + 1]);
            let contrast = contrast(insts, i, refilled, together);
            // what else is waited for right before it stands on the first of the two if it is late
            let before = if i == first { head.longest } else { wait_behind(insts, i - 1) };
            let own = longer(slow(&insts[i], refilled), before) > 0.0;
            if own && !together && !fusion::may_stay(insts, i) {
                self.on += contrast * excess(pair[0]);
            }
            self.behind += contrast * excess(pair[1]);
        }
    }
}

/// How much longer instruction `i` is waited for, `slow`, than another that is `quick`: a weight, 0 where that is not much, or it may
/// retire with what is behind it.
pub(super) fn outlasts(insts: &[Inst], i: usize, slow: f64, quick: f64) -> f64 {
    if insts[i].fuses { 0.0 } else { longer(slow, quick) }
}

/// How much longer what is `slow` is waited for than what is `quick`: a weight, 0 where that is not much.
pub(super) fn longer(slow: f64, quick: f64) -> f64 {
    if slow >= 1.0 && slow >= CONTRAST * quick { (slow / quick).ln() } else { 0.0 }
}

/// How much more instruction `i` is waited for than the one behind it: a weight, 0 where it is not. It may have to be fetched
/// first (`refilled`), or the two come `together`.
fn contrast(insts: &[Inst], i: usize, refilled: bool, together: bool) -> f64 {
    let first = &insts[i];
    let hidden = if together { HIDDEN } else { 0.0 };
    let quick = wait_behind(insts, i + 1) - hidden;
    let weight = match first.kind {
        _ if refilled => 1.0,
        Kind::Divide | Kind::FloatDivide | Kind::Atomic => CERTAIN,
        _ if !first.writes.and(insts[i + 1].reads).is_empty() => DEPENDENT,
        _ => 1.0,
    };
    outlasts(insts, i, slow(first, refilled), quick) * weight
}

/// Whether the second of two loads what has come with what the first does, from right beside it.
fn come_together(first: &Inst, second: &Inst) -> bool {
    let beside = |(one, other): (Address, Address)| {
        one.disp.abs_diff(other.disp) <= BESIDE && Address { disp: one.disp, ..other } == one && !one.opaque
    };
    let both = first.loads && second.loads && first.writes.and(second.reads).is_empty();
    both && first.memory.zip(second.memory).is_some_and(beside)
}

/// How long an instruction is waited for that may have to be fetched first.
pub(super) fn slow(inst: &Inst, refilled: bool) -> f64 {
    wait(inst, false) + if refilled { REFILL } else { 0.0 }
}

/// How long instruction `i` is waited for once the one before it has left.
fn wait_behind(insts: &[Inst], i: usize) -> f64 {
    wait(&insts[i], i > 0 && insts[i - 1].fuses)
}

/// How long an instruction is waited for, roughly, in cycles: most of its latency is hidden.
pub(super) fn wait(inst: &Inst, fused: bool) -> f64 {
    let load = if inst.loads { 1.0 } else { 0.0 };
    match inst.kind {
        _ if fused && inst.is_conditional() => 0.05,
        Kind::Nop | Kind::Jump => 0.1 + load,
        Kind::Move | Kind::Call | Kind::Return => 0.25 + load,
        kind => (0.2 + 0.3 * kind.latency()).min(6.0) + load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::sampled;

    fn decided(code: &[u8], samples: &[f64]) -> Reporting {
        verdict(code, samples).reporting
    }

    fn verdict(code: &[u8], samples: &[f64]) -> Verdict {
        let (program, time) = sampled(code, samples);
        assert_eq!(program.functions[0].1.insts.len(), samples.len());
        decide(&program, Some(&time), &[&time], None)
    }

    #[test]
    fn time_on_a_load_behind_that_of_the_same_line_is_late() {
        // mov (%rax),%rcx; mov 8(%rax),%rdx; add $1,%rcx; adc $0,%rdx; ret
        let beside =
            [0x48, 0x8b, 0x08, 0x48, 0x8b, 0x50, 0x08, 0x48, 0x83, 0xc1, 1, 0x48, 0x83, 0xd2, 0, 0xc3];
        let mut apart = beside;
        apart[6] = 0x78;
        let samples = [3.0, 90.0, 3.0, 3.0, 1.0];
        assert!(decided(&beside, &samples).late);
        assert_eq!(verdict(&apart, &samples).certainty, Certainty::Silent);
    }

    #[test]
    fn time_on_a_divide_is_in_its_place_and_behind_it_is_late() {
        // div %rcx; mov %r9,%r10; mov %r9,%r11; mov %r9,%r10; ret
        let code = [0x48, 0xf7, 0xf1, 0x4d, 0x89, 0xca, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xca, 0xc3];
        assert!(!decided(&code, &[90.0, 3.0, 3.0, 3.0, 1.0]).late);
        assert!(decided(&code, &[3.0, 90.0, 3.0, 3.0, 1.0]).late);
    }

    #[test]
    fn a_division_outvotes_loads() {
        // div %rcx; three times mov %r9,%r10; then four times mov (%rsi),%rdi; mov %r9,%r11; mov %r9,%r10; ret
        let load = [0x48, 0x8b, 0x3e, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xca];
        let divide = [0x48, 0xf7, 0xf1, 0x4d, 0x89, 0xca, 0x4d, 0x89, 0xca, 0x4d, 0x89, 0xca];
        let code = [&divide[..], &load.repeat(4), &[0xc3]].concat();
        let samples = |division: [f64; 2]| {
            let mut samples = vec![division[0], division[1], 1.0, 1.0];
            samples.extend([90.0, 2.0, 2.0].repeat(4));
            [samples, vec![1.0]].concat()
        };
        assert!(decided(&code, &samples([2.0, 120.0])).late);
        assert!(!decided(&code, &samples([90.0, 2.0])).late);
    }

    #[test]
    fn time_on_a_load_behind_another_may_be_that_of_the_first() {
        // nop; mov (%rsi),%rdi; mov (%rdx),%rcx; mov %r9,%r11; mov %r9,%r10; ret
        let code = [0x90, 0x48, 0x8b, 0x3e, 0x48, 0x8b, 0x0a, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xca, 0xc3];
        assert_eq!(verdict(&code, &[1.0, 3.0, 90.0, 3.0, 3.0, 1.0]).certainty, Certainty::Silent);
        assert!(decided(&code, &[1.0, 3.0, 90.0, 90.0, 3.0, 1.0]).late);
    }

    #[test]
    fn time_behind_a_branch_is_that_of_fetching() {
        // 0: dec %edi; jne 6; nop; nop; 6: mov %eax,%ecx; mov %edx,%esi; mov %eax,%edx; ret
        let code = [0xff, 0xcf, 0x75, 0x02, 0x90, 0x90, 0x89, 0xc1, 0x89, 0xd6, 0x89, 0xc2, 0xc3];
        assert!(!decided(&code, &[1.0, 0.0, 1.0, 1.0, 90.0, 1.0, 1.0, 1.0]).late);
        assert!(decided(&code, &[1.0, 0.0, 1.0, 1.0, 1.0, 90.0, 1.0, 1.0]).late);
    }

    #[test]
    fn time_on_a_load_that_a_loop_begins_with_is_not_that_of_the_branch_back() {
        // nop; 1: mov (%rcx),%eax; xor %eax,%esi; add %rdx,%rcx; cmp %r8,%rcx; jb 1; ret
        let quick = [0x90, 0x8b, 0x01, 0x31, 0xc6, 0x48, 0x01, 0xd1, 0x4c, 0x39, 0xc1, 0x72, 0xf4, 0xc3];
        let found = verdict(&quick, &[1.0, 90.0, 9.0, 3.0, 0.0, 0.0, 1.0]);
        assert_eq!((found.reporting.late, found.certainty), (false, Certainty::Clear));
        assert!(decided(&quick, &[1.0, 9.0, 90.0, 3.0, 0.0, 0.0, 1.0]).late);
        // with cmp (%r8),%rcx it may be
        let mut slow = quick;
        slow[8..11].copy_from_slice(&[0x49, 0x3b, 0x08]);
        let found = verdict(&slow, &[1.0, 90.0, 9.0, 3.0, 0.0, 0.0, 1.0]);
        assert_ne!(found.certainty, Certainty::Clear);
    }

    #[test]
    fn time_where_a_division_leads_is_late_though_it_may_be_reported_on_itself() {
        // 0: test %edi,%edi; je 10; 4: mov %r8d,%eax; cdq; idiv %r9d; b: mov %eax,%edx; mov %edx,%esi; f: ret; 10: jmp b
        let code = [
            0x85, 0xff, 0x74, 0x0c, 0x44, 0x89, 0xc0, 0x99, 0x41, 0xf7, 0xf9, 0x89, 0xc2, 0x89, 0xd6, 0xc3,
            0xeb, 0xf9,
        ];
        let found = verdict(&code, &[1.0, 0.0, 5.0, 0.0, 3.0, 90.0, 3.0, 1.0, 0.0]);
        assert_eq!((found.reporting.late, found.certainty), (true, Certainty::Clear));
        // what leads there without a wait may have come from there
        let found = verdict(&code, &[1.0, 0.0, 5.0, 0.0, 3.0, 90.0, 3.0, 1.0, 2.0]);
        assert_eq!(found.certainty, Certainty::Silent);
        let found = verdict(&code, &[1.0, 0.0, 5.0, 0.0, 90.0, 3.0, 3.0, 1.0, 0.0]);
        assert_ne!((found.reporting.late, found.certainty), (false, Certainty::Clear), "so does a Zen 4");
    }

    #[test]
    fn time_at_a_distant_use_is_that_of_a_core_that_issues_in_order() {
        // div %rcx; add %rax,%r10; mov (%rsi),%rdi; mov %r9,%r11; mov %r9,%r12; add %rdi,%r8; ret
        let code = [
            0x48, 0xf7, 0xf1, 0x49, 0x01, 0xc2, 0x48, 0x8b, 0x3e, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xcc, 0x49,
            0x01, 0xf8, 0xc3,
        ];
        assert!(decided(&code, &[1.0, 90.0, 1.0, 1.0, 1.0, 1.0, 1.0]).late);
        assert!(!decided(&code, &[1.0, 90.0, 1.0, 1.0, 1.0, 90.0, 1.0]).late);
    }

    #[test]
    fn what_fuses_does_not_issue_in_order() {
        let fused = Reporting { late: true, fused: true, ..Reporting::default() };
        let apart = Reporting { fused: false, ..fused };
        let of = |reporting, certainty| Verdict { reporting, certainty }.others();
        let (clear, doubtful) = (Certainty::Clear, Certainty::Doubtful);
        assert_eq!(of(fused, clear), []);
        assert!(!of(fused, doubtful).iter().any(|other| other.shape.in_order));
        let in_order = Reporting { late: false, shape: Shape::IN_ORDER, ..apart };
        assert_eq!(of(apart, clear), [in_order]);
        assert_eq!(of(apart, doubtful).last(), Some(&in_order));
    }

    #[test]
    fn where_it_is_not_clear_that_all_are_late_those_behind_long_waits_may_be() {
        let late = Reporting { late: true, fused: true, ..Reporting::default() };
        let (not, patient) = (Reporting { late: false, ..late }, Reporting { patient: true, ..late });
        let of = |reporting, certainty| Verdict { reporting, certainty }.others();
        assert_eq!(of(late, Certainty::Clear), []);
        assert_eq!(of(late, Certainty::Doubtful), [not, patient]);
        assert_eq!(of(not, Certainty::Clear), [patient]);
        assert_eq!(of(not, Certainty::Doubtful), [late, patient]);
    }

    #[test]
    fn many_places_outvote_the_samples_of_one() {
        // sixteen times: mov (%rsi),%rdi; mov %r9,%r11; mov %r9,%r10; mov %r9,%r10; jmp to what is next; then ret
        let turn = [0x48, 0x8b, 0x3e, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xca, 0x4d, 0x89, 0xca, 0xeb, 0x00];
        let mut code = turn.repeat(16);
        code.push(0xc3);
        let mut samples = [1.0, 20.0, 1.0, 1.0, 1.0].repeat(15);
        samples.extend([900.0, 20.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(decided(&code, &samples).late);
    }

    #[test]
    fn what_the_code_does_not_show_is_as_on_most() {
        let sees = |late, certainty| {
            let reporting = Reporting { late, ..Reporting::default() };
            [None, Some(true), Some(false)].map(|known| Verdict { reporting, certainty }.likely(known).late)
        };
        assert_eq!(sees(false, Certainty::Clear), [false; 3]);
        assert_eq!(sees(false, Certainty::Silent), [true, true, false]);
        assert_eq!(sees(false, Certainty::Doubtful), [false, true, false], "what is seen is likelier");
    }

    #[test]
    fn a_compare_of_memory_with_a_constant_is_fused_where_its_branch_has_no_samples() {
        // 0: test %eax,%eax; 2: jne 4; 4: cmpl $5,(%rcx); 7: jne 0; 9: mov %eax,%ecx; ret
        let code = [0x85, 0xc0, 0x75, 0x00, 0x83, 0x39, 0x05, 0x75, 0xf7, 0x89, 0xc1, 0xc3];
        let fused = decided(&code, &[40.0, 0.0, 5.0, 0.0, 60.0, 1.0]);
        assert!(fused.fused && fused.fused_constants);
        let apart = decided(&code, &[40.0, 0.0, 5.0, 60.0, 5.0, 1.0]);
        assert!(apart.fused && !apart.fused_constants);
    }
}
