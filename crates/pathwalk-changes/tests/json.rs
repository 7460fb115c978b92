//! JSON: what is written gives an equal tree, and what is refused changes nothing.

mod common;

use std::io::Cursor;

use common::{Scene, Scope, assert_same, beside_outside, look, memory, rounds, shown};
use pathwalk::{Context, Credentials, OpenFlags};
use pathwalk_changes::{Error, Position, json};
use proptest::prelude::*;

#[test]
fn what_is_applied_gives_an_equal_tree() {
    rounds(|random| {
        let scene = Scene::random(random, Scope::All);
        let before = look(&scene.new);
        let mut out = Vec::new();
        if let Err(error) = json::write(&scene.changes, &scene.old, &scene.new, &mut out) {
            panic!("{error}\n{}", shown(&scene.changes));
        }
        let other = scene.copy("other");
        if let Err(error) = json::apply(Cursor::new(&out), &other) {
            panic!("{error}\n{}\n{}", shown(&scene.changes), String::from_utf8_lossy(&out));
        }
        assert_same(&look(&other), &before, "the tree");
        assert_same(&look(&scene.new), &before, "the branch, which was only read");
    });
}

/// Makes a base and a branch of it, and returns the JSON of that.
fn written(base: impl Fn(&Context), change: impl Fn(&Context)) -> (Scene, Vec<u8>) {
    let on = memory();
    base(&on);
    let mut is_base = true;
    let scene = Scene::of(&on, false, |context| {
        if !std::mem::take(&mut is_base) {
            change(context)
        }
    });
    let mut out = Vec::new();
    json::write(&scene.changes, &scene.old, &scene.new, &mut out).expect("it can be written");
    (scene, out)
}

#[test]
fn names_are_exchanged_and_directories_turned_inside_out() {
    let base = |context: &Context| {
        context.create_dir_all("/a/b/c").expect("there is room");
        context.write("/a/file", "a").expect("there is room");
        context.write("/one", "1").expect("there is room");
        context.write("/two", "2").expect("there is room");
    };
    let change = |context: &Context| {
        context.rename("/a/b", "/new").expect("the name is free");
        context.rename("/a", "/new/c/a").expect("the name is free");
        for (from, to) in [("/one", "/x"), ("/two", "/one"), ("/x", "/two")] {
            context.rename(from, to).expect("the name is free");
        }
    };
    let (scene, out) = written(base, change);
    let other = scene.copy("other");
    json::apply(Cursor::new(&out), &other).expect("it can be applied");
    assert_same(&look(&other), &look(&scene.new), "the tree");
    assert_eq!(other.stat("/").expect("it is there").mtime, scene.new.stat("/").expect("it is there").mtime);
    assert_eq!(other.stat("/new/c").expect("it is there").mtime, scene.new.stat("/new/c").expect("it is there").mtime);
}

/// A file that is replaced by another one of its type: what else the old one had, and its other
/// names, are of no concern to the new one.
#[test]
fn a_file_in_the_place_of_another_is_a_new_one() {
    let base = |context: &Context| {
        context.write("/file", "old").expect("there is room");
        context.setxattr("/file", "user.a", "old", pathwalk::XattrFlags::empty()).expect("it is there");
        context.hard_link("/file", "/other").expect("the name is free");
    };
    let change = |context: &Context| {
        context.remove_file("/file").expect("it is there");
        context.write("/file", "new").expect("there is room");
    };
    let (scene, out) = written(base, change);
    let other = scene.copy("other");
    json::apply(Cursor::new(&out), &other).expect("it can be applied");
    assert_same(&look(&other), &look(&scene.new), "the tree");
    assert_eq!(other.read_to_string("/other").expect("it is there"), "old");
}

#[test]
fn holes_stay_holes() {
    let change = |context: &Context| {
        let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE).expect("it can be made");
        file.set_len(1 << 40).expect("it may be long");
        file.write_at(b"text", 1 << 30).expect("there is room");
    };
    let (scene, out) = written(|_| {}, change);
    assert!(out.len() < 100_000, "{} bytes", out.len());
    let other = scene.copy("other");
    json::apply(Cursor::new(&out), &other).expect("it can be applied");
    let of = other.stat("/file").expect("it is there");
    assert!(of.size == 1 << 40 && of.blocks < 1000, "{of:?}");
    let file = other.open("/file", OpenFlags::READ).expect("it is there");
    let mut read = [0; 4];
    file.read_at(&mut read, 1 << 30).expect("it can be read");
    assert_eq!(&read, b"text");
}

/// Returns the lines of a document, with the first and the last one.
fn document(lines: &[&str]) -> String {
    let end = format!(r#"{{"end":{{"lines":{}}}}}"#, lines.len() + 1);
    let all = [&[r#"{"format":{"name":"pathwalk changes","version":1}}"#], lines, &[&end]].concat();
    all.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn nothing_outside_is_touched() {
    let (context, inside) = beside_outside();
    let before = look(&context);
    let node = r#"{"kind":"file","mode":420,"uid":0,"gid":0,"size":1,"mtime":{"seconds":0,"nanoseconds":0}}"#;
    let refused = |line: &str| json::apply(Cursor::new(document(&[line])), &inside).expect_err(line);
    for path in
        ["/../outside/x", "/link/x", "outside", "/./x", "", "/x/", "//x", "/file/x", "/way/file", "/way/below/file", "/way/x"]
    {
        for line in [
            format!(r#"{{"new":{{"path":"{path}","node":{node}}}}}"#),
            format!(r#"{{"removed":{{"path":"{path}","kind":"file"}}}}"#),
            format!(r#"{{"renamed":{{"from":"{path}","to":"/y","kind":"file"}}}}"#),
            format!(r#"{{"renamed":{{"from":"/file","to":"{path}","kind":"link"}}}}"#),
            format!(r#"{{"link":{{"path":"{path}","to":"/file"}}}}"#),
            format!(r#"{{"link":{{"path":"/y","to":"{path}"}}}}"#),
            format!(r#"{{"changed":{{"path":"{path}","was":"{path}","what":["data"],"node":{node}}}}}"#),
        ] {
            let error = refused(&line);
            assert!(matches!(error, Error::Path { .. } | Error::Differs { .. }), "{line}: {error}");
        }
    }
    let error = refused(&format!(r#"{{"changed":{{"path":"/file","was":"/file","what":["data"],"node":{node}}}}}"#));
    assert!(matches!(error, Error::Differs { .. }), "{error}");
    assert_same(&look(&context), &before, "the tree");
}

#[test]
fn an_error_says_where_it_is() {
    let context = memory();
    let cut = document(&[]).replace("\n{\"end", "\n\n{\"end");
    let error = json::apply(Cursor::new(cut), &context).unwrap_err();
    assert!(matches!(error, Error::Malformed { place: Position::Line(2), .. }), "{error}");
    let whole = document(&[r#"{"removed":{"path":"/a","kind":"file"}}"#]);
    for end in 0..whole.len() {
        let error = json::apply(Cursor::new(&whole[..end]), &context).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{end}: {error}");
    }
    let error = json::apply(Cursor::new(whole), &context).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"/a\" is not there, or a link leads to it: apply the changes to a tree that is, there, as the one that they were made on"
    );
}

/// A file that comes after a directory in which a later change cannot be made.
#[test]
fn an_application_that_fails_says_at_which_change() {
    let change = |context: &Context| context.chown("/file", Some(7), None).expect("it is there");
    let (_, out) = written(|context| context.write("/file", "text").expect("there is room"), change);
    let other = memory();
    other.write("/file", "text").expect("there is room");
    let user = other.with_credentials(Credentials::user(1000, 1000, &[]));
    let error = json::apply(Cursor::new(&out), &user).unwrap_err();
    assert!(error.to_string().starts_with("stopped at the attributes of \"/file\": cannot set the attributes of"), "{error}");
}

#[test]
fn no_input_makes_it_panic() {
    let base = |context: &Context| context.write("/old", "text\n").expect("there is room");
    let change = |context: &Context| {
        context.mkdir("/dir", 0o755).expect("there is room");
        context.rename("/old", "/dir/new").expect("the name is free");
        context.write("/dir/b", "bytes").expect("there is room");
        context.hard_link("/dir/b", "/link").expect("there is room");
    };
    let (scene, out) = written(base, change);
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    proptest!(|(at in 0..10_000_usize, with in bytes(9), any in bytes(200))| {
        let mut damaged = out.clone();
        let at = at % damaged.len();
        let end = (at + with.len()).min(damaged.len());
        damaged.splice(at..end, with);
        _ = scene.on_copy(|copy| json::apply(Cursor::new(&damaged), copy));
        _ = scene.on_copy(|copy| json::apply(Cursor::new(&any), copy));
    });
}

/// Another thread puts a link to elsewhere in the place of a directory, and takes it away, while
/// changes below that directory are applied.
#[test]
fn no_link_is_followed_while_directories_are_swapped_for_links() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let base = |context: &Context| {
        context.create_dir_all("/dir/below").expect("there is room");
        context.write("/dir/below/old", "old").expect("there is room");
        context.write("/dir/below/gone", "gone").expect("there is room");
    };
    let change = |context: &Context| {
        context.write("/dir/below/old", "changed").expect("there is room");
        context.remove_file("/dir/below/gone").expect("it is there");
        context.write("/dir/below/new", "new").expect("there is room");
        context.mkdir("/dir/below/more", 0o755).expect("there is room");
    };
    let (_, out) = written(base, change);
    let elsewhere = |context: &Context| look(context).into_iter().filter(|(path, _)| path.starts_with(b"/elsewhere")).collect();
    let (mut applied, mut stopped) = (0, 0);
    for _ in 0..200 {
        let context = memory();
        base(&context);
        context.create_dir_all("/elsewhere/below").expect("there is room");
        context.write("/elsewhere/below/old", "kept").expect("there is room");
        context.write("/elsewhere/below/gone", "kept").expect("there is room");
        context.symlink("elsewhere", "/link").expect("there is room");
        let before = elsewhere(&context);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (root, exchange) = (context.root(), pathwalk::RenameFlags::EXCHANGE);
                while !is_done.load(Ordering::Relaxed) {
                    context.renameat(root, "dir", root, "link", exchange).expect("both are there");
                }
            });
            match json::apply(Cursor::new(&out), &context) {
                Ok(()) => applied += 1,
                Err(_) => stopped += 1,
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert_same(&elsewhere(&context), &before, "where the link leads");
    }
    println!("{applied} were applied, {stopped} stopped");
}
