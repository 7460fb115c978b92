//! Each program in both forms: with `std::fs` on directories of the host, and ported on a tree in
//! memory and on the host's directory, mounted read-only beside one in memory. The results and the
//! trees that are made are the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_examples::{ported, with_std};
use pathwalk_hostfs::HostFs;
use pathwalk_memfs::MemFs;

/// All of a tree: for each path what it is, with permissions and, for files and directories, the
/// time of the last change.
type Tree = BTreeMap<PathBuf, (String, u32, Option<SystemTime>)>;

const TIME: SystemTime = UNIX_EPOCH;

fn on_the_host(top: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut left = vec![top.to_path_buf()];
    while let Some(path) = left.pop() {
        let of = fs::symlink_metadata(&path).unwrap();
        let (what, time) = if of.is_symlink() {
            (fs::read_link(&path).unwrap().display().to_string(), None)
        } else if of.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            ("a directory".into(), Some(of.modified().unwrap()))
        } else {
            (fs::read_to_string(&path).unwrap(), Some(of.modified().unwrap()))
        };
        tree.insert(path.strip_prefix(top).unwrap().into(), (what, of.permissions().mode(), time));
    }
    tree
}

fn in_a_context(context: &Context, top: &str) -> Tree {
    let paths = context.walk(top).unwrap().map(|entry| entry.unwrap().path());
    let all = paths.chain([PathBuf::from(top)]).map(|path| {
        let of = context.symlink_metadata(&path).unwrap();
        let (what, time) = if of.is_symlink() {
            (context.read_link(&path).unwrap().display().to_string(), None)
        } else if of.is_dir() {
            ("a directory".into(), Some(of.modified().unwrap()))
        } else {
            (context.read_to_string(&path).unwrap(), Some(of.modified().unwrap()))
        };
        (path.strip_prefix(top).unwrap().to_path_buf(), (what, of.permissions().mode(), time))
    });
    all.collect()
}

/// Returns a tree without times, for programs that do not set them.
fn timeless(tree: Tree) -> Tree {
    tree.into_iter().map(|(path, (what, mode, _))| (path, (what, mode, None))).collect()
}

/// Makes a site with pages, a picture, a link and a file that all may execute.
fn site(top: &Path) {
    fs::create_dir_all(top.join("pages/about")).unwrap();
    fs::write(top.join("template.html"), "<h1>{title}</h1>\n{body}").unwrap();
    fs::write(top.join("pages/first.txt"), "First\n\nHello.\n\nMore\nof it.\n").unwrap();
    fs::write(top.join("pages/about/us.txt"), "Us").unwrap();
    fs::write(top.join("pages/about/picture.svg"), "<svg/>\n").unwrap();
    fs::write(top.join("pages/empty.css"), "").unwrap();
    fs::write(top.join("run"), "#!/bin/sh\nexit\n").unwrap();
    fs::set_permissions(top.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(top.join("pages/about"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("pages/first.txt", top.join("link")).unwrap();
    for (number, path) in ["run", "pages/first.txt", "pages/about/picture.svg", "pages/about", "pages"].into_iter().enumerate() {
        let time = TIME + Duration::new(1_000_000_000 + number as u64, 7);
        fs::File::open(top.join(path)).unwrap().set_modified(time).unwrap();
    }
}

/// Returns a context with the site in memory, and one that has it on the host; in both it is
/// `/site`, and `/` can be written to.
fn contexts(host: &Path) -> [Context; 2] {
    let mounted = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    mounted.create_dir("/site").unwrap();
    let site = HostFs::open(host).unwrap();
    let flags = site.mount_flags();
    mounted.mount(site, "/site", flags).unwrap();

    let in_memory = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    for (path, (what, mode, time)) in on_the_host(host) {
        let path = Path::new("/site").join(path);
        match time {
            None => in_memory.symlink(what, &path).unwrap(),
            Some(_) if what == "a directory" => in_memory.create_dir(&path).unwrap(),
            Some(_) => in_memory.write(&path, what).unwrap(),
        }
        if time.is_some() {
            in_memory.set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    for (path, (_, _, time)) in on_the_host(host) {
        if let Some(time) = time {
            let file = pathwalk::File::open(&in_memory, Path::new("/site").join(path)).unwrap();
            file.set_modified(time).unwrap();
        }
    }
    [in_memory, mounted]
}

#[test]
fn a_recursive_copy_with_metadata() {
    let host = tempfile::tempdir().unwrap();
    let (from, to) = (host.path().join("site"), host.path().join("copy"));
    site(&from);
    let bytes = with_std::copy_tree::copy_tree(&from, &to).unwrap();
    assert_eq!(on_the_host(&to), on_the_host(&from));
    for context in contexts(&from) {
        let copied = ported::copy_tree::copy_tree(&context, "/site".as_ref(), "/copy".as_ref());
        assert_eq!(copied.unwrap(), bytes);
        assert_eq!(in_a_context(&context, "/copy"), on_the_host(&to));
    }
}

#[test]
fn a_counter_of_lines() {
    let host = tempfile::tempdir().unwrap();
    site(host.path());
    let counts = with_std::count_lines::count_lines(host.path()).unwrap();
    assert_eq!(counts, [("", 2), ("html", 2), ("svg", 1), ("txt", 7)].map(|(name, lines)| (name.to_string(), lines)).into());
    for context in contexts(host.path()) {
        assert_eq!(ported::count_lines::count_lines(&context, "/site".as_ref()).unwrap(), counts);
    }
}

#[test]
fn a_generator_of_sites() {
    let host = tempfile::tempdir().unwrap();
    let (from, to) = (host.path().join("site"), host.path().join("built"));
    site(&from);
    for _ in 0..2 {
        assert_eq!(with_std::site::build(&from, &to).unwrap(), 2);
    }
    let log = fs::read_to_string(host.path().join("built.log")).unwrap();
    for context in contexts(&from) {
        for _ in 0..2 {
            assert_eq!(ported::site::build(&context, "/site".as_ref(), "/built".as_ref()).unwrap(), 2);
        }
        assert_eq!(timeless(in_a_context(&context, "/built")), timeless(on_the_host(&to)));
        assert_eq!(context.read_to_string("/built.log").unwrap(), log);
    }
}

#[test]
fn errors_are_of_the_same_kind() {
    let host = tempfile::tempdir().unwrap();
    let absent = with_std::copy_tree::copy_tree(&host.path().join("absent"), host.path()).unwrap_err();
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let ported = ported::copy_tree::copy_tree(&context, "/absent".as_ref(), "/to".as_ref()).unwrap_err();
    assert_eq!(ported.kind(), absent.kind());
    assert_eq!(ported.to_string(), r#"symlink_metadata "/absent": ENOENT (No such file or directory)"#);
}
