//! Listing directories.
//!
//! The entries of a directory come in the order of the hashes of their names, and the hash is the
//! cookie. So a name has the same place as long as it is there, in each fork, wherever the branch
//! and the base have it. Two names of one directory would need the same hash of 61 bits to share a
//! place, and no program can predict hashes.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use pathwalk::{Entry, Errno, FIRST_COOKIE, FileType, Handle, NodeKey};

use super::{Inner, has_name, record};
use crate::rows::{self, Row, Tag};
use crate::tree::Tree;

/// The names of a directory of the base, as an open directory has read them from its beginning.
#[derive(Default)]
pub(crate) struct BaseNames(Mutex<Option<Arc<Vec<BaseName>>>>);

/// A name of the base.
struct BaseName {
    hash: u64,
    name: Box<[u8]>,
    ino: u64,
    kind: FileType,
}

impl Inner {
    /// Passes the entries of a directory behind a cookie to `each`.
    pub(crate) fn read_dir(
        &self,
        names: &BaseNames,
        dir: u64,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        let tree = self.tree.read();
        if self.kind(&tree, dir)? != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        if !has_name(&tree, dir) {
            return Ok(());
        }
        let behind = from.checked_sub(FIRST_COOKIE);
        let of_base = match self.below(&tree, dir)? {
            Some(below) => self.base_names(names, &below, behind.is_none())?,
            None => Arc::default(),
        };
        let first = of_base.partition_point(|name| behind.is_some_and(|behind| name.hash <= behind));
        let mut of_base = of_base[first..].iter().peekable();
        let prefix = rows::of(dir, Tag::Entry);
        let start = behind.map_or(rows::KeyBytes::from_slice(&prefix), |hash| rows::entries_behind(dir, hash));
        let mut of_tree = own_entries(&tree, &start, &prefix).peekable();
        loop {
            let next = match (of_tree.peek(), of_base.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(own), Some(base)) => (own.0, own.1).cmp(&(base.hash, &base.name)),
            };
            if next.is_ge()
                && let Some(base) = of_base.next()
                && next.is_gt()
            {
                let number = self.number_of_listed(&tree, dir, base)?;
                if pass(each, base.hash, &base.name, (number, base.kind)).is_break() {
                    return Ok(());
                }
            }
            if next.is_le()
                && let Some((hash, name, Some(target))) = of_tree.next()
                && pass(each, hash, name, (target.number, target.kind)).is_break()
            {
                return Ok(());
            }
        }
    }

    /// Returns whether a directory has no names.
    pub(super) fn is_empty(&self, tree: &Tree<Row>, dir: u64) -> Result<bool, Errno> {
        let prefix = rows::of(dir, Tag::Entry);
        if own_entries(tree, &prefix, &prefix).any(|(_, _, target)| target.is_some()) {
            return Ok(false);
        }
        let Some(below) = self.below(tree, dir)? else { return Ok(true) };
        let names = self.shared.base.list(&below)?;
        Ok(names.iter().all(|listed| self.entry(tree, dir, &listed.name).is_some()))
    }

    /// Returns the names of a directory of the base, in the order of their hashes.
    fn base_names(&self, names: &BaseNames, dir: &Handle, anew: bool) -> Result<Arc<Vec<BaseName>>, Errno> {
        let mut known = names.0.lock();
        if let (Some(known), false) = (&*known, anew) {
            return Ok(Arc::clone(known));
        }
        let listed = self.shared.base.list(dir)?.into_iter();
        let name = |listed: pathwalk::Listed| BaseName {
            hash: self.shared.hash(&listed.name),
            name: listed.name,
            ino: listed.ino,
            kind: listed.kind,
        };
        let mut all: Vec<_> = listed.map(name).collect();
        all.sort_unstable_by(|one, other| (one.hash, &one.name).cmp(&(other.hash, &other.name)));
        let all = Arc::new(all);
        *known = Some(Arc::clone(&all));
        Ok(all)
    }

    /// Returns the number of a name of the base. It is looked up if the number of its inode may not
    /// be its own.
    fn number_of_listed(&self, tree: &Tree<Row>, dir: u64, base: &BaseName) -> Result<u64, Errno> {
        let number = self.shared.base.listed_number(base.ino)?;
        if record(tree, number).is_none() && !self.shared.base.may_have_other_number() {
            return Ok(number);
        }
        Ok(self.find(tree, dir, &base.name)?.map_or(number, |found| found.target.number))
    }
}

/// Returns the entries of the tree from a key on, with their hashes and names.
fn own_entries<'a>(
    tree: &'a Tree<Row>,
    from: &'a [u8],
    prefix: &'a [u8],
) -> impl Iterator<Item = (u64, &'a [u8], Option<rows::Target>)> {
    let of_directory = tree.range(from).take_while(move |(key, _)| key.starts_with(prefix));
    of_directory.filter_map(|(key, row)| match row {
        Row::Entry(entry) => rows::hash_and_name(&key[9..]).map(|(hash, name)| (hash, name, entry.target)),
        _ => None,
    })
}

fn pass(
    each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    hash: u64,
    name: &[u8],
    (number, kind): (u64, FileType),
) -> ControlFlow<()> {
    each(Entry { name, key: NodeKey(number.into()), ino: number, kind, cookie: hash + FIRST_COOKIE })
}
