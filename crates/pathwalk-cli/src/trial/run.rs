//! The command while it runs: the branch is served to it through FUSE.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use pathwalk::{Credentials, Vfs};
use pathwalk_bench::machine::{BUDGET, escaped};
use pathwalk_fuse::{CacheTimes, Served};
use pathwalk_hostfs::Coherence;
use pathwalk_try::{Outcome, Trial};

use super::chosen::{self, Chosen};
use super::options::TryArgs;
use crate::branch::place::{Missing, Place};
use crate::mount::resources;

/// How long the kernel answers by itself. What others change in the base is seen after that time
/// at most.
const KEPT: Duration = Duration::from_secs(1);

/// How long the end of the mount is waited for once all processes have ended.
const END: Duration = Duration::from_secs(30);

/// The name of the variable that tells a command that it is tried, and in which branch.
pub(super) const VARIABLE: &str = "PATHWALK_TRY";

/// Runs the command. The branch is stored when this returns, and not used any more.
pub(super) fn run(args: &TryArgs, place: &Place, directory: &Path) -> anyhow::Result<(Chosen, Outcome)> {
    let branches = place.open(Coherence::Watch, None, Missing::Make)?;
    let (chosen, branch) = chosen::choose(args, &branches)?;
    let outcome = (|| {
        let context = Vfs::builder().budget(BUDGET).build(branch).context("opening the branch")?.context(Credentials::root());
        let trial = trial(args, place, directory, &chosen)?;
        let mut served: Option<Served> = None;
        let outcome = trial.run(|device, options| {
            resources::allow_descriptors();
            resources::bound_arenas();
            let mut options = options.clone();
            options.times = CacheTimes { entry: KEPT, absence: KEPT, attributes: KEPT };
            served = Some(pathwalk_fuse::serve(&context, device, &options)?);
            Ok(())
        })?;
        // The last process has ended, and the mount with it.
        let _ = served.is_none_or(|served| served.wait_for(END));
        branches.sync().context("storing what was changed")?;
        anyhow::Ok(outcome)
    })();
    if outcome.is_err() && chosen.origin == chosen::Origin::New {
        // Nothing has run in it. What this fails with is less than what failed before.
        let _ = branches.drop(&chosen.name);
    }
    Ok((chosen, outcome?))
}

fn trial(args: &TryArgs, place: &Place, directory: &Path, chosen: &Chosen) -> anyhow::Result<Trial> {
    let mut trial = Trial::new(&place.base, &args.command);
    trial.directory = directory.to_owned();
    trial.variables = vec![(VARIABLE.into(), chosen.name.clone().into())];
    trial.writable = absolute(&args.rw)?;
    trial.read_only = absolute(&args.ro)?;
    trial.hidden = absolute(&args.hide)?;
    trial.private = super::stores(place);
    trial.network = args.net.network();
    trial.source = format!("branch:{}", chosen.name);
    trial.program = vec!["/proc/self/exe".into(), "try-inside".into()];
    Ok(trial)
}

/// Returns paths without links.
fn absolute(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let find = |path: &PathBuf| path.canonicalize().with_context(|| format!("\"{}\"", escaped(path)));
    paths.iter().map(find).collect()
}
