//! The directories from the beginning of a tree down to where one is, of which few are open.

use super::read_dir::ReadDir;
use crate::context::Context;
use crate::error::Error;

/// Most directories that are open at a time.
const MOST_OPEN: usize = 16;

/// Directories each of which was found in the one before. The first `closed` of them are closed,
/// and go on behind the last entry that they gave once they are the last again.
pub(super) struct Levels {
    levels: Vec<ReadDir>,
    closed: usize,
}

impl Levels {
    pub(super) fn new(first: ReadDir) -> Levels {
        Levels { levels: vec![first], closed: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.levels.len()
    }

    /// Adds one that was found in the last.
    pub(super) fn push(&mut self, dir: ReadDir) {
        self.levels.push(dir);
        if self.levels.len() - self.closed > MOST_OPEN {
            self.levels[self.closed].close();
            self.closed += 1;
        }
    }

    /// Returns the last, open again; none if there is none left.
    pub(super) fn last(&mut self, context: &Context) -> Option<Result<&mut ReadDir, Error>> {
        self.closed = self.closed.min(self.levels.len().saturating_sub(1));
        let last = self.levels.last_mut()?;
        Some(last.reopen(context).map(|()| last))
    }

    pub(super) fn pop(&mut self) -> Option<ReadDir> {
        self.levels.pop()
    }
}
