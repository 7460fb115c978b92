//! The calls `open`, `openat2`, `close` and `dup2`. An open takes these steps:
//!
//! 1. It checks that the flags are valid together (`EINVAL`).
//! 2. It makes a node without a name, makes one with a name, or finds one.
//! 3. It checks that the node may be opened in this way, and truncates it on request.
//!
//! Source: `build_open_how`, `build_open_flags`, `path_openat`, `open_last_lookups`, `lookup_open`,
//! `do_open`, `may_open`, `vfs_tmpfile`, `may_create_in_sticky` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, OpenFlags, Resolve};
use crate::node::{Body, Id, OpenFile, Tmpfile};
use crate::permission::{STICKY, may_own, owner_or_capable, permission};
use crate::process::Process;
use crate::walk::{Empty, Follow, Last, Walk, child};
use crate::{Call, Model};

/// The arguments of `openat2`: `struct open_how`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenHow {
    /// The access mode and the other flags.
    pub flags: OpenFlags,
    /// The mode of a new node, 0..=0o7777; 0 if the flags allow no new node.
    pub mode: u64,
    /// The rules for the resolution of the path.
    pub resolve: Resolve,
}

/// The origin of an opened node. If this open made the node, its mode does not limit the access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Made,
    Found,
}

/// The end of an open's walk.
enum End {
    Node(Id),
    /// A name that does not exist and is to be made.
    Free {
        directory: Id,
        name: Vec<u8>,
    },
}

/// The attributes of the last directory: with `CREAT` they decide which files of other users may be
/// opened.
#[derive(Clone, Copy)]
pub(crate) struct Directory {
    mode: u32,
    uid: u32,
}

/// The result of an open's walk.
struct Found {
    end: End,
    directory: Directory,
    must_be_directory: bool,
}

impl Model {
    /// Opens a file and returns the lowest free descriptor, as `openat` does. Unknown flags are
    /// ignored, and so are bits of `mode` that are unknown or not used.
    pub fn open(&self, process: &mut Process, at: i32, path: &[u8], flags: OpenFlags, mode: u32) -> Result<i32> {
        let mut flags = flags.without_unknown();
        if flags.contains(OpenFlags::PATH) {
            flags &= OpenFlags::BESIDE_PATH;
        }
        let mode = if makes(flags) { u64::from(mode) & 0o7777 } else { 0 };
        self.open2(process, at, path, OpenHow { flags, mode, resolve: Resolve::empty() })
    }

    /// Opens a file and returns the lowest free descriptor, as `openat2` does.
    pub fn open2(&self, process: &mut Process, at: i32, path: &[u8], how: OpenHow) -> Result<i32> {
        let mut call = self.call(process);
        check(how)?;
        let flags = how.flags;
        let node = match () {
            () if flags.contains(OpenFlags::TMPFILE_BIT) => return call.open_nameless(at, path, how),
            () if flags.contains(OpenFlags::PATH) => call.lookup_place(at, path, flags)?,
            () => call.open_named(at, path, how)?,
        };
        Ok(call.add_descriptor(node, None, flags))
    }

    /// Closes a descriptor, as `close` does.
    pub fn close(&self, process: &mut Process, descriptor: i32) -> Result<()> {
        let mut call = self.call(process);
        let file = call.process.descriptors.remove(&descriptor).ok_or(Errno::EBADF)?;
        call.close(file)
    }

    /// Gives an open file another number, from 0, as if its open had returned that. The former file
    /// of `to` is closed.
    pub fn renumber(&self, process: &mut Process, from: i32, to: i32) -> Result<()> {
        let mut call = self.call(process);
        if from == to {
            return call.process.open_file(from).map(drop);
        }
        let file = call.process.descriptors.remove(&from).ok_or(Errno::EBADF)?;
        match call.process.descriptors.insert(to, file) {
            Some(replaced) => call.close(replaced),
            None => Ok(()),
        }
    }

    /// Makes `to`, from 0, another descriptor of the open file of `from`, as `dup2` does. The
    /// former file of `to` is closed.
    pub fn dup2(&self, process: &mut Process, from: i32, to: i32) -> Result<()> {
        let mut call = self.call(process);
        let file = call.process.open_file(from)?;
        if to < 0 {
            return Err(Errno::EBADF);
        }
        if from == to {
            return Ok(());
        }
        call.state.open_file_mut(file)?.descriptors += 1;
        match call.process.descriptors.insert(to, file) {
            Some(replaced) => call.close(replaced),
            None => Ok(()),
        }
    }
}

fn makes(flags: OpenFlags) -> bool {
    flags.intersects(OpenFlags::CREAT | OpenFlags::TMPFILE_BIT)
}

/// Checks that the flags are valid together, and that the cache alone can satisfy them if that is
/// required.
fn check(how: OpenHow) -> Result<()> {
    let OpenHow { flags, mode, resolve } = how;
    let tmpfile = flags.contains(OpenFlags::TMPFILE_BIT);
    let wrong = !flags.known()
        || !Resolve::all().contains(resolve)
        || mode & !0o7777 != 0
        || mode != 0 && !makes(flags)
        || flags.contains(OpenFlags::DIRECTORY | OpenFlags::CREAT)
        || tmpfile && !(flags.contains(OpenFlags::DIRECTORY) && flags.access().contains(Access::WRITE))
        || flags.contains(OpenFlags::PATH) && !OpenFlags::BESIDE_PATH.contains(flags);
    if wrong {
        return Err(Errno::EINVAL);
    }
    let changes = makes(flags) || flags.contains(OpenFlags::TRUNC);
    if changes && resolve.contains(Resolve::CACHED) { Err(Errno::EAGAIN) } else { Ok(()) }
}

/// Returns the treatment of a link at the end.
fn follow(flags: OpenFlags) -> Follow {
    Follow::unless(flags.contains(OpenFlags::NOFOLLOW) || flags.contains(OpenFlags::CREAT | OpenFlags::EXCL))
}

impl Call<'_> {
    /// Closes a descriptor of the process, which loses its locks on the node.
    fn close(&mut self, file: Id) -> Result<()> {
        if let Ok(open) = self.state.open_file(file)?.not_place() {
            let node = open.node;
            self.state.release_locks(node, self.process.number());
        }
        self.state.close(file)
    }

    pub(crate) fn add_descriptor(&mut self, node: Id, within: Option<Id>, flags: OpenFlags) -> i32 {
        let opener = self.process.credentials_id();
        let id = self.process.next_id();
        let descriptor = self.process.free_descriptor();
        self.state.add_open(id, OpenFile { node, within, flags, offset: 0, opener, descriptors: 1 });
        self.process.descriptors.insert(descriptor, id);
        descriptor
    }

    /// Finds the node for `PATH`: this needs no right to the node and grants none.
    fn lookup_place(&self, at: i32, path: &[u8], flags: OpenFlags) -> Result<Id> {
        if flags.contains(OpenFlags::DIRECTORY) {
            return self.lookup_directory(at, path, follow(flags));
        }
        self.lookup(at, path, follow(flags), Empty::Refused)
    }

    /// Makes the node for `TMPFILE`. A removed directory is allowed, since no name is put into it.
    fn open_nameless(&mut self, at: i32, path: &[u8], how: OpenHow) -> Result<i32> {
        let directory = self.lookup_directory(at, path, follow(how.flags))?;
        self.open_nameless_in(directory, how.flags, how.mode as u32)
    }

    pub(crate) fn open_nameless_in(&mut self, directory: Id, flags: OpenFlags, mode: u32) -> Result<i32> {
        may_own(self.who())?;
        permission(self.state.node(directory), self.who(), Access::WRITE | Access::EXECUTE)?;
        let tmpfile = if flags.contains(OpenFlags::EXCL) { Tmpfile::No } else { Tmpfile::Linkable };
        let made = self.make_nameless(directory, Body::empty_file(0, tmpfile), mode)?;
        Ok(self.add_descriptor(made, Some(directory), flags))
    }

    fn open_named(&mut self, at: i32, path: &[u8], how: OpenHow) -> Result<Id> {
        let found = self.walk_to_open(at, path, how.flags)?;
        let (node, came) = match &found.end {
            End::Node(node) => (*node, Came::Found),
            End::Free { directory, name } => {
                may_own(self.who())?;
                permission(self.state.node(*directory), self.who(), Access::WRITE | Access::EXECUTE)?;
                (self.make(*directory, name, Body::empty_file(1, Tmpfile::No), how.mode as u32)?, Came::Made)
            }
        };
        if came == Came::Found {
            self.open_found(node, Some(found.directory), how.flags, found.must_be_directory)?;
        }
        Ok(node)
    }

    /// Checks that a node that was there may be opened, and truncates it on request. `directory`:
    /// that of its last name, if it was found by a path.
    pub(crate) fn open_found(
        &mut self,
        node: Id,
        directory: Option<Directory>,
        flags: OpenFlags,
        must_be_directory: bool,
    ) -> Result<()> {
        self.may_open(node, directory, must_be_directory, flags)?;
        let is_file = self.state.node(node).is_file();
        if is_file {
            self.state.break_leases(node, flags)?;
        }
        if flags.contains(OpenFlags::DIRECT) && !is_file {
            return Err(Errno::EINVAL);
        }
        if flags.contains(OpenFlags::TRUNC) && is_file {
            self.truncate_open(node, 0)?;
        }
        Ok(())
    }

    fn walk_to_open(&self, at: i32, path: &[u8], flags: OpenFlags) -> Result<Found> {
        let mut walk = self.walk(self.who(), at, path, follow(flags), Empty::Refused)?;
        walk.must_be_directory = flags.contains(OpenFlags::DIRECTORY);
        let mut text = path;
        let end = loop {
            walk.through(text)?;
            if flags.contains(OpenFlags::CREAT)
                && let Some(free) = self.free_at_end(&walk)?
            {
                break free;
            }
            walk.heed_slash();
            match walk.enter_last()? {
                Some(body) => text = body,
                None => break End::Node(walk.at),
            }
        };
        let directory = Directory { mode: walk.directory_mode, uid: walk.directory_uid };
        Ok(Found { end, directory, must_be_directory: walk.must_be_directory })
    }

    /// Returns the end of a walk with `CREAT` if the last name does not exist, else `None`. A name
    /// with a slash cannot be made: `EISDIR`.
    fn free_at_end(&self, walk: &Walk<'_>) -> Result<Option<End>> {
        match &walk.last {
            Last::Name { slash: true, .. } => Err(Errno::EISDIR),
            Last::Name { name, .. } if child(&self.state, walk.at, name)?.is_none() => {
                Ok(Some(End::Free { directory: walk.at, name: name.clone() }))
            }
            _ => Ok(None),
        }
    }

    /// Checks that an existing node may be opened in this way.
    fn may_open(&self, id: Id, directory: Option<Directory>, must_be_directory: bool, flags: OpenFlags) -> Result<()> {
        let node = self.state.node(id);
        if flags.contains(OpenFlags::CREAT) {
            if flags.contains(OpenFlags::EXCL) {
                return Err(Errno::EEXIST);
            }
            if node.is_directory() {
                return Err(Errno::EISDIR);
            }
            if let Some(directory) = directory {
                self.may_create_in_sticky(id, directory)?;
            }
        }
        if must_be_directory && !node.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        let mut wanted = flags.access();
        if flags.contains(OpenFlags::TRUNC) {
            wanted |= Access::WRITE;
        }
        match node.body {
            Body::Link { .. } => return Err(Errno::ELOOP),
            Body::Directory { .. } if wanted.contains(Access::WRITE) => return Err(Errno::EISDIR),
            _ => {}
        }
        permission(node, self.who(), wanted)?;
        let overwrites = flags.access().contains(Access::WRITE) && !flags.contains(OpenFlags::APPEND);
        let truncates = flags.contains(OpenFlags::TRUNC) && !matches!(node.body, Body::Special { .. });
        if node.is_append_only() && (overwrites || truncates) {
            return Err(Errno::EPERM);
        }
        if flags.contains(OpenFlags::NOATIME) && !owner_or_capable(node, self.who()) {
            return Err(Errno::EPERM);
        }
        if let Body::Special { .. } = node.body { self.state.may_open_special(id, flags) } else { Ok(()) }
    }

    /// Checks, for a caller with `CREAT`, that an existing node in a directory like `/tmp` belongs
    /// to the caller or to the directory's owner. The switches for files and pipes
    /// (`protected_regular`, `protected_fifos`) are off here, so those are not checked; links,
    /// devices and sockets have no switch.
    fn may_create_in_sticky(&self, id: Id, directory: Directory) -> Result<()> {
        let node = self.state.node(id);
        let switched_off = matches!(node.file_type(), libc::S_IFREG | libc::S_IFIFO);
        let trusted = node.uid == directory.uid || node.uid == self.who().fsuid;
        let like_tmp = directory.mode & STICKY != 0 && directory.mode & 0o002 != 0;
        if like_tmp && !switched_off && !trusted { Err(Errno::EACCES) } else { Ok(()) }
    }
}
