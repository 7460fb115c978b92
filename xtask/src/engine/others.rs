//! Changes by another `Vfs` on the same tree, which the caches of the first one are not told of.
//!
//! Every other change of a name or of attributes is made by the other `Vfs`, if it names its nodes
//! by paths. Working directories, roots and umasks change on both sides, until the two are in
//! different places: from then on the first `Vfs` makes all changes.
//!
//! What it does not do: it opens nothing, and so breaks no lease; and it moves and removes no
//! directory. A `Vfs` that is not told of such a change has the directory's old parent behind `..`
//! of a handle, and the old path, as Linux has them with a directory that was moved on an NFS
//! server. Nor are nodes opened by handles: what another side removed lives as long as the caches
//! hold it.

use pathwalk::{Errno, FileType};

use super::Stage;
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::Place;

/// The other side, and whether the next change is its own.
pub(super) struct Others {
    stage: Box<Stage>,
    is_next: bool,
}

impl Others {
    pub(super) fn new(stage: Stage) -> Others {
        Others { stage: Box::new(stage), is_next: false }
    }

    /// Returns whether the working directory is still there. The other side is not told of its
    /// removal, and refuses a name that is too long before it asks for it.
    fn is_somewhere(&self, actor: Actor) -> bool {
        self.stage.processes[actor.index()].looking.stat(".").is_ok_and(|of| of.nlink > 0)
    }
}

impl Stage {
    /// Returns the answer to an operation that the other side carries out.
    pub(super) fn answer_of_others(&mut self, actor: Actor, op: &Op) -> Option<Result<Answer, Errno>> {
        // Without another side, nothing is looked at, since that counts as an access.
        self.other.as_ref()?;
        let is_of_both = matches!(op, Op::Chdir { .. } | Op::Chroot { .. } | Op::Umask { .. });
        let is_change = is_change(op) && op.slots().is_empty() && !self.is_move_of_directory(actor, op);
        if is_of_both {
            let answer = self.other.as_mut()?.stage.answer(actor, op);
            let own = self.answer(actor, op);
            if answer.is_ok() != own.is_ok() || !self.is_with_others(actor) {
                self.other = None;
            }
            return Some(own);
        }
        if !is_change || !self.other.as_ref()?.is_somewhere(actor) {
            return None;
        }
        if !self.is_with_others(actor) {
            self.other = None;
        }
        let others = self.other.as_mut()?;
        others.is_next = !others.is_next;
        others.is_next.then(|| others.stage.answer(actor, op))
    }

    /// Returns whether a process has its working directory and its root in one place on both sides.
    /// The other side is not told when one of them, or a directory above, is moved or removed.
    fn is_with_others(&self, actor: Actor) -> bool {
        let places = |stage: &Stage| {
            let looking = &stage.processes[actor.index()].looking;
            [looking.cwd(), looking.root()].map(|place| place.path().ok())
        };
        self.other.as_ref().is_some_and(|others| places(&others.stage) == places(self))
    }

    fn is_move_of_directory(&self, actor: Actor, op: &Op) -> bool {
        let looking = &self.processes[actor.index()].looking;
        let is_one = |path: &[u8]| looking.lstat(path).is_ok_and(|of| of.kind == FileType::Directory);
        match op {
            Op::Rename { from, to, .. } => [from, to].iter().any(|place: &&Place| is_one(&place.path.0)),
            Op::RenameFile { from, to } => is_one(&from.0) || is_one(&to.0),
            _ => false,
        }
    }
}

/// Returns whether an operation changes names or attributes, and opens no file.
fn is_change(op: &Op) -> bool {
    let of_names = matches!(
        op,
        Op::Mkdir { .. }
            | Op::Mknod { .. }
            | Op::Symlink { .. }
            | Op::Link { .. }
            | Op::Unlink { .. }
            | Op::Rename { .. }
            | Op::CreateDir { .. }
            | Op::CreateDirAll { .. }
            | Op::RemoveFile { .. }
            | Op::RenameFile { .. }
            | Op::HardLink { .. }
    );
    let of_attributes = matches!(
        op,
        Op::Chmod { .. }
            | Op::Chown { .. }
            | Op::Times { .. }
            | Op::SetXattr { .. }
            | Op::RemoveXattr { .. }
            | Op::SetAcl { .. }
            | Op::SetFlags { .. }
            | Op::SetPermissions { .. }
    );
    of_names || of_attributes
}
