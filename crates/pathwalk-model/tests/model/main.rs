//! The model's answers, as tables. What stands in them, the kernel answered on a tmpfs.

mod attributes;
mod data;
mod last_component;
mod links;
mod permission;
mod places;
mod state;
mod world;
