//! Repeated lookups of whole paths beside a thread that changes where they lead, by each kind of
//! change that can be concurrent with a lookup.
//!
//! An answer is sure if nothing changed during the lookup: then only one answer is right.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, At, Context, Credentials, Errno, MountFlags, RenameFlags, UmountFlags, Vfs, VfsBuilder};
use pathwalk_memfs::MemFs;

use crate::phase::Phase;

/// The number of sure answers of a test, of all readers together; `PATHWALK_SURE_ANSWERS` sets
/// another number.
const ANSWERS: u64 = 300_000;

/// The number of readers: more than one, so that they also meet in the memo.
const READERS: usize = 2;

/// The number of questions between two checks of the count of sure answers.
const ROUND: u64 = 1024;

/// The time for which nothing changes: long compared with a lookup, so that most answers are sure.
const REST: Duration = Duration::from_micros(100);

/// The permission bits, in which the files differ.
type Answer = Result<u16, Errno>;

const ABSENT: Answer = Err(Errno::ENOENT);
const REFUSED: Answer = Err(Errno::EACCES);

/// An object that changes, and a path whose answer depends on it.
struct Subject {
    path: &'static str,
    ask: fn(&Context, &str) -> Answer,
    /// The answers in even and in odd states.
    answers: [Answer; 2],
    /// The function that makes the next state; its flag is set if that state is odd.
    change: fn(&Context, bool),
}

fn mode(context: &Context, path: &str) -> Answer {
    context.stat(path).map(|found| found.mode & 0o777)
}

fn readable(context: &Context, path: &str) -> Answer {
    context.access(path, Access::READ).map(|()| 0)
}

fn exchange(context: &Context, one: &str, other: &str) {
    context.renameat(At::Cwd, one, At::Cwd, other, RenameFlags::EXCHANGE).expect("an exchange");
}

fn chmod(context: &Context, path: &str, mode: u16) {
    context.chmod(path, mode).expect("chmod");
}

/// Sets a list of mode 0770, in which user 1000 has these rights.
fn set_list(context: &Context, path: &str, user: Access) {
    let entry = |tag, grants| AclEntry { tag, grants };
    let (all, user) = (Access::all(), entry(AclTag::User(1000), user));
    let [owner, group, mask] = [AclTag::Owner, AclTag::Group, AclTag::Mask].map(|tag| entry(tag, all));
    let list = Acl::new(vec![owner, user, group, mask, entry(AclTag::Other, Access::empty())]);
    context.set_acl(path, AclKind::Access, Some(&list)).expect("set_acl");
}

const SUBJECTS: [Subject; 9] = [
    Subject {
        path: "/swapped/one/f",
        ask: mode,
        answers: [Ok(0o644), Ok(0o664)],
        change: |context, _| exchange(context, "/swapped/one", "/swapped/other"),
    },
    Subject {
        path: "/guarded/by/a/directory/f",
        ask: mode,
        answers: [Ok(0o644), REFUSED],
        change: |context, is_odd| chmod(context, "/guarded/by", if is_odd { 0o700 } else { 0o755 }),
    },
    Subject {
        path: "/rights/f",
        ask: readable,
        answers: [Ok(0), REFUSED],
        change: |context, is_odd| chmod(context, "/rights/f", if is_odd { 0o600 } else { 0o644 }),
    },
    Subject {
        path: "/listed/or/not/f",
        ask: mode,
        answers: [Ok(0o644), REFUSED],
        change: |context, is_odd| {
            if is_odd {
                set_list(context, "/listed/or", Access::READ);
            } else {
                context.set_acl("/listed/or", AclKind::Access, Some(&Acl::from_mode(0o755))).expect("set_acl");
            }
        },
    },
    Subject {
        path: "/listed/so/f",
        ask: mode,
        answers: [REFUSED, Ok(0o644)],
        change: |context, is_odd| {
            set_list(context, "/listed/so", if is_odd { Access::EXECUTE } else { Access::READ | Access::WRITE })
        },
    },
    Subject {
        path: "/names/come/and/go",
        ask: mode,
        answers: [ABSENT, Ok(0o666)],
        change: |context, is_odd| {
            let name = "/names/come/and/go";
            if is_odd {
                context.link("/names/kept", name).expect("link");
            } else {
                context.unlink(name).expect("unlink");
            }
        },
    },
    Subject {
        path: "/links/now/f",
        ask: mode,
        answers: [Ok(0o644), Ok(0o664)],
        change: |context, _| exchange(context, "/links/now", "/links/then"),
    },
    Subject {
        path: "/up/below/../f",
        ask: mode,
        answers: [Ok(0o644), ABSENT],
        change: |context, is_odd| {
            let (from, to) = if is_odd { ("/up/below", "/away/below") } else { ("/away/below", "/up/below") };
            context.renameat(At::Cwd, from, At::Cwd, to, RenameFlags::NOREPLACE).expect("a move");
        },
    },
    Subject {
        path: "/mounts/on/f",
        ask: mode,
        answers: [Ok(0o644), Ok(0o664)],
        change: |context, is_odd| {
            if is_odd {
                let fs = MemFs::new();
                fs.file("/f", 0o664).expect("a file");
                context.mount(fs, "/mounts/on", MountFlags::empty()).expect("mount");
            } else {
                context.umount("/mounts/on", UmountFlags::DETACH).expect("umount");
            }
        },
    },
];

fn tree() -> Result<MemFs, pathwalk_memfs::Error> {
    let fs = MemFs::new();
    let directories = [
        "/swapped",
        "/swapped/one",
        "/swapped/other",
        "/guarded",
        "/guarded/by",
        "/guarded/by/a",
        "/guarded/by/a/directory",
        "/rights",
        "/listed",
        "/listed/or",
        "/listed/or/not",
        "/listed/so",
        "/names",
        "/names/come",
        "/names/come/and",
        "/links",
        "/up",
        "/up/below",
        "/away",
        "/mounts",
        "/mounts/on",
    ];
    for path in directories {
        fs.mkdir(path, 0o755)?;
    }
    for path in
        ["/swapped/one/f", "/guarded/by/a/directory/f", "/rights/f", "/listed/or/not/f", "/listed/so/f", "/up/f", "/mounts/on/f"]
    {
        fs.file(path, 0o644)?;
    }
    fs.chmod("/listed/so", 0o700)?;
    fs.file("/swapped/other/f", 0o664)?;
    fs.file("/names/kept", 0o666)?;
    fs.mkdir("/links/a", 0o755)?;
    fs.mkdir("/links/b", 0o755)?;
    fs.file("/links/a/f", 0o644)?;
    fs.file("/links/b/f", 0o664)?;
    fs.symlink("a", "/links/now")?;
    fs.symlink("b", "/links/then")?;
    Ok(fs)
}

/// The numbers of wanted and of actual sure answers.
struct Tally {
    wanted: u64,
    sure: AtomicU64,
    is_over: AtomicBool,
}

/// A guard that reports the end, also after a panic.
struct Over<'a>(&'a Tally);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

impl Tally {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst) && self.sure.load(Ordering::SeqCst) < self.wanted
    }
}

/// Asks all questions in turns, and compares the sure answers with the right ones.
fn read(context: &Context, phases: &[Phase], tally: &Tally) {
    let _over = Over(tally);
    let mut subjects = SUBJECTS.iter().zip(phases).cycle();
    while tally.goes_on() {
        let mut sure = 0;
        for (subject, phase) in subjects.by_ref().take(ROUND as usize) {
            let (states, answer) = phase.during(|| (subject.ask)(context, black_box(subject.path)));
            if states.start() == states.end() {
                let state = *states.start();
                assert_eq!(answer, subject.answers[(state % 2) as usize], "{} in state {state}", subject.path);
                sure += 1;
            }
        }
        tally.sure.fetch_add(sure, Ordering::SeqCst);
    }
}

fn change(context: &Context, phases: &[Phase], tally: &Tally) {
    let _over = Over(tally);
    for (subject, phase) in SUBJECTS.iter().zip(phases).cycle() {
        if !tally.goes_on() {
            return;
        }
        phase.advance(|state| (subject.change)(context, state % 2 == 1));
        std::thread::sleep(REST);
    }
}

/// Runs readers beside a thread that changes objects, until there are as many sure answers as
/// wanted.
pub(crate) fn all_are_right(how: impl FnOnce(VfsBuilder) -> VfsBuilder) {
    let wanted = std::env::var("PATHWALK_SURE_ANSWERS")
        .ok()
        .map_or(ANSWERS, |text| text.parse().unwrap_or_else(|_| panic!("PATHWALK_SURE_ANSWERS is to be a number, not {text:?}")));
    let vfs = how(Vfs::builder()).build(tree().expect("a tree")).expect("a Vfs");
    let tally = Tally { wanted, sure: AtomicU64::new(0), is_over: AtomicBool::new(false) };
    let phases: Vec<Phase> = SUBJECTS.iter().map(|_| Phase::default()).collect();
    let (user, root) = (vfs.context(Credentials::user(1000, 1000, &[])), vfs.context(Credentials::root()));
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| read(&user, &phases, &tally));
        }
        scope.spawn(|| change(&root, &phases, &tally));
    });
    let changes: u64 = phases.iter().map(Phase::begun).sum();
    println!("{} sure answers beside {changes} changes; {:?}", tally.sure.into_inner(), vfs.stats().whole_paths);
}
