//! How the memo answers a lookup.
//!
//! What always holds: a hit stores nothing but the marks that any walk leaves, takes no lock, and
//! calls nothing. Where something has changed since the entry was stamped, it makes a call, and
//! some such hits give the entry a new stamp.

use super::entry::{Entry, Found, OfMount, Slots};
use super::pace::{self, Credit};
use super::question::Question;
use super::store::{Memo, tag};
use super::text;
use super::what::What;
use crate::cache::dcache::dentry::mark_hit;
use crate::memory::lines::Line;

/// The least bytes of a directory's path that is remembered. A walk of fewer, which are two or
/// three components, takes no longer than a probe.
const LEAST_OF_DIRECTORY: usize = 16;

/// A lookup that asks the memo.
pub(crate) trait Lookup<'a>: Slots<'a> {
    /// Returns the number of the caller's class of credentials; 0 where it was not looked up.
    fn class(self) -> u32;

    /// Returns whether a way that is not plain may still be gone.
    fn may_go(self, what: What) -> bool;
}

impl Memo {
    /// Returns the end of a path, as of now; none where the path has to be walked. What is then
    /// read of the end has to be rechecked, as after a walk. Of a memo that is not off.
    ///
    /// The mount of the end is written to `of_end` where it is not that of the start. It is not
    /// returned with the rest, which is in registers.
    #[inline(always)]
    pub(crate) fn find<'a>(&self, question: &Question<'_>, by: impl Lookup<'a>, of_end: &mut OfMount) -> Option<Found> {
        if question.path.len() > text::MOST {
            pace::count_walked();
            return None;
        }
        self.asks().and_then(|credit| {
            let found = self.probe(question, by, of_end);
            if found.is_some() {
                credit.hit()
            } else {
                credit.missed()
            }
            found
        })
    }

    /// Returns whether directories are asked for.
    #[inline(always)]
    pub(crate) fn asks_for_directories(&self) -> bool {
        !self.is_off() && (pace::will_ask() || self.learns_at_once())
    }

    /// Returns the directory in which a path ends that [`find`](Self::find) did not find.
    pub(crate) fn find_directory<'a>(&self, question: &Question<'_>, by: impl Lookup<'a>, of_end: &mut OfMount) -> Option<Found> {
        if !self.remembers_directory(question.path) {
            return None;
        }
        let found = self.probe(question, by, of_end)?;
        pace::found_directory();
        Some(found)
    }

    /// Returns whether a directory's path is short enough to be stored, and long enough to be worth
    /// that.
    pub(crate) fn remembers_directory(&self, path: &[u8]) -> bool {
        let least = if self.learns_at_once() { 1 } else { LEAST_OF_DIRECTORY };
        (least..=text::MOST).contains(&path.len())
    }

    /// Returns whether an entry with the tag of this path is there, and the thread will ask for it.
    /// A guess; counts nothing.
    #[inline(always)]
    pub(crate) fn seems_to_have(&self, question: &Question<'_>) -> bool {
        if self.is_off() || question.path.len() > text::MOST || !(pace::will_ask() || self.learns_at_once()) {
            return false;
        }
        let hash = self.hash(question);
        self.set(hash).is_some_and(|set| set.iter().any(|entry| entry.sample() as u32 == tag(hash)))
    }

    #[inline(always)]
    fn asks(&self) -> Option<Credit> {
        pace::asks().or_else(|| self.learns_at_once().then_some(Credit::ALWAYS))
    }

    #[inline(always)]
    fn probe<'a>(&self, question: &Question<'_>, by: impl Lookup<'a>, of_end: &mut OfMount) -> Option<Found> {
        let hash = self.hash(question);
        let tag = tag(hash);
        // Both entries may be of this path: for other classes, roots, or last links.
        for entry in self.set(hash)? {
            let sampled = entry.sample();
            if sampled as u32 == tag
                && let Some(what) = entry.is_of(question)
            {
                if let Some(end) = entry.fresh_end(what, by) {
                    return fresh(entry, sampled, (what, end), by);
                }
                if what.is_for(|| by.class()) {
                    let mut end = 0;
                    let word = self.compared(entry, sampled, what, by, (&mut end, of_end))?;
                    return by.may_go(what).then_some(Found { what, end, word });
                }
            }
        }
        None
    }

    /// Returns the word of the end of an entry's way, if nothing on the way has changed since.
    /// Writes its slot and its mount. Compares words where the stamp does not hold, and then stamps
    /// the entry from time to time.
    #[inline(never)]
    fn compared<'a>(
        &self,
        entry: Entry<'_>,
        sampled: u64,
        what: What,
        slots: impl Slots<'a>,
        (end, of_end): (&mut u32, &mut OfMount),
    ) -> Option<u64> {
        self.keep_lap();
        let (fresh, mut stamp) = (entry.fresh_end_in_mount(what, slots), None);
        let ((found, line, word), mount) = match fresh {
            Some(fresh) => fresh,
            None => {
                // Read before the words.
                stamp = slots.stamp(what.has_mounts());
                entry.end(what, slots)?
            }
        };
        if !entry.unchanged(sampled) {
            return None;
        }
        if let Some(stamp) = stamp
            && what.is_stamped()
            && (self.learns_at_once() || pace::stamps())
        {
            entry.stamp(sampled, what, stamp);
        }
        mark_hit(line);
        entry.mark_links(what, slots.dentries());
        (*end, *of_end) = (found, mount);
        Some(word)
    }
}

/// Returns the end of a way on which nothing has changed since it was remembered, if the entry is
/// unchanged and the way may be gone.
#[inline(always)]
fn fresh<'a>(
    entry: Entry<'_>,
    sampled: u64,
    (what, (end, line, word)): (What, (u32, &Line, u64)),
    by: impl Lookup<'a>,
) -> Option<Found> {
    if !entry.unchanged(sampled) {
        return None;
    }
    mark_hit(line);
    if !what.is_plain() {
        entry.mark_links(what, by.dentries());
        if !by.may_go(what) {
            return None;
        }
    }
    Some(Found { what, end, word })
}
