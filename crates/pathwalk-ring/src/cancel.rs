//! Cancellation by `user_data`.

use pathwalk::Errno;

use crate::Ring;
use crate::pool::Found;
use crate::punt::Which;

impl Ring {
    /// Cancels the first entry of this ring that is found with this `user_data`. The entry
    /// completes with `ECANCELED`, and so do those linked behind it (unless by a hard link). Cost:
    /// a search through what waits for the pool's workers. Source: `IORING_OP_ASYNC_CANCEL`,
    /// `io_uring_register_sync_cancel(3)`.
    ///
    /// `ENOENT` if there is none: it has completed, or never existed. `EALREADY` if it, or the
    /// chain that it is in, runs or has just ended: it completes by itself. If it is not linked,
    /// and waits for a lock or in a named pipe, it completes with `ECANCELED`; a write completes
    /// with what it has written, if that is not nothing.
    pub fn cancel(&mut self, user_data: u64) -> Result<(), Errno> {
        let timeout = self.timeouts.iter().find(|(_, of)| **of == user_data).map(|(key, _)| *key);
        if let Some(key) = timeout {
            self.timeouts.remove(&key);
            self.complete(user_data, Err(Errno::ECANCELED));
            return Ok(());
        }
        match self.pool.cancel(self.completions.owner, Which::UserData(user_data), self.context.vfs()) {
            Found::Cut => Ok(()),
            Found::Running => Err(Errno::EALREADY),
            Found::Nowhere => Err(Errno::ENOENT),
        }
    }
}
