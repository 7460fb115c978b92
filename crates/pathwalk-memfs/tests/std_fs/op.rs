//! One operation, and what it comes to by either.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pathwalk::{At, Attributes, Context, FileType, RenameFlags};

use super::TOP;
use super::tree;

/// Paths in a small namespace, below [`TOP`]; none leads above it.
const PATHS: [&str; 22] = [
    "a", "b", "c", "d", "a/x", "b/x", "a/b", "b/a", "a/b/c", "c/a/b", "a/x/y/z", "b/y/", "a/", "a/x/", "c/", "a/.", "b/x/.",
    "./a//b", "a/../b", "b/x/../y", "c/x", "d/x",
];

/// What links lead to; none leads above the directory that the link is in.
const BODIES: [&str; 8] = ["x", "a", "b", "b/x", "none", ".", "c", "a/b/"];

const CONTENTS: [&[u8]; 4] = [b"", b"text", b"not \xff text", &[b'x'; 100_000]];

pub(super) const MODES: [u16; 5] = [0o700, 0o755, 0o777, 0o4755, 0o1770];

/// How many kinds of operations there are.
pub(super) const KINDS: usize = 19;

/// SplitMix64.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Returns a path for what is done to all of it, in place of the one that differs. The standard
/// library follows a link to what the call itself makes or removes on the way as it is by then; the
/// context follows it as it was.
fn for_all(path: &'static str) -> &'static str {
    if path == "a/../b" { "a/b" } else { path }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Read(&'static str),
    ReadToString(&'static str),
    Write(&'static str, usize),
    Copy(&'static str, &'static str),
    CreateDir(&'static str),
    CreateDirAll(&'static str),
    RemoveFile(&'static str),
    RemoveDir(&'static str),
    RemoveDirAll(&'static str),
    Exists(&'static str),
    Canonicalize(&'static str),
    Metadata(&'static str),
    SymlinkMetadata(&'static str),
    HardLink(&'static str, &'static str),
    SetPermissions(&'static str, u16),
    ReadDir(&'static str),
    Walk(&'static str),
    /// Of what a [`Context`] has under another signature.
    Symlink(&'static str, &'static str),
    Rename(&'static str, &'static str),
}

/// What an operation comes to, in words; or the kind of its error.
pub(super) type Answer = Result<String, ErrorKind>;

/// Returns what is compared of attributes. Sizes of directories are each file system's own.
fn told(kind: char, mode: u32, nlink: u64, size: u64) -> String {
    match kind {
        'd' => format!("d {mode:o}"),
        _ => format!("{kind} {mode:o} {nlink} {size}"),
    }
}

pub(super) fn letter(kind: FileType) -> char {
    match kind {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Regular => 'f',
        other => panic!("{other:?} was not made"),
    }
}

pub(super) fn letter_of(kind: fs::FileType) -> char {
    match (kind.is_dir(), kind.is_symlink(), kind.is_file()) {
        (true, ..) => 'd',
        (_, true, _) => 'l',
        (.., true) => 'f',
        _ => panic!("{kind:?} was not made"),
    }
}

pub(super) fn ours(of: &Attributes) -> String {
    told(letter(of.kind), of.mode.into(), of.nlink.into(), of.size)
}

pub(super) fn theirs(of: &fs::Metadata) -> String {
    told(letter_of(of.file_type()), of.mode() & 0o7777, of.nlink(), of.size())
}

fn done<E>(result: Result<(), E>) -> Result<String, E> {
    result.map(|()| String::new())
}

fn lines(mut lines: Vec<String>) -> String {
    lines.sort();
    lines.join("\n")
}

impl Op {
    pub(super) fn random(dice: &mut Dice) -> Op {
        let (path, other) = (dice.of(&PATHS), dice.of(&PATHS));
        match dice.below(26) {
            0 => Op::Read(path),
            1 => Op::ReadToString(path),
            2..4 => Op::Write(path, dice.below(CONTENTS.len())),
            4 => Op::Copy(path, other),
            5..7 => Op::CreateDir(path),
            7..9 => Op::CreateDirAll(for_all(path)),
            9 => Op::RemoveFile(path),
            10 => Op::RemoveDir(path),
            11 => Op::RemoveDirAll(for_all(path)),
            12 => Op::Exists(path),
            13..15 => Op::Canonicalize(path),
            15 => Op::Metadata(path),
            16 => Op::SymlinkMetadata(path),
            17 => Op::HardLink(path, other),
            18 => Op::SetPermissions(path, dice.of(&MODES)),
            19 => Op::ReadDir(path),
            20 => Op::Walk(path),
            21..24 => Op::Symlink(dice.of(&BODIES), path),
            _ => Op::Rename(path, other),
        }
    }

    /// Returns what it is, without what it is done to.
    pub(super) fn name(&self) -> String {
        let told = format!("{self:?}");
        told.split('(').next().unwrap_or_default().to_owned()
    }

    pub(super) fn by_context(&self, context: &Context) -> Answer {
        let at = |path: &str| format!("/{TOP}/{path}");
        let answer = match *self {
            Op::Read(path) => context.read(at(path)).map(|bytes| bytes.escape_ascii().to_string()),
            Op::ReadToString(path) => context.read_to_string(at(path)),
            Op::Write(path, what) => done(context.write(at(path), CONTENTS[what])),
            Op::Copy(from, to) => context.copy(at(from), at(to)).map(|bytes| bytes.to_string()),
            Op::CreateDir(path) => done(context.create_dir(at(path))),
            Op::CreateDirAll(path) => done(context.create_dir_all(at(path))),
            Op::RemoveFile(path) => done(context.remove_file(at(path))),
            Op::RemoveDir(path) => done(context.remove_dir(at(path))),
            Op::RemoveDirAll(path) => done(context.remove_dir_all(at(path))),
            Op::Exists(path) => context.exists(at(path)).map(|is| is.to_string()),
            Op::Canonicalize(path) => context.canonicalize(at(path)).map(|path| path.display().to_string()),
            Op::Metadata(path) => context.metadata(at(path)).map(|of| ours(&of)),
            Op::SymlinkMetadata(path) => context.symlink_metadata(at(path)).map(|of| ours(&of)),
            Op::HardLink(from, to) => done(context.hard_link(at(from), at(to))),
            Op::SetPermissions(path, mode) => done(context.set_permissions(at(path), mode)),
            Op::ReadDir(path) => context.read_dir(at(path)).and_then(|entries| {
                let line = |entry: pathwalk::DirEntry| {
                    let of = entry.metadata(context)?;
                    assert_eq!((of.kind, of.ino), (entry.kind(), entry.ino()));
                    Ok(format!("{} {}", entry.path().display(), ours(&of)))
                };
                Ok(lines(entries.map(|entry| entry.and_then(line)).collect::<Result<_, _>>()?))
            }),
            Op::Walk(path) => tree::walked(context, &at(path)).map(lines),
            Op::Symlink(body, path) => return kind(done(context.symlink(body, at(path)))),
            Op::Rename(from, to) => {
                return kind(done(context.renameat(At::Cwd, at(from), At::Cwd, at(to), RenameFlags::empty())));
            }
        };
        kind(answer)
    }

    pub(super) fn by_std(&self, root: &Path) -> Answer {
        let at = |path: &str| PathBuf::from(format!("{}/{TOP}/{path}", root.display()));
        let shown = |path: PathBuf| format!("/{}", path.strip_prefix(root).unwrap().display());
        kind(match *self {
            Op::Read(path) => fs::read(at(path)).map(|bytes| bytes.escape_ascii().to_string()),
            Op::ReadToString(path) => fs::read_to_string(at(path)),
            Op::Write(path, what) => done(fs::write(at(path), CONTENTS[what])),
            Op::Copy(from, to) => fs::copy(at(from), at(to)).map(|bytes| bytes.to_string()),
            Op::CreateDir(path) => done(fs::create_dir(at(path))),
            Op::CreateDirAll(path) => done(fs::create_dir_all(at(path))),
            Op::RemoveFile(path) => done(fs::remove_file(at(path))),
            Op::RemoveDir(path) => done(fs::remove_dir(at(path))),
            Op::RemoveDirAll(path) => done(fs::remove_dir_all(at(path))),
            Op::Exists(path) => fs::exists(at(path)).map(|is| is.to_string()),
            Op::Canonicalize(path) => fs::canonicalize(at(path)).map(shown),
            Op::Metadata(path) => fs::metadata(at(path)).map(|of| theirs(&of)),
            Op::SymlinkMetadata(path) => fs::symlink_metadata(at(path)).map(|of| theirs(&of)),
            Op::HardLink(from, to) => done(fs::hard_link(at(from), at(to))),
            Op::SetPermissions(path, mode) => done(fs::set_permissions(at(path), fs::Permissions::from_mode(mode.into()))),
            Op::ReadDir(path) => fs::read_dir(at(path)).and_then(|entries| {
                let line = |entry: fs::DirEntry| tree::line_on_host(&entry, root);
                Ok(lines(entries.map(|entry| entry.and_then(line)).collect::<io::Result<_>>()?))
            }),
            Op::Walk(path) => tree::walked_on_host(&at(path), root).map(lines),
            Op::Symlink(body, path) => done(symlink(body, at(path))),
            Op::Rename(from, to) => done(fs::rename(at(from), at(to))),
        })
    }
}

/// Returns the kind of an error of either.
fn kind<E: Into<io::Error>>(answer: Result<String, E>) -> Answer {
    answer.map_err(|error| error.into().kind())
}
