//! Tests that `ESTALE` from any call of a file system is healed once, for each operation on paths:
//! the way is asked for again, and the operation is done once more.

use std::error::Error;
use std::sync::Arc;

use pathwalk::{
    Access, At, AtFlags, Context, Credentials, EntryHandles, Errno, HandleFlags, LinkFlags, MountFlags, NewKind, OpenFlags,
    OpenHow, RenameFlags, Resolve, SetTime, Vfs, XattrFlags,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Failing, Fault, Plan};

type Fs = Arc<Failing<MemFs>>;

/// Returns a tree, none of which is cached.
fn tree() -> Result<(Fs, Context), Box<dyn Error>> {
    let fs = MemFs::new();
    fs.mkdir_all("d/e", 0o755)?;
    ["d/a", "d/b"].into_iter().try_for_each(|path| fs.file(path, 0o644))?;
    fs.symlink("a", "d/link")?;
    let fs = Arc::new(Failing::new(fs));
    let context = Vfs::builder().build(fs.clone())?.context(Credentials::root());
    Ok((fs, context))
}

type Operation = fn(&Context) -> Result<(), Errno>;

const OPERATIONS: [(&str, Operation); 34] = [
    ("access", |by| by.access("/d/a", Access::READ)),
    ("stat", |by| by.stat("/d/a").map(drop)),
    ("stat through a link", |by| by.stat("/d/link").map(drop)),
    ("readlink", |by| by.readlink("/d/link", &mut [0; 9]).map(drop)),
    ("lookup", |by| by.lookup("/d/a").map(drop)),
    ("statfs", |by| by.statfs("/d/a").map(drop)),
    ("syncfs", |by| by.syncfs("/d")),
    ("may_execute", |by| by.may_execute("/d/a").or_else(|errno| if errno == Errno::EACCES { Ok(()) } else { Err(errno) })),
    ("open", |by| by.open("/d/a", OpenFlags::READ).map(drop)),
    ("open to create", |by| by.open("/d/new", OpenFlags::WRITE | OpenFlags::CREATE).map(drop)),
    ("open to create what is there", |by| by.open("/d/a", OpenFlags::WRITE | OpenFlags::CREATE).map(drop)),
    ("open through a link to create", |by| by.open("/d/link", OpenFlags::WRITE | OpenFlags::CREATE).map(drop)),
    ("truncate by open", |by| by.open("/d/a", OpenFlags::WRITE | OpenFlags::TRUNCATE).map(drop)),
    ("open without a name", |by| by.open("/d", OpenFlags::WRITE | OpenFlags::TMPFILE).map(drop)),
    ("mkdir", |by| by.mkdir("/d/new", 0o755)),
    ("mknod", |by| by.mknod("/d/new", NewKind::Fifo, 0o644)),
    ("symlink", |by| by.symlink("body", "/d/new")),
    ("link", |by| by.linkat(At::Cwd, "/d/a", At::Cwd, "/d/e/new", LinkFlags::empty())),
    ("unlink", |by| by.unlink("/d/a")),
    ("rmdir", |by| by.rmdir("/d/e")),
    ("rename", |by| by.renameat(At::Cwd, "/d/a", At::Cwd, "/d/e/new", RenameFlags::empty())),
    ("rename over another", |by| by.renameat(At::Cwd, "/d/a", At::Cwd, "/d/b", RenameFlags::empty())),
    ("exchange", |by| by.renameat(At::Cwd, "/d/a", At::Cwd, "/d/e", RenameFlags::EXCHANGE)),
    ("chmod", |by| by.chmod("/d/a", 0o600)),
    ("chown", |by| by.chown("/d/a", Some(7), Some(7))),
    ("truncate", |by| by.truncate("/d/a", 9)),
    ("set_times", |by| by.utimensat(At::Cwd, "/d/a", SetTime::Now, SetTime::Now, AtFlags::empty())),
    ("setxattr", |by| by.setxattr("/d/a", "user.x", b"1", XattrFlags::empty())),
    ("getxattr", |by| {
        by.getxattr("/d/a", "user.x").map(drop).or_else(|errno| if errno == Errno::ENODATA { Ok(()) } else { Err(errno) })
    }),
    ("listxattr", |by| by.listxattr("/d/a").map(drop)),
    ("name_to_handle", |by| by.name_to_handle("/d/a", HandleFlags::empty()).map(drop)),
    ("bind_socket", |by| by.bind_socket("/d/new", Arc::new(7)).map(drop)),
    ("connect_socket", |by| {
        // What is bound to it is lost with the guard.
        drop(by.bind_socket("/d/new", Arc::new(7))?);
        by.vfs().invalidate_attributes(&by.lookup("/d/new")?)?;
        by.connect_socket::<i32>("/d/new")
            .map(drop)
            .or_else(|errno| if errno == Errno::ECONNREFUSED { Ok(()) } else { Err(errno) })
    }),
    ("chdir", |by| by.clone().chdir("/d/e")),
];

/// Runs each operation with each of its calls being `ESTALE` once, in a cold and in a warm cache.
#[test]
fn one_stale_answer_reaches_no_caller() -> Result<(), Box<dyn Error>> {
    for (what, operation) in OPERATIONS {
        for warm in [false, true] {
            for number in 0.. {
                let (fs, context) = tree()?;
                if warm {
                    ["/d/a", "/d/b", "/d/e", "/d/link", "/d/new", "/d/e/new"].iter().for_each(|path| _ = context.lstat(path));
                }
                fs.start(Plan::nth(number, Fault::Error(Errno::ESTALE)));
                let done = operation(&context);
                let counts = fs.stop();
                // What follows a file that was made is not repeated.
                let is_final = what.contains("create") && done == Err(Errno::ESTALE) && fs.inner().stat("/d/new").is_ok();
                assert!(done.is_ok() || is_final, "{what}, warm: {warm}, call {number}: {done:?}");
                drop(context);
                assert_eq!((fs.inner().usage().held, fs.inner().calls().stray_forget), (0, 0), "{what}, call {number}");
                if counts.calls <= number {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// A file system that is stale for good: the operation ends, with that error.
#[test]
fn the_second_stale_answer_reaches_the_caller() -> Result<(), Box<dyn Error>> {
    for (what, operation) in OPERATIONS {
        let (fs, context) = tree()?;
        fs.start(Plan::always(Fault::Error(Errno::ESTALE)));
        let done = operation(&context);
        let counts = fs.stop();
        assert_eq!(done, Err(Errno::ESTALE), "{what}");
        assert!(counts.calls <= 12, "{what}: {counts:?}");
    }
    Ok(())
}

/// Checks that a listing with attributes asks for a stale name again. The listing itself is a call
/// of an open file, which is not repeated.
#[test]
fn a_name_that_is_stale_in_a_listing_is_asked_for_again() -> Result<(), Box<dyn Error>> {
    let mut healed = 0;
    for number in 0.. {
        let (fs, context) = tree()?;
        let dir = context.open("/d", OpenFlags::READ)?;
        // Their attributes are asked for while they are listed.
        for name in ["a", "b"] {
            context.vfs().invalidate_attributes(&context.lookup(format!("/d/{name}"))?)?;
        }
        fs.start(Plan::nth(number, Fault::Error(Errno::ESTALE)));
        let listed = context.readdirplus(&dir, 99, EntryHandles::Without);
        let counts = fs.stop();
        if counts.calls <= number {
            break;
        }
        match listed {
            Ok(listed) => {
                assert!(listed.iter().all(|entry| entry.attributes.is_ok()), "call {number}: {listed:?}");
                healed += 1;
            }
            Err(errno) => assert_eq!(errno, Errno::ESTALE, "call {number}"),
        }
    }
    assert!(healed >= 2, "{healed}");
    Ok(())
}

/// Checks that the way is asked about as the operation goes: a link that it does not follow is not
/// followed, and no rule is broken.
#[test]
fn healing_goes_no_other_way() -> Result<(), Box<dyn Error>> {
    let operations: [(&str, Operation, Result<(), Errno>); 3] = [
        ("unlink", |by| by.unlink("/d/far"), Ok(())),
        ("chown of a link", |by| by.fchownat(At::Cwd, "/d/far", Some(7), None, AtFlags::SYMLINK_NOFOLLOW), Ok(())),
        (
            "open to create in one mount",
            |by| {
                let flags = OpenFlags::WRITE | OpenFlags::CREATE;
                by.open("/d/far", OpenHow { flags, mode: 0o644, resolve: Resolve::NO_XDEV }).map(drop)
            },
            Err(Errno::EXDEV),
        ),
    ];
    for (what, operation, expected) in operations {
        for number in 0.. {
            let (fs, context) = tree()?;
            fs.inner().symlink("/mnt/file", "d/far")?;
            fs.inner().mkdir_all("mnt", 0o755)?;
            let behind = Arc::new(Failing::new(MemFs::new()));
            context.mount(behind.clone(), "/mnt", MountFlags::empty())?;
            behind.start(Plan::nth(u64::MAX, Fault::Error(Errno::EIO)));
            fs.start(Plan::nth(number, Fault::Error(Errno::ESTALE)));
            let done = operation(&context);
            let counts = fs.stop();
            assert_eq!(done, expected, "{what}, call {number}");
            assert_eq!(behind.stop().calls, 0, "{what}, call {number}");
            if counts.calls <= number {
                break;
            }
        }
    }
    Ok(())
}
