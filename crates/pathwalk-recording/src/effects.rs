//! The effects of calls on the model of processes, and the counting of calls.

use crate::call_text::{Outcome, PathText, Problem};
use crate::calls::{Effect, Event, Named, OnExec, Opened, What};
use crate::directories::Place;
use crate::distinct::{Answer, Asking, Descriptors};
use crate::escape::unescape;
use crate::flags::CloneFlags;
use crate::processes::{Cwd, Descriptor, Root, Whose};
use crate::reader::Reader;
use crate::recording::{Call, LeftOut, Question};
use crate::whereabouts::BAD_ESCAPE;

impl Reader {
    /// Applies a call of `pid` to the model.
    pub(crate) fn apply(&mut self, pid: u32, line: u64, event: Event<'_>) -> Result<(), Problem> {
        match event {
            Event::Named(named) => return self.named(pid, line, named),
            Event::Change { name, at } => {
                self.learn_from(pid, at)?;
                count(&mut self.tally.changes, name);
            }
            Event::Other { name, at } => {
                self.learn_from(pid, at)?;
                self.other(name);
            }
            Event::NewRoot { name, outcome } => self.new_root(pid, name, outcome),
            Event::Cwd { path: PathText::Whole(path) } => {
                let directory = self.number_of(path)?;
                self.processes.learn(pid, Cwd::Known(Place::Certain(directory)));
            }
            Event::Cwd { .. } => {}
            Event::Nothing => {}
            Event::Fchdir { at, outcome } => self.fchdir(pid, at, outcome)?,
            Event::Clone { flags, outcome } => {
                let child = if let Outcome::Done(child, _) = outcome { u32::try_from(child).ok() } else { None };
                self.processes.clone_returns(pid, flags, child.filter(|child| *child != 0));
            }
            Event::Unshare { flags, outcome } => match outcome {
                Outcome::Done(..) => self.processes.unshare(pid, flags),
                Outcome::Unknown => self.processes.unshare(pid, flags & CloneFlags::NEW_MOUNTS),
                Outcome::Absent | Outcome::Failed => {}
            },
            Event::Exit => self.processes.ends(pid),
            Event::Close { .. } | Event::CloseRange { .. } | Event::Dup { .. } | Event::SetOnExec { .. } => {
                self.descriptor(pid, event)
            }
        }
        Ok(())
    }

    /// Applies a call that concerns descriptors alone.
    fn descriptor(&mut self, pid: u32, event: Event<'_>) {
        if let Event::Close { .. } = event {
            self.descriptors = Descriptors::Followed;
        }
        if let Event::CloseRange { unshares: true, .. } = event {
            self.processes.unshare(pid, CloneFlags::FILES);
        }
        let Some(mut descriptors) = self.processes.descriptors(pid) else { return };
        match event {
            // The descriptor is closed even if closing reports an error. Source: `close(2)`.
            Event::Close { fd } => descriptors.set(fd, None),
            Event::CloseRange { first, last, on_exec_only, .. } => descriptors
                .for_range(first, last, |descriptor| on_exec_only.then_some(Descriptor { on_exec: OnExec::Close, ..descriptor })),
            // A `dup2` of a descriptor to itself changes nothing.
            Event::Dup { from, outcome: Outcome::Done(to, _), on_exec } if to != i64::from(from) => {
                let copy = descriptors.get(from).map(|descriptor| Descriptor { on_exec, ..descriptor });
                descriptors.set(descriptor_of(to), copy);
            }
            Event::SetOnExec { fd, on_exec } => descriptors.set_on_exec(fd, on_exec),
            _ => {}
        }
    }

    fn new_root(&mut self, pid: u32, name: &'static str, outcome: Outcome<'_>) {
        match name {
            "chroot" => self.other(name),
            "setns" => {}
            _ => count(&mut self.tally.changes, name),
        }
        if matches!(outcome, Outcome::Done(..) | Outcome::Unknown) {
            self.processes.new_root(pid, if name == "pivot_root" { Whose::Everyones } else { Whose::Own });
        }
    }

    /// Applies a call on a path.
    fn named(&mut self, pid: u32, line: u64, named: Named<'_>) -> Result<(), Problem> {
        self.learn_from(pid, Some(named.at))?;
        let mut room = std::mem::take(&mut self.room);
        let result = self.named_with_room(pid, line, named, &mut room);
        self.room = room;
        result
    }

    fn named_with_room(&mut self, pid: u32, line: u64, named: Named<'_>, room: &mut Vec<u8>) -> Result<(), Problem> {
        let path = match named.path {
            PathText::Whole(text) => Some(unescape(text, room).ok_or(BAD_ESCAPE)?),
            PathText::Null | PathText::Unknown => None,
        };
        if named.what == What::NoName && named.effect == Effect::None {
            self.tally.no_name += 1;
            return Ok(());
        }
        let start = match path {
            Some([b'/', ..]) => Ok(None),
            _ => self.place(pid, named.at)?.map(Some),
        };
        match named.what {
            What::Asks(call, question) => self.ask(pid, line, (call, question), start, path, named.outcome),
            What::Changes => count(&mut self.tally.changes, named.name),
            What::NoName => self.tally.no_name += 1,
            What::Resolves => self.leave_out(LeftOut::ResolveFlags),
            What::Other => self.other(named.name),
        }
        match named.effect {
            Effect::None => {}
            Effect::Opens(on_exec, opened) => self.opened(pid, named.outcome, start, path, (on_exec, opened)),
            Effect::Executes => {
                if let Outcome::Done(..) = named.outcome {
                    self.processes.execute(pid);
                }
            }
            Effect::Moves => self.chdir(pid, named.outcome, start, path),
        }
        Ok(())
    }

    /// Counts a lookup, or the reason why it is left out.
    fn ask(
        &mut self,
        pid: u32,
        line: u64,
        (call, question): (Call, Question),
        start: Result<Option<Place>, LeftOut>,
        path: Option<&[u8]>,
        outcome: Outcome<'_>,
    ) {
        let asked = match (self.processes.root(pid), path, start) {
            (Root::Other, ..) => Err(LeftOut::OtherRoot),
            (_, None, _) => Err(LeftOut::UnknownPath),
            (_, Some(path), start) => start.map(|start| (path, start)),
        };
        let (path, start) = match asked {
            Ok(asked) => asked,
            Err(reason) => return self.leave_out(reason),
        };
        let answer = match outcome {
            Outcome::Done(..) => Answer::Fine,
            Outcome::Absent => Answer::Absent,
            Outcome::Failed => Answer::Failed,
            Outcome::Unknown => Answer::Unknown,
        };
        self.counter.add(Asking { call, question, start, path, answer, line });
    }

    /// Records the descriptor of the node that `path` leads to, if the call succeeded.
    fn opened(
        &mut self,
        pid: u32,
        outcome: Outcome<'_>,
        start: Result<Option<Place>, LeftOut>,
        path: Option<&[u8]>,
        (on_exec, opened): (OnExec, Opened),
    ) {
        let Outcome::Done(fd, annotation) = outcome else { return };
        let is_directory =
            opened == Opened::Directory || path.is_some_and(|path| matches!(path, b"." | b".." | [.., b'/'] | [.., b'/', b'.']));
        if self.descriptors == Descriptors::NotFollowed && is_directory {
            self.processes.doubt(pid);
        }
        // An annotated descriptor is not recorded, because `-y` prints its path wherever it is
        // used.
        let annotated = annotation.is_some();
        let directory = if annotated || self.processes.root(pid) == Root::Other { None } else { self.joined(start, path) };
        let fd = descriptor_of(fd);
        let descriptor = directory.map(|place| Descriptor { directory: place.directory(), on_exec });
        if let Some(mut descriptors) = self.processes.descriptors(pid) {
            descriptors.set(fd, descriptor);
        }
    }

    fn leave_out(&mut self, reason: LeftOut) {
        *self.tally.left_out.entry(reason).or_default() += 1;
    }

    fn other(&mut self, name: &'static str) {
        self.leave_out(LeftOut::OtherCall);
        count(&mut self.tally.other_calls, name);
    }
}

/// Adds one to the count of a name. Allocates only for the first call of that name.
fn count(counts: &mut std::collections::BTreeMap<String, u64>, name: &'static str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

/// Returns the result of a call as a descriptor. A number that does not fit becomes `i32::MAX`,
/// which no descriptor is.
fn descriptor_of(result: i64) -> i32 {
    i32::try_from(result).unwrap_or(i32::MAX)
}
