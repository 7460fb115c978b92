//! The thread that stores changed branches from time to time, so that a crash costs no more than
//! that time.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pathwalk::Errno;

use super::Stored;

/// The thread. It ends when this is dropped.
pub(crate) struct Keeper {
    end: Arc<End>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct End {
    is_asked_for: Mutex<bool>,
    changed: Condvar,
}

impl Keeper {
    pub(crate) fn new(stored: &Arc<Stored>, every: Duration) -> Result<Keeper, Errno> {
        let (stored, end) = (Arc::clone(stored), Arc::new(End::default()));
        let until = Arc::clone(&end);
        let run = move || {
            while !until.waits(every) {
                // A sync that a user asks for meets the same error, and reports it.
                _ = stored.sync_all();
            }
        };
        let thread = std::thread::Builder::new().name("branch keeper".into()).spawn(run).map_err(|_| Errno::EAGAIN)?;
        Ok(Keeper { end, thread: Some(thread) })
    }
}

impl End {
    /// Waits for this time. Returns whether the end was asked for.
    fn waits(&self, time: Duration) -> bool {
        let mut is_asked_for = self.is_asked_for.lock();
        self.changed.wait_while_for(&mut is_asked_for, |is_asked_for| !*is_asked_for, time);
        *is_asked_for
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.end.is_asked_for.lock() = true;
        self.end.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // Only a panic there ends it with an error, and that was printed.
            _ = thread.join();
        }
    }
}
