//! `cargo xtask msrv`: builds each published crate with the compiler that its `rust-version` names.
//!
//! Dependencies are those of `Cargo.lock`. Cargo refuses one that needs a newer compiler. Tests are
//! not built: they run with the compiler of `rust-toolchain.toml`.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use super::{published, workspace};

pub(crate) fn run() -> Result<ExitCode> {
    let workspace = workspace()?;
    let mut by_version: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in published(&workspace) {
        let version = package.rust_version.as_ref().with_context(|| format!("{} has no rust-version", package.name))?;
        by_version.entry(version.to_string()).or_default().push(&package.name);
    }
    let target = workspace.target_directory.join("msrv");
    let mut is_well = true;
    for (version, names) in &by_version {
        install(version)?;
        let mut args = vec!["run", version, "cargo", "check", "--lib", "--locked", "--target-dir", target.as_str()];
        names.iter().for_each(|name| args.extend(["--package", name]));
        println!("$ rustup {}", args.join(" "));
        let mut command = Command::new("rustup");
        let status = command.args(args).current_dir(&workspace.workspace_root).status().context("run rustup")?;
        println!("Rust {version} {} {}", if status.success() { "builds" } else { "does not build" }, names.join(", "));
        is_well &= status.success();
    }
    Ok(ExitCode::from(u8::from(!is_well)))
}

/// Installs a toolchain if it is missing.
fn install(version: &str) -> Result<()> {
    let installed = Command::new("rustup").args(["toolchain", "list"]).output().context("run rustup, which has the compilers")?;
    let list = String::from_utf8_lossy(&installed.stdout);
    if list.lines().any(|line| line.starts_with(&format!("{version}-"))) {
        return Ok(());
    }
    let args = ["toolchain", "install", version, "--profile", "minimal", "--no-self-update"];
    println!("$ rustup {}", args.join(" "));
    let status = Command::new("rustup").args(args).status().context("run rustup")?;
    ensure!(status.success(), "rustup cannot install Rust {version}");
    Ok(())
}
