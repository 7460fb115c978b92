//! Directories that are swapped for links to an outside directory while whole trees are made,
//! walked and removed: nothing outside is touched.
//!
//! Once behind each call of the file system, whichever it is; and in a storm, in which another
//! thread swaps and swaps back. `PATHWALK_SWAPS` says how many rounds the storm has; by default
//! few. A failure names the round.

mod common;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Arc, Mutex};

use pathwalk::{At, Context, Credentials, DirEntry, Errno, Error, FileSystem, Freshness, RenameFlags, Timestamp, Vfs};
use pathwalk_memfs::{MemFs, Options};

use common::around::{Around, Wrapped};

const ROUNDS: u64 = 1_000;

/// Directories of a tree that is removed.
const WIDTH: u64 = 8;

fn rounds() -> u64 {
    match std::env::var("PATHWALK_SWAPS") {
        Ok(rounds) => rounds.parse().expect("PATHWALK_SWAPS is a number of rounds"),
        Err(_) => ROUNDS,
    }
}

/// Makes the world: `/in` is where all is done, and `/links` where links wait. `/out` must stay as
/// it is: in it are the names that are below `/in`, too.
///
/// Some of the changes give the other thread time: else most rounds would be over before it runs.
fn world() -> Context {
    let changes = AtomicU64::new(0);
    let fs = MemFs::with(Options::default().clock(move || {
        if changes.fetch_add(1, Relaxed).is_multiple_of(8) {
            std::thread::yield_now();
        }
        Timestamp::now()
    }));
    furnished(fs)
}

fn furnished(fs: impl FileSystem + 'static) -> Context {
    let context = Vfs::builder().budget(4 << 20).build(fs).unwrap().context(Credentials::root());
    ["/in", "/links", "/out"].into_iter().for_each(|dir| context.create_dir(dir).unwrap());
    filled(&context, "/out");
    (0..WIDTH).for_each(|number| filled(&context, &format!("/out/{number}")));
    context
}

/// Puts into a directory what each has.
fn filled(context: &Context, dir: &str) {
    context.create_dir_all(format!("{dir}/below")).unwrap();
    for file in ["file", "below/file"] {
        context.write(format!("{dir}/{file}"), "inside").unwrap();
    }
}

/// Returns all that is outside.
fn outside(context: &Context) -> Vec<(Vec<u8>, u64)> {
    let line = |entry: DirEntry| (entry.path().into_os_string().into_encoded_bytes(), entry.metadata(context).unwrap().size);
    context.walk("/out").unwrap().map(|entry| line(entry.unwrap())).collect()
}

/// Puts a link to the outside in a directory's place for a moment; returns whether it was there.
/// What takes the link away meanwhile leaves the directory where the link was.
fn swap(context: &Context, dir: &str) -> bool {
    let link = "/links/link";
    context.symlink("/out", link).unwrap();
    let exchange = || context.renameat(At::Cwd, dir, At::Cwd, link, RenameFlags::EXCHANGE).is_ok();
    let swapped = exchange();
    if swapped {
        std::thread::yield_now();
        exchange();
    }
    remove(context, link);
    swapped
}

/// Removes a tree, however often it takes.
fn remove(context: &Context, path: &str) {
    while let Err(error) = context.remove_dir_all(path).and_then(|()| context.symlink_metadata(path).map(drop)) {
        let may_be = [Errno::ENOENT, Errno::ENOTDIR, Errno::ENOTEMPTY, Errno::EISDIR];
        assert!(may_be.contains(&error.errno()), "{error}");
        if error.errno() == Errno::ENOENT && context.lstat(path).is_err() {
            break;
        }
    }
}

/// Carries out rounds beside a thread that swaps: each is prepared, then its number is told, then
/// it acts. Returns how many swaps there were.
fn storm(swaps: impl Fn(u64, u64) -> bool + Sync, prepare: impl Fn(u64), act: impl Fn(u64)) -> u64 {
    let (number, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let times = 0_u64..;
            let going_on = times.take_while(|_| !over.load(Relaxed));
            going_on.filter(|time| swaps(number.load(Acquire), *time)).count() as u64
        });
        // It ends with a panic, too.
        let end = Ending(&over);
        for round in 1..=rounds() {
            prepare(round);
            number.store(round, Release);
            act(round);
        }
        drop(end);
        swapper.join().unwrap()
    })
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn what_is_removed_is_not_outside() {
    let context = world();
    let before = outside(&context);
    let swaps = storm(
        |round, time| match time % (WIDTH + 1) {
            WIDTH => swap(&context, &format!("/in/{round}")),
            number => swap(&context, &format!("/in/{round}/{number}")),
        },
        |round| (0..WIDTH).for_each(|number| filled(&context, &format!("/in/{round}/{number}"))),
        |round| {
            remove(&context, &format!("/in/{round}"));
            assert_eq!(outside(&context), before, "round {round}");
        },
    );
    println!("{swaps} swaps");
    assert!(swaps > 0);
}

#[test]
fn what_is_made_is_not_outside() {
    let context = world();
    let before = outside(&context);
    let swaps = storm(
        |round, time| match time % 2 {
            0 => swap(&context, &format!("/in/{round}")),
            _ => swap(&context, &format!("/in/{round}/a")),
        },
        |_| {},
        |round| {
            let made = context.create_dir_all(format!("/in/{round}/a/b/c/d/e"));
            let may_be = |error: &Error| matches!(error.errno(), Errno::EEXIST | Errno::ENOENT);
            assert!(made.as_ref().err().is_none_or(may_be), "{made:?}");
            assert_eq!(outside(&context), before, "round {round}");
            remove(&context, &format!("/in/{round}"));
        },
    );
    println!("{swaps} swaps");
    assert!(swaps > 0);
}

/// Swaps a directory for a link behind one of the calls, beside the `Vfs`.
struct Swapping {
    fs: Arc<MemFs>,
    /// Calls that are still to come before it; negative: never.
    calls: AtomicI64,
    dir: Mutex<String>,
}

impl Around for Swapping {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        let answer = call();
        if self.calls.fetch_sub(1, Relaxed) == 0 {
            // What is not there yet, or not any more, is not swapped.
            let _ = self.fs.rename_with(&**self.dir.lock().unwrap(), "/links/link", RenameFlags::EXCHANGE);
        }
        answer
    }
}

/// Carries out an operation on `/in/t` as often as it calls the file system, and `dir` is swapped
/// behind another call each time. Names are asked about before each use, so that each look at one
/// is a call.
fn behind_each_call(dir: &str, prepare: impl Fn(&Context), act: impl Fn(&Context)) {
    for call in 0.. {
        let names = Options::default().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime);
        let fs = Arc::new(MemFs::with(names));
        let with = Arc::new(Swapping { fs: fs.clone(), calls: AtomicI64::new(-1), dir: Mutex::new(dir.into()) });
        let context = furnished(Wrapped { fs, with: with.clone() });
        context.symlink("/out", "/links/link").unwrap();
        prepare(&context);
        let before = outside(&context);
        with.calls.store(call, Relaxed);
        act(&context);
        let left = with.calls.swap(-1, Relaxed);
        assert_eq!(outside(&context), before, "{dir} was swapped behind call {call}");
        if left >= 0 {
            assert!(call > 10, "{dir}: only {call} calls");
            return;
        }
    }
}

#[test]
fn behind_each_call_of_what_removes() {
    for dir in ["/in/t", "/in/t/0", "/in/t/0/below"] {
        let prepare = |context: &Context| (0..2).for_each(|number| filled(context, &format!("/in/t/{number}")));
        behind_each_call(dir, prepare, |context| _ = context.remove_dir_all("/in/t"));
    }
}

#[test]
fn a_file_that_is_a_directory_by_now_is_removed() {
    let prepare = |context: &Context| {
        filled(context, "/in/t/0");
        context.write("/in/t/file", "").unwrap();
        context.remove_file("/links/link").unwrap();
        filled(context, "/links/link");
        // Else the engine tells that it was a file, and not that it is a directory.
        while pathwalk::internals::evict(context.vfs(), usize::MAX) > 0 {}
    };
    behind_each_call("/in/t/file", prepare, |context| match context.remove_dir_all("/in/t") {
        // It was swapped while the engine was about to remove it, which no `Vfs` can do.
        Err(error) => assert_eq!(error.errno(), Errno::ESTALE),
        Ok(()) => assert_eq!(context.lstat("/in/t"), Err(Errno::ENOENT)),
    });
}

#[test]
fn behind_each_call_of_what_makes() {
    for dir in ["/in/t", "/in/t/a", "/in/t/a/below"] {
        let make = |context: &Context| _ = context.create_dir_all("/in/t/a/below/c/d");
        behind_each_call(dir, |_| (), make);
    }
}

#[test]
fn behind_each_call_of_a_walk() {
    for dir in ["/in/t/0", "/in/t/0/below"] {
        let prepare = |context: &Context| {
            filled(context, "/in/t/0");
            context.write("/out/outside", "").unwrap();
        };
        let walk = |context: &Context| {
            let found = context.walk("/in/t").unwrap().map(|entry| entry.map(|entry| entry.name().to_vec()));
            found.for_each(|name| assert_ne!(name, Ok(b"outside".into()), "{dir}"));
        };
        behind_each_call(dir, prepare, walk);
    }
}

/// What is there when it is looked for is followed, as any path is: the rules of a context keep it
/// in.
#[test]
fn rules_keep_it_in() {
    let context = world();
    context.symlink("/out", "/in/link").unwrap();
    let no_links = context.clone().with_resolve(pathwalk::Resolve::NO_SYMLINKS).unwrap();
    let before = outside(&context);
    let errno = |result: Result<(), Error>| result.map_err(|error| error.errno());
    assert_eq!(errno(no_links.create_dir_all("/in/link/new")), Err(Errno::ELOOP));
    assert_eq!(errno(no_links.remove_dir_all("/in/link/below")), Err(Errno::ELOOP));
    let confined = context.confined(&context.lookup("/in").unwrap()).unwrap();
    assert_eq!(errno(confined.create_dir_all("/link/new")), Err(Errno::EEXIST), "there is no /out in it");
    assert_eq!(errno(confined.remove_dir_all("/link/below")), Err(Errno::ENOENT));
    assert_eq!(outside(&context), before);
    context.create_dir_all("/in/link/new").unwrap();
    assert!(context.exists("/out/new").unwrap());
    context.remove_dir_all("/in/link/new").unwrap();
    assert_eq!(outside(&context), before);
}
