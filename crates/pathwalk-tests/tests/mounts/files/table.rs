//! Rights to files of all owners, groups, modes and lists, seen through all maps, as all users: the
//! kernel and the engine answer each question.

use std::path::Path;

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{Access, At, AtFlags, Context, Credentials, FileType, MountAttributes, MoveFlags, Recursion, Vfs};
use pathwalk_memfs::MemFs;
use xtask::id_maps;

use super::calls_kernel::As;
use super::{Call, USERS, calls_engine, calls_kernel};
use crate::kernel::Kernel;
use crate::op::{Op, Spot};
use crate::system::{Failure, System};

const IDS: [u32; 6] = [0, 1000, 2000, 5000, 100_000, 101_000];
const MODES: [u16; 8] = [0o777, 0o700, 0o070, 0o007, 0o750, 0o666, 0o640, 0o000];

/// A file of the table.
struct Row {
    path: String,
    kind: FileType,
    uid: u32,
    gid: u32,
    mode: u16,
    list: Vec<AclEntry>,
}

fn rows() -> Vec<Row> {
    let entry = |tag, grants| AclEntry { tag, grants };
    let list = |user: u32, group: u32| {
        vec![
            entry(AclTag::Owner, Access::READ | Access::WRITE),
            entry(AclTag::User(user), Access::READ | Access::WRITE | Access::EXECUTE),
            entry(AclTag::Group, Access::READ),
            entry(AclTag::NamedGroup(group), Access::READ | Access::WRITE),
            entry(AclTag::Mask, Access::READ | Access::WRITE),
            entry(AclTag::Other, Access::EXECUTE),
        ]
    };
    let lists = [Vec::new(), Vec::new(), list(1000, 2000), list(0, 100_000), list(7, 7)];
    let mut rows = Vec::new();
    for uid in IDS {
        for gid in IDS {
            for mode in MODES {
                let number = rows.len();
                let kind = if number % 3 == 0 { FileType::Directory } else { FileType::Regular };
                rows.push(Row { path: format!("{number}"), kind, uid, gid, mode, list: lists[number % 5].clone() });
            }
        }
    }
    rows
}

/// Returns the list in the form of `setxattr(2)`.
fn value(list: &[AclEntry]) -> Vec<u8> {
    let mut value = vec![2, 0, 0, 0];
    for entry in list {
        let (tag, id): (u16, u32) = match entry.tag {
            AclTag::Owner => (0x01, u32::MAX),
            AclTag::User(id) => (0x02, id),
            AclTag::Group => (0x04, u32::MAX),
            AclTag::NamedGroup(id) => (0x08, id),
            AclTag::Mask => (0x10, u32::MAX),
            AclTag::Other => (0x20, u32::MAX),
        };
        value.extend(tag.to_le_bytes());
        value.extend(u16::from(entry.grants.bits()).to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

fn view(map: usize) -> String {
    format!("/v{map}")
}

/// Makes the files in the kernel, and a view of them through each map.
fn fill_kernel(kernel: &mut Kernel, rows: &[Row]) {
    std::fs::create_dir("/t").expect("a directory");
    for row in rows {
        let path = format!("/t/{}", row.path);
        let make = |call: Call| calls_kernel::call(&call).expect("root may");
        match row.kind {
            FileType::Directory => make(Call::Mkdir(path.clone(), 0o700)),
            _ => make(Call::Create { path: path.clone(), mode: 0o600, exclusive: true }),
        };
        make(Call::Chown(path.clone(), Some(row.uid), Some(row.gid)));
        make(Call::Chmod(path.clone(), row.mode));
        if !row.list.is_empty() {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(&path, c"system.posix_acl_access", &value(&row.list), flags).expect("a list");
        }
    }
    for map in 0..id_maps::MAPS.len() {
        std::fs::create_dir(view(map)).expect("a directory");
        let (from, to) = (Spot::Path("/t".into()), Spot::Path(view(map)));
        kernel.run(&Op::Mapped { from, to, map, recursive: false }).expect("a mapped mount");
    }
}

/// Makes the same files and views in the engine.
fn filled_engine(rows: &[Row]) -> Context {
    let fs = MemFs::new();
    fs.mkdir("/t", 0o755).expect("a directory");
    for row in rows {
        let path = format!("/t/{}", row.path);
        match row.kind {
            FileType::Directory => fs.mkdir(&path, 0o700).expect("a directory"),
            _ => fs.file(&path, 0o600).expect("a file"),
        }
        fs.chown(&path, row.uid, row.gid).expect("owners");
        fs.chmod(&path, row.mode).expect("a mode");
        if !row.list.is_empty() {
            fs.set_acl(&path, &row.list).expect("a list");
        }
    }
    for map in 0..id_maps::MAPS.len() {
        fs.mkdir(view(map), 0o755).expect("a directory");
    }
    let root = Vfs::builder().build(fs).expect("a Vfs").context(Credentials::root());
    for map in 0..id_maps::MAPS.len() {
        let tree = root.open_tree("/t", Recursion::Alone).expect("a tree");
        let attributes = MountAttributes::default().with_id_map(id_maps::map(map));
        let at = At::Handle(tree.handle());
        root.mount_setattr_at(at, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone).expect("a map");
        root.move_mount_at(at, "", At::Cwd, view(map), MoveFlags::FROM_EMPTY_PATH).expect("a place");
    }
    root
}

/// Returns the questions about a file.
fn questions(path: &str) -> Vec<Call> {
    let access = |want| Call::Access(path.into(), want);
    let mut questions: Vec<Call> = (0..8).map(access).collect();
    questions.push(Call::Stat(path.into()));
    questions.push(Call::Read(path.into()));
    questions.push(Call::Stat(format!("{path}/below")));
    questions
}

/// Asks all questions; returns their number, and descriptions of those with two different answers.
pub(crate) fn compare(kernel: &mut Kernel) -> (usize, Vec<String>) {
    assert!(Path::new("/f").exists(), "the root of the comparison");
    let rows = rows();
    fill_kernel(kernel, &rows);
    let engine = filled_engine(&rows);
    let (mut asked, mut stories) = (0, Vec::new());
    for user in &USERS {
        let context = engine.clone().with_credentials(user.credentials());
        for dir in (0..id_maps::MAPS.len()).map(view).chain(["/t".into()]) {
            for row in &rows {
                for question in questions(&format!("{dir}/{}", row.path)) {
                    let theirs = {
                        let _as_user = As::user(user);
                        calls_kernel::call(&question)
                    };
                    let ours = calls_engine::call(&context, &question).map_err(Failure::from);
                    asked += 1;
                    if ours != theirs {
                        let Row { uid, gid, mode, list, .. } = row;
                        let of = format!("{:?} {uid}:{gid} {mode:o} {list:?}", row.kind);
                        stories.push(format!("{user:?} {question:?} of {of}: kernel {theirs:?}, engine {ours:?}"));
                    }
                }
            }
        }
    }
    (asked, stories)
}
