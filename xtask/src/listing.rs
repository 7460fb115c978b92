//! The listing of a directory in parts, with changes of names between them, and the continuation
//! from a cookie.
//!
//! Two file systems list in different orders. So the comparison covers what holds for any order: a
//! name that no change touched comes exactly once, any other at most once. After a seek to a
//! cookie, the same names follow as before, in the same order.
//!
//! A tmpfs does not keep that promise: if a rename replaces the name at the current position, it
//! repeats names or leaves some out. So its own listing is trusted only once the changes are over.

use std::collections::BTreeMap;

use pathwalk::FileType;

use crate::outcome::Answer;

/// One entry.
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: FileType,
    pub(crate) ino: u64,
    /// The position at which the listing continues after the entry.
    pub(crate) cookie: u64,
}

/// An open directory of an interpreter.
pub(crate) trait Directory {
    type Error;
    /// What a listing beside changes has to be.
    const BESIDE_CHANGES: BesideChanges;

    /// Returns the next entries from the current position; none at the end.
    fn part(&mut self) -> Result<Vec<Entry>, Self::Error>;
    /// Moves to a cookie.
    fn seek(&mut self, to: u64) -> Result<(), Self::Error>;
    /// Makes one of the changes, if it is possible.
    fn change(&mut self, which: usize);
}

/// The treatment of a listing during which names were changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BesideChanges {
    /// It is checked.
    Checked,
    /// It is read and not believed: the directory is listed again for the answer.
    Repeated,
}

/// The number of changes.
pub(crate) const CHANGES: usize = 3;

/// A number of parts that is far above that of any directory.
const MOST_PARTS: usize = 100_000;

/// Lists a directory from its beginning, with a change after each of the first parts, and then once
/// more from the middle. The answer has the names that no change touched. A fault is described in
/// an answer of bytes.
pub(crate) fn in_parts<D: Directory>(mut dir: D, touched: [&[u8]; 2]) -> Result<Answer, D::Error> {
    dir.seek(0)?;
    let mut all = Vec::new();
    for change in 0..CHANGES {
        all.extend(dir.part()?);
        dir.change(change);
    }
    rest(&mut dir, &mut all)?;
    if D::BESIDE_CHANGES == BesideChanges::Repeated {
        all.clear();
        dir.seek(0)?;
        rest(&mut dir, &mut all)?;
    }
    let mut names = BTreeMap::new();
    for Entry { name, kind, ino, .. } in &all {
        if names.insert(name.clone(), (*kind, *ino)).is_some() {
            return Ok(Answer::Bytes([b"twice: ", &name[..]].concat()));
        }
    }
    let middle = all.len() / 2;
    if middle > 0 {
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
