//! Iterators over directories: anything is done between two entries, and each that stays comes
//! once.

#[path = "../common/mod.rs"]
mod common;
mod random;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pathwalk::{
    At, Context, Credentials, DirEntry, Errno, FileSystem, FileType, OpenFlags, ReadDir, RenameFlags, UnlinkFlags, Vfs,
};
use pathwalk_memfs::MemFs;

use common::around::{Around, Wrapped};

/// What hangs ends the test after so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test that might hang; if it does, says so and ends the process.
fn watched(what: &'static str, test: impl FnOnce()) {
    let (done, is_done) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{what} hangs: something was called under a lock that it needs");
            std::process::abort();
        }
    });
    test();
    drop(done);
    watchdog.join().unwrap();
}

fn root_of(fs: impl FileSystem + 'static) -> Context {
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

/// One lock around each call, listings with their callbacks included: any call out of a callback
/// would wait for ever.
#[derive(Default)]
struct Lock {
    held: Mutex<()>,
    /// Entries that one call gives before it is `EIO`; 0: as many as there are.
    fails_behind: AtomicUsize,
}

impl Around for Lock {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        let _held = self.held.lock().unwrap();
        call()
    }

    fn fails_behind(&self) -> Option<usize> {
        Some(self.fails_behind.load(SeqCst)).filter(|entries| *entries > 0)
    }
}

fn locking() -> Wrapped<MemFs, Lock> {
    Wrapped { fs: MemFs::new(), with: Arc::default() }
}

/// Returns a name that takes so much room that a few hundred of them are more than is read ahead.
fn long(number: usize) -> String {
    format!("{number:0200}")
}

/// Makes a directory `/d` with so many files of long names, which are listed in the order of their
/// numbers: memfs lists what was made last first.
fn filled(context: &Context, files: usize) {
    context.create_dir("/d").unwrap();
    (0..files).rev().for_each(|number| context.write(format!("/d/{}", long(number)), "").unwrap());
}

fn names(entries: ReadDir) -> Vec<Vec<u8>> {
    entries.map(|entry| entry.unwrap().name().to_vec()).collect()
}

#[test]
fn all_names_come_but_for_the_dots() {
    let context = root_of(MemFs::new());
    filled(&context, 1_000);
    let listed = names(context.read_dir("/d").unwrap());
    assert_eq!(listed, (0..1_000).map(|number| long(number).into_bytes()).collect::<Vec<_>>());
    context.create_dir("/empty").unwrap();
    let mut empty = context.read_dir("/empty").unwrap();
    assert!(empty.next().is_none() && empty.next().is_none());
}

#[test]
fn each_is_removed_as_it_comes() {
    watched("to remove each entry as it comes", || {
        for context in [root_of(MemFs::new()), root_of(locking())] {
            filled(&context, 1_000);
            for entry in context.read_dir("/d").unwrap() {
                let entry = entry.unwrap();
                context.unlinkat(entry.dir(), entry.name(), UnlinkFlags::empty()).unwrap();
            }
            context.remove_dir("/d").unwrap();
        }
    });
}

#[test]
fn an_entry_is_asked_for_where_it_is_and_not_where_it_was() {
    let context = root_of(MemFs::new());
    context.create_dir("/d").unwrap();
    context.symlink("nowhere", "/d/link").unwrap();
    context.create_dir("/d/sub").unwrap();
    let entries: Vec<DirEntry> = context.read_dir("/d/").unwrap().collect::<Result<_, _>>().unwrap();
    context.renameat(At::Cwd, "/d", At::Cwd, "/moved", RenameFlags::empty()).unwrap();
    context.create_dir("/d").unwrap();
    let of = |entry: &DirEntry| (entry.name().to_vec(), entry.kind(), entry.metadata(&context).map(|of| of.kind));
    assert_eq!(of(&entries[0]), (b"sub".into(), FileType::Directory, Ok(FileType::Directory)));
    assert_eq!(of(&entries[1]), (b"link".into(), FileType::Symlink, Ok(FileType::Symlink)));
    assert_eq!((entries[0].path().as_path(), entries[0].file_name()), (Path::new("/d/sub"), "sub".into()));
    assert_eq!(entries[0].ino(), context.lstat("/moved/sub").unwrap().ino);
    assert_eq!(entries[0].dir().path().unwrap(), b"/moved");
    context.remove_dir("/moved/sub").unwrap();
    let gone = entries[0].metadata(&context).unwrap_err();
    assert_eq!(gone.to_string(), r#"metadata "/d/sub": ENOENT (No such file or directory)"#);
    let other = root_of(MemFs::new());
    assert_eq!(entries[1].metadata(&other).unwrap_err().errno(), Errno::EBADF);
}

#[test]
fn a_file_goes_on_where_it_is() {
    let context = root_of(MemFs::new());
    filled(&context, 10);
    let open = |path: &str, flags: OpenFlags| context.open(path, flags).unwrap();
    let dir = open("/d", OpenFlags::READ);
    assert_eq!(dir.getdents(5).unwrap().len(), 5);
    let rest = names(ReadDir::from(dir));
    assert_eq!(rest, (3..10).map(|number| long(number).into_bytes()).collect::<Vec<_>>());
    let alone = ReadDir::from(open("/d", OpenFlags::READ)).next().unwrap().unwrap();
    assert_eq!(alone.path(), Path::new(&long(0)));
    let errno = |mut entries: ReadDir| (entries.next().unwrap().unwrap_err().errno(), entries.next().is_none());
    assert_eq!(errno(open(&format!("/d/{}", long(0)), OpenFlags::READ).into()), (Errno::ENOTDIR, true));
    assert_eq!(errno(open("/d", OpenFlags::PATH).into()), (Errno::EBADF, true));
}

#[test]
fn what_is_no_directory_is_an_error_at_once() {
    let context = root_of(MemFs::new());
    context.write("/file", "").unwrap();
    context.create_dir("/secret").unwrap();
    context.set_permissions("/secret", 0o711).unwrap();
    context.symlink("secret", "/link").unwrap();
    let errno = |context: &Context, path: &str| context.read_dir(path).map(drop).map_err(|error| error.errno());
    assert_eq!(errno(&context, "/file"), Err(Errno::ENOTDIR));
    assert_eq!(errno(&context, "/none"), Err(Errno::ENOENT));
    assert_eq!(errno(&context, ""), Err(Errno::ENOENT));
    assert_eq!(errno(&context, "/link"), Ok(()));
    let user = context.with_credentials(Credentials::user(7, 7, &[]));
    assert_eq!(errno(&user, "/link"), Err(Errno::EACCES));
}

#[test]
fn a_directory_that_is_removed_has_no_more_entries() {
    let context = root_of(MemFs::new());
    filled(&context, 300);
    let mut entries = context.read_dir("/d").unwrap();
    entries.next().unwrap().unwrap();
    let mut unread = context.read_dir("/d").unwrap();
    context.remove_dir_all("/d").unwrap();
    assert!(unread.next().is_none());
    let ahead = entries.by_ref().count();
    assert!((1..299).contains(&ahead), "{ahead}: what was read ahead, and no more");
    assert!(entries.next().is_none());
}

#[test]
fn what_comes_before_an_error_comes_and_nothing_behind_it() {
    let lock = Arc::new(Lock::default());
    let context = root_of(Wrapped { fs: MemFs::new(), with: lock.clone() });
    filled(&context, 30);
    lock.fails_behind.store(10, SeqCst);
    let entries = context.read_dir("/d").unwrap();
    let listed: Vec<_> = entries.map(|entry| entry.map(|entry| entry.name().to_vec())).collect();
    assert!(listed.iter().all(|name| name.is_ok()), "each call gives some: {listed:?}");
    assert_eq!(listed.len(), 30);
    let dir = context.open("/d", OpenFlags::READ).unwrap();
    let parts: Vec<_> = [(); 4].map(|()| dir.getdents(usize::MAX).unwrap().len()).into();
    assert_eq!(parts, [12, 10, 10, 0]);
    lock.fails_behind.store(1, SeqCst);
    let mut entries = context.read_dir("/d").unwrap();
    let name = entries.next().unwrap().unwrap().name().to_vec();
    assert_eq!(name, long(0).into_bytes());
    context.unlink(format!("/d/{}", long(1))).unwrap();
    let rest: BTreeSet<_> = names(entries).into_iter().collect();
    assert_eq!(rest.len(), 28, "all but the first two");
}

#[test]
fn a_listing_of_all_makes_a_directory_complete() {
    let fs = Arc::new(MemFs::new());
    let context = root_of(fs.clone());
    filled(&context, 500);
    while pathwalk::internals::evict(context.vfs(), usize::MAX) > 0 {}
    assert_eq!(context.read_dir("/d").unwrap().count(), 500);
    let before = fs.calls();
    assert!(!context.exists("/d/none").unwrap());
    assert_eq!(fs.calls().since(&before).lookup, 0, "all names are known");
    assert_eq!(context.stat(format!("/d/{}", long(7))).unwrap().size, 0);
}

/// Checks that listings of one read and of several come to their end if a name is made for each
/// entry.
#[test]
fn names_that_are_made_meanwhile_come_to_an_end() {
    for files in [5, 1_000] {
        let context = root_of(MemFs::new());
        filled(&context, files);
        let listed = context.read_dir("/d").unwrap().take(3 * files).inspect(|entry| {
            let path = entry.as_ref().unwrap().path();
            context.rename(&path, path.with_extension("again")).unwrap();
        });
        assert_eq!(listed.count(), files);
    }
}
