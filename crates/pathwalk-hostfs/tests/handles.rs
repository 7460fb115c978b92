//! Tests of file handles: they lead to their nodes after a restart, wherever these are by then, and
//! to nothing outside of the root.

use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pathwalk::{Context, Credentials, Errno, FileHandle, FileType, HandleFlags, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::common::{apart, attempt, unmount_unused};

type Test = Result<(), Box<dyn Error>>;

const PLAIN: HandleFlags = HandleFlags::empty();
const CONNECTABLE: HandleFlags = HandleFlags::CONNECTABLE;
const FID: HandleFlags = HandleFlags::FID;

fn on(fs: HostFs) -> Context {
    Vfs::builder().budget(4 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Creates the engine anew on a directory, as after a restart of the process.
fn fresh(path: &Path) -> Context {
    on(HostFs::open_writable(path).unwrap().with_coherence(Coherence::Exclusive))
}

fn handle(context: &Context, path: &str, flags: HandleFlags) -> Result<FileHandle, Errno> {
    context.name_to_handle(path, flags).map(|(handle, _)| handle)
}

/// Returns the path of a handle's node.
fn path(context: &Context, handle: &FileHandle) -> Result<String, Errno> {
    Ok(String::from_utf8(context.lookup_by_handle(context.root(), handle)?.path()?).unwrap())
}

/// Opens a handle's file, and returns what is in it.
fn text(context: &Context, handle: &FileHandle) -> Result<String, Errno> {
    let file = context.open_by_handle(context.root(), handle, OpenFlags::READ)?;
    Ok(std::io::read_to_string(&file).unwrap())
}

/// Returns a handle that the host gives.
fn of_host(root: &Path, at: &Path) -> FileHandle {
    let all = fresh(at.parent().unwrap());
    let name = format!("/{}", at.file_name().unwrap().to_str().unwrap());
    let handle = handle(&all, &name, PLAIN).unwrap();
    assert!(fs::symlink_metadata(root).is_ok());
    handle
}

/// Returns whether this process may open handles where temporary files are. Says why not.
fn may_open(test: &str, root: &Path) -> bool {
    let context = fresh(root);
    let opened = handle(&context, "/", PLAIN).and_then(|handle| path(&fresh(root), &handle));
    if let Err(errno) = &opened {
        skipped(test, &format!("this process may open no handle of the host ({errno:?}): run it as root"));
    }
    opened.is_ok()
}

/// Runs `body` in a namespace of its own for mounts.
fn with_mounts(test: &str, body: impl FnOnce() -> Result<(), String> + Send) {
    let ran = apart(UnshareFlags::NEWNS | UnshareFlags::FS, || {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).map_err(|errno| format!("mounts cannot be made private ({errno})"))?;
        body()
    });
    if let Err(why) = ran {
        skipped(test, &why);
    }
}

#[test]
fn nodes_are_found_again_after_a_restart() -> Test {
    let dir = tempfile::tempdir()?;
    if !may_open("nodes_are_found_again_after_a_restart", dir.path()) {
        return Ok(());
    }
    let before = fresh(dir.path());
    before.create_dir_all("/a/b/c")?;
    before.write("/a/b/c/file", "data")?;
    before.symlink("nowhere", "/a/link")?;
    before.mknod("/a/pipe", pathwalk::NewKind::Fifo, 0o600)?;
    let all = ["/", "/a/b/c", "/a/b/c/file", "/a/link", "/a/pipe"];
    let handles = all.map(|path| handle(&before, path, PLAIN).unwrap());
    assert_eq!(handle(&before, "/a/b/c/file", FID)?, handles[2]);
    drop(before);
    for (expected, handle) in all.iter().zip(&handles) {
        assert_eq!(path(&fresh(dir.path()), handle)?, *expected);
        let frozen = on(HostFs::open(dir.path())?.with_coherence(Coherence::Frozen));
        assert_eq!(path(&frozen, handle)?, *expected);
        assert_eq!(self::handle(&frozen, expected, PLAIN)?, *handle);
    }
    let after = fresh(dir.path());
    assert_eq!(text(&after, &handles[2])?, "data");
    let place = after.lookup_by_handle(after.root(), &handles[1])?;
    assert_eq!(after.lookup_at(&place, "..", pathwalk::AtFlags::empty())?.path()?, b"/a/b");
    assert_eq!(after.open_by_handle(after.root(), &handles[3], OpenFlags::READ).unwrap_err(), Errno::ELOOP);
    after.chmod("/a/b/c/file", 0o640)?;
    assert_eq!(after.stat("/a/b/c/file")?.mode, 0o640);

    // Behind the engine, and by it.
    fs::rename(dir.path().join("a/b"), dir.path().join("moved"))?;
    let cold = fresh(dir.path());
    assert_eq!((path(&cold, &handles[2])?, path(&cold, &handles[1])?), ("/moved/c/file".into(), "/moved/c".into()));
    cold.rename("/moved/c/file", "/a/file")?;
    after.vfs().invalidate_subtree(after.root())?;
    assert_eq!((path(&cold, &handles[2])?, path(&after, &handles[2])?), ("/a/file".into(), "/a/file".into()));

    // A node that has no name any more lives as long as it is open.
    let open = cold.open("/a/file", OpenFlags::READ)?;
    let held = cold.lookup("/moved/c")?;
    cold.unlink("/a/file")?;
    cold.rmdir("/moved/c")?;
    assert_eq!(text(&cold, &handles[2])?, "data");
    assert_eq!(cold.lookup_by_handle(cold.root(), &handles[1])?.path(), Err(Errno::ENOENT));
    assert_eq!(text(&fresh(dir.path()), &handles[2]), Err(Errno::ESTALE), "it cannot be shown to have been inside");
    drop((open, held));
    assert_eq!(text(&cold, &handles[2]), Err(Errno::ESTALE));
    assert_eq!(path(&cold, &handles[1]), Err(Errno::ESTALE));
    Ok(())
}

/// Asks for a file of several names below each directory in turn. The kernel opens the handle with
/// each, since it knows the names.
#[test]
fn a_file_is_found_by_the_name_below_the_directory_that_is_asked() -> Test {
    let test = "a_file_is_found_by_the_name_below_the_directory_that_is_asked";
    let dir = tempfile::tempdir()?;
    if !may_open(test, dir.path()) {
        return Ok(());
    }
    let context = fresh(dir.path());
    for name in ["a", "b", "none"] {
        context.create_dir_all(format!("/{name}/sub"))?;
    }
    context.write("/a/sub/file", "data")?;
    let connectable = match handle(&context, "/a/sub/file", CONNECTABLE) {
        Err(Errno::EOPNOTSUPP) => {
            skipped(test, "the host gives no connectable handle");
            return Ok(());
        }
        connectable => connectable?,
    };
    context.link("/a/sub/file", "/b/sub/other")?;
    let below_in = |context: &Context, dir: &str| {
        let dir = context.open(dir, OpenFlags::READ | OpenFlags::DIRECTORY)?;
        let opened = context.open_by_handle(dir.handle(), &connectable, OpenFlags::READ)?;
        assert_eq!(std::io::read_to_string(&opened).unwrap(), "data");
        Ok::<_, Errno>(String::from_utf8(opened.handle().path()?).unwrap())
    };
    let below = |dir: &str| below_in(&context, dir);
    for _ in 0..2 {
        assert_eq!(below("/a"), Ok("/a/sub/file".into()));
        assert_eq!(below("/b"), Ok("/b/sub/other".into()));
        assert_eq!(below("/none"), Err(Errno::ESTALE));
    }
    // One name alone is cached, which is not below the other directory.
    let one_cached = fresh(dir.path());
    one_cached.stat("/a/sub/file")?;
    assert_eq!(below_in(&one_cached, "/b"), Ok("/b/sub/other".into()));
    let confined = context.confined(&context.lookup("/b")?)?;
    assert_eq!(confined.lookup_by_handle(confined.root(), &connectable)?.path(), Ok(b"/b/sub/other".to_vec()));
    // The directory that the handle has in it.
    context.unlink("/a/sub/file")?;
    assert_eq!(below("/b"), Ok("/b/sub/other".into()));
    assert_eq!(below("/a"), Err(Errno::ESTALE));
    Ok(())
}

#[test]
fn a_node_is_gone_while_its_number_is_given_to_another() -> Test {
    let dir = tempfile::tempdir()?;
    if !may_open("a_node_is_gone_while_its_number_is_given_to_another", dir.path()) {
        return Ok(());
    }
    let context = fresh(dir.path());
    context.write("/file", "data")?;
    let handle = handle(&context, "/file", PLAIN)?;
    context.unlink("/file")?;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(relaxed) {
                fs::write(dir.path().join("other"), "").unwrap();
                fs::remove_file(dir.path().join("other")).unwrap();
            }
        });
        let answers: Vec<_> = (0..20_000).map(|_| text(&context, &handle)).collect();
        is_over.store(true, relaxed);
        assert_eq!(answers.iter().find(|answer| **answer != Err(Errno::ESTALE)), None);
    });
    Ok(())
}

#[test]
fn nothing_outside_of_the_root_is_reached() -> Test {
    let (dir, root, outside) = crate::common::root_and_outside();
    if !may_open("nothing_outside_of_the_root_is_reached", &root) {
        return Ok(());
    }
    fs::write(root.join("d/file"), "inside")?;
    symlink(&outside, root.join("link"))?;
    // The name of the root begins other names, too.
    fs::create_dir(dir.path().join("root2"))?;
    fs::write(dir.path().join("root2/file"), "secret")?;
    let secrets = ["outside", "outside/secret", "root", "root2", "root2/file"].map(|at| of_host(&root, &dir.path().join(at)));
    let inside = handle(&fresh(&root), "/d/file", PLAIN)?;
    let of_dir = handle(&fresh(&root), "/d", PLAIN)?;
    for fs in [
        HostFs::open_writable(&root)?.with_coherence(Coherence::Exclusive),
        HostFs::open(&root)?.with_coherence(Coherence::Frozen),
    ] {
        let context = on(fs);
        for (at, secret) in secrets.iter().enumerate() {
            let answer = context.lookup_by_handle(context.root(), secret).map(|handle| handle.path());
            assert!(if at == 2 { answer == Ok(Ok(b"/".to_vec())) } else { answer == Err(Errno::ESTALE) }, "{at}: {answer:?}");
        }
        assert_eq!(text(&context, &inside)?, "inside");
        // The host refuses what is no handle of its own.
        for (kind, bytes) in [(1, &[7; 8][..]), (0x7f, &[1; 20]), (0x8001, inside.bytes()), (0xffff, &[0; 128])] {
            let answer = context.lookup_by_handle(context.root(), &FileHandle::new(kind, bytes)?).map(|handle| handle.path());
            assert!(matches!(answer, Err(Errno::ESTALE) | Ok(Ok(_))), "{kind:#x}: {answer:?}");
        }
    }
    // What is moved out is not reached there, also by an engine that found it inside.
    let warm = fresh(&root);
    assert_eq!((text(&warm, &inside)?, path(&warm, &of_dir)?), ("inside".into(), "/d".into()));
    fs::rename(root.join("d"), outside.join("d"))?;
    assert_eq!((text(&fresh(&root), &inside), path(&fresh(&root), &of_dir)), (Err(Errno::ESTALE), Err(Errno::ESTALE)));
    warm.vfs().invalidate_subtree(warm.root())?;
    assert_eq!((text(&warm, &inside), path(&warm, &of_dir)), (Err(Errno::ESTALE), Err(Errno::ESTALE)));
    assert_eq!(warm.lookup_by_handle(warm.root(), &inside).map(drop), Err(Errno::ESTALE), "nor are its attributes");
    fs::rename(outside.join("d"), root.join("d"))?;
    assert_eq!((text(&warm, &inside)?, path(&warm, &of_dir)?), ("inside".into(), "/d".into()));

    // A file with a name inside and one outside is inside.
    fs::hard_link(root.join("d/file"), outside.join("other"))?;
    assert_eq!(text(&warm, &inside)?, "inside");
    Ok(())
}

#[test]
fn handles_survive_a_mount_of_the_file_system() {
    let name = "handles_survive_a_mount_of_the_file_system";
    let dir = tempfile::tempdir().unwrap();
    let (image, at, part) = (dir.path().join("image"), dir.path().join("at"), dir.path().join("part"));
    [&at, &part].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let mounted = || {
        let output =
            Command::new("mount").args(["-o", "loop"]).args([&image, &at]).output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    };
    with_mounts(name, || {
        attempt("mkfs.ext4", &["-q"], &image)?;
        mounted()?;
        let before = fresh(&at);
        before.create_dir_all("/a/b").unwrap();
        before.write("/a/b/file", "data").unwrap();
        before.write("/out", "secret").unwrap();
        let names = ["/a/b", "/a/b/file", "/out", "/"];
        let [plain, connectable] = [PLAIN, CONNECTABLE].map(|flags| names.map(|path| handle(&before, path, flags).unwrap()));
        assert_eq!(connectable.each_ref().map(|handle| handle.kind() >> 16), [3, 1, 1, 3]);
        drop(before);
        let again = |part_of: Option<&str>| {
            unmount_unused(&at).unwrap();
            mounted().unwrap();
            fresh(&part_of.map_or(at.clone(), |path| at.join(path)))
        };

        let whole = again(None);
        let found = |context: &Context, handles: &[FileHandle; 4]| handles.each_ref().map(|handle| path(context, handle));
        let expected = names.map(|name| Ok(name.to_owned()));
        assert_eq!(found(&whole, &connectable), expected);
        drop(whole);
        // A file that the host does not connect has no path. Here, the whole file system is inside.
        let whole = again(None);
        assert_eq!(path(&whole, &plain[1]), Err(Errno::ENOENT));
        assert_eq!((text(&whole, &plain[1]), text(&whole, &plain[2])), (Ok("data".into()), Ok("secret".into())));
        assert_eq!(found(&whole, &plain).map(|path| path.is_ok()), [true, false, false, true]);
        // It has one once it is found.
        assert_eq!(whole.read("/a/b/file").unwrap(), b"data");
        drop(whole);
        let whole = again(None);
        whole.stat("/a/b/file").unwrap();
        assert_eq!(path(&whole, &plain[1]), Ok("/a/b/file".into()));
        drop(whole);

        // In a part of the file system, such a file cannot be shown to be inside.
        let inside = again(Some("a"));
        assert_eq!(found(&inside, &plain)[1..], [Err(Errno::ESTALE), Err(Errno::ESTALE), Err(Errno::ESTALE)]);
        assert_eq!(path(&inside, &plain[0]), Ok("/b".into()));
        drop(inside);
        let inside = again(Some("a"));
        assert_eq!((text(&inside, &connectable[1]), text(&inside, &connectable[2])), (Ok("data".into()), Err(Errno::ESTALE)));
        assert_eq!(path(&inside, &connectable[1]), Ok("/b/file".into()));
        drop(inside);
        let bound = again(None);
        mount_bind(at.join("a"), &part).unwrap();
        drop(bound);
        let bound = fresh(&part);
        assert_eq!(text(&bound, &plain[2]), Err(Errno::ESTALE), "a bind mount shows a part");
        assert_eq!(path(&bound, &connectable[1]), Ok("/b/file".into()));
        drop(bound);
        unmount_unused(&part).unwrap();
        unmount_unused(&at).unwrap();
        Ok(())
    });
}

#[test]
fn other_mounts_have_identities_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("m/covered")).unwrap();
    fs::write(dir.path().join("m/file"), "covered").unwrap();
    with_mounts("other_mounts_have_identities_alone", || {
        let before = fresh(dir.path());
        let covered = handle(&before, "/m/covered", PLAIN).map_err(|errno| format!("{errno:?}"))?;
        let covered_file = handle(&before, "/m/file", PLAIN).unwrap();
        mount("pathwalk", dir.path().join("m"), "tmpfs", MountFlags::empty(), c"size=64k")
            .map_err(|errno| format!("no tmpfs can be mounted ({errno})"))?;
        fs::write(dir.path().join("m/file"), "").unwrap();
        let context = fresh(dir.path());
        assert_eq!(handle(&context, "/m/file", PLAIN), Err(Errno::EOPNOTSUPP));
        assert_eq!(handle(&context, "/m", CONNECTABLE), Err(Errno::EOPNOTSUPP));
        let identities = ["/", "/m", "/m/file"].map(|path| handle(&context, path, FID).unwrap());
        assert!(identities[0] != identities[1] && identities[1] != identities[2]);
        assert_eq!(path(&context, &identities[2]), Err(Errno::ESTALE));
        // What a mount covers is not beneath the root.
        for context in [&context, &before] {
            assert_eq!(path(context, &covered), Err(Errno::ESTALE));
            let found = context.lookup_by_handle(context.root(), &covered_file);
            assert_eq!(found.map(drop), Err(Errno::ESTALE), "another file has its path");
        }
        drop((context, before));
        unmount_unused(&dir.path().join("m")).unwrap();
        assert_eq!(path(&fresh(dir.path()), &covered), Ok("/m/covered".into()));
        Ok(())
    });
}

#[test]
fn handles_of_nodes_with_paths_keep_no_descriptor() -> Test {
    let dir = tempfile::tempdir()?;
    if !may_open("handles_of_nodes_with_paths_keep_no_descriptor", dir.path()) {
        return Ok(());
    }
    let deep = format!("/{}", vec!["d"; 300].join("/"));
    let before = fresh(dir.path());
    before.create_dir_all(&deep)?;
    let count = || fs::read_dir("/proc/self/fd").unwrap().filter(|fd| is_below(fd.as_ref().unwrap().path(), dir.path())).count();
    let files: Vec<FileHandle> = (0..100)
        .map(|i| {
            let name = format!("{deep}/{i}");
            before.write(&name, "").unwrap();
            handle(&before, &name, PLAIN).unwrap()
        })
        .collect();
    drop(before);
    let context = fresh(dir.path());
    let one = count();
    let found: Vec<_> = files.iter().map(|file| context.lookup_by_handle(context.root(), file).unwrap()).collect();
    assert_eq!(found[99].path()?, format!("{deep}/99").as_bytes());
    assert_eq!(count(), one);
    assert!(found.iter().all(|found| found.attributes().unwrap().kind == FileType::Regular));
    Ok(())
}

fn is_below(fd: std::path::PathBuf, dir: &Path) -> bool {
    fs::read_link(fd).is_ok_and(|target| target.starts_with(dir))
}
