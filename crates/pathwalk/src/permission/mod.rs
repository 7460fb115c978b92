//! Permission checks: the generic check of `path_resolution(7)`, split so that each part can be
//! read alone.
//!
//! - `credentials`: the caller's user, groups and capabilities;
//! - `id_map`: the ids by which a mount shows owners;
//! - `mode_bits`: owner, group, other, capabilities;
//! - `acl`: the entries of an access control list, and their relation to permission bits;
//! - `privileges`: suid and sgid bits, and the cases in which they are cleared;
//! - `file_capability`: the form of `security.capability`.
//!
//! The order of all checks is in `ops/access.rs`.
//!
//! What it does not do: it reads no cache and takes no lock. The walk passes a snapshot to it.

mod acl;
mod credentials;
pub(crate) mod file_capability;
mod id_map;
mod mode_bits;
mod privileges;

pub use acl::{Acl, AclEntry, AclKind, AclTag};
pub use credentials::{Capabilities, Class, Credentials, Ids, Subject};
pub use id_map::{IdExtent, IdMap, IdMapError, NO_ID, OVERFLOW_ID};
pub(crate) use mode_bits::everyone_may;
pub use mode_bits::{Access, generic};
pub(crate) use privileges::{GROUP_EXECUTE, Owners, SGID, SUID, in_group_or_capable, without_privileges};
