//! The mounts that the command sees.
//!
//! | place | what is there |
//! |---|---|
//! | the base | the branch; if the base is `/`, the branch is the root |
//! | mounts below the base | they, read-only |
//! | `/tmp`, `/var/tmp`, `/run`, and what the plan says | empty directories in memory, private to the command |
//! | `/proc`, `/dev` | those of the command: [`proc`](super::proc), [`devices`](super::devices) |
//! | all else | as outside, read-only |
//!
//! What always holds: all mounts of the caller are read-only before the first one is attached. A
//! mount is attached after those that are above it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use pathwalk_hostfs::mountinfo;
use rustix::fs::statfs;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::pivot_root;

use super::devices::{DEV, Devices};
use super::mounts::{self, Depth};
use super::proc::{self, PROC};
use crate::error::{Failed, While};
use crate::is_within;
use crate::plan::{Plan, SentPath};

/// Directories that are private to the command, with their modes: sockets in them are doors to
/// programs outside, which a read-only mount leaves open.
const PRIVATE: [(&str, &str); 4] = [("/tmp", "1777"), ("/var/tmp", "1777"), ("/run", "755"), ("/var/run", "755")];

/// The number of tmpfs in `statfs(2)`.
const TMPFS: u64 = 0x0102_1994;

/// A mount that is to be attached.
struct Item {
    at: PathBuf,
    mount: OwnedFd,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A mount that was below the base. It is left out where the branch has no place for it.
    Below,
    /// What is wanted there.
    Wanted,
    /// An empty directory, which is read-only once all is attached.
    Hidden,
}

/// Makes the mounts, and goes to the working directory. `tree` is the branch.
pub(super) fn furnish(plan: &Plan, tree: OwnedFd) -> Result<(), Failed> {
    let base = plan.base.get();
    let proc = mounts::copy(Path::new(PROC)).doing("copying /proc")?;
    mounts::restrict(proc.as_fd(), Depth::All).doing("restricting /proc")?;
    let mut items = Vec::new();
    let (writable, devices) = (copies(&plan.writable)?, Devices::take());
    let hidden = plan.hidden.iter().map(|path| hidden(path.get())).collect::<Result<Vec<_>, _>>()?;
    writable.iter().try_for_each(|item| mounts::tame(item.mount.as_fd(), Depth::All)).doing("restricting mounts")?;
    mounts::restrict_all().doing("making all mounts read-only")?;
    let private = private(base);
    items.extend(below(base, &private));
    for (place, mode) in &private {
        items.push(Item { at: place.clone(), mount: mounts::empty(mode).doing("mounting a tmpfs")?, kind: Kind::Wanted });
    }
    let run = Run::take(&private);
    items.extend(run.resolver());
    for place in plan.private.iter().map(SentPath::get) {
        items.push(Item { at: place.to_owned(), mount: mounts::empty("700").doing("mounting a tmpfs")?, kind: Kind::Wanted });
    }
    items.push(Item { at: DEV.into(), mount: mounts::empty("755").doing("mounting a tmpfs")?, kind: Kind::Wanted });
    items.extend(hidden);
    items.extend(copies(&plan.read_only)?);
    items.extend(writable);
    if base == Path::new("/") {
        become_root(&tree)?;
    } else {
        // In front, so that what is in the same place covers it.
        items.insert(0, Item { at: base.to_owned(), mount: tree, kind: Kind::Wanted });
    }
    items.sort_by(|one, other| one.at.cmp(&other.at));
    items.iter().try_for_each(attach)?;
    run.fill().doing("filling /run")?;
    devices.fill()?;
    proc::mount(proc)?;
    let mut hidden = items.iter().filter(|item| item.kind == Kind::Hidden);
    hidden.try_for_each(|item| mounts::restrict(item.mount.as_fd(), Depth::Alone)).doing("hiding paths")?;
    let directory = plan.directory.get();
    std::env::set_current_dir(directory).or_else(|_| std::env::set_current_dir(base)).doing("going to the working directory")
}

/// Returns copies of what is at these paths.
fn copies(paths: &[SentPath]) -> Result<Vec<Item>, Failed> {
    let copy = |path: &Path| {
        let mount = mounts::copy(path).doing(format_args!("\"{}\"", path.display()))?;
        Ok(Item { at: path.to_owned(), mount, kind: Kind::Wanted })
    };
    paths.iter().map(|path| copy(path.get())).collect()
}

/// Returns where each command has something of its own.
pub(crate) fn own_places() -> impl Iterator<Item = PathBuf> {
    let private = PRIVATE.into_iter().filter_map(|(place, _)| fs::canonicalize(place).ok());
    private.chain([PROC, DEV].map(PathBuf::from))
}

/// Returns the private directories that there are, without links. The base is none of them.
fn private(base: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut found: Vec<(PathBuf, &str)> = Vec::new();
    for (place, mode) in PRIVATE {
        if let Ok(place) = fs::canonicalize(place)
            && place.is_dir()
            && place != base
            && found.iter().all(|(other, _)| *other != place)
        {
            found.push((place, mode));
        }
    }
    found
}

/// Returns copies of the mounts below the base. They are read-only as those that they are copies
/// of.
fn below(base: &Path, private: &[(PathBuf, &str)]) -> Vec<Item> {
    let is_private = |point: &Path| private.iter().any(|(place, _)| is_within(point, place) && !is_within(base, place));
    let is_own = |point: &Path| [PROC, DEV].iter().any(|place| is_within(point, Path::new(place)));
    let mut points: Vec<PathBuf> = mountinfo::now().iter().map(|line| std::ffi::OsStr::from_bytes(&line.point).into()).collect();
    points.retain(|point| point != base && is_within(point, base) && !is_private(point) && !is_own(point));
    points.sort();
    let mut items: Vec<Item> = Vec::new();
    for point in points {
        // A copy has all that is below it.
        if items.last().is_none_or(|last| !is_within(&point, &last.at))
            && let Ok(mount) = mounts::copy(&point)
        {
            items.push(Item { at: point, mount, kind: Kind::Below });
        }
    }
    items
}

/// Returns what hides a path.
fn hidden(path: &Path) -> Result<Item, Failed> {
    let shown = format!("hiding \"{}\"", path.display());
    let is_directory = path.metadata().doing(&shown)?.is_dir();
    let (kind, mount) = match is_directory {
        true => (Kind::Hidden, mounts::empty("555")),
        // It is empty, and cannot be anything else.
        false => (Kind::Wanted, mounts::copy(&Path::new(DEV).join("null"))),
    };
    Ok(Item { at: path.to_owned(), mount: mount.doing(&shown)?, kind })
}

/// Makes the branch the root. The old root is gone then.
fn become_root(tree: &OwnedFd) -> Result<(), Failed> {
    let enter = || {
        mounts::attach(tree.as_fd(), Path::new(PROC))?;
        rustix::process::chdir(PROC)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")
    };
    enter().doing("making the branch the root")
}

/// Attaches a mount. Its place is made where that changes nothing outside and nothing in the
/// branch.
fn attach(item: &Item) -> Result<(), Failed> {
    let doing = format!("mounting on \"{}\"", item.at.display());
    let made = if item.at.symlink_metadata().is_ok() { Ok(()) } else { make_place(item) };
    let attached = made.and_then(|()| Ok(mounts::attach(item.mount.as_fd(), &item.at)?));
    match attached {
        Err(_) if item.kind == Kind::Below => Ok(()),
        attached => attached.doing(doing),
    }
}

fn make_place(item: &Item) -> std::io::Result<()> {
    let there = item.at.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("/"));
    if statfs(there)?.f_type as u64 != TMPFS {
        return Err(ErrorKind::NotFound.into());
    }
    if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&item.mount)?.st_mode).is_dir() {
        return fs::create_dir_all(&item.at);
    }
    item.at.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create_new(&item.at).map(drop)
}

/// What of the old `/run` is in the new one: links, and the configuration of the resolver of names.
struct Run {
    place: Option<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    /// The directory of the user's own services, empty.
    own: Option<PathBuf>,
}

impl Run {
    /// Looks at the old one.
    fn take(private: &[(PathBuf, &str)]) -> Run {
        let place = fs::canonicalize("/run").ok().filter(|run| private.iter().any(|(place, _)| place == run));
        let Some(run) = &place else { return Run { place, links: Vec::new(), own: None } };
        let entries = fs::read_dir(run).into_iter().flatten().flatten();
        let links = entries.filter_map(|entry| Some((entry.path(), fs::read_link(entry.path()).ok()?)));
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|own| is_within(own, run));
        Run { links: links.collect(), own, place }
    }

    /// Returns the configuration of the resolver, if it is in there.
    fn resolver(&self) -> Option<Item> {
        let at = fs::canonicalize("/etc/resolv.conf").ok()?;
        is_within(&at, self.place.as_deref()?).then_some(())?;
        let mount = mounts::copy(&at).ok()?;
        Some(Item { at, mount, kind: Kind::Wanted })
    }

    fn fill(&self) -> std::io::Result<()> {
        self.links.iter().try_for_each(|(at, to)| symlink(to, at))?;
        match &self.own {
            None => Ok(()),
            Some(own) => {
                own.parent().map_or(Ok(()), fs::create_dir_all)?;
                match fs::DirBuilder::new().mode(0o700).create(own) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                    made => made,
                }
            }
        }
    }
}
