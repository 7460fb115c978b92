//! Mounts on both sides: the calls that several tests make to the kernel and to the engine.
//!
//! What always holds: a system call here changes nothing but the namespace of the calling thread,
//! and a new file system is mounted nowhere yet.
//!
//! It does not enter namespaces: [`place`](crate::place) does.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use pathwalk::{Context, Credentials, MountFlags, Vfs};
use pathwalk_memfs::MemFs;
use procfs_core::process::{MountInfo, MountOptFields};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen};

/// A line of `mountinfo`. Numbers are identities: only their equality matters, and the order of
/// lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The number of the mount.
    pub id: u64,
    /// The number of the mount that it is mounted in.
    pub parent: u64,
    /// The number of its file system.
    pub superblock: u64,
    /// Its root within the file system.
    pub root: String,
    /// The place that it covers, from the root of the caller.
    pub point: String,
    /// The switches of the mount: `READ_ONLY` 1, `NOEXEC` 2, `NOSYMFOLLOW` 4, `NOSUID` 8.
    pub flags: u32,
    /// The switches of its file system: `READ_ONLY` 1.
    pub superblock_flags: u32,
    /// The peer group of the mount.
    pub shared: Option<u64>,
    /// The group that the mount receives changes from.
    pub master: Option<u64>,
    /// The nearest such group below the caller's root.
    pub propagate_from: Option<u64>,
    /// A flag that is set if the mount cannot be bound.
    pub unbindable: bool,
    /// A flag that is set if the mount has an id map.
    pub id_mapped: bool,
}

impl Line {
    /// Reads a line of `/proc/self/mountinfo`. Panics for any other text.
    pub fn parse(line: &str) -> Line {
        let mount = MountInfo::from_line(line).expect("a line of mountinfo");
        let (major, minor) = mount.majmin.split_once(':').expect("major:minor");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let names = [("ro", 1), ("noexec", 2), ("nosymfollow", 4), ("nosuid", 8)];
        let flags = names.iter().filter(|(name, _)| mount.mount_options.contains_key(*name)).map(|(_, bit)| bit).sum();
        let mut line = Line {
            id: mount.mnt_id as u64,
            parent: mount.pid as u64,
            superblock: number(major) << 32 | number(minor),
            root: mount.root,
            point: mount.mount_point.into_os_string().into_string().expect("a path of ASCII"),
            flags,
            superblock_flags: mount.super_options.contains_key("ro").into(),
            shared: None,
            master: None,
            propagate_from: None,
            unbindable: false,
            id_mapped: mount.mount_options.contains_key("idmapped"),
        };
        for field in mount.opt_fields {
            match field {
                MountOptFields::Shared(group) => line.shared = Some(group.into()),
                MountOptFields::Master(group) => line.master = Some(group.into()),
                MountOptFields::PropagateFrom(group) => line.propagate_from = Some(group.into()),
                MountOptFields::Unbindable => line.unbindable = true,
            }
        }
        line
    }
}

/// Returns the mounts of this thread's namespace that are below its root. `proc` is `/proc`, opened
/// before the thread had a root of its own.
pub fn mountinfo(proc: &OwnedFd) -> io::Result<Vec<Line>> {
    let fd = rustix::fs::openat(proc, "thread-self/mountinfo", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    File::from(fd).read_to_string(&mut text)?;
    Ok(text.lines().map(Line::parse).collect())
}

/// Creates an empty file system that is mounted nowhere and updates no access times.
pub fn new_tmpfs() -> io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), "mode", "755")?;
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NOATIME)?)
}

/// Creates a mount of overlayfs that is attached nowhere, of a lower and an upper layer and a work
/// directory, with further options.
pub fn new_overlay([lower, upper, work]: [&Path; 3], options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, layer) in [("lowerdir", lower), ("upperdir", upper), ("workdir", work)] {
        fsconfig_set_string(context.as_fd(), name, layer)?;
    }
    for (name, value) in options {
        fsconfig_set_string(context.as_fd(), *name, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Returns a context in its own namespace, with `fs` mounted over the root mount, as the kernel's
/// root file system is mounted over one that cannot be seen.
pub fn context_on(fs: MemFs) -> Context {
    context_within(4 << 20, fs)
}

/// Returns a context as [`context_on`] does, with this budget for the caches: it limits mounts,
/// since there are no more mounts than dentries.
pub fn context_within(budget: u64, fs: MemFs) -> Context {
    let vfs = Vfs::builder().budget(budget).build(MemFs::new()).expect("a Vfs");
    let mut context = vfs.context(Credentials::root());
    // The first namespace would live as long as the `Vfs`.
    context.unshare().expect("a namespace");
    context.mount(fs, "/", MountFlags::empty()).expect("the root can be covered");
    context.chroot("/..").expect("what is mounted on the root");
    context.chdir("/").expect("the root");
    context
}
