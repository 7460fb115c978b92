//! The interpreter that carries programs out with the kernel: on a tmpfs, with a thread for each
//! process.
//!
//! A thread has its own credentials, root, working directory and umask. Steps happen one after the
//! other: the threads pass the stage on, and each holds it as long as the steps are its own. All
//! threads share the descriptors.
//!
//! - [`place`]: the namespace and the tmpfs;
//! - [`switches`]: the settings `fs.protected_*`;
//! - [`calls`], [`administer`], [`inode_flags`] and [`xattr`]: one operation as a system call;
//! - [`open_files`]: locks, leases, handles and sockets;
//! - [`helpers`]: one operation as a function of `std::fs`;
//! - [`tree`]: reads the whole tree, and removes it;
//! - [`clock`]: determines the step in which a time was written;
//! - [`watch`]: the whole tree and all open files after a step;
//! - [`mounts`]: the mounts of a program.

mod acl;
mod administer;
mod calls;
mod clock;
mod helpers;
mod inode_flags;
mod mounts;
mod open_files;
mod place;
mod space;
mod switches;
mod tree;
mod watch;
mod xattr;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use pathwalk::{Errno, MountFlags};
use rustix::thread::UnshareFlags;

pub use calls::{at_flags, errno, faccessat2, link_flags, open_flags, rename_flags};
pub(crate) use clock::Clock;
pub(crate) use place::{Supervised, set_limits, supervise};
use switches::Switches;
pub(crate) use tree::sweep;

use crate::cast::{self, ACTORS, Actor};
use crate::id_maps;
use crate::outcome::{Answer, Contents, Interpreter, Outcome, Transcript};
use crate::program::{Act, Program, Settings, Step};
use crate::words::{SLOTS, Slot};

/// The interpreter that uses the kernel.
pub(crate) struct Kernel {
    switches: Switches,
    root: OwnedFd,
    /// Whether the file system is a tmpfs, whose limits can be set.
    has_limits: bool,
    /// The mount namespace, if it is not that of the process.
    apart: Option<OwnedFd>,
    set: Option<Settings>,
    clock: Clock,
    proc: OwnedFd,
    /// The file systems that the program mounted. An open one keeps its device number from being
    /// reused.
    mounted: Vec<OwnedFd>,
}

impl Kernel {
    /// Makes a tmpfs the root of this process, or the file system that is mounted at `at`. Runs in
    /// the child of [`supervise`].
    pub(crate) fn enter(at: Option<&Path>) -> Result<Kernel> {
        Kernel::with_root(at.is_none(), || place::enter(at))
    }

    /// Prepares a namespace in which what is mounted at `at` is the root, for threads that carry
    /// programs out. The process keeps its own namespace, and must have only one thread.
    pub(crate) fn apart(at: &Path) -> Result<Kernel> {
        let outside = place::namespace_of_process().context("open the namespace")?;
        let mut kernel = Kernel::with_root(false, || place::enter(Some(at)))?;
        kernel.apart = Some(place::own_namespace(&kernel.proc).context("open the namespace of the mount")?);
        place::enter_namespace(&outside).context("go back to the namespace")?;
        Ok(kernel)
    }

    fn with_root(has_limits: bool, enter: impl FnOnce() -> Result<OwnedFd>) -> Result<Kernel> {
        let switches = Switches::open().context("find the switches fs.protected_*")?;
        switches.set(Settings::empty()).context("set the switches fs.protected_*")?;
        let proc = watch::proc().context("open /proc")?;
        // The namespaces are made by running a program, which the new root does not have.
        if let Err(why) = id_maps::namespaces() {
            eprintln!("xtask: no namespace of users can be made ({why}): there are no id maps");
        }
        open_files::ignore_breaks();
        let root = enter()?;
        let clock = Clock::new().context("make a clock")?;
        if !clock.is_fine() {
            eprintln!(
                "xtask: this kernel has no fine times (Linux has them since 6.13): changes within one tick of its clock are not distinguished"
            );
        }
        Ok(Kernel { switches, root, has_limits, apart: None, set: None, clock, proc, mounted: Vec::new() })
    }
}

impl Interpreter for Kernel {
    fn name(&self) -> &'static str {
        if self.apart.is_some() { "mounted file system" } else { "kernel" }
    }

    fn run(&mut self, program: &Program) -> Result<Transcript> {
        if let Some(namespace) = &self.apart {
            // SAFETY: root and working directory become the thread's own; no descriptor is
            // affected.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.context("give a thread a root of its own")?;
            place::enter_namespace(namespace).context("enter the namespace of the mount")?;
        }
        if self.set != Some(program.settings) {
            self.switches.set(program.settings).context("set the kernel's switches")?;
            self.set = Some(program.settings);
        }
        self.mounted.clear();
        tree::sweep(&self.root).context("empty the tmpfs")?;
        if self.has_limits {
            set_limits("/".as_ref(), program.settings.limits()).context("set the limits of the tmpfs")?;
        }
        self.clock.begin().context("read the clock")?;
        let mut outcomes = Vec::with_capacity(program.steps.len());
        let accesses = program.settings.of_accesses();
        // Setting the limits left this one.
        let mut mounted = (MountFlags::empty(), MountFlags::NOATIME);
        for Act { mount, steps } in program.acts() {
            if (mount, accesses) != mounted {
                place::set_mount(mount, accesses).with_context(|| format!("set the flags of the mount to {mount:?}"))?;
                mounted = (mount, accesses);
            }
            outcomes.extend(if program.changes_mounts() {
                let outcomes = self.perform_apart(program.settings, steps).context("carry out what changes mounts")?;
                // A remount may have left the file system read-only. Setting the limits clears the
                // mount's flags as well.
                set_limits("/".as_ref(), program.settings.limits()).context("make the tmpfs writable")?;
                place::set_mount(mount, accesses).with_context(|| format!("set the flags of the mount to {mount:?} again"))?;
                outcomes
            } else {
                self.perform(program.settings, steps)
            });
        }
        // To look at the tree is no access.
        if mounted != (MountFlags::empty(), MountFlags::NOATIME) {
            place::set_mount(MountFlags::empty(), MountFlags::NOATIME).context("take the flags of the mount away")?;
        }
        let tree = tree::look(&self.root, Contents::Ends).context("look at the tmpfs")?;
        let mut transcript = Transcript { outcomes, tree };
        self.clock.tell(&mut transcript);
        Ok(transcript)
    }
}

impl Kernel {
    /// Carries steps out in a copy of the namespace, whose mounts go with it.
    fn perform_apart(&mut self, settings: Settings, steps: &[Step]) -> Result<Vec<Outcome>> {
        let namespace = place::own_namespace(&self.proc).context("open the namespace")?;
        let outside = std::mem::replace(&mut self.root, place::copy_namespace()?);
        let outcomes = self.perform(settings, steps);
        place::enter_namespace(&namespace).context("go back to the namespace")?;
        self.root = outside;
        Ok(outcomes)
    }

    /// Carries steps out, by processes that begin at the root.
    fn perform(&mut self, settings: Settings, steps: &[Step]) -> Vec<Outcome> {
        let play = Play::new(settings, steps, self);
        thread::scope(|scope| {
            let plays = |actor: &Actor| steps.iter().any(|step| step.actor == *actor);
            for actor in cast::all_actors().filter(plays) {
                let play = &play;
                scope.spawn(move || play.act(actor));
            }
        });
        play.stage.into_inner().unwrap_or_else(PoisonError::into_inner).outcomes
    }
}

struct Descriptor {
    fd: OwnedFd,
    opener: Actor,
    path: Told,
}

/// The path that the kernel tells of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// That by which the node was found.
    Compares,
    /// That of any of the node's names, since it was found by a handle.
    IsAny,
}

/// The state that is passed from process to process.
struct Stage<'a> {
    outcomes: Vec<Outcome>,
    slots: [Option<Descriptor>; SLOTS],
    /// The actors that have changed their root.
    elsewhere: [bool; ACTORS],
    keeps: open_files::Keeps,
    kernel: &'a mut Kernel,
}

struct Play<'a> {
    settings: Settings,
    steps: &'a [Step],
    stage: Mutex<Stage<'a>>,
    /// A condition for each actor.
    cues: [Condvar; ACTORS],
}

impl<'a> Play<'a> {
    fn new(settings: Settings, steps: &'a [Step], kernel: &'a mut Kernel) -> Play<'a> {
        let outcomes = Vec::with_capacity(steps.len());
        let stage =
            Stage { outcomes, slots: Default::default(), elsewhere: Default::default(), keeps: Default::default(), kernel };
        Play { settings, steps, stage: Mutex::new(stage), cues: Default::default() }
    }

    /// Carries out all steps of one process, on a thread of its own.
    fn act(&self, actor: Actor) {
        let _ends = EndsOnPanic;
        become_process(actor).unwrap_or_else(|error| panic!("a thread could not become `{}`: {error}", actor.name()));
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            stage = self.wait(stage, actor);
            let here = stage.outcomes.len();
            let rest = &self.steps[here..];
            if rest.is_empty() {
                return;
            }
            for step in rest.iter().take_while(|step| step.actor == actor) {
                let outcome = stage.carry_out(step, self.settings);
                stage.outcomes.push(outcome);
            }
            match self.steps.get(stage.outcomes.len()) {
                Some(next) => self.cues[next.actor.index()].notify_one(),
                None => self.cues.iter().for_each(Condvar::notify_one),
            }
        }
    }

    /// Waits until it is this actor's turn, or the program has ended.
    fn wait<'b>(&self, stage: MutexGuard<'b, Stage<'a>>, actor: Actor) -> MutexGuard<'b, Stage<'a>> {
        let others_turn = |stage: &mut Stage<'_>| {
            let next = self.steps.get(stage.outcomes.len());
            next.is_some_and(|next| next.actor != actor)
        };
        self.cues[actor.index()].wait_while(stage, others_turn).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that ends the process if the thread that holds it panics: the other threads would wait
/// for their turn for ever. A parent process waits for this one.
struct EndsOnPanic;

impl Drop for EndsOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::exit(2);
        }
    }
}

/// Gives the thread a root, working directory and umask of its own, and the actor's credentials.
/// This cannot be undone.
fn become_process(actor: Actor) -> rustix::io::Result<()> {
    // SAFETY: root, working directory and umask become the thread's own; no descriptor is affected.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    actor.take_over_ids()?;
    rustix::thread::set_capabilities(None, actor.sets())
}

/// Asks again if the kernel has counted too many links.
///
/// A walk without locks that is disturbed, also by a mount anywhere on the machine, begins again
/// and goes on counting (`path_init` leaves `total_link_count` as it was). So it may say `ELOOP` of
/// 21 links. A call that fails so has done nothing.
fn sure_of_links<T: PartialEq>(too_many: &T, mut ask: impl FnMut() -> T) -> T {
    const MOST: usize = 8;
    let mut answer = ask();
    for _ in 1..MOST {
        if answer != *too_many {
            break;
        }
        answer = ask();
    }
    answer
}

impl Stage<'_> {
    fn carry_out(&mut self, Step { actor, op }: &Step, settings: Settings) -> Outcome {
        self.kernel.clock.step().expect("a file in memory can be written");
        let opener = |slot: Slot| self.slots[usize::from(slot.0)].as_ref().map(|there| there.opener);
        if !op.counts(*actor, opener) {
            return Outcome::not_carried_out();
        }
        let answer = sure_of_links(&Answer::Failed(Errno::ELOOP), || {
            self.answer(*actor, op).unwrap_or_else(|errno| Answer::Failed(calls::errno(errno)))
        });
        let answer = op.settled(answer);
        let seen = if settings.contains(Settings::OBSERVE) { self.seen(*actor, op, settings) } else { Vec::new() };
        let watched = self.watch(*actor, settings).expect("what is there can be looked at");
        Outcome { answer, seen, watched }
    }

    fn at(&self, slot: Option<Slot>) -> BorrowedFd<'_> {
        slot.map_or(rustix::fs::CWD, |slot| self.fd(slot))
    }

    fn fd(&self, slot: Slot) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.slots[usize::from(slot.0)].as_ref().expect("it was looked for").fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_were_counted_twice_are_counted_again() {
        let too_many = Answer::Failed(Errno::ELOOP);
        let mut answers = [too_many.clone(), Answer::Done].into_iter();
        assert_eq!(sure_of_links(&too_many, || answers.next().unwrap()), Answer::Done);
        assert_eq!(sure_of_links(&too_many, || too_many.clone()), too_many);
        let mut others = [Answer::Failed(Errno::ENOENT)].into_iter();
        assert_eq!(sure_of_links(&too_many, || others.next().unwrap()), Answer::Failed(Errno::ENOENT));
    }
}
