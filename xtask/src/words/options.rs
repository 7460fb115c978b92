//! The options of an open, as both `std::fs::OpenOptions` and the engine's have them.

use bitflags::bitflags;

use super::{Word, read_flags, write_flags};

bitflags! {
    /// The options that are set, and two flags beside them.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) struct Options: u8 {
        const READ = 1;
        const WRITE = 2;
        const APPEND = 4;
        const TRUNCATE = 8;
        const CREATE = 16;
        const CREATE_NEW = 32;
        /// The custom flag `O_DIRECTORY`.
        const DIRECTORY = 64;
        /// The custom flag `O_NOFOLLOW`.
        const NOFOLLOW = 128;
    }
}

impl Word for Options {
    fn write(&self, out: &mut String) {
        write_flags(self, out);
    }

    fn read(word: &str) -> anyhow::Result<Options> {
        read_flags(word)
    }
}
