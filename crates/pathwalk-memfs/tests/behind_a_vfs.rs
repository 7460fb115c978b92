//! Behind a `Vfs`: however the nodes present themselves the answers are the same, the file system is asked as often as its promises
//! say, and all that was handed out is forgotten.

use std::error::Error;

use pathwalk::{Access, AclState, Credentials, Errno, Freshness, PermissionRule, RenameFlags, Vfs};
use pathwalk_memfs::{Calls, LinkBodies, LinkSizes, MemFs, Options};

/// A tree with a link in the middle, one that leads nowhere, and a file that not everyone may read.
fn tree(options: Options) -> Result<MemFs, pathwalk_memfs::Error> {
    let fs = MemFs::with(options);
    fs.mkdir_all("a/b", 0o755)?;
    fs.file("a/b/f", 0o644)?;
    fs.file("a/b/secret", 0o600)?;
    fs.symlink("l", "a/b")?;
    fs.symlink("dangling", "/no/where")?;
    Ok(fs)
}

type Answers = Vec<Result<(), Errno>>;

/// Asks twice, and returns the answers with the calls that the second time took.
fn ask(fs: &MemFs) -> Result<(Answers, Calls), Box<dyn Error>> {
    const PATHS: [&str; 6] = ["/a/b/f", "/l/f", "/l/secret", "/dangling", "/l/../b/no", "/a/b/f/x"];
    let vfs = Vfs::builder().budget(1 << 20).build(fs.clone())?;
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
    let vfs = Vfs::builder().build(fs.clone())?;
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
