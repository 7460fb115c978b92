//! Names on which something else is mounted, and the names that lead to them.
//!
//! When the kernel finds that a name leads elsewhere by now, or is to be asked for again whatever
//! it leads to, it takes away what is mounted on it and below it, in all namespaces. What a mount
//! was to cover would be seen then.
//!
//! What always holds: such a name leads to the node that it led to first, also if others have put
//! another one there. The kernel is told so in answers to lookups alone, and for good, and no
//! notice is about it. A directory on the way is found by no other name that others gave it: the
//! kernel would move it there, with what is mounted below.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, PathBuf};

use parking_lot::RwLock;
use pathwalk::Attributes;

use crate::abi::ROOT;

/// The names. There may be none.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    /// The directories on the way, with the names in them and where these lead. The root is first.
    steps: Vec<HashMap<Box<[u8]>, usize>>,
    found: RwLock<Found>,
}

/// A node to which a name leads: its number, and its attributes when it was looked up.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) node: u64,
    pub(crate) attributes: Attributes,
}

/// What was looked up.
#[derive(Debug, Default)]
struct Found {
    /// The directories on the way, by their numbers.
    directories: HashMap<u64, usize>,
    /// The names, each in the directory of this number, with what they lead to.
    names: HashMap<(u64, Box<[u8]>), Kept>,
}

impl Covered {
    /// Returns the names of these paths from the root.
    pub(crate) fn new(paths: &[PathBuf]) -> Covered {
        let mut steps: Vec<HashMap<Box<[u8]>, usize>> = Vec::new();
        for path in paths {
            let mut at = 0;
            for name in path.components() {
                let Component::Normal(name) = name else { continue };
                steps.resize_with(steps.len().max(1), HashMap::new);
                let next = steps.len();
                at = *steps[at].entry(name.as_bytes().into()).or_insert(next);
                steps.resize_with(steps.len().max(at + 1), HashMap::new);
            }
        }
        let found = Found { directories: [(ROOT, 0)].into_iter().collect(), names: HashMap::new() };
        Covered { steps, found: RwLock::new(found) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes note that a name in a directory led to a node. Returns whether it is one of these.
    pub(crate) fn looked_up(&self, directory: u64, name: &[u8], node: u64, attributes: &Attributes) -> bool {
        if self.is_empty() || !self.leads(directory, name) {
            return false;
        }
        let found = &mut *self.found.write();
        let next = found.directories.get(&directory).and_then(|at| self.steps[*at].get(name));
        if let Some(next) = next {
            found.directories.insert(node, *next);
        }
        found.names.insert((directory, name.into()), Kept { node, attributes: *attributes });
        true
    }

    /// Returns where a name led first, if it is one of these.
    pub(crate) fn kept(&self, directory: u64, name: &[u8]) -> Option<Kept> {
        if self.is_empty() { None } else { self.found.read().names.get(&(directory, name.into())).cloned() }
    }

    /// Returns whether a directory is one on the way, or at its end.
    pub(crate) fn is_on_the_way(&self, directory: u64) -> bool {
        !self.is_empty() && self.found.read().directories.contains_key(&directory)
    }

    /// Takes note that a name was removed through the mount, so that nothing is mounted there.
    pub(crate) fn removed(&self, directory: u64, name: &[u8]) {
        if !self.is_empty() {
            self.found.write().names.remove(&(directory, name.into()));
        }
    }

    /// Takes note that a name was moved through the mount, with what is mounted below, or that two
    /// were exchanged.
    pub(crate) fn moved(&self, from: (u64, &[u8]), to: (u64, &[u8]), is_exchange: bool) {
        if self.is_empty() {
            return;
        }
        let owned = |(directory, name): (u64, &[u8])| (directory, Box::<[u8]>::from(name));
        let names = &mut self.found.write().names;
        let (first, second) = (names.remove(&owned(from)), names.remove(&owned(to)));
        if let Some(kept) = first {
            names.insert(owned(to), kept);
        }
        if let Some(kept) = second.filter(|_| is_exchange) {
            names.insert(owned(from), kept);
        }
    }

    /// Returns whether a name in a directory is one of these.
    pub(crate) fn leads(&self, directory: u64, name: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let found = self.found.read();
        let is_on_the_way = || found.directories.get(&directory).is_some_and(|at| self.steps[*at].contains_key(name));
        is_on_the_way() || found.names.contains_key(&(directory, name.into()))
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::FileType;

    use super::*;

    /// Takes note of a lookup.
    fn looked_up(covered: &Covered, directory: u64, name: &[u8], node: u64) -> bool {
        covered.looked_up(directory, name, node, &Attributes::new(FileType::Directory, 0o755))
    }

    #[test]
    fn names_are_known_by_the_way_to_them() {
        let covered = Covered::new(&["a/b".into(), "/a/c".into(), "d".into()]);
        for (directory, name, node, is) in [
            (ROOT, b"a", 7, true),
            (ROOT, b"d", 8, true),
            (7, b"c", 9, true),
            (ROOT, b"b", 10, false),
            (7, b"d", 11, false),
            (9, b"b", 12, false),
        ] {
            assert_eq!(looked_up(&covered, directory, name, node), is, "{node}");
        }
        assert!(covered.leads(7, b"b") && !covered.leads(8, b"b"));
        assert!(covered.is_on_the_way(7) && covered.is_on_the_way(9) && !covered.is_on_the_way(10));
        let none = Covered::new(&["/".into()]);
        assert!(none.is_empty() && !looked_up(&none, ROOT, b"a", 7));
    }

    #[test]
    fn a_name_leads_where_it_led_first_until_it_is_moved_or_removed() {
        let covered = Covered::new(&["a/b".into()]);
        looked_up(&covered, ROOT, b"a", 7);
        let kept = |directory: u64, name: &[u8]| covered.kept(directory, name).map(|kept| kept.node);
        assert_eq!((kept(ROOT, b"a"), kept(ROOT, b"x")), (Some(7), None));
        covered.moved((ROOT, b"a"), (20, b"x"), false);
        assert_eq!((kept(ROOT, b"a"), kept(20, b"x"), covered.leads(7, b"b")), (None, Some(7), true));
        covered.moved((ROOT, b"other"), (20, b"x"), true);
        assert_eq!((kept(ROOT, b"other"), kept(20, b"x")), (Some(7), None));
        covered.removed(ROOT, b"other");
        assert_eq!(kept(ROOT, b"other"), None);
    }
}
