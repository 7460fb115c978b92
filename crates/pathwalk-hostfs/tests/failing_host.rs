//! Tests of a host that fails: full, read-only, or out of descriptors. The error is the host's,
//! nothing half done is believed, and all is well again when the cause is gone.

mod common;

use std::fs;
use std::path::Path;

use pathwalk::{Context, Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use rustix::mount::{MountFlags, mount_remount};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use common::on_tmpfs;

fn on(path: &Path) -> Context {
    let fs = HostFs::open_writable(path).unwrap().with_coherence(Coherence::Exclusive);
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(Credentials::root())
}

/// Asserts that the engine sees what the host has.
fn same(context: &Context, path: &Path) {
    let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let mut ours: Vec<_> = context.read_dir("/").unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    ours.sort();
    assert_eq!(ours, names);
    for name in names {
        let name = name.into_string().unwrap();
        common::assert_same(&path.join(&name), &context.lstat(format!("/{name}")).unwrap());
    }
}

#[test]
fn a_full_host_refuses_and_takes_more_when_there_is_room() {
    on_tmpfs("a_full_host_refuses_and_takes_more_when_there_is_room", "size=64k,nr_inodes=8", |path| {
        let context = on(path);
        let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).unwrap();
        let taken = file.write_at(&vec![1; 1 << 20], 0).unwrap();
        assert_eq!(taken, 64 << 10);
        assert_eq!(file.write_at(b"x", taken as u64), Err(Errno::ENOSPC));
        assert_eq!(file.fallocate(pathwalk::FallocateFlags::empty(), 0, 1 << 20), Err(Errno::ENOSPC));
        same(&context, path);
        let made = (0..10).map(|i| context.mkdir(format!("/{i}"), 0o755)).collect::<Vec<_>>();
        assert_eq!(made.last(), Some(&Err(Errno::ENOSPC)), "{made:?}");
        assert_eq!(context.stat("/9"), Err(Errno::ENOENT));
        same(&context, path);
        file.set_len(0).unwrap();
        context.rmdir("/0").unwrap();
        context.mkdir("/9", 0o755).unwrap();
        assert_eq!(file.write_at(b"again", 0), Ok(5));
        same(&context, path);
    });
}

#[test]
fn a_host_that_became_read_only_refuses_until_it_is_writable() {
    on_tmpfs("a_host_that_became_read_only_refuses_until_it_is_writable", "mode=755", |path| {
        let context = on(path);
        context.write("/file", "data").unwrap();
        context.create_dir("/d").unwrap();
        mount_remount(path, MountFlags::RDONLY, "").unwrap();
        let refused = [
            context.mkdir("/new", 0o755),
            context.unlink("/file"),
            context.rmdir("/d"),
            context.chmod("/file", 0o600),
            context.chown("/file", Some(5), None),
            context.truncate("/file", 1),
            context.link("/file", "/second"),
            context.rename("/file", "/moved").map_err(|error| error.errno()),
            context.open("/file", OpenFlags::WRITE).map(drop),
            context.setxattr("/file", "trusted.a", "b", pathwalk::XattrFlags::empty()),
            context.set_inode_flags("/file", pathwalk::InodeFlags::NODUMP),
        ];
        assert!(refused.iter().all(|refused| *refused == Err(Errno::EROFS)), "{refused:?}");
        same(&context, path);
        mount_remount(path, MountFlags::empty(), "").unwrap();
        context.rename("/file", "/d/file").unwrap();
        context.chmod("/d/file", 0o600).unwrap();
        assert_eq!(context.read("/d/file").unwrap(), b"data");
        same(&context, path);
    });
}

/// The limit holds for the whole process: while it is low, other tests of this file may fail to
/// open files of their own, so this one runs in a process of its own.
#[test]
fn without_descriptors_it_says_so_and_closes_its_own_first() {
    const ALONE: &str = "PATHWALK_FAILING_HOST_ALONE";
    const NAME: &str = "without_descriptors_it_says_so_and_closes_its_own_first";
    if std::env::var_os(ALONE).is_none() {
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program).args(["--exact", NAME, "--nocapture"]).env(ALONE, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let context = on(dir.path());
    let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    let before = getrlimit(Resource::Nofile);
    let limit = Rlimit { current: Some(40), ..before };
    setrlimit(Resource::Nofile, limit).unwrap();
    // More files than the process may have descriptors.
    let files: Vec<_> = (0..100).map(|i| context.open(format!("/{i}"), flags).unwrap()).collect();
    for (i, file) in files.iter().enumerate() {
        assert_eq!(file.write_at(i.to_string().as_bytes(), 0), Ok(i.to_string().len()));
    }
    // The rest of the descriptors is another's.
    let mut taken = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        taken.push(file);
    }
    drop(files);
    while let Ok(file) = fs::File::open("/dev/null") {
        taken.push(file);
    }
    let refused = [
        context.mkdir("/new", 0o755),
        context.unlink("/1"),
        context.chmod("/1", 0o600),
        context.open("/1", OpenFlags::READ).map(drop),
        context.stat("/absent").map(drop),
    ];
    assert!(refused.iter().all(|refused| *refused == Err(Errno::EMFILE)), "{refused:?}");
    drop(taken);
    setrlimit(Resource::Nofile, before).unwrap();
    assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
    context.unlink("/1").unwrap();
    context.mkdir("/new", 0o755).unwrap();
    assert_eq!(context.read("/2").unwrap(), b"2");
    same(&context, dir.path());
}
