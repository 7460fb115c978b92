//! The reader of archives. The input is read twice: once to check all of it beside the tree, and
//! once to apply it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};

use ::tar::{Archive, EntryType};
use pathwalk::{Context, FileType};
use pathwalk_branch::Aspects;

use super::body::drain;
use super::entry::{Entry, Extended, What, entry as parsed};
use super::{BLOCK, OPAQUE, REMOVED, Removals, WHITEOUT, pax};
use crate::data::Writer;
use crate::error::{Error, Position};
use crate::node::{self, Kind, Node};
use crate::path::{PathBytes, ROOT, checked, join, parent, split, upwards};
use crate::tree::Tree;

/// The most bytes of an extended header.
const LONGEST_RECORDS: u64 = 64 << 20;
/// What an archive removes.
#[derive(Default)]
struct Gone {
    /// The paths that go.
    paths: BTreeSet<PathBytes>,
    /// The directories of which all goes that is in them.
    opaque: BTreeSet<PathBytes>,
}

impl Gone {
    /// Returns whether what is at a path goes.
    fn has(&self, path: &[u8]) -> bool {
        let mut above = upwards(path);
        above.any(|path| self.paths.contains(path) || parent(path).is_some_and(|dir| self.opaque.contains(dir)))
    }
}

/// Applies an archive.
pub(crate) fn apply(mut input: impl Read + Seek, onto: &Context, removals: Removals) -> Result<(), Error> {
    let tree = Tree::of(onto)?;
    let begin = input.stream_position().map_err(Error::Input)?;
    let (mut gone, mut kinds) = (Gone::default(), BTreeMap::new());
    for_each(&mut input, removals, &mut gone, |entry, body, gone| {
        check(entry, &tree, &kinds, removals, gone)?;
        let kind = match &entry.what {
            What::Node(node, map) => {
                drain(entry, *map, node.size, body, &mut |_, _| Ok(()))?;
                node.kind
            }
            What::Link(_) => Kind::File,
        };
        kinds.insert(entry.path.clone(), kind);
        Ok(())
    })?;
    check_end(&mut input)?;
    if removals == Removals::Header
        && let Some(path) =
            gone.paths.iter().find_map(|path| tree.look(path).map(|found| found.is_none().then_some(path)).transpose())
    {
        return Err(Error::differs(path?, "is not there, or a link leads to it"));
    }
    input.seek(SeekFrom::Start(begin)).map_err(Error::Input)?;
    let mut applying = Applying { tree: &tree, directories: BTreeMap::new() };
    applying.remove(&gone)?;
    for_each(&mut input, removals, &mut Gone::default(), |entry, body, _| {
        let done = applying.make(entry, body);
        at("the entry", &entry.path, done)
    })?;
    applying.finish()
}

/// Returns the result of a change, with what it was if it failed.
fn at<T>(change: &str, path: &[u8], done: Result<T, Error>) -> Result<T, Error> {
    done.map_err(|source| Error::Stopped {
        change: format!("{change} \"{}\"", path.escape_ascii()),
        source: Box::new(source),
        kept: None,
    })
}

/// Checks that an archive was not cut off between two entries.
fn check_end(input: &mut (impl Read + Seek)) -> Result<(), Error> {
    let mut last = [1; BLOCK as usize];
    let end = input.seek(SeekFrom::End(0)).map_err(Error::Input)?;
    let start = end.saturating_sub(BLOCK);
    input.seek(SeekFrom::Start(start)).map_err(Error::Input)?;
    let read = input.read_exact(&mut last);
    let is_empty = read.is_ok() && last.iter().all(|byte| *byte == 0);
    if is_empty { Ok(()) } else { Err(Error::malformed(Position::Byte(end), "the end of the archive is missing")) }
}

/// Passes the entries of an archive to a function, each with its data, and takes what goes.
fn for_each(
    input: &mut impl Read,
    removals: Removals,
    gone: &mut Gone,
    mut visit: impl FnMut(&Entry, &mut dyn Read, &Gone) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut archive = Archive::new(input);
    let damaged = |place: u64, error: std::io::Error| Error::malformed(Position::Byte(place), error.to_string());
    let (mut extended, mut last) = (Extended::default(), 0);
    for entry in archive.entries().map_err(|error| damaged(0, error))?.raw(true) {
        let mut entry = entry.map_err(|error| damaged(last, error))?;
        let place = Position::Byte(entry.raw_header_position());
        last = entry.raw_header_position();
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName | EntryType::GNULongLink) {
            let mut bytes = Vec::new();
            entry.by_ref().take(LONGEST_RECORDS).read_to_end(&mut bytes).map_err(|error| damaged(last, error))?;
            if bytes.len() as u64 != entry.size() {
                return Err(Error::malformed(place, "an extended header is cut off, or too long"));
            }
            extend(kind, &bytes, place, gone, &mut extended)?;
            continue;
        }
        let header = entry.header().clone();
        let read = parsed(&header, entry.size(), std::mem::take(&mut extended), place)?;
        if removals == Removals::Whiteouts && note_whiteout(&read, gone) {
            continue;
        }
        visit(&read, &mut entry, gone)?;
    }
    Ok(())
}

/// Takes what an extended header says.
fn extend(kind: EntryType, bytes: &[u8], place: Position, gone: &mut Gone, to: &mut Extended) -> Result<(), Error> {
    let name = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    match kind {
        EntryType::GNULongName => to.records.push((b"path".to_vec(), name.to_vec())),
        EntryType::GNULongLink => to.records.push((b"linkpath".to_vec(), name.to_vec())),
        _ => {
            let records =
                pax::parse(bytes).ok_or_else(|| Error::malformed(place, "the records of an extended header are none"))?;
            if kind == EntryType::XHeader {
                to.records.extend(records.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
                return Ok(());
            }
            for (_, paths) in records.iter().filter(|(key, _)| *key == REMOVED) {
                for path in paths.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
                    gone.paths.insert(checked(&[ROOT, path].concat(), place)?);
                }
            }
        }
    }
    Ok(())
}

/// Takes a file that says what goes. Returns whether it is one.
fn note_whiteout(entry: &Entry, gone: &mut Gone) -> bool {
    let (name, dir) = (split(&entry.path).1, parent(&entry.path).unwrap_or(ROOT));
    let Some(hidden) = name.strip_prefix(WHITEOUT) else { return false };
    if name == OPAQUE {
        gone.opaque.insert(dir.into());
    } else if !hidden.is_empty() && !hidden.starts_with(WHITEOUT) && hidden != b"." && hidden != b".." {
        gone.paths.insert(join(dir, hidden));
    }
    true
}

/// Checks an entry beside those before it, and the tree.
fn check(entry: &Entry, tree: &Tree, kinds: &BTreeMap<PathBytes, Kind>, removals: Removals, gone: &Gone) -> Result<(), Error> {
    let path = &entry.path;
    let is_directory = matches!(&entry.what, What::Node(node, _) if node.kind == Kind::Directory);
    if **path == *ROOT && !is_directory {
        return Err(entry.malformed("the root is no directory"));
    }
    for above in upwards(path).skip(1) {
        match kinds.get(above) {
            Some(Kind::Directory) => break,
            Some(_) => return Err(Error::differs(above, "is no directory")),
            // What an archive removes is not in the way.
            None if removals == Removals::Header && gone.has(above) => {}
            None => match tree.look(above)? {
                Some(node) if node.kind() != FileType::Directory => return Err(Error::differs(above, "is no directory")),
                _ => {}
            },
        }
    }
    if !is_directory && removals == Removals::Header && !gone.has(path) && !kinds.contains_key(path) {
        let there = tree.look(path)?;
        if there.is_some_and(|node| node.kind() == FileType::Directory) {
            return Err(Error::differs(path, "is a directory"));
        }
    }
    if let What::Link(to) = &entry.what {
        let is_there = match kinds.get(to) {
            Some(kind) => *kind != Kind::Directory,
            None => !gone.has(to) && tree.look(to)?.is_some_and(|node| node.kind() != FileType::Directory),
        };
        if !is_there || to == path {
            return Err(Error::differs(to, "is not there, and gets a further name"));
        }
    }
    Ok(())
}

/// A tree to which entries are applied.
struct Applying<'t> {
    tree: &'t Tree,
    /// Directories, which get their attributes when all is in them.
    directories: BTreeMap<PathBytes, Node>,
}

impl Applying<'_> {
    /// Removes what goes.
    fn remove(&self, gone: &Gone) -> Result<(), Error> {
        for path in gone.paths.iter().rev() {
            if self.tree.look(path)?.is_some() {
                at("the removal of", path, self.tree.remove(path))?;
            }
        }
        for dir in &gone.opaque {
            if self.tree.look(dir)?.is_some_and(|node| node.kind() == FileType::Directory) {
                for entry in self.tree.list(dir)? {
                    let path = join(dir, &entry.name);
                    at("the removal of", &path, self.tree.remove(&path))?;
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, entry: &Entry, body: &mut dyn Read) -> Result<(), Error> {
        let path = &entry.path;
        self.tree.make_directories(0o755, path)?;
        match &entry.what {
            What::Link(to) => {
                self.clear(path)?;
                node::link(self.tree, to, path)
            }
            What::Node(node, _) if node.kind == Kind::Directory => {
                let mut node = node.clone();
                match self.tree.look(path)? {
                    Some(there) if there.kind() == FileType::Directory => node.flags = Node::read(self.tree, path)?.flags,
                    _ => {
                        self.clear(path)?;
                        node.make(self.tree, path)?;
                    }
                }
                self.directories.insert(path.clone(), node);
                Ok(())
            }
            What::Node(node, map) => {
                self.clear(path)?;
                self.directories.remove(path);
                node.make(self.tree, path)?;
                if node.kind == Kind::File {
                    let writer = Writer::begin(self.tree, path, node.size)?;
                    drain(entry, *map, node.size, body, &mut |at, part| writer.write(at, part))?;
                }
                node.set(self.tree, path, Aspects::all())
            }
        }
    }

    /// Removes what is at a path.
    fn clear(&self, path: &[u8]) -> Result<(), Error> {
        if self.tree.look(path)?.is_some() { self.tree.remove(path) } else { Ok(()) }
    }

    fn finish(&self) -> Result<(), Error> {
        for (path, node) in self.directories.iter().rev() {
            let set = || {
                node.set(self.tree, path, Aspects::all())?;
                node.finish(self.tree, path, Aspects::all())
            };
            at("the attributes of", path, set())?;
        }
        Ok(())
    }
}
