//! The works: what the command does.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::material::{Material, git, run};

type Step = fn(&Path, &Material) -> Result<()>;

/// What of a work is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command, and all around it.
    Whole,
    /// The command alone, which does something before that is not measured.
    Warm,
    /// The time until it begins.
    Start,
}

/// A work: its steps get the directory.
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    pub(crate) kind: Kind,
    /// Done before each measurement in the plain directory, which is new at first.
    pub(crate) reset: Step,
    /// Done by the command before it measures.
    pub(crate) warm: Step,
    /// Done by the command, and measured.
    pub(crate) run: Step,
}

const NOTHING: Step = |_, _| Ok(());

/// What most works have.
const USUAL: Work = Work { name: "", says: "", kind: Kind::Whole, reset: NOTHING, warm: NOTHING, run: NOTHING };

/// A work in the unpacked repository.
const IN_REPOSITORY: Work = Work { reset: repository, ..USUAL };

/// The bytes of the file that is appended to, at full size.
const APPENDED_TO: u64 = 10 << 30;

/// The branch that has some files changed, added and removed.
const OTHER: &str = "other";

pub(crate) const ALL: &[Work] = &[
    Work { name: "start", says: "start to the first instruction", kind: Kind::Start, ..USUAL },
    Work { name: "status", says: "git status in 50,000 files, first", run: status, ..IN_REPOSITORY },
    Work {
        name: "status-warm",
        says: "git status in 50,000 files, again",
        kind: Kind::Warm,
        warm: status,
        run: status,
        ..IN_REPOSITORY
    },
    Work { name: "find-warm", says: "find -size, again", kind: Kind::Warm, warm: find_all, run: find_all, ..IN_REPOSITORY },
    Work { name: "search", says: "grep -r, first", run: search, ..IN_REPOSITORY },
    Work { name: "search-warm", says: "grep -r, again", kind: Kind::Warm, warm: search, run: search, ..IN_REPOSITORY },
    Work {
        name: "checkout",
        says: "git checkout of another branch, 5,000 of 50,000 files",
        reset: |at, made| {
            repository(at, made)?;
            run(git(&at.join("repository")).args(["checkout", "-q", "master"]))
        },
        run: |at, _| run(git(&at.join("repository")).args(["checkout", "-q", OTHER])),
        ..USUAL
    },
    Work {
        name: "unpack",
        says: "tar -x of 20,000 files",
        reset: |at, _| remove(&at.join("tree")),
        run: |at, made| unpack(&made.tree, at),
        ..USUAL
    },
    Work {
        name: "remove",
        says: "rm -rf of 20,000 files",
        reset: |at, made| {
            remove(&at.join("tree"))?;
            unpack(&made.tree, at)
        },
        run: |at, _| run(Command::new("rm").arg("-rf").arg(at.join("tree"))),
        ..USUAL
    },
    Work {
        name: "make",
        says: "make -j2 of 300 C files",
        reset: |at, made| {
            remove(&at.join("sources"))?;
            unpack(&made.sources, at)
        },
        run: |at, _| run(Command::new("make").arg("-j2").arg("-C").arg(at.join("sources"))),
        ..USUAL
    },
    Work { name: "cargo", says: "cargo build of a workspace", reset: workspace, run: cargo_build, ..USUAL },
    Work {
        name: "write",
        says: "1 GiB written and synced",
        reset: |at, _| remove(&at.join("data")),
        run: |at, made| {
            let (mut file, piece) = (File::create(at.join("data"))?, vec![3; 1 << 20]);
            (0..2 * (made.size.data >> 20)).try_for_each(|_| file.write_all(&piece))?;
            Ok(file.sync_all()?)
        },
        ..USUAL
    },
    Work {
        name: "append",
        says: "1,000 appends of 4 KiB to a file of 10 GiB without data",
        reset: |at, made| {
            remove(&at.join("data"))?;
            Ok(File::create(at.join("data"))?.set_len(APPENDED_TO / made.size.of as u64)?)
        },
        run: |at, _| {
            let mut file = OpenOptions::new().append(true).open(at.join("data"))?;
            (0..1000).try_for_each(|_| file.write_all(&[7; 4096]))?;
            Ok(file.sync_all()?)
        },
        ..USUAL
    },
];

/// Returns the work of a name.
pub(crate) fn find(name: &str) -> Result<&'static Work> {
    ALL.iter().find(|work| work.name == name).ok_or_else(|| format!("there is no work {name}").into())
}

fn unpack(archive: &Path, at: &Path) -> Result<()> {
    run(Command::new("tar").arg("-C").arg(at).arg("-xf").arg(archive))
}

pub(crate) fn remove(path: &Path) -> Result<()> {
    let is_dir = fs::symlink_metadata(path).is_ok_and(|of| of.is_dir());
    match if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Unpacks the repository, unless it is there, and makes the other branch.
fn repository(at: &Path, made: &Material) -> Result<()> {
    let dir = at.join("repository");
    if dir.exists() {
        return Ok(());
    }
    unpack(&made.repository, at)?;
    let git = |arguments: &[&str]| run(git(&dir).args(arguments));
    git(&["branch", "-M", "master"])?;
    git(&["checkout", "-q", "-b", OTHER])?;
    for number in (0..made.size.tracked).step_by(10) {
        let file = dir.join(format!("d{:04}", number / 100)).join(format!("f{number:06}.txt"));
        match number % 30 {
            0 => fs::remove_file(file)?,
            10 => fs::write(file, "changed\n")?,
            _ => fs::write(file.with_extension("new"), "added\n")?,
        }
    }
    git(&["add", "-A"])?;
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", OTHER])?;
    git(&["checkout", "-q", "master"])?;
    status(at, made)
}

fn status(at: &Path, _: &Material) -> Result<()> {
    run(git(&at.join("repository")).arg("status"))
}

fn find_all(at: &Path, _: &Material) -> Result<()> {
    run(Command::new("find").arg(at.join("repository")).args(["-size", "+1c"]))
}

/// Searches for a text that is in no file.
fn search(at: &Path, _: &Material) -> Result<()> {
    let status = Command::new("grep").args(["-r", "zzz", "--exclude-dir=.git"]).arg(at.join("repository")).status()?;
    if status.code() == Some(1) { Ok(()) } else { Err(format!("grep: {status}").into()) }
}

/// Makes a workspace of three crates, which need no others.
fn workspace(at: &Path, _: &Material) -> Result<()> {
    let dir = at.join("workspace");
    remove(&dir)?;
    let names = ["one", "two", "three"];
    fs::create_dir(&dir)?;
    fs::write(dir.join("Cargo.toml"), format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n"))?;
    for name in names {
        fs::create_dir_all(dir.join(name).join("src"))?;
        let package = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fs::write(dir.join(name).join("Cargo.toml"), package)?;
        let functions: String =
            (0..200).map(|n| format!("pub fn f{n}(x: &str) -> String {{ format!(\"{{x}} {n}\") }}\n")).collect();
        fs::write(dir.join(name).join("src/lib.rs"), functions)?;
    }
    Ok(())
}

fn cargo_build(at: &Path, _: &Material) -> Result<()> {
    run(Command::new("cargo").args(["build", "--offline", "--quiet"]).current_dir(at.join("workspace")).env_remove("RUSTFLAGS"))
}
