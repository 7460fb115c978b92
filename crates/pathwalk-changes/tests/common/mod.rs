//! Trees that are changed at random, and all that is in one.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;

use fastrand::Rng;
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{
    Access, Context, Credentials, Device, FileType, InodeFlags, NewKind, OpenFlags, RenameFlags, SetTime, Timestamp, Vfs,
    XattrFlags,
};
use pathwalk_branch::{Branch, Branches, Change};
use pathwalk_memfs::MemFs;

/// A node, with all that a format may keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) kind: FileType,
    pub(crate) mode: u16,
    pub(crate) owner: (u32, u32),
    /// The data of a file, or the body of a link.
    pub(crate) data: Vec<u8>,
    pub(crate) device: Device,
    /// Those of access and change. Those of a directory are left out, since they are no change.
    pub(crate) times: Option<(Timestamp, Timestamp)>,
    pub(crate) flags: InodeFlags,
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) lists: [Option<Acl>; 2],
    /// The first of its names.
    pub(crate) first: Vec<u8>,
}

/// All of a tree, by paths.
pub(crate) type Copied = BTreeMap<Vec<u8>, Node>;

/// Looks at a whole tree.
pub(crate) fn look(context: &Context) -> Copied {
    let (mut all, mut open, mut firsts) = (Copied::new(), vec![b"/".to_vec()], BTreeMap::new());
    let mut paths = vec![b"/".to_vec()];
    while let Some(dir) = open.pop() {
        for entry in context.read_dir(&dir).expect("it is a directory") {
            let entry = entry.expect("it is listed");
            let path = [if dir == b"/" { &[] } else { &dir[..] }, b"/", entry.name()].concat();
            if entry.kind() == FileType::Directory {
                open.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        let of = context.lstat(&path).expect("it was listed");
        let first = firsts.entry(of.ino).or_insert_with(|| path.clone()).clone();
        all.insert(path.clone(), node(context, &path, first));
    }
    all
}

fn node(context: &Context, path: &[u8], first: Vec<u8>) -> Node {
    let of = context.lstat(path).expect("it was listed");
    let is_link = of.kind == FileType::Symlink;
    let data = match of.kind {
        FileType::Regular => {
            let file = context.open(path, OpenFlags::READ | OpenFlags::NOATIME).expect("it can be read");
            let mut data = vec![0; of.size as usize];
            let mut at = 0;
            while at < data.len() {
                at += file.read_at(&mut data[at..], at as u64).expect("it can be read");
            }
            data
        }
        FileType::Symlink => context.read_link(path).expect("it is a link").into_os_string().into_encoded_bytes(),
        _ => Vec::new(),
    };
    let has_flags = matches!(of.kind, FileType::Regular | FileType::Directory);
    let mut xattrs = Vec::new();
    if !is_link {
        for name in context.listxattr(path).expect("it has some").iter().filter(|name| !name.starts_with(b"system.")) {
            xattrs.push((name.to_vec(), context.getxattr(path, name).expect("it has it")));
        }
    }
    xattrs.sort();
    let list = |kind| if is_link { None } else { context.acl(path, kind).expect("it may have one") };
    let default = if of.kind == FileType::Directory { list(AclKind::Default) } else { None };
    Node {
        kind: of.kind,
        mode: of.mode,
        owner: (of.uid, of.gid),
        data,
        device: of.device_node,
        times: (of.kind != FileType::Directory).then_some((of.atime, of.mtime)),
        flags: if has_flags { context.inode_flags(path).expect("it has flags") } else { InodeFlags::empty() },
        xattrs,
        lists: [list(AclKind::Access), default],
        first: if of.kind == FileType::Directory { Vec::new() } else { first },
    }
}

/// Shows in what two trees differ.
pub(crate) fn assert_same(found: &Copied, wanted: &Copied, what: &str) {
    for (path, node) in wanted {
        let shown = path.escape_ascii();
        match found.get(path) {
            None => panic!("{what}: \"{shown}\" is missing"),
            Some(found) => {
                let short =
                    |node: &Node| format!("{:?}", Node { data: node.data.iter().take(80).copied().collect(), ..node.clone() });
                assert!(found == node, "{what}: \"{shown}\" is\n{}\nand not\n{}", short(found), short(node));
            }
        }
    }
    for path in found.keys() {
        assert!(wanted.contains_key(path), "{what}: \"{}\" is there", path.escape_ascii());
    }
}

/// What random changes may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that a tree can have.
    All,
    /// Directories, files, links and names.
    Files,
}

const NAMES: [&[u8]; 12] =
    [b"a", b"b", b"c", b"d", b"e e", b"q\"uo\\te", b"new\nline", b"\xff\xfe", b"tab\t", b"\xc3\xa4", b"f.txt", b"-x"];

fn path(random: &mut Rng) -> Vec<u8> {
    let names = if random.u8(..4) == 0 { &NAMES[..] } else { &NAMES[..4] };
    let depth = random.usize(1..4);
    (0..depth).flat_map(|_| [b"/", names[random.usize(..names.len())]].concat()).collect()
}

/// Returns text, or bytes that are none.
fn data(random: &mut Rng) -> Vec<u8> {
    match random.u8(..8) {
        0 => vec![random.u8(..); random.usize(..9000)],
        1 => (0..random.usize(..9000)).map(|_| random.u8(..)).collect(),
        2 => Vec::new(),
        _ => {
            let mut text: Vec<u8> =
                (0..random.usize(..60)).flat_map(|_| format!("line {}\n", random.u8(..20)).into_bytes()).collect();
            if random.bool() {
                text.extend(b"no end \xc3\xa4 \r here");
            }
            text
        }
    }
}

/// Changes some lines of a file.
fn edit(context: &Context, path: &[u8], random: &mut Rng) {
    let Ok(of) = context.lstat(path) else { return };
    if of.kind != FileType::Regular {
        return;
    }
    let text = node(context, path, Vec::new()).data;
    let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..=lines.len());
        if random.bool() || at == lines.len() {
            lines.insert(at, format!("edit {}\n", random.u8(..)).into_bytes());
        } else {
            lines.remove(at);
        }
    }
    // It may be immutable.
    _ = context.write(path, lines.concat());
}

/// Does something.
pub(crate) fn change(context: &Context, random: &mut Rng, scope: Scope) {
    let (one, other) = (path(random), path(random));
    // An open of a pipe would wait for its other end.
    if context.stat(&one).is_ok_and(|of| of.kind == FileType::Fifo) {
        return;
    }
    // Many of these fail.
    match random.u8(..if scope == Scope::All { 30 } else { 20 }) {
        0..4 => _ = context.mkdir(&one, 0o755),
        4..7 => _ = context.write(&one, data(random)),
        7..9 => edit(context, &one, random),
        9 => {
            let written = context.open(&one, OpenFlags::WRITE);
            _ = written.and_then(|file| file.write_at(&data(random), random.u64(..40_000)));
        }
        10 => _ = context.truncate(&one, random.u64(..40_000)),
        11 => _ = context.remove_file(&one),
        12 => _ = context.remove_dir_all(&one),
        13..16 => _ = context.rename(&one, &other),
        16 => _ = context.renameat(context.root(), &one[1..], context.root(), &other[1..], RenameFlags::EXCHANGE),
        17 => _ = context.symlink(&other, &one),
        18 => _ = context.chmod(&one, [0o755, 0o644, 0o700, 0o600][random.usize(..4)]),
        19 => _ = context.link(&one, &other),
        20 => _ = context.chown(&one, Some(random.u32(..3)), Some(random.u32(..3))),
        21 => {
            let time = |random: &mut Rng| {
                SetTime::To(Timestamp { seconds: random.i64(-5..1 << 33), nanoseconds: random.u32(..1_000_000_000) })
            };
            _ = context.utimensat(context.root(), &one[1..], time(random), time(random), pathwalk::AtFlags::SYMLINK_NOFOLLOW);
        }
        22 | 23 => {
            let name = [&b"user.a"[..], b"user.\xff\n=", b"trusted.c"][random.usize(..3)];
            _ = context.setxattr(&one, name, data(random), XattrFlags::empty());
        }
        24 => _ = context.removexattr(&one, "user.a"),
        25 => {
            let entry = |tag, grants| AclEntry { tag, grants };
            let acl = Acl::new(vec![
                entry(AclTag::Owner, Access::READ | Access::WRITE),
                entry(AclTag::User(random.u32(1..9)), Access::READ),
                entry(AclTag::Group, Access::READ),
                entry(AclTag::Mask, Access::READ | Access::EXECUTE),
                entry(AclTag::Other, Access::empty()),
            ]);
            let kind = if random.bool() { AclKind::Access } else { AclKind::Default };
            _ = context.set_acl(&one, kind, if random.u8(..4) == 0 { None } else { Some(&acl) });
        }
        26 => _ = context.set_inode_flags(&one, if random.bool() { InodeFlags::NODUMP } else { InodeFlags::empty() }),
        27 => _ = context.mknod(&one, NewKind::Fifo, 0o644),
        28 => {
            let device = Device { major: random.u32(..4096), minor: random.u32(..1 << 20) };
            _ = context.mknod(
                &one,
                if random.bool() { NewKind::CharDevice(device) } else { NewKind::BlockDevice(device) },
                0o600,
            );
        }
        _ => _ = context.mknod(&one, NewKind::Socket, 0o600),
    }
}

/// A branch that was changed, and what it was forked from.
pub(crate) struct Scene {
    branches: Branches,
    parent: Option<&'static str>,
    pub(crate) old: Context,
    pub(crate) new: Context,
    pub(crate) changes: Vec<Change>,
}

/// Bytes of each tree's caches: there are thousands of small trees.
const BUDGET: u64 = 2 << 20;

/// Returns a context on an empty tree in memory.
pub(crate) fn memory() -> Context {
    Vfs::builder().budget(BUDGET).build(MemFs::new()).expect("there is a root").context(Credentials::root())
}

pub(crate) fn context(branch: Branch) -> Context {
    Vfs::builder().budget(BUDGET).build(branch).expect("there is a root").context(Credentials::root())
}

impl Scene {
    /// Makes a random base, a random branch of it, and a random fork of that or of the base.
    pub(crate) fn random(random: &mut Rng, scope: Scope) -> Scene {
        loop {
            let base = memory();
            let steps = random.usize(..80);
            let scene = Scene::of(&base, random.bool(), |context| (0..steps).for_each(|_| change(context, random, scope)));
            if scene.is_told() {
                return scene;
            }
        }
    }

    /// Returns whether each node that changed is told of by a path that it has. Of a node with
    /// several names, the list of changes may have a path that was removed since.
    fn is_told(&self) -> bool {
        let by_number = |context: &Context| -> BTreeMap<u64, (Vec<u8>, Node)> {
            let bare = |node: Node| Node { first: Vec::new(), ..node };
            let numbered = |(path, node): (Vec<u8>, Node)| (context.lstat(&path).expect("it is there").ino, (path, bare(node)));
            look(context).into_iter().filter(|(_, node)| node.kind != FileType::Directory).map(numbered).collect()
        };
        let (old, new) = (by_number(&self.old), by_number(&self.new));
        let told = |number: u64| {
            self.changes.iter().any(|change| match change {
                Change::Changed { path, .. } | Change::Renamed { path, .. } => {
                    self.new.lstat(&**path).is_ok_and(|of| of.ino == number)
                }
                _ => false,
            })
        };
        let all_there = self.changes.iter().all(|change| match change {
            Change::Changed { path, .. } => self.new.lstat(&**path).is_ok(),
            _ => true,
        });
        let is_changed = |number: &u64, node: &Node| old.get(number).is_some_and(|(_, before)| before != node);
        all_there && new.iter().all(|(number, (_, node))| !is_changed(number, node) || told(*number))
    }

    /// Makes a base, perhaps a branch of it, and a fork, each changed by a function.
    pub(crate) fn of(base: &Context, is_nested: bool, mut change: impl FnMut(&Context)) -> Scene {
        change(base);
        let branches = Branches::new(base.clone()).expect("it is a base");
        let parent = is_nested.then_some("parent");
        if let Some(name) = parent {
            change(&context(branches.fork(None, name).expect("the name is free")));
        }
        let new = context(branches.fork(parent, "work").expect("the name is free"));
        change(&new);
        let old = context(branches.before("work").expect("it is there"));
        let changes = branches.diff("work").expect("it is there");
        Scene { branches, parent, old, new, changes }
    }

    /// Calls a function with a copy of what the branch was forked from, and drops it afterwards.
    pub(crate) fn on_copy<T>(&self, go: impl FnOnce(&Context) -> T) -> T {
        const NAME: &str = "for a while";
        let done = go(&self.copy(NAME));
        self.branches.drop(NAME).expect("it is there");
        done
    }

    /// Returns a copy of what the branch was forked from.
    pub(crate) fn copy(&self, name: &str) -> Context {
        context(self.branches.fork(self.parent, name).expect("the name is free"))
    }
}

/// Calls a function for as many rounds as `PATHWALK_CHANGES_ROUNDS` says, or a few.
pub(crate) fn rounds(mut round: impl FnMut(&mut Rng)) {
    let seed =
        std::env::var("PATHWALK_CHANGES_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("it is a number"));
    println!("PATHWALK_CHANGES_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_CHANGES_ROUNDS").map_or(20, |rounds| rounds.parse().expect("it is a number"));
    (0..rounds).for_each(|_| round(&mut random));
}

/// Returns changes as text.
pub(crate) fn shown(changes: &[Change]) -> String {
    let line = |change: &Change| match change {
        Change::Added { path, kind } => format!("added {} {kind:?}\n", path.escape_ascii()),
        Change::Removed { path, kind } => format!("removed {} {kind:?}\n", path.escape_ascii()),
        Change::Changed { path, kind, what } => format!("changed {} {kind:?} {what:?}\n", path.escape_ascii()),
        Change::Renamed { from, path, kind, what } => {
            format!("renamed {} to {} {kind:?} {what:?}\n", from.escape_ascii(), path.escape_ascii())
        }
        Change::TypeChanged { path, from, kind } => format!("type of {} {from:?} to {kind:?}\n", path.escape_ascii()),
        other => format!("{other:?}\n"),
    };
    changes.iter().map(line).collect()
}

/// Returns a context on a tree, and one on its directory "root", out of which links lead, and in
/// which one leads elsewhere.
pub(crate) fn beside_outside() -> (Context, Context) {
    let context = memory();
    for dir in ["/root", "/outside"] {
        context.mkdir(dir, 0o755).expect("there is room");
    }
    context.write("/outside/file", "kept\n").expect("there is room");
    context.symlink("/outside", "/root/link").expect("there is room");
    context.symlink("../outside/file", "/root/file").expect("there is room");
    context.create_dir_all("/root/elsewhere/below").expect("there is room");
    context.write("/root/elsewhere/file", "kept\n").expect("there is room");
    context.write("/root/elsewhere/below/file", "kept\n").expect("there is room");
    context.symlink("elsewhere", "/root/way").expect("there is room");
    let mut inside = context.clone();
    inside.chroot("/root").expect("it is there");
    (context, inside)
}
