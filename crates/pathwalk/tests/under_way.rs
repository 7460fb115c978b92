//! Operations during a file system's change of a file: after the new data, the old attributes are
//! not seen.

use std::io::SeekFrom;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use pathwalk::{
    Attributes, Context, Credentials, Directory, Entry, Errno, File, FileSystem, MountAttributes, MountFlags, Name, Node,
    NodeKey, OpenFile, OpenFlags, OpenFor, Recursion, SetAttributes, SuperblockFlags, SyncWhat, Vfs, WriteAt, Written,
};
use pathwalk_memfs::MemFs;

/// A point at which a change stops when it is done but has not returned.
struct Stop {
    done: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl Stop {
    fn here(&self) {
        self.done.send(()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
    }
}

/// A file system in memory that stops after each change of a file.
struct Stopping<F> {
    fs: F,
    stop: Arc<Stop>,
}

impl<F: FileSystem> FileSystem for Stopping<F> {
    fn root(&self) -> Result<Node, Errno> {
        self.fs.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.fs.lookup(dir, name)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.fs.attributes(node)
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.fs.superblock_flags()
    }

    fn forget(&self, node: NodeKey) {
        self.fs.forget(node);
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open { file: self.fs.open(node, what_for)?, stop: self.stop.clone() }))
    }

    fn keeps_acls(&self) -> bool {
        self.fs.keeps_acls()
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let answer = self.fs.set_attributes(node, set);
        self.stop.here();
        answer
    }
}

struct Open {
    file: Box<dyn OpenFile>,
    stop: Arc<Stop>,
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let answer = self.file.write_at(data, at);
        self.stop.here();
        answer
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.file.read_dir(from, each)
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        self.file.sync(what)
    }
}

fn root_of(fs: impl FileSystem + 'static) -> Context {
    Vfs::builder().budget(1 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Runs `change` on an empty file up to the point before it returns, calls `ask`, and calls `ask`
/// again after it has returned.
fn beside(change: impl FnOnce(&File) + Send, ask: impl Fn(&Context, &File)) {
    let fs = MemFs::new();
    fs.file("/file", 0o644).unwrap();
    let (done, is_done) = channel();
    let (go_on, told) = channel();
    let stop = Arc::new(Stop { done, go_on: Mutex::new(told) });
    let context = root_of(Stopping { fs, stop });
    let how = OpenFlags::READ | OpenFlags::WRITE;
    let [writer, reader] = [(); 2].map(|()| context.open("/file", how).unwrap());
    assert_eq!(context.stat("/file").unwrap().size, 0, "it is cached");
    thread::scope(|scope| {
        let changing = scope.spawn(|| change(&writer));
        is_done.recv().unwrap();
        let asked = catch_unwind(AssertUnwindSafe(|| ask(&context, &reader)));
        go_on.send(()).unwrap();
        changing.join().unwrap();
        asked.unwrap_or_else(|panic| resume_unwind(panic));
    });
    ask(&context, &reader);
}

/// Checks that five bytes are seen, by the file system, then by what may be cached; each twice,
/// because an answer may be cached.
fn sees_five(context: &Context, reader: &File) {
    for _ in 0..2 {
        assert_eq!(reader.read_at(&mut [0; 10], 0), Ok(5));
        assert_eq!(context.stat("/file").unwrap().size, 5);
        assert_eq!(reader.seek(SeekFrom::End(0)), Ok(5));
        assert!(
            context.cached().stat("/file").is_ok_and(|stat| stat.size == 5)
                || context.cached().stat("/file") == Err(Errno::EAGAIN)
        );
    }
}

#[test]
fn a_write() {
    beside(|file| assert_eq!(file.write(b"bytes"), Ok(5)), sees_five);
}

#[test]
fn a_change_of_size() {
    beside(|file| assert_eq!(file.set_len(5), Ok(())), sees_five);
}

/// Checks that attributes that were asked for during a change are not kept: the file system may
/// change them once more before it returns.
#[test]
fn what_is_asked_during_a_change_is_asked_again() {
    let fs = MemFs::new();
    fs.file("/file", 0o644).unwrap();
    let behind = root_of(fs.alias());
    let (done, is_done) = channel();
    let (go_on, told) = channel();
    let context = root_of(Stopping { fs, stop: Arc::new(Stop { done, go_on: Mutex::new(told) }) });
    let file = context.open("/file", OpenFlags::WRITE).unwrap();
    thread::scope(|scope| {
        let changing = scope.spawn(|| file.write(b"bytes"));
        is_done.recv().unwrap();
        let sizes = [5, 6, 7].map(|size| {
            behind.truncate("/file", size).unwrap();
            context.stat("/file").unwrap().size
        });
        go_on.send(()).unwrap();
        assert_eq!((sizes, changing.join().unwrap()), ([5, 6, 7], Ok(5)));
    });
}

#[test]
fn a_mount_on_which_a_change_is_under_way_does_not_become_read_only() {
    let fs = MemFs::new();
    fs.file("/file", 0o644).unwrap();
    let (done, is_done) = channel();
    let (go_on, told) = channel();
    let context = root_of(Stopping { fs, stop: Arc::new(Stop { done, go_on: Mutex::new(told) }) });
    let set = |set, clear| {
        let to = MountAttributes::default().with_set(set).with_clear(clear);
        context.mount_setattr("/", &to, Recursion::Alone)
    };
    let (read_only, nothing) = (MountFlags::READ_ONLY, MountFlags::empty());
    let change = || context.chmod("/file", 0o600);
    thread::scope(|scope| {
        let changing = scope.spawn(change);
        is_done.recv().unwrap();
        assert_eq!(set(read_only, nothing), Err(Errno::EBUSY));
        go_on.send(()).unwrap();
        assert_eq!(changing.join().unwrap(), Ok(()));
    });
    assert_eq!(set(read_only, nothing), Ok(()));
    assert_eq!(change(), Err(Errno::EROFS));
    // The refused change was not counted as a writer. Otherwise the mount would stay busy.
    assert_eq!(set(nothing, read_only), Ok(()));
    assert_eq!(set(read_only, nothing), Ok(()));
    let truncate = OpenFlags::READ | OpenFlags::TRUNCATE;
    assert_eq!(context.open("/file", truncate).err(), Some(Errno::EROFS));
}
