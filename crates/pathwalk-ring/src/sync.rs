//! The one place where locks and threads are imported: std and `parking_lot`, or shuttle's.
//!
//! Under shuttle no time passes: who waits with a time limit waits without.

use std::time::Instant;

/// Why somebody who slept is awake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awake {
    /// Woken, or for nothing.
    Woken,
    /// His time is over.
    TimeOver,
}

#[cfg(not(shuttle))]
mod imp {
    use super::{Awake, Instant};
    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

    /// Gives the lock back until woken, or until then.
    pub(crate) fn wait<'a, T>(
        condvar: &Condvar,
        mut guard: MutexGuard<'a, T>,
        until: Option<Instant>,
    ) -> (MutexGuard<'a, T>, Awake) {
        let timed_out = match until {
            Some(until) => condvar.wait_until(&mut guard, until).timed_out(),
            None => {
                condvar.wait(&mut guard);
                false
            }
        };
        (guard, if timed_out { Awake::TimeOver } else { Awake::Woken })
    }

    /// Starts a thread that nobody joins.
    pub(crate) fn spawn(what: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        std::thread::Builder::new().name("pathwalk-worker".into()).spawn(what).map(drop)
    }
}

#[cfg(shuttle)]
mod imp {
    use super::{Awake, Instant};
    pub(crate) use shuttle::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use shuttle::sync::{Condvar, MutexGuard};

    /// A mutex whose `lock` returns the guard, as `parking_lot`'s does.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }

    pub(crate) fn wait<'a, T>(
        condvar: &Condvar,
        guard: MutexGuard<'a, T>,
        _until: Option<Instant>,
    ) -> (MutexGuard<'a, T>, Awake) {
        (condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner()), Awake::Woken)
    }

    pub(crate) fn spawn(what: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        drop(shuttle::thread::spawn(what));
        Ok(())
    }
}

pub(crate) use imp::*;
