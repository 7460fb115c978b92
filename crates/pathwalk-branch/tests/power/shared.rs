//! Data that files share: on a file system that can do that, a commit copies none that the base
//! has, and writes new data once.

use fastrand::Rng;
use pathwalk::{Context, Credentials, OpenFlags, Vfs};
use pathwalk_branch::{Branches, DiskStore, Options};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;

use super::disk::{Disks, Done, SECTOR};
use super::machine::{Kind, Machine};

/// The size of the files.
const LARGE: usize = 3 << 20;

/// A base on a disk, with its branches on the disk of the host.
struct Ground<'a> {
    branches: Branches,
    base: Context,
    machine: Machine<'a>,
    _store: tempfile::TempDir,
}

impl Ground<'_> {
    fn new(disks: &Disks, kind: Kind) -> Result<Ground<'_>, String> {
        let (machine, store) = (Machine::start(disks, kind, &[kind.make()?])?, tempfile::tempdir().unwrap());
        let host = HostFs::open_writable(machine.mounted(0)).unwrap().with_coherence(Coherence::Exclusive);
        let base = Vfs::builder().build(host).unwrap().context(Credentials::root());
        let options = Options::default().sync_every(None);
        let branches = Branches::open(base.clone(), options, DiskStore::open(store.path()).unwrap()).unwrap();
        Ok(Ground { branches, base, machine, _store: store })
    }

    fn fork(&self) -> Context {
        Vfs::builder().build(self.branches.fork(None, "work").unwrap()).unwrap().context(Credentials::root())
    }

    /// Returns the bytes in use on the disk.
    fn used(&self) -> u64 {
        self.base.syncfs("/").unwrap();
        let found = rustix::fs::statvfs(self.machine.mounted(0)).unwrap();
        (found.f_blocks - found.f_bfree) * found.f_frsize
    }

    /// Returns the bytes that were written to the disk.
    fn written(&self) -> u64 {
        self.base.syncfs("/").unwrap();
        let history = self.machine.history.lock();
        let sectors = |(_, done): &(usize, Done)| if let Done::Write(sectors) = done { sectors.len() } else { 0 };
        (history.iter().map(sectors).sum::<usize>() * SECTOR) as u64
    }
}

fn data(random: &mut Rng) -> Vec<u8> {
    (0..LARGE).map(|_| random.u8(..)).collect()
}

#[test]
fn what_a_branch_has_copied_or_written_takes_space_once() {
    let what = "data that files share";
    let (mut random, disks) = (Rng::new(), Disks::mounted());
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let disks = match &disks {
            Ok(disks) => disks,
            Err(error) => return skipped(what, &error.to_string()),
        };
        let ground = match Ground::new(disks, kind) {
            Ok(ground) => ground,
            Err(why) => {
                skipped(what, &why);
                continue;
            }
        };
        let (one, other) = (data(&mut random), data(&mut random));
        ground.base.write("/large", &one).unwrap();
        let (used, work) = (ground.used(), ground.fork());
        // A copy, and the first change of a large file.
        let from = work.open("/large", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        let to = work.open("/copy", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        assert_eq!(from.copy_file_range(Some(0), &to, Some(0), LARGE), Ok(LARGE));
        from.write_at(b"changed", 12345).unwrap();
        drop((from, to, work));
        ground.branches.sync().unwrap();
        assert!(ground.branches.stored() <= 4096, "the store has {} bytes", ground.branches.stored());
        assert_eq!(ground.used(), used, "{kind:?}: the base");
        ground.branches.commit("work").unwrap();
        assert!(ground.base.read("/copy").unwrap() == one, "{kind:?}");
        let more = ground.used() - used;
        // New data of a file that stays.
        let (work, written) = (ground.fork(), ground.written());
        work.open("/large", OpenFlags::WRITE).unwrap().write_at(&other, 0).unwrap();
        drop(work);
        ground.branches.commit("work").unwrap();
        assert!(ground.base.read("/large").unwrap() == other, "{kind:?}");
        let written = ground.written() - written;
        println!("{kind:?}: a copy of {LARGE} bytes took {more}, new data {written} bytes of writes");
        // The rest is what the file system notes of files.
        assert_eq!(more < LARGE as u64 / 3, kind != Kind::Ext4, "{kind:?}: {more} bytes more");
        assert_eq!(written < 2 * LARGE as u64, kind != Kind::Ext4, "{kind:?}: {written} bytes written");
    }
}
