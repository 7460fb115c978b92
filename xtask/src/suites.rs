//! `cargo xtask suites`: checks that each file of a crate's tests is part of a test program.
//!
//! A crate with `autotests = false` names its test programs in its manifest. `tests/all.rs` is the
//! one of all files that need none of their own, as its modules.
//!
//! # What it does not do
//!
//! It reads no submodules: the compiler looks for each that is named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use cargo_metadata::TargetKind;

use crate::package::workspace;

pub(crate) fn run() -> Result<ExitCode> {
    let (mut files, mut left_out) = (0, Vec::new());
    for package in workspace()?.workspace_packages() {
        let tests = package.manifest_path.with_file_name("tests");
        let programs = package.targets.iter().filter(|target| target.is_kind(TargetKind::Test));
        let programs: BTreeSet<_> = programs.map(|target| target.src_path.clone().into_std_path_buf()).collect();
        let found = roots(tests.as_std_path()).with_context(|| format!("list {tests}"))?;
        let all = fs::read_to_string(tests.join("all.rs")).unwrap_or_default();
        files += found.len();
        left_out.extend(found.into_iter().filter(|file| !programs.contains(file) && !is_module(file, &all)));
    }
    for file in &left_out {
        println!("{}: part of no test program; name it in tests/all.rs or in Cargo.toml", file.display());
    }
    let outcome = if left_out.is_empty() { "each is tested".into() } else { format!("{} are not", left_out.len()) };
    println!("{files} files of tests: {outcome}");
    Ok(ExitCode::from(u8::from(!left_out.is_empty())))
}

/// Returns the files in a directory of tests that cargo would take for test programs.
fn roots(tests: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !tests.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(tests)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let root = |path: PathBuf| {
        let file = if path.is_dir() { path.join("main.rs") } else { path };
        (file.extension().is_some_and(|extension| extension == "rs") && file.exists()).then_some(file)
    };
    Ok(entries.into_iter().filter_map(root).collect())
}

/// Returns whether a file is a module of the one with this text.
fn is_module(file: &Path, all: &str) -> bool {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    all.lines().any(|line| line == format!("mod {name};"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_module_by_its_whole_name() {
        let all = "//! All.\n\nmod acl;\nmod common;\n";
        assert!(is_module(Path::new("tests/acl.rs"), all));
        assert!(!is_module(Path::new("tests/ac.rs"), all));
        assert!(!is_module(Path::new("tests/walk.rs"), all));
    }

    #[test]
    fn what_cargo_takes_for_programs_is_found() {
        let tests = tempfile::tempdir().unwrap();
        for dir in ["common", "mounts"] {
            fs::create_dir(tests.path().join(dir)).unwrap();
        }
        for file in ["acl.rs", "rows.txt", "common/mod.rs", "mounts/main.rs", "mounts/rows.rs"] {
            fs::write(tests.path().join(file), "").unwrap();
        }
        let mut found = roots(tests.path()).unwrap();
        found.sort();
        assert_eq!(found, ["acl.rs", "mounts/main.rs"].map(|file| tests.path().join(file)));
        assert_eq!(roots(&tests.path().join("none")).unwrap(), Vec::<PathBuf>::new());
    }
}
