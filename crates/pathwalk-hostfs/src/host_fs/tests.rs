//! Tests of the file system without an engine: properties that show only from inside.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use pathwalk::{Access, Context, Credentials, FallocateFlags, File, FileSystem, OpenFlags, Vfs, XattrFlags};
use pathwalk_tests::skipped;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::*;

fn name(bytes: &[u8]) -> Name<'_> {
    Name::new(bytes).unwrap()
}

/// Creates a file system on a new directory, with its root handed out.
fn new() -> (tempfile::TempDir, HostFs) {
    let dir = tempfile::tempdir().unwrap();
    let fs = HostFs::open(dir.path()).unwrap().with_coherence(crate::Coherence::Frozen);
    fs.root().unwrap();
    (dir, fs)
}

fn find(fs: &HostFs, dir: NodeKey, bytes: &[u8]) -> Node {
    fs.find(dir, name(bytes)).unwrap().unwrap()
}

#[test]
fn absent_is_none_and_an_unknown_directory_is_stale() {
    let (_dir, fs) = new();
    assert!(fs.find(fs.key, name(b"nope")).unwrap().is_none());
    assert_eq!(fs.find(NodeKey(1), name(b"nope")).unwrap_err(), Errno::ESTALE);
    assert_eq!(fs.attributes(NodeKey(1)), Err(Errno::ESTALE));
}

#[test]
fn another_node_at_the_same_path_is_stale() {
    let (dir, fs) = new();
    fs::write(dir.path().join("a"), "").unwrap();
    fs::write(dir.path().join("b"), "").unwrap();
    let a = find(&fs, fs.key, b"a");
    assert_eq!(fs.attributes(a.key), Ok(a.attributes));
    fs::rename(dir.path().join("b"), dir.path().join("a")).unwrap();
    assert_eq!(fs.attributes(a.key), Err(Errno::ESTALE));
    assert_eq!(fs.acl(a.key), Err(Errno::ESTALE));
    fs::remove_file(dir.path().join("a")).unwrap();
    assert_eq!(fs.attributes(a.key), Err(Errno::ESTALE));
}

#[test]
fn a_link_is_read_whole_whatever_its_length() {
    let (dir, fs) = new();
    for length in [1, 59, 60, 255, 4095] {
        let body = "x".repeat(length);
        if symlink(&body, dir.path().join(length.to_string())).is_err() {
            assert_eq!(length, 4095, "some file systems keep a little less than the longest");
            continue;
        }
        let link = find(&fs, fs.key, length.to_string().as_bytes());
        assert_eq!(link.link_body.as_deref(), Some(body.as_bytes()));
        assert_eq!(*fs.read_link(link.key).unwrap(), *body.as_bytes());
        assert_eq!(link.attributes.acl, AclState::Absent);
    }
    fs::write(dir.path().join("file"), "").unwrap();
    let file = find(&fs, fs.key, b"file");
    assert_eq!(fs.read_link(file.key), Err(Errno::EINVAL));
}

#[test]
fn a_link_whose_size_is_a_lie_is_read_whole() {
    let Ok(fs) = HostFs::open("/proc/self".as_ref()) else {
        return skipped("a_link_whose_size_is_a_lie_is_read_whole", "/proc is not mounted");
    };
    fs.root().unwrap();
    let exe = find(&fs, fs.key, b"exe");
    let body = fs::read_link("/proc/self/exe").unwrap();
    assert_eq!(exe.attributes.size, 0);
    assert_eq!(exe.link_body.unwrap().escape_ascii().to_string(), body.to_string_lossy());
}

#[test]
fn paths_longer_than_the_kernel_takes_are_gone_in_stretches() {
    let (dir, fs) = new();
    let step = [b'd'; 250];
    let mut at = openat(CWD, dir.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let mut key = fs.key;
    for _ in 0..40 {
        mkdirat(&at, &step[..], Mode::RWXU).unwrap();
        at = openat(&at, &step[..], OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let node = find(&fs, key, &step);
        assert_eq!(fs.attributes(node.key), Ok(node.attributes));
        key = node.key;
    }
    assert!(fs.tree.nodes.read().path_in(key, b"").unwrap().len() > 10_000);
    assert!(fs.find(key, name(b"nope")).unwrap().is_none());
}

#[test]
fn what_is_forgotten_is_given_back() {
    let (dir, fs) = new();
    let before = fs.memory();
    let long = "long".repeat(30);
    let mut keys = Vec::new();
    for i in 0..100 {
        let name = format!("{long}{i}");
        fs::write(dir.path().join(&name), "").unwrap();
        keys.push(find(&fs, fs.key, name.as_bytes()).key);
    }
    assert!(fs.memory() >= before + 100 * 120);
    keys.iter().for_each(|key| fs.forget(*key));
    assert!(fs.memory() <= before + 1024, "only the index has grown");
    assert_eq!(fs.attributes(keys[0]), Err(Errno::ESTALE));
}

#[test]
fn every_way_to_read_a_list_tells_the_same() {
    let (dir, mut fs) = new();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("dir")).unwrap();
    fs::create_dir(at("plain")).unwrap();
    fs::write(at("file"), "").unwrap();
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
    let set = Command::new("setfacl").args(["-m", "u:1001:rwx,g:1002:r,m:rx"]).arg(at("dir")).arg(at("file")).output();
    let why = match set {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no such list can be set here: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("setfacl (package acl) cannot be run: {error}")),
    };
    if let Some(why) = why {
        return skipped("every_way_to_read_a_list_tells_the_same", &why);
    }
    let usual = Source::probe(fs.tree.root.as_fd());
    let ways = [Source::GetxattrAt, Source::ProcFd, Source::Open];
    for source in ways.into_iter().filter(|way| usual == Source::GetxattrAt || *way != Source::GetxattrAt) {
        fs.source = source;
        let [dir, file, plain] = [&b"dir"[..], b"file", b"plain"].map(|name| find(&fs, fs.key, name));
        let states = [dir.attributes.acl, file.attributes.acl, plain.attributes.acl];
        assert_eq!(states, [AclState::Present, AclState::Unknown, AclState::Absent], "{source:?}");
        assert_eq!(fs.acl(file.key), Ok(AclState::Present), "{source:?}");
        let may = |uid, want| fs.permission(file.key, &Credentials::user(uid, 1, &[]).effective(), want).is_ok();
        assert!(may(1001, Access::READ) && !may(1001, Access::WRITE) && !may(1003, Access::READ), "{source:?}");
        // Refreshed attributes keep the known ACL state of a directory, and reset that of a file to
        // unknown.
        assert_eq!(fs.attributes(dir.key).unwrap().acl, AclState::Present);
        assert_eq!(fs.attributes(file.key).unwrap().acl, AclState::Unknown);
        [dir, file, plain].iter().for_each(|node| fs.forget(node.key));
    }
    assert_eq!(fs.tree.nodes.read().place(fs.key).map(|(dir, _)| dir.len()), Some(0));
}

#[test]
fn a_check_that_is_repeated_asks_the_host_no_more() {
    let (dir, fs) = new();
    fs::write(dir.path().join("file"), "").unwrap();
    fs::set_permissions(dir.path().join("file"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    let nodes = [&b"file"[..], b"dir"].map(|name| find(&fs, fs.key, name));
    let nobody = Credentials::user(41_003, 43_000, &[]);
    let check = |node: &Node| {
        let wants = [Access::READ, Access::WRITE, Access::EXECUTE];
        wants.map(|want| fs.permission(node.key, &nobody.effective(), want))
    };
    let before = fs.memory();
    let answers = nodes.each_ref().map(check);
    assert!(answers[0].iter().all(|answer| *answer == Err(Errno::EACCES)), "{answers:?}");
    assert!(fs.memory() > before, "what is kept is counted");
    fs::remove_file(dir.path().join("file")).unwrap();
    fs::remove_dir(dir.path().join("dir")).unwrap();
    assert_eq!(nodes.each_ref().map(check), answers);
    // Reloading attributes drops everything that was stored before.
    assert_eq!(fs.attributes(nodes[0].key), Err(Errno::ESTALE));
    fs::write(dir.path().join("other"), "").unwrap();
    let other = find(&fs, fs.key, b"other");
    assert_eq!(check(&other)[0], Ok(()));
    fs.attributes(other.key).unwrap();
    fs::remove_file(dir.path().join("other")).unwrap();
    assert_eq!(check(&other)[0], Err(Errno::ESTALE));
}

#[test]
fn a_number_that_goes_to_another_type_is_stale() {
    let (dir, fs) = new();
    let path = dir.path().join("l");
    let number = |path: &std::path::Path| std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(path).unwrap());
    let reused = (0..1000).find_map(|_| {
        symlink("body", &path).unwrap();
        let link = find(&fs, fs.key, b"l");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        if number(&path) == link.attributes.ino {
            return Some(link);
        }
        fs::remove_file(&path).unwrap();
        fs.forget(link.key);
        None
    });
    let Some(link) = reused else {
        let why = format!("the file system of {} does not use inode numbers again", dir.path().display());
        return pathwalk_tests::skipped("a_number_that_goes_to_another_type_is_stale", &why);
    };
    assert_eq!(fs.attributes(link.key), Err(Errno::ESTALE));
    assert_eq!(fs.read_link(link.key), Err(Errno::ESTALE));
    assert_eq!(fs.acl(link.key), Err(Errno::ESTALE));
    assert_eq!(fs.permission(link.key, &Credentials::root().effective(), Access::READ), Err(Errno::ESTALE));
    let file = find(&fs, fs.key, b"l");
    assert_eq!((file.attributes.kind, file.attributes.ino), (FileType::Regular, link.attributes.ino));
    assert_ne!(file.key, link.key, "the engine takes equal keys for one inode");
    assert_eq!(fs.attributes(file.key), Ok(file.attributes));
}

#[test]
fn a_number_that_goes_to_another_file_is_another_node() {
    let (dir, _) = new();
    let fs = HostFs::open_writable(dir.path()).unwrap().with_coherence(crate::Coherence::Exclusive);
    fs.root().unwrap();
    let path = dir.path().join("f");
    let number = || std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(&path).unwrap());
    let reused = (0..1000).find_map(|_| {
        fs::write(&path, "").unwrap();
        let first = find(&fs, fs.key, b"f");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        if number() == first.attributes.ino {
            return Some(first);
        }
        fs::remove_file(&path).unwrap();
        fs.forget(first.key);
        None
    });
    let Some(first) = reused else {
        let why = format!("the file system of {} does not use inode numbers again", dir.path().display());
        return pathwalk_tests::skipped("a_number_that_goes_to_another_file_is_another_node", &why);
    };
    assert_eq!(fs.attributes(first.key), Err(Errno::ESTALE), "within one tick of the clock, too");
    let second = find(&fs, fs.key, b"f");
    assert_eq!(second.attributes.ino, first.attributes.ino);
    assert_ne!(second.key, first.key);
    assert_eq!(fs.attributes(second.key), Ok(second.attributes));
}

/// A change of another thread is half done: the host has it, and the table does not.
#[test]
fn a_change_under_way_is_waited_for() {
    let (dir, _) = new();
    let fs = HostFs::open_writable(dir.path()).unwrap().with_coherence(crate::Coherence::Exclusive);
    fs.root().unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    fs::write(dir.path().join("d/f"), "").unwrap();
    let directory = find(&fs, fs.key, b"d").key;
    let file = find(&fs, directory, b"f").key;
    std::thread::scope(|scope| {
        let changing = fs.tree.changes.read();
        fs::rename(dir.path().join("d/f"), dir.path().join("d/g")).unwrap();
        let asks = scope.spawn(|| fs.attributes(file).map(|found| found.kind));
        std::thread::sleep(std::time::Duration::from_millis(50));
        fs.tree.nodes.write().moved(file, (directory, b"f"), (directory, b"g"));
        drop(changing);
        assert_eq!(asks.join().unwrap(), Ok(FileType::Regular));

        let moving = fs.tree.moves.write();
        fs::rename(dir.path().join("d"), dir.path().join("e")).unwrap();
        let asks = scope.spawn(|| fs.find(directory, name(b"g")).map(|found| found.is_some()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        fs.tree.nodes.write().moved(directory, (fs.key, b"d"), (fs.key, b"e"));
        drop(moving);
        assert_eq!(asks.join().unwrap(), Ok(true));
    });
}

/// At the end, the disk is synced for these alone.
#[test]
fn each_kind_of_change_is_noted_and_no_question_is() {
    type Step = (&'static str, fn(&Context, &File));
    const CHANGES: [Step; 15] = [
        ("a write", |_, file| _ = file.write_at(b"data", 0).unwrap()),
        ("a write at the end", |at, _| {
            _ = at.open("/file", OpenFlags::WRITE | OpenFlags::APPEND).unwrap().write(b"x").unwrap();
        }),
        ("another size", |_, file| file.set_len(9).unwrap()),
        ("an allocation", |_, file| file.fallocate(FallocateFlags::empty(), 0, 4096).unwrap()),
        ("a new file", |at, _| _ = at.open("/new", OpenFlags::READ | OpenFlags::CREATE).unwrap()),
        ("an emptied file", |at, _| _ = at.open("/file", OpenFlags::WRITE | OpenFlags::TRUNCATE).unwrap()),
        ("a new directory", |at, _| at.mkdir("/dir", 0o755).unwrap()),
        ("a second name", |at, _| at.link("/file", "/second").unwrap()),
        ("a link", |at, _| at.symlink("file", "/link").unwrap()),
        ("another name", |at, _| at.rename("/second", "/third").unwrap()),
        ("a removed file", |at, _| at.unlink("/third").unwrap()),
        ("a removed directory", |at, _| at.rmdir("/dir").unwrap()),
        ("another mode", |at, _| at.chmod("/file", 0o600).unwrap()),
        ("an extended attribute", |at, _| at.setxattr("/file", "user.a", b"1", XattrFlags::empty()).unwrap()),
        ("a removed attribute", |at, _| at.removexattr("/file", "user.a").unwrap()),
    ];
    let dir = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let fs = HostFs::open_writable(dir.path()).unwrap().with_coherence(crate::Coherence::Exclusive);
    let tree = Arc::clone(&fs.tree);
    let vfs = Vfs::builder().build(fs).unwrap();
    let context = vfs.context(crate::credentials().unwrap());
    let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    context.stat("/none").unwrap_err();
    file.read(&mut [0; 8]).unwrap();
    assert_eq!(context.read_dir("/").unwrap().count(), 1);
    assert!(!tree.changed.is_set());
    for (what, change) in CHANGES {
        change(&context, &file);
        assert!(tree.changed.is_set(), "{what}");
        context.syncfs("/").unwrap();
        assert!(!tree.changed.is_set(), "{what}");
    }
}
