//! Tests of rights that are taken and given while threads walk: a walk that begins after the change
//! has returned goes by the new right. (For the rules of a security hook: `security_search.rs`.)

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, Context, Credentials, Errno, InodeFlags, Vfs, internals};
use pathwalk_memfs::MemFs;

const USER: u32 = 1000;
const FILE: &str = "/top/dir/file";
const DIR: &str = "/top/dir";

/// Takes a right from the user, or gives it back.
type Change = fn(&Context, Right);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Taken,
    Given,
}

/// Returns the answer of a walk as the user.
type Question = fn(&Context) -> Result<(), Errno>;

fn reads(user: &Context) -> Result<(), Errno> {
    user.access(FILE, Access::READ)
}

fn writes(user: &Context) -> Result<(), Errno> {
    user.access(FILE, Access::WRITE)
}

fn list(grants: Access) -> Acl {
    let entry = |tag, grants| AclEntry { tag, grants };
    let search = Access::READ | Access::EXECUTE;
    Acl::new(vec![
        entry(AclTag::Owner, Access::all()),
        entry(AclTag::User(USER), grants),
        entry(AclTag::Group, search),
        entry(AclTag::Mask, search),
        entry(AclTag::Other, search),
    ])
}

/// Changes the right without a pause, beside two threads that walk and one that evicts.
fn race(change: Change, ask: Question, refused: Errno) {
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap();
    let root = vfs.context(Credentials::root());
    root.create_dir_all(DIR).unwrap();
    root.write(FILE, "").unwrap();
    root.chmod(FILE, 0o666).unwrap();
    let user = vfs.context(Credentials::user(USER, USER, &[]));
    let done = AtomicBool::new(false);
    // Odd while the right is taken: raised after it is, and before it is given back.
    let epoch = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    let before = epoch.load(SeqCst);
                    let answer = ask(&user);
                    if before % 2 == 1 && epoch.load(SeqCst) == before {
                        assert_eq!(answer, Err(refused));
                    }
                    assert!(answer.is_ok() || answer == Err(refused), "{answer:?}");
                }
            });
        }
        scope.spawn(|| {
            while !done.load(SeqCst) {
                internals::evict(&vfs, 1);
                std::thread::yield_now();
            }
        });
        for _ in 0..2000 {
            change(&root, Right::Taken);
            epoch.fetch_add(1, SeqCst);
            assert_eq!(ask(&user), Err(refused));
            epoch.fetch_add(1, SeqCst);
            change(&root, Right::Given);
            assert_eq!(ask(&user), Ok(()));
        }
        done.store(true, SeqCst);
    });
}

#[test]
fn chmod() {
    let change: Change = |root, right| root.chmod(DIR, if right == Right::Taken { 0o700 } else { 0o755 }).unwrap();
    race(change, reads, Errno::EACCES);
}

#[test]
fn chmod_of_the_file() {
    let change: Change = |root, right| root.chmod(FILE, if right == Right::Taken { 0o600 } else { 0o666 }).unwrap();
    race(change, writes, Errno::EACCES);
}

#[test]
fn chown() {
    let change: Change = |root, right| {
        root.chmod(DIR, 0o700).unwrap();
        root.chown(DIR, Some(if right == Right::Taken { 0 } else { USER }), None).unwrap();
    };
    race(change, reads, Errno::EACCES);
}

#[test]
fn setfacl() {
    let change: Change = |root, right| {
        let grants = if right == Right::Taken { Access::empty() } else { Access::READ | Access::EXECUTE };
        root.set_acl(DIR, AclKind::Access, Some(&list(grants))).unwrap();
    };
    race(change, reads, Errno::EACCES);
}

#[test]
fn setfacl_that_comes_and_goes() {
    let change: Change = |root, right| {
        let refusing = list(Access::empty());
        root.set_acl(DIR, AclKind::Access, (right == Right::Taken).then_some(&refusing)).unwrap();
    };
    race(change, reads, Errno::EACCES);
}

#[test]
fn chattr() {
    let change: Change = |root, right| {
        let flags = if right == Right::Taken { InodeFlags::IMMUTABLE } else { InodeFlags::empty() };
        root.set_inode_flags(FILE, flags).unwrap();
    };
    race(change, writes, Errno::EPERM);
}
