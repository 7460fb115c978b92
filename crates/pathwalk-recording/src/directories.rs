//! The directories that processes are in and that descriptors stand for: absolute paths, each
//! stored once.
//!
//! A relative path is joined as text. Links and `..` in it are resolved when it is walked again, as
//! the kernel did.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use pathwalk::limits::PATH_MAX;
use rapidhash::fast::RandomState;

/// A directory, by its number, and how reliable it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A directory that the recording names, or that follows from what it contains.
    Certain(u32),
    /// A directory that is right if the recording shows all operations on descriptors.
    IfFollowed(u32),
}

impl Place {
    pub(crate) fn directory(self) -> u32 {
        match self {
            Place::Certain(directory) | Place::IfFollowed(directory) => directory,
        }
    }

    /// Returns another directory with the same reliability.
    pub(crate) fn with(self, directory: u32) -> Place {
        match self {
            Place::Certain(_) => Place::Certain(directory),
            Place::IfFollowed(_) => Place::IfFollowed(directory),
        }
    }

    /// Returns the same directory, marked as right only if descriptors are followed.
    pub(crate) fn if_followed(self) -> Place {
        Place::IfFollowed(self.directory())
    }
}

#[derive(Default)]
pub(crate) struct Directories {
    paths: Vec<Box<[u8]>>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    room: Vec<u8>,
}

impl Directories {
    /// Returns the number of an absolute path.
    pub(crate) fn number_of(&mut self, path: &[u8]) -> u32 {
        let Directories { paths, numbers, hasher, .. } = self;
        let hash = hasher.hash_one(path);
        if let Some(number) = numbers.find(hash, |number| *paths[*number as usize] == *path) {
            return *number;
        }
        let number = paths.len() as u32;
        paths.push(path.into());
        numbers.insert_unique(hash, number, |number| hasher.hash_one(&*paths[*number as usize]));
        number
    }

    /// Returns the number of `path` in the directory with the number `base`. Returns `None` if the
    /// joined path is too long to be looked up.
    pub(crate) fn join(&mut self, base: u32, path: &[u8]) -> Option<u32> {
        if path == b"." {
            return Some(base);
        }
        let mut room = std::mem::take(&mut self.room);
        room.clear();
        room.extend_from_slice(self.path(base));
        if room.last() != Some(&b'/') {
            room.push(b'/');
        }
        room.extend_from_slice(path);
        let joined = (room.len() <= PATH_MAX).then(|| self.number_of(&room));
        self.room = room;
        joined
    }

    pub(crate) fn path(&self, number: u32) -> &[u8] {
        &self.paths[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once() {
        let mut directories = Directories::default();
        let root = directories.number_of(b"/");
        let usr = directories.join(root, b"usr").unwrap();
        assert_eq!(directories.path(usr), b"/usr");
        assert_eq!(directories.number_of(b"/usr"), usr);
        assert_eq!(directories.join(usr, b"."), Some(usr));
        let up = directories.join(usr, b"../etc").unwrap();
        assert_eq!((directories.path(up), directories.len()), (&b"/usr/../etc"[..], 3));
        assert_eq!(directories.join(usr, &[b'a'; PATH_MAX]), None);
    }
}
