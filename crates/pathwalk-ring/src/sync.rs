//! The one place where locks and threads are imported: std and `parking_lot`, or shuttle's.
//!
//! Always: with debug assertions, each thread counts how many of these locks it holds, so that
//! `foreign` can refuse to run code under one.
//!
//! Under shuttle no time passes: a wait with a time limit has none. Locks are not counted there
//! either, because its threads share one thread of the system.

use std::time::Instant;

/// The reason why a thread that slept is awake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awake {
    /// A wake-up, perhaps a spurious one.
    Woken,
    /// The time limit has expired.
    TimeOver,
}

#[cfg(not(shuttle))]
mod imp {
    use std::ops::{Deref, DerefMut};

    use super::{Awake, Instant};
    pub(crate) use parking_lot::Condvar;
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

    /// A mutex whose guards are counted.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    pub(crate) struct MutexGuard<'a, T> {
        guard: parking_lot::MutexGuard<'a, T>,
        _held: Held,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(parking_lot::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard { guard: self.0.lock(), _held: Held::new() }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }

    /// A count of a lock that the thread holds, where debug assertions are on.
    struct Held;

    #[cfg(debug_assertions)]
    thread_local! {
        static HELD: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    impl Held {
        fn new() -> Held {
            #[cfg(debug_assertions)]
            HELD.set(HELD.get() + 1);
            Held
        }
    }

    #[cfg(debug_assertions)]
    impl Drop for Held {
        fn drop(&mut self) {
            HELD.set(HELD.get() - 1);
        }
    }

    /// Panics if this thread holds a lock of this crate.
    pub(crate) fn assert_unlocked() {
        #[cfg(debug_assertions)]
        assert_eq!(HELD.get(), 0, "foreign code under a lock");
    }

    /// Releases the lock until woken, or until `until`.
    pub(crate) fn wait<'a, T>(
        condvar: &Condvar,
        mut held: MutexGuard<'a, T>,
        until: Option<Instant>,
    ) -> (MutexGuard<'a, T>, Awake) {
        let timed_out = match until {
            Some(until) => condvar.wait_until(&mut held.guard, until).timed_out(),
            None => {
                condvar.wait(&mut held.guard);
                false
            }
        };
        (held, if timed_out { Awake::TimeOver } else { Awake::Woken })
    }

    /// Starts a thread that is never joined.
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

    pub(crate) fn assert_unlocked() {}

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
