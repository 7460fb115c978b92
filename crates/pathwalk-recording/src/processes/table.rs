//! The processes by their numbers.
//!
//! The lines of one process mostly come in a row, or those of a few processes take turns. So the
//! places of recent numbers are stored apart, and found without a hash.

use std::cell::Cell;

use hashbrown::HashMap;
use rapidhash::fast::RandomState;

use super::Process;

/// The number of recent places. Numbers that are equal modulo this one share a place.
const RECENT: usize = 64;

#[derive(Debug)]
pub(super) struct Table {
    places: HashMap<u32, usize, RandomState>,
    /// The processes by place. A place is `None` where a process was removed.
    processes: Vec<Option<Process>>,
    free: Vec<usize>,
    /// The numbers that were looked up lately, and their places.
    recent: [Cell<Option<(u32, usize)>>; RECENT],
}

impl Default for Table {
    fn default() -> Table {
        Table { places: HashMap::default(), processes: Vec::new(), free: Vec::new(), recent: [const { Cell::new(None) }; RECENT] }
    }
}

impl Table {
    fn place(&self, pid: u32) -> Option<usize> {
        let recent = &self.recent[pid as usize % RECENT];
        match recent.get() {
            Some((last, place)) if last == pid => Some(place),
            _ => {
                let place = *self.places.get(&pid)?;
                recent.set(Some((pid, place)));
                Some(place)
            }
        }
    }

    pub(super) fn has(&self, pid: u32) -> bool {
        self.place(pid).is_some()
    }

    pub(super) fn get(&self, pid: u32) -> Option<&Process> {
        self.processes[self.place(pid)?].as_ref()
    }

    pub(super) fn get_mut(&mut self, pid: u32) -> Option<&mut Process> {
        let place = self.place(pid)?;
        self.processes[place].as_mut()
    }

    /// Inserts a process in place of the one that had the number, if there was one.
    pub(super) fn insert(&mut self, pid: u32, process: Process) {
        self.remove(pid);
        let place = self.free.pop().unwrap_or_else(|| {
            self.processes.push(None);
            self.processes.len() - 1
        });
        self.processes[place] = Some(process);
        self.places.insert(pid, place);
    }

    pub(super) fn remove(&mut self, pid: u32) -> Option<Process> {
        let place = self.places.remove(&pid)?;
        self.recent[pid as usize % RECENT].set(None);
        self.free.push(place);
        self.processes[place].take()
    }

    /// Returns all processes, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.places.iter().filter_map(|(pid, place)| Some((*pid, self.processes[*place].as_ref()?)))
    }
}
