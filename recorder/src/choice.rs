//! From the events that were asked for to those that this machine can record.
//!
//! Each is tried on the recorder's own thread, switched off: as exact as there is, without the kernel where that is not
//! allowed, in its group if the group fits the counters.

use crate::error::{Error, paranoid};
use crate::names::{HARDWARE, Precision, TRACEPOINT, Wanted, parse};
use crate::periods::Periods;
use crate::plan::{Callchains, Note, Plan};
use crate::sys::{Attr, Branches, Clock, Cpu, Event, Fields, Flags, Rate, ReadFormat, Source, Thread};
use std::io;

/// An event to open.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// As asked for.
    pub name: String,
    /// How.
    pub attr: Attr,
}

/// Groups of events to open, and what is to be said of them.
pub type Choice = (Vec<Vec<Chosen>>, Vec<Note>);

/// Registers of the user that callchains are found with: all but the segments' of data.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 0xff_0fff;
#[cfg(not(target_arch = "x86_64"))]
const REGISTERS: u64 = (1 << 33) - 1;

/// Chooses what to open.
pub fn choose(plan: &Plan) -> Result<Choice, Error> {
    let mut notes = vec![];
    let wanted = available(plan, &mut notes)?;
    let several = wanted.iter().map(Vec::len).sum::<usize>() > 1;
    let mut periods = Periods::here();
    let mut groups = vec![];
    for group in wanted {
        let mut chosen = vec![];
        for mut event in group {
            event.modes = plan.modes.unwrap_or(event.modes);
            let rate = plan.rate.unwrap_or_else(|| periods.choose(&event));
            if let (Some(_), Rate::Frequency(_)) = (plan.randomize, rate) {
                let what = "random intervals need a mean: give it with -c".into();
                return Err(Error::BadEvent { event: event.name, what });
            }
            let mut attr = attr(plan, &event, rate, several);
            if event.leads {
                together(&event, plan, chosen.is_empty(), &mut attr)?;
            }
            if groups.is_empty() && chosen.is_empty() {
                attr.flags |= Flags::MMAP | Flags::MMAP2 | Flags::COMM | Flags::COMM_EXEC | Flags::TASK;
            }
            let attr = tried(attr, &event, &mut notes)?;
            chosen.push(Chosen { name: event.name, attr });
        }
        groups.push(chosen);
    }
    Ok((fitting(groups, &mut notes), notes))
}

/// Whether the processor has counters that this system may use.
pub fn has_counters() -> bool {
    let mut attr = Attr::new(Source::Event { kind: HARDWARE, config: [0; 4] });
    attr.flags = Flags::DISABLED | Flags::EXCLUDE_KERNEL | Flags::EXCLUDE_HV;
    match Event::open(&attr, Thread::Own, Cpu::Any, None) {
        Ok(_) => true,
        Err(error) => !is_missing(&error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::ENXIO | libc::EOPNOTSUPP))
}

/// The clock in place of cycles where there are no counters.
fn available(plan: &Plan, notes: &mut Vec<Note>) -> Result<Vec<Vec<Wanted>>, Error> {
    let default = || parse("{cycles,instructions}");
    let clock = || parse("cpu-clock");
    let mut wanted = plan.events.clone();
    let needs = wanted.is_empty() || wanted.iter().flatten().any(Wanted::is_hardware);
    if !(needs || plan.require_counters) || has_counters() {
        return if wanted.is_empty() { default() } else { Ok(wanted) };
    }
    let first = wanted.iter().flatten().find(|event| event.is_hardware());
    let name = first.map_or("cycles", |event| &event.name).to_owned();
    if plan.require_counters {
        return Err(Error::NoCounters { event: name });
    }
    notes.push(Note::NoCounters);
    if wanted.is_empty() {
        return clock();
    }
    for event in wanted.iter_mut().flatten().filter(|event| event.is_hardware()) {
        match event.id() {
            (HARDWARE, 0) => {
                let clock = Wanted::of("cpu-clock").ok_or_else(|| Error::NoEvent("cpu-clock".into()))?;
                *event = Wanted { modes: event.modes, ..clock };
            }
            _ => return Err(Error::NoCounters { event: event.name.clone() }),
        }
    }
    Ok(wanted)
}

/// The first event of the group has samples, which hold the counts of all. The kernel reads no groups of inherited events.
fn together(event: &Wanted, plan: &Plan, is_first: bool, attr: &mut Attr) -> Result<(), Error> {
    if plan.randomize.is_some() {
        let what = "random intervals are drawn for each event: leave :S out".into();
        return Err(Error::BadEvent { event: event.name.clone(), what });
    }
    attr.read_format |= ReadFormat::GROUP;
    attr.fields |= Fields::READ;
    attr.flags -= Flags::INHERIT;
    attr.rate = if is_first { attr.rate } else { Rate::Never };
    Ok(())
}

fn attr(plan: &Plan, event: &Wanted, rate: Rate, several: bool) -> Attr {
    let mut attr = Attr { rate, clock: Some(Clock::Monotonic), ..Attr::new(event.source) };
    attr.fields = Fields::IP | Fields::TID | Fields::TIME;
    attr.flags = Flags::DISABLED | Flags::SAMPLE_ID_ALL | Flags::EXCLUDE_GUEST;
    attr.flags.set(Flags::INHERIT, !plan.is_system_wide() && plan.randomize.is_none());
    attr.fields.set(Fields::IDENTIFIER, several || plan.randomize.is_some());
    attr.fields.set(Fields::CPU, plan.is_system_wide());
    attr.fields.set(Fields::PERIOD, matches!(rate, Rate::Frequency(_)));
    if let Source::Breakpoint { .. } = event.source {
        attr.fields |= Fields::ADDR;
    }
    // readers look for the fields of a tracepoint there
    attr.fields.set(Fields::RAW, event.id().0 == TRACEPOINT);
    if event.modes != [false; 3] {
        let [user, kernel, hypervisor] = event.modes;
        attr.flags.set(Flags::EXCLUDE_USER, !user);
        attr.flags.set(Flags::EXCLUDE_KERNEL, !kernel);
        attr.flags.set(Flags::EXCLUDE_HV, !hypervisor);
    }
    attr.read_format = ReadFormat::ID;
    match plan.callchains {
        None => {}
        Some(Callchains::FramePointers) => attr.fields |= Fields::CALLCHAIN,
        Some(Callchains::Dwarf(size)) => {
            attr.fields |= Fields::CALLCHAIN | Fields::REGS_USER | Fields::STACK_USER;
            attr.flags |= Flags::EXCLUDE_CALLCHAIN_USER;
            (attr.user_registers, attr.user_stack) = (REGISTERS, size);
        }
        Some(Callchains::BranchRecords) => {
            attr.fields |= Fields::CALLCHAIN | Fields::BRANCH_STACK;
            attr.branches = Branches::USER | Branches::CALL_STACK | Branches::NO_FLAGS | Branches::NO_CYCLES;
        }
    }
    if plan.branches {
        attr.fields |= Fields::BRANCH_STACK;
        attr.branches = Branches::ANY;
    }
    attr
}

/// The attr as far as the kernel takes it.
fn tried(mut attr: Attr, event: &Wanted, notes: &mut Vec<Note>) -> Result<Attr, Error> {
    let levels = match event.precision {
        Precision::Level(level) => level..=level,
        Precision::Best if event.is_hardware() => 0..=3,
        Precision::Best => 0..=0,
    };
    let mut last = None;
    for level in levels.rev() {
        attr.precise = level;
        // a thread of one's own has no children to inherit to, and a kernel may refuse what needs privileges
        match opened(&mut attr, event, notes) {
            Ok(()) => {
                if level >= 2 {
                    notes.push(Note::Precise(event.name.clone(), level));
                }
                return Ok(attr);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(refused(&event.name, &attr, last.unwrap_or_else(|| io::ErrorKind::Unsupported.into())))
}

fn opened(attr: &mut Attr, event: &Wanted, notes: &mut Vec<Note>) -> io::Result<()> {
    let open = |attr: &Attr| Event::open(attr, Thread::Own, Cpu::Any, None).map(drop);
    let Err(error) = open(attr) else { return Ok(()) };
    let may_leave_kernel = event.modes == [false; 3] && is_permission(&error);
    if may_leave_kernel && !attr.flags.contains(Flags::EXCLUDE_KERNEL) {
        attr.flags |= Flags::EXCLUDE_KERNEL | Flags::EXCLUDE_HV;
        if open(attr).is_ok() {
            let note = Note::UserOnly(paranoid());
            if !notes.contains(&note) {
                notes.push(note);
            }
            return Ok(());
        }
    }
    Err(error)
}

/// Groups whose events can be opened together; those of others each for itself.
fn fitting(groups: Vec<Vec<Chosen>>, notes: &mut Vec<Note>) -> Vec<Vec<Chosen>> {
    let mut fitting = vec![];
    for group in groups {
        if group.len() < 2 || fits(&group) {
            fitting.push(group);
        } else {
            notes.push(Note::Ungrouped(group.iter().map(|event| event.name.clone()).collect()));
            fitting.extend(group.into_iter().map(|event| vec![event]));
        }
    }
    fitting
}

fn fits(group: &[Chosen]) -> bool {
    let mut open: Vec<Event> = vec![];
    group.iter().all(|event| {
        let opened = Event::open(&event.attr, Thread::Own, Cpu::Any, open.first());
        opened.map(|event| open.push(event)).is_ok()
    })
}

fn is_permission(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// What the kernel's refusal means.
pub fn refused(event: &str, attr: &Attr, cause: io::Error) -> Error {
    let event = event.to_owned();
    if is_permission(&cause) {
        let needed = if attr.flags.contains(Flags::EXCLUDE_KERNEL) { 2 } else { 1 };
        let needed = if attr.flags.contains(Flags::INHERIT) || !attr.fields.contains(Fields::CPU) {
            needed
        } else {
            0
        };
        return Error::Permission { event, paranoid: paranoid(), needed };
    }
    if is_missing(&cause) && !attr.fields.contains(Fields::BRANCH_STACK) && attr.precise == 0 {
        return Error::NoCounters { event };
    }
    let hint = match (cause.raw_os_error(), attr.rate) {
        (Some(libc::EINVAL), Rate::Frequency(_)) => {
            let max =
                std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
            format!("; samples a second are limited to {} by kernel.perf_event_max_sample_rate", max.trim())
        }
        (Some(libc::EMFILE), _) => "; more files have to be allowed: ulimit -n".into(),
        _ if attr.fields.contains(Fields::BRANCH_STACK) => "; its counter cannot record branches".into(),
        _ if attr.precise > 0 => "; its addresses cannot be as exact".into(),
        _ => String::new(),
    };
    Error::Open { event, cause, hint }
}
