//! Patches: ours by us and by `git apply`, and git's by us.

mod common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Scene, Scope, beside_outside, look, memory, rounds, shown};
use pathwalk::{Context, FileType};
use pathwalk_changes::{Error, Format, Lost, Position, left_out, patch};
use proptest::prelude::*;

/// What a patch keeps of a tree: whether a file is a link or may be executed, and its content.
type Kept = BTreeMap<Vec<u8>, (&'static str, Vec<u8>)>;

fn kept(context: &Context) -> Kept {
    let mode = |kind, mode: u16| match kind {
        FileType::Symlink => "link",
        _ if mode & 0o100 != 0 => "executable",
        _ => "plain",
    };
    let is_kept = |kind| matches!(kind, FileType::Regular | FileType::Symlink);
    let all = look(context).into_iter().filter(|(_, node)| is_kept(node.kind));
    all.map(|(path, node)| (path, (mode(node.kind, node.mode), node.data))).collect()
}

fn assert_same(found: &Kept, wanted: &Kept, what: &str, patch: &[u8]) {
    let paths = |of: &Kept| of.keys().map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>();
    assert_eq!(paths(found), paths(wanted), "{what}\n{}", String::from_utf8_lossy(patch));
    for (path, node) in wanted {
        let is_same = &found[path] == node;
        assert!(is_same, "{what}: {} is {:?}\n{}", path.escape_ascii(), found[path], String::from_utf8_lossy(patch));
    }
}

fn on_host(dir: &Path, path: &[u8]) -> PathBuf {
    dir.join(OsStr::from_bytes(&path[1..]))
}

/// Makes a tree in a directory of the host.
fn make(kept: &Kept, dir: &Path) {
    for (path, (mode, data)) in kept {
        let path = on_host(dir, path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("there is room");
        if *mode == "link" {
            symlink(OsStr::from_bytes(data), path).expect("there is room");
        } else {
            fs::write(&path, data).expect("there is room");
            let bits = if *mode == "executable" { 0o755 } else { 0o644 };
            fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("it is there");
        }
    }
}

/// Reads a tree of a directory of the host, without git's own files.
fn read(dir: &Path) -> Kept {
    let (mut all, mut open) = (Kept::new(), vec![dir.to_owned()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).expect("it is there") {
            let path = entry.expect("it is listed").path();
            let of = fs::symlink_metadata(&path).expect("it is listed");
            let name = [b"/", path.strip_prefix(dir).expect("it is below").as_os_str().as_bytes()].concat();
            if name.starts_with(b"/.git") {
            } else if of.is_dir() {
                open.push(path);
            } else if of.is_symlink() {
                all.insert(name, ("link", fs::read_link(path).expect("it is one").into_os_string().as_bytes().to_vec()));
            } else {
                let mode = if of.permissions().mode() & 0o100 != 0 { "executable" } else { "plain" };
                all.insert(name, (mode, fs::read(path).expect("it is there")));
            }
        }
    }
    all
}

fn git(dir: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "core.autocrlf=false", "-c", "gc.auto=0"]).args(args);
    git.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("GIT_CEILING_DIRECTORIES", "/");
    let mut child = git.spawn().expect("git is installed");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || _ = std::io::Write::write_all(&mut stdin, &input));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it ends");
    if output.status.success() { Ok(output.stdout) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn written(scene: &Scene) -> Vec<u8> {
    let mut out = Vec::new();
    if let Err(error) = patch::write(&scene.changes, &scene.old, &scene.new, &mut out) {
        panic!("{error}\n{}", shown(&scene.changes));
    }
    out
}

/// Checks that a patch of a scene's changes makes the old tree the new one, by us and by git.
fn assert_applied(scene: &Scene) {
    let (patch, wanted) = (written(scene), kept(&scene.new));
    let other = scene.copy("other");
    if let Err(error) = patch::apply(&patch, &other) {
        panic!("{error}\n{}\n{}", shown(&scene.changes), String::from_utf8_lossy(&patch));
    }
    assert_same(&kept(&other), &wanted, "ours", &patch);

    let dir = tempfile::tempdir().expect("there is room");
    make(&kept(&scene.old), dir.path());
    if !patch.is_empty()
        && let Err(error) = git(dir.path(), &["apply", "--binary", "--whitespace=nowarn"], &patch)
    {
        panic!("git: {error}\n{}\n{}", shown(&scene.changes), String::from_utf8_lossy(&patch));
    }
    assert_same(&read(dir.path()), &wanted, "git's", &patch);
}

#[test]
fn what_is_written_is_applied_by_us_and_by_git() {
    rounds(|random| assert_applied(&Scene::random(random, Scope::Files)));
}

#[test]
fn a_directory_comes_in_the_place_of_a_renamed_link() {
    let base = memory();
    let mut is_base = true;
    let scene = Scene::of(&base, false, |context| {
        if std::mem::take(&mut is_base) {
            context.symlink("target", "/a").expect("there is room");
        } else {
            context.rename("/a", "/b").expect("it is there");
            context.create_dir("/a").expect("there is room");
            context.write("/a/file", "new\n").expect("there is room");
        }
    });
    assert_applied(&scene);
}

#[test]
fn what_git_writes_is_applied_by_us() {
    let mut refused = 0;
    rounds(|random| {
        let scene = Scene::random(random, Scope::Files);
        let (old, new) = (kept(&scene.old), kept(&scene.new));
        let dir = tempfile::tempdir().expect("there is room");
        let run = |args: &[&str]| git(dir.path(), args, b"").expect("git works");
        run(&["init", "-q"]);
        make(&old, dir.path());
        run(&["add", "-A"]);
        run(&["commit", "-qm", "old", "--allow-empty"]);
        for entry in fs::read_dir(dir.path()).expect("it is there") {
            let path = entry.expect("it is listed").path();
            match fs::symlink_metadata(&path).expect("it is listed").is_dir() {
                _ if path.ends_with(".git") => {}
                true => fs::remove_dir_all(path).expect("it is there"),
                false => fs::remove_file(path).expect("it is there"),
            }
        }
        make(&new, dir.path());
        run(&["add", "-A"]);
        let renames = [&["-M"][..], &["-M", "-B"], &["-C", "--find-copies-harder"], &["--no-renames"]][random.usize(..4)];
        let lines = ["-U3", "-U1", "-U8"][random.usize(..3)];
        let patch = run(&[&["diff", "--cached", "--binary", lines][..], renames].concat());
        let other = scene.copy("other");
        if let Err(error) = patch::apply(&patch, &other) {
            // A rename over a file of which the patch does not say that it goes.
            run(&["reset", "-q", "--hard"]);
            run(&["clean", "-qfd"]);
            let of_git = git(dir.path(), &["apply", "--binary", "--whitespace=nowarn"], &patch);
            assert!(of_git.is_err(), "{error}\n{}", String::from_utf8_lossy(&patch));
            refused += 1;
            return;
        }
        assert_same(&kept(&other), &new, "git's patch", &patch);
    });
    println!("{refused} were refused by git, too");
}

/// Returns the parts in which a node differs from the one that is wanted.
fn lost(found: &common::Node, wanted: &common::Node) -> Lost {
    let mut lost = Lost::empty();
    lost.set(Lost::NAME, found.kind != wanted.kind || found.data != wanted.data || found.device != wanted.device);
    lost.set(Lost::OWNER, found.owner != wanted.owner);
    lost.set(Lost::MODE, found.mode != wanted.mode);
    lost.set(Lost::TIMES, found.times != wanted.times);
    lost.set(Lost::XATTRS, found.xattrs != wanted.xattrs || found.lists != wanted.lists);
    lost.set(Lost::FLAGS, found.flags != wanted.flags);
    // Another name of a pipe, socket or device may be lost.
    lost.set(Lost::LINKS, found.first != wanted.first && wanted.kind == FileType::Regular);
    lost
}

#[test]
fn what_is_lost_is_told() {
    let (mut applied, mut refused) = (0, 0);
    rounds(|random| {
        let scene = Scene::random(random, Scope::All);
        let left = left_out(Format::Patch, &scene.changes, &scene.old, &scene.new).expect("it can be read");
        let told = |path: &[u8]| left.iter().find(|left| *left.path == *path).map_or(Lost::empty(), |left| left.what);
        let (patch, other) = (written(&scene), scene.copy("other"));
        match patch::apply(&patch, &other) {
            Ok(()) => applied += 1,
            // A pipe, socket or device, or a directory with one in it, is in the way.
            Err(error @ Error::Differs { .. }) => {
                assert!(left.iter().any(|left| left.what.contains(Lost::NAME)), "{error}\n{}", shown(&scene.changes));
                refused += 1;
                return;
            }
            Err(error) => panic!("{error}\n{}\n{}", shown(&scene.changes), String::from_utf8_lossy(&patch)),
        }
        let (found, wanted) = (look(&other), look(&scene.new));
        for path in found.keys().chain(wanted.keys()) {
            let differs = match (found.get(path), wanted.get(path)) {
                (Some(found), Some(wanted)) => lost(found, wanted),
                _ => Lost::NAME,
            };
            // What is below a directory that stays, or does not come, is told with it.
            let (name, at) = (path.escape_ascii(), told(path));
            assert!(
                at.contains(Lost::NAME) || at.contains(differs),
                "{name} lost {differs:?}, told {at:?}\n{}",
                shown(&scene.changes)
            );
        }
    });
    println!("{applied} applied, {refused} refused");
}

#[test]
fn nothing_outside_is_touched() {
    let (context, inside) = beside_outside();
    let before = look(&context);
    for path in [
        "../outside/file",
        "link/file",
        "file",
        "./file",
        "x/../../outside/file",
        "link/../../outside/file",
        "way/file",
        "way/x",
        "way/below/file",
        "/outside/file",
    ] {
        for patch in [
            format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-kept\n+lost\n"),
            format!(
                "diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-kept\n"
            ),
            format!("diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n"),
            format!(
                "diff --git a/{path} b/new\nrename from {path}\nrename to new\n--- a/{path}\n+++ b/new\n@@ -1 +1 @@\n-kept\n+new\n"
            ),
            format!("diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n"),
        ] {
            let error = patch::apply(patch.as_bytes(), &inside).expect_err(&patch);
            // The body of a link has no such line.
            let is_refused = matches!(error, Error::Path { .. } | Error::Differs { .. } | Error::Hunk { .. });
            assert!(is_refused, "{patch}: {error}");
        }
    }
    common::assert_same(&look(&context), &before, "the tree");
}

#[test]
fn a_hunk_that_does_not_fit_leaves_the_tree_as_it_was() {
    let context = memory();
    context.write("/a", "one\n").expect("there is room");
    context.write("/b", "two\n").expect("there is room");
    let before = look(&context);
    let part =
        |name: &str, old: &str| format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+new\n");
    let error = patch::apply((part("a", "one") + &part("b", "three")).as_bytes(), &context).unwrap_err();
    assert!(matches!(&error, Error::Hunk { place: Position::Line(10), path } if **path == *b"/b"), "{error}");
    common::assert_same(&look(&context), &before, "the tree");
    patch::apply((part("a", "one") + &part("b", "two")).as_bytes(), &context).expect("it fits");
    assert_eq!(context.read_to_string("/b").expect("it is there"), "new\n");
}

#[test]
fn a_hunk_is_found_where_lines_have_moved() {
    let context = memory();
    let lines = |range: std::ops::Range<u32>| range.map(|number| format!("{number}\n")).collect::<String>();
    context.write("/a", lines(0..50)).expect("there is room");
    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -11,7 +11,7 @@\n 20\n 21\n 22\n-23\n+new\n 24\n 25\n 26\n";
    patch::apply(patch.as_bytes(), &context).expect("it fits elsewhere");
    assert_eq!(context.read_to_string("/a").expect("it is there"), lines(0..23) + "new\n" + &lines(24..50));
}

#[test]
fn a_binary_patch_is_for_the_file_from_which_it_was_made() {
    let base = memory();
    let mut is_base = true;
    let scene = Scene::of(&base, false, |context| {
        let first = if std::mem::take(&mut is_base) { 0 } else { 1 };
        context.write("/file", [first, 0, 2]).expect("there is room");
    });
    let (patch, other) = (written(&scene), scene.copy("other"));
    other.write("/file", [7, 0, 2]).expect("there is room");
    let error = patch::apply(&patch, &other).unwrap_err();
    assert!(matches!(error, Error::Differs { .. }), "{error}");
    other.write("/file", [0, 0, 2]).expect("there is room");
    patch::apply(&patch, &other).expect("it is the file");
    assert_eq!(other.read("/file").expect("it is there"), [1, 0, 2]);
}

#[test]
fn a_large_file_is_binary_and_passed_on_in_parts() {
    let base = memory();
    let mut is_base = true;
    let scene = Scene::of(&base, false, |context| {
        let first = if std::mem::take(&mut is_base) { "old" } else { "new" };
        context.write("/file", format!("{first}{}", "0123456789\n".repeat(300_000))).expect("there is room");
    });
    let (patch, other) = (written(&scene), scene.copy("other"));
    assert!(patch.windows(16).any(|part| part == b"GIT binary patch"), "it is binary");
    patch::apply(&patch, &other).expect("it is the file");
    assert_same(&kept(&other), &kept(&scene.new), "the tree", b"");
}

#[test]
fn malformed_input_is_an_error_with_its_place() {
    let head = "diff --git a/a b/a\n";
    for (patch, line) in [
        ("no patch", 1),
        ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n", 1),
        (&format!("{head}old mode 100666x\n"), 2),
        (&format!("{head}index 12..zz\n"), 2),
        (&format!("{head}--- a/a\n"), 2),
        (&format!("{head}--- a/a\n+++ b/a\n@@ -1 +1\n"), 4),
        (&format!("{head}--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n"), 4),
        (&format!("{head}--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n-b\n"), 6),
        (&format!("{head}GIT binary patch\nliteral x\n"), 3),
        (&format!("{head}GIT binary patch\nliteral 1\nA\n"), 4),
        (&format!("{head}Binary files a/a and b/a differ\n"), 2),
        ("diff --git a/a b/b\n", 1),
    ] {
        let error = patch::apply(patch.as_bytes(), &memory()).expect_err(patch);
        assert!(matches!(error, Error::Malformed { place: Position::Line(at), .. } if at == line), "{patch}: {error}");
    }
}

#[test]
fn no_input_makes_it_panic() {
    let mut is_base = true;
    let scene = Scene::of(&memory(), false, |context| {
        let is_base = std::mem::take(&mut is_base);
        context.write("/text", if is_base { "one\ntwo\n" } else { "one\n2\n" }).expect("there is room");
        context.write("/binary", if is_base { [0; 9] } else { [1, 0, 1, 2, 3, 4, 5, 6, 7] }).expect("there is room");
        if is_base {
            context.write("/old", "some text").expect("there is room");
        } else {
            context.rename("/old", "/ne w").expect("the name is free");
            context.symlink("ne w", "/link").expect("the name is free");
        }
    });
    let patch = written(&scene);
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    proptest!(|(at in 0..10_000_usize, with in bytes(9), any in bytes(200))| {
        let mut damaged = patch.clone();
        let at = at % damaged.len();
        let end = (at + with.len()).min(damaged.len());
        damaged.splice(at..end, with);
        _ = scene.on_copy(|copy| patch::apply(&damaged, copy));
        _ = scene.on_copy(|copy| patch::apply(&[b"diff --git ", &any[..]].concat(), copy));
    });
}
