//! Models of a dentry's slot that is reused while a reader uses it.

use super::race;
use crate::cache::dcache::dentry::{Dentries, NAME, WORD, parent_of, set_head, set_parent_length};
use crate::memory::slot::DentryId;
use crate::memory::{pin, seqcount};
use crate::sync::Ordering::Relaxed;
use crate::text::swar::word_at;

const OLD: &[u8] = b"old";
const NEW: &[u8] = b"new";
const DIRECTORY: DentryId = DentryId(1);
const CHILD: DentryId = DentryId(2);

/// Fills a slot as `new_dentry` does, but without the pin on the parent.
fn fill(dentries: &Dentries, id: DentryId, name: &[u8]) {
    let line = dentries.line(id);
    let writing = seqcount::write_alone(&line[WORD]);
    set_parent_length(line, DIRECTORY, name.len());
    set_head(line, name);
    writing.end(0);
    pin::revive(dentries.life(id));
}

/// Creates a directory and a child, both named `OLD`. The child pins the directory, and is not
/// pinned itself.
fn two_dentries() -> Dentries {
    let dentries = Dentries::new(2).unwrap();
    for id in [DIRECTORY, CHILD] {
        assert_eq!(dentries.take(), Some(id));
        fill(&dentries, id, OLD);
    }
    dentries.unpin(CHILD);
    dentries
}

/// Evicts a dentry as `try_evict` does.
fn evict(dentries: &Dentries, id: DentryId) -> bool {
    if !pin::kill(dentries.life(id)) {
        return false;
    }
    let line = dentries.line(id);
    let writing = seqcount::write(&line[WORD]);
    set_parent_length(line, DentryId::NONE, 0);
    writing.end(0);
    dentries.give(id);
    true
}

/// Evicts a dentry and gives its slot to another name.
fn reuse(dentries: &Dentries, id: DentryId) -> bool {
    let evicted = evict(dentries, id);
    if evicted {
        assert_eq!(dentries.take(), Some(id));
        fill(dentries, id, NEW);
    }
    evicted
}

#[test]
fn a_sampled_dentry_is_pinned_or_is_not_that_dentry_any_more() {
    let find: fn(&Dentries) -> bool = |dentries| {
        let line = dentries.line(CHILD);
        let word = seqcount::sample(&line[WORD]);
        let name = line[NAME].load(Relaxed);
        if !dentries.pin_sampled(CHILD, word) {
            return false;
        }
        assert_eq!(line[NAME].load(Relaxed), name, "the name that was read is that of the pinned dentry");
        assert_eq!(parent_of(line), DIRECTORY);
        name == word_at(OLD, 0)
    };
    race(two_dentries, [find, |dentries| reuse(dentries, CHILD)], |_, [pinned_old, reused]| assert!(!(pinned_old && reused)));
}

/// Checks a walk that does not pin: what it read was true as of the sample, or it notices.
#[test]
fn a_walk_notices_that_a_slot_was_reused() {
    let walk: fn(&Dentries) -> bool = |dentries| {
        let line = dentries.line(CHILD);
        let word = seqcount::sample(&line[WORD]);
        let (parent, name) = (parent_of(line), line[NAME].load(Relaxed));
        let believed = word & seqcount::ODD == 0 && seqcount::unchanged(&line[WORD], word);
        if believed {
            let [first, empty] = [1, 2].map(|count| word >> 32 == count);
            assert_eq!(name, word_at(if first || empty { OLD } else { NEW }, 0));
            assert_eq!(parent == DentryId::NONE, empty);
        }
        believed
    };
    race(two_dentries, [|dentries| reuse(dentries, CHILD), walk], |_, [reused, _]| assert!(reused));
}

/// Checks `pin_parent`: while the child is unchanged, its parent's slot holds its parent.
#[test]
fn a_child_keeps_its_parent() {
    let up: fn(&Dentries) -> bool = |dentries| {
        let child = dentries.line(CHILD);
        let word = seqcount::sample(&child[WORD]);
        let parent = parent_of(child);
        let life = pin::read(dentries.life(parent));
        let name = dentries.line(parent)[NAME].load(Relaxed);
        let unchanged = word & seqcount::ODD == 0 && seqcount::unchanged(&child[WORD], word);
        let pinned = parent == DIRECTORY && unchanged && life.is_some_and(|of| pin::pin(dentries.life(parent), of));
        if pinned {
            assert_eq!(name, word_at(OLD, 0));
            assert_eq!(dentries.line(parent)[NAME].load(Relaxed), name);
        }
        pinned
    };
    let evict_both: fn(&Dentries) -> bool = |dentries| {
        // The child gives its pin on the parent back last.
        assert!(evict(dentries, CHILD));
        dentries.unpin(DIRECTORY);
        let dead = pin::kill(dentries.life(DIRECTORY));
        if dead {
            fill(dentries, DIRECTORY, NEW);
        }
        dead
    };
    race(two_dentries, [up, evict_both], |_, [pinned, dead]| assert!(pinned != dead || !pinned));
}
