//! What a context has of `std::fs`, where `std::fs` is no oracle: roots, errors, limits.
//! `pathwalk-memfs/tests/std_fs/` has the rest.

use std::io::ErrorKind;
use std::path::Path;
use std::time::UNIX_EPOCH;

use pathwalk::{At, Context, Credentials, Errno, Error, File, OpenFlags, RenameFlags, Resolve, Vfs};
use pathwalk_memfs::{MemFs, Options};

fn root_of(fs: MemFs) -> Context {
    Vfs::builder().budget(4 << 20).build(fs).unwrap().context(Credentials::root())
}

fn errno<T>(result: Result<T, Error>) -> Option<Errno> {
    result.map_err(|error| error.errno()).err()
}

#[test]
fn a_path_begins_at_the_root_of_the_context() {
    let context = root_of(MemFs::new());
    context.create_dir_all("/jail/a/b").unwrap();
    context.symlink("/a", "/jail/link").unwrap();
    let at = |context: &Context, path: &str| context.canonicalize(path).map_err(|error| error.errno());
    let is = |path: &str| Ok(Path::new(path).to_path_buf());
    assert_eq!(at(&context, "/jail/../jail/a/./b"), is("/jail/a/b"));
    let mut chrooted = context.clone();
    chrooted.chroot("/jail").unwrap();
    assert_eq!(at(&chrooted, "/link/b"), is("/a/b"));
    assert_eq!(at(&chrooted, "/"), is("/"));
    assert_eq!(at(&chrooted, "jail"), is("/"));
    assert_eq!(at(&chrooted, "."), Err(Errno::ENOENT), "the working directory is outside of it");
    let confined = context.confined(&context.lookup("/jail").unwrap()).unwrap();
    assert_eq!(at(&confined, "link/b"), is("/a/b"));
    context.renameat(At::Cwd, "/jail", At::Cwd, "/moved", RenameFlags::empty()).unwrap();
    assert_eq!(at(&confined, "link/b"), is("/a/b"), "whatever becomes of its name");
    let mut within = context.clone();
    within.chdir("/moved").unwrap();
    let within = within.with_resolve(Resolve::IN_ROOT).unwrap();
    assert_eq!(at(&within, "/link/b"), is("/a/b"));
    let mut gone = context.clone();
    gone.chdir("/moved/a/b").unwrap();
    context.remove_dir_all("/moved/a/b").unwrap();
    assert_eq!(at(&gone, "."), Err(Errno::ENOENT));
}

#[test]
fn an_error_says_what_was_done_to_what() {
    let context = root_of(MemFs::new());
    context.create_dir("/d").unwrap();
    context.write("/d/file", b"\xff").unwrap();
    let errors = [
        (context.read("/d").map(drop), r#"read "/d": EISDIR (Is a directory)"#),
        (context.write("/none/x", ""), r#"write "/none/x": ENOENT (No such file or directory)"#),
        (context.copy("/d/file", "/d").map(drop), r#"copy "/d/file" to "/d": EISDIR (Is a directory)"#),
        (context.copy("/d", "/x").map(drop), r#"copy "/d" to "/x": EINVAL (Invalid argument)"#),
        (context.create_dir("/d"), r#"create_dir "/d": EEXIST (File exists)"#),
        (context.create_dir_all("/d/file/x/y"), r#"create_dir_all "/d/file/x/y": ENOTDIR (Not a directory)"#),
        (context.create_dir_all("/d/file"), r#"create_dir_all "/d/file": EEXIST (File exists)"#),
        (context.remove_file("/d"), r#"remove_file "/d": EISDIR (Is a directory)"#),
        (context.remove_dir("/d"), r#"remove_dir "/d": ENOTEMPTY (Directory not empty)"#),
        (context.exists("/d/file/x").map(drop), r#"exists "/d/file/x": ENOTDIR (Not a directory)"#),
        (context.canonicalize("").map(drop), r#"canonicalize "": ENOENT (No such file or directory)"#),
        (context.metadata("a\nb").map(drop), r#"metadata "a\nb": ENOENT (No such file or directory)"#),
        (context.hard_link("/d", "/x"), r#"hard_link "/d" to "/x": EPERM (Operation not permitted)"#),
        (context.set_permissions("/x", 0), r#"set_permissions "/x": ENOENT (No such file or directory)"#),
        (context.walk("/d/file").map(drop), r#"walk "/d/file": ENOTDIR (Not a directory)"#),
        (context.read_dir("/d/file").map(drop), r#"read_dir "/d/file": ENOTDIR (Not a directory)"#),
    ];
    for (result, want) in errors {
        assert_eq!(result.unwrap_err().to_string(), want);
    }
    let not_text = context.read_to_string("/d/file").unwrap_err();
    assert_eq!(not_text.errno(), Errno::EILSEQ);
    assert_eq!(std::io::Error::from(not_text).kind(), ErrorKind::InvalidData);
    assert_eq!(context.lstat("/x"), Err(Errno::ENOENT), "a copy of what cannot be copied makes nothing");
}

#[test]
fn files_of_any_length() {
    let context = root_of(MemFs::new());
    for length in [0, 1, 31, 32, 33, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20] {
        let data: Vec<u8> = (0..length).map(|at: usize| (at ^ at >> 8) as u8).collect();
        context.write("/file", &data).unwrap();
        assert!(context.read("/file").unwrap() == data, "{length} bytes");
        assert_eq!(context.copy("/file", "/copy").unwrap(), length as u64);
        assert!(context.read("/copy").unwrap() == data, "{length} bytes, copied");
    }
    context.truncate("/file", 1 << 60).unwrap();
    assert_eq!(errno(context.read("/file")), Some(Errno::ENOMEM));
}

#[test]
fn what_does_not_fit_is_told_and_a_part_is_written() {
    let context = root_of(MemFs::with(Options::default().max_bytes(1 << 20)));
    assert_eq!(errno(context.write("/big", vec![1; 3 << 20])), Some(Errno::ENOSPC));
    let written = context.metadata("/big").unwrap().size;
    assert!((1..=1 << 20).contains(&written), "{written}");
    assert_eq!(errno(context.copy("/big", "/copy")), Some(Errno::ENOSPC));
}

#[test]
fn the_longest_path_is_made() {
    let context = root_of(MemFs::new());
    let path = "/a".repeat(2047);
    context.create_dir_all(&path).unwrap();
    context.create_dir_all(&path).unwrap();
    assert_eq!(errno(context.create_dir_all(format!("{path}/a"))), Some(Errno::ENAMETOOLONG));
    assert_eq!(context.walk("/").unwrap().count(), 2047);
    context.remove_dir_all("/a").unwrap();
    context.create_dir_all("").unwrap();
    context.create_dir_all("/").unwrap();
    context.create_dir_all("x/../y/./z/").unwrap();
    let names = |path: &str| context.read_dir(path).unwrap().map(|entry| entry.unwrap().name().to_vec()).collect::<Vec<_>>();
    assert_eq!((names("/"), names("/y")), (vec![b"y".to_vec(), b"x".to_vec()], vec![b"z".to_vec()]));
}

#[test]
fn the_caches_alone_can_be_asked() {
    let context = root_of(MemFs::new());
    context.write("/file", "text").unwrap();
    context.metadata("/file").unwrap();
    let cached = context.clone().with_resolve(Resolve::CACHED).unwrap();
    assert_eq!(cached.metadata("/file").unwrap().size, 4);
    assert_eq!(errno(cached.write("/file", "")), Some(Errno::EAGAIN));
    assert_eq!(errno(cached.remove_dir_all("/")), Some(Errno::EAGAIN));
    let file = context.open("/file", OpenFlags::READ).unwrap();
    assert_eq!(file.getdents(1), Err(Errno::ENOTDIR));
    assert_eq!(file.getdents(0), Err(Errno::EINVAL));
}

#[test]
fn an_open_file_has_the_rights_of_its_opener() {
    let context = root_of(MemFs::new());
    context.write("/file", "").unwrap();
    let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    let [own, foreign] = [&context, &user].map(|context| File::open(context, "/file").unwrap());
    assert_eq!(foreign.set_permissions(0o777), Err(Errno::EPERM));
    assert_eq!(foreign.set_modified(UNIX_EPOCH), Err(Errno::EPERM));
    context.rename("/file", "/other").unwrap();
    context.write("/file", "").unwrap();
    own.set_permissions(0o600).unwrap();
    own.set_modified(UNIX_EPOCH).unwrap();
    let changed = |path: &str| context.metadata(path).map(|of| (of.mode, of.modified().unwrap() == UNIX_EPOCH)).unwrap();
    assert_eq!([changed("/other"), changed("/file")], [(0o600, true), (0o644, false)], "whatever has its name");
    context.remove_file("/other").unwrap();
    own.set_permissions(0o640).unwrap();
    assert_eq!(own.metadata().map(|of| (of.mode, of.nlink)), Ok((0o640, 0)));
    let place = context.open("/file", OpenFlags::PATH).unwrap();
    assert_eq!(place.set_permissions(0o600), Err(Errno::EBADF));
    assert_eq!(place.set_modified(UNIX_EPOCH), Err(Errno::EBADF));
}
