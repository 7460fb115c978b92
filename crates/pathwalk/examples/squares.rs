//! A file system that is computed: nothing is stored, every answer is derived from the key. It has
//! the three methods without a default, so its files have attributes and cannot be read: the
//! example `zip_fs` of `pathwalk-examples` has readable ones.
//!
//! The root has a directory for each number from 0 to 999. The directory `7` has the file `square`,
//! whose size is 49, and the link `next`, which leads to `../8`.
//!
//! Run it with `cargo run -p pathwalk --example squares`.

use std::error::Error;

use pathwalk::{Access, Attributes, Context, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};

const NUMBERS: u64 = 1000;

/// A node of the file system. Its key has the kind in its low two bits, and the number above.
#[derive(Clone, Copy)]
enum Place {
    Root,
    Number(u64),
    Square(u64),
    Next(u64),
}

impl Place {
    fn key(self) -> NodeKey {
        let (number, kind) = match self {
            Place::Root => (0, 0),
            Place::Number(number) => (number, 1),
            Place::Square(number) => (number, 2),
            Place::Next(number) => (number, 3),
        };
        NodeKey(u128::from(number) << 2 | kind)
    }

    fn of(key: NodeKey) -> Place {
        let number = (key.0 >> 2) as u64;
        match key.0 & 3 {
            0 => Place::Root,
            1 => Place::Number(number),
            2 => Place::Square(number),
            _ => Place::Next(number),
        }
    }

    /// Returns the whole answer about a place: key, attributes, and for a link its body.
    fn node(self) -> Node {
        let mut node = match self {
            Place::Root | Place::Number(_) => Node::new(self.key(), Attributes::new(FileType::Directory, 0o555)),
            Place::Square(_) => Node::new(self.key(), Attributes::new(FileType::Regular, 0o444)),
            Place::Next(number) => Node::symlink(self.key(), format!("../{}", number + 1).into_bytes()),
        };
        // Inode numbers are for users and need 64 bits only; 0 is invalid.
        node.attributes.ino = self.key().0 as u64 + 1;
        match self {
            Place::Root => node.attributes.nlink = 2 + NUMBERS as u32,
            Place::Square(number) => node.attributes.size = number * number,
            _ => {}
        }
        node
    }
}

/// Parses a name as a decimal number in its canonical form: `7`, not `07` or `+7`.
fn number(name: Name<'_>) -> Option<u64> {
    let number: u64 = std::str::from_utf8(name.bytes()).ok()?.parse().ok().filter(|number| *number < NUMBERS)?;
    (number.to_string().as_bytes() == name.bytes()).then_some(number)
}

struct Squares;

impl FileSystem for Squares {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Place::Root.node())
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let place = match Place::of(dir.key()) {
            Place::Root => number(name).map(Place::Number),
            Place::Number(number) => match name.bytes() {
                b"square" => Some(Place::Square(number)),
                b"next" => Some(Place::Next(number)),
                _ => None,
            },
            Place::Square(_) | Place::Next(_) => return Err(Errno::ENOTDIR),
        };
        Ok(place.map(Place::node))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(Place::of(node).node().attributes)
    }
}

fn show(context: &Context, path: &str) {
    match context.stat(path) {
        Ok(found) => println!("{path:<24} {:?}, mode {:o}, {} bytes", found.kind, found.mode, found.size),
        Err(errno) => println!("{path:<24} {errno}"),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let vfs = Vfs::builder().budget(1 << 20).build(Squares)?;
    let mut context = vfs.context(Credentials::user(1000, 1000, &[]));
    for path in ["/12/square", "/12/next/next/square", "/12/next/../007", "/1000", "/999/next", "/7/square/."] {
        show(&context, path);
    }

    let mut body = [0; 64];
    let length = context.readlink("/41/next", &mut body)?;
    println!("{:<24} -> {}", "/41/next", body[..length].escape_ascii());
    println!("{:<24} {:?}", "write to /3/square", context.access("/3/square", Access::WRITE));

    context.chdir("/41/next")?;
    println!("{:<24} {} bytes", "square, from /41/next", context.stat("square")?.size);
    println!("{:<24} {:?}", "where that is", context.lookup("square")?);

    let asked = vfs.stats().fs_lookups;
    show(&context, "/12/next/next/square");
    println!("the file system was asked {asked} times, and for the last one {} times", vfs.stats().fs_lookups - asked);
    Ok(())
}
