//! Processes by their numbers. Lines of one process mostly come in a row, so the last one asked for is found at once.

use std::cell::Cell;

use hashbrown::HashMap;
use rapidhash::fast::RandomState;

use super::Process;

#[derive(Default, Debug)]
pub(super) struct Table {
    places: HashMap<u32, usize, RandomState>,
    /// `None` where a process was removed.
    processes: Vec<Option<Process>>,
    free: Vec<usize>,
    /// The number asked for last, and its place.
    last: Cell<Option<(u32, usize)>>,
}

impl Table {
    fn place(&self, pid: u32) -> Option<usize> {
        match self.last.get() {
            Some((last, place)) if last == pid => Some(place),
            _ => {
                let place = *self.places.get(&pid)?;
                self.last.set(Some((pid, place)));
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

    /// Instead of the one that had the number, if any had.
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
        self.last.set(None);
        self.free.push(place);
        self.processes[place].take()
    }

    /// All, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.places.iter().filter_map(|(pid, place)| Some((*pid, self.processes[*place].as_ref()?)))
    }
}
