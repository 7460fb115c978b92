//! The unusual tree, laid out twice: by system calls and through the engine.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pathwalk::{Context, Credentials, Errno, Name, NewKind, NewNode, SetAttributes, Vfs, internals};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, Uid, chmodat, chownat, linkat, mknodat, symlinkat};

use crate::asker::OWNER;
use crate::place::{Place, Users};

/// The type of an entry.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Directory,
    /// A file of this many bytes.
    File(u64),
    Link(Vec<u8>),
    Fifo,
    Socket,
    /// Another name of this entry.
    Hard(&'static str),
}

/// A name in the tree, with no leading slash; its directory comes before it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: Vec<u8>,
    kind: Kind,
    mode: u16,
    /// The user and the group, which are the same number.
    owner: u32,
}

fn entry(path: impl Into<Vec<u8>>, kind: Kind, mode: u16, owner: u32) -> Entry {
    Entry { path: path.into(), kind, mode, owner }
}

fn link(path: impl Into<Vec<u8>>, body: impl Into<Vec<u8>>) -> Entry {
    entry(path, Kind::Link(body.into()), 0o777, 0)
}

/// Returns files and directories of all kinds, and links that lead in every direction.
pub(crate) fn shapes() -> Vec<Entry> {
    let mut tree = vec![
        entry("d", Kind::Directory, 0o755, 0),
        entry("d/f", Kind::File(5), 0o644, 0),
        entry("d/e", Kind::Directory, 0o755, 0),
        entry("d/e/g", Kind::File(0), 0o755, OWNER),
        entry("f", Kind::File(3), 0o644, OWNER),
        entry("x", Kind::File(1 << 33), 0o6755, 0),
        entry("hard", Kind::Hard("f"), 0, 0),
        entry("fifo", Kind::Fifo, 0o644, 0),
        entry("socket", Kind::Socket, 0o600, OWNER),
        entry("empty", Kind::Directory, 0o1777, OWNER),
        entry("...", Kind::Directory, 0o755, 0),
        entry("..a", Kind::File(1), 0o644, 0),
        entry(".a", Kind::File(2), 0o644, 0),
        entry(" ", Kind::Directory, 0o755, 0),
        entry("a\\\n\tb", Kind::File(4), 0o644, 0),
        entry(b"\xff\xfe\x80", Kind::Directory, 0o755, 0),
        entry(vec![b'n'; 255], Kind::Directory, 0o755, 0),
        entry(vec![b'm'; 31], Kind::File(0), 0o644, 0),
        entry(vec![b'm'; 32], Kind::File(0), 0o644, 0),
        entry(vec![b'm'; 33], Kind::File(0), 0o644, 0),
        entry([&[b'n'; 254][..], b"o"].concat(), Kind::File(6), 0o644, 0),
    ];
    tree.extend(links());
    tree
}

fn links() -> Vec<Entry> {
    let mut long_file = b"./".repeat(2047);
    long_file.push(b'f');
    let mut long_directory = vec![b'/'; 4094];
    long_directory.push(b'd');
    vec![
        link("to-d", "d"),
        link("to-d-slash", "d/"),
        link("to-f", "f"),
        link("to-f-slash", "f/"),
        link("to-f-dot", "f/."),
        link("dangling", "nope"),
        link("dangling-slash", "nope/"),
        link("dangling-deep", "nope/nope"),
        link("through-file", "f/nope"),
        link("loop", "loop"),
        link("loop-a", "loop-b"),
        link("loop-b", "d/../loop-a"),
        link("loop-below", "loop-below/f"),
        link("to-up", ".."),
        link("to-dot", "."),
        link("to-root", "/"),
        link("to-absolute", "/d/e"),
        link("to-absolute-file", "//f"),
        link("to-slashes", "///d///e///"),
        link("to-dotdot", "d/.."),
        link("to-link-dotdot", "to-absolute/../f"),
        link("to-nested", "to-d/e/../../to-f"),
        link("to-long-name", vec![b'n'; 255]),
        link("to-too-long-name", vec![b'n'; 256]),
        link("to-bytes", b"\xff\xfe\x80"),
        link("long-file", long_file),
        link("long-directory", long_directory),
        link("d/up", "../f"),
        link("d/up-up", "../../../d/e"),
        link("d/link-d", "e"),
        link("d/e/absolute", "/to-d"),
        link("d/e/dangling", "../nope"),
        link("hard-link", "d"),
        entry("hard-link-2", Kind::Hard("hard-link"), 0, 0),
    ]
}

/// Returns chains of links: `c0`..`c41` to a file and `dc0`..`dc41` to a directory, of as many
/// links as their number; `q0`..`q6`, each going twice through the one before.
pub(crate) fn chains() -> Vec<Entry> {
    let mut tree = vec![
        entry("d", Kind::Directory, 0o755, 0),
        entry("d/f", Kind::File(5), 0o644, 0),
        entry("c0", Kind::File(3), 0o644, 0),
        entry("dc0", Kind::Directory, 0o755, 0),
        entry("dc0/f", Kind::File(4), 0o644, 0),
        link("q0", "."),
    ];
    for n in 1..=42 {
        tree.push(link(format!("c{n}"), format!("c{}", n - 1)));
        tree.push(link(format!("dc{n}"), format!("dc{}", n - 1)));
    }
    for n in 1..=6 {
        tree.push(link(format!("q{n}"), format!("q{0}/q{0}", n - 1)));
    }
    tree
}

/// Modes in which the triads differ.
pub(crate) const MODES: [u16; 18] =
    [0, 0o100, 0o010, 0o001, 0o111, 0o400, 0o040, 0o004, 0o200, 0o020, 0o002, 0o700, 0o070, 0o007, 0o077, 0o707, 0o755, 0o711];

/// Returns a directory `d<mode>` with contents and a file `f<mode>` of each of [`MODES`].
pub(crate) fn modes() -> Vec<Entry> {
    let mut tree = Vec::new();
    for mode in MODES {
        let dir = format!("d{mode:03o}");
        tree.push(entry(dir.clone(), Kind::Directory, mode, OWNER));
        tree.push(entry(format!("{dir}/i"), Kind::File(0), 0o644, 0));
        tree.push(entry(format!("{dir}/j"), Kind::Directory, 0o755, 0));
        tree.push(link(format!("{dir}/l"), "i"));
        tree.push(link(format!("l{dir}"), dir));
        tree.push(entry(format!("f{mode:03o}"), Kind::File(0), mode, OWNER));
    }
    tree
}

/// Returns directories, sticky or not, with links of several owners.
pub(crate) fn sticky() -> Vec<Entry> {
    let mut tree =
        vec![entry("f", Kind::File(0), 0o644, 0), entry("d", Kind::Directory, 0o755, 0), entry("d/f", Kind::File(0), 0o644, 0)];
    for (name, mode, owner) in
        [("t", 0o1777, 0), ("owned", 0o1777, OWNER), ("closed", 0o1775, 0), ("loose", 0o777, 0), ("other", 0o1003, 0)]
    {
        tree.push(entry(name, Kind::Directory, mode, owner));
        for who in [0, OWNER, 1002] {
            for (what, body) in [("f", "../f"), ("d", "../d"), ("nope", "nope"), ("loop", "loop0")] {
                tree.push(entry(format!("{name}/{what}{who}"), Kind::Link(body.into()), 0o777, who));
            }
        }
    }
    // Links to links in sticky directories: each of them is a trailing one.
    tree.extend([link("to-t-f1002", "t/f1002"), link("to-t-d1002", "t/d1002"), link("to-t-below", "t/d1002/f")]);
    tree
}

impl Entry {
    fn owner(&self, users: Users) -> u32 {
        if users == Users::All { self.owner } else { 0 }
    }
}

/// Makes the tree below the place's directory.
pub(crate) fn lay_into_kernel(place: &Place, tree: &[Entry]) -> io::Result<()> {
    let mode = |mode: u16| Mode::from_raw_mode(mode.into());
    for it in tree {
        let path = place.dir.join(OsStr::from_bytes(&it.path));
        let node = |kind| mknodat(CWD, &path, kind, mode(0o600), 0);
        match &it.kind {
            Kind::Directory => std::fs::create_dir(&path)?,
            Kind::File(size) => {
                node(FileType::RegularFile)?;
                std::fs::File::options().write(true).open(&path)?.set_len(*size)?;
            }
            Kind::Link(body) => symlinkat(body.as_slice(), CWD, &path)?,
            Kind::Fifo => node(FileType::Fifo)?,
            Kind::Socket => node(FileType::Socket)?,
            Kind::Hard(of) => {
                linkat(CWD, place.dir.join(Path::new(of)), CWD, &path, AtFlags::empty())?;
                continue;
            }
        }
        let owner = it.owner(place.users);
        chownat(CWD, &path, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)), AtFlags::SYMLINK_NOFOLLOW)?;
        if !matches!(it.kind, Kind::Link(_)) {
            chmodat(CWD, &path, mode(it.mode), AtFlags::empty())?;
        }
    }
    Ok(())
}

/// Makes the tree below the root of the `Vfs`.
pub(crate) fn lay_into_vfs(vfs: &Vfs, tree: &[Entry], users: Users) -> Result<(), Errno> {
    let context = vfs.context(Credentials::root());
    for it in tree {
        let (dir, name) = parent(&context, &it.path)?;
        let kind = match &it.kind {
            Kind::Directory => NewKind::Directory,
            Kind::File(_) => NewKind::Regular,
            Kind::Link(body) => NewKind::Symlink(body),
            Kind::Fifo => NewKind::Fifo,
            Kind::Socket => NewKind::Socket,
            Kind::Hard(of) => {
                let of = context.lookup_at(pathwalk::At::Cwd, *of, pathwalk::AtFlags::SYMLINK_NOFOLLOW)?;
                internals::link(&of, &dir, Name::new(name)?)?;
                continue;
            }
        };
        let owner = it.owner(users);
        let node = internals::create(&dir, Name::new(name)?, &NewNode::new(kind, it.mode, owner, owner))?;
        if let Kind::File(size) = it.kind {
            internals::set_attributes(&node, &SetAttributes::default().with_size(size))?;
        }
    }
    Ok(())
}

fn parent<'a>(context: &Context, path: &'a [u8]) -> Result<(pathwalk::Handle, &'a [u8]), Errno> {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => Ok((context.lookup(&path[..slash])?, &path[slash + 1..])),
        None => Ok((context.lookup("/")?, path)),
    }
}
