//! Tests of the server as its clients use it: over a real socket, with a tree whose neighbours are
//! secret.

mod client;
mod deploy;
mod files;
mod limits;
mod outside;
mod storm;
