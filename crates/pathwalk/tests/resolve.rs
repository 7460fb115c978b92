//! Rules for the resolution of paths, on every operation; and contexts that are confined.
//!
//! `kernel_table` compares lookups under these rules with the kernel. Here: changes keep to the
//! rules, and change nothing where they are refused; and the rules that only this engine has.

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, LinkFlags, NewKind, OpenFlags, OpenHow, RenameFlags, Resolve, SetTime,
    StatxMask, UnlinkFlags, Vfs,
};
use pathwalk_memfs::MemFs;

/// Creates a context with `/in`, which has a file, a directory and links of all kinds, and beside
/// it `/out`, with a file.
fn root() -> Context {
    let fs = MemFs::new();
    for dir in ["/in", "/in/d", "/out"] {
        fs.mkdir(dir, 0o755).unwrap();
    }
    for file in ["/in/f", "/in/d/g", "/out/f"] {
        fs.file(file, 0o644).unwrap();
    }
    for (link, body) in [("/in/up", ".."), ("/in/absolute", "/out"), ("/in/there", "d"), ("/in/out-f", "../out/f")] {
        fs.symlink(body, link).unwrap();
    }
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

fn opened(flags: OpenFlags) -> OpenHow {
    OpenHow { flags, mode: if flags.contains(OpenFlags::CREATE) { 0o600 } else { 0 }, resolve: Resolve::empty() }
}

/// Runs each operation that changes something, on the path of an existing file and on that of a
/// free name.
fn changes(context: &Context, at: At<'_>, file: &str, free: &str) -> Vec<(&'static str, Result<(), Errno>)> {
    let nothing = AtFlags::empty();
    let create = opened(OpenFlags::WRITE | OpenFlags::CREATE);
    vec![
        ("open", context.openat(at, file, opened(OpenFlags::WRITE)).map(drop)),
        ("truncate", context.openat(at, file, opened(OpenFlags::WRITE | OpenFlags::TRUNCATE)).map(drop)),
        ("create", context.openat(at, free, create).map(drop)),
        ("mkdir", context.mkdirat(at, free, 0o755)),
        ("mknod", context.mknodat(at, free, NewKind::Regular, 0o644)),
        ("symlink", context.symlinkat("x", at, free)),
        ("link from", context.linkat(at, file, At::Cwd, "linked", LinkFlags::empty())),
        ("link to", context.linkat(At::Cwd, "f", at, free, LinkFlags::empty())),
        ("rename from", context.renameat(at, file, At::Cwd, "renamed", RenameFlags::empty())),
        ("rename to", context.renameat(At::Cwd, "f", at, free, RenameFlags::empty())),
        ("chmod", context.fchmodat(at, file, 0o600, nothing)),
        ("chown", context.fchownat(at, file, Some(1), None, nothing)),
        ("set_times", context.utimensat(at, file, SetTime::Now, SetTime::Now, nothing)),
        ("set size", context.truncate_at(at, file, 1)),
        ("unlink", context.unlinkat(at, file, UnlinkFlags::empty())),
    ]
}

fn names(context: &Context, dir: &str) -> Vec<Vec<u8>> {
    let dir = context.open(dir, opened(OpenFlags::READ)).unwrap();
    dir.getdents(usize::MAX).unwrap().into_iter().map(|entry| entry.name.into()).collect()
}

#[test]
fn a_change_is_refused_before_it_has_an_effect() {
    let mut context = root();
    let free = context.clone();
    context.chdir("/in").unwrap();
    let beneath = context.clone().with_resolve(Resolve::BENEATH).unwrap();
    let before = [names(&free, "/in"), names(&free, "/out")];
    for (file, new) in
        [("../out/f", "../out/new"), ("up/out/f", "up/out/new"), ("absolute/f", "absolute/new"), ("/out/f", "/out/new")]
    {
        for (what, answer) in changes(&beneath, At::Cwd, file, new) {
            assert_eq!(answer, Err(Errno::EXDEV), "{what} of {file}, {new}");
        }
    }
    assert_eq!([names(&free, "/in"), names(&free, "/out")], before);
    assert_eq!(free.stat("/out/f").map(|of| (of.mode, of.uid, of.size, of.nlink)), Ok((0o644, 0, 0, 1)));
}

/// Checks the rules of the walk before the error that the directory exists already.
#[test]
fn what_cannot_be_created_is_walked_to_by_the_rules() {
    let mut context = root();
    context.chdir("/in").unwrap();
    let create = |resolve, flags| OpenHow { resolve, ..opened(OpenFlags::WRITE | OpenFlags::CREATE | flags) };
    let (alone, exclusive) = (OpenFlags::empty(), OpenFlags::EXCLUSIVE);
    for (path, flags, errno) in [
        ("..", alone, Errno::EXDEV),
        ("../", exclusive, Errno::EXDEV),
        ("d/../..", alone, Errno::EXDEV),
        ("up", alone, Errno::EXDEV),
        ("up", exclusive, Errno::EEXIST),
        ("d/..", alone, Errno::EISDIR),
        ("d/..", exclusive, Errno::EEXIST),
        (".", alone, Errno::EISDIR),
    ] {
        let found = context.open(path, create(Resolve::BENEATH, flags)).map(drop);
        assert_eq!(found, Err(errno), "{path} {flags:?}");
    }
    assert_eq!(context.open("..", create(Resolve::IN_ROOT, alone)).map(drop), Err(Errno::EISDIR));
}

#[test]
fn in_a_root_of_its_own_paths_end_there() {
    let context = root();
    let inside = context.lookup("/in").unwrap();
    let in_root = context.with_resolve(Resolve::IN_ROOT).unwrap();
    let at = At::Handle(&inside);
    for (path, leads_to) in [("/f", "/in/f"), ("../../f", "/in/f"), ("up/d/../../f", "/in/f"), ("/../d/g", "/in/d/g")] {
        let found = in_root.lookup_at(at, path, AtFlags::empty()).and_then(|found| found.path());
        assert_eq!(found, Ok(leads_to.as_bytes().to_vec()), "{path}");
    }
    assert_eq!(in_root.lookup_at(at, "absolute/f", AtFlags::empty()).map(drop), Err(Errno::ENOENT));
    in_root.mkdirat(at, "/../new", 0o755).unwrap();
    assert!(in_root.lookup("/in/new").is_ok());
}

#[test]
fn no_links_at_all() {
    let mut context = root().with_resolve(Resolve::NO_SYMLINKS).unwrap();
    context.chdir("/in").unwrap();
    for (what, answer) in changes(&context, At::Cwd, "there/g", "there/new") {
        assert_eq!(answer, Err(Errno::ELOOP), "{what}");
    }
    assert_eq!(context.lstat("/in/there").map(|of| of.kind), Ok(pathwalk::FileType::Symlink));
    assert_eq!(context.stat("/in/there").map(drop), Err(Errno::ELOOP));
    assert_eq!(context.read_link("/in/there").unwrap(), std::path::Path::new("d"));
}

/// Checks that each operation answers what is cached. What is not cached, or is a change, is
/// `EAGAIN`, and no file system is asked.
#[test]
fn from_the_caches_alone() {
    let asks = root();
    let cached = asks.clone().with_resolve(Resolve::CACHED).unwrap();
    let nothing = AtFlags::empty();
    let all = |context: &Context, path: &str| {
        let handle = context.lookup(path).map(drop);
        [
            context.access(path, Access::READ),
            context.faccessat(At::Cwd, path, Access::READ, AtFlags::EACCESS),
            context.stat(path).map(drop),
            context.lstat(path).map(drop),
            context.statx_at(At::Cwd, path, nothing, StatxMask::TYPE).map(drop),
            handle,
            context.open(path, opened(OpenFlags::READ)).map(drop),
        ]
    };
    assert_eq!(all(&cached, "/in/f"), [Err(Errno::EAGAIN); 7]);
    assert_eq!(all(&asks, "/in/f"), [Ok(()); 7]);
    assert_eq!(all(&cached, "/in/f"), [Ok(()); 7]);
    let mut body = [0; 8];
    assert_eq!(cached.readlink("/in/there", &mut body), Err(Errno::EAGAIN));
    assert_eq!(asks.readlink("/in/there", &mut body), Ok(1));
    assert_eq!(cached.readlink("/in/there", &mut body), Ok(1));
    for (what, answer) in changes(&cached, At::Cwd, "/in/f", "/in/new") {
        assert_eq!(answer, if what == "open" { Ok(()) } else { Err(Errno::EAGAIN) }, "{what}");
    }
}

#[test]
fn rules_that_make_no_sense() {
    let context = root();
    for rules in [Resolve::BENEATH | Resolve::IN_ROOT, Resolve::from_bits_retain(0x40)] {
        assert_eq!(context.clone().with_resolve(rules).map(drop), Err(Errno::EINVAL));
        let how = OpenHow { resolve: rules, ..opened(OpenFlags::READ) };
        assert_eq!(context.open("/in/f", how).map(drop), Err(Errno::EINVAL));
    }
}

/// Checks that the rules of one open add to the context's.
#[test]
fn one_open_has_rules_of_its_own() {
    let mut context = root();
    context.chdir("/in").unwrap();
    let open = |context: &Context, path: &str, resolve| {
        let how = OpenHow { resolve, ..opened(OpenFlags::READ) };
        [context.open(path, how).map(drop), context.cached().open(path, how).map(drop)]
    };
    assert_eq!(open(&context, "there/g", Resolve::BENEATH), [Ok(()); 2]);
    assert_eq!(open(&context, "out-f", Resolve::empty()), [Ok(()); 2]);
    assert_eq!(open(&context, "out-f", Resolve::BENEATH), [Err(Errno::EXDEV); 2]);
    let no_links = context.with_resolve(Resolve::NO_SYMLINKS).unwrap();
    assert_eq!(open(&no_links, "there/g", Resolve::BENEATH), [Err(Errno::ELOOP); 2]);
    assert_eq!(open(&no_links, "../out/f", Resolve::BENEATH), [Err(Errno::EXDEV); 2]);
}

#[test]
fn there_is_no_way_out_of_a_confined_context() {
    let context = root();
    let outside = context.lookup("/out").unwrap();
    let jail = context.confined(&context.lookup("/in").unwrap()).unwrap();
    assert_eq!(jail.root().path(), Ok(b"/in".to_vec()));
    for path in ["/../out/f", "../../out/f", "up/out/f", "absolute/f", "out-f", "d/../../out/f"] {
        assert_eq!(jail.access(path, Access::empty()), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(jail.lookup("/d/g").and_then(|found| found.path()), Ok(b"/in/d/g".to_vec()));
    // A handle from outside is refused.
    for path in ["f", ".", "..", "../in/f"] {
        assert_eq!(jail.fstatat(&outside, path, AtFlags::empty()).map(drop), Err(Errno::EXDEV), "{path}");
    }
    assert_eq!(jail.fstatat(&outside, "", AtFlags::EMPTY_PATH).map(drop), Err(Errno::EXDEV));
    assert_eq!(jail.cached().stat("/d/g").map(drop), Ok(()));
    let through_cache = jail.cached().statx_at(&outside, "f", AtFlags::empty(), StatxMask::TYPE);
    assert_eq!(through_cache.map(drop), Err(Errno::EXDEV));
    for (what, answer) in changes(&jail, At::Handle(&outside), "f", "new") {
        assert_eq!(answer, Err(Errno::EXDEV), "{what}");
    }
    assert!(jail.fstatat(&outside, "/d/g", AtFlags::empty()).is_ok(), "an absolute path ignores it");
    // It can be confined further, and not less.
    assert_eq!(jail.confined(&outside).map(drop), Err(Errno::EXDEV));
    let narrower = jail.confined(&jail.lookup("/d").unwrap()).unwrap();
    assert_eq!((narrower.access("/g", Access::READ), narrower.access("/../f", Access::READ)), (Ok(()), Err(Errno::ENOENT)));
    let none = narrower.with_resolve(Resolve::empty()).unwrap();
    assert_eq!(none.access("/../f", Access::READ), Err(Errno::ENOENT), "it stays confined");
}

/// Moves a working directory, or a directory that a handle is on, out of the root.
#[test]
fn what_is_moved_out_is_out() {
    let context = root();
    let mut jail = context.confined(&context.lookup("/in").unwrap()).unwrap();
    jail.chdir("/d").unwrap();
    let d = jail.lookup("/d").unwrap();
    assert_eq!(jail.access("g", Access::READ), Ok(()));
    context.renameat(At::Cwd, "/in/d", At::Cwd, "/out/d", RenameFlags::empty()).unwrap();
    for path in ["g", "..", "../f", "."] {
        assert_eq!(jail.access(path, Access::empty()), Err(Errno::EXDEV), "{path}");
        assert_eq!(jail.faccessat(&d, path, Access::empty(), AtFlags::empty()), Err(Errno::EXDEV), "{path}");
    }
    assert_eq!(jail.access("/f", Access::READ), Ok(()));
    context.renameat(At::Cwd, "/out/d", At::Cwd, "/in/back", RenameFlags::empty()).unwrap();
    assert_eq!(jail.access("g", Access::READ), Ok(()), "it is back");
}
