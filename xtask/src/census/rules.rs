//! The rules of pathname lookup that operations can meet, by sections of the kernel's
//! documentation, each with a test of whether a step met it.
//!
//! A step met a rule if its answer could only come about by that rule, or nearly so. The tests look
//! at the step, its answer, what it named afterwards, and in a watched program the state before it.
//!
//! What it does not do: it names no rule twice, and none that has no answer of its own.

mod caches;
mod last;
mod links;
mod open_files;
mod paths;
mod rights;

use pathwalk::{AtFlags, OpenFlags, Resolve};

use super::met::Met;
use crate::op::Op;

/// The way in which a rule is covered.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    /// A rule that programs meet. The function returns whether a step did.
    Drawn(fn(&Met<'_>) -> bool),
    /// A rule that programs do not meet: it is tested in the place that is named, or it does not
    /// apply.
    Elsewhere(&'static str),
}

/// A rule with its section and name.
pub(super) struct Rule {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) reach: Reach,
}

/// Returns all rules, in the order of their sections.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [paths::RULES, links::RULES, last::RULES, caches::RULES, rights::RULES, open_files::RULES].into_iter().flatten()
}

const fn drawn(section: &'static str, name: &'static str, is_met: fn(&Met<'_>) -> bool) -> Rule {
    Rule { section, name, reach: Reach::Drawn(is_met) }
}

const fn elsewhere(section: &'static str, name: &'static str, place: &'static str) -> Rule {
    Rule { section, name, reach: Reach::Elsewhere(place) }
}

/// Returns the flags of an open; empty for other operations.
fn open_flags(met: &Met<'_>) -> OpenFlags {
    if let Op::Open { flags, .. } = met.op() { *flags } else { OpenFlags::empty() }
}

/// Returns the `RESOLVE_*` rules of an open; empty for other operations.
fn rules(met: &Met<'_>) -> Resolve {
    if let Op::OpenUnder { rules, .. } = met.op() { *rules } else { Resolve::empty() }
}

/// Returns the `AT_` flags of an operation; empty for those that have none.
fn at_flags(met: &Met<'_>) -> AtFlags {
    match met.op() {
        Op::Stat { flags, .. } | Op::Statx { flags, .. } | Op::Access { flags, .. } | Op::Chmod { flags, .. } => *flags,
        Op::Chown { flags, .. } | Op::Times { flags, .. } => *flags,
        Op::SetAcl { flags, .. } | Op::GetAcl { flags, .. } => *flags,
        _ => AtFlags::empty(),
    }
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}
