//! Changes as a patch in git's format, binary files too, which `git apply` takes.
//!
//! What is kept: names, data, links, whether the owner may execute a file, renames. What is not:
//! owners, times, other permission bits, extended attributes, lists, flags, hard links, holes,
//! empty directories, pipes, sockets and devices. [`left_out`](crate::left_out) says of which
//! paths.
//!
//! A file of up to 1 MiB without a NUL in its first 8000 bytes is text, compared by lines. Others
//! are written as binary: the whole of the old one and the new one, compressed, with the ids by
//! which git knows them, so a patch is applied to those very files alone.
//!
//! ```
//! use pathwalk::{Credentials, Vfs};
//! use pathwalk_branch::Branches;
//! use pathwalk_changes::patch;
//!
//! # let context = |branch| Ok::<_, pathwalk::BuildError>(Vfs::builder().build(branch)?.context(Credentials::root()));
//! let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
//! base.write("/notes", "one\ntwo\n")?;
//! let branches = Branches::new(base.clone())?;
//! let new = context(branches.fork(None, "work")?)?;
//! new.write("/notes", "one\n2\n")?;
//! let old = context(branches.before("work")?)?;
//! let mut out = Vec::new();
//! patch::write(&branches.diff("work")?, &old, &new, &mut out)?;
//! let expected = "\
//! diff --git a/notes b/notes
//! index 814f4a422927b82f5f8a43f8fab6d3839e3983f2..99b356dcd03dde0755c749bcd4cae4b2b73a8fa8 100644
//! --- a/notes
//! +++ b/notes
//! @@ -1,2 +1,2 @@
//!  one
//! -two
//! +2
//! ";
//! assert_eq!(std::str::from_utf8(&out)?, expected);
//!
//! patch::apply(&out, &base)?;
//! assert_eq!(base.read_to_string("/notes")?, "one\n2\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod apply;
mod binary;
mod hunks;
mod names;
mod parse;
mod write;

use pathwalk::FileType;
use sha1::{Digest as _, Sha1};

pub use apply::apply;
pub use write::write;

/// The largest file that is compared as text.
const TEXT_MAX: u64 = 1 << 20;
/// The bytes at the beginning of a file in which there is no NUL if it is text.
const TEXT_LOOK: usize = 8000;
/// The largest file to which a patch of lines, or of differences of bytes, is applied, as in git.
const PATCHED_MAX: u64 = 512 << 20;

/// A mode, of which git knows three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Plain,
    Executable,
    Link,
}

impl Mode {
    /// Returns the mode of a node; `None` for one that git does not know.
    pub(crate) fn of(kind: FileType, mode: u16) -> Option<Mode> {
        match kind {
            FileType::Regular if mode & 0o100 != 0 => Some(Mode::Executable),
            FileType::Regular => Some(Mode::Plain),
            FileType::Symlink => Some(Mode::Link),
            _ => None,
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Mode::Plain => "100644",
            Mode::Executable => "100755",
            Mode::Link => "120000",
        }
    }

    /// Parses a mode, as git does: of the permission bits, one counts.
    fn parse(text: &[u8]) -> Option<Mode> {
        let bits = u32::from_str_radix(std::str::from_utf8(text).ok()?, 8).ok()?;
        Mode::of(FileType::from_mode(bits)?, (bits & 0o7777) as u16)
    }

    pub(crate) fn kind(self) -> FileType {
        if self == Mode::Link { FileType::Symlink } else { FileType::Regular }
    }

    /// Returns the permission bits of a file, with this mode in the place of another one. Who may
    /// read may execute.
    pub(crate) fn applied(self, before: u16) -> u16 {
        let is_executable = before & 0o100 != 0;
        match self {
            Mode::Executable if !is_executable => before | 0o100 | (before & 0o444) >> 2,
            Mode::Plain if is_executable => before & !0o111,
            _ => before,
        }
    }
}

/// The name that git has for content.
type Id = [u8; 20];

/// Computes the id of content of this size, which is passed to [`update`](sha1::Digest::update).
fn id_of_size(size: u64) -> Sha1 {
    Sha1::new_with_prefix(format!("blob {size}\0"))
}

/// Returns the id of content.
fn id_of(content: &[u8]) -> Id {
    id_of_size(content.len() as u64).chain_update(content).finalize().into()
}

fn is_text(content: &[u8]) -> bool {
    content.len() as u64 <= TEXT_MAX && !content[..content.len().min(TEXT_LOOK)].contains(&0)
}
