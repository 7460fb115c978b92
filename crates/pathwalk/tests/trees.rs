//! Trees of any depth and width are walked and removed, with a small stack and few directories
//! open.

use std::collections::BTreeSet;
use std::sync::Arc;

use pathwalk::{At, AtFlags, Context, Credentials, Errno, FileType, Handle, OpenFlags, Resolve, Timestamp, Vfs};
use pathwalk_memfs::{MemFs, Options};

const DEPTH: usize = 10_000;

/// Bytes of stack: a call for each level would take more.
const STACK: usize = 256 << 10;

fn root_of(fs: Arc<MemFs>) -> Context {
    Vfs::builder().budget(64 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Makes directories one in the other, each with a file before and behind the next.
fn deep(context: &Context, depth: usize) {
    context.create_dir("/deep").unwrap();
    let mut dir = context.lookup("/deep").unwrap();
    for _ in 0..depth {
        let file = |name: &str| context.mknodat(&dir, name, pathwalk::NewKind::Regular, 0o600).unwrap();
        file("z");
        context.mkdirat(&dir, "d", 0o700).unwrap();
        file("a");
        let below: Handle = context.lookup_at(&dir, "d", AtFlags::empty()).unwrap();
        dir = below;
    }
}

fn with_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap().join().unwrap();
}

/// A link in the middle of a path is not the last of it, so it is not protected.
#[test]
fn a_link_on_the_way_is_not_protected() {
    let fs = MemFs::new();
    fs.chmod("/", 0o1777).unwrap();
    fs.symlink(".", "/link").unwrap();
    fs.chown("/link", 5, 5).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).protect_symlinks().build(fs).unwrap();
    let context = vfs.context(Credentials::user(9, 9, &[]));
    assert_eq!(context.stat("/link").unwrap_err(), Errno::EACCES);
    context.create_dir_all("/link/new/deep").unwrap();
    context.create_dir_all("link/new/deeper").unwrap();
    assert!(context.exists("/new/deep").unwrap() && context.exists("/new/deeper").unwrap());
    context.remove_dir_all("/link/new").unwrap();
    assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
}

#[test]
fn ten_thousand_levels() {
    with_small_stack(|| {
        let fs = Arc::new(MemFs::new());
        let context = root_of(fs.clone());
        deep(&context, DEPTH);
        let mut walk = context.walk("/deep").unwrap();
        let (mut down, mut up) = (0, 0);
        let mut last = None;
        while let Some(entry) = walk.next() {
            let entry = entry.unwrap();
            match entry.name() {
                b"d" => {
                    down += 1;
                    assert_eq!((walk.depth(), entry.kind()), (down, FileType::Directory));
                    last = Some(entry);
                }
                b"a" => assert_eq!(walk.depth(), down + 1),
                _ => {
                    assert_eq!(walk.depth(), DEPTH - up, "each comes once its directory is at its end");
                    up += 1;
                }
            }
        }
        assert_eq!((down, up), (DEPTH, DEPTH));
        // It holds all above it, and may be dropped as the last that does.
        let last = last.unwrap();
        assert_eq!(last.path().as_os_str().len(), "/deep".len() + DEPTH * "/d".len());
        drop(walk);
        drop(last);
        // One that is dropped at the bottom.
        let mut walk = context.walk("/deep").unwrap();
        assert!(walk.by_ref().take(2 * DEPTH - 2).all(|entry| entry.is_ok()));
        assert!(walk.depth() > DEPTH - 2);
        drop(walk);
        context.remove_dir_all("/deep").unwrap();
        assert_eq!(context.lstat("/deep"), Err(Errno::ENOENT));
        while pathwalk::internals::evict(context.vfs(), usize::MAX) > 0 {}
        assert_eq!(fs.usage().nodes, 1, "nothing is left but the root");
    });
}

#[test]
fn what_is_removed_is_let_go_of_at_once() {
    let fs = Arc::new(MemFs::new());
    let context = root_of(fs.clone());
    let before = fs.usage().nodes;
    for dir in 0..50 {
        context.create_dir_all(format!("/tree/{dir}/x/y")).unwrap();
        context.write(format!("/tree/{dir}/x/file"), "text").unwrap();
    }
    context.remove_dir_all("/tree").unwrap();
    assert_eq!(fs.usage().nodes, before);
}

#[test]
fn few_directories_are_open() {
    let fs = Arc::new(MemFs::new());
    let context = root_of(fs.clone());
    deep(&context, 40);
    let before = fs.calls();
    assert_eq!(context.walk("/deep").unwrap().count(), 120);
    let opened = fs.calls().since(&before).open;
    // 41 directories; those that were more than 16 above the deepest were closed, and opened again.
    assert_eq!(opened, 41 + (41 - 16));
}

/// Makes directories down to a depth, of which some have two in them: those above are gone into
/// again and again.
fn bushy(context: &Context, path: &str, depth: usize) -> usize {
    context.create_dir(path).unwrap();
    let below = (0..if depth.is_multiple_of(7) { 2 } else { 1 }).map(|number| match depth {
        0 => 0,
        _ => 1 + bushy(context, &format!("{path}/{number}"), depth - 1),
    });
    below.sum()
}

#[test]
fn directories_that_are_closed_go_on_where_they_were() {
    let context = root_of(Arc::new(MemFs::new()));
    let entries = bushy(&context, "/bush", 36);
    let all: BTreeSet<_> = context.walk("/bush").unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((all.len(), context.walk("/bush").unwrap().count()), (entries, entries), "each once");
    context.remove_dir_all("/bush").unwrap();
    assert!(!context.exists("/bush").unwrap());
}

#[test]
fn a_walk_tells_what_it_may_not_read_and_goes_on() {
    let context = root_of(Arc::new(MemFs::new()));
    context.create_dir("/t").unwrap();
    context.symlink("a", "/t/link").unwrap();
    for dir in ["/t/c/in", "/t/b/in", "/t/a/in"] {
        context.create_dir_all(dir).unwrap();
    }
    context.set_permissions("/t/b", 0o711).unwrap();
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    let walked = |context: &Context, path: &str| -> Vec<String> {
        let item = |entry: Result<pathwalk::DirEntry, pathwalk::Error>| match entry {
            Ok(entry) => entry.path().display().to_string(),
            Err(error) => error.to_string(),
        };
        context.walk(path).unwrap().map(item).collect()
    };
    let refused = r#"walk "/t/b": EACCES (Permission denied)"#;
    assert_eq!(walked(&user, "/t"), ["/t/a", "/t/a/in", "/t/b", refused, "/t/c", "/t/c/in", "/t/link"]);
    assert_eq!(walked(&context, "/t/link"), ["/t/link/in"], "the path itself is followed");
    let error = user.walk("/t/b").unwrap_err();
    assert_eq!((error.errno(), error.operation()), (Errno::EACCES, "walk"));
    let within = context.clone().with_resolve(Resolve::BENEATH | Resolve::NO_SYMLINKS).unwrap();
    assert_eq!(walked(&within, "t"), ["t/a", "t/a/in", "t/b", "t/b/in", "t/c", "t/c/in", "t/link"]);
}

#[test]
fn what_changes_beside_a_walk_is_no_error() {
    let context = root_of(Arc::new(MemFs::new()));
    for dir in ["/t/c/in", "/t/b/in", "/t/a/in", "/out/in"] {
        context.create_dir_all(dir).unwrap();
    }
    let mut walk = context.walk("/t").unwrap();
    let mut next = || walk.next().map(|entry| entry.unwrap().path().display().to_string());
    assert_eq!(next().as_deref(), Some("/t/a"));
    context.remove_dir_all("/t/a").unwrap();
    assert_eq!(next().as_deref(), Some("/t/b"), "what is gone has no entries");
    context.renameat(At::Cwd, "/t/b", At::Cwd, "/b", pathwalk::RenameFlags::empty()).unwrap();
    context.symlink("/out", "/t/b").unwrap();
    assert_eq!(next().as_deref(), Some("/t/c"), "a link in its place is not followed");
    context.remove_dir("/t/c/in").unwrap();
    context.remove_dir("/t/c").unwrap();
    context.write("/t/c", "").unwrap();
    assert_eq!(next(), None, "nor is a file listed");
}

#[test]
fn threads_that_make_and_remove_the_same_all_succeed() {
    let fs = MemFs::with(Options::default().clock(|| {
        std::thread::yield_now();
        Timestamp::now()
    }));
    let context = root_of(Arc::new(fs));
    for round in 0..30 {
        let dirs = [0, 1, 2].map(|dir| format!("/tree/{dir}/a/b"));
        let together = |what: &(dyn Fn() + Sync)| std::thread::scope(|scope| [(); 3].map(|()| _ = scope.spawn(what)));
        together(&|| dirs.iter().for_each(|dir| context.create_dir_all(dir).unwrap()));
        dirs.iter().for_each(|dir| context.write(format!("{dir}/file"), "").unwrap());
        together(&|| {
            // It may be gone when the thread comes.
            if let Err(error) = context.remove_dir_all("/tree") {
                assert_eq!((error.errno(), error.path()), (Errno::ENOENT, &b"/tree"[..]), "round {round}");
            }
        });
        assert!(!context.exists("/tree").unwrap());
    }
}

#[test]
fn what_cannot_be_removed_is_told_with_its_path() {
    let context = root_of(Arc::new(MemFs::new()));
    context.create_dir_all("/t/a").unwrap();
    context.write("/t/a/file", "").unwrap();
    context.create_dir("/t/a/in").unwrap();
    context.set_permissions("/t", 0o777).unwrap();
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    let error = user.remove_dir_all("/t").unwrap_err();
    assert_eq!(error.to_string(), r#"remove_dir_all "/t/a/in": EACCES (Permission denied)"#);
    let errno = |path: &str| context.remove_dir_all(path).map_err(|error| error.errno());
    assert_eq!((errno("/t/a/file"), errno("/none"), errno("")), (Err(Errno::ENOTDIR), Err(Errno::ENOENT), Err(Errno::ENOENT)));
    assert_eq!((errno("/t/a/."), errno("/t/a")), (Err(Errno::EINVAL), Ok(())), "it is empty then");
    context.create_dir("/t/mount").unwrap();
    context.mount(MemFs::new(), "/t/mount", pathwalk::MountFlags::empty()).unwrap();
    context.write("/t/mount/file", "").unwrap();
    assert_eq!((errno("/t"), context.exists("/t/mount/file").unwrap()), (Err(Errno::EBUSY), false), "mounts are gone into");
    context.umount("/t/mount", pathwalk::UmountFlags::empty()).unwrap();
    let file = context.open("/t", OpenFlags::READ).unwrap();
    assert_eq!(errno("/t"), Ok(()));
    assert_eq!(file.getdents(1), Err(Errno::ENOENT));
}

/// The standard library passes the whole path to the kernel.
#[test]
fn a_path_is_judged_as_a_whole() {
    let context = root_of(Arc::new(MemFs::new()));
    let made = |path: &str| context.create_dir_all(path).map_err(|error| error.errno());
    assert_eq!((made("/t/x/."), context.exists("/t").unwrap()), (Err(Errno::ENOENT), true), "a dot is no name");
    assert_eq!((made("/t/./x//"), made("/t/x/."), made("/t/y/../z")), (Ok(()), Ok(()), Ok(())));
    context.set_permissions("/", 0).unwrap();
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    let made_by_root = made;
    let made = |path: &str| user.create_dir_all(path).map_err(|error| error.errno());
    assert_eq!((made("/./."), made("/t"), made("")), (Ok(()), Err(Errno::EACCES), Ok(())), "the root is never asked about");
    let long = format!("{}t/x", "/".repeat(4095 - 3));
    assert_eq!((made_by_root(&long), made_by_root(&format!("{long}/"))), (Ok(()), Err(Errno::ENAMETOOLONG)));
    let errno = |path: &str| context.remove_dir_all(path).map_err(|error| error.errno());
    let long = format!("/{long}");
    assert_eq!((errno(&long), errno(&format!("{long}/"))), (Err(Errno::ENAMETOOLONG), Err(Errno::ENAMETOOLONG)));
    context.symlink(".", "/t/0").unwrap();
    (1..41).for_each(|link| context.symlink(format!("{}", link - 1), format!("/t/{link}")).unwrap());
    assert_eq!((errno("/t/39/1/"), context.exists("/t/x").unwrap()), (Err(Errno::ELOOP), true), "42 links");
    assert_eq!((errno("/t/39/x"), context.exists("/t/x").unwrap()), (Ok(()), false), "40 links");
}
