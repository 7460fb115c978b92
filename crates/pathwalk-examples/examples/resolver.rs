//! A module resolver as Node's: it walks up, and in each `node_modules` looks for `NAME.js`, for
//! what `main` in `NAME/package.json` says, and for `NAME/index.js`. Each probe is a cached lookup,
//! and what is absent is cached, too: asked again, the file system gets no call for a name.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example resolver
//! ```
//!
//! The same program with other crates:
//!
//! - 35 lines in `counterparts/resolver_std.rs`, with `std::fs` and a map of answers: nothing keeps
//!   the map true when a file is made, moved or removed, and nothing bounds its memory. Two paths
//!   to one directory share nothing.

use std::path::{Path, PathBuf};

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_memfs::MemFs;

fn resolve(fs: &Context, from: &Path, name: &str) -> Option<PathBuf> {
    from.ancestors().find_map(|directory| module(fs, &directory.join("node_modules").join(name)))
}

fn module(fs: &Context, path: &Path) -> Option<PathBuf> {
    let package = fs.read(path.join("package.json")).ok().and_then(|json| serde_json::from_slice(&json).ok());
    let main = package.and_then(|package: serde_json::Value| Some(path.join(package["main"].as_str()?)));
    let candidates = [Some(path.with_added_extension("js")), main, Some(path.join("index.js"))];
    candidates.into_iter().flatten().find(|path| fs.metadata(path).is_ok_and(|of| of.is_file()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fs = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    fs.create_dir_all("/app/node_modules/pad/lib")?;
    fs.write("/app/node_modules/pad/package.json", r#"{"main": "lib/pad.js"}"#)?;
    fs.write("/app/node_modules/pad/lib/pad.js", "")?;
    let ask = || ["pad", "absent"].map(|name| resolve(&fs, "/app/src/view".as_ref(), name));
    assert_eq!(ask(), [Some("/app/node_modules/pad/lib/pad.js".into()), None]);
    let asked = fs.vfs().stats().fs_lookups;
    assert_eq!((ask()[1].as_ref(), fs.vfs().stats().fs_lookups), (None, asked));
    Ok(())
}
