//! Operations on many paths at once: each result is that of the single operation, for any path; and
//! reading ahead asks no file system.

use std::sync::Arc;

use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Credentials, Device, Errno, Handle, MountFlags, NodeKey, Resolve, Timestamp, Vfs,
    VfsBuilder, internals,
};
use pathwalk_memfs::{MemFs, Options};

const NONE: AtFlags = AtFlags::empty();

/// A tree of all kinds of nodes that a walk may meet, with a mount on it, and a context.
struct World {
    fs: Arc<MemFs>,
    context: Context,
}

fn world(builder: VfsBuilder, who: Credentials) -> World {
    let still = Options::default().clock(Timestamp::default);
    let fs = MemFs::with(still.clone());
    fs.mkdir_all("/usr/lib/gcc", 0o755).unwrap();
    fs.mkdir("/mnt", 0o755).unwrap();
    fs.mkdir("/closed", 0o700).unwrap();
    fs.mkdir("/a-directory-with-a-name-of-more-than-32-bytes", 0o755).unwrap();
    for file in ["/usr/lib/gcc/cc1", "/usr/f", "/closed/f", "/a-directory-with-a-name-of-more-than-32-bytes/f"] {
        fs.file(file, 0o644).unwrap();
    }
    fs.file("/usr/secret", 0o600).unwrap();
    for (link, body) in [("/lib", "usr/lib"), ("/loop", "loop"), ("/away", "/usr/lib/gcc"), ("/dangling", "usr/none")] {
        fs.symlink(body, link).unwrap();
    }
    let fs = Arc::new(fs);
    let vfs = builder.build(fs.clone()).unwrap();
    let root = vfs.context(Credentials::root());
    let on = MemFs::with(still);
    on.mkdir("/below", 0o755).unwrap();
    on.file("/below/f", 0o644).unwrap();
    root.mount(on, "/mnt", MountFlags::empty()).unwrap();
    World { fs, context: vfs.context(who) }
}

/// Returns paths of every kind: existing and absent names, through links, dots and mounts, refused,
/// and too long.
fn paths() -> Vec<Vec<u8>> {
    let short = [
        "/usr/lib/gcc/cc1",
        "/usr/lib/gcc",
        "/usr",
        "/",
        "//",
        "usr//lib/./gcc/",
        "/usr/lib/gcc/cc1/",
        "/usr/lib/gcc/cc1/x",
        "/usr/lib/none",
        "/none/of/it",
        "/usr/none/",
        "..",
        "../..",
        "/usr/../usr/lib/../f",
        "/usr/f/..",
        "./usr/f",
        ".",
        "/lib/gcc/cc1",
        "/lib",
        "/lib/",
        "/loop",
        "/loop/x",
        "/away/cc1",
        "/away/../f",
        "/dangling",
        "/dangling/x",
        "/mnt",
        "/mnt/below/f",
        "/mnt/below/none",
        "/mnt/..",
        "/mnt/../usr/f",
        "/mnt/below/../../usr/f",
        "/closed",
        "/closed/f",
        "/closed/none",
        "/usr/secret",
        "/a-directory-with-a-name-of-more-than-32-bytes/f",
        "/a-directory-with-a-name-of-more-than-32-bytez/f",
        "",
        "/usr/\0",
        "\0",
        "/usr/f\0f",
        "/usr/lib/gcc/cc1",
        "/usr/f",
    ];
    let mut paths: Vec<Vec<u8>> = short.iter().map(|path| path.as_bytes().to_vec()).collect();
    paths.push([b"/usr/".to_vec(), vec![b'n'; 255]].concat());
    paths.push([b"/usr/".to_vec(), vec![b'n'; 256]].concat());
    paths.push(b"/usr/..".repeat(585));
    paths.push(b"/usr/..".repeat(586));
    paths.push(vec![b'/'; 4095]);
    paths
}

type Answers = (Vec<Result<Attributes, Errno>>, Vec<Result<(), Errno>>, Vec<Result<(NodeKey, Vec<u8>), Errno>>);

fn told(handle: Handle) -> Result<(NodeKey, Vec<u8>), Errno> {
    Ok((handle.key(), handle.path()?))
}

/// Removes what distinguishes one world from another.
fn alike(found: Result<Attributes, Errno>) -> Result<Attributes, Errno> {
    found.map(|mut found| {
        found.device = Device::default();
        found
    })
}

fn one_by_one(context: &Context, paths: &[Vec<u8>], want: Access) -> Answers {
    let stat = paths.iter().map(|path| alike(context.stat(path))).collect();
    let access = paths.iter().map(|path| context.access(path, want)).collect();
    (stat, access, paths.iter().map(|path| context.lookup(path).and_then(told)).collect())
}

fn at_once(context: &Context, paths: &[Vec<u8>], want: Access) -> Answers {
    let lookup = context.lookup_many(paths).map(|found| found.and_then(told));
    (context.stat_many(paths).map(alike).collect(), context.access_many(paths, want).collect(), lookup.collect())
}

/// Returns the caches' answers for the same paths.
fn by_caches(context: &Context, paths: &[Vec<u8>], want: Access) -> [Answers; 2] {
    let cached = context.cached();
    let stat = paths.iter().map(|path| cached.stat(path)).collect();
    let access = paths.iter().map(|path| cached.faccessat(At::Cwd, path, want, NONE)).collect();
    let single = (stat, access, paths.iter().map(|path| cached.lookup_at(At::Cwd, path, NONE).and_then(told)).collect());
    let lookup = cached.lookup_many(paths).map(|found| found.and_then(told));
    let access = cached.access_many(paths, want).collect();
    [single, (cached.stat_many(paths).collect(), access, lookup.collect())]
}

fn builders() -> [VfsBuilder; 4] {
    let plain = || Vfs::builder().budget(1 << 20);
    [plain(), plain().whole_paths(0), internals::learning_at_once(plain()), internals::learning_never(plain())]
}

/// Returns each kind of context, of a world of its own.
fn contexts(context: Context) -> Vec<Context> {
    let mut below = context.clone();
    below.chdir("/usr").unwrap();
    let confined = context.confined(&context.lookup("/usr").unwrap()).unwrap();
    let ruled = [Resolve::BENEATH, Resolve::IN_ROOT, Resolve::NO_SYMLINKS, Resolve::NO_XDEV, Resolve::CACHED];
    let ruled: Vec<_> = ruled.iter().map(|rule| below.clone().with_resolve(*rule).unwrap()).collect();
    [vec![context, below, confined], ruled].concat()
}

#[test]
fn each_result_is_that_of_the_single_operation() {
    let paths = paths();
    for who in [Credentials::root(), Credentials::user(1000, 1000, &[])] {
        for (single, many) in builders().into_iter().zip(builders()) {
            // Of two equal worlds, one is asked one by one, and one at once: cold, and warm.
            let (single, many) = (world(single, who.clone()), world(many, who.clone()));
            for (by_one, by_many) in contexts(single.context.clone()).iter().zip(contexts(many.context.clone())) {
                for want in [Access::empty(), Access::READ, Access::WRITE | Access::EXECUTE] {
                    for _ in ["cold", "warm", "learned"] {
                        let before = [single.fs.calls(), many.fs.calls()];
                        let (expected, found) = (one_by_one(by_one, &paths, want), at_once(&by_many, &paths, want));
                        for (at, path) in paths.iter().enumerate() {
                            let path = path.escape_ascii();
                            assert_eq!(found.0[at], expected.0[at], "stat of \"{path}\"");
                            assert_eq!(found.1[at], expected.1[at], "access of \"{path}\", {want:?}");
                            assert_eq!(found.2[at], expected.2[at], "lookup of \"{path}\"");
                        }
                        let calls = [&single.fs, &many.fs].map(|fs| fs.calls());
                        assert_eq!(calls[0].since(&before[0]).total(), calls[1].since(&before[1]).total(), "{by_many:?}");
                        let [expected, found] = by_caches(&by_many, &paths, want);
                        assert_eq!(found, expected);
                    }
                }
            }
        }
    }
}

#[test]
fn there_are_as_many_results_as_paths() {
    let World { context, .. } = world(Vfs::builder(), Credentials::root());
    for count in [0, 1, 2, 31, 32, 33, 64, 65, 100] {
        let paths: Vec<String> = (0..count).map(|n| if n % 3 == 0 { "/usr/f".into() } else { format!("/usr/{n}") }).collect();
        let mut results = context.access_many(&paths, Access::READ);
        for left in (0..count).rev() {
            let expected = if (count - 1 - left) % 3 == 0 { Ok(()) } else { Err(Errno::ENOENT) };
            assert_eq!((results.next(), results.len()), (Some(expected), left), "{left} of {count}");
        }
        assert_eq!((results.next(), results.next()), (None, None));
    }
}

#[test]
fn what_is_not_taken_is_not_looked_up() {
    let World { fs, context } = world(Vfs::builder(), Credentials::root());
    let before = fs.calls();
    let paths = paths();
    let mut results = context.stat_many(&paths);
    assert_eq!(fs.calls().since(&before).total(), 0);
    assert!(results.next().unwrap().is_ok());
    let first = fs.calls().since(&before).total();
    drop(results);
    assert!(first > 0 && fs.calls().since(&before).total() == first);
    // The result is as of the moment at which it is taken.
    let mut results = context.access_many(&["/usr/lib/gcc/cc1", "/usr/lib/gcc/cc1"], Access::READ);
    assert_eq!(results.next(), Some(Ok(())));
    context.unlink("/usr/lib/gcc/cc1").unwrap();
    assert_eq!(results.next(), Some(Err(Errno::ENOENT)));
}

#[test]
fn to_read_ahead_asks_nothing_and_changes_no_answer() {
    let [World { fs, context }, other] = [(); 2].map(|()| world(Vfs::builder(), Credentials::root()));
    let (paths, handle, foreign) = (paths(), context.lookup("/usr/lib").unwrap(), other.context.lookup("/usr").unwrap());
    let file = context.lookup("/usr/f").unwrap();
    for _ in ["cold", "warm"] {
        let (before, stats) = (fs.calls(), context.vfs().stats());
        for at in [At::Cwd, At::Handle(&handle), At::Handle(&foreign), At::Handle(&file)] {
            context.prefetch_at(paths.iter().map(|path| (at, path)));
            context.prefetch_at(paths.iter().rev().map(|path| (at, path)));
        }
        assert_eq!(fs.calls().since(&before).total(), 0);
        let after = context.vfs().stats();
        assert_eq!((after.dentries.used, after.hand_overs), (stats.dentries.used, stats.hand_overs));
        paths.iter().for_each(|path| _ = context.stat(path));
    }
    context.prefetch::<str>([]);
    assert!(paths.len() > Context::PREFETCHED);
}
