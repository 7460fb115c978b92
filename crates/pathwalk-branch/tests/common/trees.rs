//! Whole copies of trees, and random changes of them.

use std::collections::BTreeMap;

use fastrand::Rng;
use pathwalk::{Context, FileType, OpenFlags, Timestamp, XattrFlags};

/// A node of a copy.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    /// The data of a file, or the body of a link.
    pub(crate) data: Vec<u8>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let begin = self.data[..self.data.len().min(8)].escape_ascii();
        write!(f, "{:?} {:o} {} bytes \"{begin}\"", self.kind, self.mode, self.data.len())
    }
}

/// The whole tree, by paths.
pub(crate) type Copied = BTreeMap<Vec<u8>, Node>;

/// Looks at a whole tree, and checks the links of its directories.
pub(crate) fn look(context: &Context) -> Copied {
    let (mut all, mut open) = (Copied::new(), vec![Vec::new()]);
    while let Some(dir) = open.pop() {
        let path = |name: &[u8]| [&dir, &b"/"[..], name].concat();
        let shown = if dir.is_empty() { b"/".to_vec() } else { dir.clone() };
        let mut directories = 0;
        for entry in context.read_dir(&shown).expect("it is a directory") {
            let entry = entry.expect("it is listed");
            let path = path(entry.name());
            let found = context.lstat(&path).expect("it was listed");
            let data = match found.kind {
                FileType::Regular => context.read(&path).expect("it can be read"),
                FileType::Symlink => context.read_link(&path).expect("it is a link").into_os_string().into_encoded_bytes(),
                _ => Vec::new(),
            };
            if found.kind == FileType::Directory {
                directories += 1;
                open.push(path.clone());
            }
            all.insert(path, Node { kind: found.kind, mode: found.mode, data });
        }
        // A file system that does not count them says 1.
        let links = context.stat(&shown).expect("it is there").nlink;
        assert!(links == 1 || links == 2 + directories, "links of {}: {links}", dir.escape_ascii());
    }
    all
}

/// The rest of what a node has: owner, times, extended attributes, and the first path that leads to
/// the same node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rest {
    owner: (u32, u32),
    pub(crate) links: u32,
    mtime: Timestamp,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    first: Vec<u8>,
}

impl Rest {
    #[allow(dead_code, reason = "not every test uses all of it")]
    pub(crate) fn without_times(&self) -> String {
        format!("{:?} {} {:?} {:?}", self.owner, self.links, self.xattrs, self.first.escape_ascii().to_string())
    }
}

/// Looks at the rest of all nodes.
pub(crate) fn look_closely(context: &Context) -> BTreeMap<Vec<u8>, (Node, Rest)> {
    let mut first = BTreeMap::new();
    let whole = look(context).into_iter().map(|(path, node)| {
        let found = context.lstat(&path).expect("it is there");
        let first = first.entry(found.ino).or_insert_with(|| path.clone()).clone();
        let names = if found.kind == FileType::Symlink { Vec::new() } else { names_of(context, &path) };
        let value = |name: Vec<u8>| (name.clone(), context.getxattr(&path, &name).expect("it is listed"));
        let xattrs = names.into_iter().map(value).collect();
        let rest = Rest { owner: (found.uid, found.gid), links: found.nlink, mtime: found.mtime, xattrs, first };
        (path, (node, rest))
    });
    whole.collect()
}

fn names_of(context: &Context, path: &[u8]) -> Vec<Vec<u8>> {
    context.listxattr(path).expect("it is there").iter().map(<[u8]>::to_vec).collect()
}

fn path(random: &mut Rng) -> String {
    let depth = random.usize(1..4);
    (0..depth).map(|_| format!("/{}", ["a", "b", "c", "d"][random.usize(..4)])).collect()
}

/// Does something, and returns whether that was a rename. What it does to the copy follows from
/// what the tree says afterwards.
pub(crate) fn change(context: &Context, random: &mut Rng) -> bool {
    let (one, other) = (path(random), path(random));
    let data = vec![random.u8(..); random.usize(..9000)];
    // Many of these fail.
    _ = match random.u8(..14) {
        0..3 => context.mkdir(&one, 0o755).is_ok(),
        3..5 => context.write(&one, data).is_ok(),
        5 => context.open(&one, OpenFlags::WRITE).and_then(|file| file.write_at(&data, random.u64(..20_000))).is_ok(),
        6 => context.truncate(&one, random.u64(..20_000)).is_ok(),
        7 => context.remove_file(&one).is_ok(),
        8 => context.remove_dir_all(&one).is_ok(),
        9 | 10 => return context.rename(&one, &other).is_ok(),
        11 => context.symlink(&other, &one).is_ok(),
        12 => context.chmod(&one, [0o755, 0o700, 0o711][random.usize(..3)]).is_ok(),
        _ => {
            let both = (context.open(&one, OpenFlags::READ), context.open(&other, OpenFlags::WRITE));
            let copy = |(from, to): (pathwalk::File, pathwalk::File)| from.copy_file_range(Some(100), &to, Some(50), 9000);
            both.0.and_then(|from| Ok((from, both.1?))).and_then(copy).is_ok()
        }
    };
    false
}

/// Does something as [`change`] does, or adds a name or an extended attribute to a node.
pub(crate) fn change_more(context: &Context, random: &mut Rng) {
    let (one, other, name) = (path(random), path(random), ["user.a", "user.b"][random.usize(..2)]);
    _ = match random.u8(..9) {
        0 => context.link(&one, &other),
        1 => context.setxattr(&one, name, one.as_bytes(), XattrFlags::empty()),
        2 => context.removexattr(&one, name),
        _ => {
            change(context, random);
            Ok(())
        }
    };
}

/// Returns what differs between two trees, for a message.
pub(crate) fn differences<T: PartialEq + std::fmt::Debug>(one: &BTreeMap<Vec<u8>, T>, other: &BTreeMap<Vec<u8>, T>) -> String {
    let paths: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let differ = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
    let line = |path: &Vec<u8>| format!("{}:\n  {:?}\n  {:?}\n", path.escape_ascii(), one.get(path), other.get(path));
    differ.map(line).collect()
}
