//! The security hook: when it is asked, and with what.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use std::sync::Arc;

use pathwalk::landlock::{Landlock, Ruleset};
use pathwalk::security::{Caller, Move, Object, Rights, SecurityHook};
use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, FileType, MountFlags, NewKind, NodeKey, OpenFlags, Recursion, RenameFlags,
    SetTime, UmountFlags, Vfs,
};
use pathwalk_memfs::MemFs;

/// A hook that counts what it is asked and records the last question.
#[derive(Clone, Default)]
struct Counting(Arc<Counts>);

#[derive(Default)]
struct Counts {
    asked: AtomicU64,
    last: Mutex<Option<(NodeKey, FileType, Rights, usize)>>,
}

impl SecurityHook for Counting {
    fn granted(&self, _: &Caller<'_>, object: &Object<'_>, rights: Rights) -> Rights {
        self.0.asked.fetch_add(1, Relaxed);
        *self.0.last.lock().unwrap() = Some((object.node().key(), object.kind(), rights, object.and_above().count()));
        rights
    }
}

impl Counting {
    fn asked(&self) -> u64 {
        self.0.asked.load(Relaxed)
    }

    fn last(&self) -> (NodeKey, FileType, Rights, usize) {
        self.0.last.lock().unwrap().take().unwrap()
    }
}

fn counted() -> (Context, Counting) {
    let hook = Counting::default();
    let context = Vfs::builder().security(hook.clone()).build(MemFs::new()).unwrap().context(Credentials::root());
    (context, hook)
}

fn restricted(prepare: impl FnOnce(&Context), rules: impl FnOnce(&Context) -> Ruleset) -> Context {
    let vfs = Vfs::builder().security(Landlock).build(MemFs::new()).unwrap();
    let mut context = vfs.context(Credentials::root());
    prepare(&context);
    let rules = rules(&context);
    context.restrict(&rules).unwrap();
    context
}

#[test]
fn lookups_and_attributes_ask_nothing() {
    let (context, hook) = counted();
    context.mkdir("/closed", 0o700).unwrap();
    context.mkdir("/open", 0o111).unwrap();
    context.write("/open/file", "data").unwrap();
    context.write("/closed/file", "data").unwrap();
    context.symlink("open/file", "/link").unwrap();
    let before = hook.asked();
    for _ in 0..3 {
        for path in ["/open/file", "/closed/file", "/link", "/open/../closed/file"] {
            context.access(path, Access::READ).unwrap();
            context.stat(path).unwrap();
            context.lookup(path).unwrap();
        }
        assert_eq!(context.stat("/open/absent"), Err(Errno::ENOENT));
        context.readlink("/link", &mut [0; 16]).unwrap();
    }
    context.chmod("/open/file", 0o600).unwrap();
    context.chown("/open/file", Some(1), Some(1)).unwrap();
    context.utimes("/open/file", SetTime::Now, SetTime::Now).unwrap();
    assert_eq!(hook.asked(), before);
}

#[test]
fn each_change_asks_about_its_directory() {
    let (context, hook) = counted();
    context.mkdir("/d", 0o755).unwrap();
    let dir = context.lookup("/d").unwrap();
    let about_dir = |rights| (dir.key(), FileType::Directory, rights, 2);
    for (kind, right) in [
        (NewKind::Regular, Rights::MAKE_REG),
        (NewKind::Fifo, Rights::MAKE_FIFO),
        (NewKind::Socket, Rights::MAKE_SOCK),
        (NewKind::CharDevice(Default::default()), Rights::MAKE_CHAR),
        (NewKind::BlockDevice(Default::default()), Rights::MAKE_BLOCK),
    ] {
        context.mknod("/d/n", kind, 0o644).unwrap();
        assert_eq!(hook.last(), about_dir(right));
        context.unlink("/d/n").unwrap();
        assert_eq!(hook.last(), about_dir(Rights::REMOVE_FILE));
    }
    context.symlink("x", "/d/n").unwrap();
    assert_eq!(hook.last(), about_dir(Rights::MAKE_SYM));
    context.mkdir("/d/sub", 0o755).unwrap();
    assert_eq!(hook.last(), about_dir(Rights::MAKE_DIR));
    context.rmdir("/d/sub").unwrap();
    assert_eq!(hook.last(), about_dir(Rights::REMOVE_DIR));
    context.write("/d/file", "data").unwrap();
    let file = context.lookup("/d/file").unwrap();
    context.open("/d/file", OpenFlags::READ).unwrap();
    assert_eq!(hook.last(), (file.key(), FileType::Regular, Rights::READ_FILE | Rights::TRUNCATE, 3));
    context.truncate("/d/file", 1).unwrap();
    assert_eq!(hook.last(), (file.key(), FileType::Regular, Rights::TRUNCATE, 3));
    let before = hook.asked();
    context.open("/d/file", OpenFlags::PATH).unwrap();
    assert_eq!(hook.asked(), before, "a place gives no right");
}

#[test]
fn a_mount_is_seen_in_place_of_what_it_covers() {
    let (context, hook) = counted();
    context.create_dir_all("/a/point").unwrap();
    context.mount(MemFs::new(), "/a/point", MountFlags::empty()).unwrap();
    context.write("/a/point/file", "data").unwrap();
    context.truncate("/a/point/file", 0).unwrap();
    // The file, the root of its mount, `/a` and `/`.
    assert_eq!(hook.last().3, 4);
}

#[test]
fn a_rule_holds_through_mounts_and_all_names() {
    let prepare = |context: &Context| {
        context.create_dir_all("/kept/point").unwrap();
        context.create_dir_all("/other").unwrap();
        context.write("/kept/file", "data").unwrap();
        context.link("/kept/file", "/other/same").unwrap();
        context.mount(MemFs::new(), "/kept/point", MountFlags::empty()).unwrap();
        context.write("/kept/point/file", "data").unwrap();
    };
    let context = restricted(prepare, |context| {
        let kept = context.lookup("/kept").unwrap();
        Ruleset::new(Rights::READ_FILE | Rights::WRITE_FILE).allow(&kept, Rights::READ_FILE).unwrap()
    });
    assert!(context.read("/kept/point/file").is_ok());
    assert_eq!(context.write("/kept/point/file", "").unwrap_err().errno(), Errno::EACCES);
    assert_eq!(context.read("/other/same").unwrap_err().errno(), Errno::EACCES, "the rule is about the directory");
    let umount = context.umount("/kept/point", UmountFlags::empty());
    assert_eq!(umount, Err(Errno::EPERM));
    assert_eq!(context.bind("/kept", "/other", Recursion::Alone), Err(Errno::EPERM));
}

#[test]
fn a_restriction_is_inherited_and_only_grows() {
    let context = restricted(
        |context| context.write("/file", "data").unwrap(),
        |context| Ruleset::new(Rights::WRITE_FILE).allow(context.root(), Rights::WRITE_FILE).unwrap(),
    );
    let mut copy = context.clone();
    copy.restrict(&Ruleset::new(Rights::WRITE_FILE)).unwrap();
    assert_eq!(copy.write("/file", "").unwrap_err().errno(), Errno::EACCES);
    assert_eq!(copy.refusing("/file", Rights::WRITE_FILE | Rights::READ_FILE), Ok(vec![1]));
    assert!(context.write("/file", "").is_ok(), "the copy's restriction is its own");
    let again = Ruleset::new(Rights::WRITE_FILE).allow(copy.root(), Rights::WRITE_FILE).unwrap();
    copy.restrict(&again).unwrap();
    assert_eq!(copy.write("/file", "").unwrap_err().errno(), Errno::EACCES);
    for _ in 0..13 {
        copy.restrict(&again).unwrap();
    }
    assert_eq!(copy.restrict(&again), Err(Errno::E2BIG));
}

/// Execution takes the right to execute and, as on Linux, that to read.
#[test]
fn a_file_is_executed_by_the_rights_of_a_rule() {
    let prepare = |context: &Context| {
        context.write("/tool", "").unwrap();
        context.set_permissions("/tool", 0o755).unwrap();
    };
    for (handled, granted) in [(Rights::EXECUTE, false), (Rights::READ_FILE, false), (Rights::WRITE_FILE, true)] {
        let context = restricted(prepare, |_| Ruleset::new(handled));
        assert_eq!(context.may_execute("/tool").is_ok(), granted, "{handled:?}");
        assert_eq!(context.may_execute("/tool").err(), (!granted).then_some(Errno::EACCES), "{handled:?}");
    }
}

#[test]
fn what_is_open_keeps_the_right_to_truncate() {
    let prepare = |context: &Context| context.write("/file", "data").unwrap();
    let mut context =
        restricted(prepare, |context| Ruleset::new(Rights::EXECUTE).allow(context.root(), Rights::EXECUTE).unwrap());
    let before = context.open("/file", OpenFlags::WRITE).unwrap();
    context.restrict(&Ruleset::new(Rights::TRUNCATE)).unwrap();
    let after = context.open("/file", OpenFlags::WRITE).unwrap();
    assert_eq!((before.set_len(2), after.set_len(1)), (Ok(()), Err(Errno::EACCES)));
    let truncating = context.open("/file", OpenFlags::WRITE | OpenFlags::TRUNCATE);
    assert_eq!(truncating.map(drop), Err(Errno::EACCES));
    assert_eq!(context.stat("/file").unwrap().size, 2);
}

#[test]
fn a_ruleset_is_checked() {
    let (context, _) = counted();
    context.write("/file", "").unwrap();
    let (file, root) = (context.lookup("/file").unwrap(), context.root());
    let allow = |at, rights| Ruleset::new(Rights::all() & !Rights::EXECUTE).allow(at, rights).map(drop);
    assert_eq!(allow(root, Rights::empty()), Err(Errno::ENOMSG));
    assert_eq!(allow(root, Rights::EXECUTE), Err(Errno::EINVAL));
    assert_eq!(allow(&file, Rights::READ_DIR), Err(Errno::EINVAL));
    let mut other = context.clone();
    assert_eq!(other.restrict(&Ruleset::new(Rights::all())), Err(Errno::EOPNOTSUPP), "another hook");
    let vfs = Vfs::builder().security(Landlock).build(MemFs::new()).unwrap();
    let mut context = vfs.context(Credentials::root());
    assert_eq!(context.restrict(&Ruleset::new(Rights::empty())), Err(Errno::ENOMSG));
    let elsewhere = Ruleset::new(Rights::all()).allow(&file, Rights::READ_FILE).unwrap();
    assert_eq!(context.restrict(&elsewhere), Err(Errno::EBADF));
}

/// The node in the way of a move, if there is one.
type Target = Option<(NodeKey, FileType)>;

/// A hook that records the node in the way of each move.
#[derive(Clone, Default)]
struct InTheWay(Arc<Mutex<Vec<Target>>>);

impl SecurityHook for InTheWay {
    fn granted(&self, _: &Caller<'_>, _: &Object<'_>, rights: Rights) -> Rights {
        rights
    }

    fn may_move(&self, _: &Caller<'_>, the: &Move<'_>) -> Result<(), Errno> {
        self.0.lock().unwrap().push(the.target.as_ref().map(|target| (target.node().key(), target.kind())));
        Ok(())
    }
}

#[test]
fn the_hook_is_told_what_a_move_replaces() {
    let hook = InTheWay::default();
    let context = Vfs::builder().security(hook.clone()).build(MemFs::new()).unwrap().context(Credentials::root());
    context.write("/file", "").unwrap();
    context.write("/other", "").unwrap();
    context.create_dir("/dir").unwrap();
    let of = |path| context.lookup(path).unwrap().key();
    let (other, dir) = (of("/other"), of("/dir"));
    context.rename("/file", "/absent").unwrap();
    context.rename("/absent", "/other").unwrap();
    context.renameat(At::Cwd, "/other", At::Cwd, "/dir", RenameFlags::EXCHANGE).unwrap();
    let expected = [None, Some((other, FileType::Regular)), Some((dir, FileType::Directory))];
    assert_eq!(*hook.0.lock().unwrap(), expected);
}

#[test]
fn a_move_between_directories_takes_refer() {
    let prepare = |context: &Context| {
        context.create_dir_all("/a").unwrap();
        context.create_dir_all("/b").unwrap();
        context.write("/a/file", "data").unwrap();
    };
    let names = Rights::MAKE_REG | Rights::REMOVE_FILE;
    let context = restricted(prepare, |context| Ruleset::new(names).allow(context.root(), names).unwrap());
    let to = |context: &Context| context.renameat(context.root(), "a/file", context.root(), "b/file", RenameFlags::empty());
    assert_eq!(to(&context), Err(Errno::EXDEV));
    assert_eq!(context.linkat(context.root(), "a/file", context.root(), "b/two", Default::default()), Err(Errno::EXDEV));
    assert_eq!(context.rename("/a/file", "/a/other").map_err(|error| error.errno()), Ok(()));
    let place = context.lookup_at(context.root(), "a/other", AtFlags::empty()).unwrap();
    assert_eq!(place.path(), Ok(b"/a/other".to_vec()));
}
