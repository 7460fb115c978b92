//! The command while it runs: the branch is served to it through FUSE, or taken from a layer of
//! overlayfs afterwards.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use pathwalk::Context;
use pathwalk_bench::machine::escaped;
use pathwalk_branch::{Branches, Fork};
use pathwalk_fuse::{CacheTimes, MountError, Reported, Served};
use pathwalk_hostfs::Coherence;
use pathwalk_try::{Outcome, Started, Trial};

use super::chosen::{self, Chosen};
use super::options::{Sight, TryArgs};
use super::overlay::{self, Changed, Taken};
use crate::branch::place::{Missing, Place};
use crate::mount::resources;

/// How long the kernel answers by itself where no change is reported. What others change in the
/// base is seen after that time at most.
const KEPT: Duration = Duration::from_secs(1);

/// How long the end of the mount is waited for once all processes have ended.
const END: Duration = Duration::from_secs(30);

/// The name of the variable that tells a command that it is tried, and in which branch.
pub(super) const VARIABLE: &str = "PATHWALK_TRY";

/// The branch after the command.
pub(super) struct Ran {
    pub(super) chosen: Chosen,
    pub(super) outcome: Outcome,
    /// Paths of the base that changed meanwhile, so that what the command saw there is not defined.
    pub(super) changed: Changed,
    /// The list of branches, if it can be gone on with.
    pub(super) branches: Option<Branches>,
    /// The layer of overlayfs that the branch shows.
    pub(super) taken: Option<Taken>,
}

/// Runs the command. When this returns, the branch is stored, or held with a layer; and it is not
/// used any more.
pub(super) fn run(args: &TryArgs, place: &Place, directory: &Path) -> anyhow::Result<Ran> {
    // Both take as long as it takes to open the branches.
    let begun = Begun { started: Started::new(&inner_program())?, layer: overlay::begin(args, place) };
    // While the command is on overlayfs, a watch would report each of its files.
    let branches = if overlay::is_likely(args) { place.open_unmounted(Missing::Make)? } else { open_watched(place)? };
    overlay::remove_abandoned(place, &branches)?;
    let (chosen, fork) = chosen::choose(args, &branches)?;
    let mut branches = Some(branches);
    let ended = in_branch((args, place, directory), begun, &chosen, fork, &mut branches);
    if ended.is_err() && chosen.origin == chosen::Origin::New && !overlay::is_left_behind(place, &chosen) {
        // Nothing has run in it. What this fails with is less than what failed before.
        let _ = branches.as_ref().map(|branches| branches.drop(&chosen.name));
    }
    let Ended { outcome, changed, taken } = ended?;
    Ok(Ran { chosen, outcome, changed, branches, taken })
}

/// What is begun before the branches are open.
struct Begun {
    started: Started,
    layer: Option<overlay::Begun>,
}

/// The end of a command, and what it leaves.
struct Ended {
    outcome: Outcome,
    changed: Changed,
    taken: Option<Taken>,
}

fn open_watched(place: &Place) -> anyhow::Result<Branches> {
    place.open(Coherence::Watch, None, Missing::Make)
}

/// Runs the command in a branch. Leaves a list of branches that can be gone on with, or none.
fn in_branch(
    (args, place, directory): (&TryArgs, &Place, &Path),
    Begun { started, layer: begun }: Begun,
    chosen: &Chosen,
    fork: Fork,
    open: &mut Option<Branches>,
) -> anyhow::Result<Ended> {
    const IS_OPEN: &str = "a list is open";
    let name = &chosen.name;
    let mut changed = overlay::take_left_behind(place, open.as_ref().context(IS_OPEN)?, chosen)?;
    let mut trial = trial(&args.sight, place, name, &args.command)?;
    trial.directory = directory.to_owned();
    let (engine, layer) = overlay::engine(args, place, open.as_ref().context(IS_OPEN)?, chosen, begun)?;
    trial.engine = engine;
    let Some(layer) = layer else {
        let (mut branches, mut fork) = (open.take().context(IS_OPEN)?, fork);
        if overlay::is_likely(args) {
            // It is served after all, so changes of the base have to be seen.
            drop(fork.wait()?);
            drop(branches);
            branches = open_watched(place)?;
            fork = branches.get(name)?.into();
        }
        let outcome = serve(&trial, Some(started), || overlay::context(fork.wait()?));
        // The mount goes.
        drop(trial);
        if outcome.is_err() {
            *open = Some(branches);
        } else {
            branches.sync().context("storing what was changed")?;
            // The base may have changed in ways that were not reported yet, so another list is
            // opened then.
        }
        return Ok(Ended { outcome: outcome?, changed, taken: None });
    };
    let branches = open.as_ref().context(IS_OPEN)?;
    // Nothing is served.
    let outcome = trial.run_in(started, |_, _| Ok(()));
    let branch = fork.wait();
    // The mount goes.
    drop(trial);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            // Nothing has run in it.
            layer.remove()?;
            return Err(error.into());
        }
    };
    // The command has run, so what it changed is worth another attempt.
    let _branch = branch.or_else(|_| branches.fork(None, name))?;
    let taken = overlay::take(place, branches, name, layer)?;
    changed.extend_from_slice(&taken.changed);
    Ok(Ended { outcome, changed, taken: Some(taken) })
}

/// Runs the command, and serves the branch to it, of which `context` returns a context when it is
/// needed.
pub(super) fn serve(
    trial: &Trial,
    started: Option<Started>,
    context: impl FnOnce() -> anyhow::Result<Context>,
) -> anyhow::Result<Outcome> {
    let mut served: Option<Served> = None;
    let mut refused = None;
    let serve = |device: OwnedFd, options: &pathwalk_fuse::Options| {
        let context = context().map_err(|error| {
            refused = Some(error);
            MountError::Detached(std::io::Error::other("there is no branch"))
        })?;
        resources::allow_descriptors();
        resources::bound_arenas();
        let mut options = options.clone();
        options.times = CacheTimes { entry: KEPT, absence: KEPT, attributes: KEPT };
        options.reported = Reported::Forever;
        served = Some(pathwalk_fuse::serve(&context, device, &options)?);
        Ok(())
    };
    let outcome = match started {
        Some(started) => trial.run_in(started, serve),
        None => trial.run(serve),
    };
    if let Some(error) = refused {
        return Err(error);
    }
    let outcome = outcome?;
    // The last process has ended, and the mount with it.
    let _ = served.is_none_or(|served| served.wait_for(END));
    Ok(outcome)
}

/// Returns what a command sees that runs in a branch.
pub(super) fn trial(sight: &Sight, place: &Place, name: &str, command: &[OsString]) -> anyhow::Result<Trial> {
    let mut trial = Trial::new(&place.base, command);
    trial.variables = vec![(VARIABLE.into(), name.into())];
    trial.writable = absolute(&sight.rw)?;
    trial.read_only = absolute(&sight.ro)?;
    trial.hidden = absolute(&sight.hide)?;
    trial.private = super::stores(place);
    trial.network = sight.net.network();
    (trial.limits.memory, trial.limits.processes) = (sight.memory, sight.pids);
    trial.source = format!("branch:{name}");
    trial.program = inner_program().into();
    Ok(trial)
}

/// Returns the program of the inner process.
fn inner_program() -> [OsString; 2] {
    ["/proc/self/exe".into(), "try-inside".into()]
}

/// Returns paths without links.
fn absolute(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let find = |path: &PathBuf| path.canonicalize().with_context(|| format!("\"{}\"", escaped(path)));
    paths.iter().map(find).collect()
}
