//! The numbers of nodes, over a base whose inode numbers are not unique.

use std::collections::BTreeSet;

use pathwalk::{Attributes, Context, Credentials, Device, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};
use pathwalk_branch::Branches;

/// A root with files whose inode numbers are shared, as high as those of new nodes, or of another
/// device.
struct Odd;

/// The files: name, inode number, minor number of the device.
const FILES: [(&[u8], u64, u32); 6] =
    [(b"a", 5, 1), (b"b", 5, 1), (b"c", 5, 2), (b"d", 1 << 62, 1), (b"e", u64::MAX, 1), (b"f", 7, 2)];

fn attributes(key: NodeKey) -> Attributes {
    let (kind, ino, minor) = match (key.0 as usize).checked_sub(1) {
        None => (FileType::Directory, 1, 1),
        Some(file) => (FileType::Regular, FILES[file].1, FILES[file].2),
    };
    let mut attributes = Attributes::new(kind, 0o755).with_ino(ino);
    attributes.device = Device { major: 0, minor };
    attributes
}

impl FileSystem for Odd {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), attributes(NodeKey(0))))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let file = FILES.iter().position(|(file, ..)| *file == name.bytes());
        Ok(file.map(|file| NodeKey(file as u128 + 1)).map(|key| Node::new(key, attributes(key))))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(attributes(node))
    }
}

fn numbers(context: &Context) -> Vec<u64> {
    FILES.iter().map(|(name, ..)| context.stat(*name).expect("it is there").ino).collect()
}

#[test]
fn each_node_has_a_number_of_its_own_and_keeps_it() {
    let base = Vfs::builder().build(Odd).unwrap().context(Credentials::root());
    let branches = Branches::new(base).unwrap();
    let branch = branches.fork(None, "work").unwrap();
    let work = Vfs::builder().build(branch).unwrap().context(Credentials::root());
    let before = numbers(&work);
    assert_eq!((before[0], before.iter().collect::<BTreeSet<_>>().len()), (5, FILES.len()), "{before:?}");
    for (name, ..) in FILES {
        work.chmod(name, 0o600).unwrap();
    }
    assert_eq!(numbers(&work), before);
    let fork = Vfs::builder().build(branches.fork(Some("work"), "fork").unwrap()).unwrap().context(Credentials::root());
    assert_eq!(numbers(&fork), before);
    fork.mkdir("/new", 0o755).unwrap();
    assert!(!before.contains(&fork.stat("/new").unwrap().ino));
    branches.commit("fork").unwrap();
    let mut modes = FILES.iter().map(|(name, ..)| work.stat(*name).unwrap().mode);
    assert!(modes.all(|mode| mode == 0o600));
}
