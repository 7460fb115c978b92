//! The state at the beginning of a batch: a `Vfs` that has only the hot files cached, and a kernel
//! that has no more cached.

use std::time::{Duration, Instant};

use pathwalk::{Context, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, Descriptors, HostFs};
use pathwalk_ring::{Pool, Ring};

use super::Plan;
use super::delayed::Delayed;
use super::drive::{self, Failure};
use super::place::{Place, Target};
use super::processors::Processors;
use crate::machine::{Doing, SetUpError, credentials, escaped};

/// The budget of the caches: room for some 16,000 files.
const BUDGET: u64 = 4 << 20;

/// Creates a new `Vfs` over the place, with the hot files cached. Fails if the place or a file
/// cannot be opened.
pub(super) fn context(place: &Place, plan: &Plan, hot: &[Target]) -> Result<Context, SetUpError> {
    let fs = HostFs::open(place.path())
        .doing(|| format!("opening \"{}\" for pathwalk", escaped(place.path())))?
        .with_coherence(Coherence::Frozen);
    let flags = fs.mount_flags();
    let fs = Delayed { fs: fs.with_descriptors(plan.descriptors), delay: plan.delay };
    // Directories are not read as a whole, so that every planned miss is a miss.
    let builder = Vfs::builder().budget(BUDGET).mount_flags(flags).one_by_one();
    let vfs = builder.build(fs).doing(|| "building a Vfs over it".into())?;
    let context = vfs.context(credentials()?);
    for target in hot {
        open(&context, target).doing(|| format!("opening \"{}\"", escaped(&target.outside)))?;
    }
    Ok(context)
}

/// Creates a ring with one worker, which is already running and awake.
pub(super) fn ring(context: Context, depth: usize, processors: &Processors) -> Result<Ring, Failure> {
    let pool = Pool::builder().workers(1).idle(Duration::from_secs(3600)).build();
    let mut ring = Ring::builder(context).entries(depth).completions(depth).pool(pool).build();
    processors.beside(|| drive::hops(&mut ring, 1, 1))?;
    drive::hops(&mut ring, 4 * depth, depth)?;
    Ok(ring)
}

fn open(context: &Context, target: &Target) -> Result<(), Errno> {
    context.open(&target.inside, OpenFlags::READ).map(drop)
}

/// Returns the nanoseconds of a try that fails, for each of these files, none of which is cached.
pub(super) fn tries(context: &Context, cold: &[&Target]) -> Result<f64, Failure> {
    let cached = context.cached();
    let start = Instant::now();
    for target in cold {
        let answer = cached.open(&target.inside, OpenFlags::READ);
        if answer.map(drop) != Err(Errno::EAGAIN) {
            return Err(Failure::Known(target.outside.clone()));
        }
    }
    Ok(each(start.elapsed(), cold.len()))
}

/// Returns the nanoseconds of an open by a thread that may wait, for each of these files.
pub(super) fn waits(context: &Context, cold: &[&Target]) -> Result<f64, Failure> {
    let start = Instant::now();
    for target in cold {
        open(context, target).map_err(|errno| Failure::Open(target.outside.clone(), errno))?;
    }
    Ok(each(start.elapsed(), cold.len()))
}

/// Returns the nanoseconds of each of `count` operations.
pub(super) fn each(time: Duration, count: usize) -> f64 {
    time.as_nanos() as f64 / count.max(1) as f64
}

/// Returns whether an open file holds a descriptor of the host.
pub(super) fn holds_descriptor(descriptors: Descriptors) -> bool {
    descriptors == Descriptors::AtOpen
}
