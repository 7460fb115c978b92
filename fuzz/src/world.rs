//! The two sides that are asked: an engine over a file system in memory, and a model, both with the
//! same tree.
//!
//! The tree never changes, so a world serves any number of questions. After each question, all its
//! pins are released.

use std::collections::HashMap;
use std::sync::Arc;

use pathwalk::internals::evict;
use pathwalk::{
    AclState, At, AtFlags, Capabilities, Context, Credentials, Freshness, Handle, PermissionRule, Vfs, permission::Ids,
};
use pathwalk_memfs::{LinkBodies, MemFs, Options};
use pathwalk_model::{AT_FDCWD, AtFlags as ModelAtFlags, Id, Model, OpenFlags, Process};

use crate::tree::{self, DIRECTORIES, REMOVED, ROOTS, STARTS};

bitflags::bitflags! {
    /// The properties of the file system, and the switch that is on.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub(crate) struct Settings: u8 {
        const PROTECT_SYMLINKS = 1;
        const ASK_NAMES = 2;
        const ASK_ABSENCE = 4;
        const OWN_RULE = 8;
        const BODIES_ON_REQUEST = 16;
        const ACL_UNKNOWN = 32;
        const SMALL_BUDGET = 64;
    }
}

/// The budget of the caches in bytes. All of the tree fits into `BUDGET`, and only a part into
/// `SMALL_BUDGET`.
const BUDGET: u64 = 512 << 10;
const SMALL_BUDGET: u64 = 160 << 10;

/// The root and working directory of an asker, and the start of its path. Each is a number in
/// [`STARTS`], or after those in [`REMOVED`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    pub(crate) root: usize,
    pub(crate) cwd: usize,
    /// The start of the path, `None` for the working directory.
    pub(crate) at: Option<usize>,
}

impl Stand {
    /// Returns the stand that these bytes select.
    pub(crate) fn of([root, cwd, at]: [u8; 3]) -> Stand {
        // Removed directories count as working directories too.
        let cwd = usize::from(cwd) % (DIRECTORIES + REMOVED.len());
        let cwd = if cwd < DIRECTORIES { cwd } else { cwd - DIRECTORIES + STARTS.len() };
        let at = (at >= 0x80).then_some(usize::from(at & 0x7f) % (STARTS.len() + REMOVED.len()));
        Stand { root: usize::from(root) % ROOTS, cwd, at }
    }
}

/// A user: real id, effective user and group id, groups and capabilities.
type Who = (u32, u32, u32, &'static [u32], Capabilities);

const USERS: [Who; 9] = [
    (0, 0, 0, &[], Capabilities::all()),
    (1000, 1000, 1000, &[], Capabilities::empty()),
    (1001, 1001, 1001, &[], Capabilities::empty()),
    (1002, 1002, 1002, &[7, 1001, 3], Capabilities::empty()),
    (1002, 1000, 1002, &[], Capabilities::empty()),
    (0, 1001, 1000, &[], Capabilities::empty()),
    (0, 0, 0, &[], Capabilities::empty()),
    (1002, 1002, 1002, &[], Capabilities::DAC_READ_SEARCH),
    (1002, 1002, 1002, &[], Capabilities::DAC_OVERRIDE.union(Capabilities::FOWNER)),
];

/// An asker, on both sides.
pub(crate) struct Asker<'a> {
    pub(crate) context: Context,
    handle: Option<Handle>,
    pub(crate) process: &'a mut Process,
    pub(crate) descriptor: i32,
}

impl Asker<'_> {
    pub(crate) fn at(&self) -> At<'_> {
        self.handle.as_ref().map_or(At::Cwd, At::Handle)
    }
}

/// An engine and a model.
pub(crate) struct World {
    pub(crate) vfs: Vfs,
    model: Arc<Model>,
    /// The contexts of root, one in each removed directory.
    removed: Vec<Context>,
    /// The model's process that has every start open, in order.
    opener: Process,
    processes: HashMap<(usize, usize), Process>,
    /// The number of dentries in use when nothing can be evicted any more.
    kept: u64,
    /// The inode number for each node of the model.
    inodes: HashMap<Id, u64>,
}

impl World {
    pub(crate) fn new(settings: Settings) -> World {
        let fs = MemFs::with(options(settings));
        tree::lay_into(&fs).expect("the tree can be laid into a fresh file system");
        let budget = if settings.contains(Settings::SMALL_BUDGET) { SMALL_BUDGET } else { BUDGET };
        let mut builder = Vfs::builder().budget(budget).seed(1);
        if settings.contains(Settings::PROTECT_SYMLINKS) {
            builder = builder.protect_symlinks();
        }
        let vfs = builder.build(fs).expect("the budget is enough");
        let mut removed = Vec::new();
        for path in REMOVED {
            let mut context = vfs.context(Credentials::root());
            context.chdir(path).expect("it is there");
            removed.push(context);
        }
        for path in REMOVED.iter().rev() {
            vfs.context(Credentials::root()).rmdir(path).expect("it is empty");
        }
        let (model, opener) = model(settings).expect("the tree can be laid into a fresh model");
        let mut world =
            World { vfs, model: Arc::new(model), removed, opener, processes: HashMap::new(), kept: 0, inodes: HashMap::new() };
        world.evict_all();
        world.kept = world.used();
        world
    }

    pub(crate) fn model(&self) -> Arc<Model> {
        Arc::clone(&self.model)
    }

    /// Returns an asker for this user and stand.
    pub(crate) fn asker(&mut self, user: u8, stand: Stand) -> Asker<'_> {
        let (real, uid, gid, groups, caps) = USERS[usize::from(user) % USERS.len()];
        let credentials = Credentials::user(uid, gid, groups).with_real(Ids { uid: real, gid }).with_capabilities(caps);
        let root = self.vfs.context(Credentials::root());
        let mut context = match stand.cwd.checked_sub(STARTS.len()) {
            Some(removed) => self.removed[removed].clone(),
            None => {
                let mut context = root.clone();
                context.chdir(STARTS[stand.cwd]).expect("it is a directory");
                context
            }
        };
        context.chroot(STARTS[stand.root]).expect("it is a directory");
        let handle = stand.at.map(|at| match at.checked_sub(STARTS.len()) {
            Some(removed) => self.removed[removed].cwd().clone(),
            None => root.lookup_at(At::Cwd, STARTS[at], AtFlags::SYMLINK_NOFOLLOW).expect("it is there"),
        });
        let process = self.processes.entry((stand.root, stand.cwd)).or_insert_with(|| {
            let mut process = self.model.fork(&self.opener);
            self.model.fchdir(&mut process, stand.cwd as i32).expect("it is a directory");
            self.model.chroot(&mut process, STARTS[stand.root]).expect("it is a directory");
            process
        });
        let theirs = pathwalk_model::Credentials { uid: real, ..pathwalk_model::Credentials::user(uid, gid, groups) };
        process.set_credentials(theirs.with_capabilities(model_set(caps)));
        let descriptor = stand.at.map_or(AT_FDCWD, |at| at as i32);
        Asker { context: context.with_credentials(credentials), handle, process, descriptor }
    }

    /// Returns whether the two nodes correspond, as in all earlier answers.
    pub(crate) fn is_same(&mut self, theirs: Id, ours: u64) -> bool {
        let known = self.inodes.len();
        let same = *self.inodes.entry(theirs).or_insert(ours) == ours;
        // A node that is new on one side must be new on both.
        same && (self.inodes.len() == known || self.inodes.values().filter(|ino| **ino == ours).count() == 1)
    }

    fn evict_all(&self) {
        evict(&self.vfs, usize::MAX);
    }

    fn used(&self) -> u64 {
        self.vfs.stats().dentries.used
    }

    /// Checks that no pins are left. No question is being asked at this point.
    pub(crate) fn check_pins(&self) {
        self.evict_all();
        assert_eq!(self.used(), self.kept, "dentries are pinned that no handle holds");
    }
}

fn options(settings: Settings) -> Options {
    let freshness = |flag| if settings.contains(flag) { Freshness::AskEachTime } else { Freshness::Stable };
    let mut options = Options::default().freshness(freshness(Settings::ASK_NAMES)).absence(freshness(Settings::ASK_ABSENCE));
    if settings.contains(Settings::OWN_RULE) {
        options = options.permission_rule(PermissionRule::Own);
    }
    if settings.contains(Settings::BODIES_ON_REQUEST) {
        options = options.link_bodies(LinkBodies::OnRequest);
    }
    if settings.contains(Settings::ACL_UNKNOWN) {
        options = options.acl(AclState::Unknown);
    }
    options
}

fn model(settings: Settings) -> pathwalk_model::Result<(Model, Process)> {
    let protected_symlinks = settings.contains(Settings::PROTECT_SYMLINKS);
    let model = Model::new(pathwalk_model::Options { protected_symlinks, ..pathwalk_model::Options::default() });
    let mut opener = model.process(pathwalk_model::Credentials::root());
    tree::lay_out(&model, &mut opener)?;
    for (number, path) in (0..).zip(STARTS.iter().chain(&REMOVED)) {
        let descriptor = model.open(&mut opener, AT_FDCWD, path, OpenFlags::PATH | OpenFlags::NOFOLLOW, 0)?;
        assert_eq!(descriptor, number, "descriptors are counted from 0");
    }
    for path in REMOVED.iter().rev() {
        model.rmdir(&mut opener, AT_FDCWD, path)?;
    }
    Ok((model, opener))
}

/// Converts flags that both sides have to the model's type.
pub(crate) fn model_flags(flags: AtFlags) -> ModelAtFlags {
    ModelAtFlags::from_bits_retain(flags.bits() as i32)
}

fn model_set(caps: Capabilities) -> pathwalk_model::Capabilities {
    use pathwalk_model::Capabilities as Theirs;
    let pairs = [
        (Capabilities::DAC_OVERRIDE, Theirs::DAC_OVERRIDE),
        (Capabilities::DAC_READ_SEARCH, Theirs::DAC_READ_SEARCH),
        (Capabilities::FOWNER, Theirs::FOWNER),
        (Capabilities::CHOWN, Theirs::CHOWN),
        (Capabilities::FSETID, Theirs::FSETID),
        (Capabilities::MKNOD, Theirs::MKNOD),
    ];
    let held = pairs.iter().filter(|(ours, _)| caps.contains(*ours)).map(|(_, theirs)| *theirs);
    held.fold(Theirs::empty(), Theirs::union)
}
