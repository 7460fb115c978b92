//! The security hook: a policy, fixed when a `Vfs` is built, that may refuse what permissions
//! allow.
//!
//! - [`Rights`] are what the hook is asked for. They are those of Landlock.
//! - [`SecurityHook`] is what one implements.
//! - [`Object`] is the node that a question is about, with the way up to the root.
//! - [`Label`] is what the hook keeps of a context.
//!
//! What always holds: a hook can only refuse. It is asked after the name was found, with the
//! directory's lock held for a change of names, and with no lock held for an open.
//!
//! What it does not do: attributes, bodies of links, and listings that are under way ask no hook,
//! as in Landlock. Lookups ask one that cares about search, and only in directories for which it
//! has not promised that all callers may search them. So a cached lookup costs the same with any
//! other hook as without.

mod hook;
mod object;
mod rights;

pub use hook::{Caller, Label, Move, MoveKind, Search, SecurityHook};
pub(crate) use object::Way;
pub use object::{NodeId, Object};
pub use rights::Rights;
