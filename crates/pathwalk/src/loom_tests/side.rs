//! Models of words that another owner reuses: a reader that rechecks the count of the first owner
//! notices, although the second owner never touches that count.

use super::{race, words};
use crate::memory::free_list::FreeList;
use crate::memory::seqcount::{sample, unchanged, write};
use crate::memory::side::{ChainReader, Side};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;
use crate::text::swar::word_at;

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

/// Checks a link whose inode is freed by one thread, and whose side line is taken by another.
#[test]
fn a_link_body_that_is_another_s_by_now_is_not_believed() {
    struct Link {
        side: Side,
        count: AtomicU64,
    }
    let setup = || {
        let link = Link { side: Side::new(1).unwrap(), count: AtomicU64::new(0) };
        assert_eq!(link.side.store(OLD), Some(1));
        link
    };
    let free: fn(&Link) = |link| {
        write(&link.count).end(0);
        link.side.release(1);
    };
    let take: fn(&Link) = |link| _ = link.side.store(NEW);
    let read: fn(&Link) = |link| {
        let word = sample(&link.count);
        let text = ChainReader::new(link.side.lines(), 1).word(0);
        if word == 0 && unchanged(&link.count, word) {
            assert_eq!(text, word_at(OLD, 0));
        }
    };
    race(setup, [free, take, read], |_, _| {});
}

/// Checks the free list's link, which lies in a word that readers read: a slot that was reserved
/// and given back unused changes that word.
#[test]
fn the_link_of_a_free_slot_is_not_believed() {
    struct Inode {
        free: FreeList,
        count: AtomicU64,
        aux: [AtomicU64; 1],
    }
    let setup = || {
        let inode = Inode { free: FreeList::new(1), count: AtomicU64::new(0), aux: words() };
        assert_eq!(inode.free.take(|_| &inode.aux[0]), Some(1));
        inode.aux[0].store(7, Relaxed);
        inode
    };
    let free: fn(&Inode) = |inode| {
        write(&inode.count).end(0);
        inode.free.give(1, |_| &inode.aux[0]);
    };
    let reserve: fn(&Inode) = |inode| {
        if let Some(slot) = inode.free.take(|_| &inode.aux[0]) {
            inode.free.give(slot, |_| &inode.aux[0]);
        }
    };
    let read: fn(&Inode) = |inode| {
        let word = sample(&inode.count);
        let seen = inode.aux[0].load(Relaxed);
        if word == 0 && unchanged(&inode.count, word) {
            assert_eq!(seen, 7);
        }
    };
    race(setup, [free, reserve, read], |_, _| {});
}
