//! The operations that stand for functions of `std::fs` and their namesakes in
//! [`Context`](pathwalk::Context): what they are made of, and which of their results compare.
//!
//! The kernel's side calls the standard library, the engine's side the context. The model's side
//! carries out the system calls of which the standard library's functions are made.
//!
//! # What is not compared
//!
//! - A copy of a file that is longer than [`MOST_COPIED`]: a copy has no holes.
//! - `create_dir_all` of a path in which `..` follows a name that is missing (see [`turn`]). A link
//!   behind it may lead to what the call itself makes. The standard library follows such a link;
//!   the engine, which follows only links that were there before, refuses it.
//! - `write` and `copy` of a named pipe, which wait for its other end: no side carries them out.
//! - The errno with which `remove_dir_all` is refused below its directory, and what is left then.
//!   Both depend on the order of a listing, which each file system chooses. Each side removes what
//!   is left as root and goes on.

use pathwalk::{Errno, LinkFlags, RenameFlags};

use crate::op::Op;
use crate::outcome::{Answer, directory_of};
use crate::words::{Mode, Place, Text};

/// The length of the longest file that is copied, in bytes.
pub(crate) const MOST_COPIED: u64 = 1 << 20;

/// The mode of a new file, and that of a new directory, before the umask.
pub(crate) const NEW_FILE: u16 = 0o666;
pub(crate) const NEW_DIRECTORY: u16 = 0o777;

impl Op {
    /// Returns the system call that the operation comes to, if it is a single one.
    pub(crate) fn call(&self) -> Option<Op> {
        let at = |path: &Text| Place { at: None, path: path.clone() };
        Some(match self {
            Op::CreateDir { path } => Op::Mkdir { at: at(path), mode: Mode(NEW_DIRECTORY) },
            Op::RemoveFile { path } => Op::Unlink { at: at(path) },
            Op::RemoveDir { path } => Op::Rmdir { at: at(path) },
            Op::RenameFile { from, to } => Op::Rename { from: at(from), to: at(to), flags: RenameFlags::empty() },
            Op::HardLink { from, to } => Op::Link { from: at(from), to: at(to), flags: LinkFlags::empty() },
            Op::SetPermissions { path, mode } => Op::Chmod { at: at(path), mode: *mode, flags: pathwalk::AtFlags::empty() },
            _ => return None,
        })
    }
}

/// Returns the answer of `remove_dir_all` as it is compared: all refusals are one.
pub(crate) fn refused(answer: Answer) -> Answer {
    match answer {
        Answer::Failed(Errno::EPERM | Errno::EBUSY | Errno::EROFS | Errno::EOVERFLOW) => Answer::Failed(Errno::EACCES),
        answer => answer,
    }
}

/// Returns the way to the last component of a path, and that component with the slashes behind it.
/// The way is a path on its own; slashes alone are a last component.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let way = directory_of(path);
    match path.strip_prefix(way) {
        Some(last) if !last.is_empty() && way != b"." => (way, last),
        _ if way == b"/" => (way, path),
        _ => (b".", path),
    }
}

/// Returns the longest beginning of a path that ends with `..` behind a name.
pub(crate) fn turn(path: &[u8]) -> Option<&[u8]> {
    let (mut end, mut named, mut found) = (0, false, None);
    for component in path.split(|byte| *byte == b'/') {
        end += component.len() + 1;
        match component {
            b"" | b"." => {}
            b".." if named => found = Some(&path[..end - 1]),
            b".." => {}
            _ => named = true,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_in_front_of_its_last_component() {
        let cases =
            [("", ".", ""), ("/", "/", "/"), ("a", ".", "a"), ("a//", ".", "a//"), ("/a", "/", "a"), ("b//a/", "b//", "a/")];
        for (path, way, last) in cases.into_iter().chain([("./a", "./", "a"), (".", ".", "."), ("..", ".", "..")]) {
            assert_eq!(split(path.as_bytes()), (way.as_bytes(), last.as_bytes()), "{path}");
        }
    }

    #[test]
    fn turns_are_found() {
        let cases =
            [("a/b", None), ("../a", None), ("/..", None), ("a/..", Some("a/..")), ("../a/./../b/../c", Some("../a/./../b/.."))];
        for (path, want) in cases {
            assert_eq!(turn(path.as_bytes()), want.map(str::as_bytes), "{path}");
        }
    }
}
