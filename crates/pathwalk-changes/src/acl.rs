//! Access control lists as text: `user:1000:r-x`, one entry after another. Source: `acl(5)`.

use pathwalk::Access;
use pathwalk::permission::{Acl, AclEntry, AclTag};

/// The rights, in the order in which they are shown.
const RIGHTS: [(Access, char); 3] = [(Access::READ, 'r'), (Access::WRITE, 'w'), (Access::EXECUTE, 'x')];

/// Returns the entries of a list as text.
pub(crate) fn to_text(acl: &Acl) -> Vec<String> {
    let entry = |entry: &AclEntry| {
        let who = match entry.tag {
            AclTag::Owner => "user:".to_owned(),
            AclTag::User(uid) => format!("user:{uid}"),
            AclTag::Group => "group:".to_owned(),
            AclTag::NamedGroup(gid) => format!("group:{gid}"),
            AclTag::Mask => "mask:".to_owned(),
            AclTag::Other => "other:".to_owned(),
        };
        let rights: String = RIGHTS.map(|(right, shown)| if entry.grants.contains(right) { shown } else { '-' }).iter().collect();
        format!("{who}:{rights}")
    };
    acl.entries().iter().map(entry).collect()
}

/// Returns the list of these entries, if it is one that a node may have.
pub(crate) fn from_text(entries: &[String]) -> Option<Acl> {
    let entry = |text: &String| {
        let mut parts = text.split(':');
        let (kind, id, rights) = (parts.next()?, parts.next()?, parts.next()?);
        let tag = match (kind, id) {
            ("user", "") => AclTag::Owner,
            ("user", uid) => AclTag::User(uid.parse().ok()?),
            ("group", "") => AclTag::Group,
            ("group", gid) => AclTag::NamedGroup(gid.parse().ok()?),
            ("mask", "") => AclTag::Mask,
            ("other", "") => AclTag::Other,
            _ => return None,
        };
        let mut grants = Access::empty();
        for (at, (right, shown)) in RIGHTS.iter().enumerate() {
            match rights.chars().nth(at)? {
                found if found == *shown => grants |= *right,
                '-' => {}
                _ => return None,
            }
        }
        (rights.len() == RIGHTS.len() && parts.next().is_none()).then_some(AclEntry { tag, grants })
    };
    let acl = Acl::new(entries.iter().map(entry).collect::<Option<_>>()?);
    acl.is_valid().then_some(acl)
}
