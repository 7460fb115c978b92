//! Compares the tree as a `Vfs` shows it with a plain list of its names.

use std::collections::{BTreeMap, HashSet};
use std::io::SeekFrom;
use std::time::{Duration, Instant};

use pathwalk::{
    Access, At, Context, Credentials, EntryHandles, Errno, FileSystem, FileType, OpenFlags, RenameFlags, UnlinkFlags, Vfs,
};
use pathwalk_synthfs::{Delay, Place, Shape, SynthFs};
use proptest::prelude::*;

fn context(fs: SynthFs) -> Context {
    let vfs = Vfs::builder().budget(1 << 20).build(fs).unwrap();
    vfs.context(Credentials::root())
}

fn shape(threads: u32, directories: u32, files: u32) -> Shape {
    Shape::new(threads, directories, files).unwrap()
}

/// Returns all paths below the root, built as strings.
fn list(threads: u32, directories: u32, files: u32) -> BTreeMap<String, Place> {
    let mut list = BTreeMap::new();
    for t in 0..threads {
        list.insert(format!("/t{t}"), Place::Thread(t));
        for d in 0..directories {
            list.insert(format!("/t{t}/d{d}"), Place::Directory(t, d));
            for f in 0..files {
                list.insert(format!("/t{t}/d{d}/f{f}"), Place::File(t, d, f));
            }
        }
    }
    list
}

/// Returns the listing of `path`, except `.` and `..`. The listing is restarted every `stretch`
/// entries.
fn listed(context: &Context, path: &str, stretch: usize) -> Vec<(String, u64, FileType)> {
    let dir = context.open(path, OpenFlags::READ | OpenFlags::DIRECTORY).unwrap();
    let (mut entries, mut cookie) = (Vec::new(), 0);
    loop {
        dir.seek(SeekFrom::Start(cookie)).unwrap();
        let batch = dir.getdents(stretch).unwrap();
        let given = batch.len();
        for entry in batch {
            assert!(entry.cookie > cookie, "cookies rise");
            cookie = entry.cookie;
            if !matches!(&*entry.name, b"." | b"..") {
                entries.push((String::from_utf8(entry.name.into()).unwrap(), entry.ino, entry.kind));
            }
        }
        if given < stretch {
            return entries;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_is_the_obvious_list(t in 0..4_u32, d in 0..4_u32, f in 0..14_u32, stretch in 1..20_usize) {
        let (shape, list) = (shape(t, d, f), list(t, d, f));
        let context = context(SynthFs::new(shape));
        prop_assert_eq!(shape.files() as usize, list.values().filter(|place| matches!(place, Place::File(..))).count());
        prop_assert_eq!(shape.nodes() as usize, 1 + list.len());
        for (path, place) in &list {
            let found = context.stat(path).unwrap();
            prop_assert_eq!(found.ino, shape.inode_number(*place));
            prop_assert_eq!(shape.place(place.key()), Some(*place));
            let is_file = matches!(place, Place::File(..));
            prop_assert_eq!(found.kind == FileType::Regular, is_file);
            if !is_file {
                let prefix = format!("{path}/");
                let inside = list.iter().filter(|(path, _)| path.strip_prefix(&prefix).is_some_and(|name| !name.contains('/')));
                let mut inside: Vec<_> = inside.map(|(path, place)| (path[prefix.len()..].to_owned(), shape.inode_number(*place))).collect();
                inside.sort_by_key(|(_, ino)| *ino);
                let listed: Vec<_> = listed(&context, path, stretch).into_iter().map(|(name, ino, _)| (name, ino)).collect();
                prop_assert_eq!(listed, inside);
                let dir = context.open(path, OpenFlags::READ).unwrap();
                let before = context.vfs().stats().fs_lookups;
                while let piece = context.readdirplus(&dir, stretch, EntryHandles::Without).unwrap()
                    && !piece.is_empty()
                {
                    for of in piece.iter().filter(|of| !matches!(&*of.entry.name, b"." | b"..")) {
                        prop_assert_eq!(of.attributes.map(|found| (found.ino, found.kind)), Ok((of.entry.ino, of.entry.kind)));
                    }
                }
                prop_assert_eq!(context.vfs().stats().fs_lookups, before, "the nodes come with the names");
            }
        }
        let keys: HashSet<_> = list.values().chain([&Place::Root]).map(|place| place.key()).collect();
        let inodes: HashSet<_> = list.values().chain([&Place::Root]).map(|place| shape.inode_number(*place)).collect();
        prop_assert_eq!((keys.len(), inodes.len()), (1 + list.len(), 1 + list.len()));
        prop_assert!(inodes.iter().all(|ino| (1..=shape.nodes()).contains(ino)));
    }

    #[test]
    fn any_name_is_there_or_absent_as_in_the_list(names in prop::collection::vec("[tdfx]?[0-9]{1,3}|[tdf]0[0-9]|\\PC{1,8}", 1..4)) {
        let path = format!("/{}", names.iter().map(|name| name.replace(['/', '\0'], "_")).collect::<Vec<_>>().join("/"));
        prop_assume!(!path.split('/').any(|name| matches!(name, "." | "..")));
        let (shape, list) = (shape(12, 3, 120), list(12, 3, 120));
        let answer = context(SynthFs::new(shape)).stat(&path).map(|found| found.ino);
        prop_assert_eq!(answer.ok(), list.get(&path).map(|place| shape.inode_number(*place)), "{}: {:?}", path, answer);
    }
}

#[test]
fn odd_names_are_absent() {
    let context = context(SynthFs::new(shape(20, 10, 10)));
    for path in
        ["/t20", "/t07", "/t", "/7", "/T7", "/t7/d10", "/t7/t1", "/t7/d1/f", "/t7/d1/f10", "/t7/d1/f4294967296", "/t7/d1/f-0"]
    {
        assert_eq!(context.stat(path), Err(Errno::ENOENT), "{path}");
    }
    assert_eq!(context.stat("/t7/d1/f1/f1"), Err(Errno::ENOTDIR));
}

#[test]
fn the_root_lists_its_threads() {
    let listed = listed(&context(SynthFs::new(shape(11, 0, 0))), "/", 4);
    assert_eq!(listed.len(), 11);
    assert_eq!(listed[10], ("t10".to_owned(), 12, FileType::Directory));
}

#[test]
fn attributes_are_those_of_a_tree() {
    let context = context(SynthFs::new(shape(3, 5, 7)));
    let of = |path: &str| context.stat(path).map(|found| (found.st_mode(), found.nlink, found.size)).unwrap();
    assert_eq!(of("/"), (0o040755, 5, 0));
    assert_eq!(of("/t2"), (0o040755, 7, 0));
    assert_eq!(of("/t2/d4"), (0o040755, 2, 0));
    assert_eq!(of("/t2/d4/f6"), (0o100644, 1, 0));
    assert_eq!(context.statfs("/t1").unwrap().files, 1 + 3 * (1 + 5 * 8));
}

#[test]
fn nothing_changes() {
    let context = context(SynthFs::new(shape(1, 1, 1)));
    let (file, cwd) = ("/t0/d0/f0", At::Cwd);
    assert_eq!(context.mkdirat(cwd, "/new", 0o755), Err(Errno::EROFS));
    assert_eq!(context.unlinkat(cwd, file, UnlinkFlags::empty()), Err(Errno::EROFS));
    assert_eq!(context.renameat(cwd, file, cwd, "/t0/new", RenameFlags::empty()), Err(Errno::EROFS));
    assert_eq!(context.openat(cwd, file, OpenFlags::WRITE).map(|_| ()), Err(Errno::EROFS));
    assert_eq!(context.access(file, Access::WRITE), Err(Errno::EROFS));
    assert_eq!(context.access(file, Access::READ), Ok(()));
    let mut buffer = [0; 8];
    assert_eq!(context.openat(cwd, file, OpenFlags::READ).unwrap().read(&mut buffer), Ok(0));
}

#[test]
fn answers_take_their_time_and_hits_none() {
    let delay = Duration::from_millis(20);
    for delayed in [Delay::Sleep(delay), Delay::Spin(delay)] {
        let context = context(SynthFs::new(shape(1, 1, 1)).with_delay(delayed));
        let start = Instant::now();
        context.stat("/t0/d0/f0").unwrap();
        assert!(start.elapsed() >= 3 * delay, "three names were looked up");
        let asked = context.vfs().stats().fs_lookups;
        context.stat("/t0/d0/f0").unwrap();
        assert_eq!(context.vfs().stats().fs_lookups, asked);
    }
}

#[test]
fn it_weighs_nothing() {
    let fs = SynthFs::new(shape(u32::MAX, 1, u32::MAX - 1));
    assert!(fs.memory() <= 64);
    assert_eq!(fs.shape().nodes(), 1 + u64::from(u32::MAX) * (1 + u64::from(u32::MAX)));
    let context = context(fs);
    assert!(context.stat("/t4294967294/d0/f4294967293").is_ok());
}
