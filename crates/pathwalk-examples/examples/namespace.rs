//! A sandbox: one tree of several file systems, and what four users may do in it.
//!
//! The root is in memory. Three file systems are mounted on it: a directory of the host, which is
//! read-only; a scratch directory with limits of its own, in which nothing can be executed; and a
//! home, whose files are stored as root's and are shown as its user's. The contexts are confined to
//! the tree: nothing leads out.
//!
//! Run it with `cargo run -p pathwalk-examples --example namespace /usr/share`. Without an argument
//! it shows the current directory.

use std::error::Error;
use std::path::Path;

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, Errno, Handle, IdExtent, IdMap, MountAttributes, MountFlags, MoveFlags, OpenFlags,
    OpenHow, Recursion, Vfs,
};
use pathwalk_hostfs::HostFs;
use pathwalk_memfs::{MemFs, Options};

/// The number of bytes that the scratch directory may hold.
const SCRATCH: u64 = 1 << 20;

const ALICE: u32 = 1000;

/// Builds the namespace. Returns a context of root's in it, and the home as it is stored.
fn namespace(host: &Path) -> Result<(Context, Handle), Box<dyn Error>> {
    let fs = MemFs::new();
    for directory in ["/host", "/tmp", "/home"] {
        fs.mkdir(directory, 0o755)?;
    }
    let mut root = Vfs::builder().build(fs)?.context(Credentials::root());
    // This namespace ends, and all its mounts with it, when the last context in it is dropped.
    root.unshare()?;

    let host = HostFs::open(host)?;
    let flags = host.mount_flags() | MountFlags::READ_ONLY | MountFlags::NODEV | MountFlags::NOSUID;
    root.mount(host, "/host", flags)?;

    let scratch = MemFs::with(Options::default().max_bytes(SCRATCH));
    root.mount(scratch, "/tmp", MountFlags::NOEXEC | MountFlags::NODEV | MountFlags::NOSUID)?;
    root.fchmodat(At::Cwd, "/tmp", 0o1777, Default::default())?;

    root.mkdir("/home/alice", 0o700)?;
    let stored = root.lookup("/home/alice")?;
    // Alice's home is a mount of its own, so that it can have flags of its own: no link in it is
    // followed. It is also id-mapped: root's files in the file system are shown as Alice's, and
    // Alice's files are stored as root's.
    let ids = [IdExtent { inside: 0, outside: ALICE, length: 1 }];
    let attributes = MountAttributes::default().with_set(MountFlags::NOSYMFOLLOW).with_id_map(IdMap::new(&ids, &ids)?);
    let home = root.open_tree("/home/alice", Recursion::Alone)?;
    let top = At::Handle(home.handle());
    root.mount_setattr_at(top, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone)?;
    root.move_mount_at(top, "", At::Cwd, "/home/alice", MoveFlags::FROM_EMPTY_PATH)?;
    Ok((root, stored))
}

fn make(context: &Context, path: &str) -> Result<(), Errno> {
    let how = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o755, ..OpenHow::default() };
    context.open(path, how)?.write(b"what is here is gone with the namespace").map(drop)
}

/// The description of an operation, and the operation.
type Try = (&'static str, fn(&Context) -> Result<(), Errno>);

const TRIES: [Try; 8] = [
    ("read /host", |context| context.access("/host", Access::READ)),
    ("write to /host", |context| context.mkdir("/host/new", 0o755)),
    ("make /tmp/note", |context| make(context, "/tmp/note")),
    ("execute /tmp/note", |context| context.access("/tmp/note", Access::EXECUTE)),
    ("list /home/alice", |context| context.access("/home/alice", Access::READ)),
    ("make /home/alice/note", |context| make(context, "/home/alice/note")),
    ("leave by ..", |context| context.access("/../../../etc/passwd", Access::READ)),
    ("unmount /host", |context| context.umount("/host", Default::default())),
];

fn main() -> Result<(), Box<dyn Error>> {
    let host = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let (root, stored_home) = namespace(Path::new(&host))?;
    let top = root.root().clone();
    let users = [
        ("root", Credentials::root()),
        ("root without rights", Credentials::root().with_capabilities(Default::default())),
        ("alice", Credentials::user(ALICE, ALICE, &[])),
        ("bob", Credentials::user(ALICE + 1, ALICE + 1, &[])),
    ];
    for mount in root.mountinfo() {
        let id_mapped = if mount.id_mapped { ", id-mapped" } else { "" };
        println!("{:<14} {:?}{id_mapped}", String::from_utf8_lossy(&mount.mount_point), mount.flags);
    }
    print!("\n{:<24}", "");
    users.iter().for_each(|(name, _)| print!("{name:<22}"));
    println!();
    for (what, attempt) in TRIES {
        print!("{what:<24}");
        for (_, who) in &users {
            let context = root.confined(&top)?.with_credentials(who.clone());
            let answer = attempt(&context).map_or_else(|errno| format!("{errno:?}"), |()| "yes".into());
            print!("{answer:<22}");
        }
        println!();
    }
    let seen = root.stat("/home/alice/note")?.uid;
    let stored = root.fstatat(&stored_home, "note", AtFlags::empty())?.uid;
    assert_eq!((seen, stored), (ALICE, 0));
    println!("\n/home/alice/note belongs to user {seen}, and is stored as user {stored}'s");
    Ok(())
}
