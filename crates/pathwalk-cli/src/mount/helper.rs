//! The program under the name `mount.fuse.pathwalk`, as `mount(8)` calls it for `fstab(5)` and
//! `mount -t fuse.pathwalk`.
//!
//! Source: `mount(8)`, "External helpers".

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use pathwalk_bench::machine::escaped;

use super::options::Of;
use super::{MountArgs, options, run};
use crate::{exits, output};

/// The name by which `mount(8)` calls the program.
const NAME: &str = "mount.fuse.pathwalk";

const EXAMPLES: &str = "\
This is pathwalk mount, with the options that mount(8) gives. Link it:

  ln -s $(command -v pathwalk) /sbin/mount.fuse.pathwalk

A line of /etc/fstab, for mount /www:

  host:/srv/www  /www  fuse.pathwalk  ro,allow_other,nofail  0  0";

/// Mount a tree of pathwalk, as mount(8) calls it
#[derive(Parser, Debug)]
#[command(name = NAME, version, after_help = exits::short(exits::MOUNT), after_long_help = exits::long(EXAMPLES, exits::MOUNT))]
pub(crate) struct HelperArgs {
    /// What is mounted, as for pathwalk mount
    #[arg(value_name = "SOURCE")]
    source: OsString,
    /// Directory on which it is mounted
    #[arg(value_name = "MOUNTPOINT")]
    at: PathBuf,
    /// Pass over options that are not known
    #[arg(short)]
    sloppy: bool,
    /// Mount nothing
    #[arg(short)]
    fake: bool,
    /// Write no /etc/mtab, which the program never does
    #[arg(short)]
    no_mtab: bool,
    /// Say what was mounted
    #[arg(short)]
    verbose: bool,
    /// Options with commas between
    #[arg(short, value_name = "OPTIONS")]
    options: Vec<String>,
    /// Type of the file system
    #[arg(short = 't', value_name = "TYPE", value_parser = ["fuse.pathwalk", "pathwalk"])]
    kind: Option<String>,
}

/// Returns whether the program was called by that name.
pub(crate) fn is_called(by: Option<&OsStr>) -> bool {
    by.and_then(|by| Path::new(by).file_name()) == Some(OsStr::new(NAME))
}

/// Mounts as `mount(8)` has it.
pub(crate) fn run_helper(args: HelperArgs) -> anyhow::Result<ExitCode> {
    let HelperArgs { source, at, sloppy, fake, verbose, options, .. } = args;
    let words = options.iter().flat_map(|words| words.split(','));
    let words: Vec<&str> = words.filter(|word| !sloppy || options::is_known(word, Of::Whole)).collect();
    let args = MountArgs { source, at, options: vec![words.join(",")], foreground: false, child: false };
    if fake {
        args.read()?;
        return Ok(ExitCode::SUCCESS);
    }
    let code = run(&args)?;
    if verbose && code == ExitCode::SUCCESS {
        output::print(&format!("{} is mounted on {}\n", escaped(args.source.as_ref()), escaped(&args.at)))?;
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        let is_called = |by: &str| is_called(Some(OsStr::new(by)));
        assert!(is_called("/sbin/mount.fuse.pathwalk") && is_called("mount.fuse.pathwalk"));
        assert!(!is_called("/usr/bin/pathwalk") && !is_called("") && !super::is_called(None));
    }

    #[test]
    fn arguments_are_those_of_mount() {
        let args = HelperArgs::parse_from([NAME, "mem", "/mnt", "-sn", "-o", "rw,frob", "-t", "fuse.pathwalk"]);
        assert!(args.sloppy && args.no_mtab && !args.fake && args.options == ["rw,frob"]);
        let fake = HelperArgs { fake: true, ..args };
        assert_eq!(run_helper(fake).unwrap(), ExitCode::SUCCESS);
        let args = HelperArgs::parse_from([NAME, "mem", "/mnt", "-f", "-o", "frob"]);
        assert!(run_helper(args).is_err());
    }
}
