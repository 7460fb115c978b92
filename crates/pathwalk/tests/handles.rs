//! File handles and reopening: rows that Linux 6.18 gave on a tmpfs and on ext4, ways that are
//! found again, and what no handle leads to.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pathwalk::{
    At, AtFlags, Attributes, Capabilities, Context, Credentials, Directory, Errno, FileHandle, FileSystem, FileType, FoundName,
    Handle, HandleFlags, LinkFlags, Name, Node, NodeKey, OpenFlags, OpenHow, Recursion, RenameFlags, Resolve, Vfs,
};
use pathwalk_memfs::MemFs;

type Test = Result<(), Box<dyn Error>>;

const READ: OpenFlags = OpenFlags::READ;
const PATH: OpenFlags = OpenFlags::PATH;
const CREATE: OpenFlags = OpenFlags::CREATE;
const RDWR: OpenFlags = OpenFlags::READ.union(OpenFlags::WRITE);

fn root_of(fs: &MemFs) -> Result<Context, Box<dyn Error>> {
    Ok(Vfs::builder().budget(1 << 20).build(fs.alias())?.context(Credentials::root()))
}

fn handle(context: &Context, path: &str) -> Result<FileHandle, Errno> {
    context.name_to_handle(path, HandleFlags::empty()).map(|(handle, _)| handle)
}

/// Returns the path of a handle's node in the mount of the root.
fn path(context: &Context, handle: &FileHandle) -> Result<String, Errno> {
    Ok(String::from_utf8(context.lookup_by_handle(context.root(), handle)?.path()?).unwrap())
}

/// Makes the tree of the rows: `/f`, a link `/l` to it, and `/d/e/g`.
fn tree() -> Result<(MemFs, Context), Box<dyn Error>> {
    let fs = MemFs::new();
    let context = root_of(&fs)?;
    context.create_dir_all("/d/e")?;
    context.mkdir("/dd", 0o755)?;
    for file in ["/f", "/d/e/g"] {
        context.write(file, "")?;
    }
    context.symlink("f", "/l")?;
    Ok((fs, context))
}

#[test]
fn the_kernel_names_nodes_so() -> Test {
    let (_, context) = tree()?;
    let none = HandleFlags::empty();
    let (of_file, of_link) = (handle(&context, "/f")?, handle(&context, "/l")?);
    assert_ne!(of_file, of_link);
    assert_eq!(context.name_to_handle("/l", HandleFlags::SYMLINK_FOLLOW)?.0, of_file);
    assert_eq!(context.name_to_handle("", none), Err(Errno::ENOENT));
    let f = context.lookup("/f")?;
    assert_eq!(context.name_to_handle_at(&f, "", HandleFlags::EMPTY_PATH)?.0, of_file);
    assert_eq!(context.name_to_handle("/l", HandleFlags::from_bits_retain(0x100)), Err(Errno::EINVAL));
    assert_eq!(context.name_to_handle("/none", none), Err(Errno::ENOENT));
    context.chmod("/d", 0o700)?;
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    assert_eq!(user.name_to_handle("/f", none)?.0, of_file);
    assert_eq!(user.name_to_handle("/d/e/g", none), Err(Errno::EACCES));
    Ok(())
}

#[test]
fn the_kernel_opens_handles_so() -> Test {
    let (_, context) = tree()?;
    let [f, d, l] = [handle(&context, "/f")?, handle(&context, "/d")?, handle(&context, "/l")?];
    let [write, dir, nofollow, excl] = [OpenFlags::WRITE, OpenFlags::DIRECTORY, OpenFlags::NOFOLLOW, OpenFlags::EXCLUSIVE];
    let tmpfile = RDWR | OpenFlags::TMPFILE;
    let open = |handle: &FileHandle, flags| context.open_by_handle(context.root(), handle, flags).map(drop);
    let rows = [
        (&f, READ, Ok(())),
        (&l, READ, Err(Errno::ELOOP)),
        (&l, READ | dir, Err(Errno::ELOOP)),
        (&l, PATH, Ok(())),
        (&l, PATH | nofollow, Ok(())),
        (&f, READ | nofollow, Ok(())),
        (&f, READ | dir, Err(Errno::ENOTDIR)),
        (&d, write, Err(Errno::EISDIR)),
        (&f, RDWR | CREATE, Ok(())),
        (&f, RDWR | CREATE | excl, Err(Errno::EEXIST)),
        (&d, READ | CREATE, Err(Errno::EISDIR)),
        (&d, tmpfile, Ok(())),
        (&f, tmpfile, Err(Errno::ENOTDIR)),
        (&f, PATH, Ok(())),
        (&f, READ | excl, Ok(())),
    ];
    for (handle, flags, answer) in rows {
        assert_eq!(open(handle, flags), answer, "{flags:?}");
    }
    let other = |kind, bytes: &[u8]| open(&FileHandle::new(kind, bytes).unwrap(), READ);
    assert_eq!(other(1, &[]), Err(Errno::EINVAL));
    assert_eq!(FileHandle::new(1, &[0; 129]), Err(Errno::EINVAL));
    assert_eq!(FileHandle::from_bytes(&[0; 3]), Err(Errno::EINVAL));
    assert_eq!(FileHandle::from_bytes(&[0; 133]), Err(Errno::EINVAL));
    assert_eq!(other(1, &f.bytes()[..4]), Err(Errno::ESTALE));
    assert_eq!(other(-1, f.bytes()), Err(Errno::EINVAL));
    assert_eq!(other(0x10_0001, f.bytes()), Err(Errno::EINVAL));
    assert_eq!(other(77, f.bytes()), Err(Errno::ESTALE), "as on ext4; a tmpfs does not look at the kind");

    // The order of the errors: the form of the handle, the mount, the capability.
    let (elsewhere, bad) = (root_of(&MemFs::new())?, FileHandle::new(-1, &[1])?);
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    let by_user = |mount: &Handle, handle| user.open_by_handle(mount, handle, READ).map(drop);
    assert_eq!(by_user(elsewhere.root(), &bad), Err(Errno::EINVAL));
    assert_eq!(by_user(elsewhere.root(), &f), Err(Errno::EBADF));
    assert_eq!(by_user(context.root(), &f), Err(Errno::EPERM));
    let reader = Credentials::user(7, 7, &[]).with_capabilities(Capabilities::DAC_READ_SEARCH);
    let reader = context.clone().with_credentials(reader);
    assert!(reader.open_by_handle(&context.lookup("/f")?, &f, READ).is_ok());
    assert_eq!(reader.open_by_handle(context.root(), &f, write).unwrap_err(), Errno::EACCES);
    Ok(())
}

#[test]
fn the_kernel_connects_handles_so() -> Test {
    let (_, context) = tree()?;
    context.write("/dd/g", "")?;
    let [connect, fid, empty] = [HandleFlags::CONNECTABLE, HandleFlags::FID, HandleFlags::EMPTY_PATH];
    for flags in [connect | fid, connect | empty] {
        assert_eq!(context.name_to_handle("/none", flags), Err(Errno::EINVAL), "before the path");
    }
    let of = |path: &str, flags| context.name_to_handle(path, flags).map(|(handle, _)| handle);
    assert_eq!(of("/f", fid)?, of("/f", HandleFlags::empty())?);
    let kinds = ["/d/e/g", "/d", "/l"].map(|path| of(path, connect).unwrap().kind() >> 16);
    assert_eq!(kinds, [1, 3, 1], "of a directory, a flag of its own");
    assert_eq!(of("/l", connect | HandleFlags::SYMLINK_FOLLOW)?, of("/f", connect)?);

    // It leads below the node that it is opened with alone.
    let open = |from: &str, handle: &FileHandle| {
        let from = context.lookup(from).unwrap();
        context.open_by_handle(&from, handle, PATH).map(drop)
    };
    let (g, d) = (of("/d/e/g", connect)?, of("/d", connect)?);
    let stale = Err(Errno::ESTALE);
    let rows = [
        ("/", Ok(()), Ok(())),
        ("/d", Ok(()), Ok(())),
        ("/d/e", Ok(()), stale),
        ("/d/e/g", Ok(()), stale),
        ("/dd", stale, stale),
        ("/dd/g", stale, stale),
    ];
    for (from, of_g, of_d) in rows {
        assert_eq!((open(from, &g), open(from, &d)), (of_g, of_d), "{from}");
        assert_eq!(open(from, &of("/d/e/g", HandleFlags::empty())?), Ok(()), "{from}");
    }

    // The flags are taken with any handle.
    let (plain, plain_d) = (of("/d/e/g", HandleFlags::empty())?, of("/d", HandleFlags::empty())?);
    let with = |handle: &FileHandle, flags| FileHandle::new(handle.kind() | flags, handle.bytes()).unwrap();
    assert_eq!((open("/", &with(&plain, 0x1_0000)), open("/dd", &with(&plain, 0x1_0000))), (Ok(()), stale));
    assert_eq!((open("/", &with(&plain, 0x2_0000)), open("/", &with(&plain_d, 0x2_0000))), (stale, Ok(())));
    assert_eq!((open("/", &with(&plain, 0x3_0000)), open("/", &with(&plain, 0x4_0000))), (stale, Err(Errno::EINVAL)));

    // A node without a name is where it was.
    let (held_g, held_e) = (context.open("/d/e/g", READ)?, context.lookup("/d/e")?);
    let e = of("/d/e", connect)?;
    context.unlink("/d/e/g")?;
    assert_eq!((open("/d", &g), open("/dd", &g)), (Ok(()), stale));
    context.rmdir("/d/e")?;
    assert_eq!((open("/d", &e), open("/dd", &e)), (Ok(()), stale));
    drop((held_g, held_e));
    assert_eq!((open("/", &g), open("/", &e)), (stale, stale));
    Ok(())
}

#[test]
fn a_handle_lives_as_long_as_its_node() -> Test {
    let (fs, context) = tree()?;
    let [f, e, g] = [handle(&context, "/f")?, handle(&context, "/d/e")?, handle(&context, "/d/e/g")?];
    context.rename("/d", "/dd/n")?;
    assert_eq!((path(&context, &e)?, path(&context, &g)?), ("/dd/n/e".into(), "/dd/n/e/g".into()));

    // A file without names lives as long as it is open, and gets no name back.
    let open = context.open("/f", READ)?;
    context.unlink("/f")?;
    let again = context.open_by_handle(context.root(), &f, RDWR)?;
    assert_eq!(again.handle().path(), Err(Errno::ENOENT));
    let link = || context.linkat(again.handle(), "", At::Cwd, "/again", LinkFlags::EMPTY_PATH);
    assert_eq!(link(), Err(Errno::ENOENT));
    drop((open, again));
    context.write("/f", "another file, with the number of the first")?;
    assert_eq!(path(&context, &f), Err(Errno::ESTALE));
    assert_ne!(handle(&context, "/f")?, f);

    // So does a removed directory.
    let held = context.lookup("/dd/n/e")?;
    context.unlink("/dd/n/e/g")?;
    context.rmdir("/dd/n/e")?;
    assert_eq!(path(&context, &g), Err(Errno::ESTALE));
    assert_eq!(context.lookup_by_handle(context.root(), &e)?.path(), Err(Errno::ENOENT));
    drop(held);
    context.mkdir("/dd/n/e", 0o755)?;
    context.lookup("/dd/n/e")?;
    drop(context);
    assert_eq!((fs.usage().held, fs.calls().stray_forget), (0, 0));
    Ok(())
}

#[test]
fn ways_are_found_again_after_a_restart() -> Test {
    let fs = MemFs::new();
    let before = root_of(&fs)?;
    before.create_dir_all("/a/b/c/d")?;
    before.write("/a/b/c/d/file", "data")?;
    before.symlink("nowhere", "/a/b/link")?;
    let [d, file, link] = [handle(&before, "/a/b/c/d")?, handle(&before, "/a/b/c/d/file")?, handle(&before, "/a/b/link")?];
    let root = handle(&before, "/")?;
    drop(before);

    let after = root_of(&fs)?;
    let counted = fs.calls();
    assert_eq!(path(&after, &d)?, "/a/b/c/d");
    let calls = fs.calls().since(&counted);
    assert_eq!((calls.find_name, calls.lookup), (4, 4), "one of each for each directory");
    // `..` and the protection against moves below oneself hold.
    let place = after.lookup_by_handle(after.root(), &d)?;
    assert_eq!(after.lookup_at(&place, "../..", AtFlags::empty())?.path()?, b"/a/b");
    let move_below = after.renameat(after.root(), "a", &place, "a", RenameFlags::empty());
    assert_eq!(move_below, Err(Errno::EINVAL));
    assert_eq!(path(&after, &root)?, "/");
    assert_eq!(path(&after, &link)?, "/a/b/link");

    // A file that only another name is left of, where the file system does not look for it.
    after.link("/a/b/c/d/file", "/a/other")?;
    after.unlink("/a/other")?;
    drop(after);
    let after = root_of(&fs)?;
    let opened = after.open_by_handle(after.root(), &file, RDWR)?;
    assert_eq!((opened.handle().path(), opened.handle().attributes()?.nlink), (Err(Errno::ENOENT), 1));
    after.linkat(opened.handle(), "", At::Cwd, "/third", LinkFlags::EMPTY_PATH)?;
    assert_eq!((after.read("/third")?, after.stat("/a/b/c/d/file")?.nlink), (b"data".to_vec(), 2));
    drop((opened, place));
    drop(after);
    assert_eq!((fs.usage().held, fs.calls().stray_forget), (0, 0));
    Ok(())
}

#[test]
fn a_directory_that_moved_behind_the_engine_is_found() -> Test {
    let fs = MemFs::new();
    fs.mkdir_all("/a/b/c", 0o755)?;
    fs.mkdir_all("/x", 0o755)?;
    let context = root_of(&fs)?;
    let c = handle(&context, "/a/b/c")?;
    let other = root_of(&fs)?;
    other.rename("/a/b", "/x/b")?;
    context.vfs().invalidate_subtree(context.root())?;
    assert_eq!(path(&context, &c)?, "/x/b/c");
    Ok(())
}

/// Checks a node of two names that are both cached: its handle leads to one of them.
#[test]
fn a_node_of_two_names_is_found_at_one() -> Test {
    let (_, context) = tree()?;
    context.link("/f", "/d/other")?;
    let f = handle(&context, "/f")?;
    assert!(["/f", "/d/other"].contains(&&*path(&context, &f)?));
    assert_eq!(handle(&context, "/d/other")?, f);
    Ok(())
}

/// Checks nodes that lost their last names behind the engine, and are held: a file has no path any
/// more, and a directory is gone.
#[test]
fn a_node_whose_name_went_behind_the_engine_has_none() -> Test {
    let (fs, context) = tree()?;
    let [f, dd] = [handle(&context, "/f")?, handle(&context, "/dd")?];
    let held = (context.lookup("/f")?, context.lookup("/dd")?);
    let behind = root_of(&fs)?;
    behind.unlink("/f")?;
    behind.rmdir("/dd")?;
    context.vfs().invalidate_subtree(context.root())?;
    assert_eq!(context.lookup_by_handle(context.root(), &f)?.path(), Err(Errno::ENOENT));
    assert_eq!(context.lookup_by_handle(context.root(), &dd).unwrap_err(), Errno::ESTALE);
    drop(held);
    Ok(())
}

#[test]
fn no_handle_leads_out() -> Test {
    let fs = MemFs::new();
    let context = root_of(&fs)?;
    context.create_dir_all("/jail/in")?;
    context.create_dir_all("/out")?;
    context.create_dir_all("/jail/covered/below")?;
    context.create_dir_all("/at")?;
    for file in ["/out/file", "/jail/in/file", "/jail/covered/below/file"] {
        context.write(file, "")?;
    }
    let [inside, outside] = [handle(&context, "/jail/in/file")?, handle(&context, "/out/file")?];
    let [below, up] = [handle(&context, "/jail/covered/below")?, handle(&context, "/")?];
    let jail = context.confined(&context.lookup("/jail")?)?;
    assert_eq!(path(&jail, &inside)?, "/jail/in/file");
    assert_eq!((path(&jail, &outside), path(&jail, &up)), (Err(Errno::ESTALE), Err(Errno::ESTALE)));
    assert_eq!(jail.lookup_by_handle(context.root(), &inside).unwrap_err(), Errno::EXDEV);
    assert_eq!(jail.reopen(&context.lookup("/out")?, READ).unwrap_err(), Errno::EXDEV);

    // A mount hides what it covers from a confined context.
    assert_eq!(path(&jail, &below)?, "/jail/covered/below");
    context.bind("/out", "/jail/covered", Recursion::Alone)?;
    assert_eq!(path(&jail, &below), Err(Errno::ESTALE));

    // A mount of a part of the file system shows that part.
    context.bind("/jail/in", "/at", Recursion::Alone)?;
    let at = context.lookup("/at")?;
    assert_eq!(context.lookup_by_handle(&at, &inside)?.path()?, b"/at/file");
    assert_eq!(context.lookup_by_handle(&at, &outside).unwrap_err(), Errno::ESTALE);

    let beneath = context.clone().with_resolve(Resolve::BENEATH)?;
    let from = context.lookup("/out")?;
    assert_eq!(beneath.lookup_by_handle(&from, &outside)?.path()?, b"/out/file");
    assert_eq!(beneath.lookup_by_handle(&from, &inside).unwrap_err(), Errno::ESTALE);
    Ok(())
}

/// Checks a way of more names than are walked up between two looks at moves.
#[test]
fn a_deep_node_is_below_a_mount() -> Test {
    let fs = MemFs::new();
    let context = root_of(&fs)?;
    let mut deepest = "/top".to_owned();
    for depth in 0..600 {
        context.create_dir_all(&deepest)?;
        if matches!(depth, 255..259 | 511..515) {
            context.write(format!("{deepest}/{depth}"), "")?;
        }
        deepest += "/d";
    }
    context.create_dir_all("/at")?;
    context.bind("/top", "/at", Recursion::Alone)?;
    let at = context.lookup("/at")?;
    for depth in (255..259).chain(511..515) {
        let below = format!("{}/{depth}", "/d".repeat(depth));
        let found = context.lookup_by_handle(&at, &handle(&context, &format!("/top{below}"))?)?;
        assert_eq!(found.path()?, format!("/at{below}").as_bytes());
    }
    Ok(())
}

#[test]
fn ways_are_right_beside_moves() -> Test {
    let fs = MemFs::new();
    fs.mkdir_all("/a/b/c/d", 0o755)?;
    fs.mkdir_all("/z", 0o755)?;
    let context = root_of(&fs)?;
    let d = handle(&context, "/a/b/c/d")?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [("/a/b", "/z/b"), ("/z/b/c", "/a/c"), ("/a/c", "/z/b/c"), ("/z/b", "/a/b")] {
                    context.rename(from, to).unwrap();
                }
            }
        });
        for round in 0..2_000 {
            // A cold cache each time, behind which the other one moves directories.
            let cold = (round % 8 == 0).then(|| root_of(&fs).unwrap());
            let context = cold.as_ref().unwrap_or(&context);
            match path(context, &d) {
                Ok(path) => assert!(["/a/b/c/d", "/z/b/c/d", "/a/c/d"].contains(&&*path), "{path}"),
                Err(errno) => assert!(cold.is_some(), "{errno:?}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    Ok(())
}

#[test]
fn the_kernel_reopens_so() -> Test {
    let (_, context) = tree()?;
    let [f, d, l] = ["/f", "/dd", "/l"].map(|path| context.lookup_at(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW).unwrap());
    let [dir, nofollow, excl] = [OpenFlags::DIRECTORY, OpenFlags::NOFOLLOW, OpenFlags::EXCLUSIVE];
    let tmpfile = RDWR | OpenFlags::TMPFILE;
    let rows = [
        (&f, RDWR, Ok(())),
        (&f, RDWR | CREATE | excl, Err(Errno::EEXIST)),
        (&f, RDWR | CREATE, Ok(())),
        (&f, READ | nofollow, Err(Errno::ELOOP)),
        (&f, READ | dir, Err(Errno::ENOTDIR)),
        (&f, RDWR | OpenFlags::TRUNCATE, Ok(())),
        (&f, PATH, Ok(())),
        (&f, tmpfile, Err(Errno::ENOTDIR)),
        (&d, tmpfile, Ok(())),
        (&d, READ | CREATE, Err(Errno::EISDIR)),
        (&d, OpenFlags::WRITE, Err(Errno::EISDIR)),
        (&d, READ | dir, Ok(())),
        (&d, READ | CREATE | excl, Err(Errno::EEXIST)),
        (&l, READ, Err(Errno::ELOOP)),
        (&l, PATH, Ok(())),
        (&l, RDWR | CREATE, Err(Errno::ELOOP)),
        (&l, RDWR | CREATE | excl, Err(Errno::EEXIST)),
        (&l, READ | dir, Err(Errno::ENOTDIR)),
        (&l, PATH | dir, Err(Errno::ENOTDIR)),
    ];
    for (node, flags, answer) in rows {
        assert_eq!(context.reopen(node, flags).map(drop), answer, "{node:?} {flags:?}");
    }
    context.unlink("/f")?;
    assert!(context.reopen(&f, RDWR).is_ok() && context.reopen(&f, RDWR | CREATE).is_ok());
    let how = OpenHow { resolve: Resolve::BENEATH, ..READ.into() };
    assert_eq!(context.reopen(&f, how).unwrap_err(), Errno::EINVAL);

    // The rights to the way do not count, those to the file do.
    context.mkdir("/closed", 0o700)?;
    context.write("/closed/h", "")?;
    let h = context.lookup("/closed/h")?;
    let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
    assert!(user.reopen(&h, READ).is_ok());
    assert_eq!(user.reopen(&h, RDWR).unwrap_err(), Errno::EACCES);
    Ok(())
}

/// A root with the directories `x` and `y`, whose own answers about names are wrong.
struct Wrong {
    asked: AtomicUsize,
    names: fn(usize) -> (u128, &'static [u8]),
}

fn node(number: u128) -> Node {
    Node::new(NodeKey(number), Attributes::new(FileType::Directory, 0o755).with_ino(number as u64))
}

impl FileSystem for Wrong {
    fn root(&self) -> Result<Node, Errno> {
        Ok(node(1))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(match (dir.key().0, name.bytes()) {
            (1, b"x") => Some(node(2)),
            (1, b"y") => Some(node(3)),
            _ => None,
        })
    }

    fn attributes(&self, key: NodeKey) -> Result<Attributes, Errno> {
        Ok(node(key.0).attributes)
    }

    fn decode_handle(&self, handle: &FileHandle, _near: NodeKey) -> Result<Node, Errno> {
        Ok(node(u128::from(handle.bytes()[0])))
    }

    fn find_name(&self, _: NodeKey) -> Result<FoundName, Errno> {
        let (dir, name) = (self.names)(self.asked.fetch_add(1, Ordering::Relaxed));
        Ok(FoundName { dir: node(dir), name: name.into() })
    }
}

/// Returns the path of the node 3.
fn path_if(names: fn(usize) -> (u128, &'static [u8])) -> Result<String, Box<dyn Error>> {
    let context = Vfs::builder().build(Wrong { asked: AtomicUsize::new(0), names })?.context(Credentials::root());
    assert_eq!(context.name_to_handle("/x", HandleFlags::empty()), Err(Errno::EOPNOTSUPP));
    assert_eq!(context.name_to_handle("/x", HandleFlags::CONNECTABLE), Err(Errno::EOPNOTSUPP));
    Ok(path(&context, &FileHandle::new(1, &[3])?)?)
}

#[test]
fn a_name_that_leads_to_another_node_is_not_taken() -> Test {
    // As if both names were exchanged between the two questions.
    assert_eq!(path_if(|asked| if asked == 0 { (1, b"x") } else { (1, b"y") })?, "/y");
    assert_eq!(path_if(|asked| if asked == 0 { (1, b"gone") } else { (1, b"y") })?, "/y");
    let fails = |names| path_if(names).unwrap_err().downcast::<Errno>().map(|errno| *errno);
    assert_eq!(fails(|_| (1, b"x")).unwrap(), Errno::ESTALE);
    assert_eq!(fails(|_| (3, b"y")).unwrap(), Errno::ESTALE, "a circle");
    for name in [b"..", b"", b"x/"] as [&'static [u8]; 3] {
        let names: fn(usize) -> (u128, &'static [u8]) = match name {
            b".." => |_| (1, b".."),
            b"" => |_| (1, b""),
            _ => |_| (1, b"x/"),
        };
        assert!(fails(names).is_ok(), "{name:?}");
    }
    Ok(())
}

#[test]
fn a_file_system_without_handles_has_none() -> Test {
    struct Plain;
    impl FileSystem for Plain {
        fn root(&self) -> Result<Node, Errno> {
            Ok(node(1))
        }
        fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
            Ok(None)
        }
        fn attributes(&self, key: NodeKey) -> Result<Attributes, Errno> {
            Ok(node(key.0).attributes)
        }
    }
    let context = Vfs::builder().build(Plain)?.context(Credentials::root());
    assert_eq!(handle(&context, "/"), Err(Errno::EOPNOTSUPP));
    assert_eq!(context.name_to_handle("/", HandleFlags::CONNECTABLE), Err(Errno::EOPNOTSUPP));
    // Only an identity, which leads nowhere.
    let (identity, _) = context.name_to_handle("/", HandleFlags::FID)?;
    assert_eq!(identity, FileHandle::new(0x81, &1_u128.to_be_bytes())?);
    assert_eq!(path(&context, &identity), Err(Errno::ESTALE));
    assert_eq!(path(&context, &FileHandle::new(1, &[1])?), Err(Errno::ESTALE));
    Ok(())
}
