//! `cargo xtask package`: checks that the published crates can be published as they are; and
//! `cargo xtask msrv`: checks them with the oldest compiler that their manifests name.
//!
//! # What always holds
//!
//! - A crate is published if its manifest does not say `publish = false`. No list of names exists
//!   beside the manifests.
//! - Each package is checked by the compiler from its archive, against the archives of the others.
//! - Documentation is built from the archives with the settings of docs.rs, for each crate alone.
//! - A README shows the same on crates.io and in the documentation: every link is absolute and its
//!   target is there, as far as the target is this repository's.
//!
//! # What it does not do
//!
//! It uploads nothing and needs no token. It uses no network but the registry of the dependencies,
//! so links to other sites are not followed.

mod manifest;
mod msrv;
mod readme;
mod unpacked;

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use cargo_metadata::camino::Utf8Path;
use cargo_metadata::{Metadata, MetadataCommand, Package};

pub(crate) use msrv::run as run_msrv;

use unpacked::Unpacked;

pub(crate) fn run() -> Result<ExitCode> {
    let workspace = workspace()?;
    let published = published(&workspace);
    let mut faults = Vec::new();
    let mut add = |package: &Package, found: Vec<String>| {
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", package.name)))
    };
    for package in &published {
        add(package, manifest::faults(package, &workspace));
        add(package, unlisted(package, &workspace)?);
    }
    let mut dry_run = vec!["publish", "--dry-run", "--no-verify", "--allow-dirty", "--locked", "--quiet"];
    let mut archive = vec!["package", "--no-verify", "--allow-dirty", "--locked", "--quiet"];
    for args in [&mut dry_run, &mut archive] {
        published.iter().for_each(|package| args.extend(["--package", &package.name]));
    }
    // The first applies the registry's rules, and the second leaves the archives.
    let root = &workspace.workspace_root;
    if cargo(root, &dry_run, &[])? && cargo(root, &archive, &[])? {
        let unpacked = Unpacked::new(&workspace, &published)?;
        for package in &published {
            add(package, unpacked.faults(package)?);
        }
        // Links lead from one crate's README to another's documentation: all of it is there now.
        for package in &published {
            add(package, readme_faults(package, &published, &workspace)?);
        }
    } else {
        faults.push("cargo made no packages, as written above".into());
    }
    for fault in &faults {
        println!("{fault}");
    }
    let verdict = if faults.is_empty() { "can be published".into() } else { format!("{} faults", faults.len()) };
    let names: Vec<_> = published.iter().map(|package| package.name.as_str()).collect();
    println!("{} crates ({}): {verdict}", published.len(), names.join(", "));
    Ok(ExitCode::from(u8::from(!faults.is_empty())))
}

/// Returns the workspace as cargo reads it.
pub(crate) fn workspace() -> Result<Metadata> {
    MetadataCommand::new().no_deps().other_options(["--locked".into()]).exec().context("run cargo metadata")
}

/// Returns the packages that are published.
fn published(workspace: &Metadata) -> Vec<&Package> {
    let is_published = |package: &&Package| package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
    workspace.workspace_packages().into_iter().filter(is_published).collect()
}

/// Returns the files that are missing from the list of a package.
fn unlisted(package: &Package, workspace: &Metadata) -> Result<Vec<String>> {
    let args = ["package", "--list", "--allow-dirty", "--locked", "--quiet", "--package", &package.name];
    let output = Command::new("cargo").args(args).current_dir(&workspace.workspace_root).output().context("run cargo package")?;
    ensure!(output.status.success(), "cargo package --list failed: {}", String::from_utf8_lossy(&output.stderr));
    let list = String::from_utf8(output.stdout).context("read the list of a package")?;
    let is_missing = |file: &&str| !list.lines().any(|line| line == *file);
    let files = [manifest::README].into_iter().chain(manifest::LICENCES);
    Ok(files.filter(is_missing).map(|file| format!("the package has no {file}")).collect())
}

/// Returns the faults of a package's README. The documentation has been built.
fn readme_faults(package: &Package, published: &[&Package], workspace: &Metadata) -> Result<Vec<String>> {
    // Without a README, the manifest has a fault already.
    let Some(path) = package.readme() else { return Ok(Vec::new()) };
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let faults = readme::faults(&text, |link| readme::broken(link, published, workspace));
    Ok(faults.into_iter().map(|fault| format!("{}: {fault}", manifest::README)).collect())
}

/// Prints a command of cargo, carries it out in a directory, and returns whether it succeeded.
fn cargo(directory: &Utf8Path, args: &[&str], environment: &[(&str, &str)]) -> Result<bool> {
    let set: String = environment.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    println!("$ {set}cargo {}", args.join(" "));
    let mut command = Command::new("cargo");
    command.args(args).envs(environment.iter().copied()).current_dir(directory);
    Ok(command.status().context("run cargo")?.success())
}
