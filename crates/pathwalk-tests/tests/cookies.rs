//! Positions in directories, as `telldir` and `seekdir` promise them: random programs by the kernel
//! on a tmpfs, and by a context on memfs.
//!
//! Several listings of one directory go on in turns, while names are made, removed, moved and
//! replaced between any two pieces. A name that is there all the time comes exactly once in each of
//! them. Some listings have an open directory of their own; some open the directory anew for each
//! piece, and go on at the cookie of the last, as an NFS server does; two share one open directory
//! and its position, so each name comes to one of them.
//!
//! On a tmpfs (6.18), a rename over a name moves the position of that name, and may move listings
//! that stand at it; so does an exchange. The kernel's programs leave both out. memfs keeps the
//! position of a name for as long as the name is there, as ext4 does.

use std::collections::BTreeMap;
use std::io::SeekFrom;
use std::os::fd::{AsFd, OwnedFd};

use fastrand::Rng;
use pathwalk::{At, Context, Credentials, EntryHandles, File, OpenFlags, OpenHow, RenameFlags, UnlinkFlags, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_tests::mounts::new_tmpfs;
use pathwalk_tests::skipped;
use rustix::fs::{self as host, AtFlags, Mode, OFlags, RawDir};

/// The number of names that stay, and of those that come and go.
const NAMES: usize = 16;

/// The listings: two with a directory of their own, two that open it anew, two that share one.
const LISTINGS: usize = 6;
const SHARED: [usize; 2] = [4, 5];

/// Returns the number of programs of each side; `PATHWALK_COOKIE_PROGRAMS` sets another number.
fn programs() -> u64 {
    std::env::var("PATHWALK_COOKIE_PROGRAMS").map_or(200, |text| text.parse().expect("a number"))
}

fn stays(at: usize) -> String {
    format!("s{at}")
}

fn comes(at: usize) -> String {
    format!("a name that comes and goes {at}")
}

/// One side: a directory whose names are changed, and its open listings.
trait Side {
    fn create(&mut self, name: &str);
    fn unlink(&mut self, name: &str);
    fn rename(&mut self, from: &str, to: &str);
    fn exchange(&mut self, one: &str, other: &str);
    /// Returns the names of the next piece of a listing, none at its end.
    fn piece(&mut self, listing: usize, rng: &mut Rng) -> Vec<String>;
}

/// Whether renames replace names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replaces {
    Never,
    Also,
}

fn run(side: &mut impl Side, seed: u64, replaces: Replaces) {
    let mut rng = Rng::with_seed(seed);
    for at in 0..NAMES {
        side.create(&stays(at));
        if rng.bool() {
            side.create(&comes(at));
        }
    }
    let mut seen: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new(); LISTINGS];
    let mut open: Vec<usize> = (0..LISTINGS).collect();
    while !open.is_empty() {
        let [one, other] = [(); 2].map(|()| rng.usize(..NAMES));
        match rng.u8(..12) {
            0..3 => side.create(&comes(one)),
            3..5 => side.unlink(&comes(one)),
            5 => side.rename(&comes(one), &comes(other)),
            6 if replaces == Replaces::Also => side.rename(&comes(one), &stays(other)),
            7 if replaces == Replaces::Also => side.exchange(&comes(one), &stays(other)),
            _ => {
                let listing = open[rng.usize(..open.len())];
                let piece = side.piece(listing, &mut rng);
                if piece.is_empty() {
                    open.retain(|of| *of != listing);
                }
                piece.into_iter().for_each(|name| *seen[listing].entry(name).or_default() += 1);
            }
        }
    }
    let shared = SHARED.map(|of| std::mem::take(&mut seen[of]));
    let together = shared.into_iter().flatten().fold(BTreeMap::new(), |mut all: BTreeMap<String, usize>, (name, count)| {
        *all.entry(name).or_default() += count;
        all
    });
    for seen in seen[..SHARED[0]].iter().chain([&together]) {
        for at in 0..NAMES {
            assert_eq!(seen.get(&stays(at)), Some(&1), "{} by program {seed}", stays(at));
        }
    }
}

/// A directory of the kernel.
struct Kernel {
    dir: OwnedFd,
    /// The descriptors of listings, and the cookies of those that open the directory anew.
    listings: Vec<(OwnedFd, u64)>,
}

impl Kernel {
    fn new(tmpfs: &OwnedFd) -> rustix::io::Result<Kernel> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        host::mkdirat(tmpfs, "d", Mode::from(0o755))?;
        let open = || host::openat(tmpfs, "d", flags, Mode::empty());
        let listings = (0..LISTINGS).map(|_| Ok((open()?, 0))).collect::<rustix::io::Result<_>>()?;
        Ok(Kernel { dir: open()?, listings })
    }
}

/// Changes may be refused, since a name is missing or exists.
impl Side for Kernel {
    fn create(&mut self, name: &str) {
        _ = host::openat(&self.dir, name, OFlags::CREATE | OFlags::WRONLY, Mode::from(0o644));
    }

    fn unlink(&mut self, name: &str) {
        _ = host::unlinkat(&self.dir, name, AtFlags::empty());
    }

    fn rename(&mut self, from: &str, to: &str) {
        _ = host::renameat_with(&self.dir, from, &self.dir, to, host::RenameFlags::NOREPLACE);
    }

    fn exchange(&mut self, one: &str, other: &str) {
        _ = host::renameat_with(&self.dir, one, &self.dir, other, host::RenameFlags::EXCHANGE);
    }

    fn piece(&mut self, listing: usize, rng: &mut Rng) -> Vec<String> {
        let size = rng.usize(56..400);
        if listing == 2 || listing == 3 {
            let cookie = self.listings[listing].1;
            let anew = host::openat(&self.dir, ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
            host::seek(&anew, host::SeekFrom::Start(cookie)).unwrap();
            self.listings[listing].0 = anew;
        }
        let of = if SHARED.contains(&listing) { SHARED[0] } else { listing };
        let mut buffer = Vec::with_capacity(size);
        let mut entries = RawDir::new(self.listings[of].0.as_fd(), buffer.spare_capacity_mut());
        let (mut names, mut last) = (Vec::new(), None);
        while let Some(entry) = entries.next() {
            let entry = entry.unwrap();
            names.push(entry.file_name().to_str().unwrap().to_owned());
            last = Some(entry.next_entry_cookie());
            if entries.is_buffer_empty() {
                break;
            }
        }
        assert!(last.is_none_or(|cookie| i64::try_from(cookie).is_ok()));
        self.listings[listing].1 = last.unwrap_or(self.listings[listing].1);
        names
    }
}

/// A directory of memfs.
struct Engine {
    who: Context,
    listings: Vec<(File, u64)>,
}

impl Engine {
    fn new(budget: u64) -> Engine {
        let who = Vfs::builder().budget(budget).build(MemFs::new()).unwrap().context(Credentials::root());
        let listings = (0..LISTINGS).map(|_| (who.open("/", OpenFlags::READ).unwrap(), 0)).collect();
        Engine { who, listings }
    }
}

impl Side for Engine {
    fn create(&mut self, name: &str) {
        let how = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o644, ..OpenHow::default() };
        _ = self.who.open(name, how);
    }

    fn unlink(&mut self, name: &str) {
        _ = self.who.unlinkat(At::Cwd, name, UnlinkFlags::empty());
    }

    fn rename(&mut self, from: &str, to: &str) {
        _ = self.who.renameat(At::Cwd, from, At::Cwd, to, RenameFlags::empty());
    }

    fn exchange(&mut self, one: &str, other: &str) {
        _ = self.who.renameat(At::Cwd, one, At::Cwd, other, RenameFlags::EXCHANGE);
    }

    fn piece(&mut self, listing: usize, rng: &mut Rng) -> Vec<String> {
        let most = rng.usize(1..6);
        if listing == 2 || listing == 3 {
            let anew = self.who.open("/", OpenFlags::READ).unwrap();
            anew.seek(SeekFrom::Start(self.listings[listing].1)).unwrap();
            self.listings[listing].0 = anew;
        }
        let of = if SHARED.contains(&listing) { SHARED[0] } else { listing };
        let file = &self.listings[of].0;
        let entries = if rng.bool() {
            file.getdents(most).unwrap()
        } else {
            let listed = self.who.readdirplus(file, most, EntryHandles::Without).unwrap();
            assert!(listed.iter().all(|of| of.attributes.is_ok()), "no change comes between: {listed:?}");
            listed.into_iter().map(|of| of.entry).collect()
        };
        let mut last = if SHARED.contains(&listing) { 0 } else { self.listings[listing].1 };
        for entry in &entries {
            assert!(entry.cookie > last && i64::try_from(entry.cookie).is_ok());
            last = entry.cookie;
        }
        self.listings[listing].1 = last;
        entries.into_iter().map(|entry| String::from_utf8(entry.name.into()).unwrap()).collect()
    }
}

#[test]
fn memfs_keeps_positions() {
    for seed in 0..programs() {
        for budget in [Vfs::budget_for(0), 1 << 20] {
            run(&mut Engine::new(budget), seed, Replaces::Also);
        }
    }
}

#[test]
fn a_tmpfs_of_the_kernel_keeps_positions() {
    for seed in 0..programs() {
        let side = new_tmpfs().map_err(|error| format!("this process may not mount a tmpfs ({error})"));
        match side.and_then(|tmpfs| Kernel::new(&tmpfs).map_err(|error| error.to_string())) {
            Ok(mut side) => run(&mut side, seed, Replaces::Never),
            Err(why) => return skipped("positions in a tmpfs", &why),
        }
    }
}
