//! The rules of permission: section 9.

use pathwalk::permission::AclKind;
use pathwalk::{AtFlags, Capabilities, Errno, FileType, LinkFlags, MountFlags};

use super::{Rule, at_flags, drawn, elsewhere};
use crate::cast::ROOT;
use crate::census::met::Met;
use crate::op::Op;
use crate::outcome::{Answer, Node};
use crate::program::Settings;
use crate::words::{Ids, Place};

/// Returns whether the step is an `access` of a file for which this triad of the mode grants all
/// that is wanted.
fn triad_grants(met: &Met<'_>, shift: u16) -> bool {
    let Op::Access { want, .. } = met.op() else { return false };
    met.named().is_some_and(|node| node.kind == FileType::Regular && (node.mode >> shift) as u8 & want.bits() == want.bits())
}

/// Returns whether the step is an `access` by an actor without capabilities whose real and
/// effective ids are equal.
fn asks_as_itself(met: &Met<'_>) -> bool {
    met.is(&["access"]) && !at_flags(met).intersects(AtFlags::EMPTY_PATH) && met.actor().is_plain()
}

fn grants_by(met: &Met<'_>, capability: Capabilities) -> bool {
    let refused = |shift| !triad_grants(met, shift);
    let is_file = met.names_a(FileType::Regular);
    let by_others = met.is(&["access"]) && is_file && [0, 3, 6].into_iter().all(refused);
    by_others && met.succeeds() && met.actor().has(capability) && !met.actor().has(Capabilities::CHOWN)
}

/// Returns whether the step writes a file through a descriptor and clears its set-id bits.
fn loses_bits(met: &Met<'_>) -> bool {
    let Some(slot) = met.op().written() else { return false };
    let bits = |node: &Node| node.mode & 0o6000;
    met.succeeds() && met.open_before(slot).zip(met.open_after(slot)).is_some_and(|(old, new)| bits(old) != 0 && bits(new) == 0)
}

fn sets_list(met: &Met<'_>, kind: AclKind) -> bool {
    matches!(met.op(), Op::SetAcl { list, .. } if list.kind == kind && !list.entries.is_empty())
}

pub(super) const RULES: &[Rule] = &[
    drawn("9", "writing on a read-only mount is EROFS", |m| {
        m.mount.contains(MountFlags::READ_ONLY) && m.fails(Errno::EROFS) && m.actor() != ROOT
    }),
    drawn("9", "executing on a noexec mount is EACCES", |m| {
        m.mount.contains(MountFlags::NOEXEC)
            && m.is(&["access"])
            && m.fails(Errno::EACCES)
            && m.actor() == ROOT
            && m.named().is_some_and(|node| node.kind == FileType::Regular && node.mode & 0o111 != 0)
    }),
    drawn("9", "an owner sets flags that do not protect", |m| {
        m.is(&["chattr"]) && m.succeeds() && !m.actor().has(Capabilities::LINUX_IMMUTABLE)
    }),
    drawn("9", "flags that protect, without the capability: EPERM", |m| {
        m.is(&["chattr"])
            && m.fails(Errno::EPERM)
            && !m.actor().has(Capabilities::LINUX_IMMUTABLE)
            && m.named().is_some_and(|node| node.uid == m.actor().uid())
    }),
    drawn("9", "flags of a node that has none: EOPNOTSUPP", |m| m.is(&["chattr", "lsattr"]) && m.fails(Errno::EOPNOTSUPP)),
    drawn("9", "flags are read", |m| m.is(&["lsattr"]) && matches!(m.outcome.answer, Answer::Number(1..))),
    elsewhere("9", "immutable and append-only is EPERM", "pathwalk-tests/tests/kernel_table/"),
    drawn("9", "the owner's bits are final", |m| {
        asks_as_itself(m)
            && m.fails(Errno::EACCES)
            && triad_grants(m, 0)
            && m.named().is_some_and(|node| node.uid == m.actor().uid())
    }),
    drawn("9", "the group's bits are final", |m| {
        asks_as_itself(m)
            && m.fails(Errno::EACCES)
            && triad_grants(m, 0)
            && m.named().is_some_and(|node| node.uid != m.actor().uid())
    }),
    drawn("9", "other's bits grant", |m| {
        asks_as_itself(m) && m.succeeds() && triad_grants(m, 0) && !triad_grants(m, 3) && !triad_grants(m, 6)
    }),
    drawn("9", "CAP_DAC_OVERRIDE grants", |m| grants_by(m, Capabilities::DAC_OVERRIDE)),
    drawn("9", "CAP_DAC_READ_SEARCH grants", |m| grants_by(m, Capabilities::DAC_READ_SEARCH)),
    drawn("9", "execution needs an x bit", |m| {
        m.is(&["access"])
            && m.actor() == ROOT
            && m.fails(Errno::EACCES)
            && m.named().is_some_and(|node| node.kind == FileType::Regular && node.mode & 0o111 == 0)
    }),
    drawn("9", "the file system's own hook", |m| m.settings.contains(Settings::OWN_RULE) && m.fails(Errno::EACCES)),
    drawn("9", "a list is not asked for yet", |m| m.settings.contains(Settings::ACL_UNKNOWN) && m.fails(Errno::EACCES)),
    drawn("9", "a list is set", |m| sets_list(m, AclKind::Access) && m.succeeds()),
    drawn("9", "a default list is set", |m| sets_list(m, AclKind::Default) && m.succeeds()),
    drawn("9", "a list of another owner's node: EPERM", |m| sets_list(m, AclKind::Access) && m.fails(Errno::EPERM)),
    drawn("9", "a list that no node may have: EINVAL", |m| {
        matches!(m.op(), Op::SetAcl { list, .. } if list.acl().is_some_and(|acl| !acl.is_valid())) && m.fails(Errno::EINVAL)
    }),
    drawn("9", "a default list of no directory: EACCES", |m| sets_list(m, AclKind::Default) && m.fails(Errno::EACCES)),
    drawn("9", "a list of a link: EOPNOTSUPP", |m| m.is(&["setacl", "getacl"]) && m.fails(Errno::EOPNOTSUPP)),
    drawn("9", "a list is read", |m| m.is(&["getacl"]) && matches!(&m.outcome.answer, Answer::Bytes(value) if !value.is_empty())),
    elsewhere("9", "a list of entries", "pathwalk-tests/tests/kernel_table/, acl_of_own_rule.rs"),
    drawn("9", "a sticky directory is EPERM", |m| {
        m.is(&["unlink", "rmdir", "rename"]) && m.fails(Errno::EPERM) && m.directory().is_some_and(|dir| dir.mode & 0o1000 != 0)
    }),
    drawn("9", "a setgid directory gives its group", |m| {
        m.is(&["mkdir", "mknod", "symlink"])
            && m.succeeds()
            && m.named()
                .zip(m.directory())
                .is_some_and(|(node, dir)| dir.mode & 0o2000 != 0 && node.gid == dir.gid && node.gid != m.actor().gid())
    }),
    drawn("9", "chown takes set-id bits away", |m| {
        m.is(&["chown"])
            && m.succeeds()
            && m.node_before(m.path()).zip(m.named()).is_some_and(|(old, new)| old.mode & 0o4000 != 0 && new.mode & 0o4000 == 0)
    }),
    drawn("9", "writing takes set-id bits away", loses_bits),
    drawn("9", "what another opened is written to", |m| {
        m.op().written().is_some_and(|slot| m.past.openers.get(&slot.0) != Some(&m.actor())) && m.succeeds()
    }),
    drawn("9", "a descriptor is given a name", |m| {
        matches!(m.op(), Op::Link { from: Place { at: Some(_), path }, flags, .. } if path.0.is_empty() && flags.contains(LinkFlags::EMPTY_PATH))
            && m.succeeds()
    }),
    drawn("9", "ids are mapped", |m| matches!(m.op(), Op::Bind { ids: Ids(Some(_)), .. }) && m.succeeds()),
    drawn("9", "an id that is not mapped makes nothing: EOVERFLOW", |m| m.makes() && m.fails(Errno::EOVERFLOW)),
];
