//! Words that are reused by another owner: a reader who recheks the count of the first one notices.

use loom::thread;

use super::words;
use crate::memory::free_list::FreeList;
use crate::memory::seqcount::{sample, unchanged, write};
use crate::memory::side::{ChainReader, Side, word_at};
use crate::sync::{Arc, AtomicU64, Ordering::Relaxed};

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

/// A link's inode is freed by one thread, and its side line taken by another, who never touches that inode's count.
#[test]
fn a_link_body_that_is_another_s_by_now_is_not_believed() {
    loom::model(|| {
        let side = Arc::new(Side::new(1).unwrap());
        let chain = side.store(OLD).unwrap();
        let inode = words::<1>();
        let freer = thread::spawn({
            let (side, inode) = (side.clone(), inode.clone());
            move || {
                write(&inode[0]).end(0);
                side.release(chain);
            }
        });
        let taker = thread::spawn({
            let side = side.clone();
            move || side.store(NEW).is_some()
        });
        let word = sample(&inode[0]);
        let text = ChainReader::new(side.lines(), chain).word(0);
        if word >> 32 == 0 && unchanged(&inode[0], word) {
            assert_eq!(text, word_at(OLD, 0));
        }
        freer.join().unwrap();
        taker.join().unwrap();
    });
}

/// The link of the free list lies in a word that readers read: a slot that was reserved and given back unused changes it, and not
/// the count.
#[test]
fn a_free_slot_s_link_is_not_believed() {
    const WORD: usize = 0;
    const AUX: usize = 1;
    loom::model(|| {
        let free = Arc::new(FreeList::new(1));
        let inode = words::<2>();
        fn aux<'a>(inode: &'a [AtomicU64; 2]) -> impl Fn(u32) -> &'a AtomicU64 {
            |_| &inode[AUX]
        }
        let slot = free.take(aux(&inode)).unwrap();
        inode[AUX].store(7, Relaxed);
        let freer = thread::spawn({
            let (free, inode) = (free.clone(), inode.clone());
            move || {
                write(&inode[WORD]).end(0);
                free.give(slot, aux(&inode));
            }
        });
        let reserver = thread::spawn({
            let (free, inode) = (free.clone(), inode.clone());
            move || free.take(aux(&inode)).into_iter().for_each(|slot| free.give(slot, aux(&inode)))
        });
        let word = sample(&inode[WORD]);
        let seen = inode[AUX].load(Relaxed);
        if word >> 32 == 0 && unchanged(&inode[WORD], word) {
            assert_eq!(seen, 7);
        }
        freer.join().unwrap();
        reserver.join().unwrap();
    });
}
