//! The end of waits in pipes and for locks on files: by another thread, which cancels them.
//!
//! What always holds: a wait is entered before its thread sleeps, and the flag is looked at after
//! that. A thread that cancels sets the flag first, and then wakes what was entered: of a pipe
//! under the pipe's lock, under which its sleeper looks. So no thread sleeps on after it was
//! cancelled.
//!
//! What it does not do: it ends no call of a file system or a driver, unless that looks at
//! [`Cancellation::current`].

use std::cell::RefCell;
use std::sync::Arc as StdArc;

use crate::Errno;
use crate::sync::{Arc, Mutex, thread_local};

thread_local! {
    /// The cancellation under which this thread works.
    static CURRENT: RefCell<Option<Cancellation>> = RefCell::new(None);
}

/// The power to end the waits of some threads, which Linux ends by a signal: requests for locks on
/// files, opens of a pipe that wait for its other end, and reads and writes that wait for data or
/// room. Clones share it.
///
/// A wait that is cancelled is `ECANCELED`, but a write that has written something returns how
/// much. Nothing else is cancelled: no operation that does not wait, and no call of a file system.
///
/// Cost: nothing where nothing waits.
///
/// ```
/// use pathwalk::{Cancellation, Credentials, Errno, NewKind, OpenFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mknod("/pipe", NewKind::Fifo, 0o600)?;
/// let cancellation = Cancellation::new();
/// let opened = std::thread::scope(|scope| {
///     let opener = scope.spawn(|| cancellation.during(|| context.open("/pipe", OpenFlags::READ).map(drop)));
///     // The tenant is to be ended, and has a thread that waits for a writer.
///     cancellation.cancel();
///     opener.join().unwrap()
/// });
/// assert_eq!(opened, Err(Errno::ECANCELED));
/// assert!(cancellation.is_cancelled());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cancellation(Arc<Shared>);

/// An observer of waits: for pools of threads, which start another one for a thread that waits.
///
/// Both methods are called by the thread that waits, under no lock of the engine. They must not
/// panic.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use pathwalk::{Cancellation, Credentials, NewKind, OpenFlags, Vfs, WaitObserver};
///
/// #[derive(Default)]
/// struct Waits(AtomicUsize);
///
/// impl WaitObserver for Waits {
///     fn wait_begins(&self) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
///     fn wait_ends(&self) {}
/// }
///
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mknod("/pipe", NewKind::Fifo, 0o600)?;
/// let waits = Arc::new(Waits::default());
/// let cancellation = Cancellation::observed(waits.clone());
/// std::thread::scope(|scope| {
///     scope.spawn(|| cancellation.during(|| context.open("/pipe", OpenFlags::READ)));
///     while waits.0.load(Ordering::Relaxed) == 0 {
///         std::thread::yield_now();
///     }
///     context.open("/pipe", OpenFlags::WRITE)
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait WaitObserver: Send + Sync {
    /// Begins a wait of the calling thread.
    fn wait_begins(&self);

    /// Ends the wait.
    fn wait_ends(&self);
}

struct Shared {
    state: Mutex<State>,
    observer: Option<StdArc<dyn WaitObserver>>,
}

#[derive(Default)]
struct State {
    is_cancelled: bool,
    /// What threads sleep on, with a number for each thread.
    waits: Vec<(u64, StdArc<dyn Wake>)>,
    /// The last number that was given.
    last: u64,
}

/// A thing on which a thread sleeps that may be cancelled.
pub(crate) trait Wake: Send + Sync {
    /// Wakes the thread, which looks whether it was cancelled.
    fn wake(&self);
}

impl Cancellation {
    /// Creates one that is not cancelled.
    pub fn new() -> Cancellation {
        Cancellation::built(None)
    }

    /// Creates one whose waits are observed.
    ///
    /// [`WaitObserver`] has an example.
    pub fn observed(observer: StdArc<dyn WaitObserver>) -> Cancellation {
        Cancellation::built(Some(observer))
    }

    fn built(observer: Option<StdArc<dyn WaitObserver>>) -> Cancellation {
        Cancellation(Arc::new(Shared { state: Mutex::default(), observer }))
    }

    /// Returns the one under which the calling thread works: for file systems that wait themselves.
    ///
    /// ```
    /// use pathwalk::Cancellation;
    /// assert!(Cancellation::current().is_none());
    /// let cancellation = Cancellation::new();
    /// cancellation.during(|| assert!(!Cancellation::current().unwrap().is_cancelled()));
    /// ```
    pub fn current() -> Option<Cancellation> {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Calls `what`, whose waits in this thread can be cancelled by this. Of nested calls the inner
    /// one counts.
    pub fn during<T>(&self, what: impl FnOnce() -> T) -> T {
        let outer = CURRENT.with(|current| current.borrow_mut().replace(self.clone()));
        let _back = Back(outer);
        what()
    }

    /// Ends all waits under it, and all later ones before they begin. Never blocks.
    pub fn cancel(&self) {
        let waits = {
            let mut state = self.0.state.lock();
            state.is_cancelled = true;
            state.waits.clone()
        };
        waits.iter().for_each(|(_, sleeper)| sleeper.wake());
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.lock().is_cancelled
    }
}

impl Default for Cancellation {
    fn default() -> Cancellation {
        Cancellation::new()
    }
}

impl std::fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancellation").field("is_cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// The cancellation under which the thread worked before, which it works under again.
struct Back(Option<Cancellation>);

impl Drop for Back {
    fn drop(&mut self) {
        let outer = self.0.take();
        drop(CURRENT.with(|current| current.replace(outer)));
    }
}

/// The waits of one operation. Dropped without a lock of the engine, since that calls the observer.
#[derive(Default)]
pub(crate) struct Sleeper(Option<Wait>);

/// A wait that has begun, under a cancellation if there is one.
struct Wait(Option<(Cancellation, u64)>);

impl Sleeper {
    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a wait on something whose lock the caller does not hold. `ECANCELED`.
    pub(crate) fn begin(&mut self, on: impl Wake + 'static) -> Result<(), Errno> {
        let Some(under) = Cancellation::current() else {
            self.0 = Some(Wait(None));
            return Ok(());
        };
        let number = {
            let mut state = under.0.state.lock();
            if state.is_cancelled {
                return Err(Errno::ECANCELED);
            }
            state.last += 1;
            let number = state.last;
            state.waits.push((number, StdArc::new(on)));
            number
        };
        if let Some(observer) = &under.0.observer {
            observer.wait_begins();
        }
        self.0 = Some(Wait(Some((under, number))));
        Ok(())
    }

    /// Returns whether the wait that was begun may go on. Of a pipe, the caller holds the lock.
    /// `ECANCELED`.
    pub(crate) fn go_on(&self) -> Result<(), Errno> {
        let under = self.0.as_ref().and_then(|wait| wait.0.as_ref());
        if under.is_some_and(|(under, _)| under.is_cancelled()) { Err(Errno::ECANCELED) } else { Ok(()) }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let Some((Cancellation(shared), number)) = &self.0 else { return };
        shared.state.lock().waits.retain(|(of, _)| of != number);
        if let Some(observer) = &shared.observer {
            observer.wait_ends();
        }
    }
}
