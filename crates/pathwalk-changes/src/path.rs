//! Paths: bytes that begin at the root of a tree, with a slash.
//!
//! What always holds: a path that [`checked`] has passed has no empty component, no `.`, no `..`
//! and no NUL, so it leads down from the root, as far as no link is followed.

use pathwalk::limits::NAME_MAX;

use crate::error::{Error, Position};

/// A path from the root, or `/`.
pub(crate) type PathBytes = Box<[u8]>;

/// The root.
pub(crate) const ROOT: &[u8] = b"/";

/// Returns whether bytes are a path from the root.
fn is_path(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !name.is_empty() && name.len() <= NAME_MAX && name != b"." && name != b".." && !name.contains(&0);
    path == ROOT || path.strip_prefix(ROOT).is_some_and(|rest| rest.split(|byte| *byte == b'/').all(is_name))
}

/// Checks that bytes from an input are a path from the root.
pub(crate) fn checked(path: &[u8], place: Position) -> Result<PathBytes, Error> {
    if is_path(path) { Ok(path.into()) } else { Err(Error::Path { place, path: path.into() }) }
}

/// Returns the directory and the name of a path that is not the root. The directory is empty for
/// names in the root.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    (&path[..slash], path.get(slash + 1..).unwrap_or_default())
}

/// Returns the directory that a path is in; `None` for the root.
pub(crate) fn parent(path: &[u8]) -> Option<&[u8]> {
    match split(path) {
        _ if path == ROOT => None,
        ([], _) => Some(ROOT),
        (dir, _) => Some(dir),
    }
}

/// Returns the path of a name in a directory.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> PathBytes {
    let dir = if dir == ROOT { &[] } else { dir };
    [dir, ROOT, name].concat().into()
}

/// Returns a path and those of all directories above it, without the root, the nearest first.
pub(crate) fn upwards(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| parent(path)).take_while(|path| *path != ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_down_from_the_root() {
        for path in ["/", "/a", "/a/b", "/..a", "/a.", "/ "] {
            assert!(is_path(path.as_bytes()), "{path}");
        }
        for path in ["", "a", "//", "/a/", "/a//b", "/.", "/..", "/a/../b", "/a\0", "../a"] {
            assert!(!is_path(path.as_bytes()), "{path}");
        }
        assert!(!is_path(&[b"/", &[b'a'; 256][..]].concat()));
    }

    #[test]
    fn parts_and_wholes() {
        assert_eq!((split(b"/a/b"), split(b"/a")), ((&b"/a"[..], &b"b"[..]), (&b""[..], &b"a"[..])));
        assert_eq!([parent(b"/a/b"), parent(b"/a"), parent(b"/")], [Some(&b"/a"[..]), Some(b"/"), None]);
        assert_eq!((&*join(b"/", b"a"), &*join(b"/a", b"b")), (&b"/a"[..], &b"/a/b"[..]));
        assert_eq!(upwards(b"/a/b").collect::<Vec<_>>(), [&b"/a/b"[..], b"/a"]);
    }
}
