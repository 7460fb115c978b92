//! A directory that is being listed: a handle on it, and by which names it was found.

use std::sync::Arc;

use crate::handle::Handle;

/// A directory that is held, not open; its entries share it.
///
/// Its path is told by the names of the directories above, each stored once: that of a directory
/// 10,000 levels deep is longer than a path may be, and so many of them would not fit.
pub(super) struct Place {
    pub(super) handle: Handle,
    /// The directory in which it was found; none for the one where it began.
    pub(super) above: Option<Arc<Place>>,
    /// Its name there; of the one where it began, the path as it was given, or nothing if there is
    /// none.
    pub(super) name: Box<[u8]>,
}

impl Place {
    /// Returns the path of a name in it, as found: the path that it began with, and the names
    /// below.
    pub(super) fn join(&self, name: &[u8]) -> Vec<u8> {
        let mut parts = vec![name];
        let mut next = Some(self);
        while let Some(place) = next {
            parts.push(&place.name);
            next = place.above.as_deref();
        }
        let mut path = Vec::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
        for part in parts.into_iter().rev().filter(|part| !part.is_empty()) {
            if path.last().is_some_and(|byte| *byte != b'/') {
                path.push(b'/');
            }
            path.extend_from_slice(part);
        }
        path
    }

    /// Returns its own path, as found.
    pub(super) fn path(&self) -> Vec<u8> {
        self.join(b"")
    }
}

/// One after the other: a chain of 10,000 would overflow the stack.
impl Drop for Place {
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some(mut place) = next.and_then(Arc::into_inner) {
            next = place.above.take();
        }
    }
}
