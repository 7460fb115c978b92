//! Tests that permissions by access control lists are those of the kernel.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use pathwalk::permission::AclKind;
use pathwalk::{
    Access, At, Context, Credentials, Errno, IdExtent, IdMap, MountAttributes, MountFlags, MoveFlags, Recursion, Vfs,
};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;
use pathwalk_tests::skipped;
use rustix::fs::AtFlags;

use crate::common::{Who, as_user, host_access, place, set_list, walk, wants};

const OWNER: u32 = 41_000;
const OWNING_GROUP: u32 = 42_000;
/// The user that most lists name.
const NAMED: u32 = 41_001;
/// The distance of the host's ids from the ids that a map shows.
const SHIFT: u32 = 10_000;

/// The lists, as `setfacl -m` takes them, for a file and a directory each.
const LISTS: [(&str, &str); 9] = [
    ("plain", "u::rw,g::r,o::-"),
    ("named-user", "u::rwx,u:41001:rx,g::-,o::rwx"),
    ("masked", "u::rwx,u:41001:rwx,g::rwx,g:42001:rwx,m:r,o::-"),
    ("named-groups", "u::rwx,g::-,g:42001:rw,g:42002:-,o::rwx"),
    ("two-groups", "u::rwx,g::x,g:42001:r,g:42002:w,o::-"),
    ("refused-group", "u::rwx,u:41002:r,g::-,o::rwx"),
    ("refused-owner", "u::-,u:41001:rwx,g::rwx,o::rwx"),
    ("mask-of-nothing", "u::rwx,u:41001:rwx,g::rwx,m:-,o::rx"),
    ("nobody-executes", "u::rw,u:41001:rw,g::rw,m:rw,o::rw"),
];

fn everyone() -> Vec<Who> {
    let who = |uid, gid, groups: &[u32]| Who { uid, gid, groups: groups.into() };
    vec![
        who(0, 0, &[]),
        who(OWNER, 43_000, &[]),
        who(OWNER, 42_002, &[]),
        who(41_001, 43_000, &[]),
        who(41_001, 43_000, &[42_002]),
        who(41_002, 43_000, &[]),
        who(41_003, OWNING_GROUP, &[]),
        who(41_003, 43_000, &[OWNING_GROUP, 42_001]),
        who(41_003, 42_001, &[]),
        who(41_003, 43_000, &[42_002]),
        who(41_003, 43_000, &[42_001, 42_002]),
        who(41_003, 43_000, &[]),
    ]
}

/// Makes a file, and a directory with a file in it, for each list. The error is the reason why
/// lists cannot be set here.
fn build(root: &Path) -> Result<(), String> {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    LISTS.iter().try_for_each(|(name, list)| {
        let (file, dir) = (root.join(format!("{name}.f")), root.join(format!("{name}.d")));
        fs::write(&file, "").unwrap();
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("inside"), "").unwrap();
        [&file, &dir].iter().try_for_each(|path| {
            chown(path, Some(OWNER), Some(OWNING_GROUP)).map_err(|error| format!("giving a file to user {OWNER}: {error}"))?;
            set_list(&["-m", list], path, NAMED)
        })
    })
}

fn paths() -> impl Iterator<Item = String> {
    LISTS
        .iter()
        .flat_map(|(name, _)| [format!("{name}.f"), format!("{name}.d"), format!("{name}.d/inside"), format!("{name}.d/nope")])
}

/// Compares the answers for every path and want as one user. Returns the number of questions.
fn compare(who: &Who, context: &Context, root: BorrowedFd<'_>) -> Result<usize, String> {
    let questions: Vec<_> = paths().flat_map(|path| wants().map(move |want| (path.clone(), want))).collect();
    let told = as_user(who, || {
        questions.iter().map(|(path, want)| host_access(root, path, *want, AtFlags::empty())).collect::<Vec<_>>()
    })?;
    for ((path, want), told) in questions.iter().zip(told) {
        // The second round uses what the first round cached.
        for round in 1..=2 {
            let ours = context.access(format!("/{path}"), *want);
            assert_eq!(ours, told, "{path} {want:?} as {who:?}, round {round}");
        }
    }
    Ok(questions.len())
}

#[test]
fn the_kernel_agrees_about_every_entry() {
    let dir = tempfile::tempdir().unwrap();
    if let Err(why) = as_user(&everyone()[1], || ()).and_then(|()| build(dir.path())) {
        return skipped("the_kernel_agrees_about_every_entry", &why);
    }
    let root = place(dir.path());
    let shared = walk(dir.path());
    let mut compared = 0;
    for who in everyone() {
        let fresh = walk(dir.path()).with_credentials(who.credentials());
        let warm = shared.clone().with_credentials(who.credentials());
        for context in [fresh, warm] {
            compared += compare(&who, &context, root.as_fd()).unwrap();
        }
    }
    assert_eq!(compared, everyone().len() * 2 * LISTS.len() * 4 * 8);
}

/// Creates a context that shows a directory through a map, by which each user here is another.
fn mapped(root: &Path) -> Context {
    let users = [IdExtent { inside: OWNER, outside: OWNER + SHIFT, length: SHIFT }];
    let id_map = IdMap::new(&users, &users).unwrap();
    let mut context = Vfs::builder().budget(16 << 20).build(MemFs::new()).unwrap().context(Credentials::root());
    context.mkdir("/host", 0o755).unwrap();
    let tree = context.new_tree(HostFs::open(root).unwrap().with_coherence(Coherence::Frozen), MountFlags::empty()).unwrap();
    let (top, attributes) = (At::Handle(tree.handle()), MountAttributes::default().with_id_map(id_map));
    context.mount_setattr_at(top, "", pathwalk::AtFlags::EMPTY_PATH, &attributes, Recursion::Alone).unwrap();
    context.move_mount_at(top, "", At::Cwd, "/host", MoveFlags::FROM_EMPTY_PATH).unwrap();
    context.chroot("/host").unwrap();
    context
}

#[test]
fn through_a_map_each_user_has_the_rights_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let mut users = everyone();
    users.retain(|who| who.uid != 0);
    if let Err(why) = as_user(&users[0], || ()).and_then(|()| build(dir.path())) {
        return skipped("through_a_map_each_user_has_the_rights_of_another", &why);
    }
    let (root, shared) = (place(dir.path()), mapped(dir.path()));
    assert_eq!(shared.stat("/plain.f").map(|found| (found.uid, found.gid)), Ok((OWNER + SHIFT, OWNING_GROUP + SHIFT)));
    for who in &users {
        let groups: Vec<u32> = who.groups.iter().map(|group| group + SHIFT).collect();
        let seen = Who { uid: who.uid + SHIFT, gid: who.gid + SHIFT, groups };
        compare(who, &shared.clone().with_credentials(seen.credentials()), root.as_fd()).unwrap();
    }
}

#[test]
fn a_changed_list_counts_from_the_next_refresh_on() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, mode) in [("f", 0o640), ("d", 0o750)] {
        let path = dir.path().join(name);
        if name == "f" {
            fs::write(&path, "").unwrap()
        } else {
            fs::create_dir(&path).unwrap()
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let context = walk(dir.path());
    let named = context.clone().with_credentials(Who { uid: NAMED, gid: 43_000, groups: vec![] }.credentials());
    for name in ["f", "d"] {
        let (host_path, path) = (dir.path().join(name), format!("/{name}"));
        assert_eq!(named.access(&path, Access::READ), Err(Errno::EACCES));
        if let Err(why) = set_list(&["-m", &format!("u:{NAMED}:r")], &host_path, NAMED) {
            return skipped("a_changed_list_counts_from_the_next_refresh_on", &why);
        }
        let handle = context.lookup(&path).unwrap();
        context.vfs().refresh(&handle).unwrap();
        assert_eq!(named.access(&path, Access::READ), Ok(()), "{name}");
        set_list(&["-b"], &host_path, NAMED).unwrap();
        context.vfs().refresh(&handle).unwrap();
        assert_eq!(named.access(&path, Access::READ), Err(Errno::EACCES), "{name}");
    }
}

/// Returns the mode of a node with a list and the sgid bit, after its owner, outside its group, has
/// removed the list: by the kernel, and by the engine.
fn modes_without_list(dir: &Path) -> Result<(u16, u16), String> {
    let owner = Who { uid: OWNER, gid: 43_000, groups: [].into() };
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["kernel", "engine"] {
        let path = dir.join(name);
        fs::write(&path, "").unwrap();
        chown(&path, Some(OWNER), Some(OWNING_GROUP)).map_err(|error| format!("giving a file to user {OWNER}: {error}"))?;
        set_list(&["-m", "u:41001:rx"], &path, NAMED)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o2770)).unwrap();
    }
    let path = dir.join("kernel");
    as_user(&owner, || rustix::fs::removexattr(&path, "system.posix_acl_access").unwrap())?;
    let context = Vfs::builder()
        .build(HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive))
        .unwrap()
        .context(owner.credentials());
    context.set_acl("/engine", AclKind::Access, None).unwrap();
    let mode = |name: &str| (fs::metadata(dir.join(name)).unwrap().permissions().mode() & 0o7777) as u16;
    assert_eq!(context.stat("/engine").unwrap().mode, mode("engine"));
    Ok((mode("kernel"), mode("engine")))
}

/// A tmpfs clears the bit, and ext4 keeps it.
#[test]
fn removing_a_list_changes_the_mode_as_the_host_does() {
    for place in [std::env::temp_dir(), PathBuf::from("/dev/shm"), PathBuf::from("/var/tmp")] {
        let Ok(dir) = tempfile::tempdir_in(place) else { continue };
        match modes_without_list(dir.path()) {
            Ok((kernel, engine)) => assert_eq!(engine, kernel, "in {}", dir.path().display()),
            Err(why) => return skipped("removing_a_list_changes_the_mode_as_the_host_does", &why),
        }
    }
}
