//! Tests of operations on names over a file system that fails, delays or panics: nothing is lost,
//! half done or still held.

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use pathwalk::{
    Context, Credentials, Errno, FallocateFlags, FileSystem, Handle, HandleFlags, Name, NewKind, NewNode, NodeKey, OpenFor,
    RenameFlags, SyncWhat, Vfs, WriteAt, internals,
};
use pathwalk_memfs::MemFs;
use pathwalk_tests::failing::{Counts, Failing, Fault, PerMille, Plan, PlannedPanic};

type Fs = Arc<Failing<MemFs>>;

const NEW_FILE: NewNode<'_> = NewNode::new(NewKind::Regular, 0o644, 0, 0);

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).expect("a name")
}

/// Returns a tree with `/d`, which has files `a`, `b` and an empty directory `e`.
fn tree() -> Result<(Fs, Context), Box<dyn Error>> {
    let fs = MemFs::new();
    fs.mkdir_all("d/e", 0o755)?;
    for path in ["d/a", "d/b"] {
        fs.file(path, 0o644)?;
    }
    let fs = Arc::new(Failing::new(fs));
    let vfs = Vfs::builder().build(fs.clone())?;
    Ok((fs, vfs.context(Credentials::root())))
}

/// Nodes and link counts by name.
type Listed = BTreeMap<Vec<u8>, (NodeKey, u32)>;

/// Returns the contents of `/d`.
fn listed(fs: &MemFs) -> Result<Listed, Box<dyn Error>> {
    let mut listed = BTreeMap::new();
    for name in fs.list("d")? {
        let path = [b"d/", &name[..]].concat();
        listed.insert(name, (fs.key(&path)?, fs.stat(&path)?.nlink));
    }
    Ok(listed)
}

/// Returns whether the engine shows the contents of `/d`.
fn seen(fs: &MemFs, context: &Context) -> Result<bool, Box<dyn Error>> {
    let there = listed(fs)?;
    for name in ["a", "b", "e", "new"] {
        let found = context.stat(format!("/d/{name}"));
        let expected = there.get(name.as_bytes());
        match (found, expected) {
            (Ok(found), Some((key, links))) if found.ino == (key.0 >> 64) as u64 && found.nlink == *links => {}
            (Err(Errno::ENOENT), None) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

type Operation = fn(&Handle) -> Result<(), Errno>;

const OPERATIONS: [(&str, Operation); 8] = [
    ("create", |dir| internals::create(dir, name("new"), &NEW_FILE).map(drop)),
    ("mkdir", |dir| internals::create(dir, name("new"), &NewNode::new(NewKind::Directory, 0o644, 0, 0)).map(drop)),
    ("unlink", |dir| internals::unlink(dir, name("a"))),
    ("rmdir", |dir| internals::unlink(dir, name("e"))),
    ("rename", |dir| internals::rename((dir, name("a")), (dir, name("new")), RenameFlags::empty())),
    ("replace", |dir| internals::rename((dir, name("a")), (dir, name("b")), RenameFlags::empty())),
    ("exchange", |dir| internals::rename((dir, name("a")), (dir, name("e")), RenameFlags::EXCHANGE)),
    ("attributes", |dir| dir.attributes().map(drop)),
];

/// Runs each operation with each of its calls failing or panicking in turn.
#[test]
fn nothing_is_half_done() -> Result<(), Box<dyn Error>> {
    for fault in [Fault::Error(Errno::EIO), Fault::Error(Errno::ENOMEM), Fault::Error(Errno::ESTALE), Fault::Panic] {
        for (what, operation) in OPERATIONS {
            for number in 0.. {
                let (fs, context) = tree()?;
                let dir = context.lookup("/d")?;
                let before = listed(fs.inner())?;
                fs.start(Plan::nth(number, fault));
                let done = catch_unwind(AssertUnwindSafe(|| operation(&dir)));
                let counts = fs.stop();
                let failed = format!("{what}, call {number}, {fault:?}: {done:?}, {counts:?}");
                assert!(seen(fs.inner(), &context)?, "{failed}");
                match done {
                    Ok(Ok(())) => assert!(listed(fs.inner())? != before || what == "attributes", "{failed}"),
                    Ok(Err(_)) => assert_eq!(listed(fs.inner())?, before, "{failed}"),
                    Err(panic) => {
                        assert_eq!(panic.downcast_ref(), Some(&PlannedPanic(number)), "{failed}");
                        assert_eq!(listed(fs.inner())?, before, "{failed}");
                    }
                }
                drop((dir, context));
                let left = (fs.inner().usage().held, fs.inner().usage().unlinked, fs.inner().calls().stray_forget);
                assert_eq!(left, (0, 0, 0), "{failed}");
                if counts.calls <= number {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Finds a directory that is not cached by its handle, with each call failing or panicking in turn.
/// Afterwards the handle leads there, and nothing stays held.
#[test]
fn the_way_to_a_handles_node_fails() -> Result<(), Box<dyn Error>> {
    for fault in [Fault::Error(Errno::EIO), Fault::Error(Errno::ESTALE), Fault::Panic] {
        for number in 0.. {
            let (fs, context) = tree()?;
            context.create_dir_all("/d/deep/deeper")?;
            let (handle, _) = context.name_to_handle("/d/deep/deeper", HandleFlags::empty())?;
            context.vfs().invalidate_subtree(context.root())?;
            fs.start(Plan::nth(number, fault));
            let done = catch_unwind(AssertUnwindSafe(|| context.lookup_by_handle(context.root(), &handle)?.path()));
            let counts = fs.stop();
            let failed = format!("call {number}, {fault:?}: {done:?}, {counts:?}");
            if let Ok(Ok(path)) = &done {
                assert_eq!(path, b"/d/deep/deeper", "{failed}");
            }
            if let Err(panic) = done {
                assert_eq!(panic.downcast_ref(), Some(&PlannedPanic(number)), "{failed}");
            }
            assert_eq!(context.lookup_by_handle(context.root(), &handle)?.path()?, b"/d/deep/deeper", "{failed}");
            drop(context);
            assert_eq!((fs.inner().usage().held, fs.inner().calls().stray_forget), (0, 0), "{failed}");
            if counts.calls <= number {
                break;
            }
        }
    }
    Ok(())
}

/// Runs several threads with all faults at once.
#[test]
fn a_storm_of_faults_leaves_nothing_held() -> Result<(), Box<dyn Error>> {
    for seed in 0..4 {
        let (fs, context) = tree()?;
        fs.start(Plan::random(seed, PerMille { errors: 100, delays: 20, panics: 50 }));
        std::thread::scope(|scope| {
            for thread in 0..3usize {
                let context = &context;
                scope.spawn(move || {
                    for i in 0..400 {
                        let (_, operation) = OPERATIONS[(i * 7 + thread * 3) % OPERATIONS.len()];
                        // Any result is allowed.
                        let _ = catch_unwind(AssertUnwindSafe(|| operation(&context.lookup("/d")?)));
                        let _ =
                            catch_unwind(AssertUnwindSafe(|| internals::create(&context.lookup("/d")?, name("a"), &NEW_FILE)));
                    }
                });
            }
        });
        let counts = fs.stop();
        assert!(counts.errors > 0 && counts.delays > 0 && counts.panics > 0, "seed {seed}: {counts:?}");
        assert!(seen(fs.inner(), &context)?, "seed {seed}");
        drop(context);
        let usage = fs.inner().usage();
        assert_eq!((usage.held, usage.unlinked, fs.inner().calls().stray_forget), (0, 0, 0), "seed {seed}");
    }
    Ok(())
}

#[test]
fn the_same_seed_fails_the_same_calls() -> Result<(), Box<dyn Error>> {
    let outcomes = |seed| -> Result<(Vec<_>, Counts), Box<dyn Error>> {
        let fs = Failing::new(MemFs::new());
        fs.start(Plan::random(seed, PerMille { errors: 300, delays: 0, panics: 100 }));
        let ask = |_| catch_unwind(AssertUnwindSafe(|| fs.statfs().map(drop))).map_err(|_| ());
        let outcomes: Vec<_> = (0..1000).map(ask).collect();
        Ok((outcomes, fs.stop()))
    };
    let (first, counts) = outcomes(1)?;
    assert_eq!((first.clone(), counts), outcomes(1)?);
    assert_ne!(first, outcomes(2)?.0);
    for errno in [Errno::EIO, Errno::ENOMEM, Errno::ESTALE] {
        assert!(first.contains(&Ok(Err(errno))));
    }
    assert_eq!(counts.calls, 1000);
    assert!((200..400).contains(&counts.errors) && (50..150).contains(&counts.panics), "{counts:?}");
    Ok(())
}

#[test]
fn open_files_fail_too() -> Result<(), Box<dyn Error>> {
    let (fs, _context) = tree()?;
    let key = fs.inner().key("d/a")?;
    fs.start(Plan::nth(0, Fault::Error(Errno::EIO)));
    assert_eq!(fs.open(key, OpenFor::WRITE).err(), Some(Errno::EIO));
    let (file, dir) = (fs.open(key, OpenFor::READ | OpenFor::WRITE)?, fs.open(fs.inner().key("d")?, OpenFor::READ)?);
    assert_eq!(fs.stop().calls, 3);
    type Call<'a> = &'a dyn Fn() -> Result<(), Errno>;
    let calls: [Call<'_>; 9] = [
        &|| file.read_at(&mut [0], 0).map(drop),
        &|| file.write_at(b"x", WriteAt::End).map(drop),
        &|| file.sync(SyncWhat::All),
        &|| dir.read_dir(0, &mut |_| ControlFlow::Continue(())),
        &|| file.fallocate(FallocateFlags::KEEP_SIZE, 0, 1),
        &|| file.seek_data(0, 1).map(drop),
        &|| file.seek_hole(0, 1).map(drop),
        &|| file.clone_range(0, key, 0, 0),
        &|| file.copy_range(0, key, 1, 1).map(drop),
    ];
    for (i, call) in calls.iter().enumerate() {
        fs.start(Plan::nth(0, Fault::Error(Errno::ENOMEM)));
        assert_eq!(call(), Err(Errno::ENOMEM), "call {i}");
        assert_eq!(fs.inner().stat("d/a")?.size, if i > 1 { 1 } else { 0 }, "a failed call has no effect");
        assert_eq!(call(), Ok(()), "call {i}");
    }
    fs.start(Plan::nth(0, Fault::Delay(Duration::from_micros(10))));
    file.sync(SyncWhat::Data)?;
    assert_eq!(fs.stop(), Counts { calls: 1, delays: 1, ..Counts::default() });
    Ok(())
}
