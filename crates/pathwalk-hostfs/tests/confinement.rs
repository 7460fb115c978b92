//! Tests that neither links, nor `..`, nor renames lead out of the root.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pathwalk::{Access, Credentials, Errno, Vfs};
use pathwalk_hostfs::{HostFs, OpenError};
use pathwalk_tests::skipped;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::thread::UnshareFlags;

use common::{Who, apart, as_user, root_and_outside, walk};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn links_and_dotdot_stay_within() {
    let (_dir, root, outside) = root_and_outside();
    symlink("../outside", root.join("up")).unwrap();
    symlink("../../../outside/secret", root.join("d/far up")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    let context = walk(&root);
    let paths = ["/up", "/up/secret", "/d/far up", "/absolute", "/absolute/secret", "/magic", "/magic/etc"];
    for path in paths.into_iter().chain(["/../outside", "/../outside/secret", "/d/../../outside/secret"]) {
        assert_eq!(context.stat(path), Err(Errno::ENOENT), "{path}");
    }
    // A link's target is found if it exists beneath the root.
    fs::create_dir(root.join("outside")).unwrap();
    fs::write(root.join("outside/own"), "").unwrap();
    let context = walk(&root);
    assert!(context.stat("/up/own").is_ok() && context.stat("/../outside/own").is_ok());
    assert_eq!(context.stat("/up/secret"), Err(Errno::ENOENT));
}

#[test]
fn a_magic_link_is_a_link_like_any_other() {
    if !Path::new("/proc/self/root").exists() {
        return skipped("a_magic_link_is_a_link_like_any_other", "/proc is not mounted");
    }
    let context = walk(Path::new("/proc"));
    assert_eq!(context.lstat("/self/root").unwrap().kind, pathwalk::FileType::Symlink);
    // The link's body is "/", which is this file system's root here.
    assert_eq!(context.stat("/self/root").unwrap().ino, context.stat("/").unwrap().ino);
    assert_eq!(context.stat("/self/root/etc"), Err(Errno::ENOENT));
}

#[test]
fn a_directory_that_was_moved_out_is_not_followed() {
    let (_dir, root, outside) = root_and_outside();
    let context = walk(&root);
    assert!(context.stat("/d/sub").is_ok());
    let handle = context.lookup("/d").unwrap();
    fs::rename(root.join("d"), outside.join("d")).unwrap();
    fs::write(outside.join("d/loot"), "").unwrap();
    fs::write(outside.join("d/sub/loot"), "").unwrap();
    for path in ["/d/loot", "/d/sub/loot"] {
        assert!(matches!(context.stat(path), Err(Errno::ENOENT | Errno::ESTALE)), "{path}");
    }
    symlink("../outside/d", root.join("d")).unwrap();
    fs::write(outside.join("d/more"), "").unwrap();
    fs::write(outside.join("d/sub/more"), "").unwrap();
    for path in ["/d/more", "/d/sub/more"] {
        assert!(matches!(context.stat(path), Err(Errno::ENOENT | Errno::ESTALE)), "{path}");
    }
    assert_eq!(context.vfs().refresh(&handle), Err(Errno::ESTALE));
}

#[test]
fn nothing_leaks_while_a_link_and_a_directory_change_places() {
    let (_dir, root, outside) = root_and_outside();
    symlink("../outside", root.join("swap")).unwrap();
    let exchange = || renameat_with(CWD, root.join("d"), CWD, root.join("swap"), RenameFlags::EXCHANGE);
    // Exchanges the two and then exchanges them back.
    if let Err(errno) = exchange().and_then(|()| exchange()) {
        let why = format!("the file system of {} cannot exchange two names ({errno})", root.display());
        return skipped("nothing_leaks_while_a_link_and_a_directory_change_places", &why);
    }
    let names: Vec<String> = (0..2000).map(|i| format!("loot{i}")).collect();
    names.iter().for_each(|name| fs::write(outside.join(name), "").unwrap());
    let context = walk(&root);
    assert!(context.stat("/d").is_ok());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                exchange().unwrap();
            }
        });
        let found: Vec<_> = names.iter().filter(|name| context.stat(format!("/d/{name}")).is_ok()).collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(found, Vec::<&String>::new());
    });
}

#[test]
fn a_bad_root_is_refused_with_a_reason() {
    let (_dir, root, outside) = root_and_outside();
    let text = |path: &Path| HostFs::open(path).unwrap_err().to_string();
    assert!(text(&root.join("nope\x1b")).contains("nope\\x1b\" as the root of a file system: No such file"));
    assert!(text(&outside.join("secret")).contains("name a directory, not a file"));
    assert!(text(Path::new("")).contains("No such file"));
    assert!(text(Path::new("a\0b")).contains("NUL"));
    assert!(HostFs::open(&root.join("d/..")).is_ok());
    set_mode(root.parent().unwrap(), 0o755);
    set_mode(&root, 0o644);
    let nobody = Who { uid: 65534, gid: 65534, groups: vec![] };
    match as_user(&nobody, || HostFs::open(&root).map(drop)) {
        Ok(result) => {
            let error = result.unwrap_err();
            assert!(matches!(error, OpenError::Search { .. }), "{error}");
            assert!(error.to_string().contains("run as a user who may search it"), "{error}");
        }
        Err(why) => skipped("a root that may not be searched", &why),
    }
    set_mode(&root, 0o755);
}

#[test]
fn the_hosts_refusal_is_passed_on() {
    let (_dir, root, _outside) = root_and_outside();
    set_mode(root.parent().unwrap(), 0o755);
    set_mode(&root.join("d"), 0o700);
    let nobody = Who { uid: 65534, gid: 65534, groups: vec![] };
    let asked = as_user(&nobody, || {
        let context = walk(&root);
        (context.stat("/d").map(|attributes| attributes.mode), context.stat("/d/sub").map(drop))
    });
    match asked {
        Ok(answers) => assert_eq!(answers, (Ok(0o700), Err(Errno::EACCES))),
        Err(why) => skipped("the_hosts_refusal_is_passed_on", &why),
    }
}

#[test]
fn the_root_may_be_a_new_root() {
    let (_dir, root, _outside) = root_and_outside();
    symlink("/d/sub", root.join("link")).unwrap();
    let before = HostFs::open(&root).unwrap();
    let enter_and_check = || {
        rustix::process::chroot(&root).map_err(|errno| format!("this process may not change its root ({errno})"))?;
        let context = walk(Path::new("/"));
        assert_eq!(context.lookup("/link").unwrap().path().unwrap(), b"/d/sub");
        assert_eq!(context.stat("/proc"), Err(Errno::ENOENT));
        assert_eq!(context.access("/link", Access::all()), Ok(()));
        let before = Vfs::builder().build(before).unwrap().context(Credentials::root());
        assert_eq!(context.stat("/link").unwrap().ino, before.stat("/link").unwrap().ino);
        Ok(())
    };
    if let Err(why) = apart(UnshareFlags::FS, enter_and_check) {
        skipped("the_root_may_be_a_new_root", &why);
    }
}
