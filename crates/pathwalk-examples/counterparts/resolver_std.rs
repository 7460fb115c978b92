//! `examples/resolver.rs` with `std::fs`, on a directory of the host.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Resolver {
    files: RefCell<HashMap<PathBuf, bool>>,
    mains: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

impl Resolver {
    fn resolve(&self, from: &Path, name: &str) -> Option<PathBuf> {
        from.ancestors().find_map(|directory| self.module(&directory.join("node_modules").join(name)))
    }

    fn module(&self, path: &Path) -> Option<PathBuf> {
        let main = self.mains.borrow_mut().entry(path.into()).or_insert_with(|| main_of(path)).clone();
        let candidates = [Some(path.with_added_extension("js")), main, Some(path.join("index.js"))];
        let is_file = |path: &PathBuf| *self.files.borrow_mut().entry(path.clone()).or_insert_with(|| path.is_file());
        candidates.into_iter().flatten().find(is_file)
    }
}

fn main_of(path: &Path) -> Option<PathBuf> {
    let package: serde_json::Value = serde_json::from_slice(&fs::read(path.join("package.json")).ok()?).ok()?;
    Some(path.join(package["main"].as_str()?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = tempfile::tempdir()?;
    fs::create_dir_all(app.path().join("node_modules/pad/lib"))?;
    fs::write(app.path().join("node_modules/pad/package.json"), r#"{"main": "lib/pad.js"}"#)?;
    fs::write(app.path().join("node_modules/pad/lib/pad.js"), "")?;
    let resolver = Resolver::default();
    let ask = || ["pad", "absent"].map(|name| resolver.resolve(&app.path().join("src/view"), name));
    let found = [Some(app.path().join("node_modules/pad/lib/pad.js")), None];
    assert_eq!([ask(), ask()], [found.clone(), found]);
    Ok(())
}
