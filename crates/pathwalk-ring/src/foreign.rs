//! The one place that calls code outside of this crate, which may do anything: a file system's
//! methods and the drops of what it handed out, a task's waker, an owner's bell.
//!
//! Always: the thread that runs such code holds no lock of this crate (tested in builds with debug
//! assertions). A panic of such code ends here, also one in a drop, also one in the drop of the
//! panic's payload.
//!
//! What it does not do: keep such code from blocking. Values whose drop may block are dropped by a
//! worker; see `closing`.

use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sync::assert_unlocked;

/// The error of a call that has panicked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Panicked;

/// Calls code that is not of this crate.
pub(crate) fn caught<T>(what: impl FnOnce() -> T) -> Result<T, Panicked> {
    assert_unlocked();
    catch_unwind(AssertUnwindSafe(what)).map_err(|thrown| {
        // The drop of the payload may panic, too. The payload of that second panic is leaked.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
            std::mem::forget(another);
        }
        Panicked
    })
}

/// A value whose drop runs code outside of this crate. Wherever this is dropped, the value is
/// dropped inside [`caught`].
pub(crate) struct Foreign<T>(Option<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(value: T) -> Foreign<T> {
        Foreign(Some(value))
    }

    /// Returns the value.
    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect(HELD)
    }
}

const HELD: &str = "it is there until this is consumed";

impl<T> Deref for Foreign<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for Foreign<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect(HELD)
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            _ = caught(|| drop(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thrower;

    impl Drop for Thrower {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(Thrower));
        }
    }

    #[test]
    fn what_is_thrown_ends_here() {
        assert_eq!(caught(|| 1), Ok(1));
        assert_eq!(caught(|| drop(Thrower)), Err(Panicked));
        drop(Foreign::new(Thrower));
        drop([(); 3].map(|()| Foreign::new(Thrower)));
        std::mem::forget(Foreign::new(Thrower).into_inner());
    }

    /// Runs in threads of its own, whose thread-local state ends with them.
    #[cfg(all(debug_assertions, not(shuttle)))]
    #[test]
    fn nothing_foreign_runs_under_a_lock() {
        let under_a_lock = std::thread::spawn(|| {
            let lock = crate::sync::Mutex::new(());
            let _held = lock.lock();
            caught(|| ())
        });
        assert!(under_a_lock.join().is_err());
        let behind_it = std::thread::spawn(|| {
            drop(crate::sync::Mutex::new(()).lock());
            caught(|| ())
        });
        assert_eq!(behind_it.join().ok(), Some(Ok(())));
    }
}
