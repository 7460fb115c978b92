//! Tests of the tree of mounts in a toy ground.

mod rules;
mod toy;
