//! Events of a choice, open for all whom they are to count.

use crate::choice::{Chosen, refused};
use crate::error::Error;
use crate::file::Described;
use crate::names::SOFTWARE;
use crate::records::{HEADER, header, kinds, word};
use crate::sys::{Attr, Clock, Cpu, Event, Flags, Ring, Source, Thread, announce_on, raise_file_limit};

/// `PERF_COUNT_SW_DUMMY`, which counts nothing.
const DUMMY: u64 = 9;

/// Open events. One ring a processor takes all that happens there.
#[derive(Debug, Default)]
pub struct Opened {
    /// Leaders of groups, through which all are switched on and off.
    pub leaders: Vec<Event>,
    /// The other members.
    pub members: Vec<Event>,
    /// What they write.
    pub rings: Vec<Ring>,
    /// The place in [`Opened::leaders`] of the event that owns the ring.
    pub owners: Vec<usize>,
    /// The numbers of each event of the choice in records.
    pub ids: Vec<Vec<u64>>,
}

impl Opened {
    /// Opens `groups` for each of `threads` on each of `processors`.
    pub fn all(
        groups: &[Vec<Chosen>],
        threads: &[Thread],
        processors: &[u32],
        pages: usize,
    ) -> Result<Opened, Error> {
        let count = groups.iter().map(Vec::len).sum();
        let mut opened = Opened { ids: vec![vec![]; count], ..Opened::default() };
        for &cpu in processors {
            let mut owner = None;
            for &thread in threads {
                opened.on(groups, thread, Cpu::Of(cpu), pages, &mut owner)?;
            }
        }
        Ok(opened)
    }

    /// Opens `groups` for one thread in one place; `owner` has the ring there, or is to have it.
    fn on(
        &mut self,
        groups: &[Vec<Chosen>],
        thread: Thread,
        cpu: Cpu,
        pages: usize,
        owner: &mut Option<usize>,
    ) -> Result<(), Error> {
        let mut place = 0;
        for group in groups {
            let mut leader: Option<usize> = None;
            for chosen in group {
                let leading = leader.map(|at| &self.leaders[at]);
                let opened = open(&chosen.attr, thread, cpu, leading);
                // a thread that has ended meanwhile
                let event = match opened {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                    opened => opened.map_err(|cause| refused(&chosen.name, &chosen.attr, cause))?,
                };
                self.ids[place].push(event.id().map_err(Error::system("cannot number an event"))?);
                match *owner {
                    Some(at) => event.set_output(&self.leaders[at]),
                    None => event.ring(pages).map(|ring| self.rings.push(ring)),
                }
                .map_err(|cause| Error::Ring { cause })?;
                if leader.is_none() {
                    leader = Some(self.leaders.len());
                    self.leaders.push(event);
                } else {
                    self.members.push(event);
                }
                if owner.is_none() {
                    *owner = leader;
                    self.owners.extend(leader);
                }
                place += 1;
            }
        }
        Ok(())
    }

    /// Switches all on.
    pub fn enable(&self) -> Result<(), Error> {
        let failed = Error::system("cannot switch events on");
        self.leaders.iter().try_for_each(Event::enable_group).map_err(failed)
    }

    /// What the kernel had no room for after it last wrote to the ring of each of `processors`, and so has not told: it does
    /// with the next record there, which is made now. Rings have to be empty.
    pub fn untold(&mut self, processors: &[u32], clock: Option<Clock>) -> u64 {
        let mut lost = 0;
        for ((ring, &owner), &cpu) in self.rings.iter_mut().zip(&self.owners).zip(processors) {
            let mut attr = Attr::new(Source::Event { kind: SOFTWARE, config: [DUMMY, 0, 0, 0] });
            attr.flags = Flags::COMM | Flags::EXCLUDE_KERNEL;
            // one ring, one clock
            attr.clock = clock;
            // where that is not allowed it stays untold
            let Ok(event) = Event::open(&attr, Thread::Own, Cpu::Of(cpu), None) else { continue };
            if event.set_output(&self.leaders[owner]).is_ok() && announce_on(cpu).is_ok() {
                while let Some(record) = ring.next_record() {
                    if let Some((kinds::LOST, ..)) = header(record) {
                        lost += word(record, HEADER + 8).unwrap_or(0);
                    }
                }
            }
        }
        lost
    }

    /// Switches all off, children's too.
    pub fn disable(&self) {
        // one whose thread has ended is off
        for event in self.leaders.iter().chain(&self.members) {
            let _ = event.disable();
        }
    }
}

/// Members of a group are on, and wait for their leader.
fn open(attr: &Attr, thread: Thread, cpu: Cpu, leader: Option<&Event>) -> std::io::Result<Event> {
    let mut attr = *attr;
    if leader.is_some() {
        attr.flags -= Flags::DISABLED | Flags::ENABLE_ON_EXEC;
    }
    match Event::open(&attr, thread, cpu, leader) {
        Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
            raise_file_limit()?;
            Event::open(&attr, thread, cpu, leader)
        }
        opened => opened,
    }
}

/// The events of a choice as the file tells of them.
pub fn described(groups: &[Vec<Chosen>], ids: &[Vec<u64>]) -> Vec<Described> {
    let events = groups.iter().flatten().zip(ids);
    events
        .map(|(chosen, ids)| Described { attr: chosen.attr, name: chosen.name.clone(), ids: ids.clone() })
        .collect()
}
