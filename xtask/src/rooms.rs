//! `cargo xtask rooms`: checks that the engine's imports have one direction.
//!
//! The engine's files belong to rooms, which are ordered. A file imports from its own room and from
//! those below it. `docs/design.md` gives the reasons for the order.
//!
//! # What always holds
//!
//! - Each file belongs to one room. A new file that belongs to none is reported.
//! - A name is followed through its re-exports to the file that defines it.
//! - A file adds methods only to types of its own: `impl T` is in the room of `T`. Otherwise a
//!   method call would hide a dependency that no `use` line shows.
//!
//! # What it does not do
//!
//! It checks no tests, and no paths within the arguments of macros.

mod circles;
mod sources;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use sources::{Import, Sources};

/// The rooms, the lowest first: a name, and the modules in it with all that is below them.
const ROOMS: [(&str, &[&str]); 16] = [
    ("values", &["attr", "cancellation", "config", "errno", "error", "limits", "stats", "sync"]),
    ("words", &["abi", "node", "permission", "text"]),
    ("memory", &["memory"]),
    ("cache", &["cache"]),
    ("memo", &["memo"]),
    ("inode_cache", &["inode_cache"]),
    ("locks", &["locks"]),
    ("fs_api", &["fs_api"]),
    ("security", &["security"]),
    ("special", &["special"]),
    ("events", &["events"]),
    ("superblock", &["superblock"]),
    ("mount", &["mount"]),
    ("walk", &["walk"]),
    ("ops", &["ops"]),
    (
        "face",
        &["builder", "context", "file", "fs", "handle", "internals", "invalidate", "landlock", "mounts", "subscription", "vfs"],
    ),
];

/// The directory of the engine's sources.
const ENGINE: &str = "crates/pathwalk/src";

/// The number of files in the longest circle of imports that a room may have.
const LONGEST_CIRCLE: usize = 2;

/// The arguments of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The directory of the sources to check.
    #[arg(long, default_value = ENGINE)]
    sources: PathBuf,
    /// Print each import from one room to another.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let sources = Sources::read(&args.sources)?;
    let faults = faults(&sources);
    if args.list {
        list(&sources);
    }
    for fault in &faults {
        println!("{fault}");
    }
    let (files, imports) = (sources.files.len(), sources.imports.len());
    let verdict = if faults.is_empty() { "none points up".into() } else { format!("{} faults", faults.len()) };
    println!("{} rooms, {files} files, {imports} imports: {verdict}", ROOMS.len());
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}

/// Returns the place of a module's room in the order, and its name.
fn room_of(module: &str) -> Option<(usize, &'static str)> {
    let top = module.split("::").next().unwrap_or(module);
    ROOMS.iter().enumerate().find(|(_, (_, tops))| tops.contains(&top)).map(|(at, (name, _))| (at, *name))
}

/// Returns all violations of the rules, as sentences.
fn faults(sources: &Sources) -> Vec<String> {
    let mut faults = Vec::new();
    for module in sources.files.iter().filter(|module| room_of(module).is_none()) {
        faults.push(format!("{module}: belongs to no room; add it to ROOMS in {}", file!()));
    }
    for Import { from, to, name } in &sources.imports {
        if let (Some(own), Some(other)) = (room_of(from), room_of(to))
            && own.0 < other.0
        {
            faults.push(format!("{from} (room {}) imports {to}::{name} from the room above, {}", own.1, other.1));
        }
    }
    for Import { from, to, name } in &sources.methods {
        if room_of(from) != room_of(to) {
            faults.push(format!("{from} adds methods to {name}, which {to} defines: they belong to its room"));
        }
    }
    for circle in circles::of(&sources.files, &sources.imports, LONGEST_CIRCLE) {
        faults.push(format!("a circle of imports: {}", circle.join(", ")));
    }
    faults
}

fn list(sources: &Sources) {
    for Import { from, to, name } in &sources.imports {
        let (Some(own), Some(other)) = (room_of(from), room_of(to)) else { continue };
        if own != other {
            println!("{:12} {from} → {to}::{name}", own.1);
        }
    }
}

/// Tests on the engine as it is, from the workspace's root or a crate's.
#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn engine() -> Sources {
        Sources::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(ENGINE)).expect("the engine's sources")
    }

    #[test]
    fn no_import_of_the_engine_points_up() {
        assert_eq!(faults(&engine()), [] as [String; 0]);
    }

    #[test]
    fn an_upward_import_is_a_fault() {
        let mut sources = engine();
        sources.imports.push(Import { from: "memory::pin".into(), to: "walk".into(), name: "Env".into() });
        assert!(faults(&sources)[0].starts_with("memory::pin (room memory) imports walk::Env from the room above"));
    }

    #[test]
    fn methods_of_a_lower_type_are_a_fault() {
        let mut sources = engine();
        sources.methods.push(Import { from: "walk::fast".into(), to: "cache::caches".into(), name: "Caches".into() });
        assert_eq!(faults(&sources).len(), 1);
    }

    #[test]
    fn a_circle_of_three_files_is_a_fault() {
        let mut sources = engine();
        for (from, to) in [("ops::open", "ops::link"), ("ops::link", "ops::set"), ("ops::set", "ops::open")] {
            sources.imports.push(Import { from: from.into(), to: to.into(), name: "x".into() });
        }
        assert!(
            faults(&sources)
                .iter()
                .any(|fault| fault.starts_with("a circle of imports: ops::link, ops::open, ops::open_special, ops::set"))
        );
    }
}
