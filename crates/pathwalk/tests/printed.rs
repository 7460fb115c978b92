//! What is printed of values for debugging.

use pathwalk::{Attributes, Credentials, FileType, HandOver, NewKind, NewNode, OpenFlags, OpenHow, SetAttributes, Vfs};
use pathwalk_memfs::MemFs;

#[test]
fn modes_are_printed_in_octal() {
    let attributes = Attributes::new(FileType::Regular, 0o644);
    let printed = format!("{attributes:?}");
    assert!(printed.starts_with("Attributes { kind: Regular, mode: 0o644, nlink: 1, uid: 0, "), "{printed}");
    assert!(printed.ends_with("btime: None, flags: StatxFlags(0x0), flags_mask: StatxFlags(0x0), acl: Absent }"), "{printed}");
    let how = OpenHow { flags: OpenFlags::READ, mode: 0o4755, ..OpenHow::default() };
    assert_eq!(format!("{how:?}"), "OpenHow { flags: OpenFlags(READ), mode: 0o4755, resolve: Resolve(0x0) }");
    let new = NewNode::new(NewKind::Fifo, 0o7, 1, 2);
    assert_eq!(format!("{new:?}"), "NewNode { kind: Fifo, mode: 0o007, umask: 0o000, uid: 1, gid: 2 }");
    let set = SetAttributes::default().with_mode(0o1777);
    let rest = "uid: None, gid: None, size: None, atime: None, mtime: None, cause: Request";
    assert_eq!(format!("{set:?}"), format!("SetAttributes {{ mode: Some(0o1777), {rest} }}"));
}

#[test]
fn counters_are_printed_with_their_names() {
    let context = Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap().context(Credentials::root());
    assert!(context.stat("/a").is_err());
    let stats = context.vfs().stats();
    assert_eq!(stats.hand_overs_for(HandOver::Miss), 1);
    let named = r#"hand_overs: {"miss": 1, "revalidate": 0, "permission": 0, "link body": 0, "attributes": 0, "changed": 0, "mount": 0, "access time": 0}, fs_lookups: 1, "#;
    let printed = format!("{stats:?}");
    assert!(printed.starts_with("Stats { mounts: 1, ") && printed.contains(named), "{printed}");
}
