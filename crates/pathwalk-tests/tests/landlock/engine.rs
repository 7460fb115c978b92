//! A program by a context.

use pathwalk::landlock::{Landlock, Ruleset};
use pathwalk::{AtFlags, Context, Credentials, Device, Errno, FileType, LinkFlags, NewKind, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;

use super::Outcome;
use super::program::{Answer, DIRECTORIES, FILES, LINK, Program, Step, is_special};

pub(crate) fn run(program: &Program) -> Outcome {
    let vfs = Vfs::builder().security(Landlock).build(MemFs::new()).unwrap();
    let mut context = vfs.context(Credentials::root());
    DIRECTORIES.iter().for_each(|dir| context.mkdir(dir, 0o755).unwrap());
    for file in FILES {
        context.write(file, "data").unwrap();
        context.chmod(file, 0o755).unwrap();
    }
    context.link(LINK.0, LINK.1).unwrap();
    let answers = program.steps.iter().map(|step| answer(&mut context, step)).collect();
    let all = vfs.context(Credentials::root()).walk("/").unwrap();
    let tree = all.map(|entry| {
        let entry = entry.unwrap();
        format!("{} {:?}", entry.path().display().to_string().trim_start_matches('/'), entry.kind())
    });
    let mut tree: Vec<String> = tree.filter(|line| !line.starts_with(' ')).collect();
    tree.sort();
    Outcome { answers, tree }
}

fn answer(context: &mut Context, step: &Step) -> Answer {
    let raw = |errno: Errno| errno.raw();
    if let Step::Open { path, flags } = step {
        // The kernel's opens never wait for the other end of a pipe.
        let path = if flags.contains(OpenFlags::TMPFILE) { path.rsplit_once('/').map_or(".", |(dir, _)| dir) } else { path };
        let is_special = context.lstat(path).is_ok_and(|found| is_special(found.kind));
        if is_special {
            return Ok(None);
        }
        let file = context.open(path, *flags).map_err(raw)?;
        return Ok(flags.contains(OpenFlags::WRITE).then(|| file.set_len(1).map_err(raw)));
    }
    done(context, step).map(|()| None).map_err(raw)
}

fn done(context: &mut Context, step: &Step) -> Result<(), Errno> {
    match step {
        Step::Restrict { handled, rules } => {
            let mut ruleset = Ruleset::new(*handled);
            for (place, rights) in rules {
                let Ok(at) = context.lookup_at(context.root(), place, AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                // The node may have been replaced by one of another type.
                ruleset = ruleset.clone().allow(&at, *rights).unwrap_or(ruleset);
            }
            context.restrict(&ruleset)
        }
        Step::Open { .. } => unreachable!("the caller opens"),
        Step::Mkdir(path) => context.mkdir(path, 0o755),
        Step::Mknod(path, kind) => context.mknod(path, new_kind(*kind), 0o644),
        Step::Symlink(path) => context.symlink("nowhere", path),
        Step::Unlink(path) => context.unlink(path),
        Step::Rmdir(path) => context.rmdir(path),
        Step::Rename(from, to, how) => context.renameat(context.cwd(), from, context.cwd(), to, *how),
        Step::Link(from, to) => context.linkat(context.cwd(), from, context.cwd(), to, LinkFlags::empty()),
        Step::Truncate(path) => context.truncate(path, 2),
        Step::Execute(path) => context.may_execute(path),
    }
}

fn new_kind(kind: FileType) -> NewKind<'static> {
    match kind {
        FileType::Fifo => NewKind::Fifo,
        FileType::Socket => NewKind::Socket,
        FileType::CharDevice => NewKind::CharDevice(Device { major: 0, minor: 0 }),
        _ => NewKind::Regular,
    }
}
