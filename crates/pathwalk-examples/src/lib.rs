//! Programs written against `std::fs`, and the same programs ported to a
//! [`pathwalk::Context`]: the imports differ, and each function has one more argument.
//! `docs/porting.md` shows how. What is in one file each and can be run is in `examples/`.

pub mod node_modules;

/// The programs as they are written against `std::fs`.
pub mod with_std {
    pub mod copy_tree;
    pub mod count_lines;
    pub mod site;
}

/// The programs on a [`pathwalk::Context`].
pub mod ported {
    pub mod copy_tree;
    pub mod count_lines;
    pub mod site;
}
