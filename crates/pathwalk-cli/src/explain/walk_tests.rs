//! Tests of walks over the reference file system: states that the host of the tests cannot be
//! brought to, and the questions to the host.

use std::cell::RefCell;

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{Credentials, FileSystem, Name, Node as FsNode, NodeKey, Vfs};
use pathwalk_memfs::MemFs;

use super::*;
use crate::explain::mounts::{Mount, Mounts};
use crate::explain::who::Names;
use crate::explain::words::Voice;
use crate::explain::{advice, json, text};

/// A host with the properties that the test sets.
#[derive(Default)]
struct Said {
    lists: HashMap<Vec<u8>, Result<Option<Acl>, Errno>>,
    flags: HashMap<Vec<u8>, MountFlags>,
    names: Vec<Vec<u8>>,
    /// The `mountinfo` line of mount 2.
    line: &'static str,
    asked: RefCell<Vec<Vec<u8>>>,
}

impl Host for Said {
    fn acl(&self, path: &[u8]) -> Result<Option<Acl>, Errno> {
        self.asked.borrow_mut().push(path.into());
        self.lists.get(path).cloned().unwrap_or(Ok(None))
    }

    fn mount(&self, path: &[u8]) -> Option<Mount> {
        let below = self.flags.iter().find(|(point, _)| path.starts_with(point));
        let (id, flags) = below.map_or((1, MountFlags::empty()), |(_, flags)| (2, *flags));
        Some(Mount { id, flags, line: Mounts::parse(self.line.as_bytes()).line(id) })
    }

    fn names(&self, _dir: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(self.names.clone())
    }
}

fn who(uid: u32, groups: &[u32], asks: Asks) -> Who {
    let credentials = Credentials::user(uid, uid, groups);
    Who { uid, gid: uid, groups: groups.into(), credentials, asks, assumed: None }
}

fn tree() -> MemFs {
    let fs = MemFs::new();
    fs.mkdir_all("/d/e", 0o755).unwrap();
    fs.file("/d/f", 0o640).unwrap();
    fs.mkdir("/guarded", 0o700).unwrap();
    fs.file("/guarded/f", 0o644).unwrap();
    for (link, body) in
        [("/l", "d/f"), ("/in", "d"), ("/a", "b"), ("/b", "/c"), ("/c", "a"), ("/gone", "in/nope"), ("/d/top", "/guarded/f")]
    {
        fs.symlink(body, link).unwrap();
    }
    fs
}

fn context(fs: impl FileSystem + 'static, who: &Who) -> Context {
    Vfs::builder().budget(1 << 20).build(fs).unwrap().context(who.credentials.clone())
}

fn told(path: &str, who: &Who, host: &Said) -> Told {
    tell(&context(tree(), who), host, who, path.as_bytes(), AtFlags::empty(), None)
}

fn failure(told: &Told) -> &Failure {
    let Ending::Failed(failure) = &told.ending else { panic!("it failed: {told:?}") };
    failure
}

/// Returns depth, name and remark of each line.
fn outline(told: &Told) -> Vec<String> {
    let line = |line: &Line| {
        let body = line.body.as_ref().map_or(String::new(), |body| format!(" -> {}", body.escape_ascii()));
        let end = line.refused.map_or(String::new(), |(errno, rule)| format!(" ({errno:?} {})", rule.code()));
        let found = match line.found {
            Found::Node(..) => "",
            Found::Absent => " absent",
            Found::NotLookedFor => " ?",
        };
        format!("{}{}{body}{found}{end}", ".".repeat(line.depth), line.name.escape_ascii())
    };
    told.lines.iter().map(line).collect()
}

fn rendered(told: &Told, who: &Who, path: &str) -> String {
    let names = Names::parse(b"root:x:0:0::/:\nann:x:5:5::/:\n", b"root:x:0:\nstaff:x:7:\n");
    let voice = Voice { who, names: &names, root: std::path::Path::new("/") };
    assert!(json::render(voice, told, path.as_bytes()).is_object());
    text::render(voice, told, path.as_bytes(), text::Colour::Off, 1000)
}

#[test]
fn bodies_stand_below_their_links() {
    let ann = who(5, &[], Asks::ForAnother);
    let told = told("in/../l", &ann, &Said::default());
    assert_eq!(outline(&told), ["/", "in -> d", ".d", "..", "l -> d/f", ".d", ".f"]);
    let text = rendered(&told, &ann, "in/../l");
    assert!(text.contains("reached: /d/f, a regular file") && text.contains("read     no   EACCES: others have ---"), "{text}");
}

#[test]
fn each_node_is_asked_about_once() {
    let host = Said::default();
    told("/d/../d/./../d/f", &who(5, &[], Asks::ForAnother), &host);
    let mut asked = host.asked.into_inner();
    asked.sort();
    assert_eq!(asked, [&b"/"[..], b"/d", b"/d/f"]);
}

#[test]
fn a_refusal_is_marked_where_it_is() {
    let ann = who(5, &[], Asks::ForAnother);
    let told = told("d/top", &ann, &Said::default());
    assert_eq!(outline(&told), ["/", "d", "top -> /guarded/f", ".guarded (EACCES other-bits)", ".f ?"]);
    let text = rendered(&told, &ann, "d/top");
    for words in ["ann may not search /guarded: others have ---", "chmod o+x /guarded", "setfacl -m u:ann:x /guarded"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("usermod"), "group root is not given away: {text}");
}

#[test]
fn the_root_may_be_refused_behind_a_link() {
    let (fs, ann) = (tree(), who(5, &[], Asks::ForAnother));
    fs.chmod("/", 0o700).unwrap();
    let context = context(fs, &ann);
    // An existing working directory needs no permission any more.
    let mut inside = context.clone().with_credentials(Credentials::root());
    inside.chdir("/d").unwrap();
    let told = tell(&inside.with_credentials(ann.credentials.clone()), &Said::default(), &ann, b"top", AtFlags::empty(), None);
    assert_eq!(outline(&told), [".", "top -> /guarded/f", "./ (EACCES other-bits)", ".guarded ?"]);
}

#[test]
fn links_that_lead_nowhere_are_named() {
    let ann = who(5, &[], Asks::ForAnother);
    let host = Said { names: vec![b"node".into(), b"nap".into(), b"xyz".into()], ..Said::default() };
    let told = told("/gone", &ann, &host);
    assert_eq!(outline(&told), ["/", "gone -> in/nope", ".in -> d", "..d", ".nope absent (ENOENT absent)"]);
    let failure = failure(&told);
    assert_eq!(failure.rule, Rule::Dangling);
    assert_eq!(failure.link, Some((b"/gone".into(), b"in/nope".into())));
    let text = rendered(&told, &ann, "/gone");
    assert!(text.contains("the link /gone leads to \"in/nope\", but there is no \"nope\" in /d"), "{text}");
    assert!(text.contains("ln -sfn TARGET /gone") && text.contains("did you mean \"node\""), "{text}");
}

#[test]
fn a_circle_is_told_once_round() {
    let ann = who(5, &[], Asks::ForAnother);
    let told = told("/a", &ann, &Said::default());
    let circle: Vec<&[u8]> = failure(&told).circle.iter().map(Vec::as_slice).collect();
    assert_eq!(circle, [&b"/a"[..], b"/b", b"/c", b"/a"]);
    let text = rendered(&told, &ann, "/a");
    assert!(text.contains("in a circle: /a -> /b -> /c -> /a") && text.contains("round again"), "{text}");
    assert!(text.lines().count() < 15, "{text}");
}

#[test]
fn many_links_are_no_circle() {
    let (fs, ann) = (tree(), who(5, &[], Asks::ForAnother));
    fs.symlink(".", "/here").unwrap();
    let path = "here/".repeat(41);
    let told = tell(&context(fs, &ann), &Said::default(), &ann, path.as_bytes(), AtFlags::empty(), None);
    assert_eq!((failure(&told).rule, failure(&told).circle.len()), (Rule::TooManyLinks, 0));
    let text = rendered(&told, &ann, &path);
    assert!(text.contains("more than 40 links") && text.matches("here -> .").count() == 40, "{text}");
}

#[test]
fn a_directory_that_was_removed_has_no_names() {
    let (fs, root) = (tree(), who(0, &[], Asks::ForItself));
    let mut context = context(fs, &root);
    context.chdir("/d/e").unwrap();
    let e = Name::new(b"e").unwrap();
    let dir = context.lookup("/d").unwrap();
    pathwalk::internals::unlink(&dir, e).unwrap();
    let told = tell(&context, &Said::default(), &root, b"x", AtFlags::empty(), None);
    assert_eq!((failure(&told).errno, failure(&told).rule), (Errno::ENOENT, Rule::Removed));
    assert!(rendered(&told, &root, "x").contains("was removed"));
    let told = tell(&context, &Said::default(), &root, b".", AtFlags::empty(), None);
    assert!(matches!(told.ending, Ending::Reached(..)), "the place itself is still there");
}

#[test]
fn mounts_that_follow_no_links_end_the_walk() {
    let ann = who(5, &[], Asks::ForAnother);
    let host = Said { flags: HashMap::from([(b"/d".to_vec(), MountFlags::NOSYMFOLLOW)]), ..Said::default() };
    let told_of = |path| told(path, &ann, &host);
    let told = told_of("/d/top");
    assert_eq!(outline(&told), ["/", "d", "top (ELOOP nosymfollow-mount)"]);
    assert_eq!(failure(&told).link, Some((b"/d/top".into(), b"/guarded/f".into())), "where it leads is told all the same");
    assert!(matches!(told_of("/in/f").ending, Ending::Reached(..)), "links outside lead in");
    let lines = told_of("/d/e/..").lines;
    assert_eq!(lines.iter().map(|line| line.mount.is_some()).collect::<Vec<_>>(), [true, true, false, false]);
}

/// A file system that does not let this process look at its nodes.
struct Closed(MemFs, Errno);

impl FileSystem for Closed {
    fn superblock_flags(&self) -> pathwalk::SuperblockFlags {
        self.0.superblock_flags()
    }
    fn root(&self) -> Result<FsNode, Errno> {
        self.0.root()
    }
    fn lookup(&self, dir: &pathwalk::Directory<'_>, name: Name<'_>) -> Result<Option<FsNode>, Errno> {
        if name.bytes() == b"f" { Err(self.1) } else { self.0.lookup(dir, name) }
    }
    fn attributes(&self, node: NodeKey) -> Result<pathwalk::Attributes, Errno> {
        self.0.attributes(node)
    }
}

#[test]
fn that_we_may_not_look_is_not_that_he_may_not() {
    let told_to = |asks, errno| {
        let ann = who(5, &[], asks);
        tell(&context(Closed(tree(), errno), &ann), &Said::default(), &ann, b"/d/f", AtFlags::empty(), None)
    };
    let told = told_to(Asks::ForAnother, Errno::EACCES);
    assert_eq!(outline(&told), ["/", "d (EACCES not-visible)", "f ?"]);
    assert!(!told.is_certain());
    let text = rendered(&told, &who(5, &[], Asks::ForAnother), "/d/f");
    assert!(
        text.contains("not known: this process may not look into /d itself") && text.contains("sudo pathwalk explain /d/f"),
        "{text}"
    );
    for (asks, errno) in [(Asks::ForItself, Errno::EACCES), (Asks::ForAnother, Errno::EIO)] {
        let told = told_to(asks, errno);
        assert_eq!((failure(&told).errno, failure(&told).rule), (errno, Rule::FileSystem));
        assert!(told.is_certain());
    }
}

#[test]
fn what_a_file_system_may_decide_by_itself_is_said() {
    let flags = HashMap::from([(b"/d".to_vec(), MountFlags::NOEXEC)]);
    let host = Said { flags, line: "2 1 0:9 / /d rw - fuse.sshfs host: rw", ..Said::default() };
    let ann = who(5, &[], Asks::ForAnother);
    let text = rendered(&told("/d/e/../e", &ann, &host), &ann, "/d/e/../e");
    assert!(text.contains("[fuse.sshfs host:, noexec]"), "{text}");
    assert_eq!(text.matches("fuse.sshfs at /d may refuse by rules of its own").count(), 1, "{text}");
    let told = told("/d/e", &who(5, &[], Asks::ForItself), &host);
    assert!(told.doubts.is_empty(), "what this process could look at, it may look at");
}

#[test]
fn links_of_proc_are_followed_with_a_doubt() {
    let (fs, ann) = (MemFs::new(), who(5, &[], Asks::ForItself));
    fs.mkdir_all("/proc/1/fd", 0o755).unwrap();
    for (link, body) in [("/proc/self", "1"), ("/proc/1/fd/0", "pipe:[7]"), ("/proc/1/cwd", "/proc")] {
        fs.symlink(body, link).unwrap();
    }
    let flags = HashMap::from([(b"/proc".to_vec(), MountFlags::empty())]);
    let host = Said { flags, line: "2 1 0:9 / /proc rw - proc proc rw", ..Said::default() };
    let context = context(fs, &ann);
    let doubts = |path: &str| {
        let told = tell(&context, &host, &ann, path.as_bytes(), AtFlags::empty(), None);
        (told.doubts.clone(), told.is_certain())
    };
    let magic = |path: &str| vec![Doubt::MagicLink(path.into())];
    assert_eq!(doubts("/proc/self"), (vec![], true));
    assert_eq!(doubts("/proc/self/fd/0"), (magic("/proc/1/fd/0"), false));
    assert_eq!(doubts("/proc/1/cwd"), (magic("/proc/1/cwd"), true));
    assert_eq!(doubts("/proc/self/nope"), (vec![], true));
}

#[test]
fn a_list_that_cannot_be_read_is_no_rule() {
    let ann = who(5, &[], Asks::ForAnother);
    let fs = tree();
    fs.chmod("/guarded", 0o750).unwrap();
    let host = Said { lists: HashMap::from([(b"/guarded".to_vec(), Err(Errno::EACCES))]), ..Said::default() };
    let told = tell(&context(fs, &ann), &host, &ann, b"/guarded/f", AtFlags::empty(), None);
    assert_eq!(failure(&told).rule, Rule::NotVisible);
}

#[test]
fn lists_decide_and_their_mask_is_told() {
    let entry = |tag, grants| AclEntry { tag, grants };
    let entries = [
        entry(AclTag::Owner, Access::all()),
        entry(AclTag::User(5), Access::all()),
        entry(AclTag::Group, Access::READ),
        entry(AclTag::Mask, Access::READ),
        entry(AclTag::Other, Access::empty()),
    ];
    let (fs, ann) = (tree(), who(5, &[], Asks::ForAnother));
    fs.set_acl("/guarded", &entries).unwrap();
    let acl = Ok(Some(Acl::new(entries.to_vec())));
    let host = Said { lists: HashMap::from([(b"/guarded".to_vec(), acl)]), ..Said::default() };
    let told = tell(&context(fs, &ann), &host, &ann, b"/guarded/f", AtFlags::empty(), None);
    assert_eq!(failure(&told).rule.code(), "acl-mask");
    let text = rendered(&told, &ann, "/guarded/f");
    for words in ["drwxr-----+", "the mask r-- of its ACL cuts x off the entry user:ann:rwx", "setfacl -m m::rx /guarded"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn groups_are_advised_where_they_help() {
    let (fs, ann) = (tree(), who(5, &[], Asks::ForAnother));
    fs.chown("/guarded", 9, 7).unwrap();
    fs.chmod("/guarded", 0o710).unwrap();
    let context = context(fs, &ann);
    let text_for = |who: &Who| {
        let context = context.clone().with_credentials(who.credentials.clone());
        rendered(&tell(&context, &Said::default(), who, b"/guarded/f", AtFlags::empty(), None), who, "/guarded/f")
    };
    assert!(text_for(&ann).contains("usermod -aG staff ann"), "{}", text_for(&ann));
    assert!(text_for(&who(5, &[7], Asks::ForAnother)).contains("reached"));
}

#[test]
fn what_is_refused_before_any_step_is_told() {
    let ann = who(5, &[], Asks::ForAnother);
    let long = "x/".repeat(2500);
    for (path, rule, words) in [("", Rule::EmptyPath, "the path is empty"), (&long, Rule::PathTooLong, "the path has 5000 bytes")]
    {
        let told = told(path, &ann, &Said::default());
        assert_eq!((failure(&told).rule, told.lines.len()), (rule, 0));
        assert!(rendered(&told, &ann, path).contains(words));
    }
}

#[test]
fn odd_names_are_escaped_and_quoted() {
    let (fs, ann) = (MemFs::new(), who(5, &[], Asks::ForAnother));
    fs.mkdir("/a\x1b[2J\n", 0o700).unwrap();
    let path = "/a\x1b[2J\n/x";
    let told = tell(&context(fs, &ann), &Said::default(), &ann, path.as_bytes(), AtFlags::empty(), None);
    let text = rendered(&told, &ann, path);
    assert!(!text.contains('\x1b') && text.contains("a\\u{1b}[2J\\n"), "{text}");
    assert!(text.contains(r"chmod o+x $'/a\x1b[2J\x0a'"), "{text}");
    let names = Names::default();
    let voice = Voice { who: &ann, names: &names, root: std::path::Path::new("/srv/x y") };
    let all = advice::about_failure(voice, failure(&told), path.as_bytes());
    assert!(all[1].command.as_deref().is_some_and(|command| command.starts_with("setfacl -m u:5:x ")), "{all:?}");
    assert_eq!(all[0].command.as_deref(), Some(r"chmod o+x $'/srv/x y/a\x1b[2J\x0a'"), "as this process calls it");
}
