//! The program that serves a mount: from the check of the mount point to the end of the mount.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, bail};
use pathwalk::Vfs;
use pathwalk_bench::machine::escaped;
use pathwalk_fuse::{CacheTimes, MountError, Mounted, Opens, Writes};
use pathwalk_hostfs::mountinfo::Line;
use pathwalk_output::program;
use rustix::fs::Mode;
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::options::{self, Options};
use super::source::Source;
use super::{background, place, resources};
use crate::control::{self, Control};
use crate::output;
use crate::stats::report::Report;

/// Where the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ground {
    /// In the shell that started it.
    Foreground,
    /// As the child of [`background::start`].
    Background,
}

/// What the program waits for.
enum Event {
    /// A signal to end.
    Stop,
    /// The end of the mount.
    Ended,
}

/// Mounts, reports that it is ready, and serves until the end of the mount.
pub(super) fn run(source: Source, name: &str, at: &Path, mut options: Options, ground: Ground) -> anyhow::Result<ExitCode> {
    let (sender, events) = channel();
    watch_signals(sender.clone())?;
    // Modes are as the callers on the mount want them.
    rustix::process::umask(Mode::empty());
    resources::allow_descriptors();
    resources::bound_arenas();
    let at = place::check(at)?;
    let tree = source.build(&mut options)?;
    place::check_outside(&at, &tree.hosts)?;
    let Some(opens) = tree.opens.with(options.opens) else {
        bail!("the option \"noopen\" is for mem, and for root's mount of a directory in the mode exclusive, frozen or watch");
    };
    if options.writes == Writes::Back && tree.times != CacheTimes::FOREVER {
        bail!("the option \"writeback\" is for mem, and for a directory or a branch in the mode exclusive: others may change it");
    }
    let mounted = pathwalk_fuse::mount(&tree.context, &at, &of_kernel(&options, &tree, opens, name)).map_err(advised)?;
    place::check_not_within(mounted.at(), &tree.hosts)?;
    let mounted = Arc::new(mounted);
    watch_end(Arc::clone(&mounted), sender)?;
    let own = place::find(mounted.at());
    let control = own.as_ref().and_then(|own| serve_statistics(name, own, &mounted, tree.vfs.clone()));
    match ground {
        Ground::Foreground => output::print_unbroken(&format!("{name} is mounted on {}\n", escaped(mounted.at())))?,
        Ground::Background => {
            background::leave_session()?;
            background::report_ready()?;
        }
    }
    // A service manager that cannot be told waits until its time is over, and says so.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    if let Ok(Event::Stop) = events.recv() {
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        let shown = escaped(mounted.at());
        if place::find(mounted.at()).map(|line| line.id) != own.map(|line| line.id) {
            bail!("another mount covers \"{shown}\", which answers ENOTCONN from now on: unmount both by umount {shown}");
        }
        mounted.detach().with_context(|| format!("unmounting \"{shown}\""))?;
        // Files that are open are served until they are closed, or there is a second signal.
        let _ = events.recv();
    }
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    drop(control);
    tree.sync().context("storing what was changed")?;
    Ok(ExitCode::SUCCESS)
}

/// Serves statistics, if there is a directory for the socket. The mount does without.
fn serve_statistics(name: &str, own: &Line, mounted: &Arc<Mounted>, vfs: Vfs) -> Option<Control> {
    let (name, of, since) = (name.to_owned(), Arc::clone(mounted), Instant::now());
    let report = move || serde_json::to_value(Report::now(&name, &of, &vfs, since)).context("writing the statistics");
    match control::serve(own.device, Box::new(report)) {
        Ok(control) => Some(control),
        Err(error) => {
            eprintln!("pathwalk: no statistics: {}", program::chain(&error));
            None
        }
    }
}

/// Returns the options as the kernel's side of the mount has them.
fn of_kernel(options: &Options, tree: &super::tree::Tree, opens: Opens, name: &str) -> pathwalk_fuse::Options {
    let mut of_kernel = pathwalk_fuse::Options::default();
    of_kernel.source = options.shown.clone().unwrap_or_else(|| name.to_owned());
    of_kernel.times = tree.times;
    of_kernel.reported = tree.reported;
    of_kernel.opens = opens;
    of_kernel.writes = options.writes;
    of_kernel.extended_attributes = options.extended_attributes;
    of_kernel.allow_other = options.allow_other;
    of_kernel.read_only = options.read_only || options.mode == Some(options::Mode::Frozen);
    of_kernel.dev = options.dev;
    of_kernel.suid = options.suid;
    of_kernel.exec = !options.noexec;
    of_kernel.sync = options.sync;
    of_kernel.pinned = options.kernel_nodes;
    of_kernel
}

/// Returns an error of mounting with what can be done about it.
fn advised(error: MountError) -> anyhow::Error {
    let advice = match &error {
        MountError::Device(_) => "load it by: modprobe fuse; in a container, pass the device: --device /dev/fuse",
        MountError::MountPoint { .. } => "name a directory that you may mount on",
        MountError::Refused { said, .. } if said.contains("user_allow_other") => {
            "leave the option allow_other out, or have root write user_allow_other into /etc/fuse.conf"
        }
        MountError::Refused { said, .. } if said.contains("/dev/fuse") => "have root allow it by: chmod 666 /dev/fuse",
        MountError::Refused { said, .. } if said.contains("mountpoint") => "name a directory that you may write to",
        MountError::Refused { .. } => "run this as root, or in unshare --user --map-root-user --mount",
        _ => return error.into(),
    };
    anyhow::anyhow!("{error}; {advice}")
}

/// Reports signals to end.
fn watch_signals(sender: Sender<Event>) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("waiting for signals")?;
    let watch = move || {
        // The program ends with its main thread, whether this is heard or not.
        signals.forever().all(|_| sender.send(Event::Stop).is_ok());
    };
    thread::Builder::new().name("signals".into()).spawn(watch).context("starting a thread")?;
    Ok(())
}

/// Reports the end of the mount.
fn watch_end(mounted: Arc<Mounted>, sender: Sender<Event>) -> anyhow::Result<()> {
    let watch = move || {
        mounted.wait();
        let _ = sender.send(Event::Ended);
    };
    thread::Builder::new().name("end".into()).spawn(watch).context("starting a thread")?;
    Ok(())
}
