#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

mod answer;
mod by_hand;
mod file;
mod limits;
mod request_path;
mod serve;
mod site;

pub use by_hand::{OneHop, TokioFs};
pub use file::{Opened, Refused};
pub use limits::Limits;
pub use request_path::segments;
pub use serve::serve;
pub use site::{Served, Site};
