//! A resolver that asks without pause while other programs change the tree, and is told nothing.
//!
//! `PATHWALK_LIVING_FILES` is the number of files of the repository whose branches are switched.
//! `PATHWALK_LIVING_COMMANDS` has more commands, a line each, which a shell runs there, such as
//! `npm install express` and `cargo new x && cd x && cargo build`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pathwalk::{Context, Vfs};
use pathwalk_examples::node_modules::{Resolver, Rules};
use pathwalk_hostfs::{Coherence, HostFs, credentials};
use pathwalk_tests::skipped;

/// The number of switches of branches.
const SWITCHES: usize = 5;

fn context(fs: Arc<HostFs>) -> Context {
    Vfs::builder().build(fs).unwrap().context(credentials().unwrap())
}

/// Makes a repository with two branches, which differ in each third file, in what is a file or a
/// directory, and in links. The error is the reason why there is none.
fn repository(root: &Path, files: usize) -> Result<(), String> {
    for branch in ["one", "two"] {
        git(root, &["checkout", "-q", "--orphan", branch]).or_else(|_| git(root, &["init", "-q", "-b", branch]))?;
        _ = git(root, &["rm", "-rfq", "."]);
        for file in 0..files {
            let package = root.join(format!("node_modules/p{}", file / 10));
            fs::create_dir_all(package.join("lib")).unwrap();
            if file % 3 == 0 && branch == "two" {
                fs::create_dir_all(package.join(format!("lib/f{file}"))).unwrap();
                fs::write(package.join(format!("lib/f{file}/index.js")), branch).unwrap();
            } else {
                fs::write(package.join(format!("lib/f{file}.js")), branch).unwrap();
            }
            let main = format!(r#"{{"main": "lib/f{}.js"}}"#, if branch == "one" { file / 10 * 10 } else { file / 10 * 10 + 1 });
            fs::write(package.join("package.json"), main).unwrap();
        }
        let target = if branch == "one" { "p0" } else { "p1" };
        std::os::unix::fs::symlink(target, root.join("node_modules/linked")).unwrap();
        git(root, &["add", "-A"])?;
        git(root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", branch])?;
    }
    Ok(())
}

fn git(root: &Path, args: &[&str]) -> Result<(), String> {
    let output =
        Command::new("git").arg("-C").arg(root).args(args).output().map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn questions(root: &Path, files: usize) -> Vec<(PathBuf, String)> {
    let packages = (0..files / 10).map(|package| (root.join("src"), format!("p{package}")));
    let inside = (0..files).map(|file| (root.join(format!("node_modules/p{}", file / 10)), format!("./lib/f{file}")));
    let others = ["linked", "linked/lib/f3", "absent", "express", "accepts"].map(|name| (root.join("src"), name.to_owned()));
    packages.chain(inside).chain(others).collect()
}

/// Returns all paths below a directory, and some that are absent.
fn paths(root: &Path) -> BTreeSet<PathBuf> {
    let (mut all, mut left) = (BTreeSet::new(), vec![root.to_owned()]);
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            all.insert(entry.path().with_added_extension("gone"));
            all.insert(entry.path());
        }
    }
    all
}

#[test]
fn a_resolver_survives_what_other_programs_do() {
    const TEST: &str = "a_resolver_survives_what_other_programs_do";
    let files = std::env::var("PATHWALK_LIVING_FILES").map_or(300, |files| files.parse().unwrap());
    let more = std::env::var("PATHWALK_LIVING_COMMANDS").unwrap_or_default();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    if let Err(why) = repository(&root, files) {
        return skipped(TEST, &why);
    }
    let host = Arc::new(HostFs::open("/".as_ref()).unwrap().with_coherence(Coherence::Watch));
    let living = context(Arc::clone(&host));
    let mut resolver = Resolver::new(living.clone(), Rules::require(), 100_000).unwrap();
    let questions = questions(&root, files);
    let switches = "git checkout -q -f one && git checkout -q -f two".to_owned();
    for command in std::iter::repeat_n(switches.as_str(), SWITCHES).chain(more.lines()) {
        let (before, asked) = (living.vfs().stats(), resolver.counts());
        let quiet = (Stdio::null(), Stdio::null());
        let mut child =
            Command::new("sh").args(["-ec", command]).current_dir(&root).stdout(quiet.0).stderr(quiet.1).spawn().unwrap();
        let mut rounds = 0;
        while child.try_wait().unwrap().is_none() {
            for (directory, specifier) in &questions {
                _ = resolver.resolve(directory, specifier);
            }
            rounds += 1;
        }
        assert!(child.wait().unwrap().success(), "{command}");
        host.catch_up();
        let fresh = context(Arc::new(HostFs::open("/".as_ref()).unwrap().with_coherence(Coherence::Frozen)));
        let mut fresh = Resolver::new(fresh, Rules::require(), 100_000).unwrap();
        for (directory, specifier) in &questions {
            let remembered = resolver.resolve(directory, specifier);
            assert_eq!(remembered, fresh.resolve(directory, specifier), "{specifier} in {} after {command}", directory.display());
        }
        for path in paths(&root) {
            let ours = living.symlink_metadata(&path).ok().map(|found| (found.ino, found.size, found.nlink, found.mode));
            let kernel = fs::symlink_metadata(&path).ok();
            let kernel = kernel.map(|found| (found.ino(), found.size(), found.nlink() as u32, (found.mode() & 0o7777) as u16));
            assert_eq!(ours, kernel, "{} after {command}", path.display());
        }
        let (after, counts) = (living.vfs().stats(), resolver.counts().since(asked));
        println!(
            "{command}: {rounds} rounds; {counts:?}; of {} answers, the host was asked for {} names",
            counts.at_once + counts.checked + counts.found,
            after.fs_lookups - before.fs_lookups
        );
    }
}
