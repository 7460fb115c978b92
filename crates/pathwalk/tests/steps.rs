//! Lookups reported step by step: the report is what was done, and why it ended.

use pathwalk::{Access, At, AtFlags, Context, Credentials, Errno, Handle, Step, Steps, Vfs, What};
use pathwalk_memfs::MemFs;

fn context(uid: u32) -> Context {
    let fs = MemFs::new();
    fs.mkdir_all("/usr/bin", 0o755).unwrap();
    fs.mkdir("/usr/private", 0o700).unwrap();
    fs.mkdir("/tmp", 0o1777).unwrap();
    fs.file("/usr/bin/dash", 0o755).unwrap();
    fs.file("/usr/private/key", 0o600).unwrap();
    fs.symlink("usr/bin", "/bin").unwrap();
    fs.symlink("/bin/dash", "/usr/bin/sh").unwrap();
    fs.symlink("loop", "/loop").unwrap();
    fs.symlink("/usr/bin/dash", "/tmp/trap").unwrap();
    fs.chown("/tmp/trap", 7, 7).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).protect_symlinks().build(fs).unwrap();
    vfs.context(Credentials::user(uid, uid, &[]))
}

fn path_of(handle: &Handle) -> String {
    String::from_utf8(handle.path().unwrap()).unwrap()
}

/// Formats a step in a word or two, indented by its depth.
fn short(step: &Step) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let what = match &step.what {
        What::Start(node) => format!("from {}", path_of(node)),
        What::Dot => ".".into(),
        What::Up(node) => format!(".. to {}", path_of(node)),
        What::Name { name, node } => format!("{} is {}", text(name), path_of(node)),
        What::Link { body, from } => format!("-> {} from {}", text(body), path_of(from)),
        What::Absent { name, dir } => format!("no {} in {}", text(name), path_of(dir)),
        What::Refused { errno, why, node, name } => format!("{why:?} {errno:?} at {} for \"{}\"", path_of(node), text(name)),
        other => format!("{other:?}"),
    };
    "  ".repeat(step.depth) + &what
}

fn told(steps: &Steps) -> Vec<String> {
    steps.steps.iter().map(short).collect()
}

/// Returns the steps, which have to be the same cold and warm, by the locked walk and after the
/// fast one.
fn story(context: &Context, path: &str, flags: AtFlags) -> (Vec<String>, Result<String, Errno>) {
    let cold = context.steps_at(At::Cwd, path, flags);
    let silent = context.lookup_at(At::Cwd, path, flags).map(|handle| path_of(&handle));
    let warm = context.steps_at(At::Cwd, path, flags);
    let answer = warm.answer.as_ref().map(path_of).map_err(|errno| *errno);
    assert_eq!(told(&cold), told(&warm), "{path}");
    assert_eq!(answer, silent, "{path}");
    (told(&warm), answer)
}

#[test]
fn each_name_and_link_is_told() {
    let (told, answer) = story(&context(0), "/bin/./../bin/sh", AtFlags::empty());
    let expected = [
        "from /",
        "bin is /bin",
        "-> usr/bin from /",
        "  usr is /usr",
        "  bin is /usr/bin",
        ".",
        ".. to /usr",
        "bin is /usr/bin",
        "sh is /usr/bin/sh",
        "-> /bin/dash from /",
        "  bin is /bin",
        "  -> usr/bin from /",
        "    usr is /usr",
        "    bin is /usr/bin",
        "  dash is /usr/bin/dash",
    ];
    assert_eq!(told, expected, "{told:#?}");
    assert_eq!(answer.as_deref(), Ok("/usr/bin/dash"));
}

#[test]
fn a_link_that_stays_is_a_name() {
    let (told, answer) = story(&context(0), "/bin", AtFlags::SYMLINK_NOFOLLOW);
    assert_eq!((told, answer), (vec!["from /".into(), "bin is /bin".into()], Ok("/bin".into())));
}

#[test]
fn the_end_says_why() {
    let cases = [
        ("/nope/x", Errno::ENOENT, "no nope in /"),
        ("/usr/bin/dash/x", Errno::ENOTDIR, "NotADirectory ENOTDIR at /usr/bin/dash for \"x\""),
        ("/usr/bin/dash/", Errno::ENOTDIR, "NotADirectory ENOTDIR at /usr/bin/dash for \"\""),
        ("/usr/private/key", Errno::EACCES, "Search EACCES at /usr/private for \"key\""),
        ("/usr/private/.", Errno::EACCES, "Search EACCES at /usr/private for \".\""),
        ("/tmp/trap", Errno::EACCES, "ProtectedLink EACCES at /tmp/trap for \"\""),
    ];
    let context = context(1000);
    for (path, errno, last) in cases {
        let (told, answer) = story(&context, path, AtFlags::empty());
        assert_eq!((told.last().map(|line| line.trim_start()), answer), (Some(last), Err(errno)), "{path}: {told:#?}");
    }
    let (told, answer) = story(&context, "/loop", AtFlags::empty());
    assert_eq!(answer, Err(Errno::ELOOP));
    assert_eq!(told.iter().filter(|line| line.contains("->")).count(), 40, "{told:#?}");
    assert!(told.last().unwrap().ends_with("TooManyLinks ELOOP at /loop for \"\""), "{told:#?}");
    let long = "x".repeat(256);
    let (told, answer) = story(&context, &long, AtFlags::empty());
    assert_eq!((answer, told.len()), (Err(Errno::ENAMETOOLONG), 2), "{told:#?}");
}

#[test]
fn what_is_refused_before_the_walk_has_no_steps() {
    let context = context(0);
    for (path, flags, errno) in [
        ("", AtFlags::empty(), Errno::ENOENT),
        ("a\0b", AtFlags::empty(), Errno::EINVAL),
        ("/", AtFlags::EACCESS, Errno::EINVAL),
        (&*"a/".repeat(2048), AtFlags::empty(), Errno::ENAMETOOLONG),
    ] {
        let steps = context.steps_at(At::Cwd, path, flags);
        assert!(steps.steps.is_empty() && steps.answer.as_ref().is_err_and(|found| *found == errno), "{path:?}: {steps:?}");
    }
}

#[test]
fn an_empty_path_is_where_it_starts() {
    let context = context(0);
    let bin = context.lookup("/usr/bin").unwrap();
    let steps = context.steps_at(&bin, "", AtFlags::EMPTY_PATH);
    assert_eq!((told(&steps), path_of(&steps.answer.unwrap())), (vec!["from /usr/bin".into()], "/usr/bin".into()));
    let link = context.lookup_at(At::Cwd, "/loop", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    let steps = context.steps_at(&link, "", AtFlags::EMPTY_PATH);
    assert_eq!((told(&steps), path_of(&steps.answer.unwrap())), (vec!["from /loop".into()], "/loop".into()), "a link stays");
}

#[test]
fn telling_leaves_no_pins() {
    let context = context(0);
    let before = context.vfs().stats().inodes.used;
    drop(context.steps("/usr/bin/sh"));
    pathwalk::internals::evict(context.vfs(), usize::MAX);
    assert_eq!(context.vfs().stats().inodes.used, before);
    assert_eq!(context.access("/usr/bin/sh", Access::READ), Ok(()));
}
