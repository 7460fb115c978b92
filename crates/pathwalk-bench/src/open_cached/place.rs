//! The files that are opened: hot ones, which were looked up before, and cold ones, which were not.

use std::ffi::CString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::machine::{Doing, SetUpError, escaped, file_system_at};
use crate::walktrees::trees::drop_kernel_caches;

/// The number of files in one directory.
const FILES_IN_ONE: usize = 64;
/// The number of hot files, which are opened again and again.
const HOT: usize = 128;

/// A temporary directory of empty files on a real file system. It is removed when this is dropped.
pub(super) struct Place {
    dir: tempfile::TempDir,
    cold: usize,
}

/// One file, by the names that the contestants use.
pub(super) struct Target {
    /// The path beneath the root of the `Vfs`.
    pub(super) inside: String,
    /// The path for the kernel.
    pub(super) outside: PathBuf,
    /// The path for raw system calls.
    pub(super) raw: CString,
}

impl Place {
    /// Makes the files in `dir`, with at least `cold` cold files.
    pub(super) fn make(dir: &Path, cold: usize) -> Result<Place, SetUpError> {
        let cold = (2 * cold).next_multiple_of(FILES_IN_ONE);
        let temp = tempfile::Builder::new().prefix("pathwalk-open-").tempdir_in(dir);
        let place = Place { dir: temp.doing(|| format!("making a directory in \"{}\"", escaped(dir)))?, cold };
        for number in 0..HOT + cold {
            let path = place.dir.path().join(&name(number)[1..]);
            if number % FILES_IN_ONE == 0 {
                let parent = path.parent().unwrap_or(place.dir.path());
                fs::create_dir_all(parent).doing(|| format!("making the directory \"{}\"", escaped(parent)))?;
            }
            File::create(&path).doing(|| format!("making the file \"{}\"", escaped(&path)))?;
        }
        Ok(place)
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn hot(&self) -> Vec<Target> {
        (0..HOT).map(|number| self.target(number)).collect()
    }

    /// Returns `count` cold files, all different, in an order that differs from round to round.
    pub(super) fn cold(&self, count: usize, random: &mut fastrand::Rng) -> Vec<Target> {
        let mut numbers: Vec<usize> = (HOT..HOT + self.cold).collect();
        random.shuffle(&mut numbers);
        numbers.truncate(count);
        numbers.into_iter().map(|number| self.target(number)).collect()
    }

    fn target(&self, number: usize) -> Target {
        let inside = name(number);
        let outside = self.dir.path().join(&inside[1..]);
        // Files were made at this path, so it contains no NUL.
        let raw = CString::new(outside.as_os_str().as_encoded_bytes()).unwrap_or_default();
        Target { inside, outside, raw }
    }

    /// Drops the kernel's caches, as far as this process may.
    pub(super) fn cool(&self) -> Result<(), String> {
        drop_kernel_caches().map_err(|error| error.to_string())
    }

    /// Returns the kernel's name of the file system, from the mount that the directory is on.
    pub(super) fn file_system(&self) -> String {
        file_system_at(self.dir.path()).unwrap_or_else(|| "unknown".into())
    }
}

fn name(number: usize) -> String {
    format!("/d{}/f{number}", number / FILES_IN_ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_there_and_differ() {
        let temp = tempfile::tempdir().unwrap();
        let place = Place::make(temp.path(), 100).unwrap();
        let hot = place.hot();
        let cold = place.cold(100, &mut fastrand::Rng::with_seed(1));
        assert_eq!((hot.len(), cold.len()), (HOT, 100));
        let mut all: Vec<_> = hot.iter().chain(&cold).map(|target| &target.outside).collect();
        assert!(all.iter().all(|path| path.is_file()));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), HOT + 100);
        assert_ne!(place.file_system(), "");
        let path = place.path().to_owned();
        drop(place);
        assert!(!path.exists());
        let error = Place::make(&temp.path().join("none"), 1).err().unwrap().to_string();
        assert!(error.contains("none"), "{error}");
    }
}
