//! Two users on one file system that is limited: what one of them may do to the other's files, and
//! what both find when there is no more room.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example quota_and_users
//! ```
//!
//! The limits are those of the file system, as of a tmpfs with `size=` and `nr_inodes=`: beyond
//! them is `ENOSPC` for every user. A file system of your own that counts per user returns
//! `EDQUOT`, which comes to the caller as it is.

use pathwalk::{Access, Credentials, Errno, File, OpenFlags, Vfs};
use pathwalk_memfs::{MemFs, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Room for 16 KiB of data, and for six nodes: the root, `/tmp` and four more.
    let fs = MemFs::with(Options::default().max_bytes(16 << 10).max_nodes(6));
    fs.mkdir("/tmp", 0o1777)?;
    let vfs = Vfs::builder().build(fs)?;
    let mut alice = vfs.context(Credentials::user(1000, 1000, &[]));
    let bob = vfs.context(Credentials::user(1001, 1001, &[]));

    // Alice's umask leaves no rights to others; Bob's is that of a new context, 022.
    alice.umask(0o077);
    alice.write("/tmp/diary", "private")?;
    bob.write("/tmp/note", "for all")?;
    assert_eq!((alice.stat("/tmp/diary")?.mode, bob.stat("/tmp/note")?.mode), (0o600, 0o644));

    // Files of the other: read where the bits say so, and written by neither.
    assert_eq!(bob.access("/tmp/diary", Access::READ), Err(Errno::EACCES));
    assert_eq!(bob.read("/tmp/diary").unwrap_err().to_string(), r#"read "/tmp/diary": EACCES (Permission denied)"#);
    assert_eq!(alice.read_to_string("/tmp/note")?, "for all");
    assert_eq!(alice.open("/tmp/note", OpenFlags::WRITE).map(drop), Err(Errno::EACCES));
    assert_eq!(alice.mkdir("/home", 0o755), Err(Errno::EACCES), "the root belongs to root");

    // All may write to /tmp, but it is sticky: a name is removed by the owner of its file.
    assert_eq!(bob.unlink("/tmp/diary"), Err(Errno::EPERM));
    assert_eq!(bob.rename("/tmp/diary", "/tmp/mine").unwrap_err().errno(), Errno::EPERM);

    // Data: both files have a page of 4 KiB, so 8 KiB are left for all.
    let large = File::create(&bob, "/tmp/large")?;
    assert_eq!(large.write(&[0; 64 << 10]), Ok(8 << 10), "as far as there is room");
    assert_eq!(large.write(b"more"), Err(Errno::ENOSPC));
    assert_eq!(alice.write("/tmp/empty", "").map_err(|error| error.errno()), Ok(()), "an empty file has no page");

    // Nodes: the limit is reached.
    assert_eq!(alice.mkdir("/tmp/directory", 0o700), Err(Errno::ENOSPC));
    let usage = vfs.context(Credentials::root()).statfs("/tmp")?;
    assert_eq!((usage.files_free, usage.blocks_free), (0, 0));

    // What is removed and closed makes room.
    drop(large);
    bob.unlink("/tmp/large")?;
    alice.mkdir("/tmp/directory", 0o700)?;
    alice.write("/tmp/diary", [b'x'; 8 << 10])?;
    println!("{:?}", vfs.context(Credentials::root()).statfs("/tmp")?);
    Ok(())
}
