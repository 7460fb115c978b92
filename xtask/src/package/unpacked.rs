//! A workspace of unpacked packages: each is checked and documented from its archive, and depends
//! on the other archives in place of those of crates.io.
//!
//! Cargo could verify archives itself. But it keeps each that it unpacks by its version, in
//! `CARGO_HOME`, and a later dry run of the same version would be built against the old one.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::{Metadata, Package};

use super::manifest::LICENCES;

/// The flags with which docs.rs builds, and each warning as an error: broken links are warnings.
const RUSTDOCFLAGS: &str = "--cfg docsrs -D warnings";

/// The workspace of unpacked packages.
pub(super) struct Unpacked<'a> {
    workspace: &'a Metadata,
    /// The directory of the workspace.
    directory: Utf8PathBuf,
}

impl<'a> Unpacked<'a> {
    /// Unpacks the archives that cargo left in the target directory. Third-party dependencies are
    /// those of the repository's `Cargo.lock`.
    pub(super) fn new(workspace: &'a Metadata, published: &[&Package]) -> Result<Self> {
        let directory = workspace.target_directory.join("package/unpacked");
        if directory.exists() {
            fs::remove_dir_all(&directory).with_context(|| format!("remove {directory}"))?;
        }
        fs::create_dir_all(&directory).with_context(|| format!("create {directory}"))?;
        let mut manifest = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n");
        for package in published {
            let name = format!("{}-{}", package.name, package.version);
            manifest += &format!("{} = {{ path = \"{name}\" }}\n", package.name);
            let archive = workspace.target_directory.join("package").join(format!("{name}.crate"));
            // Files of all archives have one time; with -m they are new, and cargo checks them.
            let status =
                Command::new("tar").args(["-xzmf", archive.as_str(), "-C", directory.as_str()]).status().context("run tar")?;
            ensure!(status.success(), "tar cannot unpack {archive}");
        }
        let write = |name: &str, text: &[u8]| {
            fs::write(directory.join(name), text).with_context(|| format!("write {name} in {directory}"))
        };
        write("Cargo.toml", manifest.as_bytes())?;
        write("Cargo.lock", &fs::read(workspace.workspace_root.join("Cargo.lock")).context("read Cargo.lock")?)?;
        Ok(Unpacked { workspace, directory })
    }

    /// Checks a package, and builds its documentation, each for itself. Returns the faults. Both
    /// need the same of the dependencies.
    pub(super) fn faults(&self, package: &Package) -> Result<Vec<String>> {
        let mut faults = self.wrong_licences(package)?;
        for (task, environment) in [(["check", "--lib"], &[][..]), (["doc", "--no-deps"], &[("RUSTDOCFLAGS", RUSTDOCFLAGS)])] {
            let target = self.workspace.target_directory.as_str();
            let common = ["--quiet", "--target-dir", target, "--package", &package.name];
            if !super::cargo(&self.directory, &[&task[..], &common].concat(), environment)? {
                faults.push(format!("cargo {} failed, as written above", task[0]));
            }
        }
        Ok(faults)
    }

    /// Returns the licences that are not in the package as they are in the repository.
    fn wrong_licences(&self, package: &Package) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        for file in LICENCES {
            let own = fs::read(self.workspace.workspace_root.join(file)).with_context(|| format!("read {file}"))?;
            let packed = self.directory.join(format!("{}-{}", package.name, package.version)).join(file);
            if fs::read(packed).ok() != Some(own) {
                faults.push(format!("{file} of the package is not the repository's"));
            }
        }
        Ok(faults)
    }
}
