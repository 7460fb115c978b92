//! The kernel's tmpfs, watched: see [`watch`](crate::watch).

use std::os::fd::{AsRawFd, OwnedFd};

use pathwalk::AtFlags;
use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io;

use super::{Stage, Told, calls, tree};
use crate::cast::Actor;
use crate::outcome::Contents;
use crate::program::Settings;
use crate::watch::{Open, Watched, paths_compare, told_by_kernel};

/// Opens `/proc`, so that it can be reached after the root has changed.
pub(super) fn proc() -> io::Result<OwnedFd> {
    fs::openat(CWD, "/proc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

impl Stage<'_> {
    /// Looks at the whole tree and at all open files, if the program is watched.
    pub(super) fn watch(&self, actor: Actor, settings: Settings) -> io::Result<Option<Box<Watched>>> {
        if !settings.contains(Settings::WATCH) || !actor.may_look_as_root() {
            return Ok(None);
        }
        calls::looking_as_root(actor, || self.all(actor, settings)).map(|watched| Some(Box::new(watched)))
    }

    fn all(&self, actor: Actor, settings: Settings) -> io::Result<Watched> {
        let tree = tree::look(&self.kernel.root, Contents::LeftOut)?.into_iter().map(|(path, leaf)| (path, leaf.node));
        let mut watched = Watched { tree: tree.collect(), ..Watched::default() };
        for (number, there) in self.slots.iter().enumerate() {
            let Some(there) = there else { continue };
            let node = calls::look(&there.fd, b"", AtFlags::EMPTY_PATH)?;
            let path = if self.elsewhere[actor.index()] || !paths_compare(settings) || there.path == Told::IsAny {
                None
            } else {
                let link = format!("self/fd/{}", there.fd.as_raw_fd());
                match fs::readlinkat(&self.kernel.proc, link, Vec::new()) {
                    Ok(body) => Some(told_by_kernel(body.into_bytes())),
                    // Moves can make the path of a directory longer than any call takes.
                    Err(io::Errno::NAMETOOLONG) => None,
                    Err(errno) => return Err(errno),
                }
            };
            watched.slots.insert(number as u8, Open { node, path });
        }
        Ok(watched)
    }
}
