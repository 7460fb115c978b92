//! Tests that a text is read as if it were the first one, whatever came before.

use proptest::prelude::*;

use super::*;

/// Reads each text so often that its form is known, and then all texts once more, so that forms of
/// similar texts take turns. Asserts that each is read as without forms.
fn assert_read_alike(texts: &[&str]) {
    let (names, mut forms) = (Names::new(), Forms::new());
    for text in texts.iter().flat_map(|text| [text; 3]).chain(texts) {
        assert_eq!(forms.read(&names, text.as_bytes()), names.read(text.as_bytes()), "{text}");
    }
}

#[test]
fn parts_differ_and_the_rest_is_the_same() {
    assert_read_alike(&[
        r#"newfstatat(AT_FDCWD</a>, "b", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0"#,
        r#"newfstatat(AT_FDCWD</a/c>, "/d", {st_mode=S_IFDIR|0755, ...}, 0) = 0"#,
        r#"newfstatat(AT_FDCWD</a>, "", {st_mode=S_IFREG|0644, ...}, 0) = 0"#,
        r#"newfstatat(3</a>, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0"#,
        r#"newfstatat(3</b>, "x", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0"#,
        r#"openat(AT_FDCWD</a>, "b", O_RDONLY|O_CLOEXEC) = 3</a/b>"#,
        r#"openat(AT_FDCWD</b>, "c", O_RDONLY|O_CLOEXEC) = 3</b/c>"#,
        r#"openat(AT_FDCWD</b>, "c", O_RDONLY|O_CLOEXEC) = 3</b/c>(deleted)"#,
        r#"openat(AT_FDCWD</b>, "c", O_RDONLY|O_CLOEXEC) = 3</b/c (deleted)>"#,
        r#"openat(AT_FDCWD</b (deleted)>, "c", O_RDONLY|O_CLOEXEC) = 3</b/c>"#,
        r#"openat(AT_FDCWD</b>, "null", O_RDWR) = 3</dev/null<char 1:3>>"#,
        r#"openat(AT_FDCWD</b>, "\303\251", O_RDONLY|O_CLOEXEC) = 3</b/x>"#,
        r#"openat(AT_FDCWD</b>, "cut"..., O_RDONLY|O_CLOEXEC) = 3</b/x>"#,
        r#"openat2(3</a>, "p", {flags=O_RDONLY, resolve=0}, 24) = 4</a/p>"#,
        r#"openat2(3</a>, "p", {flags=O_RDONLY|O_DIRECTORY, resolve=RESOLVE_BENEATH}, 24) = 4</a/p>"#,
        r#"openat2(3</a>, "p", {flags=O_WRONLY|O_CREAT, mode=0600}, 24) = 4</a/p>"#,
        r#"readlink("/a", "b", 4096) = 1"#,
        r#"readlink("/c", "=) d", 4096) = 4"#,
        r#"clone3({flags=CLONE_FS, exit_signal=SIGCHLD}, 88) = 9"#,
        r#"clone3({flags=CLONE_FILES, exit_signal=SIGCHLD}, 88) = 9"#,
        r#"getcwd("/a", 4096) = 3"#,
        r#"getcwd("/b", 4096) = 3"#,
        r#"close(3</a>) = 0"#,
        r#"close(3</b>) = 0"#,
        r#"close(3<socket:[1]>) = 0"#,
        r#"read(3</a>, "x) = 1", 5) = 5"#,
        r#"read(3</a>, "y", 5"#,
        r#"mkdir("/a", 0777) = 0"#,
    ]);
}

const PIECES: [&str; 30] = [
    "openat(",
    "newfstatat(",
    "close(",
    "read(",
    "AT_FDCWD",
    "3",
    "</a>",
    "</b/c>",
    "<",
    ">",
    "\"",
    "\"a\"",
    "\"/b\"",
    "\"\"",
    "\\",
    "{",
    "}",
    "{st_mode=S_IFREG}",
    "(deleted)",
    " (deleted)>",
    "...",
    ", ",
    "O_RDONLY",
    "AT_EMPTY_PATH",
    "0",
    ")",
    " = ",
    " = 0",
    " = 3</a>",
    " = -1 ENOENT (No such file or directory)",
];

proptest! {
    #[test]
    fn anything(calls in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 1..12), 1..20)) {
        let texts: Vec<String> = calls.iter().map(|call| call.iter().map(|piece| PIECES[*piece]).collect()).collect();
        assert_read_alike(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn calls_with_odd_parts(
        calls in prop::collection::vec((0..3usize, prop::collection::vec(0..PIECES.len(), 0..3), prop::collection::vec(0..PIECES.len(), 0..3)), 1..20)
    ) {
        let joined = |pieces: &[usize]| pieces.iter().map(|piece| PIECES[*piece]).collect::<String>();
        let call = |(kind, one, other): &(usize, Vec<usize>, Vec<usize>)| {
            let (one, other) = (joined(one), joined(other));
            match kind {
                0 => format!("newfstatat(AT_FDCWD</{one}>, \"{other}\", {{}}, AT_EMPTY_PATH) = 0"),
                1 => format!("openat(3</a{one}>, \"b\", O_RDONLY) = 4</{other}>"),
                _ => format!("readlink(\"{one}\", \"{other}\", 9) = 3"),
            }
        };
        let texts: Vec<String> = calls.iter().map(call).collect();
        assert_read_alike(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}
