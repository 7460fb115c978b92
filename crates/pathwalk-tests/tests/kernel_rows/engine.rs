//! The engine as a system: one of its faces, on a namespace of its own.
//!
//! An operation that a face does not have is carried out by its context. Questions use the rules of
//! the face; a change is made by a context with those rules, through the face. Each open has rules
//! of its own.

use std::collections::HashMap;
use std::sync::Arc;

use pathwalk::{
    At, AtFlags, Capabilities, Context, Credentials, DetachedTree, Device, Errno, File, Handle, LinkFlags, MountAttributes,
    MountFlags, MoveFlags, NewKind, OpenFlags, OpenHow, Recursion, Resolve, SetTime, StatxFlags, StatxMask, SuperblockFlags,
    Timestamp, internals,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::mounts::context_on;
use xtask::face::{self, Company, Face};

use crate::op::{Kind, Layer, Op, Spot};
use crate::rows::From;
use crate::stage::{Ask, Outcome, Seen, System};

/// A held handle, and what keeps it valid.
type Held = (Handle, Keeps);

/// The object that is held beside a handle.
enum Keeps {
    Nothing,
    /// The tree of which the handle is the root.
    Tree {
        _tree: DetachedTree,
    },
    /// The file that is open on the handle.
    File {
        _file: Arc<File>,
    },
}

/// One face of the engine.
pub(crate) struct Engine {
    face: Box<dyn Face>,
    held: HashMap<String, Held>,
    opened: Option<String>,
}

/// A starting point and a path. The handle is a pin of its own.
struct Named<'a> {
    handle: Option<Handle>,
    path: &'a str,
}

impl Named<'_> {
    fn at(&self) -> At<'_> {
        self.handle.as_ref().map_or(At::Cwd, At::Handle)
    }

    fn bytes(&self) -> &[u8] {
        self.path.as_bytes()
    }

    /// Returns a path that is not empty, for calls that do not accept an empty one.
    fn entered(&self) -> &str {
        if self.handle.is_some() && self.path.is_empty() { "." } else { self.path }
    }

    /// Returns the flag that an empty path needs.
    fn flags(&self) -> AtFlags {
        if self.handle.is_some() && self.path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() }
    }

    fn move_flag(&self, flag: MoveFlags) -> MoveFlags {
        if self.path.is_empty() { flag } else { MoveFlags::empty() }
    }
}

impl Engine {
    pub(crate) fn new(kind: face::Kind) -> Engine {
        let context = context_on(MemFs::new());
        Engine { face: kind.face(context, Company::Alone), held: HashMap::new(), opened: None }
    }

    /// Evicts all cached entries that are not pinned.
    pub(crate) fn forget(&self) {
        internals::evict_all(self.face.context().vfs());
    }

    /// Brings the nodes of a row into the caches.
    pub(crate) fn look(&mut self, from: &From, op: &Op) {
        for spot in op.spots() {
            for op in [Op::Lstat(spot.clone()), Op::Stat(spot.clone())] {
                let _ = self.run(&Ask { from, rules: Resolve::empty(), op: &op });
            }
        }
    }

    fn held(&self, name: &str) -> Result<Handle, Errno> {
        self.held.get(name).map(|(handle, _)| handle.clone()).ok_or(Errno::EBADF)
    }

    fn at<'a>(&self, from: &From, spot: &'a Spot) -> Result<Named<'a>, Errno> {
        let (name, path) = match (spot, from) {
            (Spot::Held(name, path), _) => (Some(name), path),
            (Spot::Path(path), From::Held(name)) => (Some(name), path),
            (Spot::Path(path), _) => (None, path),
        };
        Ok(Named { handle: name.map(|name| self.held(name)).transpose()?, path })
    }

    fn seen(&mut self, named: &Named<'_>, flags: AtFlags) -> Result<Outcome, Errno> {
        let mask = StatxMask::BASIC_STATS | StatxMask::MNT_ID;
        let found = self.face.statx(named.at(), named.bytes(), flags | named.flags(), mask)?;
        let Device { major, minor } = found.attributes.device;
        let is_root = found.attributes.flags.contains(StatxFlags::MOUNT_ROOT);
        let node = (u64::from(major) << 32 | u64::from(minor), found.attributes.ino);
        Ok(Outcome::Place(Seen { node, mount: found.mount_id, is_root }))
    }

    fn seen_at(&mut self, handle: &Handle) -> Result<Outcome, Errno> {
        self.seen(&Named { handle: Some(handle.clone()), path: "" }, AtFlags::empty())
    }

    fn open(&mut self, ask: &Ask<'_>, flags: OpenFlags, spot: &Spot) -> Result<Outcome, Errno> {
        let named = self.at(ask.from, spot)?;
        let mode = if flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE) { 0o644 } else { 0 };
        let file = self.face.open(named.at(), named.bytes(), &OpenHow { flags, mode, resolve: ask.rules })?;
        let handle = file.handle().clone();
        let seen = self.seen_at(&handle);
        self.opened = handle.path().ok().and_then(|path| String::from_utf8(path).ok());
        drop(handle);
        match Arc::strong_count(&file) {
            1 => self.face.close(file)?,
            _ => drop(file),
        }
        seen
    }

    fn question(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno> {
        self.face.set_rules(ask.rules)?;
        let answer = match ask.op {
            Op::Stat(spot) => self.at(ask.from, spot).and_then(|named| self.seen(&named, AtFlags::empty())),
            Op::Lstat(spot) => self.at(ask.from, spot).and_then(|named| self.seen(&named, AtFlags::SYMLINK_NOFOLLOW)),
            Op::Access(want, spot) => self
                .at(ask.from, spot)
                .and_then(|named| self.face.faccessat(named.at(), named.bytes(), *want, named.flags()).map(|()| Outcome::Done)),
            Op::Readlink(spot) => self.at(ask.from, spot).and_then(|named| {
                let mut body = vec![0; 4096];
                let length = self.face.readlinkat(named.at(), named.bytes(), &mut body)?;
                body.truncate(length);
                Ok(Outcome::Body(body))
            }),
            op => unreachable!("{op:?} is no question"),
        };
        self.face.set_rules(Resolve::empty())?;
        answer
    }

    fn by_rules(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno> {
        let before = self.face.context().clone();
        *self.face.context_mut() = before.clone().with_resolve(ask.rules)?;
        let answer = self.names(ask);
        *self.face.context_mut() = before;
        answer.map(|()| Outcome::Done)
    }

    fn names(&mut self, ask: &Ask<'_>) -> Result<(), Errno> {
        let spots: Vec<Named<'_>> = ask.op.spots().into_iter().map(|spot| self.at(ask.from, spot)).collect::<Result<_, _>>()?;
        let (first, last) = (&spots[0], &spots[spots.len() - 1]);
        let face = &mut self.face;
        match ask.op {
            Op::Mkdir(_) => face.mkdir(first.at(), first.bytes(), 0o755),
            Op::File(_) => face.mknodat(first.at(), first.bytes(), NewKind::Regular, 0o755),
            Op::Device(_) => {
                let null = NewKind::CharDevice(Device { major: 1, minor: 3 });
                face.mknodat(first.at(), first.bytes(), null, 0o666)
            }
            Op::Symlink(_, body) => face.symlink(body.as_bytes(), first.at(), first.bytes()),
            Op::Unlink(_) => face.unlink(first.at(), first.bytes()),
            Op::Rmdir(_) => face.rmdir(first.at(), first.bytes()),
            Op::Rename(flags, ..) => face.rename(first.at(), first.bytes(), last.at(), last.bytes(), *flags),
            Op::Link(flags, ..) => {
                let empty = if first.path.is_empty() { LinkFlags::EMPTY_PATH } else { LinkFlags::empty() };
                face.link(first.at(), first.bytes(), last.at(), last.bytes(), *flags | empty)
            }
            Op::Pipe(_) => face.mknodat(first.at(), first.bytes(), NewKind::Fifo, 0o755),
            Op::Chmod(_) => face.fchmodat(first.at(), first.bytes(), 0o700, AtFlags::empty()),
            Op::Mode(mode, _) => face.fchmodat(first.at(), first.bytes(), *mode, AtFlags::empty()),
            Op::Chown(_) => face.fchownat(first.at(), first.bytes(), Some(0), Some(0), AtFlags::empty()),
            Op::Truncate(_) => face.truncate_at(first.at(), first.bytes(), 0),
            Op::Touch(_) => face.utimensat(first.at(), first.bytes(), SetTime::Now, SetTime::Now, AtFlags::empty()),
            Op::SetTimes(_) => {
                let then = SetTime::To(Timestamp { seconds: 1, nanoseconds: 0 });
                face.utimensat(first.at(), first.bytes(), then, then, AtFlags::empty())
            }
            op => unreachable!("{op:?} is about no name"),
        }
    }

    fn mounting(&mut self, ask: &Ask<'_>) -> Result<(), Errno> {
        let spots: Vec<Named<'_>> = ask.op.spots().into_iter().map(|spot| self.at(ask.from, spot)).collect::<Result<_, _>>()?;
        // Namespaces and mounts have no face, so the face's context carries these operations out.
        let context = self.face.context();
        match (ask.op, &spots[..]) {
            (Op::Mount(flags, _), [at]) => context.mount_at(MemFs::new(), at.at(), at.entered(), *flags),
            (Op::Bind(how, ..), [from, to]) => context.bind_at(from.at(), from.entered(), to.at(), to.entered(), *how),
            (Op::Move(layer, ..), [from, to]) => {
                let mut how = from.move_flag(MoveFlags::FROM_EMPTY_PATH) | to.move_flag(MoveFlags::TO_EMPTY_PATH);
                how.set(MoveFlags::BENEATH, *layer == Layer::Beneath);
                context.move_mount_at(from.at(), from.path, to.at(), to.path, how)
            }
            (Op::Remount(flags, _), [at]) => context.remount_at(at.at(), at.entered(), *flags),
            (Op::Umount(flags, _), [at]) => context.umount_at(at.at(), at.entered(), *flags),
            (Op::Set(how, flags, _), [at]) => set(context, at, MountAttributes::default().with_set(*flags), *how),
            (Op::Clear(how, flags, _), [at]) => set(context, at, MountAttributes::default().with_clear(*flags), *how),
            (Op::Propagate(kind, _), [at]) => {
                let to = MountAttributes::default().with_propagation(*kind);
                context.mount_setattr_at(at.at(), at.entered(), AtFlags::empty(), &to, Recursion::Alone)
            }
            (Op::Pivot(..), [new, old]) => {
                let context = self.face.context_mut();
                for handle in [new, old].into_iter().filter_map(|named| named.handle.as_ref()) {
                    context.fchdir(handle)?;
                }
                context.pivot_root(new.entered(), old.entered())
            }
            (Op::Unshare, []) => self.face.context_mut().unshare(),
            (op, _) => unreachable!("{op:?} is about no mount"),
        }
    }

    fn caller(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno> {
        let context = self.face.context();
        match ask.op {
            Op::Tree(name) => {
                let tree = context.new_tree(MemFs::new(), MountFlags::empty())?;
                self.hold(name, tree.handle().clone(), Keeps::Tree { _tree: tree })
            }
            Op::Clone(name, how, at) => {
                let at = self.at(ask.from, at)?;
                let tree = context.open_tree_at(at.at(), at.path, at.flags(), *how)?;
                self.hold(name, tree.handle().clone(), Keeps::Tree { _tree: tree })
            }
            Op::Hold(name, at) => {
                let at = self.at(ask.from, at)?;
                let handle = context.lookup_at(at.at(), at.path, at.flags() | AtFlags::SYMLINK_NOFOLLOW)?;
                self.hold(name, handle, Keeps::Nothing)
            }
            Op::Keep(name, flags, at) => {
                let at = self.at(ask.from, at)?;
                let file = self.face.open(at.at(), at.bytes(), &(*flags).into())?;
                self.hold(name, file.handle().clone(), Keeps::File { _file: file })
            }
            Op::User(id) => {
                let context = self.face.context().clone();
                *self.face.context_mut() = context.with_credentials(Credentials::user(*id, *id, &[]));
                Ok(Outcome::Done)
            }
            Op::Powerless => {
                let context = self.face.context().clone();
                *self.face.context_mut() = context.with_credentials(Credentials::root().with_capabilities(Capabilities::empty()));
                Ok(Outcome::Done)
            }
            Op::Close(name) => self.held.remove(name).map(|_| Outcome::Done).ok_or(Errno::EBADF),
            Op::Chdir(at) => {
                let at = self.at(ask.from, at)?;
                let directory = context.lookup_at(at.at(), at.entered(), AtFlags::empty())?;
                self.face.context_mut().fchdir(&directory)?;
                drop(directory);
                let cwd = self.face.context().cwd().clone();
                self.seen_at(&cwd)
            }
            Op::Chroot(at) => {
                let at = self.at(ask.from, at)?;
                if let Some(handle) = &at.handle {
                    self.face.context_mut().fchdir(handle)?;
                }
                self.face.context_mut().chroot(at.entered())?;
                let root = self.face.context().root().clone();
                self.seen_at(&root)
            }
            op => unreachable!("{op:?} is carried out elsewhere"),
        }
    }

    fn hold(&mut self, name: &str, handle: Handle, keeps: Keeps) -> Result<Outcome, Errno> {
        let seen = self.seen_at(&handle);
        self.held.insert(name.to_owned(), (handle, keeps));
        seen
    }
}

fn set(context: &Context, at: &Named<'_>, to: MountAttributes, how: Recursion) -> Result<(), Errno> {
    context.mount_setattr_at(at.at(), at.path, at.flags(), &to, how)
}

impl System for Engine {
    fn run(&mut self, ask: &Ask<'_>) -> Result<Outcome, Errno> {
        match (ask.op, ask.op.kind()) {
            (Op::Open(flags, at), _) => self.open(ask, *flags, at),
            (_, Kind::Question) => self.question(ask),
            (_, Kind::Names | Kind::Node) if ask.rules.is_empty() => self.names(ask).map(|()| Outcome::Done),
            (_, Kind::Names | Kind::Node) => self.by_rules(ask),
            (_, Kind::Mounts) => self.mounting(ask).map(|()| Outcome::Done),
            (_, Kind::Caller) => self.caller(ask),
        }
    }

    fn path_opened(&self) -> Option<String> {
        self.opened.clone()
    }

    fn stand(&mut self, from: &From) -> Result<(), Errno> {
        match from {
            From::Cwd(path) => self.face.context_mut().chdir(path.as_str()),
            From::Here => Ok(()),
            From::Held(name) => self.held(name).map(drop),
        }
    }

    fn mounts(&mut self) -> Vec<(u64, String)> {
        let listed = self.face.context().mountinfo().into_iter();
        listed.map(|mount| (mount.id, String::from_utf8(mount.mount_point).expect("a name of ours"))).collect()
    }

    fn read_only(&mut self) -> HashMap<u64, (bool, bool)> {
        let listed = self.face.context().mountinfo().into_iter();
        let of_superblock = SuperblockFlags::READ_ONLY;
        listed
            .map(|mount| {
                let is_read_only = mount.flags.contains(MountFlags::READ_ONLY);
                (mount.id, (is_read_only, mount.superblock_flags.contains(of_superblock)))
            })
            .collect()
    }
}
