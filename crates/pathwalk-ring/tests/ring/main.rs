//! The ring, one rule a test.

mod answers;
#[path = "../common/mod.rs"]
mod common;
mod ending;
mod events;
mod flagged;
mod leases;
mod limits;
mod links;
mod locks;
mod pipes;
mod reads;
mod rules;
mod workers;

const LINK: pathwalk_ring::EntryFlags = pathwalk_ring::EntryFlags::LINK;
