//! A directory that is listed in parts, between which names come and go, and from where a told
//! cookie leads.
//!
//! The orders of two file systems differ, so what is compared is what holds for any: a name that
//! was not touched comes exactly once, any other at most once; and behind a told cookie come those
//! that came behind it before, in the same order.

use std::collections::BTreeMap;

use pathwalk::FileType;

use crate::outcome::Answer;

/// One entry.
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: FileType,
    pub(crate) ino: u64,
    /// Where the listing goes on behind it.
    pub(crate) cookie: u64,
}

/// An open directory, as an interpreter has it.
pub(crate) trait Directory {
    type Error;
    /// Whether a name may come again.
    const REPEATS: Repeats;

    /// Returns the next entries, from where it stands: none at the end.
    fn part(&mut self) -> Result<Vec<Entry>, Self::Error>;
    /// Moves to a cookie.
    fn seek(&mut self, to: u64) -> Result<(), Self::Error>;
    /// Makes one of the changes, if it can be made.
    fn change(&mut self, which: usize);
}

/// Whether a name may come again after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    Never,
    /// A tmpfs that stands at a name that is taken away goes on at the next newer one, and lists
    /// the newest first: from there all come again. So do those behind a cookie that leads to such
    /// a name.
    Sometimes,
}

/// How many changes there are.
pub(crate) const CHANGES: usize = 3;

/// Far more parts than any directory has.
const MOST_PARTS: usize = 100_000;

/// Lists a directory from its beginning, with a change behind each of the first parts; then once
/// more from the middle. The answer has the names that were not touched; what is wrong is said in
/// bytes.
pub(crate) fn in_parts<D: Directory>(mut dir: D, touched: [&[u8]; 2]) -> Result<Answer, D::Error> {
    dir.seek(0)?;
    let mut all = Vec::new();
    for change in 0..CHANGES {
        all.extend(dir.part()?);
        dir.change(change);
    }
    rest(&mut dir, &mut all)?;
    let (mut names, mut repeats) = (BTreeMap::new(), false);
    for Entry { name, kind, ino, .. } in &all {
        if names.insert(name.clone(), (*kind, *ino)).is_some() {
            repeats = true;
            if D::REPEATS == Repeats::Sometimes {
                continue;
            }
            return Ok(Answer::Bytes([b"twice: ", &name[..]].concat()));
        }
    }
    let middle = all.len() / 2;
    let is_sure = D::REPEATS == Repeats::Never || all.get(middle).is_some_and(|next| !touched.contains(&&next.name[..]));
    if middle > 0 && !repeats && is_sure {
        dir.seek(all[middle - 1].cookie)?;
        let mut again = Vec::new();
        rest(&mut dir, &mut again)?;
        let untouched = |entry: &&Entry| !touched.contains(&&entry.name[..]);
        let names = |entries: &[Entry]| entries.iter().filter(untouched).map(|entry| entry.name.clone()).collect::<Vec<_>>();
        if names(&all[middle..]) != names(&again) {
            return Ok(Answer::Bytes([b"others behind the cookie of: ", &all[middle - 1].name[..]].concat()));
        }
    }
    names.retain(|name, _| !touched.contains(&&name[..]));
    Ok(Answer::Listing(names))
}

fn rest<D: Directory>(dir: &mut D, all: &mut Vec<Entry>) -> Result<(), D::Error> {
    for _ in 0..MOST_PARTS {
        let part = dir.part()?;
        if part.is_empty() {
            return Ok(());
        }
        all.extend(part);
    }
    Ok(())
}
