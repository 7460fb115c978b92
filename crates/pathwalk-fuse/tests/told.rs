//! Tests of changes that others make: another context of the same `Vfs`, and reports of the file
//! system. The kernel keeps what it was told for ever, and is told what changed.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;

use crate::common::{Case, names, until};
use pathwalk::{At, Context, Credentials, MountFlags, Name, RenameFlags, Vfs};
use pathwalk_fuse::CacheTimes;
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

fn case() -> Option<Case> {
    Case::new(CacheTimes::FOREVER)
}

fn kind_of(path: &std::path::Path) -> Option<ErrorKind> {
    fs::metadata(path).err().map(|error| error.kind())
}

#[test]
fn a_name_that_was_absent_and_is_made() {
    let Some(case) = case() else { return };
    assert_eq!((kind_of(&case.at("a")), names(case.dir.path())), (Some(ErrorKind::NotFound), vec![]));
    case.context.write("/a", "made by another").unwrap();
    until(None, || kind_of(&case.at("a")));
    until(vec!["a".to_string()], || names(case.dir.path()));
    assert_eq!(fs::read(case.at("a")).unwrap(), b"made by another");
}

#[test]
fn a_name_that_was_there_and_is_removed() {
    let Some(case) = case() else { return };
    fs::create_dir(case.at("d")).unwrap();
    fs::write(case.at("d/f"), "text").unwrap();
    fs::hard_link(case.at("d/f"), case.at("other")).unwrap();
    let open = File::open(case.at("d/f")).unwrap();
    assert_eq!((open.metadata().unwrap().nlink(), names(&case.at("d"))), (2, vec!["f".to_string()]));
    case.context.remove_file("/d/f").unwrap();
    until(Some(ErrorKind::NotFound), || kind_of(&case.at("d/f")));
    until(Vec::<String>::new(), || names(&case.at("d")));
    until(1, || open.metadata().unwrap().nlink());
    assert_eq!(fs::read(case.at("other")).unwrap(), b"text");
    case.context.remove_file("/other").unwrap();
    until(0, || open.metadata().unwrap().nlink());
    case.context.remove_dir("/d").unwrap();
    until(Some(ErrorKind::NotFound), || kind_of(&case.at("d")));
    until(2, || fs::metadata(case.dir.path()).unwrap().nlink());
    drop(open);
    until(0, || case.mounted().pinned().nodes);
}

#[test]
fn directories_that_are_moved_and_exchanged() {
    let Some(case) = case() else { return };
    for (dir, file) in [("a/sub", "one"), ("b/sub", "two")] {
        fs::create_dir_all(case.at(dir)).unwrap();
        fs::write(case.at(dir).join(file), file).unwrap();
    }
    let is_there = |path: &str| case.at(path).exists();
    assert!(is_there("a/sub/one") && is_there("b/sub/two") && !is_there("c"));
    case.context.rename("/a", "/c").unwrap();
    until((false, true), || (is_there("a/sub/one"), is_there("c/sub/one")));
    let rename = |from, to| case.context.renameat(At::Cwd, from, At::Cwd, to, RenameFlags::EXCHANGE).unwrap();
    rename("/b/sub", "/c/sub");
    until((true, true), || (is_there("b/sub/one"), is_there("c/sub/two")));
    assert!(!is_there("b/sub/two") && !is_there("c/sub/one"));
    case.context.rename("/b/sub/one", "/c/sub/two").unwrap();
    until(b"one".to_vec(), || fs::read(case.at("c/sub/two")).unwrap());
}

#[test]
fn data_and_attributes_that_are_set() {
    let Some(case) = case() else { return };
    fs::write(case.at("a"), "before").unwrap();
    let open = File::open(case.at("a")).unwrap();
    let read = || {
        let mut buffer = [0; 20];
        let length = open.read_at(&mut buffer, 0).unwrap();
        buffer[..length].to_vec()
    };
    assert_eq!((read(), fs::metadata(case.at("a")).unwrap().len()), (b"before".to_vec(), 6));
    case.context.write("/a", "and after").unwrap();
    until(b"and after".to_vec(), read);
    until(9, || open.metadata().unwrap().len());
    // The same length, within one page of the cache.
    case.context.write("/a", "and later").unwrap();
    until(b"and later".to_vec(), read);
    case.context.chmod("/a", 0o600).unwrap();
    until(0o600, || fs::metadata(case.at("a")).unwrap().mode() & 0o7777);
    // A file without a name.
    let other = case.context.open("/a", pathwalk::OpenFlags::WRITE).unwrap();
    fs::remove_file(case.at("a")).unwrap();
    other.write_at(b"nameless", 0).unwrap();
    until(b"namelessr".to_vec(), read);
}

#[test]
fn the_mounts_own_changes_are_not_told() {
    let Some(case) = case() else { return };
    // A name that is told to be asked for again would leave the directory without a name here.
    fs::create_dir(case.at("d")).unwrap();
    fs::write(case.at("d/f"), "text").unwrap();
    let before = case.mounted().notices();
    for round in 0..100 {
        fs::write(case.at("d/g"), format!("{round}")).unwrap();
        fs::rename(case.at("d/g"), case.at("d/f")).unwrap();
    }
    case.context.write("/d/f", "by another").unwrap();
    until(b"by another".to_vec(), || fs::read(case.at("d/f")).unwrap());
    // The kernel may have asked for the text before it was told.
    let told = || case.mounted().notices() - before;
    until(true, || told() > 0);
    assert!(told() < 20, "{} notices", told());
}

#[test]
fn a_working_directory_keeps_its_name_while_others_change_what_is_in_it() {
    let Some(case) = case() else { return };
    fs::create_dir_all(case.at("d/sub")).unwrap();
    let here = File::open(case.at("d/sub")).unwrap();
    let path = |file: &File| fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file))).unwrap();
    case.context.write("/d/sub/f", "").unwrap();
    case.context.rename("/d/sub/f", "/d/g").unwrap();
    let vfs = case.context.vfs();
    vfs.invalidate(&case.context.lookup("/d").unwrap(), Name::new(b"sub").unwrap()).unwrap();
    until(vec!["g".to_string(), "sub".to_string()], || names(&case.at("d")));
    assert_eq!(path(&here), case.at("d/sub"));
}

#[test]
fn mounts_within_that_come_and_go() {
    let Some(case) = case() else { return };
    fs::create_dir(case.at("d")).unwrap();
    fs::write(case.at("d/covered"), "").unwrap();
    case.context.mount(MemFs::new(), "/d", MountFlags::empty()).unwrap();
    case.context.write("/d/within", "").unwrap();
    until((true, false), || (case.at("d/within").exists(), case.at("d/covered").exists()));
    case.context.umount("/d", pathwalk::UmountFlags::DETACH).unwrap();
    until((false, true), || (case.at("d/within").exists(), case.at("d/covered").exists()));
}

/// Checks what is there after more changes than there is room for.
fn storm(context: &Context, case: &Case) {
    for dir in 0..10 {
        fs::create_dir(case.at(&format!("d{dir}"))).unwrap();
        for name in 0..100 {
            let path = case.at(&format!("d{dir}/{name}"));
            if name % 2 == 0 { fs::write(path, "old").unwrap() } else { assert!(!path.exists()) }
        }
    }
    for dir in 0..10 {
        for name in 0..100 {
            let path = format!("/d{dir}/{name}");
            if name % 4 == 0 { context.remove_file(path).unwrap() } else { context.write(path, "new").unwrap() }
        }
    }
    let wrong = || {
        let is_wrong = |dir: i32, name: i32| match fs::read(case.at(&format!("d{dir}/{name}"))) {
            Ok(text) => name % 4 == 0 || text != b"new",
            Err(_) => name % 4 != 0,
        };
        (0..10).flat_map(|dir| (0..100).filter(move |name| is_wrong(dir, *name))).count()
    };
    until(0, wrong);
    let listed = || (0..10).map(|dir| names(&case.at(&format!("d{dir}"))).len()).sum::<usize>();
    until(750, listed);
}

#[test]
fn more_changes_than_there_is_room_for() {
    for events in [1, 16, 1 << 16] {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        let Some(case) = Case::of(context.clone(), |options| options.events = events) else { return };
        storm(&context, &case);
    }
}

#[test]
fn reports_of_any_change() {
    let fs = MemFs::new();
    let behind = fs.alias();
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |_| {}) else { return };
    fs::create_dir(case.at("d")).unwrap();
    assert!(!case.at("d/new").exists() && names(&case.at("d")).is_empty());
    behind.file("/d/new", 0o644).unwrap();
    case.context.vfs().invalidate_file_system(case.context.root()).unwrap();
    until(true, || case.at("d/new").exists());
    until(1, || names(&case.at("d")).len());
}

#[test]
fn a_watched_directory_of_the_host() {
    let host = tempfile::tempdir().unwrap();
    fs::create_dir(host.path().join("d")).unwrap();
    fs::write(host.path().join("d/f"), "before").unwrap();
    let fs = HostFs::open_writable(host.path()).unwrap().with_coherence(Coherence::Watch);
    let context = Vfs::builder().build(fs).unwrap().context(pathwalk_hostfs::credentials().unwrap());
    let Some(case) = Case::of(context, |_| {}) else { return };
    assert_eq!(fs::read(case.at("d/f")).unwrap(), b"before");
    assert!(!case.at("d/new").exists());
    fs::write(host.path().join("d/new"), "").unwrap();
    until(true, || case.at("d/new").exists());
    fs::write(host.path().join("d/f"), "longer than before").unwrap();
    until(b"longer than before".to_vec(), || fs::read(case.at("d/f")).unwrap());
    fs::rename(host.path().join("d"), host.path().join("e")).unwrap();
    until((false, true), || (case.at("d/f").exists(), case.at("e/f").exists()));
    // By another process.
    assert!(Command::new("rm").arg("-r").arg(host.path().join("e")).status().unwrap().success());
    until(Vec::<String>::new(), || names(case.dir.path()));
    // The kernel is told of a name and of a listing one after the other.
    until(false, || case.at("e").exists());
}
