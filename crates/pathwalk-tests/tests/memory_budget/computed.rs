//! A computed file system that takes no memory: any number of directories `d0`, `d1`, …, each with
//! any number of entries.
//!
//! The number of an entry determines it: a file with a short or a long name, a link with a short or
//! a long body, or an absent name, short or long. So a cache fills with all kinds of records, and
//! every answer can be checked.

use std::io::Write;

use pathwalk::limits::{NAME_MAX, PATH_MAX};
use pathwalk::{Access, Attributes, Context, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey};

/// The length of the longest name that needs no side line, in bytes.
const INLINE: usize = 32;

/// The type of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    LongFile,
    Link,
    Absent,
    LongAbsent,
}

/// An entry of a directory, existing or absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) dir: u32,
    pub(crate) number: u32,
}

/// A text of bounded length, on the stack: the test measures the engine's memory, so it takes none
/// itself.
#[derive(Clone, Copy)]
pub(crate) struct Text<const N: usize>([u8; N], usize);

impl<const N: usize> Text<N> {
    fn new() -> Self {
        Text([0; N], 0)
    }

    fn push(&mut self, what: std::fmt::Arguments<'_>) {
        let mut room = &mut self.0[self.1..];
        room.write_fmt(what).expect("texts are made to fit");
        self.1 = N - room.len();
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.0[self.1..][..bytes.len()].copy_from_slice(bytes);
        self.1 += bytes.len();
    }

    fn fill(&mut self, length: usize) {
        self.0[self.1..length].fill(b'x');
        self.1 = length;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// Returns a spread number, the same on every run.
fn spread(number: u32) -> usize {
    (u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

impl Entry {
    /// Returns the `n`th of all entries.
    pub(crate) fn nth(n: u32) -> Entry {
        const DIRECTORIES: u32 = 23;
        Entry { dir: n % DIRECTORIES, number: n }
    }

    pub(crate) fn kind(self) -> Kind {
        match self.number % 8 {
            0..=2 => Kind::File,
            3 | 4 => Kind::LongFile,
            5 => Kind::Link,
            6 => Kind::Absent,
            _ => Kind::LongAbsent,
        }
    }

    fn name(self) -> Text<NAME_MAX> {
        let mut name = Text::new();
        name.push(format_args!("e{}", self.number));
        if matches!(self.kind(), Kind::LongFile | Kind::LongAbsent) {
            name.fill(INLINE + 1 + spread(self.number) % (NAME_MAX - INLINE));
        }
        name
    }

    pub(crate) fn path(self) -> Text<{ NAME_MAX + 16 }> {
        let mut path = Text::new();
        path.push(format_args!("/d{}/", self.dir));
        path.push_bytes(self.name().bytes());
        path
    }

    /// Returns the target of a link: a file in the same directory.
    fn target(self) -> Entry {
        Entry { number: self.number - self.number % 8, ..self }
    }

    /// Returns a body with a varying number of `./` in front, so that some are short and a few fill
    /// a path.
    fn body(self) -> Text<PATH_MAX> {
        let most = if self.number.is_multiple_of(7) { (PATH_MAX - INLINE) / 2 } else { 64 };
        let mut body = Text::new();
        for _ in 0..spread(self.number) % most {
            body.push_bytes(b"./");
        }
        body.push_bytes(self.target().name().bytes());
        body
    }

    fn key(self) -> NodeKey {
        NodeKey(1 << 64 | u128::from(self.dir) << 32 | u128::from(self.number))
    }

    fn of(key: NodeKey) -> Entry {
        Entry { dir: (key.0 >> 32) as u32, number: key.0 as u32 }
    }

    fn attributes(self, kind: FileType) -> Attributes {
        let mut attributes = Attributes::new(kind, if kind == FileType::Symlink { 0o777 } else { 0o644 });
        attributes.ino = u64::from(self.dir) << 32 | u64::from(self.number);
        attributes.size = if kind == FileType::Symlink { self.body().1 as u64 } else { u64::from(self.number) };
        attributes
    }

    /// Looks up the entry and checks the answer.
    pub(crate) fn check(self, context: &Context) {
        let path = self.path();
        let path = path.bytes();
        match self.kind() {
            Kind::File | Kind::LongFile => self.check_file(context.stat(path)),
            Kind::Link => {
                let mut buffer = [0; PATH_MAX];
                let length = context.readlink(path, &mut buffer).expect("it is a link");
                assert_eq!(buffer[..length], *self.body().bytes(), "{self:?}");
                self.target().check_file(context.stat(path));
            }
            Kind::Absent | Kind::LongAbsent => assert_eq!(context.access(path, Access::empty()), Err(Errno::ENOENT), "{self:?}"),
        }
    }

    pub(crate) fn check_file(self, found: Result<Attributes, Errno>) {
        assert_eq!(found, Ok(self.attributes(FileType::Regular)), "{self:?}");
    }
}

/// The computed file system.
pub(crate) struct Computed;

const ROOT: NodeKey = NodeKey(0);

/// Returns the number in decimal after the first byte.
fn number(name: &[u8]) -> Option<u32> {
    let mut digits = name[1..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.try_fold(0u32, |number, digit| number.checked_mul(10)?.checked_add(u32::from(digit - b'0')))
}

fn directory(key: NodeKey) -> Node {
    Node::new(key, Attributes::new(FileType::Directory, 0o755))
}

impl FileSystem for Computed {
    fn root(&self) -> Result<Node, Errno> {
        Ok(directory(ROOT))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let Some(number) = number(name.bytes()) else { return Ok(None) };
        if dir.key() == ROOT {
            return Ok(Some(directory(NodeKey(u128::from(number) + 1))));
        }
        let entry = Entry { dir: dir.key().0 as u32 - 1, number };
        assert_eq!(entry.name().bytes(), name.bytes(), "only names of entries are asked for");
        Ok(match entry.kind() {
            Kind::File | Kind::LongFile => Some(Node::new(entry.key(), entry.attributes(FileType::Regular))),
            Kind::Link => {
                let mut node = Node::symlink(entry.key(), entry.body().bytes());
                node.attributes = entry.attributes(FileType::Symlink);
                Some(node)
            }
            Kind::Absent | Kind::LongAbsent => None,
        })
    }

    /// Returns the body of a link. It is called where the budget has no room for the body that came
    /// with the node.
    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        Ok(Entry::of(node).body().bytes().into())
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let entry = Entry::of(node);
        let kind = if entry.kind() == Kind::Link { FileType::Symlink } else { FileType::Regular };
        Ok(entry.attributes(kind))
    }
}
