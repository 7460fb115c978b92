//! Random programs by two `Vfs` on one tree: each change goes through one of them, and is reported
//! to the other one by a randomly chosen form of invalidation. After each report, every answer of
//! the two is the same. So it is without reports if the file system is asked each time.
//! `PATHWALK_REPORTS=1000000` for more.

use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Credentials, Errno, File, Freshness, Handle, Name, NodeKey, OpenFlags, RenameFlags,
    Sweep, Vfs, XattrFlags,
};
use pathwalk_memfs::{MemFs, Options};

use crate::world::World;

const NAMES: [&str; 3] = ["a", "b", "a name of more than thirty-two bytes, which takes a side line"];

/// Returns each path of the namespace, three levels deep.
fn paths() -> Vec<String> {
    let mut all = vec![String::from("/")];
    let mut level = vec![String::new()];
    for _ in 0..3 {
        level = level.iter().flat_map(|dir| NAMES.map(|name| format!("{dir}/{name}"))).collect();
        all.extend(level.iter().cloned());
    }
    all
}

fn split(path: &str) -> (&str, &str) {
    let (dir, name) = path.rsplit_once('/').unwrap();
    (if dir.is_empty() { "/" } else { dir }, name)
}

/// How long answers are valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answers {
    /// Until something is reported.
    Reported,
    /// For one use.
    AskedFor,
}

impl Answers {
    fn options(self) -> Options {
        let of = match self {
            Answers::Reported => Freshness::Stable,
            Answers::AskedFor => Freshness::AskEachTime,
        };
        Options::default().freshness(of).absence(of).attributes(of)
    }
}

/// All that is asked about a path.
#[derive(PartialEq, Debug)]
struct Told {
    own: Result<Attributes, Errno>,
    behind_link: Result<u64, Errno>,
    link: Option<Vec<u8>>,
    may: [bool; 2],
    xattr: Result<Vec<u8>, Errno>,
    path: Result<Vec<u8>, Errno>,
}

fn ask(context: &Context, user: &Context, path: &str) -> Told {
    let of_handle = |handle: Result<Handle, Errno>| handle.and_then(|handle| handle.path());
    Told {
        own: context.lstat(path),
        behind_link: context.stat(path).map(|of| of.ino),
        link: context.read_link(path).ok().map(|body| body.into_os_string().into_encoded_bytes()),
        may: [Access::READ, Access::WRITE].map(|want| user.access(path, want).is_ok()),
        xattr: context.getxattr(path, "user.x"),
        path: of_handle(context.lookup_at(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW)),
    }
}

/// A change: what it does, the names that it changes, and the paths of nodes that it may change.
type Change<'a> = (Box<dyn Fn(&Context) -> Result<(), Errno> + 'a>, Vec<String>, Vec<String>);

fn change(paths: &[String]) -> Change<'static> {
    let any = || paths[1 + fastrand::usize(..paths.len() - 1)].clone();
    let (a, b) = (any(), any());
    let mode = [0o600, 0o644, 0o700, 0o755, 0o777][fastrand::usize(..5)];
    let body = ["a", "/b", "../b/a", "nowhere"][fastrand::usize(..4)];
    let (one, both) = (vec![a.clone()], vec![a.clone(), b.clone()]);
    match fastrand::u32(..13) {
        0 | 1 => (Box::new(move |on| on.mkdir(&a, mode)), one.clone(), one),
        2 | 3 => {
            let make = move |on: &Context| on.open(&a, OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE).map(drop);
            (Box::new(make), one.clone(), one)
        }
        4 => (Box::new(move |on| on.symlink(body, &a)), one.clone(), one),
        5 => (Box::new(move |on| on.link(&a, &b)), vec![both[1].clone()], both),
        6 => (Box::new(move |on| on.unlink(&a)), one.clone(), one),
        7 => (Box::new(move |on| on.rmdir(&a)), one.clone(), one),
        8 | 9 => {
            let how =
                [RenameFlags::empty(), RenameFlags::empty(), RenameFlags::EXCHANGE, RenameFlags::NOREPLACE][fastrand::usize(..4)];
            (Box::new(move |on| on.renameat(At::Cwd, &a, At::Cwd, &b, how)), both.clone(), both)
        }
        10 => (Box::new(move |on| on.chmod(&a, mode)), vec![], one),
        11 => {
            let value = [fastrand::u8(..)];
            (Box::new(move |on| on.setxattr(&a, "user.x", value, XattrFlags::empty())), vec![], one)
        }
        _ => {
            let data = vec![b'x'; fastrand::usize(..9)];
            let write =
                move |on: &Context| on.open(&a, OpenFlags::WRITE | OpenFlags::TRUNCATE).and_then(|file| put(&file, &data));
            (Box::new(write), vec![], one)
        }
    }
}

fn put(file: &File, data: &[u8]) -> Result<(), Errno> {
    file.write_at(data, 0).map(drop)
}

/// Reports a change to the side that did not make it.
/// `paths` are those of the names, without links.
fn report(to: &World, names: &[(NodeKey, String)], paths: &[Vec<u8>], nodes: &[NodeKey]) -> u32 {
    let (vfs, root) = (to.context.vfs(), to.context.root());
    let form = fastrand::u32(..9);
    let attributes = || nodes.iter().for_each(|key| to.notifier().invalidate_attributes(*key));
    match form {
        0 | 1 => {
            names.iter().for_each(|(dir, name)| to.notifier().invalidate_name(*dir, Name::new(name.as_bytes()).unwrap()));
            attributes();
        }
        2 => {
            names.iter().for_each(|(dir, _)| to.notifier().invalidate_node(*dir));
            nodes.iter().for_each(|key| to.notifier().invalidate_node(*key));
        }
        3 => to.notifier().invalidate_subtree(to.behind.key("/").unwrap()),
        4 => to.notifier().invalidate_all(),
        5 => {
            paths.iter().for_each(|path| vfs.invalidate_path(root, path).unwrap());
            nodes.iter().for_each(|key| vfs.invalidate_key(root, *key).unwrap());
        }
        6 => vfs.invalidate_file_system(root).unwrap(),
        // A node's link body stays as long as the node.
        7 => to.notifier().invalidate_all_of(Sweep::all()),
        _ => vfs.invalidate_subtree(root).unwrap(),
    }
    form
}

#[test]
fn whatever_is_reported_in_whatever_form() {
    programs(Answers::Reported);
}

/// Checks a file system that reports nothing and is asked each time.
#[test]
fn nothing_is_reported_and_everything_is_asked_for() {
    programs(Answers::AskedFor);
}

fn programs(how: Answers) {
    let steps: u64 = std::env::var("PATHWALK_REPORTS").map_or(1_500, |text| text.parse().unwrap());
    // Each question is many then.
    let steps = if how == Answers::AskedFor { steps / 10 } else { steps };
    let paths = paths();
    let (mut changes, mut seed) = (0u64, 0);
    while changes < steps {
        seed += 1;
        fastrand::seed(seed);
        let fs = MemFs::with(how.options());
        let small = Vfs::budget_for(64);
        let sides = [1 << 20, if seed.is_multiple_of(2) { small } else { 1 << 20 }];
        let sides = sides.map(|budget| World::with_budget(fs.alias(), budget));
        let users = sides.each_ref().map(|side| side.context.clone().with_credentials(Credentials::user(7, 7, &[])));
        let mut log = Vec::new();
        let mut held: Vec<Handle> = Vec::new();
        for _ in 0..60 {
            // What the caches have when the change comes differs each time.
            for _ in 0..fastrand::usize(..12) {
                let (side, path) = (fastrand::usize(..2), &paths[fastrand::usize(..paths.len())]);
                drop(ask(&sides[side].context, &users[side], path));
                if fastrand::u32(..4) == 0
                    && let Ok(dir) = sides[side].context.open(path, OpenFlags::READ)
                {
                    _ = dir.getdents(usize::MAX);
                }
                if held.len() < 4
                    && let Ok(handle) = sides[side].context.lookup(path)
                {
                    held.push(handle);
                }
            }
            if fastrand::u32(..6) == 0 {
                held.clear();
            }
            let by = fastrand::usize(..2);
            let (act, changed, touched) = change(&paths);
            let key = |path: &str, how| {
                let found = sides[by].context.lookup_at(At::Cwd, path, how).and_then(|found| found.path()).ok()?;
                fs.key(found).ok()
            };
            // A path may lead through links, and to one.
            let both = |path: &String| [AtFlags::empty(), AtFlags::SYMLINK_NOFOLLOW].map(|how| key(path, how));
            let mut nodes: Vec<_> = touched.iter().flat_map(both).flatten().collect();
            let in_dir = |(dir, name): (&str, &str)| Some((key(dir, AtFlags::empty())?, name.to_owned()));
            let straight = |(dir, name): (&str, &str)| {
                let dir = sides[by].context.lookup(dir).and_then(|dir| dir.path()).ok()?;
                Some([&dir[..], b"/", name.as_bytes()].concat())
            };
            let straight: Vec<_> = changed.iter().filter_map(|path| straight(split(path))).collect();
            let names: Vec<_> = changed.iter().filter_map(|path| in_dir(split(path))).collect();
            let result = act(&sides[by].context);
            nodes.extend(touched.iter().flat_map(both).flatten());
            log.push(format!("{by}: {changed:?} {touched:?}: {result:?}"));
            if result.is_ok() {
                changes += 1;
                if how == Answers::Reported {
                    let form = report(&sides[1 - by], &names, &straight, &nodes);
                    log.push(format!("form {form}"));
                }
            }
            for path in &paths {
                let [one, other] = [0, 1].map(|side| ask(&sides[side].context, &users[side], path));
                assert_eq!(one, other, "seed {seed}, {path}, after\n{}", log[log.len().saturating_sub(12)..].join("\n"));
            }
        }
        drop((held, users, sides));
        assert_eq!((fs.usage().held, fs.calls().stray_forget), (0, 0), "seed {seed}");
    }
}
