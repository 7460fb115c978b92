//! Tests that mounts below the root are crossed, and that the flags of its own mount apply to each
//! node, as in the kernel.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use pathwalk::{Access, At, AtFlags, Context, Credentials, Errno, FileSystem as _, MountFlags, SuperblockFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;
use rustix::fs::AtFlags as HostAtFlags;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::thread::UnshareFlags;

use crate::common::{Who, apart, as_user, attempt, host_access, place, root_and_outside, walk, wants};

const OWNER: u32 = 41_000;
const GROUP: u32 = 42_000;

/// The mounts: the root itself, and two below it.
const PLACES: [&str; 3] = [".", "tmp", "data"];

/// The nodes on each mount: a name and a mode for files and directories.
const NODES: [(&str, u32); 5] = [("plain", 0o644), ("program", 0o755), ("private", 0o600), ("open", 0o777), ("closed", 0o750)];

/// Makes the same nodes on one mount: files, directories (`d-`), a pipe and links.
fn fill(dir: &Path) {
    for (name, mode) in NODES {
        let (file, directory) = (dir.join(name), dir.join(format!("d-{name}")));
        fs::write(&file, "").unwrap();
        fs::create_dir(&directory).unwrap();
        for path in [&file, &directory] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            chown(path, Some(OWNER), Some(GROUP)).unwrap();
        }
    }
    mknodat(CWD, dir.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR | Mode::WOTH, 0).unwrap();
    symlink("program", dir.join("link")).unwrap();
    symlink("nowhere", dir.join("dangling")).unwrap();
}

fn names() -> impl Iterator<Item = String> {
    let given = NODES.iter().flat_map(|(name, _)| [name.to_string(), format!("d-{name}")]);
    given.chain([".", "pipe", "link", "dangling", "nope"].map(str::to_owned))
}

/// Returns every question about every node on every mount, with links followed and not followed.
fn questions() -> Vec<(String, Access, HostAtFlags)> {
    let paths: Vec<String> = PLACES.iter().flat_map(|place| names().map(move |name| format!("{place}/{name}"))).collect();
    let ways = [HostAtFlags::empty(), HostAtFlags::SYMLINK_NOFOLLOW];
    let all = |path: String| wants().flat_map(move |want| ways.map(|way| (path.clone(), want, way)));
    paths.into_iter().flat_map(all).collect()
}

fn ours(context: &Context, path: &str, want: Access, way: HostAtFlags) -> Result<(), Errno> {
    let flags = if way.is_empty() { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    context.faccessat(At::Cwd, format!("/{path}"), want, flags)
}

/// Asks the kernel and the engine every question as several users, and compares the answers.
fn compare(root: &Path, case: &str) {
    let who = |uid, gid| Who { uid, gid, groups: vec![] };
    let place = place(root);
    let warm = open(root);
    for who in [who(0, 0), who(OWNER, 1), who(41_001, GROUP), who(41_001, 1)] {
        let ask =
            || questions().iter().map(|(path, want, way)| host_access(place.as_fd(), path, *want, *way)).collect::<Vec<_>>();
        let told = as_user(&who, ask).unwrap();
        let fresh = open(root).with_credentials(who.credentials());
        let warm = warm.clone().with_credentials(who.credentials());
        for ((path, want, way), told) in questions().into_iter().zip(told) {
            // The second and the third round use what the earlier rounds cached.
            for context in [&fresh, &fresh, &warm] {
                assert_eq!(ours(context, &path, want, way), told, "{path} {want:?} {way:?} as {who:?}, {case}");
            }
        }
    }
}

/// Opens the root as programs do, with the flags that have to be passed to the builder.
fn open(root: &Path) -> Context {
    let fs = HostFs::open(root).unwrap().with_coherence(Coherence::Frozen);
    let builder = Vfs::builder().budget(16 << 20).mount_flags(fs.mount_flags());
    builder.build(fs).unwrap().context(Credentials::root())
}

#[test]
fn each_node_goes_by_the_flags_of_its_own_mount() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let mount_and_compare = || {
        attempt("mount", &["--make-rprivate"], Path::new("/"))?;
        attempt("mount", &["--bind", root.to_str().unwrap()], root)?;
        for place in &PLACES[1..] {
            fs::create_dir(root.join(place)).unwrap();
            attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join(place))?;
        }
        PLACES.iter().for_each(|place| fill(&root.join(place)));
        fs::set_permissions(root, fs::Permissions::from_mode(0o777)).unwrap();
        let cases =
            [("ro,exec", "rw,exec", "rw,noexec"), ("ro,noexec", "rw,exec", "ro,exec"), ("rw,noexec", "rw,exec", "ro,exec")];
        for (on_root, on_tmp, on_data) in cases {
            for (place, options) in PLACES.iter().zip([on_root, on_tmp, on_data]) {
                attempt("mount", &["-o", &format!("remount,bind,{options}")], &root.join(place))?;
            }
            compare(root, &format!("root {on_root}, tmp {on_tmp}, data {on_data}"));
        }
        assert_eq!(HostFs::open(root).unwrap().mount_flags(), MountFlags::empty());
        Ok(())
    };
    let can_ask = as_user(&Who { uid: OWNER, gid: 1, groups: vec![] }, || ());
    if let Err(why) = can_ask.and_then(|()| apart(UnshareFlags::NEWNS, mount_and_compare)) {
        skipped("each_node_goes_by_the_flags_of_its_own_mount", &why);
    }
}

/// Tests the file system alone, and then with a writable mount below it.
#[test]
fn a_read_only_file_system_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = &dir.path().join("own");
    fs::create_dir(root).unwrap();
    let mount_and_compare = || {
        attempt("mount", &["--make-rprivate"], Path::new("/"))?;
        attempt("mount", &["-t", "tmpfs", "tmpfs"], root)?;
        PLACES[1..].iter().for_each(|place| fs::create_dir(root.join(place)).unwrap());
        PLACES.iter().for_each(|place| fill(&root.join(place)));
        fs::set_permissions(root, fs::Permissions::from_mode(0o777)).unwrap();
        let says = || HostFs::open(root).unwrap().superblock_flags();
        assert_eq!(says(), SuperblockFlags::empty());
        attempt("mount", &["-o", "remount,ro"], root)?;
        assert_eq!(says(), SuperblockFlags::READ_ONLY);
        compare(root, "the file system alone");
        attempt("mount", &["-o", "remount,bind,rw"], root)?;
        assert_eq!(says(), SuperblockFlags::READ_ONLY);
        compare(root, "a mount that could be written to");
        attempt("mount", &["-o", "remount,bind,ro,noexec"], root)?;
        compare(root, "a mount without execution");
        attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join("tmp"))?;
        fill(&root.join("tmp"));
        assert_eq!(says(), SuperblockFlags::empty(), "what is mounted below can be written to");
        compare(root, "with a mount below");
        attempt("mount", &["-o", "remount,ro"], &root.join("tmp"))?;
        attempt("mount", &["-o", "remount,rw"], root)?;
        compare(root, "a read-only file system below");
        Ok(())
    };
    let can_ask = as_user(&Who { uid: OWNER, gid: 1, groups: vec![] }, || ());
    if let Err(why) = can_ask.and_then(|()| apart(UnshareFlags::NEWNS, mount_and_compare)) {
        skipped("a_read_only_file_system_is_one", &why);
    }
}

#[test]
fn bind_mounts_are_crossed_and_told_apart() {
    let (_dir, root, outside) = root_and_outside();
    let mount_and_check = || {
        // A process that may have a mount namespace may still be prevented from mounting in it.
        attempt("mount", &["--make-rprivate"], Path::new("/"))?;
        fs::create_dir(root.join("bound")).unwrap();
        attempt("mount", &["--bind", outside.to_str().unwrap()], &root.join("bound"))?;
        attempt("mount", &["--bind", root.join("d").to_str().unwrap()], &root.join("d/sub"))?;
        fs::write(root.join("d/script"), "").unwrap();
        fs::set_permissions(root.join("d/script"), fs::Permissions::from_mode(0o755)).unwrap();
        attempt("mount", &["-o", "remount,bind,ro,noexec"], &root.join("d/sub"))?;
        check_mounts(&root);
        Ok(())
    };
    if let Err(why) = apart(UnshareFlags::NEWNS, mount_and_check) {
        skipped("bind_mounts_are_crossed_and_told_apart", &why);
    }
}

fn check_mounts(root: &Path) {
    let context = walk(root);
    assert!(context.stat("/bound/secret").is_ok(), "mounts are crossed");
    // One directory has two names here, each with its own `..` and its own flags.
    let [d, again] = ["/d", "/d/sub"].map(|path| context.stat(path).unwrap());
    assert_eq!((d.ino, d.device), (again.ino, again.device));
    assert_eq!(context.lookup("/d/sub/..").unwrap().path().unwrap(), b"/d");
    assert_eq!(context.lookup("/d/..").unwrap().path().unwrap(), b"/");
    assert_eq!(context.access("/d/script", Access::all()), Ok(()));
    assert_eq!(context.access("/d/sub/script", Access::READ), Ok(()));
    assert_eq!(context.access("/d/sub/script", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.access("/d/sub/script", Access::EXECUTE), Err(Errno::EACCES));
    assert_eq!(context.access("/d/sub", Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.access("/d/sub", Access::READ | Access::EXECUTE), Ok(()));
}
