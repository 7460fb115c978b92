//! A dentry's slot is reused under a reader's feet.

use loom::thread;

use crate::dcache::dentry::{Dentries, DentryId, NAME, WORD, parent_of, set_head, set_parent_length};
use crate::memory::side::word_at;
use crate::memory::{pin, seqcount};
use crate::sync::{Arc, Ordering::Relaxed};

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";

/// Two slots, of which one is in use: named `OLD`, and pinned by nobody.
fn one_dentry() -> (Arc<Dentries>, DentryId) {
    let dentries = Dentries::new(2).unwrap();
    let id = dentries.take().unwrap();
    fill(&dentries, id, OLD);
    dentries.unpin(id);
    (Arc::new(dentries), id)
}

/// As `new_dentry` does.
fn fill(dentries: &Dentries, id: DentryId, name: &[u8]) {
    let line = dentries.line(id);
    let writing = seqcount::write(&line[WORD]);
    set_parent_length(line, DentryId(9), name.len());
    set_head(line, name);
    writing.end(0);
    pin::revive(dentries.life(id));
}

/// As `try_evict` does; and the slot is given to another name.
fn reuse(dentries: &Dentries, id: DentryId) -> bool {
    if !pin::kill(dentries.life(id)) {
        return false;
    }
    let line = dentries.line(id);
    let writing = seqcount::write(&line[WORD]);
    set_parent_length(line, DentryId::NONE, 0);
    writing.end(0);
    dentries.give(id);
    let again = dentries.take().unwrap();
    assert_eq!(again, id);
    fill(dentries, id, NEW);
    true
}

#[test]
fn a_sampled_dentry_is_pinned_or_it_is_not_that_dentry_any_more() {
    loom::model(|| {
        let (dentries, id) = one_dentry();
        let evictor = thread::spawn({
            let dentries = dentries.clone();
            move || reuse(&dentries, id)
        });
        let line = dentries.line(id);
        let word = seqcount::sample(&line[WORD]);
        let name = line[NAME].load(Relaxed);
        let pinned = dentries.pin_sampled(id, word);
        if pinned {
            assert_eq!(line[NAME].load(Relaxed), name, "the name that was read is that of the pinned dentry");
            assert_eq!(parent_of(line), DentryId(9));
        }
        let reused = evictor.join().unwrap();
        if pinned && name == word_at(OLD, 0) {
            assert!(!reused);
        }
        // Whose name it is: the one who was pinned, whoever that was.
        if pinned {
            dentries.unpin(id);
        }
    });
}

/// A walk that does not pin: what it read was true as of the sample, or it notices.
#[test]
fn a_walk_notices_that_a_slot_was_reused() {
    loom::model(|| {
        let (dentries, id) = one_dentry();
        let evictor = thread::spawn({
            let dentries = dentries.clone();
            move || reuse(&dentries, id)
        });
        let line = dentries.line(id);
        let word = seqcount::sample(&line[WORD]);
        let (parent, name) = (parent_of(line), line[NAME].load(Relaxed));
        if word & seqcount::ODD == 0 && seqcount::unchanged(&line[WORD], word) {
            let before = word >> 32 == 1;
            let between = word >> 32 == 2;
            assert_eq!(name, word_at(if before || between { OLD } else { NEW }, 0));
            assert_eq!(parent == DentryId::NONE, between);
        }
        assert!(evictor.join().unwrap());
    });
}

#[test]
fn a_child_keeps_its_parent() {
    loom::model(|| {
        // The second slot is a child of the first, and pins it.
        let (dentries, parent) = one_dentry();
        let child = dentries.take().unwrap();
        dentries.life(parent);
        assert!(pin::read(dentries.life(parent)).is_some_and(|of| pin::pin(dentries.life(parent), of)));
        fill(&dentries, child, NEW);
        dentries.unpin(child);
        let evictor = thread::spawn({
            let dentries = dentries.clone();
            move || {
                // The child first; it gives its parent back last.
                if pin::kill(dentries.life(child)) {
                    let writing = seqcount::write(&dentries.line(child)[WORD]);
                    writing.end(0);
                    dentries.unpin(parent);
                }
                reuse(&dentries, parent)
            }
        });
        let word = seqcount::sample(&dentries.line(child)[WORD]);
        let of = pin::read(dentries.life(parent));
        let name = dentries.line(parent)[NAME].load(Relaxed);
        // As `pin_parent`: the child is unchanged, so that life was its parent's.
        if word >> 32 == 1
            && let Some(of) = of
            && seqcount::unchanged(&dentries.line(child)[WORD], word)
            && pin::pin(dentries.life(parent), of)
        {
            assert_eq!(name, word_at(OLD, 0));
            assert_eq!(dentries.line(parent)[NAME].load(Relaxed), name);
        }
        evictor.join().unwrap();
    });
}
