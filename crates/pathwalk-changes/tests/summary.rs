//! The summary: what it says, renames that it finds, and its width.

mod common;

use common::{Scene, Scope, rounds};
use pathwalk::{Context, Credentials, Vfs};
use pathwalk_changes::summary;
use pathwalk_memfs::MemFs;
use unicode_width::UnicodeWidthStr as _;

fn written(scene: &Scene, width: usize) -> String {
    let mut out = Vec::new();
    summary::write(&scene.changes, &scene.old, &scene.new, width, &mut out).expect("it can be written");
    String::from_utf8(out).expect("it is text")
}

fn scene(base: impl Fn(&Context), change: impl Fn(&Context)) -> Scene {
    let on = Vfs::builder().build(MemFs::new()).expect("there is a root").context(Credentials::root());
    base(&on);
    let mut is_base = true;
    Scene::of(&on, false, |context| {
        if !std::mem::take(&mut is_base) {
            change(context)
        }
    })
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| format!("line {number}\n")).collect()
}

#[test]
fn all_that_changed_is_in_it() {
    let base = |context: &Context| {
        context.create_dir_all("/target/deep").expect("there is room");
        context.write("/target/deep/object", vec![7; 123_456]).expect("there is room");
        context.write("/target/other", "x").expect("there is room");
        context.write("/moved", lines(0..100)).expect("there is room");
        context.write("/rewritten", lines(200..300)).expect("there is room");
        context.write("/log", "12345").expect("there is room");
        context.create_dir("/named").expect("there is room");
    };
    let change = |context: &Context| {
        context.remove_dir_all("/target").expect("it is there");
        context.remove_file("/moved").expect("it is there");
        context.write("/there", lines(0..100)).expect("there is room");
        context.remove_file("/rewritten").expect("it is there");
        context.write("/again", lines(210..310)).expect("there is room");
        context.write("/log", "1234567").expect("there is room");
        context.rename("/named", "/renamed").expect("the name is free");
        context.hard_link("/log", "/more").expect("the name is free");
    };
    let expected = "\
renamed  /rewritten -> /again   90 % the same        900
changed  /log                   data              5 -> 7
added    /more = /log                                  7
renamed  /named/ -> /renamed/
removed  /target/               with 2 files     123,457
renamed  /moved -> /there       100 % the same       790

1 added, 1 changed, 1 removed, 3 renamed
";
    assert_eq!(written(&scene(base, change), 80), expected);
    assert_eq!(written(&scene(base, |_| {}), 80), "nothing changed\n");
    let narrow = written(&scene(base, change), 40);
    assert!(narrow.starts_with("renamed  /rewritten -> /again\n         90 % the same\n         900\n"), "{narrow}");
}

#[test]
fn a_file_in_the_place_of_another_is_changed() {
    let base = |context: &Context| {
        context.create_dir("/d").expect("there is room");
        context.write("/d/saved", "old").expect("there is room");
        context.write("/as_it_was", lines(0..100)).expect("there is room");
        context.write("/linked", "12345").expect("there is room");
    };
    let change = |context: &Context| {
        // As a program saves a file.
        context.write("/d/saved.new", "new and longer").expect("there is room");
        context.rename("/d/saved.new", "/d/saved").expect("it is there");
        context.write("/other", lines(0..100)).expect("there is room");
        context.rename("/other", "/as_it_was").expect("it is there");
        context.remove_file("/linked").expect("it is there");
        context.symlink("d/saved", "/linked").expect("the name is free");
        context.rename("/d", "/e").expect("the name is free");
    };
    let expected = "\
changed  /as_it_was   replaced         790
renamed  /d/ -> /e/
changed  /e/saved     replaced     3 -> 14
changed  /linked      was a file

3 changed, 1 renamed
";
    assert_eq!(written(&scene(base, change), 80), expected);
}

#[test]
fn what_is_less_than_half_the_same_is_no_rename() {
    let base = |context: &Context| context.write("/old", lines(0..100)).expect("there is room");
    let change = |context: &Context| {
        context.remove_file("/old").expect("it is there");
        context.write("/new", lines(55..155)).expect("there is room");
    };
    let text = written(&scene(base, change), 80);
    assert!(text.contains("added    /new") && text.contains("removed  /old"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_table_may_be() {
    rounds(|random| {
        let scene = Scene::random(random, Scope::All);
        let width = random.usize(40..120);
        let text = written(&scene, width);
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    });
}
