//! Names that a branch removes at once with all that is below: beside the same, name by name.

use crate::common::{Ground, names};
use fastrand::Rng;
use pathwalk::{Context, Errno, OpenFlags};
use pathwalk_branch::{Branches, Conflict, Error};

fn fill(base: &Context) {
    for dir in ["/t", "/t/a", "/t/a/deep", "/t/empty", "/other"] {
        base.mkdir(dir, 0o755).unwrap();
    }
    for file in ["/t/file", "/t/a/one", "/t/a/two", "/t/a/deep/three", "/other/file"] {
        base.write(file, file).unwrap();
    }
    base.symlink("one", "/t/a/link").unwrap();
}

fn at_once(branches: &Branches, work: &Context, dir: &str, name: &str) -> Result<bool, Errno> {
    let dir = work.stat(dir).unwrap().ino;
    branches.get("work").unwrap().remove_untouched(dir, name.as_bytes())
}

fn refused(committed: Result<(), Error>) -> Vec<Conflict> {
    match committed {
        Ok(()) => Vec::new(),
        Err(Error::Conflicts { conflicts, .. }) => conflicts,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn it_is_as_if_each_name_had_been_removed() {
    /// What another program does to the base meanwhile.
    type Change = fn(&Context);
    let changes: [Change; 6] = [
        |_| {},
        |base| base.write("/t/a/deep/three", "changed").unwrap(),
        |base| base.write("/t/a/new", "").unwrap(),
        |base| base.remove_file("/t/file").unwrap(),
        |base| base.rename("/t/a/one", "/one").unwrap(),
        |base| base.chmod("/t/empty", 0o700).unwrap(),
    ];
    for change in changes {
        let mut grounds = Ground::each(fill);
        for ground in &mut grounds {
            let (work, single) = (ground.fork(None, "work"), ground.fork(None, "single"));
            single.remove_dir_all("/t").unwrap();
            assert!(at_once(&ground.branches, &work, "/", "t").unwrap(), "{}", ground.name);
            assert_eq!(names(&work, "/"), ["other"], "{}", ground.name);
            let of = |context: &Context| context.stat("/").map(|of| (of.nlink, of.size)).unwrap();
            assert_eq!((of(&work), work.stat("/t/a")), (of(&single), Err(Errno::ENOENT)));
            let [one, other] = ["work", "single"].map(|name| ground.branches.diff(name).unwrap());
            assert_eq!(one, other, "{}", ground.name);
            drop((work, single));
            if ground.is_stored() {
                ground.reopen();
            }
            change(&ground.base);
            let (one, other) = (refused(ground.branches.commit("work")), refused(ground.branches.commit("single")));
            // Of two that remove it, the second finds it gone: then both names are absent.
            assert_eq!(one, other, "{}", ground.name);
            assert_eq!(ground.base.stat("/t").is_err(), one.is_empty());
        }
    }
}

#[test]
fn what_was_changed_below_or_is_held_is_left_to_single_steps() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        let remove = |dir: &str, name: &str| at_once(&ground.branches, &work, dir, name);
        assert_eq!(remove("/", "none"), Err(Errno::ENOENT));
        work.write("/t/a/deep/new", "").unwrap();
        assert_eq!((remove("/", "t"), remove("/t", "a")), (Ok(false), Ok(false)), "{}", ground.name);
        assert_eq!(remove("/t", "empty"), Ok(true));
        let open = work.open("/other/file", OpenFlags::READ).unwrap();
        assert_eq!(remove("/", "other"), Ok(false), "a file below is held");
        // The name itself may lead to one that is held: it lives on without a name.
        assert_eq!(remove("/other", "file"), Ok(true));
        let mut text = [0; 5];
        assert_eq!((open.read_at(&mut text, 0), &text), (Ok(5), b"/othe"));
        assert_eq!(open.handle().attributes().unwrap().nlink, 0);
        drop(open);
        assert_eq!(names(&work, "/other"), [""; 0]);
        ground.base.link("/t/file", "/second").unwrap();
        assert_eq!(remove("/", "second"), Ok(false), "it has another name");
        work.remove_dir_all("/t").unwrap();
        assert_eq!(refused(ground.branches.commit("work")), []);
        assert_eq!(names(&ground.base, "/"), ["other", "second"], "{}", ground.name);
    }
}

#[test]
fn random_trees() {
    const PROGRAMS: u64 = 60;
    for seed in 0..PROGRAMS {
        let mut random = Rng::with_seed(seed);
        let mut dirs = vec!["".to_owned()];
        for number in 0..random.usize(1..12) {
            dirs.push(format!("{}/d{number}", random.choice(&dirs).unwrap()));
        }
        let files: Vec<String> = (0..12).map(|number| format!("{}/f{number}", random.choice(&dirs).unwrap())).collect();
        let ground = &Ground::each(|base| {
            dirs.iter().skip(1).for_each(|dir| base.mkdir(&**dir, 0o755).unwrap());
            files.iter().for_each(|file| base.write(&**file, &**file).unwrap());
        })[2];
        let (work, single) = (ground.fork(None, "work"), ground.fork(None, "single"));
        // Both change some first, so that a part is removed name by name.
        for _ in 0..random.usize(..3) {
            let file = random.choice(&files).unwrap();
            for context in [&work, &single] {
                context.write(&**file, "changed").unwrap();
            }
        }
        let tops: Vec<_> = names(&work, "/").into_iter().filter(|_| random.bool()).collect();
        for top in &tops {
            let path = format!("/{top}");
            let remove = |context: &Context| match context.lstat(&*path).unwrap().kind {
                pathwalk::FileType::Directory => context.remove_dir_all(&*path).unwrap(),
                _ => context.remove_file(&*path).unwrap(),
            };
            remove(&single);
            if !at_once(&ground.branches, &work, "/", top).unwrap() {
                remove(&work);
            }
        }
        if random.bool() {
            let (file, dir) = (random.choice(&files).unwrap(), random.choice(&dirs).unwrap());
            ground.base.write(&**file, "by another").unwrap();
            ground.base.write(format!("{dir}/new"), "").unwrap();
        }
        let [one, other] = ["work", "single"].map(|name| ground.branches.diff(name).unwrap());
        assert_eq!(one, other, "seed {seed}");
        let (one, other) = (refused(ground.branches.commit("work")), ground.branches.commit("single"));
        if !one.is_empty() {
            assert_eq!(one, refused(other), "seed {seed}");
        }
    }
}
