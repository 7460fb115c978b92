//! A copy of a tree on the disk of temporary files, by `cp -a --reflink=auto`, in the place of a
//! fork; and a commit onto that tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pathwalk::{Credentials, Vfs};
use pathwalk_branch::Branches;
use pathwalk_hostfs::{Coherence, HostFs};

use crate::{COMMITTED, IN_ONE, MADE, Result, Size, fill, median, shown, timed};

/// The times of work on a copy, one a round, in milliseconds.
#[derive(Default)]
pub(crate) struct Copied {
    pub(crate) copy: Vec<f64>,
    pub(crate) first: Vec<f64>,
    pub(crate) make: Vec<f64>,
    pub(crate) remove: Vec<f64>,
    pub(crate) back: Vec<f64>,
    /// The commit of a branch of the tree onto the tree.
    commit: Vec<f64>,
}

/// A tree on the disk.
pub(crate) struct Tree {
    disk: tempfile::TempDir,
    path: PathBuf,
}

impl Tree {
    pub(crate) fn new(size: &Size) -> Result<Tree> {
        let disk = tempfile::tempdir()?;
        let path = disk.path().join("tree");
        fs::create_dir(&path)?;
        fill(size.files, |name| fs::create_dir(path.join(name)), |name| fs::write(path.join(name), "text"))?;
        Ok(Tree { disk, path })
    }

    /// Measures one round.
    pub(crate) fn measure(&self, size: &Size, into: &mut Copied) -> Result<()> {
        let copy = self.disk.path().join("copy");
        into.copy.push(timed(1, || copied(&self.path, &copy))?);
        into.first.push(timed(1, || fs::write(copy.join("0/0"), "new"))?);
        fs::create_dir(copy.join("made"))?;
        into.make.push(timed(1, || (0..MADE).try_for_each(|number| fs::write(copy.join(format!("made/{number}")), "")))?);
        let changes = copy.join("changes");
        fs::create_dir(&changes)?;
        (0..COMMITTED).try_for_each(|number| fs::write(changes.join(number.to_string()), "text"))?;
        into.back.push(timed(1, || copied(&changes, &self.path.join("changes")))?);
        fs::remove_dir_all(self.path.join("changes"))?;
        let dirs = size.files / IN_ONE;
        into.remove.push(timed(1, || (0..dirs).try_for_each(|dir| fs::remove_dir_all(copy.join(dir.to_string()))))?);
        fs::remove_dir_all(&copy)?;
        into.commit.push(self.committed()?);
        for times in [&mut into.copy, &mut into.first, &mut into.make, &mut into.back, &mut into.remove, &mut into.commit] {
            times.last_mut().into_iter().for_each(|time| *time /= 1e3);
        }
        Ok(())
    }

    /// Returns the microseconds of a commit onto the tree.
    fn committed(&self) -> Result<f64> {
        let host = HostFs::open_writable(&self.path)?.with_coherence(Coherence::Exclusive);
        let branches = Branches::new(Vfs::builder().budget(256 << 20).build(host)?.context(Credentials::root()))?;
        let work = shown(branches.fork(None, "work")?)?;
        work.create_dir("/changes")?;
        (0..COMMITTED).try_for_each(|number| work.write(format!("/changes/{number}"), "text"))?;
        let time = timed(1, || branches.commit("work"))?;
        fs::remove_dir_all(self.path.join("changes"))?;
        Ok(time)
    }
}

impl Copied {
    pub(crate) fn print_commit(&self) {
        println!("\ncommit of 1,000 new files onto the tree on the disk, synced: {} ms", median(&self.commit));
    }
}

fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    let status = Command::new("cp").args(["-a", "--reflink=auto"]).arg(from).arg(to).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other("cp failed")) }
}
