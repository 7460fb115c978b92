//! Events: what each operation tells, to which subscriptions, and what a full queue loses.

use pathwalk::{
    At, AtFlags, Cancellation, Context, Credentials, Errno, Event, FallocateFlags, FileType, InodeFlags, Invalidated, Name,
    NewKind, OpenFlags, RenameFlags, SetTime, Subscription, Vfs, XattrFlags,
};
use pathwalk_memfs::MemFs;

fn world() -> (MemFs, Context) {
    let fs = MemFs::new();
    fs.mkdir_all("/d/e", 0o755).unwrap();
    ["/d/f", "/g"].iter().for_each(|path| fs.file(path, 0o644).unwrap());
    let context = Vfs::builder().build(fs.alias()).unwrap().context(Credentials::root());
    (fs, context)
}

fn below(context: &Context, path: &str) -> Subscription {
    context.vfs().subscribe(&context.lookup(path).unwrap(), 100).unwrap()
}

fn all(of: &Subscription) -> Vec<String> {
    std::iter::from_fn(|| of.try_next()).map(|event| format!("{event:?}")).collect()
}

#[test]
fn what_each_operation_tells() {
    let (_, context) = world();
    let events = below(&context, "/");
    let told = |what: Result<(), Errno>| {
        what.unwrap();
        all(&events)
    };
    assert_eq!(told(context.mkdir("/d/new", 0o755)), ["Created(\"d/new\", Directory)"]);
    assert_eq!(told(context.mknod("/p", NewKind::Fifo, 0o644)), ["Created(\"p\", Fifo)"]);
    assert_eq!(told(context.symlink("d", "/link")), ["Created(\"link\", Symlink)"]);
    assert_eq!(told(context.link("/link", "/link2")), ["Created(\"link2\", Symlink)"]);
    assert_eq!(told(context.unlink("/link2")), ["Removed(\"link2\", Symlink)"]);
    assert_eq!(told(context.rmdir("/d/new")), ["Removed(\"d/new\", Directory)"]);
    assert_eq!(told(context.chmod("/link/f", 0o600)), ["Attributes(\"d/f\", Regular)"]);
    assert_eq!(told(context.chown("/d/f", Some(1), None)), ["Attributes(\"d/f\", Regular)"]);
    assert_eq!(told(context.setxattr("/d", "user.x", b"1", XattrFlags::empty())), ["Attributes(\"d\", Directory)"]);
    assert_eq!(told(context.removexattr("/d", "user.x")), ["Attributes(\"d\", Directory)"]);
    let times = |atime, mtime| context.utimensat(At::Cwd, "/d/f", atime, mtime, AtFlags::empty());
    assert_eq!(told(times(SetTime::Now, SetTime::Now)), ["Attributes(\"d/f\", Regular)"]);
    assert_eq!(told(times(SetTime::Keep, SetTime::Now)), ["Content(\"d/f\")"]);
    assert_eq!(told(times(SetTime::Now, SetTime::Keep)), [""; 0]);
    assert_eq!(told(context.truncate("/d/f", 9)), ["Content(\"d/f\")"]);
    assert_eq!(told(context.set_inode_flags("/d/f", InodeFlags::NOATIME)), ["Attributes(\"d/f\", Regular)"]);

    let file = context.open("/d/f", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TRUNCATE).unwrap();
    assert_eq!(all(&events), ["Content(\"d/f\")"]);
    assert_eq!(told(file.write(b"x").map(drop)), ["Content(\"d/f\")"]);
    assert_eq!(told(file.write(b"").map(drop)), [""; 0]);
    assert_eq!(told(file.set_len(7)), ["Content(\"d/f\")"]);
    assert_eq!(told(file.fallocate(FallocateFlags::KEEP_SIZE, 0, 1)), ["Content(\"d/f\")"]);
    assert_eq!(told(file.setxattr("user.y", b"1", XattrFlags::empty())), ["Attributes(\"d/f\", Regular)"]);
    context.unlink("/d/f").unwrap();
    assert_eq!(told(file.write(b"x").map(drop)), ["Removed(\"d/f\", Regular)"], "the file has no name any more");

    context.write("/new", "data").unwrap();
    assert_eq!(all(&events), ["Created(\"new\", Regular)", "Content(\"new\")"]);
    assert_eq!(told(context.mkdir("/new", 0o755).or(Ok(()))), [""; 0], "what fails tells nothing");
    assert_eq!(told(context.stat("/new").map(drop)), [""; 0]);
}

#[test]
fn a_rename_tells_both_names_once() {
    let (_, context) = world();
    let (events, of_d) = (below(&context, "/"), below(&context, "/d"));
    let rename = |from: &str, to: &str, how| context.renameat(At::Cwd, from, At::Cwd, to, how).unwrap();
    rename("/d/f", "/d/e/f", RenameFlags::empty());
    assert_eq!(all(&events), ["Renamed(\"d/f\", \"d/e/f\", Regular, 0)"]);
    assert_eq!(all(&of_d), ["Renamed(\"f\", \"e/f\", Regular, 0)"]);
    rename("/d/e/f", "/f", RenameFlags::empty());
    assert_eq!(all(&of_d), ["Renamed(\"e/f\", elsewhere, Regular, 1)"]);
    rename("/g", "/f", RenameFlags::empty());
    assert_eq!(all(&of_d), [""; 0]);
    rename("/f", "/d/e/g", RenameFlags::empty());
    assert_eq!(all(&of_d), ["Renamed(elsewhere, \"e/g\", Regular, 3)"]);
}

#[test]
fn an_exchange_is_two_moves_and_a_moved_directory_is_told_by_its_new_path() {
    let (_, context) = world();
    let events = below(&context, "/");
    context.renameat(At::Cwd, "/g", At::Cwd, "/d", RenameFlags::EXCHANGE).unwrap();
    assert_eq!(all(&events), ["Renamed(\"g\", \"d\", Regular, 0)", "Renamed(\"d\", \"g\", Directory, 1)"]);
    context.mkdir("/g/e/new", 0o755).unwrap();
    context.renameat(At::Cwd, "/g", At::Cwd, "/moved", RenameFlags::empty()).unwrap();
    context.rmdir("/moved/e/new").unwrap();
    assert_eq!(
        all(&events),
        ["Created(\"g/e/new\", Directory)", "Renamed(\"g\", \"moved\", Directory, 2)", "Removed(\"moved/e/new\", Directory)"]
    );
    // Two names of one node: nothing is moved.
    context.link("/d", "/d2").unwrap();
    all(&events);
    context.renameat(At::Cwd, "/d", At::Cwd, "/d2", RenameFlags::empty()).unwrap();
    assert_eq!(all(&events), [""; 0]);
}

#[test]
fn a_full_queue_has_one_mark_for_all_that_is_lost() {
    let (_, context) = world();
    let events = context.vfs().subscribe(context.root(), 3).unwrap();
    (0..10).for_each(|n| context.mkdir(format!("/{n}"), 0o755).unwrap());
    let created = |n: u32| format!("Created(\"{n}\", Directory)");
    assert_eq!(all(&events), [created(0), created(1), created(2), "Overflow".into()]);
    context.mkdir("/10", 0o755).unwrap();
    assert_eq!(all(&events), [created(10)]);
    // Equal events in a row are one.
    let file = context.open("/g", OpenFlags::WRITE).unwrap();
    (0..10).for_each(|_| assert_eq!(file.write(b"x"), Ok(1)));
    assert_eq!(all(&events), ["Content(\"g\")"]);
}

#[test]
fn what_is_reported_is_told() {
    let (fs, context) = world();
    let (events, of_e, vfs) = (below(&context, "/d"), below(&context, "/d/e"), context.vfs());
    let told = || (all(&events), all(&of_e));
    let invalidated = |path: &str, what| vec![format!("{:?}", Event::Invalidated { path: path.as_bytes().into(), what })];
    let d = context.lookup("/d").unwrap();
    vfs.invalidate(&d, Name::new(b"f").unwrap()).unwrap();
    assert_eq!(told(), (invalidated("f", Invalidated::Name), vec![]));
    vfs.invalidate_path(context.root(), "d/e/absent").unwrap();
    assert_eq!(told(), (invalidated("e/absent", Invalidated::Name), invalidated("absent", Invalidated::Name)));
    vfs.invalidate_subtree(&d).unwrap();
    assert_eq!(told(), (invalidated("", Invalidated::Below), invalidated("", Invalidated::Below)), "one is below the other");
    vfs.invalidate_attributes(&d).unwrap();
    assert_eq!(told(), (invalidated("", Invalidated::Node), vec![]));
    vfs.invalidate_key(context.root(), fs.key("/d/e").unwrap()).unwrap();
    let (of_d, of_itself) = told();
    assert_eq!(of_d, [invalidated("e", Invalidated::Node), invalidated("e", Invalidated::Names)].concat());
    assert_eq!(of_itself, [invalidated("", Invalidated::Node), invalidated("", Invalidated::Names)].concat());
    // A key that is not cached, so no path is known.
    fs.file("/d/other", 0o644).unwrap();
    vfs.invalidate_key(context.root(), fs.key("/d/other").unwrap()).unwrap();
    assert_eq!(told(), (invalidated("", Invalidated::Below), invalidated("", Invalidated::Below)));
    vfs.invalidate_file_system(context.root()).unwrap();
    assert_eq!(told(), (invalidated("", Invalidated::Below), invalidated("", Invalidated::Below)));
}

#[test]
fn waits_are_woken_and_cancelled() {
    let (_, context) = world();
    let events = below(&context, "/");
    let cancellation = Cancellation::new();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| events.next());
        context.mkdir("/new", 0o755).unwrap();
        assert_eq!(waiter.join().unwrap(), Ok(Event::Created { path: b"new"[..].into(), kind: FileType::Directory }));
        let waiter = scope.spawn(|| cancellation.during(|| events.next()));
        cancellation.cancel();
        assert_eq!(waiter.join().unwrap(), Err(Errno::ECANCELED));
    });
    let other = world().1;
    assert_eq!(context.vfs().subscribe(other.root(), 1).err(), Some(Errno::EBADF));
    let file = context.lookup("/g").unwrap();
    assert_eq!(context.vfs().subscribe(&file, 1).err(), Some(Errno::ENOTDIR));
    assert_eq!(format!("{events:?}"), "Subscription { directory: Handle(\"/\"), .. }");
    drop(events);
    context.mkdir("/after", 0o755).unwrap();
}
