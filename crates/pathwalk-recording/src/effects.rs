//! What a call does to the model of processes, and what it counts as.

use crate::call_text::{At, Outcome, PathText, Problem};
use crate::calls::{Effect, Event, Named, OnExec, Opened, What};
use crate::directories::Place;
use crate::distinct::{Answer, Asking, Descriptors};
use crate::escape::unescape;
use crate::flags::CloneFlags;
use crate::memo::{Counts, Recipe};
use crate::processes::{Cwd, Descriptor, Root, Whose};
use crate::reader::Reader;
use crate::recording::{Call, LeftOut, Question};
use crate::whereabouts::BAD_ESCAPE;

/// Was a call done again?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeated {
    Yes,
    /// The recipe does not hold in this process.
    No,
}

impl Reader {
    /// Does again what a recipe says.
    pub(crate) fn repeat(&mut self, pid: u32, line: u64, recipe: Recipe) -> Repeated {
        let is_there = |directory| self.processes.cwd(pid) == Cwd::Known(Place::Certain(directory));
        if self.processes.root(pid) == Root::Other || !recipe.cwd.is_none_or(is_there) {
            return Repeated::No;
        }
        match recipe.counts {
            Counts::Nothing => {}
            Counts::NoName => self.tally.no_name += 1,
            Counts::Lookup(at, answer) => self.distinct.again(at, answer, line),
        }
        if let (Some((fd, descriptor)), Some(mut descriptors)) = (recipe.sets, self.processes.descriptors(pid)) {
            descriptors.set(fd, descriptor);
        }
        Repeated::Yes
    }

    /// Takes in what `pid` did. If that can be repeated, it is told how.
    pub(crate) fn apply(&mut self, pid: u32, line: u64, event: Event<'_>) -> Result<Option<Recipe>, Problem> {
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
            Event::Nothing => return Ok(Some(Recipe::NOTHING)),
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
            Event::Close { fd } => {
                self.descriptor(pid, event);
                return Ok(Some(Recipe { sets: Some((fd, None)), ..Recipe::NOTHING }));
            }
            Event::CloseRange { .. } | Event::Dup { .. } | Event::SetOnExec { .. } => self.descriptor(pid, event),
        }
        Ok(None)
    }

    /// What is done to descriptors alone.
    fn descriptor(&mut self, pid: u32, event: Event<'_>) {
        if let Event::Close { .. } = event {
            self.descriptors = Descriptors::Followed;
        }
        if let Event::CloseRange { unshares: true, .. } = event {
            self.processes.unshare(pid, CloneFlags::FILES);
        }
        let Some(mut descriptors) = self.processes.descriptors(pid) else { return };
        match event {
            // It is closed even if closing reports an error. Source: `close(2)`.
            Event::Close { fd } => descriptors.set(fd, None),
            Event::CloseRange { first, last, on_exec_only, .. } => descriptors
                .for_range(first, last, |descriptor| on_exec_only.then_some(Descriptor { on_exec: OnExec::Close, ..descriptor })),
            // `dup2` of a descriptor to itself changes nothing.
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

    /// A call on a path.
    fn named(&mut self, pid: u32, line: u64, named: Named<'_>) -> Result<Option<Recipe>, Problem> {
        self.learn_from(pid, Some(named.at))?;
        let mut room = std::mem::take(&mut self.room);
        let result = self.named_with_room(pid, line, named, &mut room);
        self.room = room;
        result
    }

    fn named_with_room(&mut self, pid: u32, line: u64, named: Named<'_>, room: &mut Vec<u8>) -> Result<Option<Recipe>, Problem> {
        let path = match named.path {
            PathText::Whole(text) => Some(unescape(text, room).ok_or(BAD_ESCAPE)?),
            PathText::Null | PathText::Unknown => None,
        };
        if named.what == What::NoName && named.effect == Effect::None {
            self.tally.no_name += 1;
            let plain = matches!(named.at, At::Descriptor(..));
            return Ok(plain.then_some(Recipe { counts: Counts::NoName, ..Recipe::NOTHING }));
        }
        let start = match path {
            Some([b'/', ..]) => Ok(None),
            _ => self.place(pid, named.at)?.map(Some),
        };
        let mut counts = None;
        match named.what {
            What::Asks(call, question) => counts = self.ask(pid, line, (call, question), start, path, named.outcome),
            What::Changes => count(&mut self.tally.changes, named.name),
            What::NoName => self.tally.no_name += 1,
            What::Resolves => self.leave_out(LeftOut::ResolveFlags),
            What::Other => self.other(named.name),
        }
        let mut sets = None;
        match named.effect {
            Effect::None => {}
            Effect::Opens(on_exec, opened) => match self.opened(pid, named.outcome, start, path, (on_exec, opened)) {
                Opening::Repeatable(set) => sets = set,
                Opening::Once => counts = None,
            },
            Effect::Executes => {
                if let Outcome::Done(..) = named.outcome {
                    self.processes.execute(pid);
                }
            }
            Effect::Moves => self.chdir(pid, named.outcome, start, path),
        }
        let repeatable =
            matches!(named.effect, Effect::None | Effect::Opens(..)) && !matches!(start, Ok(Some(Place::IfFollowed(_))));
        let Some(counts) = counts.filter(|_| repeatable) else { return Ok(None) };
        let cwd = match (named.at, start, self.processes.cwd(pid)) {
            (At::Cwd(None), Ok(None), _) | (At::Descriptor(..), ..) => None,
            (At::Cwd(_), _, Cwd::Known(Place::Certain(directory))) => Some(directory),
            _ => return Ok(None),
        };
        Ok(Some(Recipe { cwd, sets, counts }))
    }

    /// Counts a lookup, and tells as what; or counts why it is left out.
    fn ask(
        &mut self,
        pid: u32,
        line: u64,
        (call, question): (Call, Question),
        start: Result<Option<Place>, LeftOut>,
        path: Option<&[u8]>,
        outcome: Outcome<'_>,
    ) -> Option<Counts> {
        let asked = match (self.processes.root(pid), path, start) {
            (Root::Other, ..) => Err(LeftOut::OtherRoot),
            (_, None, _) => Err(LeftOut::UnknownPath),
            (_, Some(path), start) => start.map(|start| (path, start)),
        };
        let (path, start) = asked.map_err(|reason| self.leave_out(reason)).ok()?;
        let answer = match outcome {
            Outcome::Done(..) => Answer::Fine,
            Outcome::Absent => Answer::Absent,
            Outcome::Failed => Answer::Failed,
            Outcome::Unknown => Answer::Unknown,
        };
        let at = self.distinct.add(Asking { call, question, start, path, answer, line });
        Some(Counts::Lookup(at, answer))
    }

    /// A descriptor of what `path` leads to, if the call succeeded.
    fn opened(
        &mut self,
        pid: u32,
        outcome: Outcome<'_>,
        start: Result<Option<Place>, LeftOut>,
        path: Option<&[u8]>,
        (on_exec, opened): (OnExec, Opened),
    ) -> Opening {
        let Outcome::Done(fd, annotation) = outcome else { return Opening::Repeatable(None) };
        let is_directory =
            opened == Opened::Directory || path.is_some_and(|path| matches!(path, b"." | b".." | [.., b'/'] | [.., b'/', b'.']));
        let doubtful = self.descriptors == Descriptors::NotFollowed && is_directory;
        if doubtful {
            self.processes.doubt(pid);
        }
        // What it leads to stands beside the descriptor wherever it is used.
        let annotated = annotation.is_some();
        let directory = if annotated || self.processes.root(pid) == Root::Other { None } else { self.joined(start, path) };
        let fd = descriptor_of(fd);
        let descriptor = directory.map(|place| Descriptor { directory: place.directory(), on_exec });
        if let Some(mut descriptors) = self.processes.descriptors(pid) {
            descriptors.set(fd, descriptor);
        }
        if doubtful { Opening::Once } else { Opening::Repeatable(Some((fd, descriptor))) }
    }

    fn leave_out(&mut self, reason: LeftOut) {
        *self.tally.left_out.entry(reason).or_default() += 1;
    }

    fn other(&mut self, name: &'static str) {
        self.leave_out(LeftOut::OtherCall);
        count(&mut self.tally.other_calls, name);
    }
}

/// Does opening it again do the same?
enum Opening {
    /// It does, to this descriptor.
    Repeatable(Option<(i32, Option<Descriptor>)>),
    Once,
}

/// Allocates only for the first.
fn count(counts: &mut std::collections::BTreeMap<String, u64>, name: &'static str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => drop(counts.insert(name.to_owned(), 1)),
    }
}

/// What a call returned, as a descriptor; none is as high as what does not fit.
fn descriptor_of(result: i64) -> i32 {
    i32::try_from(result).unwrap_or(i32::MAX)
}
