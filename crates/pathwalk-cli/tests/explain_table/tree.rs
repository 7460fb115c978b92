//! The tree: a tmpfs with directories, files, links, lists and mounts that are accessible to some
//! users and not to others.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;

use pathwalk_tests::skipped;
use rustix::fs::{CWD, FileType, IFlags, Mode, XattrFlags, ioctl_setflags, mknodat, setxattr};
use rustix::mount::{MountFlags, mount, mount_remount};

/// The user and the group that own the nodes that do not belong to root.
const OWNER: u32 = 1000;
/// The owner of the sticky directory.
const KEEPER: u32 = 2000;
/// The user that the lists name.
const LISTED: u32 = 1003;
const GROUP: u32 = 3000;
/// A group of a user that is in the owner's group too.
const SEVENTH: u32 = 7;

/// Makes the tree below `root`. Returns the beginnings of names that this kernel does not support.
pub(crate) fn lay_out(root: &Path) -> io::Result<Vec<&'static str>> {
    let at = |path: &str| root.join(path);
    directories(&at)?;
    files(&at)?;
    links(&at)?;
    sticky(&at)?;
    let newer = [
        ("immutable", immutable(&at)),
        ("acl-", lists(&at)),
        ("nosymfollow", mounted(&at, "nosymfollow", MountFlags::NOSYMFOLLOW)),
    ];
    mounts(&at)?;
    let missing = newer.into_iter().filter_map(|(name, made)| Some((name, made.err()?)));
    Ok(missing
        .inspect(|(name, why)| skipped(name, &format!("this kernel's tmpfs has no such thing ({why})")))
        .map(|(name, _)| name)
        .collect())
}

type At<'a> = &'a dyn Fn(&str) -> std::path::PathBuf;

fn set(path: &Path, mode: u32, owner: u32, group: u32) -> io::Result<()> {
    chown(path, Some(owner), Some(group))?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn directories(at: At<'_>) -> io::Result<()> {
    for (name, mode, owner) in [
        ("open", 0o755, 0),
        ("d700", 0o700, OWNER),
        ("d070", 0o070, OWNER),
        ("d007", 0o007, OWNER),
        ("d000", 0o000, OWNER),
        ("d711", 0o711, OWNER),
        ("d744", 0o744, OWNER),
        ("d677", 0o677, OWNER),
        ("d701", 0o701, OWNER),
        ("d710", 0o710, OWNER),
        ("root700", 0o700, 0),
    ] {
        fs::create_dir(at(name))?;
        fs::write(at(name).join("f"), "")?;
        set(&at(name).join("f"), 0o644, 0, 0)?;
        fs::create_dir(at(name).join("sub"))?;
        set(&at(name).join("sub"), 0o755, 0, 0)?;
        set(&at(name), mode, owner, owner)?;
    }
    Ok(())
}

fn files(at: At<'_>) -> io::Result<()> {
    for mode in [0o000, 0o400, 0o040, 0o004, 0o200, 0o020, 0o002, 0o100, 0o010, 0o001, 0o750, 0o644, 0o777, 0o077] {
        let path = at(&format!("f{mode:03o}"));
        fs::write(&path, "")?;
        set(&path, mode, OWNER, OWNER)?;
    }
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::empty(), 0)?;
    set(&at("fifo"), 0o640, OWNER, OWNER)?;
    fs::write(at("caf\u{e9}"), "")?;
    set(&at("caf\u{e9}"), 0o644, 0, 0)
}

fn immutable(at: At<'_>) -> io::Result<()> {
    let file = File::create(at("immutable"))?;
    set(&at("immutable"), 0o666, 0, 0)?;
    Ok(ioctl_setflags(&file, IFlags::IMMUTABLE)?)
}

fn links(at: At<'_>) -> io::Result<()> {
    for (name, body) in [
        ("to-f", "open/f"),
        ("to-open", "open"),
        ("to-open-slash", "open/"),
        ("absolute", "/open/f"),
        ("to-root", "/"),
        ("dangling", "nope"),
        ("dangling-below", "open/nope/x"),
        ("dangling-chain", "dangling"),
        ("loop-a", "loop-b"),
        ("loop-b", "loop-a"),
        ("self", "self"),
        ("to-guarded", "d700/f"),
        ("to-guarded-absolute", "/d700/sub/../f"),
        ("to-file-slash", "open/f/"),
        ("upward", "../../../open/f"),
        ("open/up", "../d700/f"),
        ("chain0", "open/f"),
    ] {
        symlink(body, at(name))?;
    }
    // A chain of 40 links passes, one of 41 does not.
    (1..41).try_for_each(|i| symlink(format!("chain{}", i - 1), at(&format!("chain{i}"))))
}

fn sticky(at: At<'_>) -> io::Result<()> {
    for (dir, mode) in [("tmp", 0o1777), ("tmp-for-few", 0o1775), ("tmp-not-sticky", 0o777)] {
        fs::create_dir(at(dir))?;
        for (link, owner) in [("of-owner", OWNER), ("of-keeper", KEEPER), ("of-root", 0)] {
            let path = at(dir).join(link);
            symlink("../open/f", &path)?;
            lchown(&path, Some(owner), Some(owner))?;
        }
        let path = at(dir).join("dir-of-owner");
        symlink("../open", &path)?;
        lchown(&path, Some(OWNER), Some(OWNER))?;
        set(&at(dir), mode, KEEPER, KEEPER)?;
    }
    Ok(())
}

const OWNER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const NAMED_GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// Gives a node a list. Source: `linux/posix_acl_xattr.h`.
fn list(path: &Path, entries: &[(u16, u16, u32)]) -> io::Result<()> {
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, grants, id) in entries {
        value.extend(tag.to_le_bytes());
        value.extend(grants.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    Ok(setxattr(path, "system.posix_acl_access", &value, XattrFlags::empty())?)
}

/// Makes directories with a file `f` in them, and files, each with a list.
fn lists(at: At<'_>) -> io::Result<()> {
    const NO: u32 = u32::MAX;
    let user = |grants| [(OWNER_OBJ, 7, NO), (USER, grants, LISTED), (GROUP_OBJ, 5, NO), (MASK, 7, NO), (OTHER, 0, NO)];
    let group = |grants| [(OWNER_OBJ, 7, NO), (GROUP_OBJ, 0, NO), (NAMED_GROUP, grants, GROUP), (MASK, 7, NO), (OTHER, 5, NO)];
    let masked = [(OWNER_OBJ, 7, NO), (USER, 7, LISTED), (GROUP_OBJ, 7, NO), (MASK, 4, NO), (OTHER, 1, NO)];
    let unasked = [(OWNER_OBJ, 7, NO), (USER, 7, LISTED), (GROUP_OBJ, 7, NO), (MASK, 0, NO), (OTHER, 5, NO)];
    let split = [(OWNER_OBJ, 7, NO), (GROUP_OBJ, 4, NO), (NAMED_GROUP, 2, SEVENTH), (MASK, 7, NO), (OTHER, 0, NO)];
    for (name, entries) in [
        ("acl-split", split),
        ("acl-user", user(1)),
        ("acl-user-none", user(0)),
        ("acl-group", group(5)),
        ("acl-group-none", group(0)),
        ("acl-masked", masked),
        ("acl-unasked", unasked),
    ] {
        let (dir, file) = (at(name), at(&format!("{name}-file")));
        fs::create_dir(&dir)?;
        fs::write(dir.join("f"), "")?;
        set(&dir.join("f"), 0o644, 0, 0)?;
        fs::write(&file, "")?;
        for path in [&dir, &file] {
            set(path, 0o755, OWNER, OWNER)?;
            list(path, &entries)?;
        }
    }
    Ok(())
}

fn mounts(at: At<'_>) -> io::Result<()> {
    for (name, flags) in [("noexec", MountFlags::NOEXEC), ("read-only", MountFlags::RDONLY), ("plain", MountFlags::empty())] {
        mounted(at, name, flags)?;
    }
    // Here the file system itself is read-only, not only its mount.
    let dir = at("read-only-fs");
    fs::create_dir(&dir)?;
    mount("explained", &dir, "tmpfs", MountFlags::empty(), c"mode=755")?;
    fs::write(dir.join("f"), "")?;
    set(&dir.join("f"), 0o644, 0, 0)?;
    Ok(mount_remount(&dir, MountFlags::RDONLY, "")?)
}

/// Makes a tmpfs with a program, files and links in it, mounted with these switches.
fn mounted(at: At<'_>, name: &str, flags: MountFlags) -> io::Result<()> {
    let dir = at(name);
    fs::create_dir(&dir)?;
    mount("explained", &dir, "tmpfs", MountFlags::empty(), c"mode=755")?;
    for (file, mode) in [("run", 0o755), ("f", 0o644), ("all", 0o666)] {
        fs::write(dir.join(file), "")?;
        set(&dir.join(file), mode, OWNER, OWNER)?;
    }
    symlink("f", dir.join("link"))?;
    symlink(".", dir.join("here"))?;
    symlink("../open/f", dir.join("out"))?;
    Ok(mount_remount(&dir, MountFlags::BIND | flags, "")?)
}
