//! Tests of a disk of which a part can no longer be read or written. The error is the host's,
//! `EIO`, nothing is taken for absent on its account, and all is well again when the disk is.
//!
//! The disk is an image that is cut off behind its first group of blocks. It cannot grow again,
//! since the tmpfs that it lies on is full.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pathwalk::{Context, Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};

use crate::common::{attempt, mount_tmpfs, unmount_all, unmount_unused, with_own_mounts};

/// The bytes of a group: as many blocks of 1024 bytes as one of them has bits.
const GROUP: u64 = 8 << 20;

/// The number of groups of the disk.
const GROUPS: u64 = 6;

/// Directories of the tree. ext4 spreads them over the groups.
const DIRECTORIES: usize = 24;

/// The bytes of a file that reaches from the first group into others.
const LONG: u64 = 16 << 20;

/// A disk in an image, mounted.
struct Disk {
    image: PathBuf,
    at: PathBuf,
    /// Takes what is left of the space below the image.
    ballast: PathBuf,
}

impl Disk {
    /// Makes one with a tree in it, and mounts it anew, so that the host has read none of the tree.
    fn new(place: &Path) -> Result<Disk, String> {
        let space = place.join("space");
        let disk = Disk { image: space.join("image"), at: place.join("at"), ballast: space.join("ballast") };
        [&space, &disk.at].iter().for_each(|dir| fs::create_dir(dir).unwrap());
        mount_tmpfs(&space, "size=64m")?;
        File::create(&disk.image).unwrap().set_len(GROUPS * GROUP).unwrap();
        attempt("mkfs.ext4", &["-q", "-b", "1024", "-O", "^has_journal,^flex_bg,^resize_inode"], &disk.image)?;
        disk.mount()?;
        let body = vec![7; LONG as usize];
        fs::write(disk.at.join("near"), "near").unwrap();
        fs::write(disk.at.join("long"), &body).unwrap();
        for number in 0..DIRECTORIES {
            let dir = disk.at.join(number.to_string());
            fs::create_dir_all(dir.join("sub")).unwrap();
            fs::write(dir.join("file"), "file").unwrap();
        }
        unmount_unused(&disk.at)?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        attempt("mount", &["-o", "loop,noatime", self.image.to_str().unwrap()], &self.at)
    }

    /// Returns the directories outside of the first group.
    fn far(&self) -> Vec<String> {
        let in_group = rustix::fs::statvfs(&self.at).unwrap().f_files / GROUPS;
        // The number of a node is in its entry: the node is not read.
        let entries = fs::read_dir(&self.at).unwrap().map(|entry| entry.unwrap());
        let far = entries.filter(|entry| std::os::unix::fs::DirEntryExt::ino(entry) > in_group);
        far.map(|entry| format!("/{}", entry.file_name().into_string().unwrap())).collect()
    }

    /// Takes all but the first group away, while `body` runs.
    fn without_the_rest(&self, body: impl FnOnce()) {
        let image = OpenOptions::new().read(true).write(true).open(&self.image).unwrap();
        let mut rest = vec![0; ((GROUPS - 1) * GROUP) as usize];
        image.read_exact_at(&mut rest, GROUP).unwrap();
        // Its blocks are all there, and can be written.
        rustix::fs::fallocate(&image, rustix::fs::FallocateFlags::empty(), 0, GROUP).unwrap();
        image.set_len(GROUP).unwrap();
        let ballast = File::create(&self.ballast).unwrap();
        let mut at = 0;
        while let Ok(count) = ballast.write_at(&[0; 1 << 16], at) {
            at += count as u64;
        }
        body();
        // A child of another test may have it open.
        ballast.set_len(0).unwrap();
        fs::remove_file(&self.ballast).unwrap();
        image.write_all_at(&rest, GROUP).unwrap();
    }
}

/// Returns root's context on the disk.
fn on(disk: &Disk, coherence: Coherence) -> Context {
    let fs = HostFs::open_writable(&disk.at).unwrap().with_coherence(coherence);
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Carries out calls that need what cannot be read, and returns their answers.
fn refused(context: &Context, far: &str) -> Vec<Result<(), Errno>> {
    let path = |name: &str| format!("{far}/{name}");
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    vec![
        context.stat(path("file")).map(drop),
        context.stat(path("absent")).map(drop),
        context.lstat(far).map(drop),
        context.read_dir(far).map(drop).map_err(|error| error.errno()),
        context.open(path("file"), flags).map(drop),
        context.open(path("new"), flags).map(drop),
        context.mkdir(path("new"), 0o755),
        context.rmdir(path("sub")),
        context.unlink(path("file")),
        context.chmod(path("file"), 0o600),
        context.link("/near", path("second")),
        context.rename("/near", path("near")).map_err(|error| error.errno()),
    ]
}

/// Asserts that the engine sees what the host has.
fn assert_same(context: &Context, disk: &Disk, far: &[String]) {
    crate::common::assert_same(&disk.at.join("near"), &context.lstat("/near").unwrap());
    for name in far.iter().flat_map(|far| ["", "/file", "/sub"].map(|end| format!("{far}{end}"))) {
        crate::common::assert_same(&disk.at.join(&name[1..]), &context.lstat(&name).unwrap());
    }
    for far in far {
        assert_eq!(context.read(format!("{far}/file")).unwrap(), b"file");
        assert_eq!(context.read_dir(far).unwrap().count(), 2, "{far}");
        assert_eq!(context.stat(format!("{far}/absent")), Err(Errno::ENOENT));
    }
}

#[test]
fn what_cannot_be_read_is_eio_until_it_can() {
    let second = Duration::from_secs(1);
    let ttl = Coherence::Ttl { entry: second, absence: second, attributes: second };
    for coherence in [Coherence::Exclusive, Coherence::Watch, Coherence::Strict, ttl] {
        let place = tempfile::tempdir().unwrap();
        with_own_mounts("what_cannot_be_read_is_eio_until_it_can", || {
            let disk = Disk::new(place.path())?;
            let far = disk.far();
            assert!(far.len() > DIRECTORIES / 3, "{far:?}");
            let context = on(&disk, coherence);
            assert_eq!(context.read("/near").unwrap(), b"near");
            disk.without_the_rest(|| {
                let of_host = fs::symlink_metadata(disk.at.join(&far[0][1..])).map(drop);
                assert_eq!(of_host.unwrap_err().raw_os_error(), Some(Errno::EIO.raw()));
                for far in &far {
                    let refused = refused(&context, far);
                    assert!(refused.iter().all(|answer| *answer == Err(Errno::EIO)), "{coherence:?} {far}: {refused:?}");
                }
                assert_eq!(context.read("/near").unwrap(), b"near");
                assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
            });
            assert_same(&context, &disk, &far);
            drop(context);
            unmount_all(&disk.at)
        });
    }
}

#[test]
fn data_that_is_not_on_the_disk_is_eio_until_it_is() {
    let place = tempfile::tempdir().unwrap();
    with_own_mounts("data_that_is_not_on_the_disk_is_eio_until_it_is", || {
        let disk = Disk::new(place.path())?;
        let context = on(&disk, Coherence::Exclusive);
        let file = context.open("/long", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        let host = OpenOptions::new().read(true).write(true).open(disk.at.join("long")).unwrap();
        disk.without_the_rest(|| {
            let mut buffer = [0; 100];
            assert_eq!(file.read_at(&mut buffer, LONG - 100), Err(Errno::EIO));
            // What was written stays in memory. That it could not be stored is told once, to each
            // descriptor.
            assert_eq!(file.write_at(&[8; 4096], LONG - 8192), Ok(4096));
            let failed = file.sync_all().unwrap_err();
            assert_eq!((host.sync_all().unwrap_err().raw_os_error(), file.sync_all()), (Some(failed.raw()), Ok(())));
        });
        let mut buffer = [0; 100];
        assert_eq!((file.read_at(&mut buffer, LONG - 100), buffer), (Ok(100), [7; 100]));
        assert_eq!(file.write_at(&[9; 4096], LONG - 8192), Ok(4096));
        file.sync_all().unwrap();
        crate::common::assert_same(&disk.at.join("long"), &context.lstat("/long").unwrap());
        let size = host.metadata().unwrap().size();
        assert_eq!(size, LONG);
        drop((file, host, context));
        unmount_unused(&disk.at)?;
        disk.mount()?;
        let stored = fs::read(disk.at.join("long")).unwrap();
        assert!(stored[(LONG - 8192) as usize..][..4096].iter().all(|byte| *byte == 9), "it was stored");
        unmount_all(&disk.at)
    });
}
