//! A program by a thread.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use landlock::{ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr};
use pathwalk::security::Rights;
use pathwalk::{FileType, OpenFlags, RenameFlags};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io;

use super::Outcome;
use super::program::{Answer, DIRECTORIES, FILES, LINK, Program, Step, is_special};

/// Returns why there is no Landlock with all rights that are compared, if so.
pub(crate) fn is_there() -> Result<(), String> {
    let handled = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(ABI::V3));
    handled.and_then(Ruleset::create).map(drop).map_err(|why| why.to_string())
}

pub(crate) fn run(program: &Program, dir: &Path) -> Outcome {
    std::fs::create_dir(dir).unwrap();
    let root = fs::open(dir, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    for dir in DIRECTORIES {
        fs::mkdirat(&root, dir, Mode::from(0o755)).unwrap();
    }
    for file in FILES {
        let at = dir.join(file);
        std::fs::write(&at, "data").unwrap();
        std::fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::hard_link(dir.join(LINK.0), dir.join(LINK.1)).unwrap();
    let steps = program.steps.clone();
    // The restriction ends with the thread.
    let answers =
        std::thread::scope(|scope| scope.spawn(|| steps.iter().map(|step| answer(root.as_fd(), step)).collect()).join().unwrap());
    let mut tree = Vec::new();
    collect(dir, dir, &mut tree);
    tree.sort();
    Outcome { answers, tree }
}

fn collect(top: &Path, dir: &Path, tree: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::symlink_metadata(&path).unwrap());
        let kind = FileType::from_mode(mode).unwrap();
        tree.push(format!("{} {kind:?}", path.strip_prefix(top).unwrap().display()));
        if kind == FileType::Directory {
            collect(top, &path, tree);
        }
    }
}

fn answer(root: BorrowedFd<'_>, step: &Step) -> Answer {
    let raw = |errno: io::Errno| errno.raw_os_error();
    if let Step::Open { path, flags } = step {
        let path = if flags.contains(OpenFlags::TMPFILE) { path.rsplit_once('/').map_or(".", |(dir, _)| dir) } else { path };
        let found = fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| FileType::from_mode(found.st_mode).is_some_and(is_special)) {
            return Ok(None);
        }
        let file = fs::openat(
            root,
            path,
            open_flags(*flags),
            Mode::from(if flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE) { 0o644 } else { 0 }),
        )
        .map_err(raw)?;
        return Ok(flags.contains(OpenFlags::WRITE).then(|| fs::ftruncate(&file, 1).map_err(raw)));
    }
    done(root, step).map(|()| None).map_err(raw)
}

fn open_flags(flags: OpenFlags) -> OFlags {
    let access = match (flags.contains(OpenFlags::READ), flags.contains(OpenFlags::WRITE)) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    let pairs = [
        (OpenFlags::CREATE, OFlags::CREATE),
        (OpenFlags::TRUNCATE, OFlags::TRUNC),
        (OpenFlags::TMPFILE, OFlags::TMPFILE),
        (OpenFlags::DIRECTORY, OFlags::DIRECTORY),
        (OpenFlags::PATH, OFlags::PATH),
    ];
    let set = pairs.iter().filter(|(ours, _)| flags.contains(*ours));
    set.fold(access | OFlags::CLOEXEC, |all, (_, theirs)| all | *theirs)
}

fn done(root: BorrowedFd<'_>, step: &Step) -> io::Result<()> {
    let kind_of = |kind: FileType| fs::FileType::from_raw_mode(u32::from(kind.mode_bits()));
    match step {
        Step::Restrict { handled, rules } => {
            restrict(root, *handled, rules);
            Ok(())
        }
        Step::Open { .. } => unreachable!("the caller opens"),
        Step::Mkdir(path) => fs::mkdirat(root, *path, Mode::from(0o755)),
        Step::Mknod(path, kind) => fs::mknodat(root, *path, kind_of(*kind), Mode::from(0o644), 0),
        Step::Symlink(path) => fs::symlinkat("nowhere", root, *path),
        Step::Unlink(path) => fs::unlinkat(root, *path, AtFlags::empty()),
        Step::Rmdir(path) => fs::unlinkat(root, *path, AtFlags::REMOVEDIR),
        Step::Rename(from, to, how) => fs::renameat_with(root, *from, root, *to, rename_flags(*how)),
        Step::Link(from, to) => fs::linkat(root, *from, root, *to, AtFlags::empty()),
        Step::Truncate(path) => truncate(root, path),
        Step::Execute(path) => execute(root, path),
    }
}

fn rename_flags(how: RenameFlags) -> fs::RenameFlags {
    let mut flags = fs::RenameFlags::empty();
    flags.set(fs::RenameFlags::NOREPLACE, how.contains(RenameFlags::NOREPLACE));
    flags.set(fs::RenameFlags::EXCHANGE, how.contains(RenameFlags::EXCHANGE));
    flags
}

fn restrict(root: BorrowedFd<'_>, handled: Rights, rules: &[(&str, Rights)]) {
    let access = |rights: Rights| BitFlags::<AccessFs>::from_bits_truncate(rights.bits().into());
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(access(handled)).unwrap();
    let mut ruleset = ruleset.create().unwrap();
    for (place, rights) in rules {
        let Some(at) = place_of(root, place) else { continue };
        let found = fs::statat(&at, "", AtFlags::EMPTY_PATH).unwrap();
        let is_directory = FileType::from_mode(found.st_mode) == Some(FileType::Directory);
        if is_directory || Rights::OF_FILES.contains(*rights) {
            ruleset = ruleset.add_rule(PathBeneath::new(at, access(*rights))).unwrap();
        }
    }
    ruleset.restrict_self().unwrap();
}

fn place_of(root: BorrowedFd<'_>, place: &str) -> Option<OwnedFd> {
    let place = if place.is_empty() { "." } else { place };
    fs::openat(root, place, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Sets the size of a file. There is no `truncateat`, so the path goes through `/proc`.
fn truncate(root: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{}/{path}", root.as_raw_fd())).unwrap();
    // SAFETY: the path ends with a NUL and outlives the call, which writes to none of our memory.
    answered(unsafe { libc::syscall(libc::SYS_truncate, path.as_ptr(), 2) })
}

/// Calls `execveat` so that it only checks: with `AT_EXECVE_CHECK`.
fn execute(root: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    const CHECK: libc::c_int = 0x10000;
    let path = std::ffi::CString::new(path).unwrap();
    let none = [std::ptr::null::<libc::c_char>()];
    // SAFETY: path and lists are terminated and outlive the call, which writes to none of our
    // memory and, with this flag, does not return anew.
    answered(unsafe { libc::syscall(libc::SYS_execveat, root.as_raw_fd(), path.as_ptr(), none.as_ptr(), none.as_ptr(), CHECK) })
}

fn answered(result: libc::c_long) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap()) }
}
