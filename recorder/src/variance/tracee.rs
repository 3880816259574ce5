//! A traced thread: its breakpoints, its counters, its calls that are being measured.
//!
//! In: the number of a thread. Out: events on it that stop it, and what it says while it stands still. It knows nothing of
//! when to open windows.

use super::counters::{Counters, RAN, Values, WALL, add, difference, noting, value};
use super::frames::Frame;
use super::plan::{LONG, Plan, Window};
use crate::sys::trace::Memory;
use crate::sys::{Access, Attr, Event, Flags, Rate, Source};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

/// Marks the signals of our events: the program may have such of its own.
const MARK: u64 = 0x736b_6964_0000_0000;
/// Debug registers for entries; a fourth watches a return.
pub const ENTRIES: usize = 3;
const WATCH: u64 = 8;
const CLOCK: u64 = 9;

/// Which event stopped a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The breakpoint of this number.
    Entry(usize),
    /// The slot of a return address was accessed.
    Watch,
    /// The thread ran for a while.
    Clock,
}

impl Cause {
    /// From what the signal carries.
    pub fn of(data: u64) -> Option<Cause> {
        match data.wrapping_sub(MARK) {
            n if n < ENTRIES as u64 => Some(Cause::Entry(n as usize)),
            WATCH => Some(Cause::Watch),
            CLOCK => Some(Cause::Clock),
            _ => None,
        }
    }
}

/// An open window.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Whose entry.
    pub entry: u64,
    /// The address after the function's last.
    pub end: u64,
    /// As planned.
    pub window: Window,
    /// How long the thread had run when it began, ns.
    pub since: u64,
    /// The thread's `stops` then.
    pub stops: u64,
    /// The thread's `slowed` then.
    pub slowed: u64,
    /// How long the thread had run at the last look.
    pub ran: u64,
    /// Looks without that it ran.
    pub idle: u32,
    /// Looks so far.
    pub looks: u64,
    /// Calls so far.
    pub calls: u32,
    /// Tells windows apart that are open one after the other in one register.
    pub number: u64,
}

/// A call that is being measured.
#[derive(Debug)]
pub struct Pending {
    /// Where its return address is.
    pub frame: Frame,
    /// The observer's number.
    pub context: u32,
    /// Calls it stands for.
    pub weight: f64,
    /// The counters at its beginning.
    pub before: Values,
    /// Stops since.
    pub stops: u32,
    /// The thread's `taken` at its beginning.
    pub taken: Values,
    /// Accesses in passing.
    pub passing: u32,
}

/// A function that windows are opened for.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    /// The address after its last.
    pub end: u64,
    /// When.
    pub plan: Plan,
    /// The next window.
    pub next: Window,
    /// How long the thread has to have run before it, ns.
    pub from: u64,
    /// Where in its turn the window lies, 0 to 1.
    pub place: f64,
    /// How long it had run at the last look.
    pub ran: u64,
    /// Looks without that it ran.
    pub idle: u32,
    /// Jumps to its entry, which are no calls.
    pub jumps: u32,
}

/// A traced thread.
#[derive(Debug)]
pub struct Tracee {
    /// Its process.
    pub pid: u32,
    /// Its process's memory.
    pub memory: Rc<Memory>,
    /// Its counters.
    pub counters: Counters,
    entries: [Event; ENTRIES],
    watch: Event,
    /// Stops it after it ran for a while.
    pub clock: Event,
    /// The windows that are open.
    pub open: [Option<Open>; ENTRIES],
    /// Calls being measured, the innermost last.
    pub calls: Vec<Pending>,
    /// By entry.
    pub plans: HashMap<u64, Planned>,
    /// What was counted from the events that stopped it to when it went on.
    pub taken: Values,
    /// How often the tool stopped it.
    pub stops: u64,
    /// It is stopped again at once by the breakpoint of this number; the counters before.
    pub probe: Option<(usize, Values)>,
    /// Clock samples so far.
    pub samples: u32,
}

fn stopping(source: Source, number: u64, period: u64) -> Attr {
    let flags = Flags::SIGTRAP | Flags::REMOVE_ON_EXEC | Flags::EXCLUDE_KERNEL | Flags::EXCLUDE_HV;
    let rate = Rate::Period(period);
    noting(Attr { flags, rate, signal_data: MARK + number, ..Attr::new(source) })
}

fn breakpoint(access: Access, address: u64, number: u64) -> Attr {
    stopping(Source::Breakpoint { access, address, length: 8 }, number, 1)
}

fn off(attr: Attr) -> Attr {
    Attr { flags: attr.flags | Flags::DISABLED, ..attr }
}

/// ns of a call for which nothing is to disturb it.
const CALM: u64 = 10_000_000;
/// Some address that nobody uses, for events that are off.
const NOWHERE: u64 = 0x1000;

impl Tracee {
    /// Puts events on a thread that stands still. None of the breakpoints is on; the clock ticks after `period` ns.
    pub fn new(pid: u32, tid: u32, memory: Rc<Memory>, period: u64) -> io::Result<Tracee> {
        let counters = Counters::open(tid)?;
        let open = |attr: Attr| counters.stopping(&attr, tid);
        let entry = |n: u64| open(off(breakpoint(Access::Execute, NOWHERE, n)));
        // task-clock
        let clock = stopping(Source::Event { kind: 1, config: [1, 0, 0, 0] }, CLOCK, period);
        let entries = [entry(0)?, entry(1)?, entry(2)?];
        let watch = open(off(breakpoint(Access::ReadWrite, NOWHERE, WATCH)))?;
        let clock = open(clock)?;
        Ok(Tracee {
            pid,
            memory,
            counters,
            entries,
            watch,
            clock,
            open: [None; ENTRIES],
            calls: Vec::new(),
            plans: HashMap::new(),
            taken: Values::new(),
            stops: 0,
            probe: None,
            samples: 0,
        })
    }

    /// A register for a window of this length, if one is free.
    pub fn free(&self, length: f64) -> Option<usize> {
        let long = self.open.iter().flatten().filter(|open| open.window.length > LONG).count();
        if length > LONG && long + 1 >= ENTRIES {
            return None;
        }
        let probe = self.probe.as_ref().map(|(register, _)| *register);
        (0..ENTRIES).find(|&register| self.open[register].is_none() && Some(register) != probe)
    }

    /// Watches an entry.
    pub fn arm(&mut self, register: usize, mut open: Open) -> io::Result<()> {
        self.entries[register].modify(&breakpoint(Access::Execute, open.entry, register as u64))?;
        // switching it on takes longer than some calls
        open.since = self.counters.ran()?;
        self.open[register] = Some(open);
        Ok(())
    }

    /// How long the program ran in a window, ns, when the thread has run for `ran`: less what `slowdown` is for each time
    /// that it was stopped or looked at. From the opening to the first of these it is one more: a half at either end.
    pub fn within(&self, open: &Open, ran: u64, slowdown: u64) -> u64 {
        let breaks = 1 + (self.stops - open.stops) + open.looks;
        let tool = (self.slowed() - open.slowed) + breaks * slowdown;
        ran.saturating_sub(open.since).saturating_sub(tool)
    }

    /// ns that the thread itself took from events to standing still, and on its way from there.
    pub fn slowed(&self) -> u64 {
        value(&self.taken, RAN).unwrap_or(0)
    }

    /// A stop that began with these counters ends now. Gives the counters.
    pub fn account(&mut self, seen: &Values, now: u64) -> io::Result<Values> {
        let values = self.counters.read(now)?;
        add(&mut self.taken, &difference(seen, &values));
        self.stops += 1;
        Ok(values)
    }

    /// Has the thread stopped again before its next instruction, if a register is free for that.
    pub fn set_probe(&mut self, next: u64, before: Values) -> io::Result<()> {
        let Some(register) = self.free(0.0) else { return Ok(()) };
        self.entries[register].modify(&breakpoint(Access::Execute, next, register as u64))?;
        self.probe = Some((register, before));
        Ok(())
    }

    /// What was counted from before the probe to now, if this is where it ends.
    pub fn end_probe(&mut self, cause: Option<Cause>, seen: &Values) -> Option<Values> {
        let (register, before) = self.probe.take()?;
        // a thread that has ended has no events left
        let _ = self.entries[register].disable();
        (cause == Some(Cause::Entry(register))).then(|| difference(&before, seen))
    }

    /// Until when looking at the thread would disturb the call that is measured: reading its counters while it runs
    /// interrupts it. Of a long call that is little.
    pub fn undisturbed_until(&self) -> Option<u64> {
        let began = value(&self.calls.last()?.before, WALL)?;
        Some(began + CALM)
    }

    /// Watches an entry no longer; what came before that is seen.
    pub fn quiet(&self, register: usize) {
        // a thread that has ended has no events left
        let _ = self.entries[register].disable();
    }

    /// Watches it no longer, and learns from how many calls there were.
    pub fn disarm(&mut self, register: usize, ran: u64, slowdown: u64) {
        let Some(open) = self.open[register].take() else { return };
        self.quiet(register);
        // nothing is taken behind its end
        let seconds = (self.within(&open, ran, slowdown) as f64 * 1e-9).min(open.window.length);
        if let Some(planned) = self.plans.get_mut(&open.entry) {
            planned.plan.closed(open.window, open.calls, seconds.min(1e6));
        }
    }

    /// Watches the slot of the innermost call, or nothing if there is none.
    pub fn watch(&self) -> io::Result<()> {
        match self.calls.last() {
            Some(call) => self.watch.modify(&breakpoint(Access::ReadWrite, call.frame.slot, WATCH)),
            None => self.watch.disable(),
        }
    }
}
