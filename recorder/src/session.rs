//! A recording from its beginning to its end.

use crate::build_ids;
use crate::choice::{self, Chosen};
use crate::error::Error;
use crate::features::{self, Feature};
use crate::file::{Described, attr_bytes};
use crate::machine::Machine;
use crate::names::tracepoint;
use crate::open::{Opened, described};
use crate::output::{Output, Sections, beside};
use crate::plan::{Note, Plan, Target};
use crate::random::Random;
use crate::records::{Body, Stamp, kinds, record};
use crate::running;
use crate::survey::Survey;
use crate::sys::{Clock, Fields, Flags, INTERRUPTS, Launch, Poll, Signals, Thread, is_news, now, terminate};
use crate::tracepoints;
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long records may stay in memory, so that a recorder that is killed leaves the most of them.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was recorded.
#[derive(Debug)]
pub struct Summary {
    /// Samples of each event, by its name.
    pub samples: Vec<(String, u64)>,
    /// Records that the kernel had no room for.
    pub lost: u64,
    /// How often the kernel held an event back because it came too often.
    pub throttled: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// How the command ended.
    pub status: Option<ExitStatus>,
    /// Intervals drawn at random, and how many of them were over before they could be set.
    pub drawn: (u64, u64),
}

/// Records as planned; `tell` gets what is to be known before it begins.
pub fn run(plan: &Plan, tell: &mut dyn FnMut(&Note)) -> Result<Summary, Error> {
    let machine = Machine::this().map_err(Error::system("cannot tell what machine this is"))?;
    let (mut groups, notes) = choice::choose(plan)?;
    let signals = Signals::take(&INTERRUPTS).map_err(Error::system("cannot wait for signals"))?;
    let launch = plan.command().map(|words| launch(words, &plan.output)).transpose()?;
    if matches!(plan.target, Target::Command(_)) {
        for event in groups.iter_mut().flatten() {
            event.attr.flags |= Flags::ENABLE_ON_EXEC;
        }
    }
    let threads = threads(plan, launch.as_ref())?;
    let processors = processors(plan, &machine)?;
    let source = match plan.randomize {
        None => Source::Plain(Opened::all(&groups, &threads, processors, plan.pages)?),
        Some(seed) => Source::Random(Random::open(&groups, &threads, processors, seed)?),
    };
    notes.iter().for_each(tell);
    let events = source.described(&groups);
    let known = known(plan, &machine, &groups, &events)?;
    let mut file = Output::create(&plan.output, &events, known)?;
    before(plan, &events, &mut file)?;
    let (child, status) = (None, None);
    let mut session = Session { plan, processors, events: &events, source, file, signals, child, status };
    session.start(launch)?;
    let recorded = session.record();
    session.stop_child(recorded.is_err());
    recorded?;
    session.finish()
}

fn launch(words: &[std::ffi::OsString], output: &Path) -> Result<Launch, Error> {
    let failed = "cannot start a process";
    let mut command = Command::new(words.first().map_or("".as_ref(), |word| word.as_os_str()));
    command.args(words.iter().skip(1));
    beside(output, &mut command).map_err(Error::system(failed))?;
    Launch::new(command).map_err(Error::system(failed))
}

fn threads(plan: &Plan, launch: Option<&Launch>) -> Result<Vec<Thread>, Error> {
    match (&plan.target, launch) {
        (Target::Command(_), Some(launch)) => Ok(vec![Thread::Of(launch.pid())]),
        (Target::Process(pid), _) => {
            let threads: Vec<_> = running::threads(*pid).into_iter().map(Thread::Of).collect();
            if threads.is_empty() { Err(Error::NoProcess(*pid)) } else { Ok(threads) }
        }
        (Target::Threads(tids), _) => match tids.iter().find(|&&tid| running::process_of(tid).is_none()) {
            Some(&tid) => Err(Error::NoThread(tid)),
            None => Ok(tids.iter().copied().map(Thread::Of).collect()),
        },
        _ => Ok(vec![Thread::All]),
    }
}

/// Those that were asked for, all of which have to be there.
fn processors<'a>(plan: &'a Plan, machine: &'a Machine) -> Result<&'a [u32], Error> {
    let Some(wanted) = &plan.processors else { return Ok(&machine.online) };
    match wanted.iter().find(|cpu| !machine.online.contains(cpu)) {
        Some(&cpu) => Err(Error::NoProcessor(cpu)),
        None => Ok(wanted),
    }
}

/// What there was before: the kernel, and what runs.
fn before(plan: &Plan, events: &[Described], file: &mut Output) -> Result<(), Error> {
    let Some(Described { attr, .. }) = events.first() else { return Ok(()) };
    let pids = match &plan.target {
        Target::Command(_) => vec![],
        Target::Process(pid) => vec![*pid],
        Target::Threads(tids) => tids.iter().filter_map(|&tid| running::process_of(tid)).collect(),
        Target::System(_) => running::processes(),
    };
    let pids: BTreeSet<u32> = pids.into_iter().collect();
    let processes = pids.into_iter().flat_map(|pid| running::process(pid, attr));
    for record in running::kernel(attr).into_iter().chain(processes) {
        file.write(&record)?;
    }
    Ok(())
}

/// Where records come from.
enum Source {
    /// Rings of processors, copied as they are.
    Plain(Opened),
    /// Rings of threads, whose samples each set the next interval.
    Random(Random),
}

impl Source {
    fn described(&self, groups: &[Vec<Chosen>]) -> Vec<Described> {
        match self {
            Source::Plain(opened) => described(groups, &opened.ids),
            Source::Random(random) => random.described(groups),
        }
    }

    /// Waits for records, through `poll`.
    fn wait(&self, poll: &mut Poll) {
        match self {
            Source::Plain(opened) => {
                for &owner in &opened.owners {
                    poll.add(opened.leaders[owner].as_fd());
                }
            }
            Source::Random(random) => random.wait(poll),
        }
    }

    /// Writes what there is; whether there was anything.
    fn drain(&mut self, file: &mut Output) -> Result<bool, Error> {
        let before = file.written();
        match self {
            Source::Plain(opened) => {
                for ring in &mut opened.rings {
                    ring.take(|first, second| file.write_both(first, second))?;
                }
            }
            Source::Random(random) => random.drain(file)?,
        }
        Ok(file.written() > before)
    }

    fn enable(&self) -> Result<(), Error> {
        match self {
            Source::Plain(opened) => opened.enable(),
            Source::Random(random) => random.enable(),
        }
    }

    fn disable(&self) {
        match self {
            Source::Plain(opened) => opened.disable(),
            Source::Random(random) => random.disable(),
        }
    }
}

struct Session<'a> {
    plan: &'a Plan,
    processors: &'a [u32],
    events: &'a [Described],
    source: Source,
    file: Output,
    signals: Signals,
    child: Option<Child>,
    status: Option<ExitStatus>,
}

impl Session<'_> {
    fn start(&mut self, launch: Option<Launch>) -> Result<(), Error> {
        if !matches!(self.plan.target, Target::Command(_)) {
            self.source.enable()?;
        }
        let Some(launch) = launch else { return Ok(()) };
        let program = self.plan.command().and_then(|words| words.first());
        let program = program.map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        self.child = Some(launch.go().map_err(|cause| Error::Program { program, cause })?);
        Ok(())
    }

    /// Until the command or the process has ended, the time is over, or someone asks to stop.
    fn record(&mut self) -> Result<(), Error> {
        let deadline = self.plan.duration.map(|duration| Instant::now() + duration);
        let mut gone = vec![];
        loop {
            self.round()?;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) || self.is_over()? {
                break;
            }
            let mut poll = Poll::default();
            let place = poll.add(self.signals.as_fd());
            self.source.wait(&mut poll);
            // events of threads that have ended would wake at once, for ever
            gone.iter().for_each(|&place| poll.ignore(place));
            let time = left.unwrap_or(PATIENCE).min(PATIENCE);
            poll.wait(Some(time.as_millis() as u32 + 1)).map_err(Error::system("cannot wait for records"))?;
            if matches!(self.source, Source::Plain(_)) {
                gone.extend((place + 1..poll.len()).filter(|&place| poll.has_ended(place)));
            }
        }
        self.source.disable();
        while self.round()? {}
        self.tell_losses()
    }

    /// Losses at the very end, which no record of the kernel tells of.
    fn tell_losses(&mut self) -> Result<(), Error> {
        let Source::Plain(opened) = &mut self.source else { return Ok(()) };
        let (Some(event), Some(&id)) = (self.events.first(), opened.ids[0].first()) else { return Ok(()) };
        let lost = opened.untold(self.processors, event.attr.clock);
        if lost == 0 {
            return Ok(());
        }
        let time = now(Clock::Monotonic).map_err(Error::system("cannot read a clock"))?;
        let stamp = Stamp { time, id, ..Stamp::default() };
        let record = Body::default().word(id).word(lost).record(kinds::LOST, 0, &event.attr, &stamp);
        self.file.write(&record)
    }

    /// All that is there now; readers may put it in the order of time with what came before.
    fn round(&mut self) -> Result<bool, Error> {
        let any = self.source.drain(&mut self.file)?;
        if any {
            self.file.write(&record(kinds::FINISHED_ROUND, 0, &[]))?;
        }
        Ok(any)
    }

    fn is_over(&mut self) -> Result<bool, Error> {
        while let Some(signal) = self.signals.next().map_err(Error::system("cannot wait for signals"))? {
            if !is_news(signal) {
                return Ok(true);
            }
        }
        if let Some(child) = &mut self.child {
            self.status = child.try_wait().map_err(Error::system("cannot wait for the command"))?;
            return Ok(self.status.is_some());
        }
        Ok(match &self.plan.target {
            Target::Process(pid) => running::threads(*pid).is_empty(),
            Target::Threads(tids) => tids.iter().all(|&tid| running::process_of(tid).is_none()),
            _ => false,
        })
    }

    /// The command ends with its recording. A second Ctrl-C leaves it alone.
    fn stop_child(&mut self, failed: bool) {
        let (Some(child), None) = (&mut self.child, self.status) else { return };
        let _ = terminate(child.id());
        let mut poll = Poll::default();
        poll.add(self.signals.as_fd());
        let deadline = Instant::now() + Duration::from_secs(if failed { 2 } else { 3600 });
        while Instant::now() < deadline {
            if let Ok(Some(status)) = child.try_wait() {
                self.status = Some(status);
                return;
            }
            let _ = poll.wait(Some(200));
            if let Ok(Some(signal)) = self.signals.next()
                && !is_news(signal)
            {
                return;
            }
        }
    }

    fn finish(mut self) -> Result<Summary, Error> {
        let events = self.events;
        let survey = self.file.survey(events).map_err(Error::system("cannot read the recording again"))?;
        let bytes = self.file.finish(seen(&survey), events.len())?;
        let names = events.iter().map(|event| event.name.clone());
        Ok(Summary {
            samples: names.zip(survey.samples).collect(),
            lost: survey.lost,
            throttled: survey.throttled,
            bytes,
            status: self.status,
            drawn: match &self.source {
                Source::Plain(_) => (0, 0),
                Source::Random(random) => random.drawn(),
            },
        })
    }
}

/// What the records say, once they are all there.
fn seen(survey: &Survey) -> Sections {
    let build_ids = features::build_ids(build_ids::kernel().as_deref(), &survey.mapped.build_ids());
    let (first, last) = survey.times.unwrap_or_default();
    let times = [first, last].iter().flat_map(|time| time.to_ne_bytes()).collect();
    vec![(Feature::BuildId, build_ids), (Feature::SampleTime, times)]
}

/// What is known before there are records.
fn known(
    plan: &Plan,
    machine: &Machine,
    groups: &[Vec<Chosen>],
    events: &[Described],
) -> Result<Sections, Error> {
    let mut sections = features::machine(machine);
    let attrs: Vec<Vec<u8>> = events.iter().map(|event| attr_bytes(&event.attr)).collect();
    let told = events.iter().zip(&attrs);
    let told: Vec<_> =
        told.map(|(event, attr)| features::Event { attr, name: &event.name, ids: &event.ids }).collect();
    sections.push((Feature::Events, features::events(&told)));
    sections.push((Feature::CommandLine, features::strings(&plan.words)));
    let traced: Vec<_> = events.iter().filter_map(tracepoint).collect();
    if !traced.is_empty() {
        let data = tracepoints::data(&traced).map_err(Error::system("cannot read formats of tracepoints"))?;
        sections.push((Feature::TracingData, data));
    }
    // nanoseconds
    sections.push((Feature::Clock, 1u64.to_ne_bytes().to_vec()));
    let failed = Error::system("cannot read a clock");
    let times = now(Clock::Realtime).and_then(|day| Ok((day, now(Clock::Monotonic)?)));
    let (day, time) = times.map_err(failed)?;
    sections.push((Feature::ClockData, features::clock_data(Clock::Monotonic as u32, day, time)));
    let mut at = 0;
    let mut together = vec![];
    for group in groups {
        if group.len() > 1 {
            together.push((at, group.len() as u32));
        }
        at += group.len() as u32;
    }
    if !together.is_empty() {
        sections.push((Feature::Groups, features::groups(&together)));
    }
    if events.iter().any(|event| event.attr.fields.contains(Fields::BRANCH_STACK)) {
        sections.push((Feature::BranchStack, vec![]));
    }
    Ok(sections)
}
