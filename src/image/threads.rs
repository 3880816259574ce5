//! The names of threads and the lives of processes, over time.
//!
//! In: comm, fork and exit records in the order of their moments. Out: what a thread was called, when a process began and
//! ended.

use std::collections::HashMap;

use super::mapping::Moment;
use crate::perfdata::{Comm, Task};

/// All threads of a recording.
#[derive(Debug, Default)]
pub struct Threads {
    names: Vec<String>,
    name_ids: HashMap<String, u32>,
    comms: HashMap<i32, Vec<(Moment, u32)>>,
    lives: HashMap<i32, Vec<(Moment, Option<Moment>)>>,
}

impl Threads {
    /// A thread takes a name.
    pub fn comm(&mut self, at: Moment, comm: &Comm) {
        let name = String::from_utf8_lossy(&comm.name).into_owned();
        let id = *self.name_ids.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() as u32 - 1
        });
        self.comms.entry(comm.tid).or_default().push((at, id));
    }

    /// A thread makes another, which has its name until it takes one itself.
    pub fn fork(&mut self, at: Moment, task: &Task) {
        let Task { pid, tid, ptid, .. } = *task;
        if pid == tid {
            self.lives.entry(pid).or_default().push((at, None));
        }
        if let Some(&(_, id)) = self.comms.get(&ptid).and_then(|names| names.last()) {
            self.comms.entry(tid).or_default().push((at, id));
        }
    }

    /// A thread ends, and with its first thread the process.
    pub fn exit(&mut self, at: Moment, task: &Task) {
        if task.pid != task.tid {
            return;
        }
        let lives = self.lives.entry(task.pid).or_default();
        match lives.last_mut() {
            Some((_, end @ None)) => *end = Some(at),
            _ => lives.push(((0, 0), Some(at))),
        }
    }

    /// When a thread took its names, ascending.
    pub fn names_of(&self, tid: i32) -> &[(Moment, u32)] {
        self.comms.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// What `tid` was called, or else its process.
    pub fn name(&self, pid: i32, tid: i32, at: Moment) -> Option<&str> {
        self.name_id(pid, tid, at).map(|id| self.names[id as usize].as_str())
    }

    /// A number for the name: equal names have equal numbers.
    pub fn name_id(&self, pid: i32, tid: i32, at: Moment) -> Option<u32> {
        let named = |tid: i32| {
            let names = self.comms.get(&tid)?;
            let taken = names.partition_point(|&(from, _)| from <= at);
            names.get(taken.saturating_sub(1)).map(|&(_, id)| id)
        };
        named(tid).or_else(|| named(pid))
    }

    /// When the process that had `pid` at a moment was forked.
    pub fn born(&self, pid: i32, at: Moment) -> Option<u64> {
        self.life(pid, at).map(|(born, _)| born.0).filter(|&time| time > 0)
    }

    /// When the process that had `pid` at a moment ended.
    pub fn died(&self, pid: i32, at: Moment) -> Option<u64> {
        self.life(pid, at).and_then(|(_, died)| died).map(|died| died.0)
    }

    fn life(&self, pid: i32, at: Moment) -> Option<(Moment, Option<Moment>)> {
        let lives = self.lives.get(&pid)?;
        let begun = lives.partition_point(|&(born, _)| born <= at);
        lives.get(begun.checked_sub(1)?).copied()
    }
}
