//! Tests of the tree of mounts on a toy ground.

mod rules;
mod toy;
