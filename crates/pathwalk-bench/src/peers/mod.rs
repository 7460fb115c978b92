//! The alternatives to pathwalk, each with what it gets wrong.
//!
//! - [`locked_tree`]: a tree with a `RwLock<HashMap>` for each directory, as usually written by
//!   hand;
//! - [`dashmap`], [`papaya`]: a map from whole paths to answers.
//!
//! All load from this machine on a miss and use the same hash, rapidhash, which is the fastest one
//! for short keys.

pub mod dashmap;
pub mod locked_tree;
pub mod papaya;

use std::ffi::CString;

use pathwalk::{Access, Errno};

use crate::kernel;

/// The hash of all peers.
pub type Hash = rapidhash::fast::RandomState;

/// A cache of lookups.
pub trait Peer: Send + Sync {
    /// The name of the peer.
    const WHAT: &'static str;
    /// The description of what it gets wrong.
    const GETS_WRONG: &'static str;

    /// Answers as `access(2)` does.
    fn access(&self, path: &[u8], want: Access) -> Result<(), Errno>;

    /// Answers as `readlink(2)` does.
    fn readlink(&self, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno>;
}

/// The description of what all maps of whole paths get wrong.
const NO_COHERENCE: &str =
    "no coherence: a chmod, a rename or a link anywhere on the way leaves old answers; good for one user; one entry per spelling";

/// The entry of a map of whole paths for one path.
struct Answer {
    access: Result<Access, Errno>,
    body: Result<Box<[u8]>, Errno>,
}

impl Answer {
    /// Asks the kernel.
    fn of(path: &[u8]) -> Answer {
        match CString::new(path) {
            Ok(path) => Answer { access: kernel::everything(&path), body: link_body(&path) },
            Err(_) => Answer { access: Err(Errno::EINVAL), body: Err(Errno::EINVAL) },
        }
    }

    fn access(&self, want: Access) -> Result<(), Errno> {
        let granted = self.access?;
        if granted.contains(want) { Ok(()) } else { Err(Errno::EACCES) }
    }

    fn readlink(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.body.as_ref().map(|body| copy(body, buffer)).map_err(|errno| *errno)
    }
}

fn link_body(path: &std::ffi::CStr) -> Result<Box<[u8]>, Errno> {
    let mut buffer = vec![0; pathwalk::limits::LINK_MAX];
    let length = kernel::readlink(path, &mut buffer)?;
    buffer.truncate(length);
    Ok(buffer.into())
}

/// Copies a link's body, cut off where the buffer ends.
fn copy(body: &[u8], buffer: &mut [u8]) -> usize {
    let length = body.len().min(buffer.len());
    buffer[..length].copy_from_slice(&body[..length]);
    length
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::machine::credentials;

    fn agrees_with_the_kernel(peer: &impl Peer) {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        std::fs::create_dir_all(dir.join("a/b")).unwrap();
        std::fs::write(dir.join("a/f"), "").unwrap();
        symlink("b/../f", dir.join("a/link")).unwrap();
        symlink(dir.join("a"), dir.join("absolute")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        let tails = [
            "",
            "a",
            "a/",
            "a/f",
            "a/f/",
            "a/f/x",
            "a/link",
            "a/link/",
            "a/b/../link",
            "absolute/f",
            "absolute/b/",
            "loop",
            "no",
            "no/..",
            "a//b/./..",
            "../..",
            "absolute/../a",
        ];
        for tail in tails {
            let path = [dir.as_os_str().as_encoded_bytes(), b"/", tail.as_bytes()].concat();
            let kernel = CString::new(path.clone()).unwrap();
            for _ in ["filled", "cached"] {
                assert_eq!(peer.access(&path, Access::empty()), kernel::everything(&kernel).map(|_| ()), "{tail}");
                let execute = kernel::everything(&kernel).map(|all| all.contains(Access::EXECUTE));
                assert_eq!(peer.access(&path, Access::EXECUTE).is_ok(), execute == Ok(true), "{tail}");
                let (mut ours, mut theirs) = ([0; 64], [0; 64]);
                assert_eq!(peer.readlink(&path, &mut ours), kernel::readlink(&kernel, &mut theirs), "{tail}");
                assert_eq!(ours, theirs, "{tail}");
            }
        }
    }

    #[test]
    fn the_locked_tree_answers_as_the_kernel_does() {
        agrees_with_the_kernel(&locked_tree::LockedTree::new(credentials().unwrap()).unwrap());
    }

    #[test]
    fn maps_of_whole_paths_do_while_nothing_changes() {
        agrees_with_the_kernel(&dashmap::WholePaths::default());
        agrees_with_the_kernel(&papaya::WholePaths::default());
    }
}
