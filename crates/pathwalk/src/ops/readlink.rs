//! `readlink(2)`: the body of a link. Its length comes from the cache and never from a scan of the
//! body.

use super::{Target, answer, target};
use crate::Errno;
use crate::abi::AtFlags;
use crate::cache::dcache::dentry::{flags, inode_of};
use crate::cache::icache::inode::{self, LINKS_AUX, MIXED, WORD};
use crate::config::{Config, Shipped};
use crate::limits::LINK_MAX;
use crate::memory::seqcount;
use crate::memory::side::ChainReader;
use crate::mount::PinnedPlace;
use crate::stats::HandOver;
use crate::superblock::miss::Trust;
use crate::sync::Ordering;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::whole::to_end;
use crate::walk::{Arrived, Env, Follow, Whose};

pub(crate) fn readlinkat(asker: &Asker, at: Begin, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
    readlinkat_with::<Shipped>(asker, at, path, buffer)
}

/// Does the same in a variant of the walk.
pub(crate) fn readlinkat_with<C: Config>(asker: &Asker, at: Begin, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
    if buffer.is_empty() {
        return Err(Errno::EINVAL);
    }
    let env = Env::of(asker, Whose::Effective, at);
    let from = match target(&env, at, path, AtFlags::EMPTY_PATH, AtFlags::EMPTY_PATH)? {
        Target::Start(start) => return body(&env, &start, buffer, Errno::ENOENT),
        Target::Path(from) => from,
    };
    let env = env.from(from);
    let fast = fast::<C>(&env, path, buffer);
    // The closure of a locked walk may run twice, so it cannot borrow the buffer.
    let link = match fast {
        Ok(length) => return Ok(length),
        Err(stopped) => answer(&env, path, Follow::Not, Err(stopped), Ok)?,
    };
    body(&env, &link, buffer, Errno::EINVAL)
}

#[inline(always)]
pub(super) fn fast<'a, C: Config>(env: &Env<'a>, path: &'a [u8], buffer: &mut [u8]) -> Result<usize, Stopped<'a>> {
    to_end::<C, _>(env, path, Follow::Not, Ok).and_then(|at| at_end::<C>(env, at, buffer, Errno::EINVAL))
}

/// Copies the body of the link that a walk arrived at; `not_a_link` if it is none.
#[inline(always)]
pub(super) fn at_end<'a, C: Config>(
    env: &Env<'a>,
    at: Arrived<'a>,
    buffer: &mut [u8],
    not_a_link: Errno,
) -> Result<usize, Stopped<'a>> {
    let cur = at.cur;
    let hand_over = |reason| Err(Stopped::HandOver(Resume::FromStart(reason)));
    if !cur.is(flags::LINK) {
        return if cur.unchanged() { Err(Stopped::Errno(not_a_link)) } else { hand_over(HandOver::Changed) };
    }
    let record = env.caches().inodes.record(inode_of(cur.line));
    let word = seqcount::sample(&record[WORD]);
    if (word & inode::flags::BODY == 0 || env.world.mounts.some_ask_at_links())
        && let Some(reason) = withheld(env, at, word)
    {
        return hand_over(reason);
    }
    let text = ChainReader::new(env.caches().side.lines(), inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)));
    let length = if C::CACHED_LENGTH { inode::body_length(record[MIXED].load(Ordering::Relaxed)) } else { scanned_length(&text) };
    let length = length.min(buffer.len());
    let (words, tail) = buffer[..length].as_chunks_mut::<8>();
    for (at, bytes) in words.iter_mut().enumerate() {
        *bytes = text.word(at).to_le_bytes();
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&text.word(length / 8).to_le_bytes()[..tail.len()]);
    }
    let same = word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word) && cur.unchanged();
    if same { Ok(length) } else { hand_over(HandOver::Changed) }
}

/// Returns why the body of a link must not be read without storing the time of the access.
#[cold]
#[inline(never)]
fn withheld(env: &Env<'_>, at: Arrived<'_>, word: u64) -> Option<HandOver> {
    if word & inode::flags::HAS_BODY == 0 {
        return Some(HandOver::LinkBody);
    }
    let is_due = word & inode::flags::BODY == 0 && !env.world.stores_no_access(at.mount, word);
    (is_due || env.world.stores_each_access(at.mount, word)).then_some(HandOver::AccessTime)
}

/// Returns the length that a scan finds, as if the length were not stored: for measurements.
fn scanned_length(text: &ChainReader<'_>) -> usize {
    (0..=LINK_MAX).take_while(|at| text.word(at / 8).to_le_bytes()[at % 8] != 0).count()
}

/// Copies the body of a pinned link; `not_a_link` if it is none.
fn body(env: &Env<'_>, link: &PinnedPlace<'_>, buffer: &mut [u8], not_a_link: Errno) -> Result<usize, Errno> {
    if env.caches().dentries.word(link.id()) & flags::LINK == 0 {
        return Err(not_a_link);
    }
    env.world.accessed(link.place());
    let body = env.trees().link_body(link.id(), Trust::Cache)?;
    let length = body.len().min(buffer.len());
    buffer[..length].copy_from_slice(&body[..length]);
    Ok(length)
}
