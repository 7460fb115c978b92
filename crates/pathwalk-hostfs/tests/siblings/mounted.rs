//! Tests that a mount on a name of the directory is what a lookup finds there, and that the flags
//! of their mount apply to files.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pathwalk::{Access, Errno, FileType};
use pathwalk_tests::skipped;
use rustix::fs::AtFlags as HostAtFlags;
use rustix::thread::UnshareFlags;

use crate::common::{Who, apart, as_user, assert_same, attempt, host, host_access, place, root_and_outside, walk, wants};
use crate::{ask_for_some, given, lookups, make_some};

/// Runs `body` in a mount namespace of its own. A process that may have one may still be prevented
/// from mounting in it: then the test is skipped.
fn with_mounts(test: &str, body: impl FnOnce() -> Result<(), String> + Send) {
    let own_mounts = || {
        attempt("mount", &["--make-rprivate"], Path::new("/"))?;
        body()
    };
    if let Err(why) = apart(UnshareFlags::NEWNS, own_mounts) {
        skipped(test, &why);
    }
}

fn bind(what: &Path, on: &Path) -> Result<(), String> {
    attempt("mount", &["--bind", what.to_str().unwrap()], on)
}

#[test]
fn a_mount_point_is_what_is_mounted_there() {
    with_mounts("a_mount_point_is_what_is_mounted_there", || {
        let (_dir, root, outside) = root_and_outside();
        let dir = root.join("d");
        make_some(&dir);
        for name in ["bound", "bound to a brother", "other file system", "plain"] {
            fs::write(dir.join(name), "below").unwrap();
        }
        fs::create_dir(dir.join("tmp")).unwrap();
        fs::write(outside.join("secret"), "what is mounted").unwrap();
        bind(&outside.join("secret"), &dir.join("bound"))?;
        bind(&dir.join("plain"), &dir.join("bound to a brother"))?;
        bind(Path::new("/proc/version"), &dir.join("other file system"))?;
        attempt("mount", &["-t", "tmpfs", "-o", "ro", "tmpfs"], &dir.join("tmp"))?;
        let context = walk(&root);
        ask_for_some(&context, "/d");
        assert_eq!(given(&context), 1, "plain");
        for name in ["bound", "bound to a brother", "other file system", "tmp", "plain", "sub"] {
            let (ours, asked) = lookups(&context, || context.lstat(format!("/d/{name}")).unwrap());
            assert_eq!(asked, u64::from(name != "plain"), "{name}");
            // The times of files in /proc are those of the moment at which they are looked at.
            match name {
                "other file system" => assert_eq!(ours.ino, host(&dir.join(name)).stx_ino),
                _ => assert_same(&dir.join(name), &ours),
            }
        }
        let [plain, bound] = ["/d/plain", "/d/bound to a brother"].map(|path| context.stat(path).unwrap());
        assert_eq!((plain.ino, plain.device), (bound.ino, bound.device));
        assert_eq!(context.lookup("/d/bound to a brother").unwrap().path().unwrap(), b"/d/bound to a brother");
        assert_eq!(context.access("/d/tmp", Access::WRITE), Err(Errno::EROFS));
        Ok(())
    });
}

#[test]
fn a_directory_that_something_is_mounted_on_meanwhile_gives_nothing() {
    with_mounts("a_directory_that_something_is_mounted_on_meanwhile_gives_nothing", || {
        let (_dir, root, outside) = root_and_outside();
        for dir in [&root.join("d"), &outside] {
            make_some(dir);
            fs::write(dir.join("five"), dir.to_str().unwrap()).unwrap();
        }
        let (on, what) = (root.join("d"), outside.clone());
        let context = crate::walk_after(&root, move || bind(&what, &on).unwrap());
        ask_for_some(&context, "/d");
        assert_eq!(given(&context), 0);
        assert_eq!(lookups(&context, || context.stat("/d/five").unwrap().ino), (host(&outside.join("five")).stx_ino, 1));
        Ok(())
    });
}

#[test]
fn files_go_by_the_flags_of_the_mount_they_were_given_on() {
    let who = Who { uid: 41_001, gid: 41_001, groups: vec![] };
    with_mounts("files_go_by_the_flags_of_the_mount_they_were_given_on", || {
        let (dir, root, _) = root_and_outside();
        [dir.path(), &root].iter().for_each(|dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap());
        bind(&root, &root)?;
        attempt("mount", &["-t", "tmpfs", "tmpfs"], &root.join("d"))?;
        let modes = [0o644, 0o755, 0o777, 0o600];
        for (dir, mode) in [root.clone(), root.join("d")].iter().flat_map(|dir| modes.map(|mode| (dir, mode))) {
            make_some(dir);
            fs::write(dir.join(format!("f{mode:o}")), "").unwrap();
            fs::set_permissions(dir.join(format!("f{mode:o}")), fs::Permissions::from_mode(mode)).unwrap();
        }
        let cases = [("rw,exec", "rw,noexec"), ("rw,noexec", "ro,exec"), ("ro,exec", "rw,exec"), ("ro,noexec", "rw,exec")];
        for (on_root, below) in cases {
            attempt("mount", &["-o", &format!("remount,bind,{on_root}")], &root)?;
            attempt("mount", &["-o", &format!("remount,bind,{below}")], &root.join("d"))?;
            for who in [&Who { uid: 0, gid: 0, groups: vec![] }, &who] {
                compare(&root, who, &modes)?;
            }
        }
        Ok(())
    });
}

/// Compares the kernel's and the engine's answers about the files that were handed out unasked.
fn compare(root: &Path, who: &Who, modes: &[u32]) -> Result<(), String> {
    let place = place(root);
    let context = walk(root).with_credentials(who.credentials());
    ["", "/d"].iter().for_each(|dir| ask_for_some(&context, dir));
    assert_eq!(given(&context), 2 * modes.len() as u64);
    for (dir, mode) in [".", "d"].iter().flat_map(|dir| modes.iter().map(move |mode| (dir, mode))) {
        let path = format!("{dir}/f{mode:o}");
        assert_eq!(context.stat(format!("/{path}")).unwrap().kind, FileType::Regular);
        for want in wants() {
            let told = as_user(who, || host_access(place.as_fd(), &path, want, HostAtFlags::empty()))?;
            // The second round uses what the first round cached.
            for _ in 0..2 {
                let (ours, asked) = lookups(&context, || context.access(format!("/{path}"), want));
                assert_eq!((ours, asked), (told, 0), "{path} {want:?} as {who:?}");
            }
        }
    }
    Ok(())
}
