//! `pathwalk explain`: one lookup, step by step, and why it ends as it does.
//!
//! - [`args`]: what can be asked for;
//! - [`who`]: whose rights count; names of users and groups;
//! - [`walk`]: the engine's steps as lines, with what each node is; [`told`]: the result; [`near`]: names like a missing one;
//! - [`rule`]: which rule grants or refuses; [`mounts`]: what is mounted where;
//! - [`words`]: all of it as sentences; [`advice`]: what to do about it;
//! - [`text`], [`json`]: the two forms of the report; [`bytes`]: names that need not be text.
//!
//! Invariant: the answer is the engine's. Rules are told beside it, and where a rule would say otherwise, it is said that the
//! file system has reasons of its own.
//!
//! What it does not do: change its root or its user. [`HostFs`] stays beneath the root, and the engine walks with anybody's
//! credentials; but this process has to be able to look, so walks of others are explained best by root.

mod advice;
pub(crate) mod args;
mod bytes;
mod json;
mod mounts;
mod near;
mod rule;
mod text;
mod told;
mod walk;
mod who;
mod words;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::Context as _;
use pathwalk::permission::Acl;
use pathwalk::{AtFlags, Context, Credentials, Errno, Vfs};
use pathwalk_bench::machine::{BUDGET, LastLinks, escaped};
use pathwalk_hostfs::HostFs;

use crate::output;
use args::ExplainArgs;
use mounts::{Mount, Mounts};
use text::Colour;
use told::{Ending, Told};
use walk::Host;
use who::{Names, Who};
use words::Voice;

/// Most names of a directory that are looked through for one like a missing one.
const MOST_NAMES: usize = 100_000;

/// The file system of this machine, and what is mounted there.
struct Machine {
    fs: Arc<HostFs>,
    mounts: Mounts,
}

impl Host for Machine {
    fn acl(&self, path: &[u8]) -> Result<Option<Acl>, Errno> {
        self.fs.acl_at(path)
    }

    fn mount(&self, path: &[u8]) -> Option<Mount> {
        let at = self.fs.mount_at(path).ok()?;
        Some(Mount { id: at.id, flags: at.flags, line: self.mounts.line(at.id) })
    }

    fn names(&self, dir: &[u8]) -> Option<Vec<Vec<u8>>> {
        self.fs.names_at(dir, MOST_NAMES).ok()
    }
}

/// Explains one path.
pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let (path, root) = (args.path.as_bytes(), args.root.as_deref().unwrap_or(Path::new("/")));
    let fs = Arc::new(HostFs::open(root)?);
    let names = Names::of(root);
    let who = match &args.asker {
        Some(text) => Who::parse(text, &names).with_context(|| format!("cannot ask as \"{}\"", text.escape_debug()))?,
        None => Who::this_process()?,
    };
    let context = context(Arc::clone(&fs), args, path)?.with_credentials(who.credentials.clone());
    let flags = if args.nofollow { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
    let told = walk::tell(&context, &Machine { fs, mounts: Mounts::now() }, &who, path, flags);
    let voice = Voice { who: &who, names: &names, root };
    if args.json {
        output::print_json(&json::render(voice, &told, path))?;
    } else {
        output::print(&text::render(voice, &told, path, colour()))?;
    }
    Ok(exit_code(&told))
}

/// Who walks, still as this process, and where from: a working directory that one has is no matter of rights any more.
fn context(fs: Arc<HostFs>, args: &ExplainArgs, path: &[u8]) -> anyhow::Result<Context> {
    let builder = Vfs::builder().budget(BUDGET).one_by_one();
    // Links of mounts that follow none are told of mount by mount, not by the engine's one switch.
    let builder = if LastLinks::of_this_machine() == LastLinks::Protected { builder.protect_symlinks() } else { builder };
    let vfs = builder.build(fs).with_context(|| format!("building a Vfs of {BUDGET} bytes"))?;
    let mut context = vfs.context(Credentials::root());
    if args.root.is_none() && !path.starts_with(b"/") {
        let cwd =
            std::env::current_dir().context("asking for the working directory; it may have been removed: change to another")?;
        context.chdir(&cwd).with_context(|| {
            format!("looking for the working directory \"{}\"; give a path that begins with a slash", escaped(&cwd))
        })?;
    }
    Ok(context)
}

/// Whether whoever looks wants colours: a terminal, and no `NO_COLOR`.
fn colour() -> Colour {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        ColorChoice::Never => Colour::Off,
        _ => Colour::On,
    }
}

fn exit_code(told: &Told) -> ExitCode {
    match &told.ending {
        _ if !told.is_certain() => ExitCode::from(2),
        Ending::Reached(..) => ExitCode::SUCCESS,
        Ending::Failed(_) => ExitCode::from(1),
    }
}
