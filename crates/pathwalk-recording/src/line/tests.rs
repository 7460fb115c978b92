//! Tests of lines of every form.

use super::*;

#[test]
fn prefixes() {
    let call = b"access(\"/a\", F_OK) = 0";
    let cases = [
        ("", Who::Unnamed),
        ("12 ", Who::Plain(12)),
        ("12    ", Who::Plain(12)),
        ("[pid    12] ", Who::Bracketed(12)),
        ("12<sh> ", Who::Plain(12)),
        ("[pid 12<sh>] ", Who::Bracketed(12)),
        ("12:30:22 ", Who::Unnamed),
        ("12  12:30:22 ", Who::Plain(12)),
        ("12  12:30:22.123456 ", Who::Plain(12)),
        ("1700000000.123456 ", Who::Unnamed),
        ("12 1700000000.123456 ", Who::Plain(12)),
        ("     0.000012 ", Who::Unnamed),
        ("12        0.000012 ", Who::Plain(12)),
        ("[pid 12]      0.000012 ", Who::Bracketed(12)),
        ("12 12:30:22 (+     0.000012) ", Who::Plain(12)),
        ("12 2024-01-02T12:30:22+0100 ", Who::Plain(12)),
        ("12 [ 257] ", Who::Plain(12)),
        ("12 12:30:22 [00007f0123456789] ", Who::Plain(12)),
        ("[????????] ", Who::Unnamed),
    ];
    for (prefix, who) in cases {
        let text = [prefix.as_bytes(), call].concat();
        assert_eq!(parse(&text), Line { who, body: Body::Call(call) }, "{prefix}");
        assert_eq!(parse(&[&text[..], b"\r"].concat()).body, Body::Call(call), "{prefix}");
    }
}

#[test]
fn bodies() {
    let cases: [(&str, Body<'_>); 32] = [
        ("f(\"/a\") = 3</a> <0.000012>", Body::Call(b"f(\"/a\") = 3</a>")),
        ("f(\"/a\") = 12<1.5>", Body::Call(b"f(\"/a\") = 12<1.5>")),
        ("f(>", Body::Call(b"f(>")),
        ("vfork( <unfinished ...>", Body::Unfinished(b"vfork(")),
        ("read(3 <detached ...>", Body::Unfinished(b"read(3")),
        ("<... vfork resumed>)              = 12", Body::Resumed { name: b"vfork", text: b")              = 12" }),
        ("<... vfork resumed> ) = 12", Body::Resumed { name: b"vfork", text: b" ) = 12" }),
        ("execve(\"/a\", 0x1 <pid changed to 7 ...>", Body::PidChanged { text: b"execve(\"/a\", 0x1", to: 7 }),
        ("+++ exited with 0 +++", Body::Exited),
        ("+++ killed by SIGKILL (core dumped) +++", Body::Exited),
        ("+++ superseded by execve in pid 8 +++", Body::Became(8)),
        ("--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---", Body::Note),
        ("--- stopped by SIGSTOP ---", Body::Note),
        ("strace: Process 7 attached", Body::Note),
        ("Process 7 attached (waiting for parent)", Body::Note),
        ("Process 7 detached", Body::Note),
        ("", Body::Note),
        (" > /lib/libc.so.6(fork+0x10) [0x1234]", Body::Note),
        ("vfork(strace: Process 7 attached", Body::Broken { message: 26 }),
        ("vfork(Process 7 attached", Body::Broken { message: 18 }),
        ("hello, world", Body::Garbage),
        ("+++ hello", Body::Garbage),
        ("--- hello", Body::Garbage),
        ("<... vfork", Body::Garbage),
        ("<html>", Body::Garbage),
        ("[pid", Body::Garbage),
        ("[pid 7", Body::Garbage),
        ("99999999999 access(\"/a\", F_OK) = 0", Body::Call(b"access(\"/a\", F_OK) = 0")),
        ("12", Body::Garbage),
        ("12<", Body::Garbage),
        ("\u{1b}[1m", Body::Garbage),
        ("f <unfinished ...>", Body::Garbage),
    ];
    for (text, body) in cases {
        assert_eq!(parse(text.as_bytes()).body, body, "{text}");
    }
}

#[test]
fn ends() {
    for (text, ends) in [
        ("f(1) = 0", true),
        ("f()      = ?", true),
        ("f(1) = 3</a=b>", true),
        ("f(1)", false),
        ("f(a = b", false),
        ("f() =", false),
    ] {
        assert_eq!(ends_like_a_call(text.as_bytes()), ends, "{text}");
    }
}
