//! A file system made from a listing: `kind TAB path TAB mode TAB link body` a line. The kinds are
//! `D`, `F` and `L`.
//!
//! It serves benches that are not about this machine's files, but about a file system's own
//! permission hook or about counting instructions. They run alike everywhere. All nodes belong to
//! root.
//!
//! What it does not do: change.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::permission::{Subject, generic};
use pathwalk::{Access, Attributes, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, PermissionRule};

use crate::trace::GCC_TREE;

struct Entry {
    kind: FileType,
    mode: u16,
    body: Box<[u8]>,
}

/// The file system.
pub struct Listing {
    /// The entries, by key. The root is the first.
    entries: Vec<Entry>,
    names: HashMap<(usize, Box<[u8]>), usize>,
    directory_rule: PermissionRule,
    calls: Option<Arc<AtomicU64>>,
}

impl Listing {
    /// Returns the files of a compiler, which the default trace uses.
    pub fn gcc() -> Listing {
        Listing::parse(GCC_TREE).expect("the built-in listing is well formed: a test parses it")
    }

    /// Parses a listing in which directories come before their contents. Returns `None` if it is
    /// malformed.
    pub fn parse(bytes: &[u8]) -> Option<Listing> {
        let mut listing =
            Listing { entries: Vec::new(), names: HashMap::new(), directory_rule: PermissionRule::Generic, calls: None };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            listing.add(line)?;
        }
        listing.entries.first().filter(|root| root.kind == FileType::Directory)?;
        Some(listing)
    }

    /// Returns the listing with this permission rule for its directories.
    #[must_use]
    pub fn with_directory_rule(mut self, rule: PermissionRule) -> Listing {
        self.directory_rule = rule;
        self
    }

    /// Returns the listing with this mode for its directories.
    #[must_use]
    pub fn with_directory_mode(mut self, mode: u16) -> Listing {
        let directories = self.entries.iter_mut().filter(|entry| entry.kind == FileType::Directory);
        directories.for_each(|entry| entry.mode = mode);
        self
    }

    /// Returns the listing with a count of the calls of its own permission hook. It is not for
    /// timing: the count is a store to shared memory.
    #[must_use]
    pub fn counting(mut self, calls: Arc<AtomicU64>) -> Listing {
        self.calls = Some(calls);
        self
    }

    fn add(&mut self, line: &[u8]) -> Option<()> {
        let mut fields = line.split(|byte| *byte == b'\t');
        let (kind, path, mode, body) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let kind = match kind {
            b"D" => FileType::Directory,
            b"F" => FileType::Regular,
            b"L" => FileType::Symlink,
            _ => return None,
        };
        let mode = u16::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        let key = self.entries.len();
        if path != b"/" {
            let slash = path.iter().rposition(|byte| *byte == b'/')?;
            let parent = self.find(&path[..slash])?;
            self.names.insert((parent, path[slash + 1..].into()), key);
        }
        self.entries.push(Entry { kind, mode, body: body.into() });
        Some(())
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(0, |dir, name| self.names.get(&(dir, name.into())).copied())
    }

    fn node(&self, key: usize) -> Node {
        let node = Node::new(NodeKey(key as u128), self.attributes_of(key));
        match self.entries[key].kind {
            FileType::Directory => node.with_rule(self.directory_rule),
            FileType::Symlink => node.with_link_body(Some(self.entries[key].body.clone())),
            _ => node,
        }
    }

    fn attributes_of(&self, key: usize) -> Attributes {
        let entry = &self.entries[key];
        Attributes::new(entry.kind, entry.mode).with_ino(key as u64 + 1).with_size(entry.body.len() as u64)
    }
}

impl FileSystem for Listing {
    fn root(&self) -> Result<Node, Errno> {
        Ok(self.node(0))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let key = self.names.get(&(dir.key().0 as usize, name.bytes().into()));
        Ok(key.map(|key| self.node(*key)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(self.attributes_of(node.0 as usize))
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        if let Some(calls) = &self.calls {
            calls.fetch_add(1, Ordering::Relaxed);
        }
        let entry = &self.entries[node.0 as usize];
        generic(who, entry.kind, entry.mode, 0, 0, want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_listing_is_what_it_says() {
        let listing = Listing::gcc();
        assert_eq!(listing.entries.len(), 39);
        let key = listing.find(b"/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o").unwrap();
        assert_eq!((listing.entries[key].kind, listing.entries[key].mode), (FileType::Regular, 0o644));
        let link = listing.find(b"/bin").unwrap();
        assert_eq!(listing.node(link).link_body.as_deref(), Some(&b"usr/bin"[..]));
        assert_eq!(listing.find(b"/usr/nothing"), None);
    }

    #[test]
    fn malformed_listings_are_refused() {
        for bad in ["", "X\t/\t755\t", "D\t/\t7x5\t", "D\t/\t755", "D\t/\t755\t\nF\t/a/b\t644\t", "F\t/\t644\t"] {
            assert!(Listing::parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }
}
