//! A security hook that cares about search: when it is asked, what its answer holds for, and that a
//! walk that begins after a change of its rules goes by the new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use pathwalk::security::{Caller, Label, Object, Rights, Search, SecurityHook};
use pathwalk::{
    Access, At, AtFlags, Context, Credentials, EntryHandles, Errno, HandOver, MountFlags, NodeKey, OpenFlags, OpenHow,
    UnlinkFlags, Vfs, What, Why, internals,
};
use pathwalk_memfs::MemFs;

/// The rule of the hook for one directory, and what it was asked.
struct Rules {
    key: NodeKey,
    /// Whether the directory is closed to all but the contexts that are labelled `Guest`.
    is_closed: AtomicBool,
    /// Whether the hook promises what it can.
    promises: AtomicBool,
    asked: AtomicU64,
}

struct Guest;

struct Hook(Arc<Rules>);

impl SecurityHook for Hook {
    fn granted(&self, _: &Caller<'_>, _: &Object<'_>, rights: Rights) -> Rights {
        rights
    }

    fn cares_about_search(&self) -> bool {
        true
    }

    fn may_search(&self, who: &Caller<'_>, directory: &Object<'_>) -> Search {
        self.0.asked.fetch_add(1, SeqCst);
        let is_guest = who.label.is_some_and(|label| label.get::<Guest>().is_some());
        let is_closed = directory.node().key() == self.0.key && self.0.is_closed.load(SeqCst);
        match is_closed {
            true if is_guest => Search::Granted,
            true => Search::Refused,
            false if self.0.promises.load(SeqCst) => Search::GrantedToAll,
            false => Search::Granted,
        }
    }
}

struct World {
    rules: Arc<Rules>,
    vfs: Vfs,
    user: Context,
}

/// A tree in which a user may search each directory, and `/a/b` is the one with the rule.
const DIRECTORIES: [&str; 4] = ["/a", "/a/b", "/a/b/c", "/a/b/c/d"];
const FILE: &str = "/a/b/c/d/file";

impl World {
    fn new(mode: u16) -> World {
        let fs = MemFs::new();
        DIRECTORIES.iter().for_each(|dir| fs.mkdir(dir, mode).unwrap());
        fs.file(FILE, 0o666).unwrap();
        let probe = Vfs::builder().build(fs.alias()).unwrap().context(Credentials::root());
        let key = probe.lookup("/a/b").unwrap().key();
        let (is_closed, promises) = (AtomicBool::new(false), AtomicBool::new(true));
        let rules = Arc::new(Rules { key, is_closed, promises, asked: AtomicU64::new(0) });
        let builder = internals::learning_at_once(Vfs::builder().budget(1 << 20));
        let vfs = builder.security(Hook(rules.clone())).build(fs).unwrap();
        let user = vfs.context(Credentials::user(1000, 1000, &[]));
        World { rules, vfs, user }
    }

    /// Returns the result, and how often the hook was asked meanwhile.
    fn asked<T>(&self, act: impl FnOnce() -> T) -> (T, u64) {
        let before = self.rules.asked.load(SeqCst);
        let result = act();
        (result, self.rules.asked.load(SeqCst) - before)
    }

    fn close(&self, to: bool) {
        self.rules.is_closed.store(to, SeqCst);
        self.vfs.search_rules_changed();
    }
}

#[test]
fn a_promise_is_asked_for_once_a_directory_and_then_no_more() {
    // 0111: all may search, and none may list.
    for mode in [0o111, 0o755] {
        let world = World::new(mode);
        let (found, asked) = world.asked(|| world.user.stat(FILE).is_ok());
        assert_eq!((found, asked), (true, 5), "the root and four directories");
        let ((), asked) = world.asked(|| {
            for _ in 0..1000 {
                world.user.access(FILE, Access::READ).unwrap();
                world.user.stat(FILE).unwrap();
                assert_eq!(world.user.stat("/a/b/c/d/none"), Err(Errno::ENOENT));
            }
        });
        assert_eq!(asked, 0);
        // The lock-free walk passes, and so does the memo.
        assert!(world.user.cached().stat(FILE).is_ok());
        assert_eq!(world.user.access("/a/b", Access::EXECUTE), Ok(()));
        // The promise is the node's: a change of its mode leaves it.
        world.vfs.context(Credentials::root()).chmod("/a/b", 0o555).unwrap();
        assert_eq!(world.asked(|| world.user.stat(FILE).is_ok()), (true, 0));
    }
}

#[test]
fn without_a_promise_each_search_asks() {
    let world = World::new(0o755);
    world.rules.promises.store(false, SeqCst);
    for _ in 0..3 {
        assert_eq!(world.asked(|| world.user.stat(FILE).is_ok()), (true, 5));
    }
    assert_eq!(world.user.cached().stat(FILE), Err(Errno::EAGAIN));
    assert!(world.vfs.stats().hand_overs_for(HandOver::Permission) > 0);
    assert_eq!(world.asked(|| world.user.access("/a", Access::EXECUTE)), (Ok(()), 2), "the root, and the directory itself");
    assert_eq!(world.asked(|| world.user.access("/a", Access::READ)), (Ok(()), 1));
    assert_eq!(world.asked(|| world.user.faccessat(At::Cwd, FILE, Access::READ, AtFlags::empty())), (Ok(()), 5));
}

#[test]
fn what_permissions_refuse_asks_no_hook() {
    let world = World::new(0o700);
    let (answer, asked) = world.asked(|| world.user.stat(FILE));
    assert_eq!((answer, asked), (Err(Errno::EACCES), 1), "of the root");
    assert_eq!(world.asked(|| world.user.access("/a", Access::EXECUTE)), (Err(Errno::EACCES), 0));
}

#[test]
fn every_operation_is_refused_below_a_closed_directory() {
    let world = World::new(0o777);
    let open = world.user.open("/a/b", OpenFlags::READ).unwrap();
    let inside = world.user.lookup("/a/b/c").unwrap();
    world.close(true);
    let user = &world.user;
    let refused = Err(Errno::EACCES);
    for _ in 0..2 {
        assert_eq!(user.stat(FILE).map(drop), refused);
        assert_eq!(user.access(FILE, Access::empty()), refused);
        assert_eq!(user.readlink(FILE, &mut [0; 8]).map(drop), refused);
        assert_eq!(user.lookup("/a/b/.").map(drop), refused);
        assert_eq!(user.lookup("/a/b/..").map(drop), refused);
        assert_eq!(user.access("/a/b", Access::EXECUTE), refused);
        assert_eq!(user.faccessat(At::Cwd, "/a/b", Access::EXECUTE, AtFlags::EACCESS), refused);
        assert_eq!(user.mkdir("/a/b/new", 0o755), refused);
        assert_eq!(user.unlinkat(At::Cwd, "/a/b/c", UnlinkFlags::REMOVEDIR), refused);
        assert_eq!(user.renameat(At::Cwd, "/a/b/c", At::Cwd, "/a/c", Default::default()), refused);
        let create = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o644, ..OpenHow::default() };
        assert_eq!(user.open("/a/b/new", create).map(drop), refused);
        assert_eq!(user.clone().chdir("/a/b"), refused);
        assert_eq!(user.fstatat(&open, "c", AtFlags::empty()).map(drop), refused);
    }
    // What is held is used, the directory itself is seen, and names are listed.
    assert!(user.fstatat(&inside, "d", AtFlags::empty()).is_ok());
    assert!(user.stat("/a/b").is_ok());
    let names = user.readdirplus(&open, 10, EntryHandles::With).unwrap();
    assert!(names.len() == 3 && names.iter().all(|of| of.attributes == Err(Errno::EACCES) && of.handle.is_none()));
    // The steps of a walk say which check it was.
    let steps = user.steps(FILE);
    let last = &steps.steps.last().unwrap().what;
    assert!(matches!(last, What::Refused { errno: Errno::EACCES, why: Why::SecurityHook, .. }), "{last:?}");

    let mut guest = user.clone();
    guest.set_label(Some(Label::new(Guest)));
    for _ in 0..3 {
        assert!(guest.stat(FILE).is_ok());
        assert_eq!(user.stat(FILE).map(drop), refused, "what one caller was let through is no other's");
    }
    world.close(false);
    assert_eq!(user.stat(FILE).map(drop), Ok(()));
    assert!(user.cached().stat(FILE).is_ok());
}

#[test]
fn remembered_paths_go_with_the_promise() {
    // Ways that are valid for all callers, and for one class.
    for mode in [0o755, 0o750] {
        let world = World::new(mode);
        let who = if mode == 0o755 { world.user.clone() } else { world.vfs.context(Credentials::user(1000, 0, &[])) };
        for _ in 0..20 {
            (0..20).for_each(|_| who.access(FILE, Access::READ).unwrap());
            assert!(who.cached().stat(FILE).is_ok());
            world.close(true);
            assert_eq!(who.access(FILE, Access::READ), Err(Errno::EACCES));
            assert_eq!(who.cached().stat(FILE), Err(Errno::EAGAIN));
            world.close(false);
        }
    }
}

#[test]
fn one_directory_may_change_alone() {
    let world = World::new(0o755);
    world.user.stat(FILE).unwrap();
    let handle = world.user.lookup("/a/b").unwrap();
    world.rules.is_closed.store(true, SeqCst);
    assert!(world.user.stat(FILE).is_ok(), "the promise holds until it is withdrawn");
    world.vfs.search_rule_changed(&handle).unwrap();
    assert_eq!(world.user.stat(FILE), Err(Errno::EACCES));
    assert_eq!(world.asked(|| world.user.stat("/a").is_ok()), (true, 0), "the others keep theirs");
    let file = world.vfs.context(Credentials::root()).lookup("/a").unwrap();
    assert_eq!(World::new(0o755).vfs.search_rule_changed(&file), Err(Errno::EBADF));
}

#[test]
fn roots_of_mounts_are_searched_too() {
    let world = World::new(0o755);
    let root = world.vfs.context(Credentials::root());
    let other = MemFs::new();
    other.file("/on", 0o644).unwrap();
    root.mount(other, "/a/b/c", MountFlags::empty()).unwrap();
    let (found, asked) = world.asked(|| world.user.stat("/a/b/c/on").is_ok());
    assert!(found && asked >= 1, "{asked}");
    assert_eq!(world.asked(|| world.user.stat("/a/b/c/on").is_ok()), (true, 0));
    world.close(true);
    assert_eq!(world.user.stat("/a/b/c/on"), Err(Errno::EACCES));
}

#[test]
fn directories_that_come_back_are_asked_about_again() {
    let world = World::new(0o755);
    world.user.stat(FILE).unwrap();
    while internals::evict(&world.vfs, 1) > 0 {}
    assert_eq!(world.asked(|| world.user.stat(FILE).is_ok()), (true, 4), "the root stays");
    world.user.stat(FILE).unwrap();
    world.vfs.context(Credentials::root()).mkdir("/a/new", 0o777).unwrap();
    assert_eq!(world.asked(|| world.user.stat("/a/new/none")), (Err(Errno::ENOENT), 1));
}

/// Threads that walk while the rule changes: after a change has returned, its thread, and each that
/// begins later, sees the new rule.
#[test]
fn walks_that_begin_later_go_by_the_new_rule() {
    let world = World::new(0o755);
    let done = AtomicBool::new(false);
    // Odd while the directory is closed: raised before it opens, and after it is closed.
    let epoch = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let user = world.user.clone();
                while !done.load(SeqCst) {
                    let before = epoch.load(SeqCst);
                    let answer = user.access(FILE, Access::READ);
                    let after = epoch.load(SeqCst);
                    if before == after && before % 2 == 1 {
                        assert_eq!(answer, Err(Errno::EACCES));
                    }
                    assert!(matches!(answer, Ok(()) | Err(Errno::EACCES)));
                }
            });
        }
        scope.spawn(|| {
            while !done.load(SeqCst) {
                internals::evict(&world.vfs, 1);
                std::thread::yield_now();
            }
        });
        for _ in 0..3000 {
            world.close(true);
            epoch.fetch_add(1, SeqCst);
            assert_eq!(world.user.access(FILE, Access::READ), Err(Errno::EACCES));
            epoch.fetch_add(1, SeqCst);
            world.close(false);
            assert_eq!(world.user.access(FILE, Access::READ), Ok(()));
        }
        done.store(true, SeqCst);
    });
}
