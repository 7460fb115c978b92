//! A base that others change, and what a branch promises of it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::root_on;
use pathwalk::{Context, Errno, Freshness};
use pathwalk_branch::Branches;
use pathwalk_hostfs::{Coherence, HostFs, WatchBy};

/// Makes a base that is watched by inotify with so many watches at most, and a branch of it.
fn branch(base: &Path, watches: usize) -> (Arc<HostFs>, Branches, Context) {
    let fs = HostFs::open_writable(base).unwrap().with_coherence(Coherence::Watch);
    let fs = Arc::new(fs.with_watch_by(WatchBy::Inotify).with_most_watches(watches));
    let base = root_on(Arc::clone(&fs));
    let branches = Branches::new(base).unwrap();
    let branch = branches.fork(None, "work").unwrap();
    (fs, branches, root_on(branch))
}

fn filled() -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("d")).unwrap();
    ["file", "d/file"].into_iter().for_each(|name| fs::write(base.path().join(name), name).unwrap());
    base
}

#[test]
fn what_the_base_does_not_report_is_asked_for_each_time() {
    let base = filled();
    let (_fs, _branches, context) = branch(base.path(), 0);
    assert_eq!((context.stat("/d/file").unwrap().size, context.stat("/d/new")), (6, Err(Errno::ENOENT)));
    fs::write(base.path().join("d/file"), "longer").unwrap();
    fs::write(base.path().join("d/file"), "longer than before").unwrap();
    fs::write(base.path().join("d/new"), "").unwrap();
    assert_eq!((context.stat("/d/file").unwrap().size, context.stat("/d/new").unwrap().size), (18, 0));
    fs::remove_file(base.path().join("d/file")).unwrap();
    assert_eq!(context.stat("/d/file"), Err(Errno::ENOENT));
    // A directory that was copied shows names of the base, too.
    context.chmod("/d", 0o700).unwrap();
    assert_eq!(context.stat("/d/later"), Err(Errno::ENOENT));
    fs::write(base.path().join("d/later"), "").unwrap();
    assert_eq!(context.stat("/d/later").unwrap().size, 0);
}

#[test]
fn a_branch_promises_what_is_its_own_and_what_the_base_promises() {
    let freshness = |context: &Context, path: &str| {
        let node = context.lookup(path).unwrap();
        node.attributes().unwrap();
        [node.name_freshness(), node.attributes_freshness()]
    };
    for (watches, of_base) in [(0, Freshness::AskEachTime), (1000, Freshness::Stable)] {
        let base = filled();
        let (_fs, _branches, context) = branch(base.path(), watches);
        assert_eq!(freshness(&context, "/d/file"), [of_base; 2]);
        assert_eq!(context.lookup("/d").unwrap().absence_freshness(), of_base);
        // The name is the base's until it is changed; the attributes are the branch's own.
        context.chmod("/d/file", 0o600).unwrap();
        assert_eq!(freshness(&context, "/d/file"), [of_base, Freshness::Stable]);
        context.write("/d/made", "").unwrap();
        context.create_dir_all("/d/own/sub").unwrap();
        for path in ["/d/made", "/d/own", "/d/own/sub"] {
            assert_eq!(freshness(&context, path), [Freshness::Stable; 2], "{path}");
        }
        assert_eq!(context.lookup("/d/own").unwrap().absence_freshness(), Freshness::Stable);
    }
}
