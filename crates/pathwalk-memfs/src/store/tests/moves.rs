//! Tests of rename and exchange: results, link counts and errors.

use pathwalk::{Errno, RenameFlags};

use super::{errno, key, links};
use crate::{Error, MemFs};

/// Returns a tree with the directories `a/x`, `b/y/z`, `e` and the files `a/f`, `b/g`.
fn tree() -> MemFs {
    let fs = MemFs::new();
    for path in ["a/x", "b/y/z", "e"] {
        fs.mkdir_all(path, 0o755).unwrap();
    }
    for path in ["a/f", "b/g"] {
        fs.file(path, 0o644).unwrap();
    }
    fs
}

fn exchange(fs: &MemFs, from: &str, to: &str) -> Result<(), Error> {
    fs.rename_with(from, to, RenameFlags::EXCHANGE)
}

#[test]
fn a_file_moves_and_replaces() {
    let fs = tree();
    let (f, g) = (key(&fs, "a/f"), key(&fs, "b/g"));
    fs.rename("a/f", "a/h").unwrap();
    assert_eq!((key(&fs, "a/h"), fs.stat("a/f").is_err()), (f, true));
    fs.rename("a/h", "b/g").unwrap();
    assert_eq!((key(&fs, "b/g"), fs.stat("a/h").is_err()), (f, true));
    assert_eq!(fs.0.attributes(g), Err(Errno::ESTALE), "what was replaced is gone");
    assert_eq!((links(&fs, ["a", "b"]), fs.stat("a").unwrap().size, fs.stat("b").unwrap().size), ([3, 3], 60, 80));
    assert_eq!(fs.usage().held, 0);
}

#[test]
fn a_directory_moves_and_replaces_an_empty_one() {
    let fs = tree();
    let y = key(&fs, "b/y");
    fs.rename("b/y", "a/y").unwrap();
    assert_eq!((links(&fs, ["a", "b", "a/y"]), key(&fs, "a/y")), ([4, 2, 3], y));
    fs.rename("a/y", "a/x").unwrap();
    assert_eq!((links(&fs, ["a", "a/x"]), key(&fs, "a/x")), ([3, 3], y));
    fs.rename("a/x", "e").unwrap();
    assert_eq!((links(&fs, ["/", "a", "e"]), key(&fs, "e")), ([5, 2, 3], y));
    assert_eq!(fs.list("e").unwrap(), [b"z"]);
    // Its recorded parent is the new one.
    assert_eq!(errno(fs.rename("e", "e/z/w")), Errno::EINVAL);
    fs.rename("b", "e/z/w").unwrap();
}

#[test]
fn what_a_rename_refuses() {
    let fs = tree();
    let nodes = fs.usage().nodes;
    assert_eq!(errno(fs.rename("a/no", "a/f")), Errno::ENOENT);
    assert_eq!(errno(fs.rename("a/f", "no/f")), Errno::ENOENT);
    assert_eq!(errno(fs.rename("a/f", "b/g/h")), Errno::ENOTDIR);
    assert_eq!(errno(fs.rename("a/x", "a/f")), Errno::ENOTDIR);
    assert_eq!(errno(fs.rename("a/f", "a/x")), Errno::EISDIR);
    assert_eq!(errno(fs.rename("a", "b")), Errno::ENOTEMPTY);
    assert_eq!(errno(fs.rename("b", "b/y/z/b")), Errno::EINVAL);
    assert_eq!(errno(fs.rename("b", "b/b")), Errno::EINVAL);
    assert_eq!(errno(fs.rename("b/y/z", "b")), Errno::ENOTEMPTY);
    assert_eq!(errno(fs.rename("b/g", "b")), Errno::ENOTEMPTY);
    assert_eq!(errno(fs.rename_with("a/f", "b/g", RenameFlags::NOREPLACE)), Errno::EEXIST);
    assert_eq!(errno(fs.rename_with("a/f", "a/f", RenameFlags::NOREPLACE)), Errno::EEXIST);
    assert_eq!(errno(fs.rename_with("a/f", "b/g", RenameFlags::all())), Errno::EINVAL);
    assert_eq!(errno(exchange(&fs, "a/f", "a/no")), Errno::ENOENT);
    assert_eq!(errno(exchange(&fs, "b", "b/y")), Errno::EINVAL);
    assert_eq!(errno(exchange(&fs, "b/y/z", "b")), Errno::EINVAL);
    assert_eq!((fs.usage().nodes, fs.usage().held), (nodes, 0), "nothing was half done");
    assert_eq!(links(&fs, ["/", "a", "b", "b/y"]), [5, 3, 3, 3]);
    fs.rename_with("a/f", "a/h", RenameFlags::NOREPLACE).unwrap();
}

#[test]
fn two_names_of_one_node_stay() {
    let fs = tree();
    fs.link("a/f", "b/f").unwrap();
    fs.rename("a/f", "b/f").unwrap();
    exchange(&fs, "a/f", "b/f").unwrap();
    fs.rename("a/f", "a/f").unwrap();
    assert_eq!((links(&fs, ["a/f", "b/f"]), key(&fs, "a/f")), ([2, 2], key(&fs, "b/f")));
}

#[test]
fn two_names_are_swapped() {
    let fs = tree();
    let (f, y, x) = (key(&fs, "a/f"), key(&fs, "b/y"), key(&fs, "a/x"));
    exchange(&fs, "a/f", "b/y").unwrap();
    assert_eq!((key(&fs, "a/f"), key(&fs, "b/y"), links(&fs, ["a", "b"])), (y, f, [4, 2]));
    exchange(&fs, "b/y", "a/f").unwrap();
    assert_eq!((key(&fs, "a/f"), key(&fs, "b/y"), links(&fs, ["a", "b"])), (f, y, [3, 3]));
    exchange(&fs, "a/x", "b/y").unwrap();
    assert_eq!((key(&fs, "a/x"), key(&fs, "b/y"), links(&fs, ["a", "b"])), (y, x, [3, 3]));
    exchange(&fs, "a/x", "a/f").unwrap();
    assert_eq!((key(&fs, "a/f"), key(&fs, "a/x"), links(&fs, ["a"])), (y, f, [3]));
    // The recorded parents of both are the new ones.
    assert_eq!(errno(fs.rename("a", "a/f/z/a")), Errno::EINVAL);
    fs.rename("a", "b/y/a").unwrap();
}

#[test]
fn a_full_directory_takes_no_other() {
    let fs = MemFs::with(crate::Options::default().max_links(5));
    for path in ["d/1", "d/2", "d/3", "e/1"] {
        fs.mkdir_all(path, 0o755).unwrap();
    }
    fs.file("d/f", 0o644).unwrap();
    assert_eq!(errno(fs.rename("e/1", "d/4")), Errno::EMLINK);
    assert_eq!(errno(exchange(&fs, "e/1", "d/f")), Errno::EMLINK);
    exchange(&fs, "e/1", "d/1").unwrap();
    fs.rename("e/1", "d/1").unwrap();
    fs.rename("d/1", "d/5").unwrap();
    assert_eq!(links(&fs, ["d", "e"]), [5, 2]);
}
