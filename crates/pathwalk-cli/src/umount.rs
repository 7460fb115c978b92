//! The command `pathwalk umount`: unmounts a tree, and waits until its program has ended.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args as ClapArgs;
use pathwalk_bench::machine::escaped;
use pathwalk_fuse::WhileInUse;

use crate::control;
use crate::mount::place;

/// The text below the options of `pathwalk umount`.
pub(crate) const UMOUNT_EXAMPLES: &str = "\
Examples:
  pathwalk umount /mnt
      returns when the program has ended: all is written, and memory is free
  pathwalk umount --lazy /mnt
      takes it from its place at once; files that are open go on
  fuser -vm /mnt
      what uses it

What umount(8) does is the same, but does not wait for the program.";

#[derive(ClapArgs, Debug)]
pub(crate) struct UmountArgs {
    /// Directory on which a tree is mounted
    #[arg(value_name = "MOUNTPOINT")]
    at: PathBuf,
    /// Take the mount from its place while it is in use, and do not wait
    #[arg(short, long)]
    lazy: bool,
}

/// Unmounts a tree.
pub(crate) fn run(args: &UmountArgs) -> anyhow::Result<ExitCode> {
    let (line, at) = place::find_own(&args.at)?;
    // A program that has died, or is another user's, is not waited for.
    let connection = control::connect(line.device).ok();
    let how = if args.lazy { WhileInUse::Goes } else { WhileInUse::Stays };
    match pathwalk_fuse::unmount(&at, how) {
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            bail!("\"{}\" is in use: {error}; end what uses it (fuser -vm lists that), or give --lazy", escaped(&at))
        }
        done => done.with_context(|| format!("unmounting \"{}\"", escaped(&at)))?,
    }
    if let Some(connection) = connection.filter(|_| !args.lazy) {
        connection.wait_for_end();
    }
    control::remove_dead();
    Ok(ExitCode::SUCCESS)
}
