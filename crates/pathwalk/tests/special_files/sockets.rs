//! Sockets: values behind paths.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{Context, Credentials, Errno, FileType, MountFlags, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;

fn root() -> Context {
    Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap().context(Credentials::root())
}

#[test]
fn a_socket_is_found_by_all_its_names() {
    let context = root();
    let bound = context.bind_socket("/socket", Arc::new(7)).unwrap();
    let found = context.stat("/socket").unwrap();
    assert_eq!((found.kind, found.mode), (FileType::Socket, 0o755));
    assert_eq!(context.open("/socket", OpenFlags::READ).unwrap_err(), Errno::ENXIO);
    assert!(context.open("/socket", OpenFlags::PATH).is_ok());
    context.symlink("socket", "/link").unwrap();
    context.link("/socket", "/other").unwrap();
    context.rename("/socket", "/moved").unwrap();
    for name in ["/other", "/moved"] {
        assert_eq!(context.connect_socket::<i32>(name).map(|value| *value), Ok(7));
    }
    assert_eq!(context.connect_socket::<i32>("/link").unwrap_err(), Errno::ENOENT);
    assert_eq!(bound.handle().path().unwrap(), b"/moved");
}

#[test]
fn a_name_is_taken_once() {
    let context = root();
    context.symlink("/nowhere", "/dangling").unwrap();
    context.write("/file", "").unwrap();
    for name in ["/dangling", "/file", "/"] {
        assert_eq!(context.bind_socket(name, Arc::new(())).unwrap_err(), Errno::EADDRINUSE, "{name}");
    }
    assert_eq!(context.bind_socket("/no/socket", Arc::new(())).unwrap_err(), Errno::ENOENT);
    context.remount("/", MountFlags::READ_ONLY).unwrap();
    assert_eq!(context.bind_socket("/new", Arc::new(())).unwrap_err(), Errno::EROFS);
    assert_eq!(context.bind_socket("/file", Arc::new(())).unwrap_err(), Errno::EADDRINUSE);
}

#[test]
fn a_refusal_has_the_error_of_linux() {
    let context = root();
    let connect = |context: &Context, path: &str| context.connect_socket::<i32>(path).unwrap_err();
    context.write("/file", "").unwrap();
    context.mknod("/socket", pathwalk::NewKind::Socket, 0o777).unwrap();
    assert_eq!((connect(&context, "/file"), connect(&context, "/")), (Errno::ECONNREFUSED, Errno::ECONNREFUSED));
    assert_eq!((connect(&context, "/socket"), connect(&context, "/none")), (Errno::ECONNREFUSED, Errno::ENOENT));
    let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    let _bound = context.bind_socket("/bound", Arc::new(7)).unwrap();
    assert_eq!((connect(&user, "/bound"), connect(&user, "/file")), (Errno::EACCES, Errno::EACCES));
    context.chmod("/bound", 0o722).unwrap();
    assert!(user.connect_socket::<i32>("/bound").is_ok(), "writing is enough");
    assert_eq!(context.connect_socket::<u32>("/bound").unwrap_err(), Errno::EPROTOTYPE);
}

/// Checks that the umask counts also where a default list takes its place for other nodes.
#[test]
fn the_umask_applies_beside_a_default_list() {
    let context = root();
    context.mkdir("/d", 0o777).unwrap();
    context.set_acl("/d", AclKind::Default, Some(&Acl::from_mode(0o777))).unwrap();
    context.mknod("/d/node", pathwalk::NewKind::Socket, 0o777).unwrap();
    let _bound = context.bind_socket("/d/bound", Arc::new(7)).unwrap();
    let mode = |path: &str| context.stat(path).unwrap().mode;
    assert_eq!((mode("/d/node"), mode("/d/bound")), (0o777, 0o755));
}

/// Checks that the name may be used again, and that the first binder does not unbind the second.
#[test]
fn a_binding_ends_with_its_guard() {
    let context = root();
    let endpoint = Arc::new(1);
    let first = context.bind_socket("/socket", endpoint.clone()).unwrap();
    assert_eq!(Arc::strong_count(&endpoint), 2);
    context.unlink("/socket").unwrap();
    let second = context.bind_socket("/socket", Arc::new(2)).unwrap();
    drop(first);
    assert_eq!(Arc::strong_count(&endpoint), 1);
    let held = context.connect_socket::<i32>("/socket").unwrap();
    drop(second);
    assert_eq!(context.connect_socket::<i32>("/socket").unwrap_err(), Errno::ECONNREFUSED);
    assert_eq!(*held, 2);
    assert!(context.stat("/socket").is_ok(), "the node stays");
}
