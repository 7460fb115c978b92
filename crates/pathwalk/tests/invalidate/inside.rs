//! Reports from inside each call of a file system, under a lock of its own, beside others that
//! block or panic: no deadlock, and right answers at the end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use pathwalk::{At, Context, Credentials, Errno, Name, Notifier, OpenFlags, RenameFlags, Vfs, XattrFlags};
use pathwalk_memfs::MemFs;

use crate::common::around::{Around, Wrapped};

/// Reports something before and after each call, with a lock held that all calls take.
#[derive(Default)]
struct Reports {
    notifier: OnceLock<Notifier>,
    behind: OnceLock<MemFs>,
    own: Mutex<()>,
    calls: AtomicU32,
    /// The call that panics after it was made, counted from 0.
    panics: AtomicU32,
}

impl Reports {
    fn report(&self) {
        let (Some(notifier), Some(behind)) = (self.notifier.get(), self.behind.get()) else { return };
        let path = ["/", "/d", "/d/f", "/d/e", "/new", "/link"][fastrand::usize(..6)];
        let Ok(key) = behind.key(path) else { return };
        let name = Name::new([&b"d"[..], b"f", b"e", b"new", b"link"][fastrand::usize(..5)]).unwrap();
        match fastrand::u32(..6) {
            0 => notifier.invalidate_name(key, name),
            1 => notifier.invalidate_attributes(key),
            2 => notifier.invalidate_data(key),
            3 => notifier.invalidate_node(key),
            4 => notifier.invalidate_subtree(key),
            _ => notifier.invalidate_all(),
        }
    }
}

impl Around for Reports {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        let held = self.own.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.report();
        drop(held);
        let result = call();
        let _held = self.own.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.report();
        if fastrand::u32(..50) == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.panics.load(Ordering::SeqCst) {
            resume_unwind(Box::new("as it was told to"));
        }
        result
    }

    fn attached(&self, notifier: Notifier) {
        _ = self.notifier.set(notifier);
    }
}

fn world(seed: u64, panics: u32) -> (MemFs, Context, Arc<Reports>) {
    fastrand::seed(seed);
    let fs = MemFs::new();
    fs.mkdir_all("/d/e", 0o755).unwrap();
    fs.file("/d/f", 0o644).unwrap();
    let with = Arc::new(Reports { panics: AtomicU32::new(panics), ..Reports::default() });
    _ = with.behind.set(fs.alias());
    let context = Vfs::builder().budget(1 << 20).build(Wrapped { fs: fs.alias(), with: with.clone() }).unwrap();
    (fs, context.context(Credentials::root()), with)
}

/// Makes every kind of call, each of which may fail.
fn everything(context: &Context) -> Vec<Result<(), Errno>> {
    let path = |text: &'static str| text;
    vec![
        context.stat("/d/f").map(drop),
        context.stat("/d/none").map(drop),
        context.mkdir(path("/new"), 0o755),
        context
            .open("/new/file", OpenFlags::WRITE | OpenFlags::CREATE)
            .and_then(|file| file.write_all(b"x").map_err(|_| Errno::EIO)),
        context.symlink("d/f", "/link"),
        context.stat("/link").map(drop),
        context.link("/d/f", "/new/link"),
        context.renameat(At::Cwd, "/d/f", At::Cwd, "/new/f", RenameFlags::empty()),
        context.renameat(At::Cwd, "/d/e", At::Cwd, "/new", RenameFlags::EXCHANGE),
        context.renameat(At::Cwd, "/new", At::Cwd, "/d/e", RenameFlags::EXCHANGE),
        context.renameat(At::Cwd, "/new/f", At::Cwd, "/d/f", RenameFlags::empty()),
        context.chmod("/d/f", 0o640),
        context.truncate("/d/f", 3),
        context.setxattr("/d/f", "user.x", b"1", XattrFlags::empty()),
        context.open("/d", OpenFlags::READ).and_then(|dir| dir.getdents(usize::MAX).map(drop)),
        context.unlink("/new/link"),
        context.unlink("/new/file"),
        context.rmdir("/new"),
        context.unlink("/link"),
    ]
}

/// Ends the process if `what` takes too long: a deadlock.
fn with_watchdog(what: impl FnOnce()) {
    let (done, waits) = mpsc::channel::<()>();
    let dog = std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(300)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("a report never returned");
            std::process::abort();
        }
    });
    what();
    drop(done);
    dog.join().unwrap();
}

#[test]
fn each_call_reports_and_each_result_is_as_without() {
    with_watchdog(|| {
        let expected = everything(&Vfs::builder().build(world(0, u32::MAX).0).unwrap().context(Credentials::root()));
        assert!(expected.iter().filter(|result| result.is_ok()).count() > 15, "{expected:?}");
        for seed in 0..200 {
            let (_, context, _) = world(seed, u32::MAX);
            for round in 0..3 {
                assert_eq!(everything(&context), expected, "seed {seed}, round {round}");
            }
        }
    });
}

#[test]
fn threads_that_report_from_inside_do_not_wait_for_each_other() {
    with_watchdog(|| {
        for seed in 0..20 {
            let (fs, context, with) = world(seed, u32::MAX);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| (0..20).for_each(|_| drop(everything(&context))));
                }
                scope.spawn(|| (0..2000).for_each(|_| with.report()));
            });
            // At rest, each answer is the file system's.
            for path in ["/", "/d", "/d/f", "/d/e", "/d/none", "/new", "/new/f", "/new/file", "/link"] {
                let there = fs.stat(path).map(|of| of.ino).ok();
                assert_eq!(context.lstat(path).map(|of| of.ino).ok(), there, "seed {seed}: {path}");
            }
            drop(context);
            assert_eq!((fs.usage().held, fs.calls().stray_forget), (0, 0), "seed {seed}");
        }
    });
}

#[test]
fn a_call_that_reports_and_panics_leaves_nothing_locked() {
    with_watchdog(|| {
        for panics in 1..120 {
            let (fs, context, with) = world(panics.into(), panics);
            let _ = catch_unwind(AssertUnwindSafe(|| everything(&context)));
            with.panics.store(u32::MAX, Ordering::SeqCst);
            drop(everything(&context));
            for path in ["/d", "/d/f", "/d/e", "/new", "/new/f", "/new/file", "/link"] {
                let there = fs.stat(path).map(|of| of.ino).ok();
                assert_eq!(context.lstat(path).map(|of| of.ino).ok(), there, "call {panics}: {path}");
            }
        }
    });
}
