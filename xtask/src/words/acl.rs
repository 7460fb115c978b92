//! Access control lists: `owner:rw-,user1000:r--,group:r--,mask:rw-,other:---`, or `-` for none.

use std::fmt::Write;

use anyhow::{Result, anyhow, bail};
use pathwalk::Access;
use pathwalk::permission::{AclEntry, AclTag};

use super::Word;

/// The ACL that a node is to get. Entries are in the kernel's order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct List(pub(crate) Vec<AclEntry>);

const BITS: [(Access, char); 3] = [(Access::READ, 'r'), (Access::WRITE, 'w'), (Access::EXECUTE, 'x')];

impl Word for List {
    fn write(&self, out: &mut String) {
        out.push_str(if self.0.is_empty() { "-" } else { "" });
        for (index, AclEntry { tag, grants }) in self.0.iter().enumerate() {
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
        word.split(',').filter(|entry| *entry != "-").map(entry).collect::<Result<_>>().map(List)
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
