//! Tests behind a `Vfs`: however the nodes present themselves, the answers are the same, the number
//! of calls matches the file system's promises, and every node that was handed out is forgotten.

use std::error::Error;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use pathwalk::{
    Access, AclState, Capabilities, Credentials, Errno, Freshness, OpenFlags, PermissionRule, RenameFlags, SetTime, StatxFlags,
    Timestamp, Vfs,
};
use pathwalk_memfs::{Calls, LinkBodies, LinkSizes, MemFs, Options};

/// Returns a tree with a link in the middle, a dangling link, and a file that some users may not
/// read.
fn tree(options: Options) -> Result<MemFs, pathwalk_memfs::Error> {
    let fs = MemFs::with(options);
    fs.mkdir_all("a/b", 0o755)?;
    fs.file("a/b/f", 0o644)?;
    fs.file("a/b/secret", 0o600)?;
    fs.symlink("a/b", "l")?;
    fs.symlink("/no/where", "dangling")?;
    Ok(fs)
}

type Answers = Vec<Result<(), Errno>>;

/// Makes all calls twice. Returns the answers, and the file system's calls of the second time.
fn ask(fs: &MemFs) -> Result<(Answers, Calls), Box<dyn Error>> {
    const PATHS: [&str; 6] = ["/a/b/f", "/l/f", "/l/secret", "/dangling", "/l/../b/no", "/a/b/f/x"];
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias())?;
    let context = vfs.context(Credentials::user(5, 5, &[]));
    let all = || -> Answers { PATHS.iter().map(|path| context.access(path, Access::READ)).collect() };
    let first = all();
    let before = fs.calls();
    assert_eq!(all(), first);
    Ok((first, fs.calls().since(&before)))
}

#[test]
fn answers_do_not_depend_on_the_presentation() -> Result<(), Box<dyn Error>> {
    use Errno as E;
    let expected = [Ok(()), Ok(()), Err(E::EACCES), Err(E::ENOENT), Err(E::ENOENT), Err(E::ENOTDIR)];
    let plain = Options::default;
    let no_bodies = plain().link_bodies(LinkBodies::OnRequest).link_sizes(LinkSizes::Zero);
    let doubtful = plain().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime);
    for (options, asked_again) in [
        (plain(), [false; 3]),
        (no_bodies, [true, false, false]),
        (plain().permission_rule(PermissionRule::Own), [false, true, false]),
        (plain().permission_rule(PermissionRule::OwnButGenericSearch), [false, true, false]),
        (plain().acl(AclState::Unknown), [false; 3]),
        (plain().acl(AclState::Present), [false, true, false]),
        (doubtful, [false, false, true]),
    ] {
        let fs = tree(options.clone())?;
        let (answers, again) = ask(&fs)?;
        assert_eq!(answers, expected, "{options:?}");
        let asked = [again.read_link, again.permission, again.revalidate];
        assert_eq!(asked.map(|calls| calls > 0), asked_again, "{options:?}: {again:?}");
        assert_eq!(asked.iter().sum::<u64>(), again.total(), "{options:?}: {again:?}");
        assert_eq!((fs.usage().held, fs.calls().stray_forget), (0, 0), "{options:?}");
    }
    Ok(())
}

#[test]
fn a_vfs_that_asks_each_time_sees_what_is_done_behind_its_back() -> Result<(), Box<dyn Error>> {
    let fs = tree(Options::default().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime))?;
    let vfs = Vfs::builder().build(fs.alias())?;
    let context = vfs.context(Credentials::root());
    let number = |path: &str| context.stat(path).map(|found| found.ino);
    let (secret, file) = (number("/l/secret")?, number("/l/f")?);
    assert_eq!(number("/l/new"), Err(Errno::ENOENT));
    fs.rename("a/b/f", "a/b/new")?;
    assert_eq!((number("/l/f"), number("/l/new")), (Err(Errno::ENOENT), Ok(file)));
    fs.rename_with("a/b/new", "a/b/secret", RenameFlags::EXCHANGE)?;
    assert_eq!((number("/l/secret"), number("/l/new")), (Ok(file), Ok(secret)));
    fs.remove("a")?;
    assert_eq!(number("/l/new"), Err(Errno::ENOENT));
    drop((context, vfs));
    assert_eq!((fs.usage().held, fs.usage().unlinked, fs.calls().stray_forget), (0, 0, 0));
    Ok(())
}

/// Checks that `SetTime::Now` is the file system's time, as all its other times are.
#[test]
fn all_times_are_of_one_clock() -> Result<(), Box<dyn Error>> {
    let clock = Arc::new(AtomicI64::new(5));
    let read = Arc::clone(&clock);
    let now = move || Timestamp { seconds: read.load(Relaxed), nanoseconds: 7 };
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::with(Options::default().clock(now)))?;
    let context = vfs.context(Credentials::root());
    let at = |seconds| Timestamp { seconds, nanoseconds: 7 };
    context.mkdir("/d", 0o755)?;
    clock.store(6, Relaxed);
    context.utimes("/d", SetTime::Keep, SetTime::Now)?;
    let found = context.stat("/d")?;
    assert_eq!((found.btime, found.atime, found.mtime, found.ctime), (Some(at(5)), at(5), at(6), at(6)));
    Ok(())
}

/// Checks that a write clears set-id bits by the rights of the writer, if the writer is given.
#[test]
fn set_id_bits_go_by_the_rights_of_the_writer() -> Result<(), Box<dyn Error>> {
    let vfs = Vfs::builder().budget(1 << 20).build(MemFs::new())?;
    let (root, user) = (Credentials::root(), Credentials::user(5, 5, &[]));
    let context = vfs.context(root.clone());
    let fsetid = user.clone().with_capabilities(Capabilities::FSETID);
    let how = OpenFlags::CREATE | OpenFlags::WRITE;
    let rows =
        [(&root, &user, 0o777), (&root, &root, 0o6777), (&user, &root, 0o6777), (&user, &fsetid, 0o6777), (&user, &user, 0o777)];
    for (index, (opener, writer, mode)) in rows.into_iter().enumerate() {
        for write in ["write", "write_at", "set_len"] {
            let path = format!("/{write}{index}");
            drop(context.open(&path, how)?);
            context.chmod(&path, 0o777)?;
            let file = vfs.context(opener.clone()).open(&path, OpenFlags::WRITE)?;
            context.chmod(&path, 0o6777)?;
            match write {
                "write" => _ = file.by(writer).write(b"x")?,
                "write_at" => _ = file.by(writer).write_at(b"x", 9)?,
                _ => file.by(writer).set_len(3)?,
            }
            assert_eq!(context.stat(&path)?.mode, mode, "{path}: {:?}", index);
        }
    }
    Ok(())
}

/// Checks that new nodes inherit the `NODUMP` bit from their directory, as on a tmpfs, and no other
/// bit.
#[test]
fn nodump_is_inherited() -> Result<(), Box<dyn Error>> {
    let fs = MemFs::new();
    fs.mkdir("/d", 0o755)?;
    fs.set_flags("/d", StatxFlags::NODUMP | StatxFlags::APPEND)?;
    let vfs = Vfs::builder().budget(1 << 20).build(fs)?;
    let context = vfs.context(Credentials::root());
    context.mkdir("/d/below", 0o755)?;
    context.symlink("x", "/d/link")?;
    let unnamed = context.open("/d/below", OpenFlags::TMPFILE | OpenFlags::WRITE)?;
    for attributes in [context.stat("/d/below")?, context.lstat("/d/link")?, unnamed.handle().attributes()?] {
        assert_eq!(attributes.flags, StatxFlags::NODUMP);
    }
    Ok(())
}
