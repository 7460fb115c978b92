//! Tests of trees whose files and directories the kernel opens without a message.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::common::{Case, names, until};
use pathwalk::{Context, Credentials, InodeFlags, Vfs};
use pathwalk_fuse::{ExtendedAttributes, Opens};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;
use rustix::fs::{FallocateFlags, OFlags, SeekFrom as Seeking, fallocate, seek, statvfs};
use tempfile::TempDir;

/// More files than are kept open.
const MANY: usize = 600;

fn memory() -> Context {
    Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root())
}

fn host(dir: &Path) -> Context {
    let fs = HostFs::open_writable(dir).unwrap().with_coherence(Coherence::Exclusive);
    Vfs::builder().build(fs).unwrap().context(pathwalk_hostfs::credentials().unwrap())
}

/// Runs a test on a tree in memory, and as root on a directory of the host.
fn each(test: impl Fn(&Case)) {
    let dir = TempDir::new().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    for context in std::iter::once(memory()).chain(is_root.then(|| host(dir.path()))) {
        let Some(case) = Case::of(context, |options| options.opens = Opens::Untold) else { return };
        test(&case);
    }
}

/// Uses so many other files that none is kept open that was used before.
fn use_others(case: &Case) {
    fs::create_dir_all(case.at("others")).unwrap();
    for number in 0..MANY {
        fs::write(case.at("others").join(number.to_string()), "x").unwrap();
    }
}

#[test]
fn the_program_is_told_of_no_open() {
    each(|case| {
        fs::create_dir(case.at("d")).unwrap();
        for number in 0..100 {
            let path = case.at("d").join(number.to_string());
            fs::write(&path, format!("text {number}")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), format!("text {number}").as_bytes());
        }
        assert_eq!((names(&case.at("d")).len(), names(&case.at("d")).len()), (100, 100));
        // The first of each kind is refused, by which the kernel knows.
        let told = ["Open", "OpenDir", "Release", "ReleaseDir", "Flush"].map(|kind| case.requests(kind));
        assert!(told[0] <= 1 && told[1] <= 1 && told[2..4] == [0, 0] && told[4] <= 1, "{told:?}");
        let before = case.requests("Read") + case.requests("ReadDir") + case.requests("ReadDirPlus");
        for number in 0..100 {
            assert!(fs::read(case.at("d").join(number.to_string())).unwrap().starts_with(b"text"));
        }
        assert_eq!(names(&case.at("d")).len(), 100);
        let after = case.requests("Read") + case.requests("ReadDir") + case.requests("ReadDirPlus");
        assert_eq!(after, before, "the kernel has all of it");
    });
}

#[test]
fn an_open_file_outlives_its_names_and_what_is_kept_of_it() {
    each(|case| {
        let open = |name: &str| OpenOptions::new().read(true).write(true).create_new(true).open(case.at(name)).unwrap();
        let (removed, replaced) = (open("removed"), open("replaced"));
        let nameless =
            OpenOptions::new().read(true).write(true).custom_flags(OFlags::TMPFILE.bits() as i32).open(case.dir.path());
        let nameless = nameless.unwrap();
        let files = [removed, replaced, nameless];
        files.iter().for_each(|file| file.write_all_at(b"some", 0).unwrap());
        fs::remove_file(case.at("removed")).unwrap();
        fs::write(case.at("new"), "new").unwrap();
        fs::rename(case.at("new"), case.at("replaced")).unwrap();
        use_others(case);
        for mut file in files {
            file.write_all_at(b" text", 4).unwrap();
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), file.metadata().unwrap().len()), ("some text", 9));
            file.set_len(2).unwrap();
            file.set_permissions(Permissions::from_mode(0o400)).unwrap();
            file.write_all_at(b"x", 1).unwrap();
            file.sync_all().unwrap();
            assert_eq!(file.metadata().unwrap().len(), 2);
        }
        assert_eq!(fs::read(case.at("replaced")).unwrap(), b"new");
    });
}

#[test]
fn a_removed_file_that_is_closed_gives_back_its_space() {
    let fs = MemFs::with(pathwalk_memfs::Options::default().max_bytes(64 << 20));
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |options| options.opens = Opens::Untold) else { return };
    let free = || statvfs(case.dir.path()).unwrap().f_bfree;
    let before = free();
    let file = File::create(case.at("a")).unwrap();
    (&file).write_all(&vec![7; 4 << 20]).unwrap();
    assert!(before - free() >= 1024);
    fs::remove_file(case.at("a")).unwrap();
    assert!(before - free() >= 1024, "it is open");
    drop(file);
    until(before, free);
    until(0, || case.mounted().pinned().open_files);
}

#[test]
fn what_an_open_does_is_done() {
    each(|case| {
        let at = case.at("a");
        fs::write(&at, "some text").unwrap();
        let mut append = OpenOptions::new().append(true).open(&at).unwrap();
        let mut other = OpenOptions::new().append(true).open(&at).unwrap();
        append.write_all(b", one").unwrap();
        other.write_all(b", two").unwrap();
        append.write_all(b", three").unwrap();
        assert_eq!(fs::read(&at).unwrap(), b"some text, one, two, three");
        assert_eq!(fs::read(&at).unwrap(), case.context.read("/a").unwrap());
        File::create(&at).unwrap();
        assert_eq!((fs::read(&at).unwrap().len(), case.context.read("/a").unwrap().len()), (0, 0));
        append.write_all(b"end").unwrap();
        assert_eq!(case.context.read("/a").unwrap(), b"end");
        // The rights of the file came behind the open.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o444).open(case.at("b")).unwrap();
        use_others(case);
        made.write_all_at(b"text", 0).unwrap();
        assert_eq!(fs::read(case.at("b")).unwrap(), b"text");
    });
}

#[test]
fn an_append_only_file_is_appended_to() {
    let context = memory();
    context.write("/log", "a").unwrap();
    context.set_inode_flags("/log", InodeFlags::APPEND).unwrap();
    let Some(case) = Case::of(context, |options| options.opens = Opens::Untold) else { return };
    OpenOptions::new().append(true).open(case.at("log")).unwrap().write_all(b"b").unwrap();
    // The kernel does not know of the flag, so that the open succeeds.
    let written = OpenOptions::new().write(true).open(case.at("log")).unwrap().write_all_at(b"c", 0);
    assert_eq!(written.unwrap_err().raw_os_error(), Some(1));
    assert_eq!(case.context.read("/log").unwrap(), b"ab");
}

#[test]
fn holes_are_made_and_found_and_ranges_copied() {
    each(|case| {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(case.at("a")).unwrap();
        file.write_all_at(b"begin", 0).unwrap();
        file.write_all_at(b"end", 1 << 20).unwrap();
        assert_eq!(seek(&file, Seeking::Data(100_000)).unwrap(), 1 << 20);
        assert!(seek(&file, Seeking::Hole(0)).unwrap() < 1 << 20);
        fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 1 << 20, 4096).unwrap();
        assert!(seek(&file, Seeking::Data(100_000)).is_err());
        fallocate(&file, FallocateFlags::empty(), 0, 2 << 20).unwrap();
        assert_eq!((file.metadata().unwrap().len(), case.context.stat("/a").unwrap().size), (2 << 20, 2 << 20));
        let copy = OpenOptions::new().read(true).write(true).create_new(true).open(case.at("b")).unwrap();
        assert_eq!(rustix::fs::copy_file_range(&file, Some(&mut 1), &copy, Some(&mut 2), 4).unwrap(), 4);
        let mut text = [1; 6];
        copy.read_exact_at(&mut text, 0).unwrap();
        assert_eq!(&text, b"\0\0egin");
    });
}

#[test]
fn listings_go_on_where_each_of_them_was() {
    each(|case| {
        let dir = case.at("d");
        fs::create_dir(&dir).unwrap();
        for number in 0..5_000 {
            File::create(dir.join(format!("name-of-file-{number}"))).unwrap();
        }
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let (mut one, mut other) = (fs::read_dir(&dir).unwrap(), fs::read_dir(&dir).unwrap());
        let mut seen: BTreeSet<String> = one.by_ref().take(700).map(name).collect();
        let of_other: BTreeSet<String> = other.by_ref().take(2_000).map(name).collect();
        // Names go and come between the parts of both listings, and no listing is kept.
        let gone: Vec<&String> = seen.iter().take(300).collect();
        gone.iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
        (0..300).for_each(|number| drop(File::create(dir.join(format!("later-{number}"))).unwrap()));
        use_others(case);
        let (mut rest, before) = (one.map(name).collect::<Vec<_>>(), seen.len());
        assert!(rest.iter().all(|name| seen.insert(name.clone())), "no name comes twice");
        rest.retain(|name| name.starts_with("name"));
        assert_eq!(rest.len() + before, 5_000);
        let other = other.map(name).filter(|name| name.starts_with("name")).chain(of_other).collect::<BTreeSet<_>>();
        assert!(other.len() >= 4_700);
        assert_eq!(names(&dir).len(), 5_000);
    });
}

#[test]
fn a_program_that_runs_is_not_written_to() {
    each(|case| {
        fs::copy("/bin/sleep", case.at("sleep")).unwrap();
        let mut running = Command::new(case.at("sleep")).arg("60").spawn().unwrap();
        // The new process has the program open when it has replaced that of this process.
        until(true, || fs::read_link(format!("/proc/{}/exe", running.id())).is_ok_and(|exe| exe == case.at("sleep")));
        let refused = OpenOptions::new().write(true).truncate(true).open(case.at("sleep")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(26));
        assert_eq!(fs::metadata(case.at("sleep")).unwrap().len(), fs::metadata("/bin/sleep").unwrap().len());
        running.kill().unwrap();
        running.wait().unwrap();
        let mut file = OpenOptions::new().write(true).open(case.at("sleep")).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(b"x").unwrap();
    });
}

#[test]
fn absent_attributes_are_not_asked_for() {
    let set = |options: &mut pathwalk_fuse::Options| options.extended_attributes = ExtendedAttributes::Absent;
    let Some(case) = Case::of(memory(), set) else { return };
    for number in 0..50 {
        fs::write(case.at(&number.to_string()), "text").unwrap();
        std::os::unix::fs::chown(case.at(&number.to_string()), Some(1), Some(1)).unwrap();
    }
    assert!(case.requests("GetXattr") <= 1);
    let value = rustix::fs::getxattr(case.at("1"), "user.a", &mut [0; 10]);
    assert_eq!(value, Err(rustix::io::Errno::OPNOTSUPP));
    let set = rustix::fs::setxattr(case.at("1"), "user.a", b"b", rustix::fs::XattrFlags::empty());
    assert_eq!(set, Err(rustix::io::Errno::OPNOTSUPP));
    assert_eq!(rustix::fs::listxattr(case.at("1"), &mut [0; 10]), Err(rustix::io::Errno::OPNOTSUPP));
}
