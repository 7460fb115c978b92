//! The trees that are walked: a computed tree, or the same names as real files of this machine.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use pathwalk::{AtFlags, FileSystem, MountFlags};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_synthfs::{Shape, SynthFs};
use rustix::fs::{Mode, OFlags};

use super::paths::Paths;
use crate::kernel;
use crate::machine::{Doing, SetUpError, escaped};

/// The place of the trees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trees {
    /// No place: the trees are computed.
    Synth,
    /// Below this directory of the machine.
    Host(PathBuf),
}

impl Trees {
    /// Opens a file system for the engine. Returns it with the mount flags that it leaves to the
    /// engine.
    pub(crate) fn open(&self, shape: Shape) -> Result<(Box<dyn FileSystem>, MountFlags), SetUpError> {
        match self {
            Trees::Synth => Ok((Box::new(SynthFs::new(shape)), MountFlags::empty())),
            Trees::Host(dir) => {
                let fs = HostFs::open(dir)
                    .doing(|| format!("opening \"{}\" for pathwalk", escaped(dir)))?
                    .with_coherence(Coherence::Frozen);
                let flags = fs.mount_flags();
                Ok((Box::new(fs), flags))
            }
        }
    }
}

/// Opens the root of the trees for the kernel. With a descriptor, the kernel walks as many
/// components as the engine.
pub(crate) fn descriptor(dir: &Path) -> Result<OwnedFd, SetUpError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(dir, flags, Mode::empty()).doing(|| format!("opening the directory \"{}\"", escaped(dir)))
}

/// Makes the trees below `dir`, which is made, too. The files are empty, since `stat` reads no
/// data. Existing files stay. `made` is called with the number of files so far.
pub fn make(dir: &Path, shape: Shape, made: &mut dyn FnMut(u64)) -> Result<(), SetUpError> {
    let mut count = 0;
    let make_directory = |path: &Path| {
        let outcome = fs::create_dir_all(path);
        outcome.doing(|| format!("making the directory \"{}\"", escaped(path)))
    };
    make_directory(dir)?;
    for thread in 0..shape.threads() {
        let thread = dir.join(format!("t{thread}"));
        for directory in 0..shape.directories_each() {
            let directory = thread.join(format!("d{directory}"));
            make_directory(&directory)?;
            for file in 0..shape.files_each() {
                let file = directory.join(format!("f{file}"));
                let open = File::options().write(true).create(true).truncate(false).open(&file);
                open.doing(|| format!("making the file \"{}\"", escaped(&file)))?;
            }
            count += u64::from(shape.files_each());
            made(count);
        }
    }
    Ok(())
}

/// Checks that the trees exist: each thread's first file and its last.
pub(crate) fn check(dir: &Path, shape: Shape) -> Result<(), SetUpError> {
    let root = descriptor(dir)?;
    for thread in 0..shape.threads() {
        let mut paths = Paths::new(thread);
        for (directory, file) in [(0, 0), (shape.directories_each() - 1, shape.files_each() - 1)] {
            paths.enter(directory);
            paths.set(file);
            let found = kernel::fstatat(root.as_fd(), paths.relative(), AtFlags::empty());
            found.doing(|| {
                let path = dir.join(paths.relative().to_string_lossy().as_ref());
                let (t, d, f) = (shape.threads(), shape.directories_each(), shape.files_each());
                let escaped = escaped(&path);
                format!("looking for \"{escaped}\", since {t} × {d} × {f} files are to be walked; --make makes what is missing")
            })?;
        }
    }
    Ok(())
}

/// Drops all names, inodes and pages that the kernel can drop from its caches. Requires root.
/// Source: `drop_caches` in `proc(5)`.
pub(crate) fn drop_kernel_caches() -> io::Result<()> {
    // Data that was not written yet cannot be dropped.
    rustix::fs::sync();
    File::options().write(true).open("/proc/sys/vm/drop_caches")?.write_all(b"3\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_made_once_and_checked() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("below/it");
        let shape = Shape::new(2, 3, 4).unwrap();
        let error = check(&dir, shape).unwrap_err().to_string();
        assert!(error.contains("below/it"), "{error}");
        for _ in 0..2 {
            let mut made = 0;
            make(&dir, shape, &mut |count| made = count).unwrap();
            assert_eq!(made, shape.files());
        }
        check(&dir, shape).unwrap();
        assert_eq!(fs::read_dir(dir.join("t1/d2")).unwrap().count(), 4);
        let error = check(&dir, Shape::new(2, 3, 5).unwrap()).unwrap_err().to_string();
        assert!(error.contains("t0/d2/f4") && error.contains("2 × 3 × 5") && error.contains("--make"), "{error}");
        fs::write(dir.join("file"), "").unwrap();
        assert!(make(&dir.join("file"), shape, &mut |_| ()).is_err());
    }
}
