//! Changes that are made without the engine, and reported: by the owner of the `Vfs`, and by the
//! file system, from its own threads and from inside its own calls.

#[path = "../common/mod.rs"]
mod common;
mod during;
mod forms;
mod inside;
mod random;
mod world;
