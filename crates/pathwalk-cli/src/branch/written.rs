//! Changes in the formats of `pathwalk-changes`: written to standard output, and applied to a
//! directory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write, stdout};
use std::path::Path;

use anyhow::Context as _;
use pathwalk::{Context, Credentials, Vfs};
use pathwalk_bench::machine::escaped;
use pathwalk_branch::{Branch, Branches, Change};
use pathwalk_changes::{Format, json, left_out, oci, patch, summary, tar};
use pathwalk_hostfs::{Coherence, HostFs};

use super::{Applied, Form};
use crate::output::wrap;

/// Writes the changes of a branch to standard output.
pub(super) fn write(branches: &Branches, name: &str, changes: &[Change], form: Form) -> anyhow::Result<()> {
    let (old, new) = states(branches, name)?;
    let mut out = BufWriter::new(stdout().lock());
    match form {
        Form::Lines => out.write_all(super::shown::changes(changes).as_bytes())?,
        Form::Summary => summary::write(changes, &old, &new, wrap::width(), &mut out)?,
        Form::Json => json::write(changes, &old, &new, &mut out)?,
        Form::Patch => patch::write(changes, &old, &new, &mut out)?,
        Form::Tar => tar::write(changes, &old, &new, &mut out)?,
        Form::Oci => oci::write(changes, &old, &new, &mut out)?,
    }
    out.flush().context("writing to standard output")?;
    match form {
        Form::Patch => tell_left_out(Format::Patch, changes, &old, &new),
        Form::Tar => tell_left_out(Format::Tar, changes, &old, &new),
        Form::Oci => tell_left_out(Format::OciLayer, changes, &old, &new),
        Form::Lines | Form::Summary | Form::Json => Ok(()),
    }
}

/// Returns what a branch was made of, and the branch.
pub(crate) fn states(branches: &Branches, name: &str) -> anyhow::Result<(Context, Context)> {
    Ok((shown(branches.before(name)?)?, shown(branches.after(name)?)?))
}

/// The budget of the caches of a view, in bytes. What was changed is looked at once, and larger
/// caches take longer to make than a summary.
const BUDGET_OF_A_VIEW: u64 = 4 << 20;

fn shown(branch: Branch) -> anyhow::Result<Context> {
    let shown = Vfs::builder().budget(BUDGET_OF_A_VIEW).build(branch).context("opening the branch")?;
    Ok(shown.context(Credentials::root()))
}

/// Reports what a format cannot hold to standard error.
fn tell_left_out(format: Format, changes: &[Change], old: &Context, new: &Context) -> anyhow::Result<()> {
    let left = left_out(format, changes, old, new)?;
    if !left.is_empty() {
        eprintln!("pathwalk: this form cannot hold all of {} paths; diff --as json does:", left.len());
    }
    for one in left.iter().take(MOST_TOLD) {
        let what: Vec<_> = one.what.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        eprintln!("  {}: {}", one.path.escape_ascii(), what.join(", "));
    }
    if left.len() > MOST_TOLD {
        eprintln!("  and {} more", left.len() - MOST_TOLD);
    }
    Ok(())
}

/// The most paths that are named of what is left out.
const MOST_TOLD: usize = 10;

/// Applies changes from a file to a directory.
pub(super) fn apply(directory: &Path, form: Applied, file: &Path) -> anyhow::Result<()> {
    let shown = escaped(file).to_string();
    let fs = HostFs::open_writable(directory)?.with_coherence(Coherence::Exclusive);
    let onto = Vfs::builder().build(fs).context("opening the base")?.context(Credentials::root());
    let read = || format!("reading \"{shown}\"");
    let input = || Ok::<_, anyhow::Error>(BufReader::new(File::open(file).with_context(read)?));
    let applied = match form {
        Applied::Patch => patch::apply(&std::fs::read(file).with_context(read)?, &onto),
        Applied::Json => json::apply(input()?, &onto),
        Applied::Tar => tar::apply(input()?, &onto),
        Applied::Oci => oci::apply(input()?, &onto),
    };
    applied.with_context(|| format!("applying \"{shown}\""))
}
