//! Eviction: names that are used stay in the cache, whatever else passes through it.

use pathwalk::{Access, Context, Credentials, MountFlags, Recursion, Vfs};
use pathwalk_memfs::{MemFs, Options};

/// Looks a path up again and again while names that are looked up once fill the cache many times
/// over. Returns how often the file system was asked because of the path.
fn asked_amid_a_storm(path: &str) -> u64 {
    const STORM: u64 = 2000;
    let fs = MemFs::new();
    fs.mkdir("/d", 0o755).unwrap();
    fs.file("/d/file", 0o644).unwrap();
    fs.symlink("/d", "/link").unwrap();
    let who: Context = Vfs::builder()
        .budget(Vfs::budget_for(64))
        .mount_flags(MountFlags::NOATIME)
        .build(fs.alias())
        .unwrap()
        .context(Credentials::root());
    let hit = || _ = who.access(path, Access::empty());
    hit();
    let before = fs.calls();
    for i in 0..STORM {
        let _ = who.access(format!("/none{i}"), Access::empty());
        (0..2).for_each(|_| hit());
    }
    fs.calls().since(&before).lookup - STORM
}

#[test]
fn a_file_stays() {
    assert_eq!(asked_amid_a_storm("/d/file"), 0);
}

#[test]
fn an_absent_name_stays() {
    assert_eq!(asked_amid_a_storm("/d/none"), 0);
}

#[test]
fn an_absent_directory_in_the_middle_of_a_path_stays() {
    assert_eq!(asked_amid_a_storm("/d/none/below/it"), 0);
}

#[test]
fn a_link_on_the_way_stays() {
    assert_eq!(asked_amid_a_storm("/link/file"), 0);
}

#[test]
fn an_absent_name_behind_a_link_stays() {
    assert_eq!(asked_amid_a_storm("/link/none"), 0);
}

/// A generator of numbers that are the same each time.
struct Random(u64);

impl Random {
    /// Returns a number below 2^31.
    fn next(&mut self) -> u64 {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a number below `end`, the low ones more often: half of all below an eighth.
    fn skewed(&mut self, end: u64) -> u64 {
        let part = self.next() as f64 / f64::from(1u32 << 31);
        (part.powi(3) * end as f64) as u64
    }

    fn even(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The paths that are looked up, for a number of slots.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Some files often, others seldom.
    Files,
    /// Some names often, others seldom; most of them are absent.
    Absences,
    /// Both, while a scan of all files passes by.
    Storm,
    /// Files and links of long names and bodies, for which side lines are short.
    Long,
}

impl Asked {
    fn path(self, at: u64, slots: u64, random: &mut Random) -> String {
        match self {
            Asked::Files => format!("/d/{}", random.skewed(4 * slots)),
            Asked::Absences if random.even(4) == 0 => format!("/d/{}", random.skewed(2 * slots)),
            Asked::Absences => format!("/d/none{}", random.skewed(4 * slots)),
            Asked::Storm if at.is_multiple_of(3) => format!("/d/{}", at / 3 % (4 * slots)),
            Asked::Storm if at % 3 == 1 => format!("/d/none{}", random.skewed(slots)),
            Asked::Storm => format!("/d/{}", random.skewed(2 * slots)),
            Asked::Long if random.even(2) == 0 => format!("/d/{}", random.skewed(slots)),
            Asked::Long => format!("/d/{:0100}", random.skewed(slots)),
        }
    }
}

/// Returns the number of lookups by the file system, of evictions and of slots that were examined
/// for them, where a share of the slots, in percent, is held.
fn decided(asked: Asked, slots: u64, held: u64) -> [u64; 3] {
    let fs = MemFs::new();
    fs.mkdir("/d", 0o755).unwrap();
    let files = if matches!(asked, Asked::Long) { slots } else { 4 * slots };
    (0..files).for_each(|i| fs.file(format!("/d/{i}"), 0o644).unwrap());
    if matches!(asked, Asked::Long) {
        (0..slots).for_each(|i| match i % 2 {
            0 => fs.symlink("/d/../".repeat(60), format!("/d/{i:0100}")).unwrap(),
            _ => fs.file(format!("/d/{i:0100}"), 0o644).unwrap(),
        });
    }
    let vfs =
        Vfs::builder().budget(Vfs::budget_for(slots)).mount_flags(MountFlags::NOATIME).one_by_one().seed(1).build(fs).unwrap();
    let who = vfs.context(Credentials::root());
    let mut random = Random(7);
    let mut handles = Vec::new();
    for at in 0..8 * slots {
        let path = asked.path(at, slots, &mut random);
        if random.even(100) < held && handles.len() as u64 * 100 < slots * held {
            handles.extend(who.lookup(&path).ok());
        } else {
            let _ = who.access(&path, Access::empty());
        }
        if at % 64 == 63 && !handles.is_empty() {
            handles.swap_remove(random.even(handles.len() as u64) as usize);
        }
    }
    let stats = vfs.stats();
    [stats.fs_lookups, stats.evictions, stats.looks]
}

/// Checks that the policy decides the same each time. When it changes, these numbers change. Then
/// compare them (the first of each three is what counts), and measure anew as described in
/// `docs/eviction.md`.
#[test]
fn what_goes_is_decided_as_it_was() {
    let rows: [(Asked, u64, u64, [u64; 3]); 12] = [
        (Asked::Files, 64, 0, [244, 181, 1782]),
        (Asked::Files, 500, 0, [1964, 1465, 15_366]),
        (Asked::Files, 500, 60, [1933, 1434, 16_570]),
        (Asked::Files, 20_000, 0, [78_614, 58_635, 215_726]),
        (Asked::Absences, 64, 0, [292, 229, 4119]),
        (Asked::Absences, 500, 0, [2338, 1839, 32_025]),
        (Asked::Absences, 500, 60, [2367, 1868, 37_709]),
        (Asked::Storm, 64, 0, [306, 243, 3309]),
        (Asked::Storm, 500, 60, [2360, 1861, 24_057]),
        (Asked::Storm, 20_000, 60, [94_403, 74_407, 348_343]),
        (Asked::Long, 64, 0, [159, 96, 1146]),
        (Asked::Long, 500, 60, [1596, 1099, 618_699]),
    ];
    for (asked, slots, held, expected) in rows {
        assert_eq!(decided(asked, slots, held), expected, "{asked:?}, {slots} slots, {held} % held");
    }
}

/// A node that is removed while something holds it is given back to the file system by a later
/// removal, once it is held no more, and not only when memory is needed.
#[test]
fn what_was_held_at_its_removal_goes_with_a_later_one() {
    let fs = MemFs::with(Options::default().max_bytes(1 << 20));
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    let free = || context.root().statfs().unwrap().blocks_free;
    let before = free();
    // Removed by the name by which it is held; or by the name that it got after an invalidation.
    for invalidated in [false, true] {
        let held: Vec<_> = (0..20)
            .map(|i| {
                let path = format!("/held-{i}");
                context.write(&path, "text").unwrap();
                let handle = context.lookup(&path).unwrap();
                if invalidated {
                    context.vfs().invalidate_subtree(context.root()).unwrap();
                }
                context.unlink(&path).unwrap();
                handle
            })
            .collect();
        assert_eq!(free(), before - 20);
        drop(held);
        for i in 0..10 {
            let path = format!("/other-{i}");
            context.write(&path, "").unwrap();
            context.unlink(&path).unwrap();
        }
        assert_eq!(free(), before, "{invalidated}");
    }
}

#[test]
fn a_mount_point_that_was_held_at_its_removal_goes_with_a_later_one() {
    let fs = MemFs::with(Options::default().max_bytes(1 << 20));
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    context.write("/over", "").unwrap();
    let free = || context.root().statfs().unwrap().blocks_free;
    let before = free();
    let mut elsewhere = context.clone();
    for invalidated in [false, true] {
        let held: Vec<_> = (0..20)
            .map(|i| {
                let path = format!("/held-{i}");
                context.write(&path, "text").unwrap();
                let handle = context.lookup(&path).unwrap();
                elsewhere.unshare().unwrap();
                elsewhere.bind("/over", &path, Recursion::Alone).unwrap();
                if invalidated {
                    context.vfs().invalidate_path(context.root(), &path).unwrap();
                }
                context.unlink(&path).unwrap();
                handle
            })
            .collect();
        drop(held);
        for i in 0..10 {
            let path = format!("/other-{i}");
            context.write(&path, "").unwrap();
            context.unlink(&path).unwrap();
        }
        assert_eq!(free(), before, "{invalidated}");
    }
}
