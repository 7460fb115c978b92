//! The rule that grants an access to a node or refuses it, in the order of the kernel's checks.
//!
//! Order: noexec, read-only file system, immutable, owner (final), list, group and other,
//! capabilities, read-only mount.
//!
//! What it does not do: decide. The engine decides, and this module only finds the reason.
//! [`judge`] is compared with the engine's answer.

use pathwalk::permission::{Acl, AclEntry, AclTag, Class, Subject};
use pathwalk::security::Rights;
use pathwalk::{Access, Attributes, Capabilities, Errno, FileType, MountFlags, StatxFlags};

use super::mounts::Mount;

/// The known properties of a node that a walk came to.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The path from the root, `None` once the node is removed.
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) attributes: Attributes,
    pub(crate) acl: List,
    pub(crate) mount: Option<Mount>,
}

/// The knowledge about a node's access control list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum List {
    Absent,
    Present(Acl),
    /// A list that could not be read.
    Unknown,
}

/// A rule by which an access is granted or refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// The mode bits of this class, which grant this access.
    Bits(Class, Access),
    /// This entry of the list, through this mask.
    Entry(AclEntry, Access),
    /// This mask of the list, which takes away what this entry grants.
    Mask(AclEntry, Access),
    /// The lack of a list entry for the user.
    NoEntry,
    /// The capability of this name, which grants what the other rules refuse.
    Capability(&'static str),
    /// The lack of any execute bit: even `CAP_DAC_OVERRIDE` executes no file without one.
    NoExecuteBit,
    /// A mount that forbids execution.
    NoExec,
    /// A read-only mount.
    ReadOnlyMount,
    /// A read-only file system.
    ReadOnlyFileSystem,
    /// An immutable node.
    Immutable,
    /// The ruleset of Landlock with this number, from 0, which does not grant this right.
    Landlock(usize, Rights),
    /// A name after a node that is not a directory.
    NotADirectory,
    /// A slash after a node that is not a directory.
    TrailingSlash,
    /// A name that does not exist.
    Absent,
    /// A name that does not exist, on the way of a link.
    Dangling,
    /// A directory that was removed.
    Removed,
    /// A name of more than 255 bytes.
    NameTooLong,
    /// A path of more than 4095 bytes.
    PathTooLong,
    /// An empty path.
    EmptyPath,
    /// A walk over more than 40 links.
    TooManyLinks,
    /// The switch `fs.protected_symlinks`.
    ProtectedLink,
    /// A mount that follows no links.
    NoSymFollow,
    /// A link whose body cannot be read.
    LinkBody,
    /// A node that this process itself may not look at.
    NotVisible,
    /// A refusal by the file system itself, or by a security module.
    FileSystem,
}

impl Rule {
    /// Returns the code for JSON.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Rule::Bits(Class::Owner, _) => "owner-bits",
            Rule::Bits(Class::Group, _) => "group-bits",
            Rule::Bits(Class::Other, _) => "other-bits",
            Rule::Entry(entry, _) => match entry.tag {
                AclTag::User(_) => "acl-user",
                AclTag::Group => "acl-owning-group",
                AclTag::NamedGroup(_) => "acl-group",
                _ => "acl-other",
            },
            Rule::Mask(..) => "acl-mask",
            Rule::NoEntry => "acl-no-entry",
            Rule::Capability(_) => "capability",
            Rule::NoExecuteBit => "no-execute-bit",
            Rule::NoExec => "noexec-mount",
            Rule::ReadOnlyMount => "read-only-mount",
            Rule::ReadOnlyFileSystem => "read-only-file-system",
            Rule::Immutable => "immutable",
            Rule::Landlock(..) => "landlock",
            Rule::NotADirectory => "not-a-directory",
            Rule::TrailingSlash => "trailing-slash",
            Rule::Absent => "absent",
            Rule::Dangling => "dangling-link",
            Rule::Removed => "removed",
            Rule::NameTooLong => "name-too-long",
            Rule::PathTooLong => "path-too-long",
            Rule::EmptyPath => "empty-path",
            Rule::TooManyLinks => "too-many-links",
            Rule::ProtectedLink => "protected-symlinks",
            Rule::NoSymFollow => "nosymfollow-mount",
            Rule::LinkBody => "link-body",
            Rule::NotVisible => "not-visible",
            Rule::FileSystem => "file-system",
        }
    }

    /// Returns the relation of the user to a node, in a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Rule::Bits(Class::Owner, _) => "owner",
            Rule::Bits(Class::Group, _) => "group",
            Rule::Bits(Class::Other, _) => "other",
            Rule::Entry(..) | Rule::Mask(..) | Rule::NoEntry => "acl",
            Rule::Capability(_) | Rule::NoExecuteBit => "cap",
            _ => "",
        }
    }
}

/// The answer to a request for access, and the rule behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub(crate) answer: Result<(), Errno>,
    pub(crate) rule: Rule,
}

/// Judges whether `who` has the access `want` to a node. Of several rights, all are needed at once.
pub(crate) fn judge(node: &Node, who: &Subject<'_>, want: Access) -> Judged {
    let refused = |errno, rule| Judged { answer: Err(errno), rule };
    let of = &node.attributes;
    let (writes, executes) = (want.contains(Access::WRITE), want.contains(Access::EXECUTE));
    let on_disk = matches!(of.kind, FileType::Regular | FileType::Directory | FileType::Symlink);
    if of.kind == FileType::Regular && executes && forbids(node, MountFlags::NOEXEC) {
        return refused(Errno::EACCES, Rule::NoExec);
    }
    if writes && on_disk && node.mount.as_ref().is_some_and(Mount::is_read_only_file_system) {
        return refused(Errno::EROFS, Rule::ReadOnlyFileSystem);
    }
    if writes && of.flags.contains(StatxFlags::IMMUTABLE) {
        return refused(Errno::EPERM, Rule::Immutable);
    }
    let (granted, mut rule) = by_mode(node, who, want);
    if !granted && who.overrides(of, want) {
        rule = Rule::Capability(capability(of.kind, who, want));
    } else if !granted {
        let no_bit = of.kind != FileType::Directory && executes && who.has(Capabilities::DAC_OVERRIDE);
        return refused(Errno::EACCES, if no_bit { Rule::NoExecuteBit } else { rule });
    }
    if writes && on_disk && forbids(node, MountFlags::READ_ONLY) {
        return refused(Errno::EROFS, Rule::ReadOnlyMount);
    }
    Judged { answer: Ok(()), rule }
}

fn forbids(node: &Node, flag: MountFlags) -> bool {
    node.mount.as_ref().is_some_and(|mount| mount.flags.contains(flag))
}

/// Returns the rule that describes the relation of `who` to a node. For a directory it is the rule
/// that grants or refuses searching it. For other nodes it is that of the mode or list alone.
pub(crate) fn coming_to(node: &Node, who: &Subject<'_>) -> Rule {
    match node.attributes.kind {
        FileType::Directory => judge(node, who, Access::EXECUTE).rule,
        _ => by_mode(node, who, Access::READ).1,
    }
}

/// Judges by owner, list, group and other.
fn by_mode(node: &Node, who: &Subject<'_>, want: Access) -> (bool, Rule) {
    let of = &node.attributes;
    let class = who.class_of(of);
    match &node.acl {
        List::Present(acl) if class != Class::Owner && of.mode & 0o070 != 0 => {
            let granted = acl.permits(who, of.uid, of.gid, want);
            let rule = |entry: AclEntry| match granted {
                false if entry.grants.contains(want) => Rule::Mask(entry, acl.mask()),
                _ => Rule::Entry(entry, acl.mask()),
            };
            (granted, acl.deciding(who, of.uid, of.gid, want).map_or(Rule::NoEntry, rule))
        }
        _ => {
            let grants = class.grants(of.mode);
            (grants.contains(want), Rule::Bits(class, grants))
        }
    }
}

/// Returns the name of the capability that grants the access.
fn capability(kind: FileType, who: &Subject<'_>, want: Access) -> &'static str {
    let reading = if kind == FileType::Directory { !want.contains(Access::WRITE) } else { want == Access::READ };
    if reading && who.has(Capabilities::DAC_READ_SEARCH) { "CAP_DAC_READ_SEARCH" } else { "CAP_DAC_OVERRIDE" }
}

#[cfg(test)]
mod tests {
    use pathwalk::Credentials;
    use pathwalk::permission::generic;

    use super::*;
    use crate::explain::mounts::Mount;

    fn node(kind: FileType, mode: u16) -> Node {
        let attributes = Attributes::new(kind, mode).with_owner(10, 20);
        Node { path: None, attributes, acl: List::Absent, mount: None }
    }

    /// Returns every access, of one right or several.
    fn wants() -> impl Iterator<Item = Access> + Clone {
        (1..8).map(Access::from_bits_truncate)
    }

    /// Returns credentials of each kind.
    fn all_users() -> Vec<Credentials> {
        let caps = |uid, caps| Credentials::user(uid, 1, &[]).with_capabilities(caps);
        vec![
            Credentials::root(),
            Credentials::user(10, 1, &[20]),
            Credentials::user(11, 20, &[]),
            Credentials::user(11, 1, &[7, 20]),
            Credentials::user(12, 1, &[]),
            caps(12, Capabilities::DAC_READ_SEARCH),
            caps(12, Capabilities::DAC_OVERRIDE),
            caps(10, Capabilities::DAC_OVERRIDE),
        ]
    }

    #[test]
    fn it_judges_as_the_engine_does() {
        for kind in [FileType::Regular, FileType::Directory, FileType::Fifo] {
            for mode in 0..0o1000 {
                for (who, want) in all_users().iter().flat_map(|who| wants().map(|want| (who.effective(), want))) {
                    let engine = generic(&who, kind, mode, 10, 20, want);
                    assert_eq!(judge(&node(kind, mode), &who, want).answer, engine, "{kind:?} {mode:o} {who:?} {want:?}");
                }
            }
        }
    }

    #[test]
    fn with_a_list_too() {
        let entry = |tag, grants| AclEntry { tag, grants };
        let tags = [AclTag::User(11), AclTag::User(12), AclTag::Group, AclTag::NamedGroup(7), AclTag::Mask, AclTag::Other];
        for mode in [0o000, 0o707, 0o070, 0o750, 0o124] {
            for grants in (0..8).map(Access::from_bits_truncate) {
                for one in tags {
                    let rest = tags.map(|tag| entry(tag, if tag == one { grants } else { Access::READ | Access::EXECUTE }));
                    let acl = Acl::new(rest.to_vec());
                    let node = Node { acl: List::Present(acl.clone()), ..node(FileType::Directory, mode) };
                    for (who, want) in all_users().iter().flat_map(|who| wants().map(|want| (who.effective(), want))) {
                        let judged = judge(&node, &who, want);
                        assert_eq!(judged.answer, acl.check(&who, &node.attributes, want), "{one:?} {who:?} {want:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_rule_is_told() {
        let rule = |node: &Node, who: &Credentials, want| judge(node, &who.effective(), want).rule.code();
        let [owner, member, other] = [(10, 20), (11, 20), (12, 1)].map(|(uid, gid)| Credentials::user(uid, gid, &[]));
        let file = node(FileType::Regular, 0o640);
        assert_eq!(rule(&file, &owner, Access::EXECUTE), "owner-bits");
        assert_eq!(rule(&file, &member, Access::READ), "group-bits");
        assert_eq!(rule(&file, &other, Access::READ), "other-bits");
        assert_eq!(rule(&file, &Credentials::root(), Access::READ), "capability");
        assert_eq!(rule(&file, &Credentials::root(), Access::EXECUTE), "no-execute-bit");
        let mount = |flags| Some(Mount { id: 1, flags, line: None });
        let mounted = |flags| Node { mount: mount(flags), ..node(FileType::Regular, 0o777) };
        assert_eq!(rule(&mounted(MountFlags::NOEXEC), &owner, Access::EXECUTE), "noexec-mount");
        assert_eq!(rule(&mounted(MountFlags::READ_ONLY), &owner, Access::WRITE), "read-only-mount");
        assert_eq!(rule(&mounted(MountFlags::all()), &owner, Access::READ), "owner-bits");
        let mut fixed = node(FileType::Regular, 0o777);
        fixed.attributes.flags = StatxFlags::IMMUTABLE;
        assert_eq!(rule(&fixed, &Credentials::root(), Access::WRITE), "immutable");
        assert_eq!(capability(FileType::Directory, &Credentials::root().effective(), Access::EXECUTE), "CAP_DAC_READ_SEARCH");
        assert_eq!(capability(FileType::Regular, &Credentials::root().effective(), Access::WRITE), "CAP_DAC_OVERRIDE");
    }
}
