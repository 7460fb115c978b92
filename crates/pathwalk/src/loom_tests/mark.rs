//! Models of attributes that are marked as out of date beside a refresh: the mark is not lost, also
//! if it was set already and nothing is stored.
//!
//! This follows `cache/icache/store.rs`. The file system's truth and the cached copy of it are one
//! word each.

use super::race;
use crate::memory::seqcount::{ODD, write_alone};
use crate::sync::Ordering::{Relaxed, SeqCst};
use crate::sync::{AtomicU64, Mutex, fence, fence_after_swap};

const STALE: u64 = 2;

struct Inode {
    word: AtomicU64,
    kept: AtomicU64,
    version: AtomicU64,
    lock: Mutex<()>,
    truth: AtomicU64,
}

fn out_of_date() -> Inode {
    let word = AtomicU64::new(STALE);
    Inode { word, kept: AtomicU64::new(0), version: AtomicU64::new(0), lock: Mutex::new(()), truth: AtomicU64::new(1) }
}

fn change_and_mark(inode: &Inode) {
    inode.truth.fetch_add(1, Relaxed);
    inode.version.fetch_add(1, SeqCst);
    fence_after_swap();
    if inode.word.load(SeqCst) & (STALE | ODD) == STALE {
        return;
    }
    let _held = inode.lock.lock();
    let writing = write_alone(&inode.word);
    writing.end(STALE);
}

fn refresh(inode: &Inode) {
    let version = inode.version.load(SeqCst);
    let answer = inode.truth.load(Relaxed);
    let _held = inode.lock.lock();
    let writing = write_alone(&inode.word);
    fence(SeqCst);
    let flags = writing.flags();
    if inode.version.load(SeqCst) != version {
        return writing.end(flags);
    }
    inode.version.fetch_add(1, SeqCst);
    inode.kept.store(answer, Relaxed);
    writing.end(0);
}

fn holds(inode: &Inode) {
    let is_stale = inode.word.load(Relaxed) & STALE != 0;
    assert!(is_stale || inode.kept.load(Relaxed) == inode.truth.load(Relaxed));
}

#[test]
fn a_mark_beside_a_refresh_is_not_lost() {
    race(out_of_date, [change_and_mark, refresh], |inode, _| holds(inode));
}

#[test]
fn two_marks_beside_a_refresh() {
    race(out_of_date, [change_and_mark, refresh, change_and_mark], |inode, _| holds(inode));
}
