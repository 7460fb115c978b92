//! The command `pathwalk mount`: mounts a tree, so that every program is a client of it.
//!
//! - [`options`]: what `-o` takes;
//! - [`source`]: what is mounted;
//! - [`namespace`]: files that list several mounts;
//! - [`tree`]: the `Vfs` of the sources;
//! - [`place`]: mount points;
//! - [`helper`]: the name by which `mount(8)` calls the program;
//! - [`background`]: the start in the background;
//! - [`resources`]: its descriptors and memory;
//! - [`serve`]: the program that serves the mount.
//!
//! What always holds: nothing stays mounted if the command fails.

mod background;
pub(crate) mod helper;
mod namespace;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod resources;
mod serve;
mod source;
mod tree;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use pathwalk_bench::machine::escaped;

use options::{Of, Options};
use serve::Ground;
use source::Source;

/// The text below the options of `pathwalk mount`.
pub(crate) const MOUNT_EXAMPLES: &str = "\
SOURCE is one of:
  mem             an empty tree in memory, which ends with the mount
  host:DIR        a directory of this machine
  branch:NAME     a writable branch of a directory: see pathwalk branch --help
  FILE.toml       a namespace: a list of mounts; docs/mount.md has the form

Options:
  ro, rw, dev, nodev, suid, nosuid, exec, noexec, sync, async, noatime,
  relatime, strictatime, nodiratime
                  as those of mount(8); nodev and nosuid are set at first
  allow_other     other users may use the mount
  coherence=MODE  of host:DIR, and of the base of branch:NAME: what is promised
                  about changes by others: watch (at first), ttl, strict;
                  exclusive if there are none, frozen if nothing changes at all
  entry_timeout=SECONDS, negative_timeout=SECONDS, attr_timeout=SECONDS
                  how long names, absences and attributes are kept: by the
                  kernel; with ttl, in all
  base=DIR, store=DIR
                  of branch:NAME: the directory (the working directory), and
                  where its branches are kept
  size=BYTES, nr_inodes=N, mode=OCTAL, uid=N, gid=N
                  of mem, as those of tmpfs
  budget=BYTES    memory of the caches (64M)
  kernel_nodes=N  the most nodes that the kernel is to hold
  fsname=NAME     the source that mount(8) shows

Examples:
  pathwalk mount mem /mnt
      a tree in memory
  pathwalk mount host:/srv/www /mnt -o ro,coherence=watch
      a directory, to read
  pathwalk mount names.toml /mnt -f
      a namespace, until it is interrupted (Ctrl-C)
  mount -t fuse.pathwalk host:/srv/www /mnt
      after: ln -s $(command -v pathwalk) /sbin/mount.fuse.pathwalk

The command returns when the mount is ready. The program that serves it ends
when it is unmounted, and unmounts at SIGTERM, SIGINT and SIGHUP. Files that are
open are served until they are closed, or there is a second signal.

Without CAP_SYS_ADMIN, libfuse's fusermount3 mounts.";

#[derive(ClapArgs, Debug)]
pub(crate) struct MountArgs {
    /// What is mounted: mem, host:DIR, branch:NAME, or a namespace file whose name ends in .toml
    #[arg(value_name = "SOURCE")]
    pub(crate) source: OsString,
    /// Directory on which it is mounted
    #[arg(value_name = "MOUNTPOINT")]
    pub(crate) at: PathBuf,
    /// Options with commas between, as those of mount(8)
    #[arg(short = 'o', long = "options", value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) options: Vec<String>,
    /// Stay in the foreground, and print a line when the mount is ready
    #[arg(short, long)]
    pub(crate) foreground: bool,
    /// Be the child that another call of this command waits for
    #[arg(long, hide = true, conflicts_with = "foreground")]
    pub(crate) child: bool,
}

/// Mounts, and serves the mount: in the foreground, or by a child that is left behind.
pub(crate) fn run(args: &MountArgs) -> anyhow::Result<ExitCode> {
    if !args.foreground && !args.child {
        let options = args.options.iter().flat_map(|options| ["-o", options]).map(OsStr::new);
        let all = ["mount", "--child"].map(OsStr::new).into_iter().chain(options);
        return background::start(all.chain(["--".as_ref(), &*args.source, args.at.as_ref()]));
    }
    let (source, options) = args.read()?;
    let ground = if args.child { Ground::Background } else { Ground::Foreground };
    let name = escaped(args.source.as_ref()).to_string();
    serve::run(source, &name, &args.at, options, ground)
}

impl MountArgs {
    /// Reads the source and the options.
    fn read(&self) -> anyhow::Result<(Source, Options)> {
        let mut options = Options::default();
        self.options.iter().try_for_each(|words| options.read(words, Of::Whole)).context("reading the options")?;
        Ok((Source::parse(&self.source)?, options))
    }
}
