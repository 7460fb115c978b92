//! Tests of the question and the effect that are read from each call's text.

use pathwalk::Access;

use super::*;
use crate::call_text::Annotation;
use crate::recording::{Ids, Links};

const DONE: Outcome<'_> = Outcome::Done(0, None);
const F: Access = Access::empty();
const R: Access = Access::READ;
const W: Access = Access::WRITE;
const X: Access = Access::EXECUTE;

fn read(text: &str) -> Event<'_> {
    Names::new().read(text.as_bytes()).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn named(text: &str) -> Named<'_> {
    match read(text) {
        Event::Named(named) => named,
        other => panic!("{text}: {other:?}"),
    }
}

fn access(want: Access, ids: Ids, links: Links) -> Question {
    Question::Access { want, ids, links }
}

#[test]
fn lookups() {
    use Ids::{Effective, Real};
    use Links::{Follow, Stay};
    let stat = |links| Question::Stat { links };
    let directory = |want, links| Question::Directory { want, links };
    let cases = [
        (r#"access("p", F_OK) = 0"#, Call::Access, access(F, Real, Follow)),
        (r#"access("p", R_OK|X_OK) = 0"#, Call::Access, access(R | X, Real, Follow)),
        (r#"access("p", 04) = 0"#, Call::Access, access(R, Real, Follow)),
        (r#"faccessat(AT_FDCWD, "p", W_OK) = 0"#, Call::Faccessat, access(W, Real, Follow)),
        (r#"faccessat(AT_FDCWD, "p", W_OK, AT_EACCESS) = 0"#, Call::Faccessat, access(W, Real, Follow)),
        (r#"faccessat2(AT_FDCWD, "p", X_OK, AT_EACCESS) = 0"#, Call::Faccessat2, access(X, Effective, Follow)),
        (r#"faccessat2(AT_FDCWD, "p", F_OK, AT_SYMLINK_NOFOLLOW) = 0"#, Call::Faccessat2, access(F, Real, Stay)),
        (r#"stat("p", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0"#, Call::Stat, stat(Follow)),
        (r#"stat64("p", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0"#, Call::Stat, stat(Follow)),
        (r#"lstat("p", 0x7ffd) = 0"#, Call::Lstat, stat(Stay)),
        (r#"newfstatat(AT_FDCWD, "p", {st_mode=S_IFREG|0644, ...}, 0) = 0"#, Call::Newfstatat, stat(Follow)),
        (
            r#"newfstatat(AT_FDCWD, "p",  {st_mode=S_IFREG|0644, ...}, AT_SYMLINK_NOFOLLOW|AT_NO_AUTOMOUNT) = 0"#,
            Call::Newfstatat,
            stat(Stay),
        ),
        (r#"fstatat64(AT_FDCWD, "p", 0xff, AT_SYMLINK_NOFOLLOW) = 0"#, Call::Newfstatat, stat(Stay)),
        (
            r#"statx(AT_FDCWD, "p", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, stx_atime={tv_sec=1}, ...}) = 0"#,
            Call::Statx,
            stat(Follow),
        ),
        (r#"statx(AT_FDCWD, "p", AT_STATX_DONT_SYNC|AT_SYMLINK_NOFOLLOW, STATX_MODE, 0x7f) = 0"#, Call::Statx, stat(Stay)),
        (r#"readlink("p", "a\"), (b", 4096) = 0"#, Call::Readlink, Question::Readlink),
        (r#"readlinkat(AT_FDCWD, "p", 0x7f, 4096) = 0"#, Call::Readlinkat, Question::Readlink),
        (r#"open("p", O_RDONLY) = 0"#, Call::Open, access(R, Effective, Follow)),
        (r#"openat(AT_FDCWD, "p", O_WRONLY|O_APPEND) = 0"#, Call::Openat, access(W, Effective, Follow)),
        (r#"openat(AT_FDCWD, "p", O_RDWR|O_CLOEXEC) = 0"#, Call::Openat, access(R | W, Effective, Follow)),
        (r#"openat(AT_FDCWD, "p", O_RDONLY|O_NOFOLLOW) = 0"#, Call::Openat, access(R, Effective, Stay)),
        (r#"openat(AT_FDCWD, "p", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 0"#, Call::Openat, directory(R, Follow)),
        (r#"openat(AT_FDCWD, "p", O_RDONLY|O_PATH) = 0"#, Call::Openat, access(F, Effective, Follow)),
        (r#"openat(AT_FDCWD, "p", O_RDONLY|O_CREAT|O_NOFOLLOW|O_PATH, 0666) = 0"#, Call::Openat, access(F, Effective, Stay)),
        (r#"openat(AT_FDCWD, "p", O_RDONLY|O_NOFOLLOW|O_PATH|O_DIRECTORY) = 0"#, Call::Openat, directory(F, Stay)),
        (r#"openat2(AT_FDCWD, "p", {flags=O_RDONLY|O_CLOEXEC, resolve=0}, 24) = 0"#, Call::Openat2, access(R, Effective, Follow)),
        (r#"openat2(AT_FDCWD, "p", {flags=O_WRONLY}, 24) = 0"#, Call::Openat2, access(W, Effective, Follow)),
        (r#"execve("p", ["a", "b, c)"...], 0x7ffd /* 3 vars */) = 0"#, Call::Execve, access(X, Effective, Follow)),
        (r#"execve("p", ["a"], ["X={", "Y=1"]) = 0"#, Call::Execve, access(X, Effective, Follow)),
        (
            r#"execveat(AT_FDCWD, "p", ["a"], 0x7ffd /* 3 vars */, AT_SYMLINK_NOFOLLOW) = 0"#,
            Call::Execveat,
            access(X, Effective, Stay),
        ),
        (r#"chdir("p") = 0"#, Call::Chdir, directory(X, Follow)),
    ];
    for (text, call, question) in cases {
        let named = named(text);
        assert_eq!(named.what, What::Asks(call, question), "{text}");
        assert_eq!((named.path, named.at, named.outcome), (PathText::Whole(b"p"), At::Cwd(None), DONE), "{text}");
    }
}

#[test]
fn what_is_no_lookup() {
    let cases = [
        (r#"newfstatat(3, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0"#, What::NoName),
        (r#"statx(3, "", AT_STATX_SYNC_AS_STAT|AT_EMPTY_PATH, STATX_ALL, 0x7f) = 0"#, What::NoName),
        (r#"statx(3, NULL, AT_EMPTY_PATH, STATX_ALL, 0x7f) = 0"#, What::NoName),
        (r#"faccessat2(3, "", F_OK, AT_EMPTY_PATH) = 0"#, What::NoName),
        (r#"execveat(3, "", ["a"], 0x7f /* 1 var */, AT_EMPTY_PATH) = 0"#, What::NoName),
        (r#"readlinkat(3, "", "x", 10) = 1"#, What::NoName),
        (r#"openat(AT_FDCWD, "p", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3"#, What::Changes),
        (r#"open("p", O_RDWR|O_TRUNC) = 3"#, What::Changes),
        (r#"openat(AT_FDCWD, "p", O_RDWR|O_TMPFILE, 0600) = 3"#, What::Changes),
        (r#"openat2(AT_FDCWD, "p", {flags=O_WRONLY|O_CREAT, mode=0666, resolve=RESOLVE_BENEATH}, 24) = 3"#, What::Changes),
        (r#"creat("p", 0666) = 3"#, What::Changes),
        (r#"openat2(3, "p", {flags=O_RDONLY, resolve=RESOLVE_IN_ROOT}, 24) = 3"#, What::Resolves),
        (r#"access("p", R_OK|0x8) = -1 EINVAL (Invalid argument)"#, What::Other),
        (r#"newfstatat(3, "p", 0x7f, 0x8 /* AT_??? */) = -1 EINVAL (Invalid argument)"#, What::Other),
        (r#"open("p", 0x80000) = 3"#, What::Other),
    ];
    for (text, what) in cases {
        assert_eq!(named(text).what, what, "{text}");
    }
    let absent = named(r#"stat("", 0x7f) = -1 ENOENT (No such file or directory)"#);
    assert_eq!((absent.path, absent.outcome), (PathText::Whole(b""), Outcome::Absent));
    assert!(matches!(absent.what, What::Asks(Call::Stat, _)));
    assert_eq!(named(r#"stat(NULL, 0x7f) = -1 EFAULT (Bad address)"#).path, PathText::Unknown);
}

#[test]
fn what_opens_and_runs() {
    let opens = |on_exec, opened| Effect::Opens(on_exec, opened);
    let cases = [
        (r#"openat(3</a>, "p", O_RDONLY|O_CLOEXEC) = 4</a/p>"#, opens(OnExec::Close, Opened::Anything)),
        (r#"openat(3</a>, "p", O_RDONLY|O_DIRECTORY) = 4</a/p>"#, opens(OnExec::Keep, Opened::Directory)),
        (r#"openat(3</a>, "p", O_PATH|O_CLOEXEC) = 4</a/p>"#, opens(OnExec::Close, Opened::Directory)),
        (r#"creat("p", 0600) = 4"#, opens(OnExec::Keep, Opened::Anything)),
        (r#"execve("p", [], NULL) = 0"#, Effect::Executes),
        (r#"execveat(3, "", [], NULL, AT_EMPTY_PATH) = 0"#, Effect::Executes),
        (r#"chdir("p") = 0"#, Effect::Moves),
        (r#"stat("p", 0x7f) = 0"#, Effect::None),
    ];
    for (text, effect) in cases {
        assert_eq!(named(text).effect, effect, "{text}");
    }
    let opened = named(r#"openat(3</a>, "p", O_RDONLY) = 4</a/p>"#);
    assert_eq!(opened.at, At::Descriptor(3, Some(Annotation::Path(b"/a"))));
    assert_eq!(opened.outcome, Outcome::Done(4, Some(Annotation::Path(b"/a/p"))));
}

#[test]
fn what_is_no_call_on_a_path() {
    let flags = CloneFlags::FS | CloneFlags::FILES;
    let done = |value| Outcome::Done(value, None);
    let cases = [
        (r#"mkdir("/a", 0777) = 0"#, Event::Change { name: "mkdir", at: None }),
        (
            r#"unlinkat(AT_FDCWD</a>, "b", 0) = 0"#,
            Event::Change { name: "unlinkat", at: Some(At::Cwd(Some(Annotation::Path(b"/a")))) },
        ),
        (r#"statfs("/a", {f_type=TMPFS_MAGIC, ...}) = 0"#, Event::Other { name: "statfs", at: None }),
        (r#"chroot("/a") = 0"#, Event::NewRoot { name: "chroot", outcome: DONE }),
        (r#"mount("none", "/", NULL, MS_REC|MS_PRIVATE, NULL) = 0"#, Event::NewRoot { name: "mount", outcome: DONE }),
        (r#"setns(3, CLONE_NEWNS) = 0"#, Event::NewRoot { name: "setns", outcome: DONE }),
        (r#"setns(3, CLONE_NEWNET) = 0"#, Event::Nothing),
        (r#"getcwd("/a b", 4096) = 5"#, Event::Cwd { path: PathText::Whole(b"/a b") }),
        (r#"getcwd("(unreachable)/a", 4096) = 15"#, Event::Cwd { path: PathText::Unknown }),
        (r#"getcwd(0x7f, 1) = -1 ERANGE (Numerical result out of range)"#, Event::Cwd { path: PathText::Unknown }),
        (r#"close(3</a,b>) = 0"#, Event::Close { fd: 3 }),
        (
            r#"close_range(3, 4294967295, 0) = 0"#,
            Event::CloseRange { first: 3, last: u32::MAX, on_exec_only: false, unshares: false },
        ),
        (
            r#"close_range(3, 7, CLOSE_RANGE_UNSHARE|CLOSE_RANGE_CLOEXEC) = 0"#,
            Event::CloseRange { first: 3, last: 7, on_exec_only: true, unshares: true },
        ),
        (r#"dup(3) = 4"#, Event::Dup { from: 3, outcome: done(4), on_exec: OnExec::Keep }),
        (r#"dup2(3, 9) = 9"#, Event::Dup { from: 3, outcome: done(9), on_exec: OnExec::Keep }),
        (r#"dup3(3, 9, O_CLOEXEC) = 9"#, Event::Dup { from: 3, outcome: done(9), on_exec: OnExec::Close }),
        (r#"fcntl(3, F_DUPFD, 10) = 10"#, Event::Dup { from: 3, outcome: done(10), on_exec: OnExec::Keep }),
        (r#"fcntl(3, F_DUPFD_CLOEXEC, 0) = 5"#, Event::Dup { from: 3, outcome: done(5), on_exec: OnExec::Close }),
        (r#"fcntl(3, F_SETFD, FD_CLOEXEC) = 0"#, Event::SetOnExec { fd: 3, on_exec: OnExec::Close }),
        (r#"fcntl(3, F_SETFD, 0) = 0"#, Event::SetOnExec { fd: 3, on_exec: OnExec::Keep }),
        (r#"fcntl(3, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)"#, Event::Nothing),
        (r#"fchdir(3</a>) = 0"#, Event::Fchdir { at: At::Descriptor(3, Some(Annotation::Path(b"/a"))), outcome: DONE }),
        (r#"vfork() = 12"#, Event::Clone { flags: Some(CloneFlags::empty()), outcome: done(12) }),
        (
            r#"clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 12"#,
            Event::Clone { flags: Some(CloneFlags::empty()), outcome: done(12) },
        ),
        (
            r#"clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES, exit_signal=0} => {parent_tid=[12]}, 88) = 12"#,
            Event::Clone { flags: Some(flags), outcome: done(12) },
        ),
        (
            r#"clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES}, 88) = 1 /* 12 in strace's PID NS */"#,
            Event::Clone { flags: Some(flags), outcome: done(12) },
        ),
        (r#"clone3(0x7f, 88) = 12"#, Event::Clone { flags: None, outcome: done(12) }),
        (r#"unshare(CLONE_FS|CLONE_FILES) = 0"#, Event::Unshare { flags, outcome: DONE }),
        (r#"exit_group(0) = ?"#, Event::Exit),
        (r#"write(1, "close(3) = 0"..., 30) = 30"#, Event::Nothing),
        (r#"wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL) = 12"#, Event::Nothing),
        (r#"mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3</a=b>, 0) = 0x7f00"#, Event::Nothing),
    ];
    for (text, event) in cases {
        assert_eq!(read(text), event, "{text}");
    }
}

#[test]
fn what_cannot_be_read() {
    let names = Names::new();
    for text in [
        "access(",
        "access(\"/a",
        "access(\"/a\"",
        "access(\"/a\", R_OK",
        "access(\"/a\", R_OK)",
        "access(\"/a\", R_OK) = -1 ENOENT (No such",
        "access(/a, R_OK) = 0",
        "newfstatat(\"/a\", {}, 0) = 0",
        "newfstatat(AT_FDCWD, \"/a\", {st_mode=S_IFREG, 0) = 0",
        "read(3, \"\", 10)",
        "unheard_of(1",
        "close(x) = 0",
        "dup2(3) 4",
    ] {
        assert!(names.read(text.as_bytes()).is_err(), "{text}");
    }
}
