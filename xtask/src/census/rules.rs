//! The rules of pathname lookup that operations can meet, by sections of the kernel's
//! documentation: each with what shows that a step met it.
//!
//! A rule is met where the answer could only come about by it, or nearly so. Looked at are what a
//! step says of itself, what it was answered, what it named afterwards, and in a watched program
//! what was there before.
//!
//! What it does not do: it names no rule twice, and none that has no answer of its own.

mod caches;
mod last;
mod links;
mod paths;
mod rights;

use pathwalk::{AtFlags, OpenFlags, Resolve};

use super::met::Met;
use crate::op::Op;

/// Whether programs come by a rule.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    /// They do: this tells whether a step did.
    Drawn(fn(&Met<'_>) -> bool),
    /// They do not: it is tested there, or there is no such thing.
    Elsewhere(&'static str),
}

/// A rule by its name.
pub(super) struct Rule {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) reach: Reach,
}

/// Returns all rules, in the order of their sections.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [paths::RULES, links::RULES, last::RULES, caches::RULES, rights::RULES].into_iter().flatten()
}

const fn drawn(section: &'static str, name: &'static str, is_met: fn(&Met<'_>) -> bool) -> Rule {
    Rule { section, name, reach: Reach::Drawn(is_met) }
}

const fn elsewhere(section: &'static str, name: &'static str, place: &'static str) -> Rule {
    Rule { section, name, reach: Reach::Elsewhere(place) }
}

/// Returns the flags of an open, and none of anything else.
fn open_flags(met: &Met<'_>) -> OpenFlags {
    if let Op::Open { flags, .. } = met.op() { *flags } else { OpenFlags::empty() }
}

/// Returns the rules by which a path is resolved.
fn rules(met: &Met<'_>) -> Resolve {
    if let Op::OpenUnder { rules, .. } = met.op() { *rules } else { Resolve::empty() }
}

/// Returns the flags of what has `AT_` flags, and none of anything else.
fn at_flags(met: &Met<'_>) -> AtFlags {
    match met.op() {
        Op::Stat { flags, .. } | Op::Statx { flags, .. } | Op::Access { flags, .. } | Op::Chmod { flags, .. } => *flags,
        Op::Chown { flags, .. } | Op::Times { flags, .. } => *flags,
        _ => AtFlags::empty(),
    }
}

fn is_dots(name: &[u8]) -> bool {
    matches!(name, b"." | b"..")
}
