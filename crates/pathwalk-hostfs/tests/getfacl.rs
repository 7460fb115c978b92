//! A tree that the host's `setfacl` makes and one that the engine makes by the same steps: their
//! lists are the same, in the text of `getfacl`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, Context, Credentials, Errno, OpenFlags, OpenHow, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_tests::skipped;

use crate::common::{attempt, set_list, walk};

const NAMED: u32 = 41_001;

/// A step on both sides.
enum Step {
    Mkdir(&'static str, u16),
    Touch(&'static str, u16),
    Chmod(&'static str, u16),
    /// The setting of a list as `setfacl --set` takes it.
    Set(AclKind, &'static str, &'static str),
    Remove(AclKind, &'static str),
}

use AclKind::{Access as Own, Default as Inherited};
use Step::{Chmod, Mkdir, Remove, Set, Touch};

const WITH_ALL: &str = "u::rwx,u:41001:r-x,u:41002:---,g::r-x,g:42001:rw-,m::rwx,o::--x";
const SMALL: &str = "u::rw-,g::r--,o::---";
const MASKED: &str = "u::rwx,u:41001:rwx,g::rwx,m::r--,o::r-x";

const STEPS: &[Step] = &[
    Mkdir("a", 0o755),
    Touch("a/before", 0o644),
    Set(Inherited, "a", WITH_ALL),
    Touch("a/file", 0o666),
    Touch("a/private", 0o600),
    Mkdir("a/dir", 0o777),
    Mkdir("a/dir/closed", 0o700),
    Touch("a/dir/closed/file", 0o664),
    Set(Own, "a", MASKED),
    Chmod("a", 0o751),
    Chmod("a/file", 0o640),
    Mkdir("b", 0o755),
    Set(Inherited, "b", SMALL),
    Touch("b/file", 0o666),
    Mkdir("b/dir", 0o777),
    Touch("c", 0o644),
    Set(Own, "c", WITH_ALL),
    Remove(Own, "c"),
    Touch("d", 0o644),
    Set(Own, "d", WITH_ALL),
    Set(Own, "d", SMALL),
    Mkdir("a/dir/plain", 0o755),
    Remove(Inherited, "a/dir/plain"),
    Touch("a/dir/plain/file", 0o666),
    Mkdir("e", 0o777),
    Set(Own, "e", MASKED),
    Mkdir("e/dir", 0o777),
];

const UMASK: u16 = 0o027;

/// Does a step on the host. The umask is that of a shell.
fn on_host(root: &Path, step: &Step) -> Result<(), String> {
    let shell =
        |command: String| attempt("sh", &["-c", &format!("umask {UMASK:o}; {command} \"$0\"")], &root.join(path_of(step)));
    match step {
        // `mkdir -m` sets the mode afterwards. Perl's takes it as `mkdir(2)` does.
        Mkdir(_, mode) => shell(format!("perl -e 'mkdir($ARGV[0], 0{mode:o}) or die $!'")),
        Touch(_, mode) => shell(format!("perl -e 'use Fcntl; sysopen(F, $ARGV[0], O_WRONLY|O_CREAT, 0{mode:o}) or die $!'")),
        Chmod(_, mode) => shell(format!("chmod {mode:o}")),
        Set(kind, path, list) => {
            let flags: &[&str] = if *kind == Inherited { &["-d", "--set", list] } else { &["--set", list] };
            set_list(flags, &root.join(path), NAMED)
        }
        Remove(Own, path) => set_list(&["-b"], &root.join(path), NAMED),
        Remove(Inherited, path) => set_list(&["-k"], &root.join(path), NAMED),
    }
}

fn by_engine(context: &Context, step: &Step) -> Result<(), Errno> {
    let path = format!("/{}", path_of(step));
    match step {
        Mkdir(_, mode) => context.mkdir(&path, *mode),
        Touch(_, mode) => {
            let how = OpenHow { mode: *mode, ..OpenHow::from(OpenFlags::WRITE | OpenFlags::CREATE) };
            context.openat(pathwalk::At::Cwd, &path, how).map(drop)
        }
        Chmod(_, mode) => context.chmod(&path, *mode),
        Set(kind, _, list) => context.set_acl(&path, *kind, Some(&parsed(list))),
        // `setfacl -b` leaves the owning group's own rights.
        Remove(Own, _) => {
            let list = context.acl(&path, Own)?.ok_or(Errno::ENODATA)?;
            let base = |entry: &&AclEntry| matches!(entry.tag, AclTag::Owner | AclTag::Group | AclTag::Other);
            let base = Acl::new(list.entries().iter().filter(base).copied().collect());
            context.set_acl(&path, Own, Some(&base))
        }
        Remove(Inherited, _) => context.set_acl(&path, Inherited, None),
    }
}

fn path_of(step: &Step) -> &'static str {
    match step {
        Mkdir(path, _) | Touch(path, _) | Chmod(path, _) | Set(_, path, _) | Remove(_, path) => path,
    }
}

/// Parses a list in which all entries are given.
fn parsed(list: &str) -> Acl {
    let entry = |text: &str| {
        let [tag, id, bits] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text} is no entry") };
        let id = id.parse().ok();
        let tag = match tag {
            "u" => id.map_or(AclTag::Owner, AclTag::User),
            "g" => id.map_or(AclTag::Group, AclTag::NamedGroup),
            "m" => AclTag::Mask,
            _ => AclTag::Other,
        };
        let rights = [('r', Access::READ), ('w', Access::WRITE), ('x', Access::EXECUTE)];
        let grants = rights.into_iter().filter(|(letter, _)| bits.contains(*letter)).map(|(_, right)| right).collect();
        AclEntry { tag, grants }
    };
    Acl::new(list.split(',').map(entry).collect())
}

/// Returns the lists of a node as `getfacl -cEnp` prints them.
fn text_of(context: &Context, path: &str) -> String {
    let mut text = String::new();
    let own = context.acl(path, Own).unwrap().unwrap_or_else(|| Acl::from_mode(context.stat(path).unwrap().mode));
    write_list(&mut text, "", &own);
    if let Some(default) = context.acl(path, Inherited).unwrap() {
        write_list(&mut text, "default:", &default);
    }
    text
}

fn write_list(text: &mut String, prefix: &str, list: &Acl) {
    for AclEntry { tag, grants } in list.entries() {
        let tag = match tag {
            AclTag::Owner => "user:".to_owned(),
            AclTag::User(uid) => format!("user:{uid}"),
            AclTag::Group => "group:".to_owned(),
            AclTag::NamedGroup(gid) => format!("group:{gid}"),
            AclTag::Mask => "mask:".to_owned(),
            AclTag::Other => "other:".to_owned(),
        };
        let letter = |right, letter| if grants.contains(right) { letter } else { '-' };
        let [r, w, x] = [letter(Access::READ, 'r'), letter(Access::WRITE, 'w'), letter(Access::EXECUTE, 'x')];
        writeln!(text, "{prefix}{tag}:{r}{w}{x}").unwrap();
    }
}

fn getfacl(path: &Path) -> String {
    let output = Command::new("getfacl").arg("-cEnp").arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned() + "\n"
}

#[test]
fn lists_are_those_of_setfacl() {
    let dir = tempfile::tempdir().unwrap();
    let mut context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    context.umask(UMASK);
    let mut compared = 0;
    for (number, step) in STEPS.iter().enumerate() {
        if let Err(why) = on_host(dir.path(), step) {
            return skipped("lists_are_those_of_setfacl", &why);
        }
        by_engine(&context, step).unwrap();
        // The engine reads the host's lists, too. It is new, so nothing is cached.
        let host = walk(dir.path());
        for path in STEPS[..=number].iter().map(path_of) {
            let (expected, path) = (getfacl(&dir.path().join(path)), format!("/{path}"));
            assert_eq!(text_of(&context, &path), expected, "{path} after step {number}");
            assert_eq!(text_of(&host, &path), expected, "{path} on the host after step {number}");
            compared += 1;
        }
    }
    assert_eq!(compared, STEPS.len() * (STEPS.len() + 1) / 2);
}

#[test]
fn lists_of_the_host_cannot_be_set() {
    let dir = tempfile::tempdir().unwrap();
    let host = walk(dir.path());
    let set = host.set_acl("/", Inherited, Some(&Acl::from_mode(0o700)));
    assert_eq!(set, Err(Errno::EROFS));
}
