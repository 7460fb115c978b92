//! The times of files whose data the kernel writes later ([`Writes::Back`](crate::Writes::Back)).
//!
//! The kernel decides about the time of modification there. It tells of a time once, and not again
//! for a write that finds it unchanged. So a late write leaves the time as it was, and the kernel
//! tells of a new one before or behind it.
//!
//! What always holds: when no late write of a node is under way, its time is the one that the
//! kernel told last, or that of its last answer if the kernel told of none since.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pathwalk::{Errno, Handle, Timestamp};
use rapidhash::fast::RandomState;

/// The time of a node to which late data is written; `None` until the first write has asked for it.
/// Held while it is set.
type Time = Arc<Mutex<Option<Timestamp>>>;

/// The nodes to which late data is written now, by the kernel's numbers.
///
/// The lock of the map is held for one search, and never while a file system is asked.
#[derive(Default)]
pub(crate) struct LateWrites(Mutex<HashMap<u64, Time, RandomState>>);

impl LateWrites {
    /// Writes late data to a node, and sets its time to what it was, or to what the kernel told
    /// meanwhile. Where it may not be set, it is the time of the write.
    pub(crate) fn write<T>(
        &self,
        (number, node): (u64, &Handle),
        write: impl FnOnce() -> Result<T, Errno>,
        set: impl FnOnce(Timestamp) -> Result<(), Errno>,
    ) -> Result<T, Errno> {
        let time = Arc::clone(self.0.lock().entry(number).or_default());
        let asked = (|| {
            let mut time = time.lock();
            if time.is_none() {
                *time = Some(node.attributes()?.mtime);
            }
            Ok(())
        })();
        let written = asked.and_then(|()| write());
        if let Some(told) = *time.lock() {
            let _ = set(told);
        }
        self.end(number, time);
        written
    }

    /// Sets the times of a node, which the kernel tells. A late write that is under way leaves
    /// them.
    pub(crate) fn tell(&self, (number, node): (u64, &Handle), set: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
        let time = Arc::clone(self.0.lock().entry(number).or_default());
        let told = (|| {
            let mut time = time.lock();
            set()?;
            // A write that waits for the lock has not asked yet.
            if time.is_some() {
                *time = Some(node.attributes()?.mtime);
            }
            Ok(())
        })();
        self.end(number, time);
        told
    }

    /// Removes a node to which nothing else writes.
    fn end(&self, number: u64, time: Time) {
        let mut all = self.0.lock();
        drop(time);
        if all.get(&number).is_some_and(|time| Arc::strong_count(time) == 1) {
            all.remove(&number);
        }
    }
}
