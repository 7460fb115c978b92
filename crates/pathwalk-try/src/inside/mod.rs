//! The inner process, and the first one that it starts.
//!
//! - [`ids`]: users and groups in the user namespace;
//! - [`input`]: standard input that the command cannot change;
//! - [`mounts`]: the calls that mount;
//! - [`room`]: what is mounted where, with [`devices`] and [`proc`];
//! - [`locks`]: what is given up before the command starts;
//! - [`first`]: process 1, which starts the command.
//!
//! What always holds: there is one thread until all is ready for the command, and nothing of the
//! caller is open but its standard streams and the channel.

mod devices;
mod first;
mod ids;
mod input;
mod locks;
mod mounts;
mod proc;
mod room;

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};

use pathwalk_fuse::mount_detached;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_parent_process_death_signal, waitpid};
use rustix::thread::UnshareFlags;

use crate::channel::{Channel, Message};
use crate::error::{Failed, While};
use crate::mounting;
use crate::plan::{Mapping, Network, Plan, Session, Tree};
use pathwalk_overlay::Layer;

pub(crate) use room::own_places;

/// The exit code of a process that could not do its part. The caller is told why.
const NOT_DONE: i32 = 125;

/// Becomes the inner process, with the descriptor that it was given. Has to be called in a process
/// with one thread.
///
/// [`Trial`](crate::Trial) has an example.
pub fn inside(descriptor: RawFd) -> ! {
    let channel = match channel(descriptor) {
        Ok(channel) => channel,
        Err(why) => {
            eprintln!("this is started by the program itself: {why}");
            std::process::exit(NOT_DONE);
        }
    };
    if let Err(Failed(why)) = prepare(&channel) {
        // Without a caller there is nothing to report to.
        let _ = channel.send(&Message::Failed(why), None);
    }
    std::process::exit(NOT_DONE)
}

/// Closes all that the command is not to have, and returns the channel.
#[allow(unsafe_code)]
fn channel(descriptor: RawFd) -> Result<Channel, Failed> {
    if descriptor < 3 {
        return Err(Failed(format!("{descriptor} is no descriptor of a channel")));
    }
    // SAFETY: the number is looked up, and nothing is read or written. That it is open is what the
    // call finds out.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    if flags < 0 {
        return Err(Failed(format!("the descriptor {descriptor} is not open")));
    }
    for (first, last) in [(3, descriptor as u32 - 1), (descriptor as u32 + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: nothing in this process has a descriptor of these numbers: it has just
            // started, and has opened none.
            unsafe { libc::close_range(first, last, 0) };
        }
    }
    // SAFETY: the descriptor is open, and nothing else in this process has it.
    Ok(Channel::of(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Does all that leads to the start of the command. Returns in case of an error alone.
fn prepare(channel: &Channel) -> Result<(), Failed> {
    let Some((Message::Plan, Some(file))) = channel.receive() else {
        return Err(Failed("no plan was sent".into()));
    };
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes).doing("reading what to do")?;
    let plan: Plan = postcard::from_bytes(&bytes).doing("reading what to do")?;
    enter(&plan, channel)?;
    let tree = tree(&plan, channel)?;
    match fork()? {
        None => {
            end_with_parent()?;
            if plan.session == Session::Own {
                rustix::process::setsid().doing("beginning a session")?;
            }
            // While its path is what it is outside.
            let input = input::protect();
            room::furnish(&plan, tree)?;
            locks::lock()?;
            first::run(&plan, channel, input)
        }
        Some(first) => {
            drop(tree);
            wait_for(first, channel)
        }
    }
}

/// Returns the mount that shows the branch, attached nowhere.
fn tree(plan: &Plan, channel: &Channel) -> Result<OwnedFd, Failed> {
    const DOING: &str = "mounting the branch";
    match &plan.tree {
        Tree::Fuse => {
            let detached = mount_detached(&mounting(&plan.source)).doing(DOING)?;
            channel.send(&Message::Device, Some(detached.device.as_fd())).doing("passing on the device")?;
            // In a root that the user may not write to, the first open of a file does it.
            let _ = detached.learn_opens();
            Ok(detached.mount)
        }
        Tree::Layer(dir) => Layer::open(dir.get()).and_then(|layer| layer.mount(plan.base.get())).doing(DOING),
        Tree::Mounted => {
            channel.send(&Message::Mount, None).doing("asking for the mount of the branch")?;
            let Some((Message::Mount, Some(mount))) = channel.receive() else {
                return Err(Failed("no mount was sent".into()));
            };
            Ok(mount)
        }
    }
}

/// Enters the namespaces.
#[allow(unsafe_code)]
fn enter(plan: &Plan, channel: &Channel) -> Result<(), Failed> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if plan.network == Network::None {
        flags |= UnshareFlags::NEWNET;
    }
    // SAFETY: there is one thread, and the table of descriptors stays.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|errno| Failed(ids::advice(errno)))?;
    match plan.mapping {
        Mapping::All => {
            channel.send(&Message::Unshared, None).doing("asking for ids")?;
            match channel.receive() {
                Some((Message::Mapped, _)) => {}
                _ => return Err(Failed("no ids were mapped".into())),
            }
        }
        Mapping::Own => ids::map_own(uid.as_raw(), gid.as_raw())?,
    }
    // A change of credentials would take it back, so it is set behind them.
    end_with_parent()?;
    mounts::make_private().doing("taking the mounts out of those of others; is the root directory a mount?")
}

/// Has this process be killed when its parent ends.
fn end_with_parent() -> Result<(), Failed> {
    set_parent_process_death_signal(Some(Signal::KILL)).doing("following the caller's end")
}

/// Starts the first process of the new namespace. Returns its number in the parent.
#[allow(unsafe_code)]
fn fork() -> Result<Option<Pid>, Failed> {
    // SAFETY: there is one thread, so the child has all of its state as it is.
    match unsafe { libc::fork() } {
        0 => Ok(None),
        pid => match Pid::from_raw(pid.max(0)) {
            Some(pid) => Ok(Some(pid)),
            None => Err(Failed(format!("starting the first process: {}", std::io::Error::last_os_error()))),
        },
    }
}

/// Waits for the end of the first process. Signals are left to that and to the caller.
fn wait_for(first: Pid, channel: &Channel) -> Result<(), Failed> {
    nix::sys::signal::SigSet::all().thread_block().doing("blocking signals")?;
    let process = pidfd_open(first, PidfdFlags::empty()).doing("opening the first process")?;
    channel.send(&Message::First, Some(process.as_fd())).doing("passing on the first process")?;
    while let Err(rustix::io::Errno::INTR) = waitpid(Some(first), WaitOptions::empty()) {}
    std::process::exit(0)
}
