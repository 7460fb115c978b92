//! The tree whose paths are looked up, computed and six components deep; and the paths into it.
//!
//! The tree has five levels of directories, with the same number in the root and in each directory
//! of the first four levels. The files are in the directories of the fifth level, as many in each
//! as the requested number of files needs. All names of a kind have one length, so that a path is
//! an array.

use std::ffi::CStr;
use std::io::Write as _;

use pathwalk::{AsPath, Attributes, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey};

/// The number of levels of directories.
const LEVELS: u32 = 5;

/// The length of a path in bytes.
const LENGTH: usize = LEVELS as usize * DIRECTORY.len() + FILE.len();

const DIRECTORY: &str = "/dir00";
const FILE: &str = "/file00.txt";

/// The most files of a tree. Up to this number, two digits suffice for each number in a path.
pub const MOST_FILES: u64 = 100_000_000;

/// The kind of name that a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file.
    File,
    /// A last name that is absent, and known to be.
    Absent,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Kind; 2] = [Kind::File, Kind::Absent];

    /// Returns a name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::File => "files",
            Kind::Absent => "absent",
        }
    }
}

/// A tree, computed from its number of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    files: u64,
    /// The number of directories in each directory above the fifth level.
    width: u64,
    /// The number of files in each directory of the fifth level. The last directories may have
    /// fewer, or none.
    in_each: u64,
}

impl Tree {
    /// Creates a tree of this many files, clamped to 1 and [`MOST_FILES`].
    pub fn new(files: u64) -> Tree {
        let files = files.clamp(1, MOST_FILES);
        let width = (1..).take_while(|width: &u64| width.pow(LEVELS + 1) <= files).last().unwrap_or(1);
        Tree { files, width, in_each: files.div_ceil(width.pow(LEVELS)) }
    }

    /// Returns the number of files. As many absent names are looked up.
    pub fn files(self) -> u64 {
        self.files
    }

    /// Returns the number of directories, the root included.
    pub fn directories(self) -> u64 {
        (0..=LEVELS).map(|level| self.width.pow(level)).sum()
    }

    /// Returns the path of the file with this number, or of the absent name beside it.
    pub fn path(self, kind: Kind, file: u64) -> TreePath {
        let mut bytes = [0; LENGTH + 1];
        let (leaf, number) = (file / self.in_each, file % self.in_each);
        let level = |level: u32| leaf / self.width.pow(LEVELS - 1 - level) % self.width;
        let stem = if kind == Kind::File { "file" } else { "none" };
        let mut rest = &mut bytes[..];
        for at in 0..LEVELS {
            write!(rest, "/dir{:02}", level(at)).expect("there is room for it");
        }
        write!(rest, "/{stem}{number:02}.txt").expect("there is room for it");
        TreePath { bytes }
    }

    /// Returns the paths of a kind in an order that looks random, and is always the same.
    pub fn shuffled(self, kind: Kind) -> Vec<TreePath> {
        let mut paths: Vec<_> = (0..self.files).map(|file| self.path(kind, file)).collect();
        fastrand::Rng::with_seed(SEED).shuffle(&mut paths);
        paths
    }

    fn child(self, level: u32, of: u64, name: &[u8]) -> Option<NodeKey> {
        if level < LEVELS {
            let number = number(name, b"dir", b"")?;
            return (number < self.width).then(|| key(level + 1, of * self.width + number));
        }
        let number = number(name, b"file", b".txt")?;
        let file = of * self.in_each + number;
        (number < self.in_each && file < self.files).then(|| key(level + 1, file))
    }
}

const SEED: u64 = 0x77_69_64_65;

/// Returns the number that a name has in two digits between `before` and `after`, or `None` if the
/// name has another form.
fn number(name: &[u8], before: &[u8], after: &[u8]) -> Option<u64> {
    match name.strip_prefix(before)?.strip_suffix(after)? {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some(u64::from(tens - b'0') * 10 + u64::from(ones - b'0')),
        _ => None,
    }
}

fn key(level: u32, number: u64) -> NodeKey {
    NodeKey(u128::from(level) << 64 | u128::from(number))
}

fn node(key: NodeKey) -> Node {
    let (level, number) = ((key.0 >> 64) as u32, key.0 as u64);
    let (file_type, mode) = if level > LEVELS { (FileType::Regular, 0o644) } else { (FileType::Directory, 0o755) };
    let ino = number << 3 | u64::from(level);
    Node::new(key, Attributes::new(file_type, mode).with_ino(ino))
}

/// A file system whose nodes all belong to root. Directories have mode 0755, files 0644.
impl FileSystem for Tree {
    fn root(&self) -> Result<Node, Errno> {
        Ok(node(key(0, 0)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let NodeKey(of) = dir.key();
        Ok(self.child((of >> 64) as u32, of as u64, name.bytes()).map(node))
    }

    fn attributes(&self, key: NodeKey) -> Result<Attributes, Errno> {
        Ok(node(key).attributes)
    }
}

/// An absolute path into a tree, followed by a NUL for the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TreePath {
    bytes: [u8; LENGTH + 1],
}

impl TreePath {
    /// Returns the path relative to the tree's root, as the kernel takes it.
    #[inline]
    pub fn relative(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[1..]).expect("the only NUL is the last byte")
    }
}

impl AsPath for TreePath {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        &self.bytes[..LENGTH]
    }
}

impl std::fmt::Debug for TreePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.path_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pathwalk::{Credentials, Vfs};

    use super::*;

    #[test]
    fn each_file_has_a_path_that_leads_to_it() {
        for files in [1, 2, 63, 64, 65, 1000, 5000] {
            let tree = Tree::new(files);
            let vfs = Vfs::builder().budget(Vfs::budget_for(20_000)).build(tree).unwrap();
            let context = vfs.context(Credentials::user(1000, 1000, &[]));
            let numbers: HashSet<_> = tree.shuffled(Kind::File).iter().map(|path| context.stat(path).unwrap().ino).collect();
            assert_eq!(numbers.len() as u64, files);
            let absent = tree.shuffled(Kind::Absent);
            assert!(absent.iter().all(|path| context.stat(path) == Err(Errno::ENOENT)), "{files}");
        }
        let one_too_many = Tree::new(5000).path(Kind::File, 5000);
        let context = Vfs::builder().build(Tree::new(5000)).unwrap().context(Credentials::root());
        assert_eq!(context.stat(one_too_many), Err(Errno::ENOENT), "{one_too_many:?}");
    }

    #[test]
    fn trees_have_as_many_files_as_they_are_to_have() {
        assert_eq!(Tree::new(1_000_000), Tree { files: 1_000_000, width: 10, in_each: 10 });
        assert_eq!(Tree::new(1_000_000).directories(), 111_111);
        assert_eq!(Tree::new(u64::MAX).files(), MOST_FILES);
        for files in [1, 10_000, 10_000_000, MOST_FILES] {
            let tree = Tree::new(files);
            assert!(tree.width <= 99 && tree.in_each <= 99, "{tree:?}");
            assert_eq!(tree.path(Kind::File, files - 1).relative().to_bytes().len(), LENGTH - 1);
        }
    }
}
