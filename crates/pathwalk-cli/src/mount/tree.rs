//! The tree that is mounted: a `Vfs` with one or several mounts.
//!
//! The root of the tree is itself a mount, over an empty file system in memory. So the mount at `/`
//! can have all that other mounts have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use pathwalk::{
    At, AtFlags, Capabilities, Context, Credentials, DetachedTree, Errno, FileType, IdMap, MountAttributes, MountFlags,
    MoveFlags, Recursion, Vfs,
};
use pathwalk_bench::machine::{BUDGET, escaped};
use pathwalk_branch::Branches;
use pathwalk_fuse::{CacheTimes, Opens, Reported};
use pathwalk_hostfs::HostFs;
use pathwalk_memfs::MemFs;

use super::options::{Branch, Memory, Mode, Options};
use crate::branch::place::{Missing, Place};

/// The place of the tree's root in the file system below it.
const ROOT: &str = "/root";

/// A mount of the tree.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Part {
    /// The mount point: a path from the tree's root, without `.`, `..` and empty components.
    pub(crate) at: String,
    pub(crate) from: From,
    pub(crate) options: Options,
    pub(crate) map: Option<IdMap>,
}

/// The source of a mount.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// An empty tree in memory.
    Memory,
    /// A directory of this machine.
    Host(PathBuf),
    /// A branch. Its base, if it is relative, is below this directory.
    Branch { name: String, below: PathBuf },
    /// Another path of the tree.
    Bind { path: String, how: Recursion },
}

/// A tree that was built.
pub(crate) struct Tree {
    pub(crate) vfs: Vfs,
    /// A context at the tree's root.
    pub(crate) context: Context,
    /// How long the kernel may keep answers.
    pub(crate) times: CacheTimes,
    /// How long it may keep those of which changes are reported.
    pub(crate) reported: Reported,
    /// Whether opens are left untold.
    pub(crate) opens: Untold,
    /// The directories of this machine that are in the tree, without links.
    pub(crate) hosts: Vec<PathBuf>,
    /// The branches of each base that has one in the tree.
    pub(crate) branches: Vec<Branches>,
}

/// Whether opens are left untold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Untold {
    /// They are, unless it is said that they are told.
    Usual,
    /// They are told, unless it is said that they are not: a file that others remove while it is
    /// open has to be open here.
    IfAsked,
    /// They are told.
    Never,
}

impl Untold {
    /// Returns what is so, with what was asked for: `None` if that cannot be.
    pub(crate) fn with(self, asked: Option<Opens>) -> Option<Opens> {
        match (self, asked) {
            (Untold::Never, Some(Opens::Untold)) => None,
            (_, Some(asked)) => Some(asked),
            (Untold::Usual, None) => Some(Opens::Untold),
            (Untold::IfAsked | Untold::Never, None) => Some(Opens::Told),
        }
    }
}

impl Tree {
    /// Makes all branches durable.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        Ok(self.branches.iter().try_for_each(Branches::sync)?)
    }
}

impl Part {
    /// Checks that the options are those of the source.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let options = &self.options;
        let is_branch = matches!(self.from, From::Branch { .. });
        if options.mode.is_some() && !self.has_host() {
            bail!("the option \"coherence\" is for host:DIR and branch:NAME: nothing else changes another tree");
        }
        if options.branch != Branch::default() && !is_branch {
            bail!("the options \"base\" and \"store\" are for branch:NAME");
        }
        if options.memory != Memory::default() && self.from != From::Memory {
            bail!("the options \"size\", \"nr_inodes\", \"mode\", \"uid\" and \"gid\" are for mem");
        }
        Ok(())
    }

    /// Returns whether other programs may change what it shows.
    fn has_host(&self) -> bool {
        matches!(self.from, From::Host(_) | From::Branch { .. })
    }

    /// Returns the base of a branch, and the store in which it is.
    fn place(&self, below: &Path) -> anyhow::Result<Place> {
        let Branch { base, store } = &self.options.branch;
        let base = below.join(base.as_deref().unwrap_or(Path::new(".")));
        let base = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
        Place::find(base, store.as_deref().map(|store| below.join(store)).as_deref())
    }

    fn is_read_only(&self) -> bool {
        self.options.read_only || self.options.mode == Some(Mode::Frozen)
    }

    /// Opens the source, as a mount that is attached nowhere yet.
    fn open(&self, context: &Context, branches: &mut Vec<Branches>) -> anyhow::Result<DetachedTree> {
        let failed = |what: &str, errno: Errno| anyhow::anyhow!("mounting {what}: {errno}");
        match &self.from {
            From::Memory => {
                context.new_tree(memory(&self.options.memory)?, MountFlags::empty()).map_err(|errno| failed("mem", errno))
            }
            From::Host(dir) => {
                let fs = if self.is_read_only() { HostFs::open(dir) } else { HostFs::open_writable(dir) }?;
                let fs = fs.with_coherence(self.options.coherence());
                let flags = fs.mount_flags();
                context.new_tree(fs, flags).map_err(|errno| failed(&format!("\"{}\"", escaped(dir)), errno))
            }
            From::Branch { name, below } => {
                let (coherence, budget) = (self.options.coherence(), self.options.budget);
                let of_base = self.place(below)?.open(coherence, budget, Missing::Fail)?;
                let branch = of_base.get(name)?;
                branches.push(of_base);
                context.new_tree(branch, MountFlags::empty()).map_err(|errno| failed(&format!("\"{name}\""), errno))
            }
            From::Bind { path, how } => match context.open_tree(path, *how) {
                Err(Errno::ENOENT) => bail!("binding \"{path}\": it is not there; list its mount before"),
                opened => opened.map_err(|errno| failed(&format!("\"{path}\""), errno)),
            },
        }
    }

    /// Returns what is set of the mount.
    fn attributes(&self) -> MountAttributes {
        let read_only = if self.is_read_only() { MountFlags::READ_ONLY } else { MountFlags::empty() };
        let attributes = MountAttributes::default().with_set(self.options.access | read_only);
        match &self.map {
            Some(map) => attributes.with_id_map(map.clone()),
            None => attributes,
        }
    }

    /// Returns whether something is set of the mount. A bind has what the mount has that it is
    /// taken from.
    fn has_attributes(&self) -> bool {
        let is_bind = matches!(self.from, From::Bind { .. });
        !is_bind || !self.options.given.trim_matches(',').is_empty() || self.map.is_some()
    }

    /// Returns the mounts of the part of which it is set.
    fn recursion(&self) -> Recursion {
        if let From::Bind { how, .. } = self.from { how } else { Recursion::Alone }
    }

    /// Returns whether opens can be left untold, if this is the only mount: where the kernel keeps
    /// answers for good, and this program opens all that the kernel permits.
    fn can_be_untold(&self) -> anyhow::Result<bool> {
        let opens_all = !self.has_host() || pathwalk_hostfs::credentials()?.effective().has(Capabilities::DAC_OVERRIDE);
        Ok((self.is_kept() || self.reported() == Reported::Forever) && opens_all)
    }

    fn is_kept(&self) -> bool {
        let times = self.times();
        times.entry == Duration::MAX && times.attributes == Duration::MAX
    }

    /// Returns the mode, if other programs may change what it shows.
    fn mode(&self) -> Option<Mode> {
        self.options.mode.or(self.has_host().then_some(Mode::Watch))
    }

    fn times(&self) -> CacheTimes {
        Options { mode: self.mode(), ..self.options.clone() }.times()
    }

    fn reported(&self) -> Reported {
        Options { mode: self.mode(), ..self.options.clone() }.reported()
    }

    /// Returns whether a path is at the mount point or below it.
    fn has(&self, path: &str) -> bool {
        Path::new(path).starts_with(&self.at)
    }
}

/// Builds the tree of these parts. The first one is at `/`.
pub(crate) fn build(parts: &[Part], budget: Option<u64>) -> anyhow::Result<Tree> {
    let budget = budget.unwrap_or(BUDGET);
    let below = MemFs::new();
    below.mkdir(ROOT, 0o755)?;
    let vfs = Vfs::builder().budget(budget).build(below);
    let vfs = vfs.with_context(|| format!("the option \"budget\": caches of {budget} bytes"))?;
    let (mut context, mut branches) = (vfs.context(Credentials::root()), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let mut attach = |context: &mut Context| attach(context, part, &parts[..number], &mut branches);
        attach(&mut context).with_context(|| format!("the mount at \"{}\"", part.at))?;
    }
    let hosts = parts.iter().filter_map(|part| match &part.from {
        From::Host(dir) => Some(dir.canonicalize().with_context(|| format!("\"{}\"", escaped(dir)))),
        From::Branch { below, .. } => Some(part.place(below).map(|place| place.base)),
        From::Memory | From::Bind { .. } => None,
    });
    let times = parts.iter().map(Part::times).fold(CacheTimes::FOREVER, shorter);
    let is_kept = parts.iter().all(|part| part.reported() == Reported::Forever);
    let reported = if is_kept { Reported::Forever } else { Reported::AsOthers };
    let opens = match parts {
        [part] if part.can_be_untold()? => {
            if part.is_kept() {
                Untold::Usual
            } else {
                Untold::IfAsked
            }
        }
        _ => Untold::Never,
    };
    Ok(Tree { hosts: hosts.collect::<anyhow::Result<_>>()?, times, reported, opens, vfs, context, branches })
}

/// Mounts a part in its place. The parts before it are mounted.
fn attach(context: &mut Context, part: &Part, before: &[Part], branches: &mut Vec<Branches>) -> anyhow::Result<()> {
    let point = if part.at == "/" && before.is_empty() { ROOT } else { &part.at };
    if point != ROOT {
        make_point(context, point, before)?;
    }
    let tree = part.open(context, branches)?;
    if part.has_attributes() {
        let (attributes, how) = (part.attributes(), part.recursion());
        let set = context.mount_setattr_at(tree.handle(), "", AtFlags::EMPTY_PATH, &attributes, how);
        set.map_err(|errno| anyhow::anyhow!("setting its options: {errno}"))?;
    }
    let moved = context.move_mount_at(tree.handle(), "", At::Cwd, point, MoveFlags::FROM_EMPTY_PATH);
    moved.map_err(|errno| anyhow::anyhow!("mounting there: {errno}"))?;
    if point == ROOT {
        context.chroot(ROOT).and_then(|()| context.chdir("/")).map_err(|errno| anyhow::anyhow!("entering the root: {errno}"))?;
    }
    Ok(())
}

/// Checks that a mount point is a directory. It is made where that changes nothing but memory.
fn make_point(context: &Context, point: &str, before: &[Part]) -> anyhow::Result<()> {
    match context.stat(point) {
        Ok(attributes) if attributes.kind == FileType::Directory => Ok(()),
        Ok(_) => bail!("it is no directory"),
        Err(Errno::ENOENT) => {
            let holder = before.iter().filter(|part| part.has(point)).max_by_key(|part| part.at.len());
            let Some(holder) = holder.filter(|holder| holder.from == From::Memory) else {
                bail!("there is no such directory: make it in the source of the mount above");
            };
            let read_only = MountFlags::READ_ONLY;
            let set = |attributes| {
                let set = context.mount_setattr(&holder.at, &attributes, Recursion::Alone);
                set.map_err(|errno| anyhow::anyhow!("making the mount above writable: {errno}"))
            };
            set(MountAttributes::default().with_clear(read_only))?;
            context.create_dir_all(point).map_err(|error| anyhow::anyhow!("making this directory: {error}"))?;
            if holder.is_read_only() { set(MountAttributes::default().with_set(read_only)) } else { Ok(()) }
        }
        Err(errno) => bail!("looking it up: {errno}"),
    }
}

/// Makes a tree in memory. Its root belongs to the user that mounts.
fn memory(options: &Memory) -> anyhow::Result<MemFs> {
    let mut limits = pathwalk_memfs::Options::default();
    if let Some(size) = options.size {
        limits = limits.max_bytes(size);
    }
    if let Some(nodes) = options.nodes {
        limits = limits.max_nodes(nodes);
    }
    let fs = MemFs::with(limits);
    let uid = options.uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    let gid = options.gid.unwrap_or_else(|| rustix::process::getegid().as_raw());
    fs.chown("/", uid, gid)?;
    if let Some(mode) = options.mode {
        fs.chmod("/", mode)?;
    }
    Ok(fs)
}

fn shorter(one: CacheTimes, other: CacheTimes) -> CacheTimes {
    CacheTimes {
        entry: one.entry.min(other.entry),
        absence: one.absence.min(other.absence),
        attributes: one.attributes.min(other.attributes),
    }
}
