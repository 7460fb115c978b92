//! The other engine: a layer of the kernel's overlayfs, which is taken into the branch afterwards.
//!
//! What always holds: the layer of a branch is in the store, in a directory that is named by the
//! branch, from before the command starts until the branch is stored with all that is in it, is
//! committed or is dropped. So what was changed outlives a crash: the next `try` in that branch
//! takes it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail};
use pathwalk::{Context, Credentials, Vfs};
use pathwalk_bench::machine::BUDGET;
use pathwalk_branch::{BlobStore, Branch, Branches};
use pathwalk_output::program;
use pathwalk_overlay::{Form, Layer, LayerFiles, Suited, Taking};
use pathwalk_try::Engine;

use super::chosen::{Chosen, Origin};
use super::options::{TryArgs, Wanted};
use crate::branch::place::{self, Place};

/// The directory of the layers, in the store.
const LAYERS: &str = "layers";

/// The directory of layers that were taken, in the store: that of this process, and those of
/// processes that were killed before they had removed theirs.
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
        (Ok(layer), Origin::Kept) if branches.diff(&chosen.name)?.is_empty() => {
            if !layer.is_of_this_boot() {
                warn_of_loss(&chosen.name);
            }
            let taken = take(place, branches, &chosen.name, layer)?;
            taken.keep(place, branches, &chosen.name)?;
            Ok(taken.changed)
        }
        (Ok(layer), _) => layer.remove().map(|()| Changed::new()).context("removing an old layer of overlayfs"),
        // It was killed before the command started.
        (Err(_), _) => {
            Layer::remove_left(&dir)?;
            Ok(Changed::new())
        }
    }
}

/// Reports that what is taken of a branch may lack a part.
fn warn_of_loss(name: &str) {
    let name = name.escape_debug();
    program::complain(&anyhow::anyhow!(
        "the system stopped while a command ran in the branch \"{name}\": its files are taken as they are on disk, and the last \
         of them may be empty or cut off, so look before you commit"
    ));
}

/// Returns whether a layer is tried, if the branch has no changes.
pub(super) fn is_likely(args: &TryArgs) -> bool {
    match args.engine {
        Wanted::Fuse => false,
        Wanted::Overlay => true,
        // In a user namespace, it is not as a plain directory.
        Wanted::Auto => args.fork_of.is_none() && Form::of_this_process() == Form::Trusted,
    }
}

/// A layer that is about to be made, before the name of its branch is known.
pub(super) struct Begun(Option<JoinHandle<anyhow::Result<Mounted>>>);

/// A layer, with its mount where this process may mount it as root; else the process inside does
/// it.
struct Mounted {
    layer: Layer,
    mount: Option<Arc<OwnedFd>>,
    /// Whether it was asked for, or is as a plain directory.
    is_suited: bool,
}

/// Begins to make a layer in a thread, if it is likely that it is used.
pub(super) fn begin(args: &TryArgs, place: &Place) -> Option<Begun> {
    // A commit that was cut off has to be finished before the base is covered, and a store that is
    // made may change the base.
    let is_quiet = place.base.join(".pathwalk-commit").symlink_metadata().is_err() && place.store.join("rows").exists();
    if !is_likely(args) || args.branch.is_some() || !is_quiet {
        return None;
    }
    let (place, wanted, dir) = (place.clone(), args.engine, place.store.join(LAYERS).join(format!("new-{}", std::process::id())));
    let make = move || {
        // A process of this number may have left one there.
        _ = Layer::remove_left(&dir);
        make(&place, &dir, wanted)
    };
    let make = std::thread::Builder::new().name("layer".into()).spawn(make);
    make.ok().map(|thread| Begun(Some(thread)))
}

impl Begun {
    fn wait(mut self) -> Option<anyhow::Result<Mounted>> {
        self.0.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Begun {
    /// Removes it: it is not used.
    fn drop(&mut self) {
        if let Some(Ok(Ok(Mounted { layer, .. }))) = self.0.take().map(JoinHandle::join) {
            // The next process does it else.
            _ = layer.remove();
        }
    }
}

/// Returns the engine that is wished, with the layer that it takes.
pub(super) fn engine(
    args: &TryArgs,
    place: &Place,
    branches: &Branches,
    chosen: &Chosen,
    begun: Option<Begun>,
) -> anyhow::Result<(Engine, Option<Layer>)> {
    const FUSE: (Engine, Option<Layer>) = (Engine::Fuse, None);
    let is_new = || chosen.origin == Origin::New && args.fork_of.is_none();
    let is_empty = || anyhow::Ok(is_new() || args.fork_of.is_none() && branches.diff(&chosen.name)?.is_empty());
    match args.engine {
        Wanted::Fuse => Ok(FUSE),
        Wanted::Overlay if !is_empty()? => {
            bail!("the branch \"{}\" has changes, and overlayfs begins with the base: leave --engine out", chosen.name)
        }
        Wanted::Overlay => Ok(named(place, chosen, args.engine, begun)?.engine()),
        Wanted::Auto if !is_likely(args) || !is_empty()? => Ok(FUSE),
        Wanted::Auto => match named(place, chosen, args.engine, begun) {
            Ok(mounted @ Mounted { is_suited: true, .. }) => Ok(mounted.engine()),
            Ok(Mounted { layer, .. }) => {
                layer.remove()?;
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

/// Returns the layer of a branch: the one that was begun, or else a new one.
fn named(place: &Place, chosen: &Chosen, wanted: Wanted, begun: Option<Begun>) -> anyhow::Result<Mounted> {
    let dir = dir_of(place, &chosen.name);
    match begun.and_then(Begun::wait) {
        Some(mounted) => {
            let Mounted { layer, mount, is_suited } = mounted?;
            Ok(Mounted { layer: layer.renamed(&dir)?, mount, is_suited })
        }
        None => make(place, &dir, wanted),
    }
}

/// Makes a layer, and mounts it where this process may do that as root.
fn make(place: &Place, dir: &Path, wanted: Wanted) -> anyhow::Result<Mounted> {
    let layers = place.store.join(LAYERS);
    std::fs::create_dir_all(&layers).with_context(|| format!("making \"{}\"", layers.display()))?;
    let layer = Layer::create(dir, &place.base)?;
    match layer.form() {
        Form::User => Ok(Mounted { layer, mount: None, is_suited: wanted == Wanted::Overlay }),
        Form::Trusted => {
            let mount = layer.mount(&place.base)?;
            let is_suited = wanted == Wanted::Overlay || layer.suited(&place.base, &mount)? == Suited::Yes;
            Ok(Mounted { layer, mount: Some(Arc::new(mount)), is_suited })
        }
    }
}

impl Mounted {
    fn engine(self) -> (Engine, Option<Layer>) {
        let Mounted { layer, mount, .. } = self;
        let engine = mount.map_or_else(|| Engine::Layer(layer.dir().to_owned()), Engine::Mounted);
        (engine, Some(layer))
    }
}

/// A layer of which all is in its branch, which is held and shows the layer's own files.
pub(super) struct Taken {
    layer: Layer,
    /// Paths of the base that changed while the layer covered them.
    pub(super) changed: Changed,
}

/// Takes a layer into its branch, which is held from then on. If that fails, the store has the
/// branch without it, and the layer.
pub(super) fn take(place: &Place, branches: &Branches, name: &str, layer: Layer) -> anyhow::Result<Taken> {
    // As it is once the command has ended. It is asked for each node once.
    branches.look_anew()?;
    branches.catch_up();
    let files = Arc::new(LayerFiles::open(&layer)?);
    branches.hold(name, Arc::clone(&files) as Arc<dyn BlobStore>)?;
    let branch = branches.get(name)?;
    let shown = context(branch.clone())?;
    let taken = Taking::of(&layer, branches.base(), &shown).and_then(|taking| {
        let changed = taking.changed().to_vec();
        taking.with(branch).by_reference(files).take().map(|left| (changed, left))
    });
    let (changed, left) = taken.context("taking what was changed on overlayfs")?;
    branches.use_up(Arc::new(left.open(&dir_of(place, name), &place.base)?));
    Ok(Taken { layer, changed })
}

impl Taken {
    /// Stores the branch with all that is in the layer, which is then set aside.
    pub(super) fn keep(&self, place: &Place, branches: &Branches, name: &str) -> anyhow::Result<()> {
        branches.settle(name)?;
        self.set_aside(place, name)
    }

    /// Sets the layer aside, to be removed. Nothing needs it any more.
    pub(super) fn set_aside(&self, place: &Place, name: &str) -> anyhow::Result<()> {
        let taken = place.store.join(TAKEN);
        std::fs::create_dir_all(&taken).with_context(|| format!("making \"{}\"", taken.display()))?;
        let aside = taken.join(format!("{}-{}", place::name_of(Path::new(name)), std::process::id()));
        // A process of this number may have left one there.
        self.layer.rename(&aside).or_else(|_| Layer::remove_left(&dir_of(place, name)))?;
        Ok(())
    }
}

/// The time after which a layer is locked by the process that has made it.
const LOCKED: Duration = Duration::from_secs(1);

/// Removes layers without a branch: that of a process which was killed before it had made the
/// branch, or after its commit was done.
pub(super) fn remove_abandoned(place: &Place, branches: &Branches) -> anyhow::Result<()> {
    let layers: Vec<_> = std::fs::read_dir(place.store.join(LAYERS)).into_iter().flatten().flatten().collect();
    if layers.is_empty() {
        return Ok(());
    }
    let list = branches.list()?;
    let names: HashSet<_> = list.iter().map(|branch| OsString::from(place::name_of(Path::new(&branch.name)))).collect();
    for layer in layers.into_iter().filter(|layer| !names.contains(&layer.file_name())) {
        let age = layer.metadata().and_then(|of| of.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > LOCKED) && !Layer::is_in_use(&layer.path()) {
            // Another process may have been faster.
            _ = Layer::remove_left(&layer.path());
        }
    }
    Ok(())
}

/// Removes what is left of the layers that were taken. What cannot be removed is tried again by the
/// next process.
///
/// It is done last: a commit uses up their files, and ext4 is slow to make one in the first minutes
/// after it has removed many, since it passes over their numbers one by one.
pub(super) fn remove_taken(place: &Place) {
    for entry in std::fs::read_dir(place.store.join(TAKEN)).into_iter().flatten().flatten() {
        _ = Layer::remove_left(&entry.path());
    }
}

/// Returns a context on a branch.
pub(super) fn context(branch: Branch) -> anyhow::Result<Context> {
    Ok(Vfs::builder().budget(BUDGET).build(branch).context("opening the branch")?.context(Credentials::root()))
}
