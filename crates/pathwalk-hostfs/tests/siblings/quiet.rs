//! Tests that listing a directory leaves no trace on it, and that it is not listed where a listing
//! would leave one, or is not allowed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use pathwalk::Errno;
use pathwalk_tests::skipped;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::common::{Who, as_user, host, walk};
use crate::{SOME, ask_for_some, given, lookups, make_some};

const OWNER: u32 = 41_000;

/// Sets the time of last access long before all others, so that the next access changes it.
fn set_back(dir: &Path) -> i64 {
    let long_ago = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    let times = Timestamps { last_access: long_ago, last_modification: Timespec { tv_sec: 1_500_000_000, tv_nsec: 0 } };
    utimensat(CWD, dir, &times, AtFlags::empty()).unwrap();
    long_ago.tv_sec
}

fn accessed(dir: &Path) -> i64 {
    host(dir).stx_atime.tv_sec
}

/// Makes a directory with some files, whose time of last access changes when it is listed. The
/// error is the reason why there is none.
fn directory() -> Result<(tempfile::TempDir, PathBuf), String> {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("d");
    fs::create_dir(&dir).unwrap();
    [root.path(), &dir].iter().for_each(|dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap());
    make_some(&dir);
    ["five", "six"].iter().for_each(|name| fs::write(dir.join(name), "").unwrap());
    let before = set_back(&dir);
    fs::read_dir(&dir).unwrap().for_each(drop);
    let moves = accessed(&dir) != before;
    set_back(&dir);
    let why = || format!("on the file system of {} listing a directory does not show", root.path().display());
    if moves { Ok((root, dir)) } else { Err(why()) }
}

#[test]
fn the_time_of_access_stays() {
    let (root, dir) = match directory() {
        Ok(made) => made,
        Err(why) => return skipped("the_time_of_access_stays", &why),
    };
    let before = accessed(&dir);
    let context = walk(root.path());
    ask_for_some(&context, "/d");
    assert_eq!((given(&context), accessed(&dir)), (2, before));
}

/// Looks up all names as a user without the rights to list the directory. Asserts that each name
/// takes a lookup of its own, and gets the right answer.
fn finds_all_one_by_one(root: &Path, who: &Who) -> Result<(), String> {
    as_user(who, || {
        let context = walk(root);
        ask_for_some(&context, "/d");
        let rest = || ["five", "six", "seven"].map(|name| context.stat(format!("/d/{name}")).map(drop));
        assert_eq!(lookups(&context, rest), ([Ok(()), Ok(()), Err(Errno::ENOENT)], 3));
        let stats = context.vfs().stats();
        // One lookup for the directory, and one for each name in it.
        assert_eq!((stats.siblings, stats.known_absent, stats.fs_lookups), (0, 0, 1 + SOME.len() as u64 + 3));
    })
}

#[test]
fn a_directory_of_another_user_is_not_listed() {
    let who = Who { uid: OWNER, gid: OWNER, groups: vec![] };
    let asked = directory().and_then(|(root, dir)| {
        let before = accessed(&dir);
        finds_all_one_by_one(root.path(), &who)?;
        assert_eq!(accessed(&dir), before);
        Ok(())
    });
    if let Err(why) = asked {
        skipped("a_directory_of_another_user_is_not_listed", &why);
    }
}

#[test]
fn a_directory_that_may_only_be_searched_is_not_listed() {
    let who = Who { uid: OWNER, gid: OWNER, groups: vec![] };
    let (root, dir) = match directory() {
        Ok(made) => made,
        Err(why) => return skipped("a_directory_that_may_only_be_searched_is_not_listed", &why),
    };
    if let Err(error) = chown(&dir, Some(OWNER), Some(OWNER)) {
        let why = format!("this process may not give a directory to user {OWNER} ({error})");
        return skipped("a_directory_that_may_only_be_searched_is_not_listed", &why);
    }
    let set_mode = |mode| fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
    // The owner may list the directory, if its mode allows that.
    let as_owner = as_user(&who, || {
        set_mode(0o700);
        let context = walk(root.path());
        ask_for_some(&context, "/d");
        assert_eq!(given(&context), 2);
        set_mode(0o100);
    });
    if let Err(why) = as_owner.and_then(|()| finds_all_one_by_one(root.path(), &who)) {
        skipped("a_directory_that_may_only_be_searched_is_not_listed", &why);
    }
}
