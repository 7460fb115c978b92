//! Access control lists: `owner:rw-,user1000:r--,group:r--,mask:rw-,other:---`, or `-` for none. A
//! default list begins with `d:`.

use std::fmt::Write;

use anyhow::{Result, anyhow, bail};
use pathwalk::Access;
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};

use super::Word;

/// The ACL that a node is to get. Entries are in any order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct List {
    pub(crate) kind: AclKind,
    pub(crate) entries: Vec<AclEntry>,
}

impl List {
    /// Returns the list to be set; `None` if it is to be removed.
    pub(crate) fn acl(&self) -> Option<Acl> {
        (!self.entries.is_empty()).then(|| Acl::new(self.entries.clone()))
    }
}

const DEFAULT: &str = "d:";

impl Word for AclKind {
    fn write(&self, out: &mut String) {
        out.push_str(if *self == AclKind::Access { "access" } else { "default" });
    }

    fn read(word: &str) -> Result<AclKind> {
        match word {
            "access" => Ok(AclKind::Access),
            "default" => Ok(AclKind::Default),
            _ => bail!("access or default"),
        }
    }
}

const BITS: [(Access, char); 3] = [(Access::READ, 'r'), (Access::WRITE, 'w'), (Access::EXECUTE, 'x')];

impl Word for List {
    fn write(&self, out: &mut String) {
        out.push_str(if self.kind == AclKind::Default { DEFAULT } else { "" });
        out.push_str(if self.entries.is_empty() { "-" } else { "" });
        for (index, AclEntry { tag, grants }) in self.entries.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            let _ = match tag {
                AclTag::Owner => write!(out, "owner:"),
                AclTag::User(uid) => write!(out, "user{uid}:"),
                AclTag::Group => write!(out, "group:"),
                AclTag::NamedGroup(gid) => write!(out, "group{gid}:"),
                AclTag::Mask => write!(out, "mask:"),
                AclTag::Other => write!(out, "other:"),
            };
            out.extend(BITS.iter().map(|(bit, letter)| if grants.contains(*bit) { *letter } else { '-' }));
        }
    }

    fn read(word: &str) -> Result<List> {
        let (kind, word) = word.strip_prefix(DEFAULT).map_or((AclKind::Access, word), |rest| (AclKind::Default, rest));
        let entries = word.split(',').filter(|entry| *entry != "-").map(entry).collect::<Result<_>>()?;
        Ok(List { kind, entries })
    }
}

fn entry(word: &str) -> Result<AclEntry> {
    let (tag, bits) = word.split_once(':').ok_or_else(|| anyhow!("an entry is like user7:rw-"))?;
    let tag = match (tag, tag.strip_prefix("user"), tag.strip_prefix("group")) {
        ("owner", ..) => AclTag::Owner,
        ("group", ..) => AclTag::Group,
        ("mask", ..) => AclTag::Mask,
        ("other", ..) => AclTag::Other,
        (_, Some(uid), _) => AclTag::User(uid.parse()?),
        (_, _, Some(gid)) => AclTag::NamedGroup(gid.parse()?),
        _ => bail!("owner, user7, group, group7, mask or other"),
    };
    let set = BITS.iter().filter(|(_, letter)| bits.contains(*letter));
    Ok(AclEntry { tag, grants: set.fold(Access::empty(), |grants, (bit, _)| grants | *bit) })
}
