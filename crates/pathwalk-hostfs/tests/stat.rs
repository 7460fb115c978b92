//! Tests that attributes and link bodies are the host's, field by field.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use pathwalk::{AclState, Context, Errno};
use pathwalk_tests::skipped;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::common::{assert_same, host, walk};

/// Makes one node of every kind, and names of every sort.
fn build(root: &Path) {
    let at = |name: &str| root.join(name);
    fs::create_dir_all(at("dir/sub/deeper")).unwrap();
    fs::write(at("file"), "contents").unwrap();
    fs::write(at("dir/sub/deeper/leaf"), vec![7; 100_000]).unwrap();
    fs::write(at(&"n".repeat(255)), "long").unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xff\n\x80")), "no text").unwrap();
    fs::hard_link(at("file"), at("dir/second name")).unwrap();
    fs::File::create(at("sparse")).unwrap().set_len(1 << 40).unwrap();
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(at("dir"), fs::Permissions::from_mode(0o3775)).unwrap();
    symlink("dir/sub", at("link")).unwrap();
    symlink("/dir/../file", at("absolute")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("x/".repeat(1000), at("long link")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    UnixListener::bind(at("socket")).unwrap();
    let null = mknodat(CWD, at("null"), FileType::CharacterDevice, Mode::RUSR, makedev(1, 3));
    if let Err(errno) = null {
        skipped("device nodes", &format!("this process may not make any ({errno})"));
    }
}

/// Collects every path below `dir`. Links are not followed.
fn all_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            all_below(&entry.path(), found);
        }
    }
}

fn readlink(context: &Context, path: &Path) -> Result<Vec<u8>, Errno> {
    let mut buffer = [0; 4096];
    context.readlink(path, &mut buffer).map(|length| buffer[..length].to_vec())
}

#[test]
fn every_field_is_the_hosts() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let context = walk(dir.path());
    let mut paths = Vec::new();
    all_below(dir.path(), &mut paths);
    assert!(paths.len() >= 15);
    for path in &paths {
        let inside = Path::new("/").join(path.strip_prefix(dir.path()).unwrap());
        let ours = context.lstat(&inside).unwrap();
        assert_same(path, &ours);
        if ours.kind == pathwalk::FileType::Symlink {
            assert_eq!(readlink(&context, &inside).unwrap(), fs::read_link(path).unwrap().as_os_str().as_bytes());
            assert_eq!(ours.acl, AclState::Absent);
        } else {
            assert_eq!(readlink(&context, &inside), Err(Errno::EINVAL));
        }
        // Reloading the attributes gives the same result.
        let handle = context.lookup_at(pathwalk::At::Cwd, &inside, pathwalk::AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_same(path, &context.vfs().refresh(&handle).unwrap());
    }
    assert_same(dir.path(), &context.stat("/").unwrap());
}

#[test]
fn links_are_followed_within() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let context = walk(dir.path());
    assert_same(&dir.path().join("dir/sub"), &context.stat("/link").unwrap());
    assert_same(&dir.path().join("dir/sub/deeper/leaf"), &context.stat("/link/deeper/leaf").unwrap());
    assert_same(&dir.path().join("file"), &context.stat("/absolute").unwrap());
    assert_eq!(context.stat("/dangling"), Err(Errno::ENOENT));
    assert_eq!(context.lstat("/file/x"), Err(Errno::ENOTDIR));
    assert_eq!(context.lstat("/dangling/"), Err(Errno::ENOENT));
    assert_eq!(context.stat("/file").unwrap().ino, context.stat("/dir/second name").unwrap().ino);
}

#[test]
fn the_whole_host_is_a_directory_too() {
    let context = walk(Path::new("/"));
    for path in ["/", "/usr", "/usr/bin", "/etc/passwd", "/proc", "/dev/null", "/usr/bin/env"] {
        match fs::canonicalize(path) {
            Ok(real) => {
                let ours = context.stat(path).unwrap();
                let host = host(&real);
                assert_eq!((ours.ino, ours.st_mode()), (host.stx_ino, u32::from(host.stx_mode)), "{path}");
            }
            Err(_) => assert_eq!(context.stat(path), Err(Errno::ENOENT), "{path}"),
        }
    }
    assert_eq!(context.stat("/no such name in the root"), Err(Errno::ENOENT));
}
