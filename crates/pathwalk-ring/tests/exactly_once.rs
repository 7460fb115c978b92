//! Each entry completes once: under random cancellation, time limits, a file system that fails, dawdles and panics, a tiny queue, and caches that are
//! too small.
//!
//! | variable | what | default |
//! |---|---|---|
//! | `PATHWALK_RING_OPERATIONS` | entries of all threads | 50,000 |
//! | `PATHWALK_RING_SEED` | of the random choices | by the clock; printed |

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;
use pathwalk::{Context, Credentials, Errno, OpenFlags, OpenHow, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{Completion, Entry, EntryFlags, Offset, Op, Pool, Removal, Ring, Value};
use pathwalk_tests::failing::{Failing, PerMille, Plan};

const PATHS: [&str; 12] = ["/a", "/b", "/c", "/d", "/d/a", "/d/b", "/d/c", "/d/d", "/l/a", "/l/b", "/none", "/d/none"];

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a number")))
}

fn path(random: &mut Rng) -> &'static str {
    PATHS[random.usize(..PATHS.len())]
}

fn op(random: &mut Rng, files: &[Arc<pathwalk::File>], last: u64) -> Op<'static> {
    let file = |random: &mut Rng| files.get(random.usize(..files.len().max(1))).cloned();
    let place = path(random).into();
    match random.u32(..100) {
        0..30 => Op::stat(path(random)),
        30..40 => Op::lookup(path(random)),
        40..45 => Op::readlink("/l"),
        45..55 => Op::open(path(random), OpenFlags::READ),
        55..60 => {
            let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
            Op::Openat2 { place, how: OpenHow { flags, mode: 0o600, ..OpenHow::default() } }
        }
        60..64 => Op::Mkdirat { place, mode: 0o700 },
        64..68 => Op::Unlinkat { place, what: if random.bool() { Removal::Name } else { Removal::Directory } },
        68..72 => Op::Renameat { from: place, to: path(random).into(), flags: RenameFlags::empty() },
        72..90 => Op::Cancel { user_data: last.saturating_sub(random.u64(..16)) },
        90..94 => Op::Timeout { after: Duration::from_micros(random.u64(..200)) },
        94..98 => match file(random) {
            Some(file) => Op::Read { file, buffer: vec![0; 8], offset: Offset::At(0) },
            None => Op::Nop,
        },
        _ => match file(random) {
            Some(file) => Op::Close { file },
            None => Op::Nop,
        },
    }
}

/// What one owner of a ring knows of its entries.
struct Ledger {
    waiting: HashMap<u64, &'static str>,
    next: u64,
    counts: HashMap<(&'static str, i32), u64>,
}

fn name(op: &Op<'_>) -> &'static str {
    match op {
        Op::Cancel { .. } => "cancel",
        Op::Timeout { .. } => "timeout",
        Op::LinkTimeout { .. } => "limit",
        _ => "operation",
    }
}

impl Ledger {
    fn entry(&mut self, op: Op<'static>, flags: EntryFlags) -> Entry<'static> {
        let user_data = self.next;
        self.next += 1;
        self.waiting.insert(user_data, name(&op));
        Entry::new(user_data, op).with(flags)
    }

    fn settle(&mut self, done: &Completion) {
        let what = self.waiting.remove(&done.user_data);
        let what = what.unwrap_or_else(|| panic!("{} completed twice, or was never submitted: {done:?}", done.user_data));
        *self.counts.entry((what, done.res().min(0))).or_default() += 1;
    }
}

fn own(context: Context, pool: Pool, seed: u64, operations: u64) -> HashMap<(&'static str, i32), u64> {
    let mut random = Rng::with_seed(seed);
    let mut ring = Ring::builder(context.clone()).entries(4).completions(6).pool(pool.clone()).build();
    let mut ledger = Ledger { waiting: HashMap::new(), next: 0, counts: HashMap::new() };
    let mut queue = ring.queue();
    let mut files = Vec::new();
    while ledger.next < operations {
        for _ in 0..random.u32(1..5) {
            let flags = match random.u32(..20) {
                0..4 => EntryFlags::LINK,
                4 => EntryFlags::HARDLINK,
                5 => EntryFlags::ASYNC,
                _ => EntryFlags::empty(),
            };
            let last = ledger.next;
            if flags == EntryFlags::LINK && queue.len() < 3 && random.bool() {
                let op = op(&mut random, &files, last);
                queue.push(ledger.entry(op, flags)).unwrap();
                let after = Duration::from_micros(random.u64(..100));
                queue.push(ledger.entry(Op::LinkTimeout { after }, EntryFlags::empty())).unwrap();
            } else if queue.len() < 4 {
                let op = op(&mut random, &files, last);
                queue.push(ledger.entry(op, flags)).unwrap();
            }
        }
        while !queue.is_empty() {
            match ring.submit(&mut queue) {
                Ok(_) => {}
                Err(Errno::EBUSY) => _ = ring.wait(random.usize(1..3)),
                Err(errno) => panic!("{errno}"),
            }
            while let Some(done) = ring.reap() {
                ledger.settle(&done);
                if let Ok(Value::File(file)) = done.result {
                    files.push(file);
                }
            }
        }
        while files.len() > 8 {
            files.swap_remove(random.usize(..files.len()));
        }
        if random.u32(..64) == 0 {
            // A ring that goes with all it has.
            ring = Ring::builder(context.clone()).entries(4).completions(6).pool(pool.clone()).build();
            ledger.waiting.clear();
        }
        if random.u32(..32) == 0 {
            pathwalk::internals::evict(context.vfs(), 4);
        }
    }
    ring.wait(usize::MAX);
    while let Some(done) = ring.reap() {
        ledger.settle(&done);
    }
    assert!(ledger.waiting.is_empty(), "never completed: {:?}", ledger.waiting);
    assert_eq!(ring.outstanding(), 0);
    ledger.counts
}

#[test]
fn each_entry_completes_once() {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let (operations, seed) = (number("PATHWALK_RING_OPERATIONS", 50_000), number("PATHWALK_RING_SEED", clock));
    println!("PATHWALK_RING_OPERATIONS={operations} PATHWALK_RING_SEED={seed}");
    let fs = MemFs::new();
    fs.mkdir("/d", 0o700).unwrap();
    fs.symlink("/l", "d").unwrap();
    let fs = Arc::new(Failing::new(fs));
    let vfs = Vfs::builder().budget(Vfs::budget_for(64)).build(fs.clone()).unwrap();
    fs.start(Plan::random(seed, PerMille { errors: 50, delays: 50, panics: 1 }));
    let pool = Pool::builder().workers(3).idle(Duration::from_millis(1)).build();
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let (context, pool) = (vfs.context(Credentials::root()), pool.clone());
            std::thread::spawn(move || own(context, pool, seed ^ thread, operations / 2))
        })
        .collect();
    let mut counts: HashMap<_, u64> = HashMap::new();
    for thread in threads {
        thread.join().unwrap().into_iter().for_each(|(what, n)| *counts.entry(what).or_default() += n);
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    let errno = |res: i32| if res == 0 { "Ok".to_owned() } else { format!("{:?}", Errno::from_raw(-res)) };
    counts.iter().for_each(|((what, res), n)| println!("{what:9} {:12} {n}", errno(*res)));
    println!("the file system: {:?}", fs.stop());
    // Nothing is left of what was cancelled, dropped, or broken off by a panic.
    let begin = Instant::now();
    while pool.stats().workers != 0 {
        assert!(begin.elapsed() < Duration::from_secs(600), "workers stay: {pool:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    pathwalk::internals::evict(&vfs, usize::MAX);
    let stats = vfs.stats();
    assert_eq!((stats.dentries.used, stats.inodes.used), (1, 1), "only the root is left");
    let some = |what, res: Errno| counts.iter().any(|((of, with), _)| *of == what && *with == -res.raw());
    if operations >= 50_000 {
        assert!(some("operation", Errno::ECANCELED) && some("cancel", Errno::ENOENT) && some("operation", Errno::EIO));
        assert!(some("timeout", Errno::ETIME) && some("limit", Errno::ECANCELED));
    }
}
