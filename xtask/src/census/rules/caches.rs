//! The rules of the name cache: section 7.

use pathwalk::{Errno, FileType};

use super::{Rule, drawn, elsewhere};
use crate::program::Settings;

pub(super) const RULES: &[Rule] = &[
    drawn("7", "a negative entry is met again", |m| m.fails(Errno::ENOENT) && m.past.absent.contains(m.path())),
    drawn("7", "a name is made over a negative entry", |m| m.makes() && m.succeeds() && m.past.absent.contains(m.path())),
    drawn("7", "a name that was removed is absent", |m| m.fails(Errno::ENOENT) && m.past.removed.contains(m.path())),
    drawn("7", "a name that was removed is made again", |m| m.makes() && m.succeeds() && m.past.removed.contains(m.path())),
    drawn("7", "a node that is open loses its last name", |m| {
        m.is(&["unlink"])
            && m.succeeds()
            && m.outcome
                .watched
                .as_ref()
                .is_some_and(|now| now.slots.values().any(|open| open.node.nlink == 0 && open.node.kind == FileType::Regular))
    }),
    drawn("7", "names are revalidated", |m| m.settings.contains(Settings::ASK_NAMES) && m.succeeds()),
    drawn("7", "absences are revalidated", |m| m.settings.contains(Settings::ASK_ABSENCE) && m.fails(Errno::ENOENT)),
    drawn("7", "entries and subtrees are invalidated", |m| m.settings.contains(Settings::FORGETFUL) && m.succeeds()),
    drawn("7", "what is idle is reclaimed", |m| m.settings.contains(Settings::SMALL_BUDGET) && m.succeeds()),
    elsewhere("7", "one lookup for a name that several miss", "pathwalk/src/scenarios/"),
];
