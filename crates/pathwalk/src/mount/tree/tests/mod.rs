//! Tests of the tree of mounts in a toy ground.

mod calls;
pub(crate) mod model;
mod random;
mod rules;
mod toy;

#[path = "../../../../../pathwalk-tests/tests/mounts/op.rs"]
pub(crate) mod op;
#[path = "../../../../../pathwalk-tests/tests/mounts/system.rs"]
pub(crate) mod system;
