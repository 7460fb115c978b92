//! The other engine: a layer of the kernel's overlayfs, which is taken into the branch afterwards.
//!
//! What always holds: the layer of a branch is in the store, in a directory that is named by the
//! branch, from before the command starts until it is taken. So what was changed outlives a crash:
//! the next `try` in that branch takes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context as _, bail};
use pathwalk::{Context, Credentials, Vfs};
use pathwalk_bench::machine::BUDGET;
use pathwalk_branch::{Branch, Branches, Error};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_overlay::{Form, Layer, Suited, Taking};
use pathwalk_try::Engine;

use super::chosen::{Chosen, Origin};
use super::options::{TryArgs, Wanted};
use crate::branch::place::{self, Place};

/// The directory of the layers, in the store.
const LAYERS: &str = "layers";

/// The directory of layers that were taken, in the store. They are being removed, or left by a
/// process that was killed before it had removed them.
const TAKEN: &str = "layers.taken";

/// Paths of the base that changed while a layer covered them.
pub(super) type Changed = Vec<Box<[u8]>>;

fn dir_of(place: &Place, name: &str) -> PathBuf {
    place.store.join(LAYERS).join(place::name_of(Path::new(name)))
}

/// Returns whether the branch has a layer that was not taken.
pub(super) fn is_left_behind(place: &Place, chosen: &Chosen) -> bool {
    dir_of(place, &chosen.name).exists()
}

/// Takes the layer that a `try` in this branch has left behind when it was killed, and removes one
/// that an older branch of this name has left.
pub(super) fn take_left_behind(place: &Place, branches: &Branches, chosen: &Chosen) -> anyhow::Result<Changed> {
    let dir = dir_of(place, &chosen.name);
    if !dir.exists() {
        return Ok(Changed::new());
    }
    match (Layer::open(&dir), chosen.origin) {
        // A branch with changes has been given it as a whole: it had none when the layer was begun.
        (Ok(layer), Origin::Kept) if branches.diff(&chosen.name)?.is_empty() => take(place, branches, &chosen.name, layer),
        (Ok(layer), _) => layer.remove().map(|()| Changed::new()).context("removing an old layer of overlayfs"),
        // It was killed before the command started.
        (Err(_), _) => {
            Layer::remove_left(&dir)?;
            Ok(Changed::new())
        }
    }
}

/// Returns the engine that is wished, with the layer that it takes.
pub(super) fn engine(
    args: &TryArgs,
    place: &Place,
    branches: &Branches,
    chosen: &Chosen,
) -> anyhow::Result<(Engine, Option<Layer>)> {
    const FUSE: (Engine, Option<Layer>) = (Engine::Fuse, None);
    let is_empty = || anyhow::Ok(args.fork_of.is_none() && branches.diff(&chosen.name)?.is_empty());
    match args.engine {
        Wanted::Fuse => Ok(FUSE),
        Wanted::Overlay if !is_empty()? => {
            bail!("the branch \"{}\" has changes, and overlayfs begins with the base: leave --engine out", chosen.name)
        }
        Wanted::Overlay => Ok(mounted(place, &chosen.name)?.0),
        // In a user namespace, it is not as a plain directory.
        Wanted::Auto if Form::of_this_process() == Form::User || !is_empty()? => Ok(FUSE),
        Wanted::Auto => match mounted(place, &chosen.name) {
            Ok((engine, Suited::Yes)) => Ok(engine),
            Ok(((_, layer), Suited::No(_))) => {
                layer.map_or(Ok(()), Layer::remove)?;
                Ok(FUSE)
            }
            // The store is where no layer can be, in the base for example.
            Err(_) => {
                let dir = dir_of(place, &chosen.name);
                if dir.exists() {
                    std::fs::remove_dir_all(&dir).with_context(|| format!("removing \"{}\"", dir.display()))?;
                }
                Ok(FUSE)
            }
        },
    }
}

/// Makes a layer, and mounts it where this process may do that as root; else the process inside
/// does it.
fn mounted(place: &Place, name: &str) -> anyhow::Result<((Engine, Option<Layer>), Suited)> {
    let dir = dir_of(place, name);
    let layers = place.store.join(LAYERS);
    std::fs::create_dir_all(&layers).with_context(|| format!("making \"{}\"", layers.display()))?;
    let layer = Layer::create(&dir, &place.base)?;
    match layer.form() {
        Form::User => Ok(((Engine::Layer(dir), Some(layer)), Suited::No(Vec::new()))),
        Form::Trusted => {
            let mount = layer.mount(&place.base)?;
            let suited = layer.suited(&place.base, &mount)?;
            Ok(((Engine::Mounted(Arc::new(mount)), Some(layer)), suited))
        }
    }
}

/// Takes a layer into a branch, as a whole or not at all, and sets it aside to be removed.
pub(super) fn take(place: &Place, branches: &Branches, name: &str, layer: Layer) -> anyhow::Result<Changed> {
    branches.catch_up();
    let fork = format!("{}.taken", place::name_of(Path::new(name)));
    match branches.drop(&fork) {
        // One that was killed has left it.
        Ok(()) | Err(Error::NoBranch(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let fs = HostFs::open(&place.base)?.with_coherence(Coherence::Frozen);
    let base = Vfs::builder().budget(BUDGET).build(fs).context("opening the base")?.context(Credentials::root());
    let branch = context(branches.fork(Some(name), &fork)?)?;
    let taken = Taking::of(&layer, &base, &branch).and_then(|taking| {
        let changed = taking.changed().to_vec();
        taking.take().map(|()| changed)
    });
    drop(branch);
    let changed = match taken {
        Ok(changed) => changed,
        Err(error) => {
            // The layer is kept. What this fails with is less than what failed before.
            let _ = branches.drop(&fork);
            return Err(error).context("taking what was changed on overlayfs");
        }
    };
    branches.commit(&fork)?;
    let taken = place.store.join(TAKEN);
    std::fs::create_dir_all(&taken).with_context(|| format!("making \"{}\"", taken.display()))?;
    let aside = taken.join(format!("{}-{}", place::name_of(Path::new(name)), std::process::id()));
    // A process of this number may have left one there.
    layer.rename(&aside).or_else(|_| layer.remove())?;
    Ok(changed)
}

/// The removal of the layers that were taken, while this process does something else. It is over
/// when this is dropped. What could not be removed is tried again by the next process.
pub(super) struct Removal(Option<JoinHandle<()>>);

impl Removal {
    pub(super) fn begin(place: &Place) -> Removal {
        let taken = place.store.join(TAKEN);
        let remove = move || {
            for entry in std::fs::read_dir(&taken).into_iter().flatten().flatten() {
                _ = Layer::remove_left(&entry.path());
            }
        };
        // Without a thread, the next process removes them.
        Removal(std::thread::Builder::new().name("layers taken".into()).spawn(remove).ok())
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.0.take().map(JoinHandle::join);
    }
}

/// Returns a context on a branch.
pub(super) fn context(branch: Branch) -> anyhow::Result<Context> {
    Ok(Vfs::builder().budget(BUDGET).build(branch).context("opening the branch")?.context(Credentials::root()))
}
