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

/// A use of a node's time. The last one to end removes the node.
struct Use<'a> {
    writes: &'a LateWrites,
    number: u64,
    time: Time,
}

impl LateWrites {
    /// Writes late data to a node, and sets its time to what it was, or to what the kernel told
    /// meanwhile. Where it may not be set, it is the time of the write.
    pub(crate) fn write<T>(
        &self,
        (number, node): (u64, &Handle),
        write: impl FnOnce() -> Result<T, Errno>,
        set: impl FnOnce(Timestamp) -> Result<(), Errno>,
    ) -> Result<T, Errno> {
        let used = self.used(number);
        {
            let mut time = used.time.lock();
            if time.is_none() {
                *time = Some(node.attributes()?.mtime);
            }
        }
        let written = write();
        if let Some(told) = *used.time.lock() {
            let _ = set(told);
        }
        written
    }

    /// Sets the times of a node, which the kernel tells. A late write that is under way leaves
    /// them.
    pub(crate) fn tell(&self, (number, node): (u64, &Handle), set: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
        let used = self.used(number);
        let mut time = used.time.lock();
        set()?;
        // A write that waits for the lock has not asked yet.
        if time.is_some() {
            *time = Some(node.attributes()?.mtime);
        }
        Ok(())
    }

    fn used(&self, number: u64) -> Use<'_> {
        let time = Arc::clone(self.0.lock().entry(number).or_default());
        Use { writes: self, number, time }
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        let mut all = self.writes.0.lock();
        // The map's, and this one. Another use begins under the lock of the map.
        if Arc::strong_count(&self.time) == 2 {
            all.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::{At, AtFlags, Context, Credentials, SetTime, Vfs};
    use pathwalk_memfs::MemFs;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp { seconds, nanoseconds: 0 }
    }

    fn set(context: &Context, mtime: Timestamp) -> Result<(), Errno> {
        context.utimensat(At::Cwd, "/file", SetTime::Keep, SetTime::To(mtime), AtFlags::empty())
    }

    #[test]
    fn the_time_is_the_one_that_was_told_last() {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        context.write("/file", "data").unwrap();
        set(&context, at(1)).unwrap();
        let node = context.lookup("/file").unwrap();
        let (late, write) = (LateWrites::default(), || context.write("/file", "late").map_err(|error| error.errno()));
        let mtime = || node.attributes().unwrap().mtime;

        late.write((1, &node), write, |mtime| set(&context, mtime)).unwrap();
        assert_eq!(mtime(), at(1), "nothing was told");

        let told_meanwhile = || {
            late.write((1, &node), write, |mtime| set(&context, mtime))?;
            late.tell((1, &node), || set(&context, at(2)))?;
            write()
        };
        late.write((1, &node), told_meanwhile, |mtime| set(&context, mtime)).unwrap();
        assert_eq!(mtime(), at(2));

        late.tell((1, &node), || set(&context, at(3))).unwrap();
        late.write((1, &node), write, |mtime| set(&context, mtime)).unwrap();
        assert_eq!(mtime(), at(3));
        assert!(late.0.lock().is_empty());
    }
}
