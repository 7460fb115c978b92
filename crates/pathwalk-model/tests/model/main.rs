//! Tests of the model's answers, as tables. The kernel gave the expected answers on a tmpfs.

mod attributes;
mod data;
mod last_component;
mod links;
mod permission;
mod places;
mod state;
mod world;
