//! `cargo xtask examples`: checks that each public item of the libraries has an example, or leads
//! to one.
//!
//! # The rule
//!
//! A type, a trait, a free function or a constant is covered if its documentation has an example,
//! or a link to an item whose own documentation has one. A method or an associated constant is
//! covered in these two ways, or by an example of its `impl` block or type that names it. A trait's
//! methods, a type's fields and an enum's variants are covered by their trait or type.
//!
//! # What always holds
//!
//! - An example is a block of Rust code that the tests compile. A block that is ignored is none.
//! - What a source calls `pub` is public, since the lint `unreachable_pub` refuses any other use.
//!   Of these, the items count that `lib.rs` or a public module names.
//!
//! # What it does not do
//!
//! It reads no item that a macro of the crate makes, but for `bitflags!`. It does not judge an
//! example.

mod docs;
mod items;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result};
use items::{Item, Kind};

/// The libraries, by the names of their directories.
const LIBRARIES: [&str; 6] =
    ["pathwalk", "pathwalk-memfs", "pathwalk-hostfs", "pathwalk-ring", "pathwalk-synthfs", "pathwalk-recording"];

/// What the command line asks for.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The directory that has the crates.
    #[arg(long, value_name = "DIR", default_value = "crates")]
    crates: std::path::PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut libraries = Libraries::new();
    for library in LIBRARIES {
        let sources = args.crates.join(library).join("src");
        let items = items::read(&sources).with_context(|| format!("read the public items of {library}"))?;
        libraries.insert(library.replace('-', "_"), items);
    }
    let missing = uncovered(&libraries);
    for (library, item) in &missing {
        println!("{}: {library}::{} has no example and no link to one", item.file.display(), item.name);
    }
    let all: usize = libraries.values().map(Vec::len).sum();
    let outcome = if missing.is_empty() { "each has an example".into() } else { format!("{} have none", missing.len()) };
    println!("{all} public items: {outcome}");
    Ok(ExitCode::from(u8::from(!missing.is_empty())))
}

/// The public items of each library.
type Libraries = BTreeMap<String, Vec<Item>>;

/// Returns the items that no example covers, with their libraries.
fn uncovered(libraries: &Libraries) -> Vec<(&str, &Item)> {
    let items = libraries.iter().flat_map(|(library, items)| items.iter().map(move |item| (&**library, item)));
    items.filter(|(library, item)| !is_covered(libraries, library, item)).collect()
}

fn is_covered(libraries: &Libraries, library: &str, item: &Item) -> bool {
    let (of, name) = match &item.kind {
        Kind::OfTrait => return true,
        Kind::Alone => ("", item.name.as_str()),
        Kind::Method { of, .. } => (of.as_str(), item.name.rsplit(':').next().unwrap_or_default()),
    };
    item.docs.has_example()
        || item.docs.links().any(|link| leads_to_example(libraries, library, of, link))
        || item.around(&libraries[library]).any(|docs| docs.example_names(name))
}

/// Returns whether a link, in the documentation of an item of the type `of`, leads to an item that
/// has an example of its own.
fn leads_to_example(libraries: &Libraries, library: &str, of: &str, link: &str) -> bool {
    let path = link.split('#').next().unwrap_or_default();
    let path = path.rsplit('@').next().unwrap_or_default().trim_end_matches("()").trim_end_matches('!');
    let mut segments: Vec<&str> = path.split("::").collect();
    let named = segments.first().filter(|first| libraries.contains_key(**first)).copied();
    if let Some(first) = segments.first_mut().filter(|first| **first == "Self") {
        *first = of;
    }
    let last = segments.last().copied().unwrap_or_default();
    let before = segments.len().checked_sub(2).map(|at| format!("{}::{last}", segments[at]));
    let find = |library: &str| {
        let items = libraries.get(library)?;
        items.iter().find(|item| Some(&item.name) == before.as_ref() || item.name == last)
    };
    let target = find(named.unwrap_or(library)).or_else(|| find("pathwalk"));
    target.is_some_and(|target| target.docs.has_example())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SOURCE: &str = r#"
        /// A type.
        /// ```
        /// One::new().go();
        /// ```
        pub struct One;
        impl One {
            /// Creates one.
            pub fn new() -> One { One }
            /// Goes.
            pub fn go(&self) {}
            /// Stops.
            pub fn stop(&self) {}
            /// Ends, as [`One`].
            pub fn end(&self) {}
            /// Ends, as [`stop`](Self::stop).
            pub fn finish(&self) {}
            pub(crate) fn inner(&self) {}
        }
        /// A type that is like [`One`].
        pub struct Two;
        /// ```text
        /// no code
        /// ```
        pub trait Three {
            /// Has no example.
            fn method(&self);
        }
        bitflags! {
            /// Flags.
            pub struct Four: u32 {
                const A = 1;
            }
        }
        /// A type that is not exported.
        pub struct Five;
    "#;

    #[test]
    fn an_example_covers_what_it_names_and_what_links_to_it() {
        let file = syn::parse_file(SOURCE).unwrap();
        let names = ["One", "Two", "Three", "Four"].map(String::from).into();
        let libraries = Libraries::from([("one".into(), items::of_file(Path::new("lib.rs"), &file, &names))]);
        let missing: Vec<_> = uncovered(&libraries).iter().map(|(_, item)| item.name.as_str()).collect();
        assert_eq!(missing, ["One::stop", "One::finish", "Three", "Four"]);
    }
}
