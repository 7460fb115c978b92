//! The file system below the engine: one in memory, or a directory of the host.
//!
//! A directory of the host is the root of a fresh tmpfs, or of ext4 in an image. It is mounted in a
//! mount namespace of its own, in which `/proc` is there, too. A thread that carries a program out
//! enters that namespace. All goes with the process.
//!
//! On ext4, programs also have what a tmpfs refuses: ranges that are taken out, put in and zeroed,
//! and connectable handles.
//!
//! What it does not do: with a directory of the host, programs do without mounts, times of accesses
//! and, on ext4, limits of space and `O_DIRECT`; and the options by which the file system in memory
//! asks to be asked have no effect.

mod branches;

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pathwalk::{
    Capabilities, Errno, FallocateFlags, FileSystem, HandleFlags, InodeFlags, Leases, OpenFlags, RwFlags, SpecialFiles, StatxMask,
};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use branches::Grown;

use crate::engine::options;
use crate::kernel::{self, Clock};
use crate::mounted;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Program, Settings};
use crate::times::Time;
use crate::words::Offset;

/// The kind of the file system.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The reference file system, in memory.
    Memfs,
    /// A directory of the host, on a tmpfs. Needs root.
    #[value(name = "host:tmpfs")]
    HostTmpfs,
    /// A directory of the host, on ext4 in an image. Needs root.
    #[value(name = "host:ext4")]
    HostExt4,
    /// As `host:tmpfs`, with each answer asked for again. Every other change is made by another
    /// `Vfs`.
    #[value(name = "host:tmpfs:strict")]
    HostTmpfsStrict,
    /// As `host:ext4`, with each answer asked for again. Every other change is made by another
    /// `Vfs`.
    #[value(name = "host:ext4:strict")]
    HostExt4Strict,
    /// As `host:tmpfs`, with each answer asked for again after some milliseconds.
    #[value(name = "host:tmpfs:ttl")]
    HostTmpfsTtl,
    /// As `host:ext4`, with each answer asked for again after some milliseconds.
    #[value(name = "host:ext4:ttl")]
    HostExt4Ttl,
    /// A branch of one in memory. The first part of a program makes the base, the next works on a
    /// branch of it, and the others on forks, which are committed in between.
    #[value(name = "branch:mem")]
    BranchMem,
    /// As `branch:mem`, of a directory of the host, on a tmpfs. Needs root.
    #[value(name = "branch:host")]
    BranchHost,
    /// What is mounted in a directory, and asked by system calls.
    #[value(skip)]
    Mounted,
}

impl Kind {
    fn is_ext4(self) -> bool {
        matches!(self, Kind::HostExt4 | Kind::HostExt4Strict | Kind::HostExt4Ttl)
    }

    /// Returns whether programs work on branches.
    pub(crate) fn is_branch(self) -> bool {
        matches!(self, Kind::BranchMem | Kind::BranchHost)
    }

    /// Returns whether the engine's side is a directory of the host, or its base is.
    pub(crate) fn needs_ground(self) -> bool {
        !matches!(self, Kind::Memfs | Kind::BranchMem)
    }

    /// Returns what the caches of a `Vfs` on a directory of the host promise.
    fn coherence(self) -> Coherence {
        match self {
            Kind::HostTmpfsStrict | Kind::HostExt4Strict => Coherence::Strict,
            Kind::HostTmpfsTtl | Kind::HostExt4Ttl => Coherence::Ttl { entry: SHORT, absence: SHORT, attributes: SHORT },
            _ => Coherence::Exclusive,
        }
    }

    /// Returns the program without what cannot be compared on this file system.
    pub(crate) fn adapted(self, mut program: Program) -> Program {
        if !self.is_branch() {
            program.settings -= Settings::REBASES;
        }
        if self != Kind::Memfs {
            program.steps.retain(|step| !step.op.changes_mounts());
            program.settings -= Settings::ACCESSES | Settings::NODIRATIME;
        }
        if self.coherence() == Coherence::Strict {
            // What another side removed takes room as long as it is held, and is at its old path.
            program.settings -= Settings::WATCH | Settings::FEW_NODES | Settings::FEW_PAGES;
            program.steps.retain(|step| !matches!(step.op, Op::OpenByHandle { .. }));
        }
        if self == Kind::Mounted {
            return mounted::adapted(program);
        }
        if self.is_branch() {
            branches::adapt(&mut program);
            for step in &mut program.steps {
                // A branch has the room of its store, and not of its base.
                if let Op::CopyRange { length, .. } = &mut step.op {
                    *length = (*length).min(LONGEST_COPY);
                }
            }
        }
        if !self.is_ext4() {
            program.steps.iter_mut().for_each(|step| without_what_tmpfs_lacks(&mut step.op));
        }
        if self.is_ext4() {
            program.settings -= Settings::FEW_NODES | Settings::FEW_PAGES;
            // In space that was allocated and not written, a hole begins where the kernel has no
            // page at hand.
            if program.steps.iter().any(|step| allocates(&step.op)) {
                program.steps.retain(|step| !matches!(step.op, Op::SeekData { .. } | Op::SeekHole { .. }));
            }
            // A file that may only grow, and has suid or sgid bits, gets no space there.
            if program.steps.iter().any(|step| matches!(step.op, Op::SetFlags { set, .. } if set.contains(InodeFlags::APPEND))) {
                program.steps.retain(|step| !matches!(step.op, Op::Fallocate { .. }));
            }
            for step in &mut program.steps {
                match &mut step.op {
                    // A position behind the greatest size of its files is refused there.
                    Op::Seek { by, .. } => *by = (*by).clamp(-LONG, LONG),
                    // A copy ends where the image is full.
                    Op::CopyRange { length, .. } => *length = (*length).min(LONGEST_COPY),
                    // The data has to be aligned there.
                    Op::Open { flags, .. } | Op::OpenUnder { flags, .. } => *flags -= OpenFlags::DIRECT,
                    // It is carried out there, and the engine refuses it.
                    Op::ReadWith { flags, .. } | Op::WriteWith { flags, .. } => *flags -= RwFlags::DONTCACHE,
                    // A refused one takes suid and sgid bits there, but of a privileged caller.
                    Op::Fallocate { mode, .. } if step.actor.has(Capabilities::FSETID) => *mode = possible(*mode),
                    _ => {}
                }
            }
        }
        program
    }

    /// Returns the transcript of a side without what ext4 decides by itself: the blocks in which it
    /// stores where others are, and numbers of nodes. A number is reused, so the step in which a
    /// node was made goes with it. A listing does not have that. The order in which the names of
    /// extended attributes are listed is its own, too. The position in a directory is a
    /// hash, from which the kernel reads and seeks in other ways.
    pub(crate) fn comparable(self, program: &Program, mut transcript: Transcript) -> Transcript {
        if self == Kind::Mounted {
            return mounted::comparable(program, transcript);
        }
        if self.is_branch() {
            return branches::comparable(transcript);
        }
        if !self.is_ext4() {
            return transcript;
        }
        for (step, outcome) in program.steps.iter().zip(&mut transcript.outcomes) {
            match (&step.op, &mut outcome.answer) {
                (Op::ListXattr { .. }, Answer::Bytes(names)) => {
                    let mut sorted: Vec<&[u8]> = names.split_inclusive(|byte| *byte == 0).collect();
                    sorted.sort_unstable();
                    *names = sorted.concat();
                }
                (_, Answer::Listing(listing)) => listing.values_mut().for_each(|(_, ino)| *ino = 0),
                (_, Answer::Some(mask, node)) if !mask.contains(StatxMask::BTIME) => node.ino = u64::MAX,
                (Op::ReadWith { offset: Offset(None), .. }, answer) => {
                    // Which error comes first depends on the position.
                    let may_be_of_directory = [Errno::EISDIR, Errno::EINVAL, Errno::EOPNOTSUPP].map(Answer::Failed);
                    if may_be_of_directory.contains(answer) {
                        *answer = Answer::Again;
                    }
                }
                (Op::Read { .. } | Op::SeekData { .. } | Op::SeekHole { .. }, answer) => {
                    let is_of_directory = matches!(answer, Answer::Failed(Errno::EISDIR | Errno::EINVAL));
                    if is_of_directory {
                        *answer = Answer::Again;
                    }
                }
                _ => {}
            }
        }
        transcript.nodes_mut(|node| {
            node.blocks = 0;
            if let (Time::Step(Some(step)), true) = (node.btime, node.ino != u64::MAX) {
                node.ino |= u64::from(step) << STEP_BITS;
            }
        });
        transcript
    }
}

/// Returns whether an operation allocates space that it does not write.
fn allocates(op: &Op) -> bool {
    matches!(op, Op::Fallocate { mode, .. } if !mode.contains(FallocateFlags::PUNCH_HOLE))
}

/// Returns the mode that takes out, puts in or zeroes a range in the place of one that every file
/// system refuses.
fn possible(mode: FallocateFlags) -> FallocateFlags {
    let moves = [FallocateFlags::COLLAPSE_RANGE, FallocateFlags::INSERT_RANGE];
    if mode.contains(FallocateFlags::ZERO_RANGE) {
        return FallocateFlags::ZERO_RANGE | mode & FallocateFlags::KEEP_SIZE;
    }
    let moves = moves.into_iter().find(|range| mode.contains(*range) && !mode.contains(FallocateFlags::KEEP_SIZE));
    moves.unwrap_or(mode)
}

/// Takes from an operation what a tmpfs refuses and other file systems carry out.
pub(crate) fn without_what_tmpfs_lacks(op: &mut Op) {
    if let Op::NameToHandle { flags, .. } = op
        && !flags.intersects(HandleFlags::FID | HandleFlags::EMPTY_PATH)
    {
        *flags -= HandleFlags::CONNECTABLE;
    }
}

/// Two places of the host: one for the kernel's side, and one for the engine.
pub(crate) struct Ground {
    kind: Kind,
    directory: PathBuf,
    /// The namespace in which both are mounted.
    namespace: OwnedFd,
}

impl Ground {
    /// Mounts both in a namespace of this process, which must have only one thread.
    pub(crate) fn prepared(kind: Kind) -> Result<Ground> {
        // SAFETY: the mounts become the process's own; no descriptor is affected.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.context("enter a mount namespace")?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).context("keep mounts to ourselves")?;
        let directory = std::env::temp_dir();
        mount("pathwalk", &directory, "tmpfs", MountFlags::NOATIME, c"mode=755").context("mount a tmpfs")?;
        let ground = |namespace| Ground { kind, directory, namespace };
        let namespace = openat(CWD, "/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let ground = ground(namespace);
        for side in ["kernel", "host"] {
            mount_side(kind, &ground.directory.join(side))?;
        }
        Ok(ground)
    }

    /// Returns the directory for the kernel's side, unless that makes a tmpfs of its own.
    pub(crate) fn of_kernel(&self) -> Option<PathBuf> {
        self.kind.is_ext4().then(|| self.directory.join("kernel"))
    }

    /// Returns the engine's side.
    pub(crate) fn of_engine(self) -> Result<Host> {
        let path = self.directory.join("host");
        let root = openat(CWD, &path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Host { kind: self.kind, path, root, namespace: self.namespace, clock: Clock::new()? })
    }
}

fn mount_side(kind: Kind, at: &Path) -> Result<()> {
    fs::create_dir(at)?;
    if !kind.is_ext4() {
        return mount("pathwalk", at, "tmpfs", MountFlags::NOATIME, c"mode=755,nr_inodes=1048576,size=1073741824")
            .context("mount a tmpfs");
    }
    let image = at.with_extension("image");
    fs::File::create(&image)?.set_len(IMAGE)?;
    let run = |command: &mut Command| -> Result<()> {
        let output = command.output().with_context(|| format!("run {command:?}"))?;
        ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    };
    // The same places for the same names: directories grow alike.
    let options = ["-q", "-b", "4096", "-E", "hash_seed=6c2f4a1e-0d0b-4c53-9b7e-3b1f9f6a7c11,lazy_itable_init=1"];
    run(Command::new("mkfs.ext4").args(options).arg(&image))?;
    // Blocks are counted when they are written, and not when the kernel finds the time.
    run(Command::new("mount").args(["-o", "loop,noatime,nodelalloc"]).args([&image, &at.to_path_buf()]))
}

/// The time for which answers are used where they are asked for again.
const SHORT: Duration = Duration::from_millis(10);

/// The greatest length of a copy on ext4 and on a branch, in bytes.
const LONGEST_COPY: u64 = 64 << 20;

/// The greatest length of a seek on ext4, in bytes.
const LONG: i64 = 1 << 40;

/// The number of the lowest bit of a step beside the number of a node.
const STEP_BITS: u32 = 48;

/// The size of an image, in bytes. It takes only what is used in memory.
const IMAGE: u64 = 1 << 30;

/// A directory of the host.
pub(crate) struct Host {
    kind: Kind,
    path: PathBuf,
    root: OwnedFd,
    namespace: OwnedFd,
    clock: Clock,
}

/// The file system below an engine.
pub(crate) enum Base {
    Memory,
    Host(Box<Host>),
    /// Branches of such a file system.
    Branches(Box<Base>),
}

/// A file system with a fresh tree.
pub(crate) enum Tree {
    Memory(MemFs),
    Host(Arc<HostFs>),
    Branches(Arc<Grown>),
}

impl Base {
    /// Makes a fresh tree for a program.
    pub(crate) fn tree(&mut self, settings: Settings, clock: &Arc<AtomicU32>) -> Result<Tree> {
        match self {
            Base::Memory => Ok(Tree::Memory(MemFs::with(options(settings, clock)))),
            Base::Host(host) => host.tree(settings),
            Base::Branches(base) => {
                let of_branches = matches!(**base, Base::Memory).then(|| Arc::clone(clock));
                Ok(Tree::Branches(Arc::new(Grown::new(base.tree(settings, clock)?, settings, of_branches))))
            }
        }
    }

    /// Notes that a step begins.
    pub(crate) fn step(&mut self) -> Result<()> {
        match self {
            Base::Memory => Ok(()),
            Base::Host(host) => host.clock.step().context("read the clock"),
            Base::Branches(base) => base.step(),
        }
    }

    /// Looks up the steps of the times that the host wrote.
    pub(crate) fn tell(&self, transcript: &mut Transcript) {
        match self {
            Base::Memory => {}
            Base::Host(host) => host.clock.tell(transcript),
            Base::Branches(base) => base.tell(transcript),
        }
    }
}

impl Host {
    fn tree(&mut self, settings: Settings) -> Result<Tree> {
        // SAFETY: root and working directory become the thread's own; no descriptor is affected.
        unsafe { unshare_unsafe(UnshareFlags::FS) }.context("give a thread a root of its own")?;
        move_into_link_name_space(std::os::fd::AsFd::as_fd(&self.namespace), Some(LinkNameSpaceType::Mount))
            .context("enter the namespace of the host")?;
        kernel::sweep(&self.root).context("empty the directory of the host")?;
        if !self.kind.is_ext4() {
            kernel::set_limits(&self.path, settings.limits()).context("set the limits of the host")?;
        }
        self.clock.begin().context("read the clock")?;
        let fs = HostFs::open_writable(&self.path)?.with_special_files(SpecialFiles::OfEngine).with_leases(Leases::OfEngine);
        Ok(Tree::Host(Arc::new(fs.with_coherence(self.kind.coherence()))))
    }
}

impl Tree {
    /// Returns one more name for the file system.
    pub(crate) fn alias(&self) -> Tree {
        match self {
            Tree::Memory(fs) => Tree::Memory(fs.alias()),
            Tree::Host(fs) => Tree::Host(Arc::clone(fs)),
            Tree::Branches(grown) => Tree::Branches(Arc::clone(grown)),
        }
    }

    /// Notes that an act begins, for which the file system is mounted anew.
    pub(crate) fn next_act(&self) -> Result<()> {
        if let Tree::Branches(grown) = self { grown.next_act() } else { Ok(()) }
    }

    /// Notes that the last act has ended.
    pub(crate) fn end(&self) -> Result<()> {
        if let Tree::Branches(grown) = self { grown.end() } else { Ok(()) }
    }

    /// Returns whether a directory of the host is listed, which may show a name twice if names
    /// change meanwhile.
    pub(crate) fn lists_as_host(&self) -> bool {
        !matches!(self, Tree::Memory(_))
    }

    /// Returns whether a `Vfs` on it is right although another one makes changes.
    pub(crate) fn has_others(&self) -> bool {
        matches!(self, Tree::Host(fs) if fs.coherence() == Coherence::Strict)
    }

    /// Returns the file system for a `Vfs`.
    pub(crate) fn for_vfs(&self) -> Box<dyn FileSystem> {
        match self.alias() {
            Tree::Memory(fs) => Box::new(fs),
            Tree::Host(fs) => Box::new(fs),
            Tree::Branches(grown) => grown.for_vfs(),
        }
    }
}
