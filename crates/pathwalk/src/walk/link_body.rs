//! The body of a cached link, read in place as a text.
//!
//! What is read here is valid only if [`still_there`](Text::still_there), called afterwards,
//! returns true.

use super::Env;
use super::component::Text;
use crate::cache::icache::inode::{self, LINKS_AUX, MIXED, Record};
use crate::memory::seqcount;
use crate::memory::side::ChainReader;
use crate::memory::slot::InodeId;
use crate::sync::Ordering;

/// The body of a link, in side lines.
pub(crate) struct Body<'a> {
    record: &'a Record,
    word: u64,
    length: usize,
    text: ChainReader<'a>,
}

impl<'a> Body<'a> {
    /// Creates a reader of the body of the link whose word was sampled as `word`. What it reads is
    /// valid only while it is [`still_there`](Text::still_there).
    #[inline(always)]
    pub(crate) fn of(env: &Env<'a>, inode: InodeId, word: u64) -> Body<'a> {
        let record = env.caches().inodes.record(inode);
        let length = inode::body_length(record[MIXED].load(Ordering::Relaxed));
        let chain = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        Body { record, word, length, text: ChainReader::new(env.caches().side.lines(), chain) }
    }
}

impl Text for &Body<'_> {
    type Rest = usize;

    fn len(self) -> usize {
        self.length
    }

    fn from(self, pos: usize) -> usize {
        pos
    }

    fn left(self, rest: usize) -> usize {
        self.length.saturating_sub(rest)
    }

    #[inline(always)]
    fn word(self, rest: usize, at: usize) -> u64 {
        let (index, shift) = ((rest + at) / 8, 8 * ((rest + at) % 8));
        let low = self.text.word(index) >> shift;
        // The last word is padded with zeros. No word follows it.
        if shift == 0 || (index + 1) * 8 >= self.length { low } else { low | self.text.word(index + 1) << (64 - shift) }
    }

    fn behind(self, rest: usize, bytes: usize) -> Option<usize> {
        (bytes < self.length.saturating_sub(rest)).then_some(rest + bytes + 1)
    }

    fn still_there(self) -> bool {
        self.word & seqcount::ODD == 0 && seqcount::unchanged(&self.record[inode::WORD], self.word)
    }

    fn is_absolute(self) -> bool {
        self.text.word(0) as u8 == b'/'
    }

    fn ends_in_slash(self) -> bool {
        let last = self.length.saturating_sub(1);
        (self.text.word(last / 8) >> (8 * (last % 8))) as u8 == b'/'
    }

    /// Returns false: bodies with a NUL are not cached.
    fn has_nul(self, _rest: usize) -> bool {
        false
    }
}
