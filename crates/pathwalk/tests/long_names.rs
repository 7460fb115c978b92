//! Names that do not fit into a dentry's line, and bodies of links, where there is little room for
//! them.

use pathwalk::{Access, At, Context, Credentials, Errno, NewKind, Vfs};
use pathwalk_memfs::MemFs;

/// The maximum length of a name.
const LONGEST: usize = 255;
/// The number of names in a path of 4,095 bytes, with a slash between each two.
const NAMES: usize = 16;

/// Returns a name of maximum length that begins with this letter. Names differ for different
/// numbers.
fn name(letter: char, number: usize) -> String {
    format!("{letter}{number:0>width$}", width = LONGEST - 1)
}

/// Returns a path of 4,095 bytes.
fn long_path(letter: char) -> String {
    (0..NAMES).map(|number| name(letter, number)).collect::<Vec<_>>().join("/")
}

fn least(fs: &MemFs) -> Context {
    Vfs::builder().budget(Vfs::budget_for(0)).build(fs.alias()).unwrap().context(Credentials::root())
}

/// Creates `a…/…/file`, with a link in each of its directories.
fn tree() -> MemFs {
    let fs = MemFs::new();
    let mut dir = String::new();
    for number in 0..NAMES {
        let path = format!("{dir}/{}", name('a', number));
        if number + 1 == NAMES {
            fs.file(&path, 0o644).unwrap();
        } else {
            fs.mkdir(&path, 0o755).unwrap();
            dir = path;
        }
    }
    fs
}

#[test]
fn a_name_of_each_length_is_found_in_the_caches() {
    let fs = MemFs::new();
    fs.mkdir("/dir", 0o755).unwrap();
    let who = Vfs::builder().budget(16 << 20).build(fs).unwrap().context(Credentials::root());
    for length in 1..=LONGEST {
        // All words of two names are equal but the last.
        let paths = ["a", "b"].map(|last| format!("/dir/{}{last}", "n".repeat(length - 1)));
        who.mkdir(&paths[0], 0o755).unwrap();
        assert_eq!((who.stat(&paths[0]).is_ok(), who.stat(&paths[1]).is_ok()), (true, false));
        assert_eq!(who.cached().stat(&paths[0]).map(drop), Ok(()), "{length}");
        assert_eq!(who.cached().stat(&paths[1]).map(drop), Err(Errno::ENOENT), "{length}");
    }
}

#[test]
fn the_longest_path_is_walked_with_the_least_budget() {
    let fs = tree();
    let path = long_path('a');
    assert_eq!(path.len(), 4095);
    let who = least(&fs);
    assert!(who.stat(&path).is_ok(), "cold");
    let calls = fs.calls();
    assert!(who.stat(&path).is_ok());
    assert_eq!(fs.calls().since(&calls).lookup, 0, "warm");
    let handle = who.lookup(&path).unwrap();
    assert_eq!(handle.path().unwrap().len(), 4096);
    for number in 0..500 {
        assert_eq!(who.access(format!("/{}", name('n', number)), Access::empty()), Err(Errno::ENOENT), "{number}");
    }
    drop(handle);
    for number in 0..500 {
        assert_eq!(who.access(format!("/{}", name('m', number)), Access::empty()), Err(Errno::ENOENT), "{number}");
        if number % 50 == 0 {
            assert!(who.stat(&path).is_ok(), "{number}: with eviction");
        }
    }
    assert!(who.vfs().stats().evictions > 500);
}

/// Follows a link that is the last name of a path of 4,095 bytes, and has an equally long body.
#[test]
fn links_with_the_longest_bodies_are_followed_with_the_least_budget() {
    let fs = tree();
    let above = format!("/{}", &long_path('a')[..4095 - LONGEST - 1]);
    let mut dir = above.clone();
    for number in 0..NAMES {
        let path = format!("{dir}/{}", name('b', number));
        if number + 1 == NAMES {
            fs.file(&path, 0o600).unwrap()
        } else {
            fs.mkdir(&path, 0o755).unwrap()
        }
        dir = path;
    }
    let relative = name('l', 0);
    fs.symlink(long_path('b'), format!("{above}/{relative}")).unwrap();
    // The link leads back to the root, and to a link again.
    let hop = name('l', 1);
    fs.symlink(format!("{}/{relative}", &above[1..]), format!("/{hop}")).unwrap();
    let path = format!("{}/{relative}", &above[1..]);
    assert_eq!(path.len(), 4095);
    let who = least(&fs);
    for round in 0..3 {
        for path in [&path, &hop] {
            assert_eq!(who.stat(path).map(|found| found.mode), Ok(0o600), "round {round}");
            assert_eq!(who.read_link(path).map(|body| body.as_os_str().len()), Ok(4095), "round {round}");
        }
        for number in 0..100 {
            assert_eq!(who.access(format!("/{}", name('n', number)), Access::empty()), Err(Errno::ENOENT));
        }
    }
}

#[test]
fn the_longest_body_of_a_link_is_made() {
    let who = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    for (length, made) in [(4094, Ok(())), (4095, Ok(())), (4096, Err(Errno::ENAMETOOLONG))] {
        let link = format!("/{length}");
        assert_eq!(who.symlinkat(&long_path('b').repeat(2).as_bytes()[..length], At::Cwd, &link), made);
        let read = who.read_link(&link).map(|body| body.as_os_str().len()).map_err(|error| error.errno());
        assert_eq!(read, made.map(|()| length).map_err(|_| Errno::ENOENT));
    }
}

/// Makes such names, moves and removes them. Each change reserves what it needs before.
#[test]
fn the_longest_names_are_made_moved_and_removed_with_the_least_budget() {
    let fs = tree();
    let who = least(&fs);
    let above = format!("/{}", &long_path('a')[..4095 - LONGEST - 1]);
    let dir = who.lookup(&above[1..]).unwrap();
    for number in 0..200 {
        let (old, new) = (name('o', number), name('p', number));
        who.mknodat(&dir, &old, NewKind::Regular, 0o644).unwrap();
        who.renameat(&dir, &old, &dir, &new, pathwalk::RenameFlags::empty()).unwrap();
        who.renameat(&dir, &new, At::Cwd, &old, pathwalk::RenameFlags::empty()).unwrap();
        who.unlink(&old).unwrap();
    }
}

#[test]
fn a_budget_for_some_files_has_room_for_as_many_names_of_42_bytes() {
    for files in [64, 200, 300] {
        let fs = MemFs::new();
        let names: Vec<String> = (0..files - 1).map(|number| format!("/{number:0>42}")).collect();
        names.iter().for_each(|name| fs.file(name, 0o644).unwrap());
        let vfs = Vfs::builder().budget(Vfs::budget_for(files)).one_by_one().build(fs.alias()).unwrap();
        let who = vfs.context(Credentials::root());
        names.iter().for_each(|name| who.access(name, Access::empty()).unwrap());
        let calls = fs.calls();
        names.iter().for_each(|name| who.access(name, Access::empty()).unwrap());
        assert_eq!((fs.calls().since(&calls).lookup, vfs.stats().evictions), (0, 0), "{files}");
    }
}

/// Uses side lines up long before dentries. An entry that has some is evicted, even if it is pinned
/// by children that have none, and nothing fails.
#[test]
fn where_side_lines_run_out_what_has_some_is_evicted() {
    const DIRS: usize = 400;
    let fs = MemFs::new();
    for number in 0..DIRS {
        let dir = format!("/{}", name('d', number));
        fs.mkdir(&dir, 0o755).unwrap();
        fs.file(format!("{dir}/short"), 0o644).unwrap();
    }
    (0..1500).for_each(|number| fs.file(format!("/{number}"), 0o644).unwrap());
    let vfs = Vfs::builder().budget(Vfs::budget_for(2000)).one_by_one().build(fs).unwrap();
    let who = vfs.context(Credentials::root());
    (0..1500).for_each(|number| who.access(format!("/{number}"), Access::empty()).unwrap());
    for round in 0..3 {
        for number in 0..DIRS {
            let path = format!("/{}/short", name('d', number));
            assert_eq!(who.access(&path, Access::empty()), Ok(()), "round {round}, {number}");
        }
    }
    let stats = vfs.stats();
    assert!(stats.side.used <= stats.side.capacity && stats.evictions > DIRS as u64, "{stats:?}");
}

/// Holds all entries that have side lines: that is an error, which ends when they are released.
#[test]
fn where_all_side_lines_are_held_it_is_an_error() {
    let fs = MemFs::new();
    (0..400).for_each(|number| fs.file(format!("/{}", name('f', number)), 0o644).unwrap());
    let vfs = Vfs::builder().budget(Vfs::budget_for(2000)).one_by_one().build(fs).unwrap();
    let who = vfs.context(Credentials::root());
    (0..1000).for_each(|number| assert_eq!(who.access(format!("/none{number}"), Access::empty()), Err(Errno::ENOENT)));
    let mut held = Vec::new();
    let error = loop {
        match who.lookup(format!("/{}", name('f', held.len()))) {
            Ok(handle) => held.push(handle),
            Err(errno) => break errno,
        }
    };
    assert_eq!((error, held.len() as u64), (Errno::ENFILE, vfs.stats().side.capacity / 4));
    drop(held.pop());
    assert_eq!(who.access(format!("/{}", name('f', 399)), Access::empty()), Ok(()));
}

/// Checks the figures of the documentation of budgets.
#[test]
fn few_files_have_more_side_lines_than_a_seventh() {
    let side = |files: u64| {
        let vfs = Vfs::builder().budget(Vfs::budget_for(files)).build(MemFs::new()).unwrap();
        (vfs.stats().dentries.capacity, vfs.stats().side.capacity)
    };
    assert_eq!([1, 64, 65, 2000].map(side), [(64, 338), (64, 338), (65, 338), (2000, 338)]);
    assert_eq!([2366, 2367, 7000].map(side), [(2366, 338), (2367, 339), (7000, 1000)]);
}
