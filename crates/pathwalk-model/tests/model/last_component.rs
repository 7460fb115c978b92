//! Tests of the last component: each call's answer, row by row as the kernel answers on a tmpfs.

use crate::world::{AT, NOTHING, OK, World, each_alone, fails};
use pathwalk_model::{Errno, OpenFlags};

#[test]
fn open() {
    each_alone(&[
        ("open CREAT x/", fails(Errno::EISDIR)),
        ("open CREAT f/", fails(Errno::EISDIR)),
        ("open CREAT d/", fails(Errno::EISDIR)),
        ("open CREAT dangling/", fails(Errno::EISDIR)),
        ("open CREAT .", fails(Errno::EISDIR)),
        ("open CREAT|EXCL /", fails(Errno::EEXIST)),
        ("open CREAT|EXCL link", fails(Errno::EEXIST)),
        ("open CREAT|EXCL dangling", fails(Errno::EEXIST)),
        ("open CREAT|EXCL to_d", fails(Errno::EEXIST)),
        ("open CREAT|DIRECTORY x", fails(Errno::EINVAL)),
        ("open CREAT|DIRECTORY d", fails(Errno::EINVAL)),
        ("open CREAT x", OK),
        ("open NOFOLLOW link", fails(Errno::ELOOP)),
        ("open NOFOLLOW|DIRECTORY to_d", fails(Errno::ENOTDIR)),
        ("open NOFOLLOW|PATH link", OK),
        ("open NOFOLLOW to_d/", OK),
        ("open CREAT|NOFOLLOW link", fails(Errno::ELOOP)),
        ("open WRONLY d", fails(Errno::EISDIR)),
        ("open TRUNC d", fails(Errno::EISDIR)),
        ("open DIRECTORY f", fails(Errno::ENOTDIR)),
        ("open PATH|DIRECTORY f", fails(Errno::ENOTDIR)),
        ("open RDONLY nope", fails(Errno::ENOENT)),
        ("open TMPFILE d", fails(Errno::EINVAL)),
        ("open TMPFILE|RDWR d", OK),
        ("open TMPFILE|RDWR f", fails(Errno::ENOTDIR)),
        ("open TMPFILE|CREAT|RDWR d", fails(Errno::EINVAL)),
    ]);
}

#[test]
fn open_through_a_dangling_link_makes_its_target() {
    let mut world = World::new();
    world.run("open CREAT dangling").unwrap();
    assert_eq!(world.stat("target"), Ok(libc::S_IFREG | 0o666));
    let file = world.model.open(&mut world.root, AT, b"dangling", OpenFlags::RDWR, 0).unwrap();
    assert_eq!(file, 0);
}

#[test]
fn make() {
    each_alone(&[
        ("mkdir n/", OK),
        ("mkdir dangling/", fails(Errno::EEXIST)),
        ("mkdir .", fails(Errno::EEXIST)),
        ("mkdir d/..", fails(Errno::EEXIST)),
        ("mkdir /", fails(Errno::EEXIST)),
        ("mkdir f", fails(Errno::EEXIST)),
        ("mkdir nope/n", fails(Errno::ENOENT)),
        ("mkdir f/n", fails(Errno::ENOTDIR)),
        ("mknod new/", fails(Errno::ENOENT)),
        ("mknod d/", fails(Errno::EEXIST)),
        ("symlink x new/", fails(Errno::ENOENT)),
        ("symlink x f/", fails(Errno::EEXIST)),
        ("symlink  new", fails(Errno::ENOENT)),
        ("link f new/", fails(Errno::ENOENT)),
        ("link d new", fails(Errno::EPERM)),
        ("link d f", fails(Errno::EEXIST)),
        ("link f/ new", fails(Errno::ENOTDIR)),
        ("link dangling new", OK),
    ]);
}

#[test]
fn remove() {
    each_alone(&[
        ("unlink d/", fails(Errno::EISDIR)),
        ("unlink d", fails(Errno::EISDIR)),
        ("unlink .", fails(Errno::EISDIR)),
        ("unlink f/", fails(Errno::ENOTDIR)),
        ("unlink link/", fails(Errno::ENOTDIR)),
        ("unlink nope/", fails(Errno::ENOENT)),
        ("unlink dangling", OK),
        ("rmdir d/.", fails(Errno::EINVAL)),
        ("rmdir d/..", fails(Errno::ENOTEMPTY)),
        ("rmdir d", fails(Errno::ENOTEMPTY)),
        ("rmdir /", fails(Errno::EBUSY)),
        ("rmdir to_d", fails(Errno::ENOTDIR)),
        ("rmdir to_d/", fails(Errno::ENOTDIR)),
        ("rmdir d/sub/", OK),
    ]);
}

#[test]
fn rename() {
    each_alone(&[
        ("rename . x", fails(Errno::EBUSY)),
        ("rename d/.. x", fails(Errno::EBUSY)),
        ("rename f .", fails(Errno::EBUSY)),
        ("rename f d/..", fails(Errno::EBUSY)),
        ("noreplace f .", fails(Errno::EEXIST)),
        ("noreplace . .", fails(Errno::EBUSY)),
        ("noreplace f d", fails(Errno::EEXIST)),
        ("rename d d/sub/x", fails(Errno::EINVAL)),
        ("rename d/sub d", fails(Errno::ENOTEMPTY)),
        ("exchange d d/sub", fails(Errno::EINVAL)),
        ("exchange d/sub d", fails(Errno::EINVAL)),
        ("rename f/ x", fails(Errno::ENOTDIR)),
        ("rename f x/", fails(Errno::ENOTDIR)),
        ("rename d x/", OK),
        ("rename d d/", OK),
        ("rename f d", fails(Errno::EISDIR)),
        ("rename d f", fails(Errno::ENOTDIR)),
        ("exchange f d", OK),
        ("exchange f d/", OK),
        ("exchange d f/", fails(Errno::ENOTDIR)),
        ("exchange f/ d", fails(Errno::ENOTDIR)),
        ("exchange f nope", fails(Errno::ENOENT)),
        ("rename nope x", fails(Errno::ENOENT)),
    ]);
}

#[test]
fn components_on_the_way() {
    each_alone(&[
        ("stat f/", fails(Errno::ENOTDIR)),
        ("stat f/.", fails(Errno::ENOTDIR)),
        ("stat f/..", fails(Errno::ENOTDIR)),
        ("stat nope/..", fails(Errno::ENOENT)),
        ("stat //d//./sub//", OK),
        ("stat /../../d", OK),
        ("stat ", fails(Errno::ENOENT)),
        ("lstat link/", fails(Errno::ENOTDIR)),
        ("lstat to_d/", OK),
        ("lstat dangling/", fails(Errno::ENOENT)),
        ("readlink link/", fails(Errno::ENOTDIR)),
        ("readlink f", fails(Errno::EINVAL)),
        ("chdir f", fails(Errno::ENOTDIR)),
    ]);
}

#[test]
fn long_names_and_paths() {
    let mut world = World::new();
    let long = "x".repeat(256);
    assert_eq!(world.stat(&format!("nope/{long}")), Err(Errno::ENOENT));
    assert_eq!(world.stat(&format!("f/{long}")), Err(Errno::ENOTDIR));
    assert_eq!(world.stat(&long), Err(Errno::ENAMETOOLONG));
    assert_eq!(world.run(&format!("mkdir {}", &long[1..])), OK);
    let slashes = |count| "/".repeat(count).into_bytes();
    let World { model, root } = &mut world;
    assert_eq!(model.stat(root, 99, &slashes(4096), NOTHING), Err(Errno::ENAMETOOLONG));
    assert!(model.stat(root, 99, &slashes(4095), NOTHING).is_ok(), "an absolute path ignores the descriptor");
    assert_eq!(model.stat(root, 99, b"d", NOTHING), Err(Errno::EBADF));
    assert_eq!(model.stat(root, AT, b"d\0", NOTHING), Err(Errno::EINVAL));
    let file = model.open(root, AT, b"f", OpenFlags::empty(), 0).unwrap();
    assert_eq!(model.stat(root, file, b".", NOTHING), Err(Errno::ENOTDIR));
}
