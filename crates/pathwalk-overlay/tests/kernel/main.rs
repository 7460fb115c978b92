//! Layers that the kernel writes, taken into branches: the mount's view is what the branch has to
//! show.

mod forms;
mod left;
mod random;
mod rows;
#[path = "../../../pathwalk-changes/tests/common/mod.rs"]
mod trees;
mod user;
mod world;
