//! Programs: what is restricted, and what is then tried.

use fastrand::Rng;
use pathwalk::security::Rights;
use pathwalk::{FileType, OpenFlags, RenameFlags};

/// The error number, or whether an open file could be cut off afterwards.
pub(crate) type Answer = Result<Option<Result<(), i32>>, i32>;

/// The directories of the tree; each is in the one before it that is a prefix.
pub(crate) const DIRECTORIES: [&str; 6] = ["d", "d/e", "d/e/f", "g", "g/h", "i"];

/// The files of the tree.
pub(crate) const FILES: [&str; 5] = ["d/x", "d/e/y", "d/e/f/v", "g/z", "w"];

/// A link in the tree.
pub(crate) const LINK: (&str, &str) = ("d/e/y", "g/s");

/// Names that are free at first.
const FREE: [&str; 6] = ["n", "d/n", "d/e/n", "g/n", "g/h/n", "d/e/f/n"];

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Restrict { handled: Rights, rules: Vec<(&'static str, Rights)> },
    Open { path: &'static str, flags: OpenFlags },
    Mkdir(&'static str),
    Mknod(&'static str, FileType),
    Symlink(&'static str),
    Unlink(&'static str),
    Rmdir(&'static str),
    Rename(&'static str, &'static str, RenameFlags),
    Link(&'static str, &'static str),
    Truncate(&'static str),
    Execute(&'static str),
}

impl Step {
    pub(crate) fn verb(&self) -> String {
        let text = format!("{self:?}");
        text.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_lowercase()
    }
}

/// A program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
}

impl Program {
    pub(crate) fn draw(rng: &mut Rng) -> Program {
        let mut steps = vec![restriction(rng)];
        for _ in 0..rng.usize(5..25) {
            steps.push(if rng.u8(..12) == 0 { restriction(rng) } else { step(rng) });
        }
        Program { steps }
    }
}

fn rights(rng: &mut Rng) -> Rights {
    match rng.u8(..4) {
        0 => Rights::all(),
        1 => Rights::from_bits_truncate(rng.u16(..)),
        // Few are left out, so that much is allowed.
        _ => Rights::from_bits_truncate(rng.u16(..) | rng.u16(..) | rng.u16(..)),
    }
}

fn restriction(rng: &mut Rng) -> Step {
    let handled = rights(rng) | Rights::WRITE_FILE;
    let mut rules = Vec::new();
    for _ in 0..rng.usize(..7) {
        let (place, kept) = match rng.u8(..8) {
            0 => ("", handled),
            1 => (FILES[rng.usize(..FILES.len())], handled & Rights::OF_FILES),
            _ => (DIRECTORIES[rng.usize(..DIRECTORIES.len())], handled),
        };
        let kept = kept & rights(rng);
        if !kept.is_empty() {
            rules.push((place, kept));
        }
    }
    Step::Restrict { handled, rules }
}

fn path(rng: &mut Rng) -> &'static str {
    match rng.u8(..8) {
        0..3 => FREE[rng.usize(..FREE.len())],
        3..5 => DIRECTORIES[rng.usize(..DIRECTORIES.len())],
        5 => LINK.1,
        _ => FILES[rng.usize(..FILES.len())],
    }
}

fn step(rng: &mut Rng) -> Step {
    const KINDS: [FileType; 4] = [FileType::Regular, FileType::Fifo, FileType::Socket, FileType::CharDevice];
    let flags = [
        OpenFlags::READ,
        OpenFlags::WRITE,
        OpenFlags::READ | OpenFlags::WRITE,
        OpenFlags::WRITE | OpenFlags::CREATE,
        OpenFlags::WRITE | OpenFlags::TRUNCATE,
        OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::TRUNCATE,
        OpenFlags::WRITE | OpenFlags::TMPFILE,
        OpenFlags::READ | OpenFlags::DIRECTORY,
        OpenFlags::PATH,
    ];
    let hows = [RenameFlags::empty(), RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
    let at = path(rng);
    match rng.u8(..16) {
        0..4 => Step::Open { path: at, flags: flags[rng.usize(..flags.len())] },
        4 => Step::Mkdir(at),
        5 => Step::Mknod(at, KINDS[rng.usize(..KINDS.len())]),
        6 => Step::Symlink(at),
        7 => Step::Unlink(at),
        8 => Step::Rmdir(at),
        9..13 => Step::Rename(at, path(rng), hows[rng.usize(..hows.len())]),
        13 => Step::Link(at, path(rng)),
        14 => Step::Truncate(at),
        _ => Step::Execute(at),
    }
}

/// Returns whether an open may wait or reach a driver, so that it is left out.
pub(crate) fn is_special(kind: FileType) -> bool {
    !matches!(kind, FileType::Regular | FileType::Directory | FileType::Symlink)
}
