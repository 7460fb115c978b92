//! Paths of handles, beside threads that rename directories without end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pathwalk::{At, Context, Credentials, NewKind, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;

const LEVELS: usize = 100_000;
/// The time after which a run counts as endless. No run comes near it.
const FOR_EVER: Duration = Duration::from_secs(120);

fn rename(who: &Context, from: &str, to: &str) {
    who.renameat(At::Cwd, from, At::Cwd, to, RenameFlags::empty()).unwrap();
}

#[test]
fn a_deep_path_is_told_beside_renames() {
    let vfs = Vfs::builder().budget(Vfs::budget_for(LEVELS as u64 + 1000)).build(MemFs::new()).unwrap();
    let who = vfs.context(Credentials::root());
    for dir in ["/x", "/y", "/y/from", "/y/to"] {
        who.mkdir(dir, 0o755).unwrap();
    }
    let mut deep = who.lookup("/").unwrap();
    for _ in 0..LEVELS {
        who.mkdirat(&deep, "d", 0o755).unwrap();
        deep = who.lookup_at(&deep, "d", pathwalk::AtFlags::empty()).unwrap();
    }
    who.mknodat(&deep, "file", NewKind::Regular, 0o644).unwrap();
    let file = who.lookup_at(&deep, "file", pathwalk::AtFlags::empty()).unwrap();

    let stop = AtomicBool::new(false);
    let (told, answers) = mpsc::channel();
    let until_stopped = |each: &dyn Fn()| {
        while !stop.load(Ordering::Relaxed) {
            each();
        }
    };
    let (who, deep, file) = (&who, &deep, &file);
    thread::scope(|scope| {
        // Renames within a directory, between two, and of the file itself.
        scope.spawn(|| until_stopped(&|| (rename(who, "/x", "/z"), rename(who, "/z", "/x")).1));
        scope.spawn(|| until_stopped(&|| (rename(who, "/y/from", "/y/to/it"), rename(who, "/y/to/it", "/y/from")).1));
        scope.spawn(|| {
            until_stopped(&|| {
                let to = |from: &str, to: &str| who.renameat(deep, from, deep, to, RenameFlags::empty());
                to("file", "other").and_then(|()| to("other", "file")).unwrap();
            });
        });
        scope.spawn(move || {
            for _ in 0..5 {
                told.send([deep.path(), file.path()]).unwrap();
            }
        });
        let answers: Result<Vec<_>, _> = (0..5).map(|_| answers.recv_timeout(FOR_EVER)).collect();
        stop.store(true, Ordering::Relaxed);
        for [dir, file] in answers.expect("paths are told while directories are renamed") {
            assert_eq!(dir.unwrap(), "/d".repeat(LEVELS).into_bytes());
            let file = file.unwrap();
            let name = file.strip_prefix("/d".repeat(LEVELS).as_bytes()).unwrap();
            assert!([&b"/file"[..], b"/other"].contains(&name), "{}", name.escape_ascii());
        }
    });
}
