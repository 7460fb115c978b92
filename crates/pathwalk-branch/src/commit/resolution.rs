//! What is done about conflicts: answers, for all paths or for some.
//!
//! *Ours* is what the branch has, and *theirs* what its parent or the base has, in a commit and in
//! a rebase alike.
//!
//! | conflict | ours | theirs |
//! |---|---|---|
//! | `Changed` | these parts are as in the branch | they are as in the parent |
//! | `Named` | the name, and all that the two nodes are, as in the branch | as in the parent |
//! | `Moved` | the node is where the branch has it | where the parent has it |
//! | `RemovedInBranch` | the node is removed | it stays, as the parent has it |
//! | `RemovedInParent` | the node is back, with the directories above it | it is removed |
//! | `BaseChanged` | cannot be: the rest of the data is gone, but for a merge of text | the data is as in the parent |
//!
//! What hangs together has one answer: both names of a node that was moved, and all that is in a
//! directory which one side removed or made.

use std::collections::BTreeMap;

/// An answer to a conflict.
///
/// [`Resolution`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Answer {
    /// None: the conflict is reported.
    #[default]
    Left,
    /// The state of the branch, in a commit and in a rebase alike.
    Ours,
    /// The state of the parent, or of the base.
    Theirs,
    /// A merge of both texts by lines, if each changed other lines. A file that is no text stays a
    /// conflict; so does one of which the text before both changes is not known any more, as of a
    /// file that the base has changed and that is longer than
    /// [`longest_text`](crate::Options::longest_text).
    Merge,
}

/// The answers to conflicts.
///
/// A conflict to which an answer cannot be applied stays one. Nothing is done while there is one.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::{Answer, Branches, Error, Resolution};
/// # let fs = pathwalk_memfs::MemFs::new();
/// let base = Vfs::builder().build(fs)?.context(Credentials::root());
/// base.write("/text", "one\ntwo\nthree\n")?;
/// base.write("/kept", "old")?;
/// let branches = Branches::new(base)?;
/// let context = |branch| Vfs::builder().build(branch).map(|vfs| vfs.context(Credentials::root()));
/// let work = context(branches.fork(None, "work")?)?;
/// let step = context(branches.fork(Some("work"), "step")?)?;
/// work.write("/text", "ONE\ntwo\nthree\n")?;
/// step.write("/text", "one\ntwo\nTHREE\n")?;
/// work.write("/kept", "in work")?;
/// step.write("/kept", "in step")?;
///
/// let merge = Resolution::all(Answer::Merge);
/// let Err(Error::Conflicts { conflicts, .. }) = branches.commit_with("step", &merge) else { panic!() };
/// assert_eq!(&*conflicts[0].path, b"/kept");
/// branches.commit_with("step", &merge.at("/kept", Answer::Theirs))?;
/// assert_eq!(work.read_to_string("/text")?, "ONE\ntwo\nTHREE\n");
/// assert_eq!(work.read_to_string("/kept")?, "in work");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resolution {
    otherwise: Answer,
    by_path: BTreeMap<Box<[u8]>, Answer>,
}

impl Resolution {
    /// Returns one answer to all conflicts. The default is to leave them.
    pub fn all(answer: Answer) -> Resolution {
        Resolution { otherwise: answer, by_path: BTreeMap::new() }
    }

    /// Adds the answer for a path, as conflicts name it, and for all that is below it. Of two
    /// paths, the longer one counts.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<[u8]>, answer: Answer) -> Resolution {
        let path = path.as_ref();
        self.by_path.insert(path.strip_suffix(b"/").unwrap_or(path).into(), answer);
        self
    }

    /// Returns the answer for the conflict of a path.
    pub(crate) fn of(&self, path: &[u8]) -> Answer {
        let ends = (0..=path.len()).rev().filter(|end| *end == path.len() || path[*end] == b'/');
        let given = |end: usize| self.by_path.get(&path[..end]).copied();
        ends.into_iter().find_map(given).unwrap_or(self.otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_above_has_the_answer() {
        let of = Resolution::all(Answer::Merge).at("/a/", Answer::Ours).at("/a/b", Answer::Theirs);
        for (path, answer) in [
            ("/a", Answer::Ours),
            ("/a/c", Answer::Ours),
            ("/a/b", Answer::Theirs),
            ("/a/b/c", Answer::Theirs),
            ("/ab", Answer::Merge),
            ("/", Answer::Merge),
        ] {
            assert_eq!(of.of(path.as_bytes()), answer, "{path}");
        }
        assert_eq!(Resolution::default().at("/", Answer::Ours).of(b"/x/y"), Answer::Ours);
    }
}
