//! Tests that files handed out unasked are as the kernel reports them, and that all other names are
//! found as usual.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use pathwalk::{AclState, At, AtFlags, FileType, OpenFlags, OpenHow, Resolve};
use pathwalk_tests::skipped;
use rustix::fs::{AtFlags as HostAtFlags, CWD, FileType as HostFileType, Mode, makedev, mknodat};

use crate::common::{Who, as_user, assert_same, host, host_access, place, set_list, time, walk, wants};
use crate::{MOST, SOME, ask_for_some, given, lookups, make_some};

/// Returns names of those lengths at which the storage changes, and names that are not text.
fn odd_names() -> Vec<OsString> {
    let lengths = [1, 21, 22, 23, 31, 32, 33, 254, 255].map(|length| vec![b'n'; length]);
    let no_text = [b"\xff\n\x80".to_vec(), vec![0xfe; 40], b" ".to_vec(), b"...".to_vec(), b"-\\\"".to_vec()];
    lengths.into_iter().chain(no_text).map(OsString::from_vec).collect()
}

/// Makes files of every kind, with odd names, modes, sizes, owners and further names.
pub(crate) fn build(dir: &Path) {
    let at = |name: &str| dir.join(name);
    make_some(dir);
    for name in odd_names() {
        fs::write(dir.join(&name), name.as_bytes()).unwrap();
    }
    for mode in [0, 0o1, 0o644, 0o1777, 0o2755, 0o4751, 0o7777] {
        let path = at(&format!("mode {mode:o}"));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, uid, gid) in [("owned", 41_000, 42_000), ("overflow", 65_534, 65_534), ("largest", u32::MAX - 1, u32::MAX - 1)] {
        fs::write(at(name), "").unwrap();
        if let Err(error) = chown(at(name), Some(uid), Some(gid)) {
            skipped("files of others", &format!("this process may not give any to user {uid} ({error})"));
        }
    }
    fs::write(at("large"), vec![7; 100_000]).unwrap();
    fs::File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
    fs::hard_link(at("large"), at("large again")).unwrap();
    fs::hard_link(at("owned"), dir.parent().unwrap().join("elsewhere")).unwrap();
    mknodat(CWD, at("pipe"), HostFileType::Fifo, Mode::RUSR, 0).unwrap();
    UnixListener::bind(at("socket")).unwrap();
    for (name, kind) in [("null", HostFileType::CharacterDevice), ("block", HostFileType::BlockDevice)] {
        if let Err(errno) = mknodat(CWD, at(name), kind, Mode::RUSR, makedev(1, 3)) {
            skipped("device nodes", &format!("this process may not make any ({errno})"));
        }
    }
}

fn paths(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Makes a directory `d` in a temporary one.
pub(crate) fn directory() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d");
    fs::create_dir(&dir).unwrap();
    (root, dir)
}

#[test]
fn every_file_is_given_as_the_kernel_tells_it() {
    let (root, dir) = directory();
    build(&dir);
    let paths = paths(&dir);
    let context = walk(root.path());
    ask_for_some(&context, "/d");
    assert_eq!(given(&context), (paths.len() - SOME.len()) as u64);
    for path in &paths {
        let inside = Path::new("/d").join(path.file_name().unwrap());
        let (ours, asked) = lookups(&context, || context.lstat(&inside).unwrap());
        assert_eq!(asked, 0, "{path:?}");
        assert_same(path, &ours);
        assert_eq!(ours.atime, time(&host(path).stx_atime), "{path:?}");
        assert_eq!(ours.acl, AclState::Unknown, "{path:?}");
        // Reloading the attributes uses the key, and so the name.
        let handle = context.lookup_at(At::Cwd, &inside, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(handle.path().unwrap(), inside.as_os_str().as_bytes());
        assert_same(path, &context.vfs().refresh(&handle).unwrap());
    }
    assert_same(&dir.join("owned"), &context.stat("/elsewhere").unwrap());
    assert_eq!(context.stat("/elsewhere").unwrap().ino, context.stat("/d/owned").unwrap().ino);
}

#[test]
fn each_file_is_read_by_its_own_name() {
    let (root, dir) = directory();
    make_some(&dir);
    odd_names().iter().for_each(|name| fs::write(dir.join(name), name.as_bytes()).unwrap());
    let context = walk(root.path());
    ask_for_some(&context, "/d");
    let read = OpenHow { flags: OpenFlags::READ, mode: 0, resolve: Resolve::empty() };
    for name in odd_names() {
        let mut buffer = [0; 300];
        let file = context.open(Path::new("/d").join(&name), read).unwrap();
        let length = file.read(&mut buffer).unwrap();
        assert_eq!(buffer[..length], *name.as_bytes());
    }
}

#[test]
fn links_and_directories_are_found_afterwards_each_by_its_own_lookup() {
    let (root, dir) = directory();
    make_some(&dir);
    fs::create_dir_all(dir.join("sub/deeper")).unwrap();
    fs::write(dir.join("sub/file"), "in sub").unwrap();
    for (name, body) in [("link", "sub"), ("to file", "five"), ("dangling", "nowhere"), ("up", "../d/five")] {
        symlink(body, dir.join(name)).unwrap();
    }
    fs::write(dir.join("five"), "").unwrap();
    let context = walk(root.path());
    ask_for_some(&context, "/d");
    assert_eq!(given(&context), 1, "five");
    for name in ["sub", "link", "to file", "dangling", "up"] {
        let (ours, asked) = lookups(&context, || context.lstat(format!("/d/{name}")).unwrap());
        assert_eq!(asked, 1, "{name}");
        assert_same(&dir.join(name), &ours);
        if ours.kind == FileType::Symlink {
            let body = fs::read_link(dir.join(name)).unwrap();
            assert_eq!(context.read_link(format!("/d/{name}")).unwrap(), body);
        }
    }
    for (path, same) in [("link/file", "sub/file"), ("link/deeper", "sub/deeper"), ("to file", "five"), ("up", "five")] {
        assert_same(&dir.join(same), &context.stat(format!("/d/{path}")).unwrap());
    }
    assert_eq!(context.stat("/d/dangling"), Err(pathwalk::Errno::ENOENT));
}

#[test]
fn as_many_names_as_were_asked_for_allow() {
    // The directory and the link count too.
    let first = SOME.len() + 2;
    for (names, given_at_first) in [(MOST, MOST - first), (MOST + 1, 0)] {
        let (root, dir) = directory();
        make_some(&dir);
        // The directory and the link count as names, although they are not handed out.
        fs::create_dir(dir.join("sub")).unwrap();
        symlink("sub", dir.join("link")).unwrap();
        (first..names).for_each(|i| fs::write(dir.join(format!("f{i}")), "").unwrap());
        let context = walk(root.path());
        ask_for_some(&context, "/d");
        assert_eq!(given(&context), given_at_first as u64, "of {names}");
        let ask = |i| context.stat(format!("/d/f{i}")).map(drop).unwrap();
        // As many lookups again allow a directory of twice as many names.
        (first..first + SOME.len()).for_each(ask);
        assert_eq!(lookups(&context, || (first..names).for_each(ask)).1, 0);
        // The names looked up before, and the two that take more than one call, are not handed out.
        let asked_for = if given_at_first == 0 { 2 * SOME.len() } else { SOME.len() };
        assert_eq!(given(&context), (names - asked_for - 2) as u64, "of {names}");
    }
}

#[test]
fn a_list_of_what_was_given_or_noted_is_obeyed() {
    const NAMED: u32 = 41_001;
    let (root, dir) = directory();
    [root.path(), &dir].iter().for_each(|dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap());
    make_some(&dir);
    fs::create_dir(dir.join("listed.d")).unwrap();
    fs::create_dir(dir.join("plain.d")).unwrap();
    ["listed", "plain", "listed.d/inside", "plain.d/inside"].iter().for_each(|name| fs::write(dir.join(name), "").unwrap());
    for name in ["listed", "listed.d"] {
        if let Err(why) = set_list(&["-m", &format!("u::rw,u:{NAMED}:rx,g::-,o::-")], &dir.join(name), NAMED) {
            return skipped("a_list_of_what_was_given_or_noted_is_obeyed", &why);
        }
    }
    for name in ["plain", "plain.d"] {
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o750)).unwrap();
    }
    let place = place(&dir);
    for uid in [0, NAMED, NAMED + 1] {
        let who = Who { uid, gid: 43_000, groups: vec![] };
        let context = walk(root.path()).with_credentials(who.credentials());
        ask_for_some(&context, "/d");
        assert_eq!(given(&context), 2);
        for name in ["listed", "plain", "listed.d", "plain.d", "listed.d/inside", "plain.d/inside"] {
            for want in wants() {
                let told = as_user(&who, || host_access(place.as_fd(), name, want, HostAtFlags::empty()));
                let Ok(told) = told else { return skipped("lists as others see them", &told.unwrap_err()) };
                // The second round uses what the first round cached.
                for _ in 0..2 {
                    assert_eq!(context.access(format!("/d/{name}"), want), told, "{name} {want:?} as {who:?}");
                }
            }
        }
    }
}
