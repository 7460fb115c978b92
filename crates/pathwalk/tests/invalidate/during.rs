//! Changes behind the engine that are reported while a call of the file system is under way: what
//! the call returned is not used afterwards.

use std::sync::{Arc, Mutex, OnceLock};

use pathwalk::{At, Context, Credentials, Name, Notifier, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;

use crate::common::around::{Around, Wrapped};

type Then = Box<dyn FnOnce(&Notifier) + Send>;

/// What is done once, at the end of the next call.
#[derive(Default)]
struct Behind {
    notifier: OnceLock<Notifier>,
    then: Mutex<Option<Then>>,
}

impl Around for Behind {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        let result = call();
        let then = self.then.lock().unwrap().take();
        if let Some(then) = then {
            then(self.notifier.get().expect("it is mounted"));
        }
        result
    }

    fn attached(&self, notifier: Notifier) {
        assert!(self.notifier.set(notifier).is_ok(), "it is attached once");
    }
}

struct World {
    fs: MemFs,
    context: Context,
    behind: Arc<Behind>,
}

impl World {
    fn new() -> World {
        let fs = MemFs::new();
        ["/a", "/b"].iter().for_each(|path| fs.file(path, 0o644).unwrap());
        let behind = Arc::new(Behind::default());
        let wrapped = Wrapped { fs: fs.alias(), with: behind.clone() };
        let context = Vfs::builder().budget(1 << 20).build(wrapped).unwrap().context(Credentials::root());
        World { fs, context, behind }
    }

    /// Does `then` at the end of the next call of the file system.
    fn at_next_call(&self, then: impl FnOnce(&MemFs, &Notifier) + Send + 'static) {
        let fs = self.fs.alias();
        *self.behind.then.lock().unwrap() = Some(Box::new(move |notifier| then(&fs, notifier)));
    }

    /// Checks that `then` was done, and that the answers are those of the file system.
    fn check(&self, paths: &[&str]) {
        assert!(self.behind.then.lock().unwrap().is_none(), "there was a call");
        for path in paths {
            let (seen, there) = (self.context.stat(path).unwrap(), self.fs.stat(path).unwrap());
            assert_eq!((seen.ino, seen.mode), (there.ino, there.mode), "{path}");
        }
    }
}

/// Checks a report about either of two names that are being exchanged. The entry that is marked
/// then gets the other name.
#[test]
fn a_name_that_is_being_exchanged() {
    for name in ["/a", "/b"] {
        let world = World::new();
        world.context.stat("/a").unwrap();
        world.context.stat("/b").unwrap();
        world.at_next_call(move |fs, notifier| {
            fs.unlink(name).unwrap();
            fs.file(name, 0o600).unwrap();
            notifier.invalidate_name(fs.key("/").unwrap(), Name::new(&name.as_bytes()[1..]).unwrap());
        });
        world.context.renameat(At::Cwd, "/a", At::Cwd, "/b", RenameFlags::EXCHANGE).unwrap();
        world.check(&["/a", "/b"]);
    }
}

/// Checks a report about a node whose creation has not returned, so that it has no inode yet.
#[test]
fn a_node_that_is_being_made() {
    let world = World::new();
    assert!(world.context.stat("/new").is_err());
    world.at_next_call(|fs, notifier| {
        fs.chmod("/new", 0o700).unwrap();
        notifier.invalidate_node(fs.key("/new").unwrap());
    });
    world.context.mkdir("/new", 0o755).unwrap();
    world.check(&["/new"]);
}
