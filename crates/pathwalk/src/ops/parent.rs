//! The directory of the last component, for operations that change it, and the kind of the last
//! component.
//!
//! The path up to the last component is walked as any path. The last component is left to the
//! operation, which looks it up with the directory's lock held.

use super::lookup;
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::memory::slot::{DentryId, MountId};
use crate::mount::{PinnedPlace, Place};
use crate::text::swar::last_slash;
use crate::walk::asker::Begin;
use crate::walk::verdict::Ending;
use crate::walk::{Env, Follow, hooked, start};

/// The last component of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Last<'a> {
    /// A name, perhaps one that is too long.
    Name(&'a [u8]),
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// No component: the path consists of slashes only.
    Root,
}

/// A directory that stays pinned during the operation.
pub(crate) enum Dir<'a> {
    /// The starting point, on which the context or a handle has a pin.
    Lent(Place),
    /// The place that the walk arrived at.
    Pinned(PinnedPlace<'a>),
}

impl<'a> Dir<'a> {
    pub(crate) fn id(&self) -> DentryId {
        self.place().dentry()
    }

    pub(crate) fn mount(&self) -> MountId {
        self.place().mount()
    }

    pub(crate) fn place(&self) -> Place {
        match self {
            Dir::Lent(place) => *place,
            Dir::Pinned(pinned) => pinned.place(),
        }
    }
}

/// The last component and its directory.
pub(crate) struct Parent<'a> {
    /// The directory, which the asker may search.
    pub(crate) dir: Dir<'a>,
    pub(crate) last: Last<'a>,
    /// The ending that follows the last component.
    pub(crate) ending: Ending,
}

/// Walks to the directory of the last component.
pub(crate) fn parent<'a>(env: &Env<'a>, at: Begin, path: &'a [u8]) -> Result<Parent<'a>, Errno> {
    if path.is_empty() {
        return Err(Errno::ENOENT);
    }
    let from = start::at(env, at, path)?;
    let (way, last, ending) = split(path);
    let dir = if way.is_empty() { Dir::Lent(from) } else { Dir::Pinned(lookup::pinned(env, way, from, Follow::OnTheWay)?) };
    if last != Last::Root {
        searchable(env, dir.place())?;
    }
    Ok(Parent { dir, last, ending })
}

/// Splits a path into the part up to the last component, its slash included; the last component;
/// and what follows it.
fn split(path: &[u8]) -> (&[u8], Last<'_>, Ending) {
    let is_name = |byte: &u8| *byte != b'/';
    let end = path.iter().rposition(is_name).map_or(0, |at| at + 1);
    let start = last_slash(&path[..end]).map_or(0, |at| at + 1);
    let ending = if end < path.len() { Ending::Slash } else { Ending::Nothing };
    let (way, last) = match &path[start..end] {
        b"" => (path, Last::Root),
        b"." => (&path[..start], Last::Dot),
        b".." => (&path[..start], Last::DotDot),
        name => (&path[..start], Last::Name(name)),
    };
    (way, last, ending)
}

/// Checks whether the asker may search a directory on which the caller has a pin.
fn searchable(env: &Env<'_>, at: Place) -> Result<(), Errno> {
    let dir = at.dentry();
    if env.caches().dentries.word(dir) & flags::EVERYONE_SEARCH != 0 {
        return Ok(());
    }
    hooked::may_search(env, at).map_err(|why| why.errno())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_component_is_what_no_slash_is_behind() {
        let cases: [(&str, &str, Last<'_>, bool); 11] = [
            ("a", "", Last::Name(b"a"), false),
            ("a/", "", Last::Name(b"a"), true),
            ("/a", "/", Last::Name(b"a"), false),
            ("//a//", "//", Last::Name(b"a"), true),
            ("a/b", "a/", Last::Name(b"b"), false),
            ("a//b", "a//", Last::Name(b"b"), false),
            ("/", "/", Last::Root, true),
            ("///", "///", Last::Root, true),
            (".", "", Last::Dot, false),
            ("a/..", "a/", Last::DotDot, false),
            ("a/./", "a/", Last::Dot, true),
        ];
        for (path, way, last, slash) in cases {
            let found = split(path.as_bytes());
            assert_eq!((found.0, found.1, found.2 == Ending::Slash), (way.as_bytes(), last, slash), "{path}");
        }
    }
}
