//! Lookups that bring the open file along: when the engine asks for one, and when it uses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, FileSystem, FileType, FoundToRead, Name, Node, NodeKey, OpenFile,
    OpenFlags, OpenFor, Recursion, Vfs,
};
use pathwalk_memfs::MemFs;

/// A memory file system that opens what it looks up, and notes each call.
struct AtOnce {
    fs: MemFs,
    calls: Mutex<Vec<String>>,
    /// The number of files that were brought along and are open.
    open: Arc<AtomicU32>,
}

impl AtOnce {
    fn note(&self, call: &str, name: Name<'_>) {
        self.calls.lock().push(format!("{call} {}", String::from_utf8_lossy(name.bytes())));
    }
}

/// An open file that is counted.
struct Counted(Box<dyn OpenFile>, Arc<AtomicU32>);

impl OpenFile for Counted {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.0.read_at(buffer, offset)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

impl FileSystem for AtOnce {
    fn root(&self) -> Result<Node, Errno> {
        self.fs.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.note("lookup", name);
        self.fs.lookup(dir, name)
    }

    fn lookup_to_read(
        &self,
        dir: &Directory<'_>,
        name: Name<'_>,
        expected: Option<FileType>,
    ) -> Result<Option<FoundToRead>, Errno> {
        self.note(if expected == Some(FileType::Directory) { "list" } else { "read" }, name);
        let Some(node) = self.fs.lookup(dir, name)? else { return Ok(None) };
        let file = self.fs.open(node.key, OpenFor::READ).ok().map(|file| {
            self.open.fetch_add(1, Ordering::Relaxed);
            Box::new(Counted(file, Arc::clone(&self.open))) as Box<dyn OpenFile>
        });
        Ok(Some(FoundToRead { node, file }))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.fs.attributes(node)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.fs.read_link(node)
    }

    fn forget(&self, node: NodeKey) {
        self.fs.forget(node);
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.calls.lock().push("open".into());
        self.fs.open(node, what_for)
    }
}

fn world() -> (Arc<AtOnce>, Vfs) {
    let fs = MemFs::new();
    fs.mkdir_all("/d/e", 0o755).unwrap();
    fs.file("/d/f", 0o644).unwrap();
    fs.write("/d/f", 0, b"text").unwrap();
    fs.file("/d/secret", 0o600).unwrap();
    fs.symlink("d/f", "/link").unwrap();
    let fs = Arc::new(AtOnce { fs, calls: Mutex::default(), open: Arc::default() });
    (Arc::clone(&fs), Vfs::builder().budget(1 << 20).build(fs).unwrap())
}

fn calls(fs: &AtOnce) -> Vec<String> {
    std::mem::take(&mut *fs.calls.lock())
}

fn open(context: &Context, path: &str, flags: OpenFlags) -> Result<pathwalk::File, Errno> {
    context.open(path, flags)
}

#[test]
fn the_last_name_of_an_open_for_reading_is_opened_with_its_lookup() {
    let (fs, vfs) = world();
    let context = vfs.context(Credentials::root());
    let file = open(&context, "/link", OpenFlags::READ).unwrap();
    assert_eq!(calls(&fs), ["read link", "lookup d", "read f"], "the link, and what it leads to, may be the end");
    let mut text = [0; 9];
    assert_eq!((file.read(&mut text), &text[..4]), (Ok(4), &b"text"[..]));
    assert_eq!(fs.open.load(Ordering::Relaxed), 1);
    drop(file);
    assert_eq!(fs.open.load(Ordering::Relaxed), 0);
    open(&context, "/d/f", OpenFlags::READ).unwrap();
    assert_eq!(calls(&fs), ["open"], "the name is cached");
    open(&context, "/d/e", OpenFlags::READ | OpenFlags::DIRECTORY).unwrap();
    assert_eq!(calls(&fs), ["list e"]);
    assert_eq!(open(&context, "/d/none", OpenFlags::READ).err(), Some(Errno::ENOENT));
    assert_eq!(calls(&fs), ["read none"]);
}

#[test]
fn nothing_is_opened_at_once_that_is_written_or_only_found() {
    let (fs, vfs) = world();
    let context = vfs.context(Credentials::root());
    open(&context, "/d/f", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    open(&context, "/d/e", OpenFlags::PATH).unwrap();
    context.stat("/d/secret").unwrap();
    assert_eq!(calls(&fs), ["lookup d", "lookup f", "open", "lookup e", "lookup secret"]);
}

#[test]
fn an_open_file_is_dropped_where_it_may_not_be_used() {
    let (fs, vfs) = world();
    let user = vfs.context(Credentials::user(1000, 1000, &[]));
    assert_eq!(open(&user, "/d/secret", OpenFlags::READ).err(), Some(Errno::EACCES));
    assert_eq!(open(&user, "/d/f", OpenFlags::READ | OpenFlags::DIRECTORY).err(), Some(Errno::ENOTDIR));
    assert_eq!(open(&user, "/link", OpenFlags::READ | OpenFlags::NOFOLLOW).err(), Some(Errno::ELOOP));
    assert_eq!(calls(&fs), ["lookup d", "read secret", "list f", "read link"]);
    assert_eq!(fs.open.load(Ordering::Relaxed), 0);
}

/// A name on which something is mounted was looked up before, so its lookup brings nothing. What is
/// mounted, another file system, may have a node of the same key.
#[test]
fn a_file_under_a_mount_is_not_used() {
    let (fs, vfs) = world();
    let context = vfs.context(Credentials::root());
    context.bind("/d/f", "/d/secret", Recursion::Alone).unwrap();
    calls(&fs);
    let file = open(&context, "/d/secret", OpenFlags::READ).unwrap();
    let mut text = [0; 9];
    assert_eq!((file.read(&mut text), calls(&fs).as_slice()), (Ok(4), &["open".to_owned()][..]));
}
