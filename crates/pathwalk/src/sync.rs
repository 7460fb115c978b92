//! The one place where atomics and locks are imported: std and `parking_lot`, or loom's, or
//! shuttle's. Under Miri, all are std's, because Miri rejects the system calls of `parking_lot` and
//! `atomic-wait` as ill-typed.
//!
//! loom's atomics are neither zeroable nor of their real size, so slots are laid out by indexing
//! words and never by casting.

#[cfg(not(any(loom, shuttle, miri)))]
mod imp {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::Arc;
    pub(crate) use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use std::thread::yield_now;
    pub(crate) use std::thread_local;

    use std::time::Instant;

    pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
    use zerocopy::FromZeros;

    /// Orders a following `SeqCst` access after a `SeqCst` swap: that needs nothing here.
    pub(crate) fn fence_after_swap() {}

    /// Gives the lock back until woken. Spurious wake-ups are possible.
    pub(crate) fn wait<'a, T>(condvar: &Condvar, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condvar.wait(&mut guard);
        guard
    }

    /// Does the same as [`wait`], but not for longer than until a time.
    pub(crate) fn wait_until<'a, T>(
        condvar: &Condvar,
        mut guard: MutexGuard<'a, T>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        match until {
            None => condvar.wait(&mut guard),
            Some(until) => _ = condvar.wait_until(&mut guard, until),
        }
        guard
    }

    /// Allocates zeroed atomics that cost no memory until they are touched. Returns `None` where
    /// there is no room.
    ///
    /// Alignment 8 matters: the allocator zeroes lazily only up to an alignment of 16.
    pub(crate) fn zeroed<T: FromZeros>(n: usize) -> Option<Box<[T]>> {
        <[T]>::new_box_zeroed_with_elems(n).ok()
    }

    /// Returns the number of locks among which the work of one is divided.
    pub(crate) const fn stripes(n: usize) -> usize {
        n
    }

    /// Returns the number of shares of one resource that the threads have.
    pub(crate) const fn shares(n: usize) -> usize {
        n
    }

    /// Returns a number of this thread. Threads that start one after the other have consecutive
    /// numbers.
    pub(crate) fn share() -> usize {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        thread_local!(static SHARE: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
        // While the thread's variables are being dropped, any number will do.
        SHARE.try_with(|share| *share).unwrap_or(0) as usize
    }
}

#[cfg(any(loom, shuttle, miri))]
mod imp {
    #[cfg(loom)]
    use loom as model;
    #[cfg(shuttle)]
    use shuttle as model;
    #[cfg(miri)]
    use std as model;
    use std::time::Instant;
    #[cfg(miri)]
    use zerocopy::FromZeros;

    pub(crate) use model::hint::spin_loop;
    pub(crate) use model::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use model::sync::{Arc, Condvar, MutexGuard};
    pub(crate) use model::thread::yield_now;
    pub(crate) use model::thread_local;

    /// A mutex whose `lock` returns the guard, as `parking_lot`'s does.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(model::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(model::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
        }
    }

    /// Issues a fence for loom, which models `SeqCst` accesses as weaker ones, but fences exactly.
    pub(crate) fn fence_after_swap() {
        if cfg!(loom) {
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Does the same as [`wait`]. In models no time passes.
    #[cfg(not(miri))]
    pub(crate) fn wait_until<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, _until: Option<Instant>) -> MutexGuard<'a, T> {
        wait(condvar, guard)
    }

    #[cfg(miri)]
    pub(crate) fn wait_until<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, until: Option<Instant>) -> MutexGuard<'a, T> {
        let Some(until) = until else { return wait(condvar, guard) };
        let left = until.saturating_duration_since(Instant::now());
        condvar.wait_timeout(guard, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    #[cfg(any(loom, shuttle))]
    pub(crate) use model::lazy_static;

    #[cfg(miri)]
    pub(crate) fn zeroed<T: FromZeros>(n: usize) -> Option<Box<[T]>> {
        <[T]>::new_box_zeroed_with_elems(n).ok()
    }

    /// Allocates the atomics. Every word is an object of the model, so tests keep their budgets
    /// small.
    #[cfg(not(miri))]
    pub(crate) fn zeroed<T: Default>(n: usize) -> Option<Box<[T]>> {
        Some((0..n).map(|_| T::default()).collect())
    }

    /// Returns one, so that models have threads that share it.
    pub(crate) const fn shares(_n: usize) -> usize {
        1
    }

    pub(crate) fn share() -> usize {
        0
    }

    /// Returns few, so that models have threads that share a stripe, and threads that need two.
    pub(crate) const fn stripes(_n: usize) -> usize {
        3
    }
}

pub(crate) use imp::*;

#[cfg(not(loom))]
pub(crate) use std::sync::Weak;

/// Returns a reference that does not keep the value alive.
#[cfg(not(loom))]
pub(crate) fn downgrade<T>(value: &Arc<T>) -> Weak<T> {
    Arc::downgrade(value)
}

/// A reference that does not keep the value alive. Loom has none, and its models have no values
/// that need one, so here it is one whose value is gone.
#[cfg(loom)]
pub(crate) struct Weak<T>(std::marker::PhantomData<fn() -> T>);

#[cfg(loom)]
impl<T> Weak<T> {
    pub(crate) fn upgrade(&self) -> Option<Arc<T>> {
        None
    }
}

#[cfg(loom)]
pub(crate) fn downgrade<T>(_value: &Arc<T>) -> Weak<T> {
    Weak(std::marker::PhantomData)
}

/// Gives a reference back. If it was the last one, the value is dropped by another thread, where
/// the system has threads.
pub(crate) fn give_back<T: Send + Sync + 'static>(value: Arc<T>) {
    #[cfg(not(loom))]
    if let Some(last) = Arc::into_inner(value) {
        // Where no thread can be started, the closure is dropped here.
        _ = std::thread::Builder::new().spawn(move || drop(last));
    }
    #[cfg(loom)]
    drop(value);
}

/// Returns a number above 0 that is returned only once. Also in models it is an atomic of std,
/// because it synchronizes nothing.
pub(crate) fn unique() -> u64 {
    use std::sync::atomic::AtomicU64;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

// The systems for which `atomic-wait` knows the call: the list of this crate's Cargo.toml.
#[cfg_attr(
    any(
        loom,
        shuttle,
        miri,
        not(any(
            target_os = "android",
            target_os = "freebsd",
            target_os = "ios",
            target_os = "linux",
            target_os = "macos",
            target_os = "watchos",
            windows
        ))
    ),
    path = "sync/sleep_queue.rs"
)]
mod sleep;
pub(crate) use sleep::{wait_on, wake_all};
