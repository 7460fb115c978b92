//! The tree of the questions: links, loops, dots, long names, directories that may not be searched,
//! sticky directories.
//!
//! It is made twice, in a file system and in a model, from one list.

use pathwalk::{FileType, NewKind};
use pathwalk_memfs::MemFs;
use pathwalk_model::{AT_FDCWD, AtFlags, Model, Process};

/// The node at a path.
enum Is {
    Directory(u16),
    File(u16),
    Link(Vec<u8>),
    Fifo(u16),
    Socket(u16),
}

use Is::{Directory, Fifo, File, Link, Socket};

struct Entry {
    path: Vec<u8>,
    is: Is,
    uid: u32,
    gid: u32,
}

/// The number of links that each lead to the next: one more than may be followed.
const CHAIN: usize = 41;
/// The number of links that each lead through the previous one twice.
const DOUBLING: usize = 7;
/// The number of nested directories.
const DEEP: usize = 30;

/// The directories that are removed once an asker has them as working directory or start.
pub(crate) const REMOVED: [&[u8]; 2] = [b"/gone", b"/gone/sub"];

/// The places where a question may start, besides the removed directories.
pub(crate) const STARTS: [&[u8]; 14] = [
    b"/",
    b"/a",
    b"/a/b",
    b"/a/b/c/d",
    b"/t",
    b"/t/dirs",
    b"/n",
    b"/m",
    b"/g",
    b"/deep/deep/deep",
    b"/a/f",
    b"/l",
    b"/nothing",
    b"/fifo",
];

/// The number of first entries of [`STARTS`] that are directories.
pub(crate) const DIRECTORIES: usize = 10;

/// The number of first entries of [`STARTS`] that may be a root directory.
pub(crate) const ROOTS: usize = 4;

/// The names and bodies that are combined. A byte from 0x80 on stands for one of them.
const PIECES: [&[u8]; 80] = [
    b"/",
    b"/..",
    b"/.",
    b"../",
    b"./",
    b"//",
    b"..",
    b".",
    b"a",
    b"a/",
    b"b",
    b"b/",
    b"c/",
    b"d/",
    b"d",
    b"f",
    b"f/",
    b"g",
    b"x",
    b"l",
    b"l/",
    b"l2/",
    b"up/",
    b"up",
    b"self",
    b"loop1",
    b"abs/",
    b"abs",
    b"nothing",
    b"dot/",
    b"slash",
    b"slashes/",
    b"n/",
    b"n/d",
    b"m/",
    b"m/f",
    b"g/",
    b"t/",
    b"t/own",
    b"t/other",
    b"t/other/",
    b"t/dirs/",
    b"dirs/l",
    b"k0",
    b"k38",
    b"k39",
    b"k40",
    b"d3/",
    b"d5",
    b"d6",
    b"deep/",
    b"deep/deep/deep/",
    b"fifo",
    b"sock/",
    b"...",
    b".hidden",
    b"gone",
    b"sub",
    b"long",
    b"body127",
    b"body128",
    b"body4095",
    b"\xff\n",
    b"absent",
    b"secret",
    b"a/g",
    b"a/x",
    b"g/f",
    b"rootlink/",
    b"rootlink",
    b"throughn",
    b"filedir",
    b"n/l/",
    b"t/roots",
    b"dirs/m",
    b"body63",
    b"body64",
    b"body126",
    b"long/",
    b"t/dirs/l/",
];

/// The long pieces, with their repetitions: a name of the greatest length, one that is too long,
/// and pieces that make paths too long.
const LONG: [(&[u8], usize); 8] =
    [(b"n", 255), (b"n", 256), (b"./", 2040), (b"/", 4000), (b"a/../", 400), (b"up/", 20), (b"deep/", 30), (b"absent/../", 30)];

/// Returns the path that bytes stand for: bytes up to 0x7f stand for themselves, those above for
/// pieces.
pub(crate) fn path(bytes: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    for byte in bytes {
        match usize::from(*byte) {
            0..0x80 => path.push(*byte),
            long if long >= 0x100 - LONG.len() => path.extend(LONG[0xff - long].0.repeat(LONG[0xff - long].1)),
            piece => path.extend_from_slice(PIECES[(piece - 0x80) % PIECES.len()]),
        }
    }
    path
}

fn entries() -> Vec<Entry> {
    let link = |body: &[u8]| Link(body.to_vec());
    let mut entries = Vec::new();
    let mut add = |path: &[u8], is: Is, uid: u32, gid: u32| entries.push(Entry { path: path.to_vec(), is, uid, gid });
    add(b"/a", Directory(0o755), 0, 0);
    add(b"/a/f", File(0o644), 0, 0);
    add(b"/a/x", File(0o4751), 1000, 1001);
    add(b"/a/g", File(0o070), 0, 1000);
    add(b"/a/secret", File(0), 1000, 1000);
    add(b"/a/b", Directory(0o2775), 1000, 1001);
    add(b"/a/b/up", link(b"../.."), 1000, 1001);
    add(b"/a/b/f", File(0o640), 1000, 1001);
    add(b"/a/b/c", Directory(0o711), 1000, 1000);
    add(b"/a/b/c/d", Directory(0o755), 0, 0);
    add(b"/a/b/c/d/up", link(b"../../../.."), 0, 0);
    add(b"/a/slash", link(b"b/"), 0, 0);
    add(b"/a/slashes", link(b"b//"), 0, 0);
    add(b"/l", link(b"a"), 0, 0);
    add(b"/l2", link(b"l/b"), 0, 0);
    add(b"/up", link(b".."), 0, 0);
    add(b"/dot", link(b"."), 0, 0);
    add(b"/rootlink", link(b"/"), 0, 0);
    add(b"/self", link(b"self"), 0, 0);
    add(b"/loop1", link(b"loop2"), 0, 0);
    add(b"/loop2", link(b"./loop1"), 0, 0);
    add(b"/abs", link(b"/a/b/c"), 0, 0);
    add(b"/nothing", link(b"absent"), 0, 0);
    add(b"/filedir", link(b"a/f/"), 0, 0);
    // One of these directories can be searched and not read, one read and not searched, one
    // accessed only by a group.
    add(b"/n", Directory(0o700), 0, 0);
    add(b"/n/d", Directory(0o755), 0, 0);
    add(b"/n/l", link(b"../a"), 0, 0);
    add(b"/m", Directory(0o444), 1000, 1000);
    add(b"/m/f", File(0o666), 1000, 1000);
    add(b"/g", Directory(0o070), 1000, 1001);
    add(b"/g/f", File(0o604), 1000, 1001);
    add(b"/throughn", link(b"n/../a/f"), 0, 0);
    // In these sticky directories, `protected_symlinks` decides which user may follow which link.
    add(b"/t", Directory(0o1777), 0, 0);
    add(b"/t/own", link(b"/a/f"), 1000, 1000);
    add(b"/t/other", link(b"../a"), 1001, 1001);
    add(b"/t/roots", link(b"own"), 0, 0);
    add(b"/t/dirs", Directory(0o1777), 1000, 1000);
    add(b"/t/dirs/l", link(b"/a/b"), 1001, 1001);
    add(b"/t/dirs/m", link(b"../own"), 1000, 1000);
    add(b"/k0", link(b"a/f"), 0, 0);
    for index in 1..CHAIN {
        add(format!("/k{index}").as_bytes(), link(format!("k{}", index - 1).as_bytes()), 0, 0);
    }
    add(b"/d0", link(b"a"), 0, 0);
    for index in 1..DOUBLING {
        let below = index - 1;
        add(format!("/d{index}").as_bytes(), link(format!("d{below}/../d{below}").as_bytes()), 0, 0);
    }
    for depth in 1..=DEEP {
        add(&b"/deep".repeat(depth), Directory(0o755), 0, 0);
    }
    add(b"/fifo", Fifo(0o600), 1000, 1000);
    add(b"/sock", Socket(0o777), 1001, 1001);
    for name in [&b"/..."[..], b"/.hidden", b"/a.", b"/\xff\n"] {
        add(name, File(0o644), 0, 0);
    }
    let long = [b"/", &b"n".repeat(255)[..]].concat();
    add(&long, Directory(0o755), 0, 0);
    add(&long.repeat(2), File(0o600), 1001, 1001);
    add(b"/long", Link(long[1..].to_vec()), 0, 0);
    // These bodies are at the limits of the ways in which bodies are stored.
    for length in [62, 63, 64, 126, 127, 128] {
        add(format!("/body{length}").as_bytes(), Link([&b"./".repeat(length / 2)[..], &b"/"[..length % 2]].concat()), 0, 0);
    }
    add(b"/body4095", Link([&b"./".repeat(2047)[..], b"a"].concat()), 0, 0);
    for removed in REMOVED {
        add(removed, Directory(0o755), 1000, 1000);
    }
    entries
}

/// Makes the tree in a file system.
pub(crate) fn lay_into(fs: &MemFs) -> Result<(), pathwalk_memfs::Error> {
    for Entry { path, is, uid, gid } in entries() {
        match is {
            Directory(mode) => fs.mkdir(&path, mode)?,
            File(mode) => fs.file(&path, mode)?,
            Link(body) => fs.symlink(&body, &path)?,
            Fifo(mode) => fs.mknod(&path, NewKind::Fifo, mode)?,
            Socket(mode) => fs.mknod(&path, NewKind::Socket, mode)?,
        }
        // Changing the owner here clears no bits of the mode, because this is not a system call.
        fs.chown(&path, uid, gid)?;
    }
    Ok(())
}

/// Makes the tree in a model.
pub(crate) fn lay_out(model: &Model, root: &mut Process) -> pathwalk_model::Result<()> {
    model.umask(root, 0);
    for Entry { path, is, uid, gid } in entries() {
        let (at, none) = (AT_FDCWD, AtFlags::empty());
        let mut node = |kind: FileType, mode: u16| {
            let mode = u32::from(kind.mode_bits() | mode);
            model.mknod(root, at, &path, mode, 0)
        };
        let mode = match is {
            Directory(mode) => {
                model.mkdir(root, at, &path, 0o700)?;
                Some(mode)
            }
            Link(body) => {
                model.symlink(root, &body, at, &path)?;
                None
            }
            File(mode) => node(FileType::Regular, mode).map(|()| Some(mode))?,
            Fifo(mode) => node(FileType::Fifo, mode).map(|()| Some(mode))?,
            Socket(mode) => node(FileType::Socket, mode).map(|()| Some(mode))?,
        };
        model.chown(root, at, &path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        if let Some(mode) = mode {
            model.chmod(root, at, &path, mode.into(), none)?;
        }
    }
    Ok(())
}
