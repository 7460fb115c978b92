//! The paths of one thread's files, one after the other in one buffer. Only digits are rewritten,
//! so that the time measured is that of the cache.

use std::ffi::CStr;

/// The length of the longest path: three letters, slashes and numbers of ten digits, and a NUL.
const ROOM: usize = 3 * (2 + 10) + 1;

/// A path, `/t7/d12/f345`, that moves on from file to file.
pub(crate) struct Paths {
    /// The path, followed by a NUL.
    bytes: Vec<u8>,
    /// The position of the directory's slash.
    directory: usize,
    /// The position at which the file's number begins.
    number: usize,
}

impl Paths {
    /// Creates the path of this thread, which is not at any file yet.
    pub(crate) fn new(thread: u32) -> Paths {
        let mut bytes = Vec::with_capacity(ROOM);
        bytes.extend(b"/t");
        push_number(&mut bytes, thread);
        let directory = bytes.len();
        bytes.push(0);
        Paths { bytes, directory, number: directory }
    }

    /// Goes to the first file of a directory.
    pub(crate) fn enter(&mut self, directory: u32) {
        self.bytes.truncate(self.directory);
        self.bytes.extend(b"/d");
        push_number(&mut self.bytes, directory);
        self.bytes.extend(b"/f");
        self.number = self.bytes.len();
        self.set(0);
    }

    /// Goes to a file of the directory that was entered.
    pub(crate) fn set(&mut self, file: u32) {
        self.bytes.truncate(self.number);
        push_number(&mut self.bytes, file);
        self.bytes.push(0);
    }

    /// Goes to the next file: adds one to the decimal digits.
    #[inline]
    pub(crate) fn advance(&mut self) {
        let end = self.bytes.len() - 1;
        for digit in self.bytes[self.number..end].iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
        // All digits were nines, so the number gets one more digit.
        self.bytes[self.number] = b'1';
        self.bytes[end] = b'0';
        self.bytes.push(0);
    }

    /// Returns the path from the root of the trees.
    #[inline]
    pub(crate) fn absolute(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }

    /// Returns the path without its first slash, as the kernel takes it from a descriptor of the
    /// root.
    #[inline]
    pub(crate) fn relative(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[1..]).expect("the only NUL is the last byte")
    }
}

fn push_number(bytes: &mut Vec<u8>, number: u32) {
    let at = bytes.len();
    let mut rest = number;
    loop {
        bytes.insert(at, b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_as_one_writes_them_and_never_move() {
        for thread in [0, 7, 10, u32::MAX] {
            let mut paths = Paths::new(thread);
            let place = paths.bytes.as_ptr();
            for directory in [0, 99, 100, 12, u32::MAX] {
                paths.enter(directory);
                for file in 0..1101 {
                    let path = format!("/t{thread}/d{directory}/f{file}");
                    assert_eq!(paths.absolute(), path.as_bytes());
                    assert_eq!(paths.relative().to_bytes(), &path.as_bytes()[1..]);
                    paths.advance();
                }
            }
            paths.enter(u32::MAX);
            paths.set(u32::MAX - 1);
            paths.advance();
            assert!(paths.absolute().ends_with(b"/f4294967295"));
            assert_eq!(paths.bytes.as_ptr(), place, "the buffer was large enough");
        }
    }
}
