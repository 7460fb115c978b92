//! Tests of arguments and results of every form.

use super::*;

fn first_descriptor(text: &[u8]) -> Result<At<'_>, Problem> {
    Arguments::of(text).unwrap().1.at()
}

#[test]
fn descriptors() {
    let path = |path| Some(Annotation::Path(path));
    let cases: [(&[u8], At<'_>); 15] = [
        (b"f(AT_FDCWD, 1)", At::Cwd(None)),
        (b"f(AT_FDCWD</a,b)c>, 1)", At::Cwd(path(b"/a,b)c"))),
        (b"f(AT_FDCWD</a>(deleted), 1)", At::Cwd(Some(Annotation::Deleted))),
        (b"f(AT_FDCWD</a (deleted)>, 1)", At::Cwd(Some(Annotation::Deleted))),
        (b"f( 3)", At::Descriptor(3, None)),
        (b"f(-1, 1)", At::Descriptor(-1, None)),
        (b"f(3</>)", At::Descriptor(3, path(b"/"))),
        (b"f(3</a\\76b>, 1)", At::Descriptor(3, path(b"/a\\76b"))),
        (b"f(3</dev/pts/0<char 136:0>>, 1)", At::Descriptor(3, path(b"/dev/pts/0"))),
        (b"f(3<socket:[1]>, 1)", At::Descriptor(3, Some(Annotation::NoPath))),
        (b"f(3<TCP:[127.0.0.1:1->127.0.0.1:2]>, 1)", At::Descriptor(3, Some(Annotation::NoPath))),
        (b"f(3<UNIX-STREAM:[1->2, \"/a\"]>, 1)", At::Descriptor(3, Some(Annotation::NoPath))),
        (b"f(3<anon_inode:[eventpoll]>)", At::Descriptor(3, Some(Annotation::NoPath))),
        (b"f(4<pidfd:12>)", At::Descriptor(4, Some(Annotation::NoPath))),
        (b"f(3</a> [system_u:object_r:etc_t:s0], 1)", At::Descriptor(3, path(b"/a"))),
    ];
    for (text, at) in cases {
        assert_eq!(first_descriptor(text), Ok(at), "{}", text.escape_ascii());
    }
    for bad in ["f(3</a, 1)", "f(", "f(3", "f(x)", "f(99999999999)", "f(3</dev/pts/0<char)"] {
        assert!(first_descriptor(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn paths() {
    let cases: [(&[u8], PathText<'_>); 8] = [
        (b"f(\"/a\")", PathText::Whole(b"/a")),
        (b"f(\"\", 1)", PathText::Whole(b"")),
        (b"f(\"a\\\"),(b\\\\\", 1)", PathText::Whole(b"a\\\"),(b\\\\")),
        (b"f(\"/aaa\"..., 1)", PathText::Unknown),
        (b"f(0x7ffd01, 1)", PathText::Unknown),
        (b"f(NULL, 1)", PathText::Null),
        (b"f(\"/a\" [etc_t], 1)", PathText::Whole(b"/a")),
        (b"f( \"/a\" )", PathText::Whole(b"/a")),
    ];
    for (text, path) in cases {
        assert_eq!(Arguments::of(text).unwrap().1.path(), Ok(path), "{}", text.escape_ascii());
    }
    for bad in ["f(\"/a", "f(\"/a\\", "f(\"/a\\\"", "f(", "f(hello)", "f(\"/a\""] {
        assert!(Arguments::of(bad.as_bytes()).unwrap().1.path().is_err(), "{bad}");
    }
}

#[test]
fn outcomes() {
    let done = |value| Outcome::Done(value, None);
    let cases: [(&[u8], Outcome<'_>); 16] = [
        (b"f() = 0", done(0)),
        (b"f(1, {a={b=\"}\"}, c}, [\"]\", 2])     = 12 <0.000012>", done(12)),
        (b"f({st_rdev=makedev(0x1, 0x3), ...}) = 0", done(0)),
        (b"f() = 3</a = b>", Outcome::Done(3, Some(Annotation::Path(b"/a = b")))),
        (b"f() = 3</a>(deleted)", Outcome::Done(3, Some(Annotation::Deleted))),
        (b"f() = 12 /* 345 in strace's PID NS */", done(345)),
        (b"f() = 12<sh> <0.01>", Outcome::Done(12, Some(Annotation::NoPath))),
        (b"f() = 0x7f00 (flags O_RDWR)", done(i64::MAX)),
        (b"f() = 1 (Timeout)", done(1)),
        (b"f() = -1 ENOENT (No such file or directory) <0.1>", Outcome::Absent),
        (b"f() = -1 ENOENT", Outcome::Absent),
        (b"f() = -1 EACCES (Permission denied) (INJECTED)", Outcome::Failed),
        (b"f() = -1 (errno 95)", Outcome::Failed),
        (b"f() = ?", Outcome::Unknown),
        (b"f() = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", Outcome::Unknown),
        (b"f() = ? <unavailable>", Outcome::Unknown),
    ];
    for (text, outcome) in cases {
        assert_eq!(Arguments::of(text).unwrap().1.outcome(), Ok(outcome), "{}", text.escape_ascii());
    }
    for bad in ["f(", "f(1", "f()", "f() ", "f() =", "f() = ", "f() = x", "f() = -1 ENOENT (No such", "f() = 3</a", "f({) = 0"] {
        assert!(Arguments::of(bad.as_bytes()).unwrap().1.outcome().is_err(), "{bad}");
    }
}
