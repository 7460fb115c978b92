//! The faults of the file system, by the number of the call.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pathwalk::{Credentials, Errno, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{Entry, EntryFlags, Op, Pool, Ring};

use crate::wild::{AT_ONCE, CLOSE, Hooks, When, throw};

/// A fault that a call may meet.
#[derive(Clone, Copy)]
enum Kind {
    Error,
    Delay,
    PanicBefore,
    PanicAfter,
    PanicOfClose,
    UseOfPool,
}

const KINDS: [&str; 6] = ["errors", "delays", "panics before", "panics after", "panics of close", "uses of the pool"];

/// The number of times that each kind was met.
pub(crate) struct Met {
    calls: AtomicU64,
    kinds: [AtomicU64; 6],
}

impl Met {
    pub(crate) fn all_kinds(&self) -> bool {
        self.kinds.iter().all(|kind| kind.load(Relaxed) > 0)
    }

    fn count(&self, kind: Kind) {
        self.kinds[kind as usize].fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls", self.calls.load(Relaxed))?;
        KINDS.iter().zip(&self.kinds).try_for_each(|(name, kind)| write!(f, ", {} {name}", kind.load(Relaxed)))
    }
}

/// Computes SplitMix64's last step: every bit of the result depends on every bit of the number.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Returns a function that reads the pool's state, and uses a ring of its own over it, one call at
/// a time.
fn user(pool: &Pool) -> impl Fn() + Send + Sync + 'static {
    let vfs = Vfs::builder().budget(Vfs::budget_for(16)).build(MemFs::new()).unwrap();
    let ring = Ring::builder(vfs.context(Credentials::root())).entries(2).pool(pool.clone()).build();
    let (pool, ring) = (pool.clone(), Mutex::new(ring));
    move || {
        pool.stats();
        if let Ok(mut ring) = ring.try_lock() {
            _ = ring.submit_one(Entry::new(0, Op::stat("/none")).with(EntryFlags::ASYNC));
            _ = ring.cancel(0);
            while ring.reap().is_some() {}
        }
    }
}

/// Makes calls meet faults from now on.
pub(crate) fn start(hooks: &Hooks, seed: u64, pool: &Pool) -> Arc<Met> {
    let met = Arc::new(Met { calls: AtomicU64::new(0), kinds: Default::default() });
    let (counts, use_pool) = (met.clone(), user(pool));
    hooks.set(move |call, when| {
        let dice = mixed(seed ^ mixed(counts.calls.fetch_add(1, Relaxed)));
        let (which, how) = (dice % 1000, dice / 1000);
        // Two panics at once abort, as the trait's contract says.
        let may_panic = call != "forget" && !std::thread::panicking();
        match which {
            0..20 if when == When::Before && call != CLOSE => {
                counts.count(Kind::Error);
                return Err([Errno::EIO, Errno::ENOMEM, Errno::ESTALE][(how % 3) as usize]);
            }
            20..23 if !AT_ONCE.contains(&call) => {
                counts.count(Kind::Delay);
                std::thread::sleep(Duration::from_micros(how % 100));
            }
            30..32 if may_panic => {
                counts.count(if when == When::Before { Kind::PanicBefore } else { Kind::PanicAfter });
                throw();
            }
            40..90 if call == CLOSE && may_panic => {
                counts.count(Kind::PanicOfClose);
                throw();
            }
            90..93 => {
                counts.count(Kind::UseOfPool);
                use_pool();
            }
            _ => {}
        }
        Ok(())
    });
    met
}
