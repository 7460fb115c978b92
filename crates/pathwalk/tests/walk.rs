//! The engine on memfs, one behaviour a test, each tested cold (the locked walk) and warm (the fast
//! one).

use pathwalk::internals::{self, Config, SearchCheck, create, evict, rename, set_attributes, unlink};
use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, FileType, MountFlags, Name, NewKind, NewNode, RenameFlags, SetAttributes,
    Vfs,
};
use pathwalk_memfs::MemFs;

fn tree() -> MemFs {
    let fs = MemFs::new();
    fs.mkdir_all("/usr/bin", 0o755).unwrap();
    fs.mkdir("/usr/private", 0o700).unwrap();
    fs.file("/usr/bin/dash", 0o755).unwrap();
    fs.file("/usr/private/key", 0o600).unwrap();
    fs.symlink("usr/bin", "/bin").unwrap();
    fs.symlink("dash", "/usr/bin/sh").unwrap();
    fs.symlink("/bin/sh", "/usr/bin/ash").unwrap();
    fs.symlink("loop", "/loop").unwrap();
    fs.symlink("nowhere", "/dangling").unwrap();
    fs.symlink("usr/bin/", "/slash").unwrap();
    fs.symlink("usr/bin/dash/", "/slashfile").unwrap();
    fs
}

fn context() -> Context {
    // Links that were just made would have a time of access due.
    Vfs::builder().budget(1 << 20).mount_flags(MountFlags::NOATIME).build(tree()).unwrap().context(Credentials::user(
        1000,
        1000,
        &[],
    ))
}

/// Checks access cold, then warm twice. All answers are the same, and the last is the fast walk's
/// alone.
fn access(context: &Context, path: &str, want: Access) -> Result<(), Errno> {
    let cold = context.access(path, want);
    let warm = context.access(path, want);
    let before = context.vfs().stats().hand_overs;
    assert_eq!((cold, warm), (warm, context.access(path, want)), "{path}");
    assert_eq!(context.vfs().stats().hand_overs, before, "{path} was handed over when warm");
    cold
}

#[test]
fn paths_lead_where_linux_leads() {
    let context = context();
    let ok = [
        "/",
        "//",
        "/.",
        "/..",
        "/usr",
        "/usr/",
        "/usr//bin/./dash",
        "/usr/../usr/bin",
        "usr",
        "usr/bin/../bin/dash",
        "/bin/dash",
        "/bin/sh",
        "/usr/bin/ash",
        "/bin/ash",
        "/bin/",
        "/slash",
        "/slash/dash",
        "/slash/",
        ".",
        "..",
        "../usr",
    ];
    for path in ok {
        assert_eq!(access(&context, path, Access::empty()), Ok(()), "{path}");
    }
    let errors = [
        ("", Errno::ENOENT),
        ("/nope", Errno::ENOENT),
        ("/nope/", Errno::ENOENT),
        ("/nope/..", Errno::ENOENT),
        ("/usr/bin/dash/", Errno::ENOTDIR),
        ("/usr/bin/dash/.", Errno::ENOTDIR),
        ("/usr/bin/dash/..", Errno::ENOTDIR),
        ("/usr/bin/dash/x", Errno::ENOTDIR),
        ("/bin/sh/", Errno::ENOTDIR),
        ("/slashfile", Errno::ENOTDIR),
        ("/loop", Errno::ELOOP),
        ("/loop/x", Errno::ELOOP),
        ("/dangling", Errno::ENOENT),
        ("/dangling/", Errno::ENOENT),
        ("/usr/private/key", Errno::EACCES),
        ("/usr/private/.", Errno::EACCES),
        ("/usr/private/..", Errno::EACCES),
    ];
    for (path, errno) in errors {
        assert_eq!(access(&context, path, Access::empty()), Err(errno), "{path}");
    }
    assert_eq!(access(&context, "/usr/private", Access::EXECUTE), Err(Errno::EACCES));
    assert_eq!(access(&context, "/usr/private", Access::empty()), Ok(()));
}

#[test]
fn long_names_and_paths() {
    let context = context();
    let long = "x".repeat(256);
    for (path, errno) in [
        (format!("/nope/{long}"), Errno::ENOENT),
        (format!("/bin/dash/{long}"), Errno::ENOTDIR),
        (format!("/{long}"), Errno::ENAMETOOLONG),
        (format!("/usr/{long}/x"), Errno::ENAMETOOLONG),
        ("/".repeat(4096), Errno::ENAMETOOLONG),
        ("/nope\0".into(), Errno::EINVAL),
        ("/nope/x\0".into(), Errno::EINVAL),
        ("/bin/dash/x\0".into(), Errno::EINVAL),
    ] {
        for _ in 0..3 {
            assert_eq!(context.access(&path, Access::empty()), Err(errno), "{}", &path[..10.min(path.len())]);
        }
    }
    assert_eq!(access(&context, &"/".repeat(4095), Access::empty()), Ok(()));
    let names: Vec<String> = [31, 32, 33, 40, 87, 88, 89, 255].iter().map(|n| "n".repeat(*n)).collect();
    let root = context.lookup("/").unwrap();
    for name in &names {
        assert_eq!(access(&context, name, Access::empty()), Err(Errno::ENOENT));
        let new = NewNode::new(NewKind::Regular, 0o644, 0, 0);
        create(&root, Name::new(name.as_bytes()).unwrap(), &new).unwrap();
        assert_eq!(access(&context, name, Access::READ), Ok(()));
    }
}

#[test]
fn forty_links_pass_and_the_next_does_not() {
    let fs = MemFs::new();
    fs.file("/l0", 0o644).unwrap();
    for n in 1..=41 {
        fs.symlink(format!("l{}", n - 1), format!("/l{n}")).unwrap();
    }
    let context = Vfs::builder().budget(1 << 20).mount_flags(MountFlags::NOATIME).build(fs).unwrap().context(Credentials::root());
    assert_eq!(access(&context, "/l40", Access::empty()), Ok(()));
    assert_eq!(access(&context, "/l41", Access::empty()), Err(Errno::ELOOP));
}

#[test]
fn a_walk_that_starts_again_counts_its_links_from_zero() {
    const WALKS: usize = if cfg!(miri) { 20 } else { 100_000 };
    let fs = MemFs::new();
    fs.mkdir("/l0", 0o755).unwrap();
    fs.file("/l0/a", 0o644).unwrap();
    for n in 1..=40 {
        fs.symlink(format!("l{}", n - 1), format!("/l{n}")).unwrap();
    }
    let context = Vfs::builder().budget(1 << 20).mount_flags(MountFlags::NOATIME).build(fs).unwrap().context(Credentials::root());
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                context.rename("/l0/a", "/l0/b").unwrap();
                context.rename("/l0/b", "/l0/a").unwrap();
            }
        });
        let answers: Vec<_> = (0..WALKS).map(|_| context.access("/l40/a", Access::empty())).collect();
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(answers.iter().all(|answer| matches!(answer, Ok(()) | Err(Errno::ENOENT))));
    });
}

/// A variant of the walk that finds the length of a link's body by searching for its end.
struct ScannedLength;

impl Config for ScannedLength {
    const INLINE_STEP: bool = true;
    const SEARCH: SearchCheck = SearchCheck::Bit;
    const CACHED_LENGTH: bool = false;
}

#[test]
fn a_length_that_is_searched_for_is_the_cached_one() {
    let context = context();
    let mut body = [0; 64];
    for (link, length) in [("/bin", 7), ("/usr/bin/sh", 4), ("/slashfile", 13)] {
        assert_eq!(context.readlink(link, &mut body), Ok(length));
        assert_eq!(internals::readlink::<ScannedLength>(&context, link.as_bytes(), &mut body), Ok(length));
    }
}

#[test]
fn readlink_gives_the_body_and_its_length() {
    let context = context();
    let mut buffer = [0xff; 64];
    for _ in 0..2 {
        assert_eq!(context.readlink("/usr/bin/ash", &mut buffer), Ok(7));
        assert_eq!(&buffer[..8], b"/bin/sh\xff");
        assert_eq!(context.readlink("/usr/bin/ash", &mut buffer[..3]), Ok(3));
        assert_eq!(context.readlink("/usr/bin/dash", &mut buffer), Err(Errno::EINVAL));
        assert_eq!(context.readlink("/usr/bin/ash/", &mut buffer), Err(Errno::ENOTDIR));
        assert_eq!(context.readlink("/usr/bin/ash", &mut []), Err(Errno::EINVAL));
    }
    let link = context.lookup_at(At::Cwd, "/bin", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_eq!(context.readlinkat(&link, "", &mut buffer), Ok(7));
    assert_eq!(context.readlink("", &mut buffer), Err(Errno::ENOENT));
}

#[test]
fn a_body_that_finds_no_room_is_looked_up_again() {
    let fs = MemFs::new();
    let body = "/".repeat(3999) + "f";
    fs.file("/f", 0o644).unwrap();
    fs.symlink(&body, "/long").unwrap();
    let long = |number: usize| format!("/{number:0>255}");
    (0..100).for_each(|number| fs.file(long(number), 0o644).unwrap());
    let vfs = Vfs::builder().budget(Vfs::budget_for(200)).one_by_one().build(fs.alias()).unwrap();
    let context = vfs.context(Credentials::root());
    let left = || (vfs.stats().side.capacity - vfs.stats().side.used) * 56;
    let held: Vec<_> = (0..).map_while(|number| (left() >= 4000).then(|| context.lookup(long(number)).unwrap())).collect();
    assert!((1..100).contains(&held.len()), "long names that are held leave too few side lines for the body");
    let mut buffer = [0; 4096];
    for _ in 0..2 {
        assert_eq!(context.readlink("/long", &mut buffer), Ok(4000));
        assert_eq!(&buffer[..4000], body.as_bytes());
        assert_eq!(context.access("/long", Access::READ), Ok(()));
    }
    assert_eq!(fs.calls().read_link, 0);
}

#[test]
fn changes_are_seen_at_once() {
    let context = context();
    let bin = context.lookup("/usr/bin").unwrap();
    let dash = Name::new(b"dash").unwrap();
    assert_eq!(access(&context, "/bin/sh", Access::EXECUTE), Ok(()));
    unlink(&bin, dash).unwrap();
    let before = context.vfs().stats().fs_lookups;
    assert_eq!(access(&context, "/bin/sh", Access::EXECUTE), Err(Errno::ENOENT));
    assert_eq!(context.vfs().stats().fs_lookups, before, "the absence was cached");
    let new = NewNode::new(NewKind::Regular, 0o644, 0, 0);
    let file = create(&bin, dash, &new).unwrap();
    assert_eq!(access(&context, "/bin/sh", Access::EXECUTE), Err(Errno::EACCES));
    set_attributes(&file, &SetAttributes::default().with_mode(0o711)).unwrap();
    assert_eq!(access(&context, "/bin/sh", Access::EXECUTE), Ok(()));
    assert_eq!(access(&context, "/bin/sh", Access::READ), Err(Errno::EACCES));
    assert_eq!(context.stat("/bin/sh").unwrap().mode, 0o711);

    let usr = context.lookup("/usr").unwrap();
    rename((&usr, Name::new(b"bin").unwrap()), (&usr, Name::new(b"sbin").unwrap()), RenameFlags::empty()).unwrap();
    assert_eq!(access(&context, "/usr/bin/dash", Access::empty()), Err(Errno::ENOENT));
    assert_eq!(access(&context, "/usr/sbin/dash", Access::empty()), Ok(()));
    assert_eq!(bin.path().unwrap(), b"/usr/sbin");
    assert_eq!(context.faccessat(&bin, "dash", Access::empty(), AtFlags::empty()), Ok(()));
}

#[test]
fn a_removed_directory_has_no_names_but_dots() {
    let context = context();
    let root = context.lookup("/").unwrap();
    let name = Name::new(b"gone").unwrap();
    let gone = create(&root, name, &NewNode::new(NewKind::Directory, 0o755, 0, 0)).unwrap();
    let at = |path: &str| context.faccessat(&gone, path, Access::empty(), AtFlags::empty());
    assert_eq!(at("x"), Err(Errno::ENOENT));
    unlink(&root, name).unwrap();
    let long = "x".repeat(256);
    for _ in 0..2 {
        assert_eq!(at("x"), Err(Errno::ENOENT));
        assert_eq!(at(&long), Err(Errno::ENOENT));
        assert_eq!(at("."), Ok(()));
        assert_eq!(at(".."), Ok(()));
    }
    assert_eq!(gone.path(), Err(Errno::ENOENT));
    assert_eq!(gone.kind(), FileType::Directory);
}

/// Asks for the same relative path from two directories, and learns the first at once.
#[test]
fn a_path_that_is_remembered_from_one_directory_is_not_that_of_another() {
    let vfs = internals::learning_at_once(Vfs::builder()).build(tree()).unwrap();
    let from_root = vfs.context(Credentials::root());
    let mut from_bin = from_root.clone();
    from_bin.chdir("/usr/bin").unwrap();
    for _ in 0..3 {
        assert_eq!(from_root.access("dash", Access::READ), Err(Errno::ENOENT));
        assert_eq!(from_root.access("/usr/bin/dash", Access::READ), Ok(()));
    }
    for _ in 0..3 {
        assert_eq!(from_bin.access("dash", Access::READ), Ok(()));
        assert_eq!(from_bin.access("/dash", Access::READ), Err(Errno::ENOENT));
    }
}

#[test]
fn everything_idle_can_be_evicted_and_is_found_again() {
    let context = context();
    for _ in 0..3 {
        assert_eq!(access(&context, "/usr/bin/ash", Access::EXECUTE), Ok(()));
        evict(context.vfs(), usize::MAX);
        let stats = context.vfs().stats();
        assert_eq!((stats.dentries.used, stats.inodes.used, stats.side.used), (1, 1, 0));
    }
}
