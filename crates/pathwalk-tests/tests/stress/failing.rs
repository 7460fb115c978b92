//! A file system whose lookups fail: its errors reach the callers, and no caller takes an error for
//! an answer.

use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::{
    Access, Attributes, Context, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs, internals,
};

/// An empty directory in which every lookup fails, except that of the name `absent`.
#[derive(Default)]
struct Failing(AtomicU64);

const ROOT: Attributes = Attributes::new(FileType::Directory, 0o755);

impl FileSystem for Failing {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), ROOT))
    }

    fn lookup(&self, _dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.fetch_add(1, Ordering::Relaxed);
        if name.bytes() == b"absent" { Ok(None) } else { Err(Errno::EIO) }
    }

    fn attributes(&self, _node: NodeKey) -> Result<Attributes, Errno> {
        Ok(ROOT)
    }
}

fn ask(context: &Context) {
    assert_eq!(context.access("broken", Access::empty()), Err(Errno::EIO));
    assert_eq!(context.lstat("broken").map(drop), Err(Errno::EIO));
    assert_eq!(context.access("broken/x", Access::empty()), Err(Errno::EIO));
    assert_eq!(context.stat("absent").map(drop), Err(Errno::ENOENT));
    assert_eq!(context.lookup("absent/x").map(drop), Err(Errno::ENOENT));
}

/// Lets several threads look up one name concurrently, again and again.
pub(crate) fn every_failure_is_seen(threads: u64, goes_on: impl Fn(u64) -> bool + Sync) {
    let vfs = Vfs::builder().budget(super::BUDGET).build(Failing::default()).expect("a Vfs");
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (context, goes_on) = (vfs.context(Credentials::root()), &goes_on);
            scope.spawn(move || {
                for asked in (0..).take_while(|asked| goes_on(*asked)) {
                    ask(&context);
                    if asked % threads == thread {
                        internals::evict(context.vfs(), 1);
                    }
                }
            });
        }
    });
    internals::evict(&vfs, usize::MAX);
    assert_eq!(vfs.stats().dentries.used, 1, "failed lookups leave no entry: {:?}", vfs.stats());
}
