//! The user whose walk is explained (`--as`), and the names of users and groups.
//!
//! Names come from `etc/passwd` and `etc/group` beneath the root that is walked, so another root
//! uses names of its own. What it does not do: ask a name service.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use pathwalk::Credentials;
use pathwalk_bench::machine;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};

use super::bytes::{shell, shown};

/// A user of `passwd(5)`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct User {
    name: String,
    uid: u32,
    gid: u32,
}

/// A group of `group(5)`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    name: String,
    gid: u32,
    members: Vec<String>,
}

/// The names of users and groups.
#[derive(Clone, Default, Debug)]
pub(crate) struct Names {
    users: Vec<User>,
    groups: Vec<Group>,
}

impl Names {
    /// Reads the names of the tree below `root`. There are no names if the files do not exist.
    pub(crate) fn of(root: &Path) -> Names {
        Names::parse(&read_in(root, "etc/passwd"), &read_in(root, "etc/group"))
    }

    /// Parses the texts of the two files. Skips lines that are not valid.
    pub(crate) fn parse(passwd: &[u8], group: &[u8]) -> Names {
        let fields = |line: &[u8]| -> Vec<String> { line.split(|byte| *byte == b':').map(shown).collect() };
        let user = |line| match &fields(line)[..] {
            [name, _, uid, gid, ..] => Some(User { name: name.clone(), uid: uid.parse().ok()?, gid: gid.parse().ok()? }),
            _ => None,
        };
        let group_of = |line| match &fields(line)[..] {
            [name, _, gid, members, ..] => {
                let members = members.trim().split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                Some(Group { name: name.clone(), gid: gid.parse().ok()?, members })
            }
            _ => None,
        };
        let lines = |text| <[u8]>::split(text, |byte| *byte == b'\n');
        Names { users: lines(passwd).filter_map(user).collect(), groups: lines(group).filter_map(group_of).collect() }
    }

    /// Returns the user's name, or the number.
    pub(crate) fn user(&self, uid: u32) -> String {
        self.user_of(uid).map_or_else(|| uid.to_string(), |user| user.name.clone())
    }

    /// Returns the group's name, or the number.
    pub(crate) fn group(&self, gid: u32) -> String {
        self.groups.iter().find(|group| group.gid == gid).map_or_else(|| gid.to_string(), |group| group.name.clone())
    }

    /// Returns whether the user and the group are in the files, so that commands may use their
    /// names.
    pub(crate) fn know(&self, uid: u32, gid: u32) -> bool {
        self.user_of(uid).is_some() && self.groups.iter().any(|group| group.gid == gid)
    }

    fn user_of(&self, uid: u32) -> Option<&User> {
        self.users.iter().find(|user| user.uid == uid)
    }

    /// Returns the groups that list a user, except the user's own group.
    fn groups_of(&self, user: &User) -> Vec<u32> {
        let lists = |group: &&Group| group.gid != user.gid && group.members.contains(&user.name);
        self.groups.iter().filter(lists).map(|group| group.gid).collect()
    }

    fn find_user(&self, text: &str) -> anyhow::Result<Option<&User>> {
        match id(text)? {
            Some(uid) => Ok(self.user_of(uid)),
            None => {
                let found = self.users.iter().find(|user| user.name == text);
                let missing = || {
                    let (shown, quoted) = (text.escape_debug(), shell(text.as_bytes()));
                    format!(
                        "no user is called \"{shown}\" in etc/passwd of the root; a name service may know him, so try numbers: \
                         --as $(id -u {quoted}):$(id -G {quoted} | tr ' ' ,)"
                    )
                };
                found.map(Some).with_context(missing)
            }
        }
    }

    fn find_group(&self, text: &str) -> anyhow::Result<u32> {
        let named = || self.groups.iter().find(|group| group.name == text).map(|group| group.gid);
        id(text)?.or_else(named).with_context(|| {
            format!(
                "no group is called \"{}\" in etc/group of the root; give a name that is there or a number",
                text.escape_debug()
            )
        })
    }
}

/// Reads a file of the tree below `root`, within which links stay. Returns an empty text if there
/// is no such file.
fn read_in(root: &Path, name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(dir) = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else { return text };
    let file = openat2(&dir, name, flags, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS);
    if let Ok(file) = file
        && fstat(&file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    {
        // If an error cuts the text short, the part that was read is enough: names are only for
        // display.
        let _ = std::fs::File::from(file).take(MOST_BYTES).read_to_end(&mut text);
    }
    text
}

/// The number of bytes that are read of a file of names at most.
const MOST_BYTES: u64 = 16 << 20;

/// Parses a number as an id. Returns `None` for a name, and an error for a number that is not a
/// valid id.
fn id(text: &str) -> anyhow::Result<Option<u32>> {
    if text.is_empty() {
        bail!("a user or a group is missing; write --as UID[:GID[,GID…]], as in 1000:100,27 or alice");
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    // The last number is -1, which system calls interpret as "no change".
    match text.parse() {
        Ok(u32::MAX) | Err(_) => bail!("{text} is no id: ids are 0 to {}", u32::MAX - 1),
        Ok(id) => Ok(Some(id)),
    }
}

/// The user and groups whose permissions count.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The supplementary groups.
    pub(crate) groups: Vec<u32>,
    pub(crate) credentials: Credentials,
    /// The user for which the walk is explained. If that is this process, the kernel's refusals to
    /// this process are refusals to the user.
    pub(crate) asks: Asks,
    /// The assumption that had to be made, if any.
    pub(crate) assumed: Option<String>,
}

/// The user for which a walk is explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// The user of this process.
    ForItself,
    /// Another user.
    ForAnother,
}

impl Who {
    /// Returns the credentials of this process.
    pub(crate) fn this_process() -> anyhow::Result<Who> {
        let groups = rustix::process::getgroups().context("asking for the groups of this process")?;
        Ok(Who {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: groups.iter().map(|gid| gid.as_raw()).collect(),
            credentials: machine::credentials()?,
            asks: Asks::ForItself,
            assumed: None,
        })
    }

    /// Parses the value of `--as`: `UID`, `UID:GID` or `UID:GID,GID…`, each a number or a name.
    /// Without groups, the groups are the user's.
    pub(crate) fn parse(text: &str, names: &Names) -> anyhow::Result<Who> {
        let (user, groups) = text.split_once(':').map_or((text, None), |(user, groups)| (user, Some(groups)));
        let found = names.find_user(user)?;
        let uid = match found {
            Some(user) => user.uid,
            None => id(user)?.unwrap_or_default(),
        };
        let mut assumed = None;
        let (gid, groups) = match (groups, found) {
            (Some(groups), _) => {
                let all: Vec<u32> = groups.split(',').map(|group| names.find_group(group)).collect::<Result<_, _>>()?;
                (all[0], all[1..].to_vec())
            }
            (None, Some(user)) => (user.gid, names.groups_of(user)),
            (None, None) => {
                assumed = Some(format!(
                    "no user has the number {uid} here, so group {uid} and no other is assumed; say which with {uid}:GID"
                ));
                (uid, Vec::new())
            }
        };
        let credentials = Credentials::user(uid, gid, &groups);
        let is_self = machine::credentials().is_ok_and(|own| own == credentials);
        let asks = if is_self { Asks::ForItself } else { Asks::ForAnother };
        Ok(Who { uid, gid, groups, credentials, asks, assumed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let passwd = b"root:x:0:0:root:/root:/bin/sh\nalice:x:1000:100::/:/bin/sh\nbad\nodd\x1b:x:7:7::\nx:x:many:1::\n";
        let group = b"root:x:0:\nusers:x:100:\nsudo:x:27:bob,alice\nvideo:x:44:alice\nlocal:x:100:alice\n";
        Names::parse(passwd, group)
    }

    fn parsed(text: &str) -> (u32, u32, Vec<u32>) {
        let who = Who::parse(text, &names()).unwrap();
        (who.uid, who.gid, who.groups)
    }

    #[test]
    fn users_are_named_or_numbered() {
        let names = names();
        assert_eq!([0, 7, 9].map(|uid| names.user(uid)), ["root", "odd\\u{1b}", "9"]);
        assert_eq!([100, 5].map(|gid| names.group(gid)), ["users", "5"]);
        assert!(names.know(1000, 27) && !names.know(9, 27) && !names.know(1000, 5));
        assert_eq!(parsed("alice"), (1000, 100, vec![27, 44]));
        assert_eq!(parsed("1000"), (1000, 100, vec![27, 44]));
        assert_eq!(parsed("alice:5"), (1000, 5, vec![]));
        assert_eq!(parsed("1000:sudo,7,video"), (1000, 27, vec![7, 44]));
        assert_eq!(parsed("4000"), (4000, 4000, vec![]));
    }

    #[test]
    fn what_is_assumed_is_said() {
        assert!(Who::parse("4000", &names()).unwrap().assumed.unwrap().contains("group 4000"));
        assert_eq!(Who::parse("4000:1", &names()).unwrap().assumed, None);
        assert_eq!(Who::parse("alice", &names()).unwrap().assumed, None);
    }

    #[test]
    fn what_is_no_user_is_refused_with_a_reason() {
        let cases = [
            ("", "UID[:GID"),
            (":5", "missing"),
            ("alice:", "missing"),
            ("alice:5,", "missing"),
            ("carol", "no user is called \"carol\""),
            ("alice:carols", "no group is called \"carols\""),
            ("4294967295", "no id"),
            ("99999999999", "no id"),
            ("-1", "no user is called \"-1\""),
            ("1000:1:2", "no group is called \"1:2\""),
        ];
        for (text, says) in cases {
            let error = Who::parse(text, &names()).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn the_tree_that_is_walked_has_its_own_names() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Names::of(dir.path()).user(5), "5");
        std::fs::create_dir_all(dir.path().join("etc")).unwrap();
        std::fs::write(dir.path().join("etc/real"), "five:x:5:6::/:\n").unwrap();
        std::os::unix::fs::symlink("/etc/real", dir.path().join("etc/passwd")).unwrap();
        assert_eq!(Names::of(dir.path()).user(5), "five", "an absolute link stays beneath the root");
        rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("etc/group"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(Names::of(dir.path()).group(6), "6", "a pipe is not waited for");
    }
}
