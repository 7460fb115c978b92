//! The server as its clients have it: over a real socket, with a tree whose neighbours are secret.

mod client;
mod files;
mod limits;
mod outside;
mod storm;
