//! The call `renameat2`.
//!
//! Source: `do_renameat2`, `lock_rename`, `vfs_rename`, `shmem_rename2`, `simple_rename_exchange`
//! of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, RenameFlags};
use crate::node::Id;
use crate::permission::{Victim, may_create, may_delete, permission};
use crate::process::Process;
use crate::walk::{Last, Parent, child};
use crate::{Call, Model};

/// A name in a directory, and whether a slash follows it.
struct Name {
    directory: Id,
    name: Vec<u8>,
    slash: bool,
}

impl Model {
    /// Moves a node to another name, or exchanges two, as `renameat2` does.
    pub fn rename(
        &self,
        process: &mut Process,
        old_at: i32,
        old_path: &[u8],
        new_at: i32,
        new_path: &[u8],
        flags: RenameFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        if !RenameFlags::all().contains(flags) || flags == RenameFlags::all() {
            return Err(Errno::EINVAL);
        }
        let old = call.parent(old_at, old_path)?;
        let new = call.parent(new_at, new_path)?;
        let busy = if flags.contains(RenameFlags::NOREPLACE) { Errno::EEXIST } else { Errno::EBUSY };
        let old = named(old).ok_or(Errno::EBUSY)?;
        let new = named(new).ok_or(busy)?;
        call.rename(&old, &new, flags)
    }
}

fn named(Parent { directory, last }: Parent) -> Option<Name> {
    match last {
        Last::Name { name, slash } => Some(Name { directory, name, slash }),
        _ => None,
    }
}

impl Call<'_> {
    fn rename(&mut self, old: &Name, new: &Name, flags: RenameFlags) -> Result<()> {
        let source = child(&self.state, old.directory, &old.name)?.ok_or(Errno::ENOENT)?;
        let target = child(&self.state, new.directory, &new.name)?;
        match target {
            Some(_) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EEXIST),
            None if flags.contains(RenameFlags::EXCHANGE) => return Err(Errno::ENOENT),
            _ => {}
        }
        self.slashes_are_right(old, source, new, target, flags)?;
        self.makes_no_cycle(old, source, new, target, flags)?;
        if target == Some(source) {
            return Ok(());
        }
        self.may_rename(old, source, new, target, flags)?;
        match target {
            Some(target) if flags.contains(RenameFlags::EXCHANGE) => self.exchange(old, source, new, target),
            Some(target) if !self.state.is_empty(target) => return Err(Errno::ENOTEMPTY),
            _ => self.move_over(old, source, new, target),
        }
        Ok(())
    }

    /// Checks trailing slashes, which only directories may have. A slash after the new name
    /// concerns the source, or in an exchange the target.
    fn slashes_are_right(&self, old: &Name, source: Id, new: &Name, target: Option<Id>, flags: RenameFlags) -> Result<()> {
        let is_directory = |id: Id| self.state.node(id).is_directory();
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        let wrong = exchange && new.slash && !target.is_some_and(is_directory)
            || !is_directory(source) && (old.slash || new.slash && !exchange);
        if wrong { Err(Errno::ENOTDIR) } else { Ok(()) }
    }

    /// Checks that neither node lies above the other's directory.
    fn makes_no_cycle(&self, old: &Name, source: Id, new: &Name, target: Option<Id>, flags: RenameFlags) -> Result<()> {
        if old.directory == new.directory {
            return Ok(());
        }
        if self.state.is_within(new.directory, source) {
            return Err(Errno::EINVAL);
        }
        match target {
            Some(target) if self.state.is_within(old.directory, target) => {
                Err(if flags.contains(RenameFlags::EXCHANGE) { Errno::EINVAL } else { Errno::ENOTEMPTY })
            }
            _ => Ok(()),
        }
    }

    fn may_rename(&self, old: &Name, source: Id, new: &Name, target: Option<Id>, flags: RenameFlags) -> Result<()> {
        let (state, who) = (&*self.state, self.who());
        let moved = Victim::of(state.node(source));
        let exchanged = target.filter(|_| flags.contains(RenameFlags::EXCHANGE));
        may_delete(state, who, old.directory, source, moved)?;
        match target {
            None => may_create(state, who, new.directory)?,
            Some(target) => {
                let expected = if exchanged.is_some() { Victim::of(state.node(target)) } else { moved };
                may_delete(state, who, new.directory, target, expected)?;
            }
        }
        // A write of `..` is needed for a directory that gets another parent.
        if old.directory != new.directory {
            for node in [Some(source), exchanged].into_iter().flatten().map(|id| state.node(id)) {
                if node.is_directory() {
                    permission(node, who, Access::WRITE)?;
                }
            }
        }
        Ok(())
    }

    fn exchange(&mut self, old: &Name, source: Id, new: &Name, target: Id) {
        self.state.set_name(old.directory, &old.name, target);
        self.state.set_name(new.directory, &new.name, source);
    }

    fn move_over(&mut self, old: &Name, source: Id, new: &Name, target: Option<Id>) {
        self.state.clear_name(old.directory, &old.name);
        self.state.set_name(new.directory, &new.name, source);
        if let Some(target) = target {
            self.state.lost_name(target);
        }
    }
}
