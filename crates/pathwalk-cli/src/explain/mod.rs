//! The command `pathwalk explain`: one lookup, step by step, and the reason for its end.
//!
//! - [`args`]: the arguments;
//! - [`who`]: the user whose permissions count; names of users and groups;
//! - [`walk`]: the engine's steps as lines, with the properties of each node; [`told`]: the result;
//!   [`near`]: names like a missing one;
//! - [`landlock`]: rulesets that are given in files;
//! - [`rule`]: the rule that grants or refuses; [`mounts`]: the mounts and their places;
//! - [`words`]: all of it as sentences; [`advice`]: what to do about it;
//! - [`text`] with [`rows`], [`json`]: the two forms of the report; [`bytes`]: names that need
//!   not be text.
//!
//! Invariant: the answer is the engine's. Rules are reported beside it. Where a rule would give
//! another answer, the report says that the file system has reasons of its own.
//!
//! What it does not do: change its root or its user. [`HostFs`] stays beneath the root, and the
//! engine walks with the credentials of any user. But this process itself has to be able to look at
//! the nodes, so walks of other users are explained best by root.

mod advice;
pub(crate) mod args;
pub(crate) mod bytes;
pub(crate) mod json;
mod landlock;
mod mounts;
mod near;
mod rows;
mod rule;
mod text;
mod told;
mod walk;
mod who;
mod words;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anstream::ColorChoice;
use anyhow::Context as _;
use pathwalk::permission::Acl;
use pathwalk::{AtFlags, Context, Credentials, Errno, Vfs};
use pathwalk_bench::machine::{BUDGET, LastLinks, escaped};
use pathwalk_hostfs::{Coherence, HostFs};

use crate::output::wrap;
use crate::{exits, output};
use args::ExplainArgs;
use mounts::{Mount, Mounts};
use text::Colour;
use told::{Ending, Told};
use walk::Host;
use who::{Names, Who};
use words::Voice;

/// The largest number of names of a directory that are searched for one like a missing one.
const MOST_NAMES: usize = 100_000;

/// The file system of this machine, and its mounts.
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
    let fs = Arc::new(HostFs::open(root)?.with_coherence(Coherence::Frozen));
    let names = Names::of(root);
    let who = match &args.asker {
        Some(text) => Who::parse(text, &names).with_context(|| format!("cannot ask as \"{}\"", text.escape_debug()))?,
        None => Who::this_process()?,
    };
    let context = context(Arc::clone(&fs), args, path)?.with_credentials(who.credentials.clone());
    let flags = if args.nofollow { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() };
    let told = walk::tell(&context, &Machine { fs, mounts: Mounts::now() }, &who, path, flags, args.want);
    let voice = Voice { who: &who, names: &names, root };
    if args.json {
        output::print_json(&json::render(voice, &told, path))?;
    } else {
        output::print(&text::render(voice, &told, path, colour(), wrap::width()))?;
    }
    Ok(exit_code(&told))
}

/// Creates the context of the walk, still with root's credentials, sets its working directory, and
/// restricts it by the rulesets.
/// An existing working directory needs no permission any more.
fn context(fs: Arc<HostFs>, args: &ExplainArgs, path: &[u8]) -> anyhow::Result<Context> {
    let builder = Vfs::builder().budget(BUDGET).one_by_one();
    // Links on a nosymfollow mount are reported mount by mount, not by the engine's single flag.
    let builder = if args.landlock.is_empty() { builder } else { builder.security(pathwalk::landlock::Landlock) };
    let builder = if LastLinks::of_this_machine() == LastLinks::Protected { builder.protect_symlinks() } else { builder };
    let vfs = builder.build(fs).with_context(|| format!("building a Vfs of {BUDGET} bytes"))?;
    let mut context = vfs.context(Credentials::root());
    if let Some(cwd) = start(args, path)? {
        let shown = escaped(&cwd);
        context.chdir(&cwd).with_context(|| match &args.cwd {
            Some(_) => {
                format!("cannot start in --cwd \"{shown}\"; name a directory that is there, within --root if that is given")
            }
            None => format!("looking for the working directory \"{shown}\"; give a path that begins with a slash, or --cwd"),
        })?;
    }
    landlock::restrict(&mut context, &args.landlock)?;
    Ok(context)
}

/// Returns the directory in which the path starts, if that is not the root.
fn start(args: &ExplainArgs, path: &[u8]) -> anyhow::Result<Option<PathBuf>> {
    let here =
        || std::env::current_dir().context("asking for the working directory; it may have been removed: change to another");
    match &args.cwd {
        Some(cwd) if args.root.is_none() && cwd.is_relative() => Ok(Some(here()?.join(cwd))),
        Some(cwd) => Ok(Some(cwd.clone())),
        None if args.root.is_none() && !path.starts_with(b"/") => here().map(Some),
        None => Ok(None),
    }
}

/// Returns whether to use colours: on a terminal, and without `NO_COLOR`.
fn colour() -> Colour {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        ColorChoice::Never => Colour::Off,
        _ => Colour::On,
    }
}

fn exit_code(told: &Told) -> ExitCode {
    match &told.ending {
        _ if !told.is_certain() => ExitCode::from(exits::NOT_DONE),
        Ending::Reached(..) => exits::of_answer(told.wanted.is_none_or(|wanted| wanted.judged.answer.is_ok())),
        Ending::Failed(_) => exits::of_answer(false),
    }
}
