//! Commits of some paths of a branch: what was chosen is committed, and the rest stays.
//!
//! `PATHWALK_BRANCH_ROUNDS` is the number of rounds of the random test, of 40 branches each, on
//! each kind of base.

use crate::common::trees::{self, change, change_more, differences, look, look_closely};
use crate::common::{Ground, names};
use fastrand::Rng;
use pathwalk::{Context, OpenFlags};
use pathwalk_branch::{Answer, Change, Error, Resolution};

fn paths(ground: &Ground, name: &str) -> Vec<String> {
    let changes = ground.branches.diff(name).unwrap();
    changes.iter().map(|change| String::from_utf8_lossy(change.path()).into_owned()).collect()
}

fn commit(ground: &Ground, paths: &[&str]) -> Result<(), Error> {
    ground.branches.commit_paths("work", paths, &Resolution::default())
}

#[test]
fn some_paths_are_committed_and_the_rest_stays() {
    let fill = |base: &Context| {
        base.mkdir("/dir", 0o755).unwrap();
        ["/file", "/gone", "/dir/one", "/dir/two"].iter().for_each(|path| base.write(path, path).unwrap());
    };
    for mut ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.write("/file", "changed").unwrap();
        work.remove_file("/gone").unwrap();
        work.write("/dir/one", "changed").unwrap();
        work.write("/dir/three", "made").unwrap();
        work.chmod("/dir", 0o700).unwrap();
        work.mkdir("/made", 0o755).unwrap();
        work.write("/made/a", "a").unwrap();
        drop(work);
        commit(&ground, &["/dir/one", "/made"]).unwrap();
        assert_eq!(names(&ground.base, "/"), ["dir", "file", "gone", "made"], "{}", ground.name);
        assert_eq!(
            (names(&ground.base, "/dir"), names(&ground.base, "/made")),
            (["one", "two"].map(String::from).into(), ["a".to_owned()].into())
        );
        assert_eq!(ground.base.read_to_string("/dir/one").unwrap(), "changed");
        assert_eq!(ground.base.stat("/dir").unwrap().mode, 0o755);
        assert_eq!(paths(&ground, "work"), ["/dir", "/dir/three", "/file", "/gone"]);
        if ground.is_stored() {
            ground.reopen();
        }
        assert_eq!(names(&ground.again("work"), "/"), ["dir", "file", "made"]);
        commit(&ground, &["/dir"]).unwrap();
        assert_eq!(
            (ground.base.stat("/dir").unwrap().mode, paths(&ground, "work")),
            (0o700, vec!["/file".to_owned(), "/gone".to_owned()])
        );
        assert!(matches!(commit(&ground, &["/dir"]), Err(Error::Unchanged(_))));
        ground.branches.commit("work").unwrap();
        assert_eq!(names(&ground.base, "/"), ["dir", "file", "made"]);
    }
}

#[test]
fn what_hangs_together_is_committed_together() {
    let fill = |base: &Context| {
        ["/old", "/removed"].iter().for_each(|path| base.mkdir(path, 0o755).unwrap());
        ["/old/file", "/removed/kept", "/moved"].iter().for_each(|path| base.write(path, path).unwrap());
    };
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.rename("/moved", "/here").unwrap();
        work.mkdir("/made", 0o755).unwrap();
        work.write("/made/a", "a").unwrap();
        work.write("/made/b", "b").unwrap();
        work.link("/made/b", "/second").unwrap();
        work.rename("/removed/kept", "/kept").unwrap();
        work.remove_dir_all("/removed").unwrap();
        work.rename("/old", "/new").unwrap();
        work.write("/new/file", "changed").unwrap();
        drop(work);
        for (chosen, hangs) in [
            ("/here", "/moved"),
            ("/moved", "/here"),
            ("/made/a", "/made"),
            ("/second", "/made"),
            ("/kept", "/removed"),
            ("/removed", "/kept"),
        ] {
            let Err(Error::Together { path, with }) = commit(&ground, &[chosen]) else { panic!("{chosen}") };
            let both = [&path, &with].map(|path| String::from_utf8_lossy(path).into_owned());
            assert!(both.iter().any(|path| path.starts_with(hangs)), "{chosen}: {both:?}");
        }
        let before = look(&ground.again("work"));
        // The data of a file below a directory that was renamed is changed where it was.
        commit(&ground, &["/new/file"]).unwrap();
        assert_eq!(ground.base.read_to_string("/old/file").unwrap(), "changed", "{}", ground.name);
        commit(&ground, &["/made", "/second"]).unwrap();
        assert_eq!(ground.base.stat("/second").unwrap().nlink, 2);
        commit(&ground, &["/removed", "/kept"]).unwrap();
        commit(&ground, &["/here", "/moved"]).unwrap();
        assert_eq!(look(&ground.again("work")), before);
        assert_eq!(paths(&ground, "work"), ["/new"]);
        ground.branches.commit("work").unwrap();
        assert_eq!(look(&ground.base), before);
    }
}

#[test]
fn a_removed_directory_goes_without_the_file_that_had_another_name_in_it() {
    let fill = |base: &Context| {
        base.mkdir("/dir", 0o755).unwrap();
        base.write("/dir/file", "text").unwrap();
        base.link("/dir/file", "/other").unwrap();
    };
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.chmod("/other", 0o600).unwrap();
        work.remove_dir_all("/dir").unwrap();
        drop(work);
        commit(&ground, &["/dir"]).unwrap();
        let other = ground.base.stat("/other").unwrap();
        assert_eq!((names(&ground.base, "/"), other.mode, other.nlink), (vec!["other".to_owned()], 0o644, 1), "{}", ground.name);
        commit(&ground, &["/"]).unwrap();
        let other = ground.base.stat("/other").unwrap();
        assert_eq!((names(&ground.base, "/"), other.mode, other.nlink), (vec!["other".to_owned()], 0o600, 1), "{}", ground.name);
    }
}

#[test]
fn a_removed_directory_goes_without_the_new_file_that_had_a_name_in_it() {
    let fill = |base: &Context| {
        base.mkdir("/dir", 0o755).unwrap();
        base.write("/dir/file", "text").unwrap();
    };
    for parent in [None, Some("parent")] {
        for ground in Ground::each(fill) {
            _ = parent.map(|parent| ground.fork(None, parent));
            let work = ground.fork(parent, "work");
            work.write("/new", "new").unwrap();
            work.link("/new", "/dir/second").unwrap();
            work.remove_dir_all("/dir").unwrap();
            drop(work);
            commit(&ground, &["/dir"]).unwrap();
            assert_eq!(
                (names(&ground.again("work"), "/"), paths(&ground, "work")),
                (vec!["new".to_owned()], vec!["/new".to_owned()]),
                "{}",
                ground.name
            );
            ground.branches.commit("work").unwrap();
            let onto = parent.map_or_else(|| ground.base.clone(), |parent| ground.again(parent));
            assert_eq!((names(&onto, "/"), onto.stat("/new").unwrap().nlink), (vec!["new".to_owned()], 1), "{}", ground.name);
        }
    }
}

#[test]
fn a_name_that_was_given_anew_goes_with_the_node_that_had_it() {
    let fill = |base: &Context| ["/a", "/b"].iter().for_each(|path| base.mkdir(path, 0o755).unwrap());
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.rename("/b", "/a/c").unwrap();
        work.write("/b", "new").unwrap();
        drop(work);
        assert!(matches!(commit(&ground, &["/b"]), Err(Error::Together { .. })));
        commit(&ground, &["/b", "/a/c"]).unwrap();
        assert_eq!(
            (names(&ground.base, "/"), names(&ground.base, "/a")),
            (["a", "b"].map(String::from).into(), ["c".to_owned()].into()),
            "{}",
            ground.name
        );
        assert_eq!(names(&ground.again("work"), "/"), ["a", "b"], "{}", ground.name);
    }
}

#[test]
fn a_part_has_the_conflicts_of_its_paths() {
    for ground in Ground::each(|base| ["/one", "/two"].iter().for_each(|path| base.write(path, path).unwrap())) {
        let work = ground.fork(None, "work");
        ["/one", "/two"].iter().for_each(|path| work.write(path, "branch").unwrap());
        drop(work);
        ground.base.write("/one", "by another").unwrap();
        ground.branches.catch_up();
        let Err(Error::Conflicts { conflicts, .. }) = commit(&ground, &["/one"]) else { panic!("{}", ground.name) };
        assert_eq!((conflicts.len(), &*conflicts[0].path), (1, &b"/one"[..]));
        assert_eq!(ground.branches.list().unwrap().len(), 1, "nothing is left of the part");
        commit(&ground, &["/two"]).unwrap();
        assert_eq!(ground.base.read_to_string("/two").unwrap(), "branch");
        assert_eq!(ground.base.read_to_string("/one").unwrap(), "by another");
        assert_eq!(paths(&ground, "work"), ["/one"]);
        ground.branches.commit_paths("work", &["/one"], &Resolution::all(Answer::Ours)).unwrap();
        assert_eq!((ground.base.read_to_string("/one").unwrap(), paths(&ground, "work")), ("branch".to_owned(), vec![]));
    }
}

#[test]
fn a_changed_file_goes_with_a_copy_of_what_it_was() {
    for ground in Ground::each(|base| base.write("/file", "of the base").unwrap()) {
        let work = ground.fork(None, "work");
        // The copy shares the data.
        let from = work.open("/file", OpenFlags::READ).unwrap();
        let to = work.open("/copy", OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        assert_eq!(from.copy_file_range(Some(0), &to, Some(0), 11), Ok(11));
        drop((from, to));
        work.write("/file", "of the branch").unwrap();
        drop(work);
        let Err(Error::Together { path, with }) = commit(&ground, &["/file"]) else { panic!("{}", ground.name) };
        assert_eq!((&*path, &*with), (&b"/file"[..], &b"/copy"[..]));
        commit(&ground, &["/copy"]).unwrap();
        commit(&ground, &["/file"]).unwrap();
        assert_eq!(ground.base.read_to_string("/copy").unwrap(), "of the base");
        assert_eq!(ground.base.read_to_string("/file").unwrap(), "of the branch");
    }
}

/// Returns whether a change is of one of some paths.
fn is_of(change: &Change, chosen: &[Vec<u8>]) -> bool {
    let is_within = |of: &[u8]| {
        let below = |path: &Vec<u8>| of.strip_prefix(path.strip_suffix(b"/").unwrap_or(path)).map(|rest| rest.first().copied());
        chosen.iter().filter_map(below).any(|next| next.is_none_or(|byte| byte == b'/'))
    };
    let from = match change {
        Change::Renamed { from, .. } => is_within(from),
        _ => false,
    };
    from || is_within(change.path())
}

/// Commits a random part of a branch. Returns whether there was one.
fn commit_some(ground: &Ground, random: &mut Rng) -> bool {
    let changes = ground.branches.diff("work").unwrap();
    if changes.is_empty() {
        return false;
    }
    let before = look(&ground.again("work"));
    let mut chosen = vec![changes[random.usize(..changes.len())].path().to_vec()];
    loop {
        match ground.branches.commit_paths("work", &chosen, &Resolution::default()) {
            Ok(()) => break,
            Err(Error::Together { path, with }) => {
                let new = [path, with]
                    .into_iter()
                    .find(|path| !is_of(&Change::Removed { path: path.clone(), kind: pathwalk::FileType::Regular }, &chosen));
                chosen.push(new.map_or(b"/".to_vec(), |path| path.to_vec()));
            }
            Err(error) => panic!("{chosen:?}: {error}: {changes:?}"),
        }
    }
    let told: Vec<_> = chosen.iter().map(|path| path.escape_ascii().to_string()).collect();
    let after = look(&ground.again("work"));
    assert!(after == before, "{}: {told:?} of {changes:?}:\n{}", ground.name, differences(&before, &after));
    let rest: Vec<_> = changes.iter().filter(|change| !is_of(change, &chosen)).map(Change::path).collect();
    let left = ground.branches.diff("work").unwrap();
    let left_paths: Vec<_> = left.iter().map(Change::path).collect();
    assert_eq!(left_paths, rest, "{}: {told:?} of {changes:?}, left {left:?}", ground.name);
    true
}

/// Returns all of a tree but its times.
fn contents(context: &Context) -> std::collections::BTreeMap<Vec<u8>, String> {
    let told = |(path, (node, rest)): (_, (_, trees::Rest))| (path, format!("{node:?} {}", rest.without_times()));
    look_closely(context).into_iter().map(told).collect()
}

#[test]
fn random_parts_add_up_to_the_whole() {
    let seed = std::env::var("PATHWALK_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("it is a number"));
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds: usize = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(1, |rounds| rounds.parse().expect("it is a number"));
    for _ in 0..rounds * 40 {
        let filled = random.u64(..);
        for ground in Ground::each(|base| {
            let mut of_base = Rng::with_seed(filled);
            (0..60).for_each(|_| _ = change(base, &mut of_base));
        }) {
            // Of the base, or of another branch.
            let parent = random.bool().then(|| ground.fork(None, "parent"));
            if let Some(parent) = &parent {
                (0..random.usize(1..20)).for_each(|_| change_more(parent, &mut random));
            }
            let work = ground.fork(parent.as_ref().map(|_| "parent"), "work");
            (0..random.usize(1..20)).for_each(|_| change_more(&work, &mut random));
            drop(work);
            let whole = contents(&ground.again("work"));
            while random.u8(..4) > 0 && commit_some(&ground, &mut random) {}
            ground.branches.commit("work").unwrap();
            let onto = contents(parent.as_ref().unwrap_or(&ground.base));
            assert!(onto == whole, "{}:\n{}", ground.name, differences(&whole, &onto));
        }
    }
}
