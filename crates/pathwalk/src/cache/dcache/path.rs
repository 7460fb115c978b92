//! The path of a dentry: the names from it up to a directory above it.
//!
//! This works as Linux's `d_path` does: a first try takes no lock, and if a directory was moved
//! meanwhile, a second try stops all moves of directories. So the second try ends, however many
//! threads rename. Moves of files are not stopped: the file's name and its directory are read as of
//! one instant, and the directory is pinned.
//!
//! What it does not do: a path is true at some instant of the call, and may no longer be true when
//! the call returns.

use super::dentry::{WORD, flags, length_of};
use crate::Errno;
use crate::cache::Caches;
use crate::cache::Pinned;
use crate::memory::slot::DentryId;
use crate::memory::{pin, seqcount};

/// The number of names between two checks whether the way up has changed.
const NAMES_A_LOOK: usize = 256;

impl Caches {
    /// Returns the names that lead from `top` to a dentry on which the caller has a pin, with a
    /// slash before each. The result is empty for `top` itself. If the dentry is not below `top`,
    /// the names start at the root of the file system. Fails with `ENOENT` if the dentry, or a
    /// directory above it, was removed.
    pub(crate) fn path_below(&self, id: DentryId, top: DentryId) -> Result<Vec<u8>, Errno> {
        if id == top || self.is_root(id) {
            return Ok(Vec::new());
        }
        if let Some(path) = self.path_beside_moves(id, top) {
            return path;
        }
        let _still = self.moves.stop();
        loop {
            if let Some(path) = self.path_without_moves(id, top) {
                return path;
            }
        }
    }

    /// Returns the same path even if dentries of it were removed, by the names that they had.
    /// `//deleted` is appended if the dentry itself was removed. Linux: `dentry_path`.
    pub(crate) fn path_even_removed(&self, id: DentryId, top: DentryId) -> Vec<u8> {
        let _still = self.moves.stop();
        let (mut names, mut at) = (Vec::new(), id);
        while at != top && !self.is_root(at) {
            names.push([&b"/"[..], &self.name_of(self.dentries.line(at))].concat());
            at = self.dentries.parent(at);
        }
        names.reverse();
        if self.dentries.word(id) & flags::REMOVED != 0 {
            names.push(b"//deleted".to_vec());
        }
        names.concat()
    }

    /// Returns the names that lead from `top` to a directory, with a slash between two, even if the
    /// directory was removed; `None` if it is not below `top`, or `top` itself. The caller has pins
    /// on both. Moves of directories are stopped meanwhile.
    pub(crate) fn names_below(&self, dir: DentryId, top: DentryId) -> Option<Vec<u8>> {
        let _still = self.moves.stop();
        let (mut names, mut at) = (Vec::new(), dir);
        while at != top {
            let parent = self.dentries.parent(at);
            // A root, or a slot that is not in use, which is only possible for a directory whose
            // subscription just ended.
            if parent == at {
                return None;
            }
            names.push(self.name_of(self.dentries.line(at)));
            at = parent;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Returns the directory and the name of a dentry on which the caller has a pin, as of one
    /// instant, with a pin on the directory; `None` if the dentry has no name any more.
    pub(crate) fn name_in_directory(&self, id: DentryId) -> Option<(Pinned<'_>, Vec<u8>)> {
        let line = self.dentries.line(id);
        loop {
            let word = self.dentries.word(id);
            if word & (flags::UNHASHED | flags::REMOVED) != 0 || self.is_root(id) {
                return None;
            }
            let name = self.name_of(line);
            let dir = Pinned::new(self, self.pin_parent(id));
            if seqcount::unchanged(&line[WORD], word) {
                return Some((dir, name));
            }
        }
    }

    /// Returns whether a dentry is the root of a file system, that is, its own parent.
    pub(crate) fn is_root(&self, id: DentryId) -> bool {
        id != DentryId::NONE && self.dentries.parent(id) == id
    }

    /// Returns whether a dentry never had a name: a file made by `O_TMPFILE`.
    pub(crate) fn is_unnamed(&self, id: DentryId) -> bool {
        !self.is_root(id) && length_of(self.dentries.line(id)) == 0
    }

    /// Returns the path, or `None` if the way up changed meanwhile.
    fn path_beside_moves(&self, id: DentryId, top: DentryId) -> Option<Result<Vec<u8>, Errno>> {
        let (before, word) = (self.moves.still()?, self.dentries.word(id));
        // The dentry's word covers its own name and its removal; the count of moves covers the
        // directories above it.
        let changed = || self.moves.moved_since(before) || !seqcount::unchanged(&self.dentries.line(id)[WORD], word);
        let path = self.names_up(id, top, changed);
        (!changed()).then_some(path)
    }

    /// Returns the path while moves of directories are stopped. Returns `None` if the dentry is not
    /// a directory, was moved, and its former directory is gone.
    fn path_without_moves(&self, id: DentryId, top: DentryId) -> Option<Result<Vec<u8>, Errno>> {
        let line = self.dentries.line(id);
        let word = self.dentries.word(id);
        let unchanged = || seqcount::unchanged(&line[WORD], word);
        if word & flags::DIRECTORY != 0 {
            return Some(self.names_up(id, top, || false));
        }
        let own = self.own_name(id);
        let above = Pinned::new(self, self.pin_parent(id));
        if !unchanged() {
            return None;
        }
        let path = own.and_then(|own| Ok([self.names_up(above.id(), top, || false)?, own].concat()));
        // A directory is removed only once it is empty, so the dentry has moved elsewhere by then.
        (path.is_ok() || unchanged()).then_some(path)
    }

    /// Returns the names from `top`, or the root, down to a dentry, with a slash before each. The
    /// caller checks that they belong together. Ends early once `changed` reports that they do not.
    fn names_up(&self, id: DentryId, top: DentryId, changed: impl Fn() -> bool) -> Result<Vec<u8>, Errno> {
        let (mut names, mut at) = (Vec::new(), id);
        while at != top && !self.is_root(at) {
            names.push(self.own_name(at)?);
            let parent = self.dentries.parent(at);
            // The way is torn by a move, or a move is about to begin.
            if parent == at || names.len().is_multiple_of(NAMES_A_LOOK) && changed() {
                break;
            }
            at = parent;
        }
        names.reverse();
        Ok(names.concat())
    }

    /// Returns the last component of a path, with a slash before it.
    fn own_name(&self, id: DentryId) -> Result<Vec<u8>, Errno> {
        if self.dentries.word(id) & flags::REMOVED != 0 || self.is_unnamed(id) {
            return Err(Errno::ENOENT);
        }
        Ok([&b"/"[..], &self.name_of(self.dentries.line(id))].concat())
    }

    /// Returns the parent, pinned, of a dentry that the caller has a pin on. A root is its own
    /// parent.
    pub(crate) fn pin_parent(&self, id: DentryId) -> DentryId {
        loop {
            let word = self.dentries.word(id);
            let parent = self.dentries.parent(id);
            // A child keeps its parent alive: if the child did not move, the life that was read is
            // the parent's.
            let life = pin::read(self.dentries.life(parent));
            if let Some(life) = life
                && seqcount::unchanged(&self.dentries.line(id)[WORD], word)
                && pin::pin(self.dentries.life(parent), life)
            {
                return parent;
            }
        }
    }

    /// Returns whether `top` is this dentry or a directory above it, as of one instant. Returns
    /// `None` if a directory was moved meanwhile. Takes no lock. The caller has a pin on the
    /// dentry, or checks afterwards that it is unchanged.
    pub(crate) fn is_below(&self, id: DentryId, top: DentryId) -> Option<bool> {
        let before = self.moves.still()?;
        let is_below = self.climbs_to(id, top, || self.moves.moved_since(before));
        (!self.moves.moved_since(before)).then_some(is_below)
    }

    /// Returns the same, and waits for a move of a directory if one is in the way. The caller has a
    /// pin on the dentry.
    pub(crate) fn is_below_at_last(&self, id: DentryId, top: DentryId) -> bool {
        self.is_below(id, top).unwrap_or_else(|| {
            let _still = self.moves.stop();
            self.climbs_to(id, top, || false)
        })
    }

    fn climbs_to(&self, id: DentryId, top: DentryId, changed: impl Fn() -> bool) -> bool {
        let (mut at, mut steps) = (id, 0);
        while at != top {
            let parent = self.dentries.parent(at);
            steps += 1;
            if parent == at || steps % NAMES_A_LOOK == 0 && changed() {
                return false;
            }
            at = parent;
        }
        true
    }
}
