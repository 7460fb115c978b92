//! The engine as a system of mounts: a context does what the kernel's thread does.

use pathwalk::{
    At, AtFlags, Context, DetachedTree, Errno, Handle, MountAttributes, MountFlags, MountInfo, MoveFlags, Namespace, Propagation,
    Recursion, StatxMask, UmountFlags, internals,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::mounts::context_within;
use xtask::id_maps;

use super::files::{Call, Owner, USERS, calls_engine};
use super::op::{Kind, Op, SLOTS, Spot, Umount};
use super::system::{DIRECTORIES, Failure, Line, System};

/// The number of mounts from which on no more are made.
const ENOUGH: u64 = 240;

/// The budget of the caches. A mount that propagates to all peers may make more mounts than a small
/// cache has dentries, which is `ENOSPC`. With this budget, as many fit as Linux allows in a
/// namespace.
const BUDGET: u64 = 64 << 20;

/// A held place or tree.
enum Held {
    Place(Handle),
    Tree(DetachedTree),
}

impl Held {
    fn handle(&self) -> &Handle {
        match self {
            Held::Place(handle) => handle,
            Held::Tree(tree) => tree.handle(),
        }
    }
}

/// The engine, as one context sees it.
pub(crate) struct Engine {
    context: Context,
    held: [Option<Held>; SLOTS],
    namespaces: [Option<Namespace>; SLOTS],
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno.raw())
    }
}

/// Returns a file system like the tmpfs that `mount(2)` makes without options.
fn empty_fs() -> MemFs {
    let fs = MemFs::new();
    fs.chmod("/", 0o1777).expect("a root");
    fs
}

fn filled() -> MemFs {
    let fs = MemFs::new();
    for directory in DIRECTORIES {
        fs.mkdir(format!("/{directory}"), 0o755).expect("a directory");
    }
    fs.file("/f", 0o644).expect("a file");
    fs
}

fn recursion(is_recursive: bool) -> Recursion {
    if is_recursive { Recursion::Recursive } else { Recursion::Alone }
}

impl Engine {
    /// Makes a namespace whose root mount is covered by the file system with directories.
    pub(crate) fn new() -> Engine {
        let mut context = context_within(BUDGET, filled());
        context.umask(0);
        let mut namespaces = [const { None }; SLOTS];
        namespaces[0] = Some(context.namespace());
        Engine { context, held: [const { None }; SLOTS], namespaces }
    }

    fn skip_if(&self, condition: bool) -> Result<(), Failure> {
        if condition { Err(Failure::Skipped) } else { Ok(()) }
    }

    fn is_full(&self) -> bool {
        self.context.vfs().stats().mounts > ENOUGH
    }

    /// Returns a starting point and a path that together name the spot.
    fn at<'a>(&'a self, spot: &'a Spot) -> Result<(At<'a>, &'a str), Failure> {
        match spot {
            Spot::Path(path) => Ok((At::Cwd, path)),
            Spot::Held(slot) => Ok((At::Handle(self.held[*slot].as_ref().ok_or(Failure::Skipped)?.handle()), "")),
        }
    }

    /// Returns a starting point and a path of a spot that the kernel's thread enters: a directory.
    fn within<'a>(&'a self, spot: &'a Spot) -> Result<(At<'a>, &'a str), Failure> {
        let (at, path) = self.at(spot)?;
        if path.is_empty() {
            self.context.lookup_at(at, ".", AtFlags::empty())?;
            return Ok((at, "."));
        }
        Ok((at, path))
    }

    fn mount(&self, at: &Spot) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let (at, path) = self.at(at)?;
        let tree = self.context.new_tree(filled(), MountFlags::empty())?;
        let how = MoveFlags::FROM_EMPTY_PATH | empty(path, MoveFlags::TO_EMPTY_PATH);
        Ok(self.context.move_mount_at(tree.handle(), "", at, path, how)?)
    }

    fn mount_empty(&self, at: &Spot) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let (at, path) = self.within(at)?;
        Ok(self.context.mount_at(empty_fs(), at, path, MountFlags::empty())?)
    }

    fn bind(&self, from: &Spot, to: &Spot, is_recursive: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full() || matches!((from, to), (Spot::Held(_), Spot::Held(_))))?;
        // The kernel's thread enters the held spot first.
        let held = if matches!(from, Spot::Held(_)) { from } else { to };
        self.within(held)?;
        let ((from, old), (to, new)) = (self.within_or_at(from)?, self.within_or_at(to)?);
        Ok(self.context.bind_at(from, old, to, new, recursion(is_recursive))?)
    }

    fn within_or_at<'a>(&'a self, spot: &'a Spot) -> Result<(At<'a>, &'a str), Failure> {
        let (at, path) = self.at(spot)?;
        Ok((at, if path.is_empty() { "." } else { path }))
    }

    fn move_mount(&self, from: &Spot, to: &Spot, beneath: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let ((from, old), (to, new)) = (self.at(from)?, self.at(to)?);
        let mut how = empty(old, MoveFlags::FROM_EMPTY_PATH) | empty(new, MoveFlags::TO_EMPTY_PATH);
        how.set(MoveFlags::BENEATH, beneath);
        Ok(self.context.move_mount_at(from, old, to, new, how)?)
    }

    fn clone_tree(&mut self, from: &Spot, slot: usize, is_recursive: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let (at, path) = self.at(from)?;
        let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
        let tree = self.context.open_tree_at(at, path, flags, recursion(is_recursive))?;
        self.held[slot] = Some(Held::Tree(tree));
        Ok(())
    }

    fn umount(&self, at: &Spot, way: Umount) -> Result<(), Failure> {
        let (at, path) = self.within(at)?;
        let [named, top] = {
            let named = self.context.lookup_at(at, path, AtFlags::empty())?;
            [&named, &internals::topmost(&named)].map(|place| self.mount_of(place))
        };
        // The expiry mark of a mount above the named one cannot be cleared by opening it.
        self.skip_if(way == Umount::Expire && top != named)?;
        let umount = |flags| self.context.umount_at(at, path, flags);
        match way {
            Umount::Plain => umount(UmountFlags::empty())?,
            Umount::Detach => umount(UmountFlags::DETACH)?,
            Umount::Expire => match umount(UmountFlags::EXPIRE) {
                Err(Errno::EAGAIN) => umount(UmountFlags::EXPIRE)?,
                result => result?,
            },
        }
        Ok(())
    }

    /// Returns the number of a place's mount.
    fn mount_of(&self, place: &Handle) -> u64 {
        let statx = self.context.statx_at(place, "", AtFlags::EMPTY_PATH, StatxMask::MNT_ID);
        statx.expect("the attributes of what is held").mount_id
    }

    fn set(&self, at: &Spot, attributes: &MountAttributes, is_recursive: bool) -> Result<(), Failure> {
        let (at, path) = self.at(at)?;
        let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
        Ok(self.context.mount_setattr_at(at, path, flags, attributes, recursion(is_recursive))?)
    }

    fn set_propagation(&self, at: &Spot, kind: Kind, is_recursive: bool) -> Result<(), Failure> {
        self.within(at)?;
        let kind = match kind {
            Kind::Private => Propagation::Private,
            Kind::Shared => Propagation::Shared,
            Kind::Slave => Propagation::Slave,
            Kind::Unbindable => Propagation::Unbindable,
        };
        self.set(at, &MountAttributes::default().with_propagation(kind), is_recursive)
    }

    fn set_attributes(&self, at: &Spot, (set, clear): (u32, u32), is_recursive: bool) -> Result<(), Failure> {
        let flags = MountFlags::from_bits_truncate;
        self.set(at, &MountAttributes::default().with_set(flags(set)).with_clear(flags(clear)), is_recursive)
    }

    fn remount(&self, at: &Spot, flags: u32, of_mount: bool) -> Result<(), Failure> {
        let flags = MountFlags::from_bits_truncate(flags);
        if !of_mount {
            let (at, path) = self.within(at)?;
            return Ok(self.context.remount_at(at, path, flags)?);
        }
        // The newer call, which does the same, accepts detached trees as well.
        self.skip_if(matches!(at, Spot::Held(_)))?;
        let all = MountFlags::READ_ONLY | MountFlags::NOEXEC | MountFlags::NOSYMFOLLOW | MountFlags::NOSUID;
        self.set(at, &MountAttributes::default().with_set(flags).with_clear(all), false)
    }

    fn map_ids(&self, at: &Spot, map: usize, is_recursive: bool) -> Result<(), Failure> {
        self.skip_if(id_maps::namespaces().is_err())?;
        self.set(at, &MountAttributes::default().with_id_map(id_maps::map(map)), is_recursive)
    }

    fn mapped(&self, from: &Spot, to: &Spot, map: usize, is_recursive: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full() || id_maps::namespaces().is_err())?;
        let (at, path) = self.at(from)?;
        let (to, new) = self.at(to)?;
        let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
        let tree = self.context.open_tree_at(at, path, flags, recursion(is_recursive))?;
        let (from, attributes) = (At::Handle(tree.handle()), MountAttributes::default().with_id_map(id_maps::map(map)));
        self.context.mount_setattr_at(from, "", AtFlags::EMPTY_PATH, &attributes, recursion(is_recursive))?;
        let how = MoveFlags::FROM_EMPTY_PATH | empty(new, MoveFlags::TO_EMPTY_PATH);
        Ok(self.context.move_mount_at(from, "", to, new, how)?)
    }

    fn file(&self, user: usize, call: &Call) -> Result<Option<Owner>, Failure> {
        let context = self.context.clone().with_credentials(USERS[user].credentials());
        Ok(calls_engine::call(&context, call)?)
    }

    fn pivot(&mut self, new: &Spot, old: &str) -> Result<(), Failure> {
        let mut context = self.context.clone();
        let new = match self.at(new)? {
            (At::Handle(handle), _) => {
                context.fchdir(handle)?;
                "."
            }
            (At::Cwd, path) => path,
        };
        context.pivot_root(new, old)?;
        self.context = context;
        Ok(())
    }

    fn unshare(&mut self, slot: usize) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        self.context.unshare()?;
        self.namespaces[slot] = Some(self.context.namespace());
        Ok(())
    }

    fn enter(&mut self, slot: usize) -> Result<(), Failure> {
        let namespace = self.namespaces[slot].clone().ok_or(Failure::Skipped)?;
        let mut context = self.context.clone();
        context.setns(&namespace).map_err(|_| Failure::Skipped)?;
        // The caller would be in the file system of the machine.
        if context.access("/f", pathwalk::Access::empty()).is_err() && context.mountinfo().len() < 2 {
            return Err(Failure::Skipped);
        }
        self.context = context;
        Ok(())
    }

    fn call(&mut self, op: &Op) -> Result<(), Failure> {
        match op {
            Op::MountEmpty(at) => self.mount_empty(at),
            Op::Mount(at) => self.mount(at),
            Op::Bind { from, to, recursive } => self.bind(from, to, *recursive),
            Op::Move { from, to, beneath } => self.move_mount(from, to, *beneath),
            Op::Clone { from, slot, recursive } => self.clone_tree(from, *slot, *recursive),
            Op::Hold { from, slot } => {
                self.held[*slot] = Some(Held::Place(self.context.lookup(from)?));
                Ok(())
            }
            Op::Close(slot) => {
                self.held[*slot] = None;
                Ok(())
            }
            Op::Umount(at, way) => self.umount(at, *way),
            Op::Propagation { at, kind, recursive } => self.set_propagation(at, *kind, *recursive),
            Op::Attributes { at, set, clear, recursive } => self.set_attributes(at, (*set, *clear), *recursive),
            Op::Remount { at, flags, of_mount } => self.remount(at, *flags, *of_mount),
            Op::MapIds { at, map, recursive } => self.map_ids(at, *map, *recursive),
            Op::Mapped { from, to, map, recursive } => self.mapped(from, to, *map, *recursive),
            Op::Pivot { new, old } => self.pivot(new, old),
            Op::Chroot(path) => Ok(self.context.chroot(path)?),
            Op::Mkdir(path) => Ok(self.context.mkdir(path, 0o755)?),
            Op::Rmdir(path) => Ok(self.context.rmdir(path)?),
            Op::Unshare(slot) => self.unshare(*slot),
            Op::Enter(slot) => self.enter(*slot),
            Op::Drop(slot) => {
                self.namespaces[*slot] = None;
                Ok(())
            }
            Op::File { .. } => Err(Failure::Skipped),
        }
    }
}

fn empty(path: &str, flag: MoveFlags) -> MoveFlags {
    if path.is_empty() { flag } else { MoveFlags::empty() }
}

impl System for Engine {
    fn run(&mut self, op: &Op) -> Result<Option<Owner>, Failure> {
        if let Op::File { user, call } = op {
            return self.file(*user, call);
        }
        let result = self.call(op).map(|()| None);
        let _ = self.context.chdir("/");
        result
    }

    fn mountinfo(&mut self) -> Vec<Line> {
        let line = |mount: MountInfo| Line {
            id: mount.id,
            parent: mount.parent,
            superblock: mount.file_system.into(),
            root: String::from_utf8(mount.root).expect("a name of ours"),
            point: String::from_utf8(mount.mount_point).expect("a name of ours"),
            flags: mount.flags.bits(),
            superblock_flags: mount.superblock_flags.bits(),
            shared: mount.shared.map(u64::from),
            master: mount.master.map(u64::from),
            propagate_from: mount.propagate_from.map(u64::from),
            unbindable: mount.unbindable,
            id_mapped: mount.id_mapped,
        };
        self.context.mountinfo().into_iter().map(line).collect()
    }
}
