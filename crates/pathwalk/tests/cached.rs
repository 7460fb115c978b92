//! Answers of the caches alone: the same as other contexts get, or `EAGAIN`, and the file system is
//! never asked.

use std::sync::Arc;

use pathwalk::{
    Access, AclState, At, AtFlags, Attributes, Cached, Context, Credentials, Errno, MountFlags, OpenFlags, OpenHow,
    PermissionRule, Resolve, StatxFlags, StatxMask, Vfs,
};
use pathwalk_memfs::{LinkBodies, MemFs, Options};

const CWD: At<'static> = At::Cwd;
const NONE: AtFlags = AtFlags::empty();

fn world(options: Options) -> (Arc<MemFs>, Context) {
    let fs = MemFs::with(options);
    fs.mkdir_all("/usr/bin", 0o755).unwrap();
    fs.file("/usr/bin/cc", 0o644).unwrap();
    fs.symlink("usr/bin", "/bin").unwrap();
    let fs = Arc::new(fs);
    // A time of access that is due would be no answer of the caches.
    let vfs = Vfs::builder().budget(1 << 20).mount_flags(MountFlags::NOATIME).build(fs.clone()).unwrap();
    (fs, vfs.context(Credentials::user(1000, 1000, &[])))
}

/// Runs every operation on a path, and returns the results.
fn ask(cached: &Cached<'_>, path: &str) -> [Result<(), Errno>; 5] {
    let open = OpenHow::from(OpenFlags::READ);
    [
        cached.statx_at(CWD, path, NONE, StatxMask::BASIC_STATS).map(drop),
        cached.faccessat(CWD, path, Access::READ, NONE),
        cached.lookup_at(CWD, path, NONE).map(drop),
        cached.open(path, open).map(drop),
        cached.stat(path).map(drop),
    ]
}

#[test]
fn the_file_system_is_asked_by_nobody_but_try_open() {
    let (fs, context) = world(Options::default());
    let before = fs.calls();
    assert_eq!(ask(&context.cached(), "/bin/cc"), [Err(Errno::EAGAIN); 5]);
    assert_eq!(context.cached().readlink("/bin", &mut [0; 9]), Err(Errno::EAGAIN));
    assert_eq!(fs.calls().since(&before).total(), 0);

    context.stat("/bin/cc").unwrap();
    assert_eq!(context.stat("/bin/ld"), Err(Errno::ENOENT));
    let before = fs.calls();
    assert_eq!(ask(&context.cached(), "/bin/cc"), [Ok(()); 5]);
    assert_eq!(ask(&context.cached(), "/bin/ld"), [Err(Errno::ENOENT); 5], "an absence is an answer");
    assert_eq!(ask(&context.cached(), "/bin/cc/"), [Err(Errno::ENOTDIR); 5]);
    let mut body = [0; 9];
    assert_eq!((context.cached().readlink("/bin", &mut body), &body[..7]), (Ok(7), &b"usr/bin"[..]));
    let calls = fs.calls().since(&before);
    assert_eq!((calls.total(), calls.open), (1, 1));
}

#[test]
fn attributes_that_are_out_of_date_are_no_answer() {
    let (fs, context) = world(Options::default());
    let root = context.vfs().context(Credentials::root());
    let file = root.open("/bin/cc", OpenFlags::WRITE).unwrap();
    file.write(b"text").unwrap();
    let before = fs.calls();
    assert_eq!(context.cached().stat("/bin/cc"), Err(Errno::EAGAIN));
    assert_eq!(context.cached().missing(), None, "no name is missing");
    assert!(context.cached().statx_at(CWD, "/bin/cc", NONE, StatxMask::MODE | StatxMask::UID).is_ok(), "those have not changed");
    assert_eq!(fs.calls().since(&before).total(), 0);
    context.stat("/bin/cc").unwrap();
    assert_eq!(context.cached().stat("/bin/cc").unwrap().size, 4);
}

/// Checks that a file system's own rule with a promise for searching does not extend to files.
#[test]
fn a_promise_for_searching_is_none_for_executing() {
    let (fs, context) = world(Options::default().permission_rule(PermissionRule::OwnButGenericSearch));
    fs.chmod("/usr/bin/cc", 0o755).unwrap();
    context.stat("/usr/bin/cc").unwrap();
    assert_eq!(context.cached().faccessat(CWD, "/usr/bin/cc", Access::EXECUTE, NONE), Err(Errno::EAGAIN));
    assert_eq!(context.cached().faccessat(CWD, "/usr/bin", Access::EXECUTE, NONE), Ok(()));
}

#[test]
fn what_takes_the_word_of_the_file_system_is_no_answer() {
    let less = [
        Options::default().permission_rule(PermissionRule::Own),
        Options::default().acl(AclState::Present),
        Options::default().link_bodies(LinkBodies::OnRequest),
    ];
    for options in less {
        let (fs, context) = world(options);
        _ = context.stat("/bin/cc");
        let before = fs.calls();
        assert_eq!(ask(&context.cached(), "/bin/cc"), [Err(Errno::EAGAIN); 5]);
        assert_eq!(fs.calls().since(&before).total(), 0);
    }
}

/// Checks the order of `RESOLVE_CACHED`: `EINVAL` first, then operations that would make or change
/// something.
#[test]
fn nothing_is_opened_that_is_changed() {
    let (_, context) = world(Options::default());
    context.stat("/bin/cc").unwrap();
    let how = |flags| OpenHow { flags, mode: 0, resolve: Resolve::CACHED };
    let open = |flags| context.cached().open("/bin/cc", how(flags)).map(drop);
    let (read, write) = (OpenFlags::READ, OpenFlags::WRITE);
    assert_eq!(open(read | OpenFlags::CREATE), Err(Errno::EAGAIN));
    assert_eq!(open(write | OpenFlags::TRUNCATE), Err(Errno::EAGAIN));
    assert_eq!(open(write | OpenFlags::TMPFILE), Err(Errno::EAGAIN));
    assert_eq!(open(read | OpenFlags::CREATE | OpenFlags::DIRECTORY), Err(Errno::EINVAL));
    // Also without the flag, because the operation is one of the caches.
    let plainly = context.cached().open("/bin/cc", read | OpenFlags::CREATE).map(drop);
    assert_eq!(plainly, Err(Errno::EAGAIN));
    assert_eq!(open(write), Err(Errno::EACCES));
    assert_eq!(open(read | OpenFlags::DIRECTORY), Err(Errno::ENOTDIR));
    assert_eq!(open(OpenFlags::PATH), Ok(()));
}

#[test]
fn who_misses_one_name_misses_the_same() {
    let (_, context) = world(Options::default());
    let missing = |path: &str| {
        let cached = context.cached();
        assert_eq!(cached.stat(path), Err(Errno::EAGAIN), "{path}");
        cached.missing()
    };
    let usr = missing("/usr/bin/cc");
    assert!(usr.is_some());
    assert_eq!(missing("/usr//lib"), usr);
    assert_eq!(missing("/./usr"), usr);
    assert_ne!(missing("/bin"), usr);
    context.lstat("/bin").unwrap();
    assert_eq!(missing("/bin/cc"), usr, "through a link");
    context.stat("/usr").unwrap();
    assert_eq!(missing("/bin/cc"), missing("/usr/bin"));
    assert_ne!(missing("/bin/cc"), usr);
}

/// Checks that neither hashes nor the seed are printed. A caller with hashes of chosen names, or
/// the seed, could find names that collide.
#[test]
fn nothing_of_the_secret_seed_is_shown() {
    const SEED: u64 = 0x1234_5678_9abc_def1;
    let shown = |seed: u64, path: &str| {
        let builder = Vfs::builder().budget(1 << 20).seed(seed);
        let of_builder = format!("{builder:?}");
        let vfs = builder.build(MemFs::new()).unwrap();
        let context = vfs.context(Credentials::root());
        let cached = context.cached();
        assert_eq!(cached.stat(path), Err(Errno::EAGAIN));
        let name = cached.missing().expect("a name is missing");
        [of_builder, format!("{name:?}"), format!("{name:#?}"), format!("{cached:?}"), format!("{context:?} {vfs:?}")]
    };
    let first = shown(SEED, "/a");
    assert_eq!((shown(SEED, "/b"), shown(!SEED, "/a")), (first.clone(), first.clone()));
    assert!(!first.iter().any(|text| text.contains(&SEED.to_string())), "{first:?}");
}

#[test]
fn a_handle_is_asked_about_itself() {
    let (fs, context) = world(Options::default());
    let (file, link) = (context.lookup("/bin/cc").unwrap(), context.lookup_at(CWD, "/bin", AtFlags::SYMLINK_NOFOLLOW).unwrap());
    let before = fs.calls();
    let (cached, empty) = (context.cached(), AtFlags::EMPTY_PATH);
    assert!(cached.statx_at(&file, "", empty, StatxMask::BASIC_STATS).is_ok());
    assert_eq!(cached.faccessat(&file, "", Access::WRITE, empty), Err(Errno::EACCES));
    assert_eq!(cached.lookup_at(&file, "", empty).unwrap().path(), Ok(b"/usr/bin/cc".to_vec()));
    let mut body = [0; 3];
    assert_eq!((cached.readlinkat(&link, "", &mut body), &body), (Ok(3), b"usr"));
    assert_eq!(cached.readlinkat(&file, "", &mut body), Err(Errno::ENOENT));
    assert_eq!(cached.statx_at(CWD, "", NONE, StatxMask::BASIC_STATS), Err(Errno::ENOENT));
    assert_eq!(fs.calls().since(&before).total(), 0);
}

/// Checks that `stat` shows the root of a mount as any other node, where a context does so, too.
#[test]
fn that_a_mount_begins_is_for_statx_alone() {
    let (_, context) = world(Options::default());
    let context = context.with_credentials(Credentials::root());
    context.mkdir("/mounted", 0o755).unwrap();
    context.mount(MemFs::new(), "/mounted", MountFlags::empty()).unwrap();
    for path in ["/", "/mounted"] {
        let plain = context.stat(path).unwrap();
        assert!(!(plain.flags | plain.flags_mask).contains(StatxFlags::MOUNT_ROOT));
        assert_eq!(context.cached().stat(path), Ok(plain));
        let whole = context.cached().statx(path, StatxMask::BASIC_STATS).unwrap();
        assert!(whole.attributes.flags.contains(StatxFlags::MOUNT_ROOT));
        assert_eq!(Attributes::from(whole), plain);
    }
}
