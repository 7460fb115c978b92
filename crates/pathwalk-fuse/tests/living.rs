//! Tests of a host directory that others change, and of which the kernel keeps for good what is
//! watched. Branches of one have the same promises.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{Case, names, until};
use pathwalk::{Context, Credentials, Vfs};
use pathwalk_branch::Branches;
use pathwalk_fuse::{CacheTimes, Opens, Reported};
use pathwalk_hostfs::{Coherence, HostFs, WatchBy};

/// A time for which no test waits.
const LONG: Duration = Duration::from_secs(3600);

/// What is mounted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tree {
    Host,
    Branch,
}

/// What is watched of the host directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watched {
    /// All, as root the whole file system.
    All,
    /// Each directory.
    Each,
    /// Nothing: no watch is left.
    Nothing,
}

/// Returns a context on a host directory that is watched, or on a branch of it, with the branches.
fn context(dir: &Path, tree: Tree, watched: Watched) -> (Context, Option<Branches>) {
    let by = if watched == Watched::All { WatchBy::Any } else { WatchBy::Inotify };
    let most = if watched == Watched::Nothing { 0 } else { usize::MAX };
    let fs = HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Watch).with_watch_by(by).with_most_watches(most);
    let host = Vfs::builder().build(fs).unwrap().context(pathwalk_hostfs::credentials().unwrap());
    match tree {
        Tree::Host => (host, None),
        Tree::Branch => {
            let branches = Branches::new(host).unwrap();
            let branch = branches.fork(None, "work").unwrap();
            (Vfs::builder().build(branch).unwrap().context(Credentials::root()), Some(branches))
        }
    }
}

/// Runs a test on each tree, by each means of watching, with and without requests for opens. What
/// is not watched is kept for a time that is not over before the test.
fn each(watched: &[Watched], others: CacheTimes, test: impl Fn(&Path, &Case)) {
    for (tree, watched, opens) in [Tree::Host, Tree::Branch]
        .into_iter()
        .flat_map(|tree| watched.iter().map(move |watched| (tree, *watched)))
        .flat_map(|(tree, watched)| [Opens::Told, Opens::Untold].map(|opens| (tree, watched, opens)))
    {
        eprintln!("{tree:?}, {watched:?}, {opens:?}");
        let host = tempfile::tempdir().unwrap();
        fs::create_dir(host.path().join("d")).unwrap();
        fs::write(host.path().join("d/f"), "before").unwrap();
        let set = |options: &mut pathwalk_fuse::Options| {
            (options.times, options.reported, options.opens) = (others, Reported::Forever, opens);
        };
        let (context, _branches) = context(host.path(), tree, watched);
        let Some(case) = Case::of(context, set) else { return };
        test(host.path(), &case);
    }
}

fn run(program: &str, arguments: &[&Path]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success());
}

#[test]
fn what_others_change_is_seen() {
    let never = CacheTimes { entry: LONG, absence: LONG, attributes: LONG };
    each(&[Watched::All, Watched::Each], never, |host, case| {
        let kind_of = |path: &str| fs::metadata(case.at(path)).err().map(|error| error.kind());
        let read = |path: &str| fs::read(case.at(path)).unwrap_or_default();
        assert_eq!((read("d/f"), kind_of("d/new")), (b"before".to_vec(), Some(ErrorKind::NotFound)));
        assert_eq!(names(&case.at("d")), ["f"]);
        fs::write(host.join("d/new"), "new").unwrap();
        until(None, || kind_of("d/new"));
        until(vec!["f".to_string(), "new".to_string()], || names(&case.at("d")));
        until(b"new".to_vec(), || read("d/new"));
        // The same length, in a file that is in the kernel's caches.
        fs::write(host.join("d/f"), "BEFORE").unwrap();
        until(b"BEFORE".to_vec(), || read("d/f"));
        // Another file in its place, by another process.
        fs::write(host.join("other"), "other").unwrap();
        run("mv", &[&host.join("other"), &host.join("d/f")]);
        until(b"other".to_vec(), || read("d/f"));
        run("chmod", &[Path::new("600"), &host.join("d/f")]);
        until(0o600, || std::os::unix::fs::MetadataExt::mode(&fs::metadata(case.at("d/f")).unwrap()) & 0o777);
        fs::rename(host.join("d"), host.join("e")).unwrap();
        until((true, false), || (kind_of("d/f").is_some(), kind_of("e/f").is_some()));
        run("rm", &[Path::new("-r"), &host.join("e")]);
        until(Vec::<String>::new(), || names(case.dir.path()));
    });
}

#[test]
fn nothing_is_asked_again_while_nothing_changes() {
    each(&[Watched::All, Watched::Each], CacheTimes::NONE, |_, case| {
        let ask = || {
            assert_eq!(fs::read(case.at("d/f")).unwrap(), b"before");
            assert_eq!(names(&case.at("d")), ["f"]);
            assert!(!case.at("d/absent").exists());
        };
        let kinds = ["Lookup", "GetAttr", "Statx", "ReadDir", "ReadDirPlus", "Read"];
        let counts = || kinds.map(|kind| case.requests(kind));
        // Events of what made the files may come late.
        let asked = || {
            let before = counts();
            (0..10).for_each(|_| ask());
            counts() != before
        };
        until(false, asked);
    });
}

#[test]
fn a_search_that_is_done_again_lists_directories_and_asks_about_no_file() {
    each(&[Watched::All], CacheTimes::NONE, |host, case| {
        const FILES: u64 = 100;
        (0..FILES).for_each(|number| fs::write(host.join(format!("d/{number}")), "text").unwrap());
        until(FILES as usize + 1, || names(&case.at("d")).len());
        let search = || {
            for name in names(&case.at("d")) {
                let mut file = fs::File::open(case.at("d").join(name)).unwrap();
                assert!(file.metadata().unwrap().len() > 0);
                std::io::Read::read_to_end(&mut file, &mut Vec::new()).unwrap();
            }
        };
        let counts = || ["GetAttr", "Statx", "Lookup", "Read"].map(|kind| case.requests(kind));
        let asked = || {
            let before = counts();
            search();
            counts().iter().zip(before).map(|(now, before)| now - before).sum::<u64>()
        };
        assert!(asked() >= FILES, "the data is read");
        // Events of what made the files may come late, and have some of it asked for again.
        until(true, || asked() < FILES / 4);
    });
}

#[test]
fn what_is_not_watched_is_seen_when_its_time_is_over() {
    each(&[Watched::Nothing], CacheTimes::NONE, |host, case| {
        assert_eq!((fs::read(case.at("d/f")).unwrap(), case.at("d/new").exists()), (b"before".to_vec(), false));
        assert_eq!(names(&case.at("d")), ["f"]);
        fs::write(host.join("d/new"), "new").unwrap();
        fs::write(host.join("d/f"), "longer than before").unwrap();
        assert_eq!(
            (fs::read(case.at("d/f")).unwrap(), fs::read(case.at("d/new")).unwrap()),
            (b"longer than before".to_vec(), b"new".to_vec())
        );
        assert_eq!(names(&case.at("d")), ["f", "new"]);
        fs::remove_file(host.join("d/f")).unwrap();
        assert!(!case.at("d/f").exists());
    });
}
