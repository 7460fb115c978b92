//! The assignment of lines to processes.
//!
//! `strace -f -o FILE` numbers every line. On standard error, strace numbers lines only while there
//! are several processes: a line without a number belongs to the only one that is left. The first
//! process is nameless until it is numbered for the first time.

use super::{Life, Processes};
use crate::line::Who;

/// The number of a process that was never numbered. No real process has it.
const NAMELESS: u32 = 0;

/// The way in which the recording numbers its lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Numbers on every line.
    All,
    /// Numbers on no line, or only while there are several processes.
    Several,
}

/// The role of a line for its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The beginning of a call.
    Begins,
    /// The continuation of a call that began on another line.
    GoesOn,
}

impl Processes {
    /// Returns the number of the process that the line belongs to. Returns `None` if the recording
    /// numbers its lines in another way, so that the line cannot be strace's.
    pub(crate) fn number(&mut self, who: Who, part: Part) -> Option<u32> {
        let form = *self.form.get_or_insert(match who {
            Who::Plain(_) => Form::All,
            Who::Unnamed | Who::Bracketed(_) => Form::Several,
        });
        match (form, who) {
            (Form::All, Who::Plain(pid)) => Some(pid),
            (Form::Several, Who::Bracketed(pid)) => {
                self.name_the_nameless(pid, part);
                Some(pid)
            }
            (Form::Several, Who::Unnamed) => Some(self.only_one()),
            _ => None,
        }
    }

    /// Gives the nameless first process a number that was never seen. But if the first process is
    /// in the middle of a call while another call begins, the number is that of a new process.
    fn name_the_nameless(&mut self, pid: u32, part: Part) {
        if self.knows(pid) {
            return;
        }
        let Some(nameless) = self.table.get(NAMELESS) else { return };
        if part == Part::GoesOn || nameless.unfinished.text.is_empty() {
            self.becomes(NAMELESS, pid);
        }
    }

    fn only_one(&self) -> u32 {
        if self.knows(NAMELESS) {
            return NAMELESS;
        }
        let mut running = self.table.iter().filter(|(_, process)| process.life == Life::Running);
        match (running.next(), running.next()) {
            (Some((pid, _)), None) => pid,
            _ => NAMELESS,
        }
    }
}
