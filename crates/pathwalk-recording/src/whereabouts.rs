//! The working directories of processes, the directories in which paths start, and their changes.

use crate::call_text::{Annotation, At, Outcome, Problem};
use crate::directories::Place;
use crate::escape::unescape;
use crate::processes::Cwd;
use crate::reader::Reader;
use crate::recording::LeftOut;

pub(crate) const BAD_ESCAPE: Problem = "a path with an escape that is none";

impl Reader {
    /// Returns the directory in which a relative path starts.
    pub(crate) fn place(&mut self, pid: u32, at: At<'_>) -> Result<Result<Place, LeftOut>, Problem> {
        Ok(match at {
            At::Cwd(_) => match self.processes.cwd(pid) {
                Cwd::Known(place) => Ok(place),
                Cwd::Unknown => Err(LeftOut::UnknownDirectory),
                Cwd::Removed => Err(LeftOut::RemovedDirectory),
            },
            At::Descriptor(_, Some(Annotation::Path(path))) => Ok(Place::Certain(self.number_of(path)?)),
            At::Descriptor(_, Some(Annotation::Deleted)) => Err(LeftOut::RemovedDirectory),
            At::Descriptor(_, Some(Annotation::NoPath)) => Err(LeftOut::UnknownDirectory),
            At::Descriptor(fd, None) => {
                let known = self.processes.descriptors(pid).and_then(|descriptors| descriptors.get(fd));
                known.map(|descriptor| Place::IfFollowed(descriptor.directory)).ok_or(LeftOut::UnknownDirectory)
            }
        })
    }

    /// Sets the working directory of a process from the annotation of `AT_FDCWD`.
    pub(crate) fn learn_from(&mut self, pid: u32, at: Option<At<'_>>) -> Result<(), Problem> {
        let Some(At::Cwd(Some(annotation))) = at else { return Ok(()) };
        let known = self.processes.cwd(pid);
        let cwd = match annotation {
            Annotation::Path(path) => {
                // Mostly this directory is already known.
                if let Cwd::Known(Place::Certain(directory)) = known
                    && self.directories.path(directory) == path
                {
                    return Ok(());
                }
                Cwd::Known(Place::Certain(self.number_of(path)?))
            }
            Annotation::Deleted => Cwd::Removed,
            Annotation::NoPath => Cwd::Unknown,
        };
        if cwd != known {
            self.processes.learn(pid, cwd);
        }
        Ok(())
    }

    /// Returns the number of an absolute path that is escaped.
    pub(crate) fn number_of(&mut self, text: &[u8]) -> Result<u32, Problem> {
        let mut room = Vec::new();
        let path = unescape(text, &mut room).ok_or(BAD_ESCAPE)?;
        Ok(self.directories.number_of(path))
    }

    /// Returns the directory that a path leads to, joined as text.
    pub(crate) fn joined(&mut self, start: Result<Option<Place>, LeftOut>, path: Option<&[u8]>) -> Option<Place> {
        let path = path?;
        match start.ok()? {
            None => Some(Place::Certain(self.directories.number_of(path))),
            Some(base) => {
                let directory = self.directories.join(base.directory(), path)?;
                Some(base.with(directory))
            }
        }
    }

    pub(crate) fn chdir(&mut self, pid: u32, outcome: Outcome<'_>, start: Result<Option<Place>, LeftOut>, path: Option<&[u8]>) {
        match outcome {
            Outcome::Done(..) => {
                let cwd = self.joined(start, path).map_or(Cwd::Unknown, Cwd::Known);
                self.processes.moved(pid, cwd);
            }
            Outcome::Unknown => self.processes.moved(pid, Cwd::Unknown),
            Outcome::Absent | Outcome::Failed => {}
        }
    }

    pub(crate) fn fchdir(&mut self, pid: u32, at: At<'_>, outcome: Outcome<'_>) -> Result<(), Problem> {
        let cwd = match outcome {
            Outcome::Done(..) => match self.place(pid, at)? {
                Ok(place) => Cwd::Known(place),
                Err(LeftOut::RemovedDirectory) => Cwd::Removed,
                Err(_) => Cwd::Unknown,
            },
            Outcome::Unknown => Cwd::Unknown,
            Outcome::Absent | Outcome::Failed => return Ok(()),
        };
        self.processes.moved(pid, cwd);
        Ok(())
    }
}
