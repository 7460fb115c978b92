//! The paths of the questions.

use crate::tree::Entry;

/// All forms of a path around each name: `B` stands for the name, `N` for a name of 255 bytes and
/// `M` for one of 256.
const FRAMES: [&str; 28] = [
    "B",
    "/B",
    "//B",
    "./B",
    "././/B",
    "B/",
    "B//",
    "B/.",
    "B/..",
    "B/./",
    "B/../",
    "B/.//..//",
    "B/nope",
    "B/nope/",
    "B/nope/..",
    "B/f",
    "B/f/",
    "B/../B",
    "B/../f",
    "d/../B",
    "d/e/../../B",
    "nope/B",
    "f/B",
    "to-d/../B",
    "../../B",
    "B/../../B/e/..",
    "B/N",
    "B/M",
];

/// Returns each name in each frame.
pub(crate) fn framed<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    names.into_iter().flat_map(|name| FRAMES.map(|frame| fill(frame, name))).collect()
}

fn fill(frame: &str, name: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    for byte in frame.bytes() {
        match byte {
            b'B' => path.extend(name),
            b'N' => path.extend([b'n'; 255]),
            b'M' => path.extend([b'n'; 256]),
            byte => path.push(byte),
        }
    }
    path
}

/// Returns the names of a tree, unchanged.
pub(crate) fn names(tree: &[Entry]) -> Vec<Vec<u8>> {
    tree.iter().map(|entry| entry.path.clone()).collect()
}

/// Returns paths of special forms: slashes, dots and lengths.
pub(crate) fn forms() -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = [
        "",
        "/",
        "//",
        "///",
        ".",
        "..",
        "./",
        "../",
        "/.",
        "/..",
        "/./",
        "/../",
        "/../..",
        "/../../d",
        "...",
        ".../",
        "./.",
        "../..",
        ".././..",
        "./../d/./../f",
        "d//f",
        "/////d/////f",
        "d/./e/./g",
        "d/e/..//../f",
        "d/e/../../../../f",
        "d/e/absolute/f",
        "d/e/absolute/e/absolute/f",
        "d/up-up/g",
        "to-d/to-d",
        "to-d/e/g/",
        "to-d/link-d/../f",
        "nope/../f",
        "f/../f",
        "f/.",
        "f/..",
        "dangling/..",
        "to-f/..",
        "loop/..",
        "to-root/to-root/to-root/d/f",
        "to-up/to-up/f",
        "proc",
        "etc/passwd",
    ]
    .map(|path| path.as_bytes().to_vec())
    .into();
    for len in [1, 2, 2047, 4093, 4094, 4095, 4096, 4097, 5000] {
        paths.push(vec![b'/'; len]);
        paths.push(ending(b"./", len, b"f"));
        paths.push(ending(b"../", len, b"f"));
        paths.push(ending(b"d/../", len, b"f"));
        paths.push(ending(b"to-d/../", len, b"f"));
        paths.push(ending(b"", len, &vec![b'n'; len]));
        paths.push(ending(b"nope/", len, b"f"));
    }
    paths
}

/// Returns a path of about `len` bytes: `unit` repeated, slashes to make the length exact, `end`.
fn ending(unit: &[u8], len: usize, end: &[u8]) -> Vec<u8> {
    let room = len.saturating_sub(end.len());
    let mut path = unit.repeat(room.checked_div(unit.len()).unwrap_or(0));
    if !unit.is_empty() {
        path.resize(room.max(path.len()), b'/');
    }
    path.extend(end);
    path
}

/// Returns paths that come to 39, 40 and 41 links in different ways.
pub(crate) fn counted() -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let mut add = |path: String| paths.push(path.into_bytes());
    for n in [0, 1, 2, 38, 39, 40, 41, 42] {
        for end in ["", "/", "/.", "/..", "/f", "/../c1", "/nope"] {
            add(format!("c{n}{end}"));
            add(format!("dc{n}{end}"));
        }
        for m in [0, 1, 2, 19, 20, 21, 39, 40, 41] {
            add(format!("dc{m}/../c{n}"));
            add(format!("dc{n}/../dc{m}/f"));
            add(format!("dc{n}/../dc{m}/"));
            add(format!("dc{m}/../nope/../c{n}"));
        }
    }
    for n in 0..=6 {
        for end in ["", "/", "/d", "/d/f", "/nope", "/q0", "/q2", "/q3", "/c8", "/c9", "/c10", "/c11"] {
            add(format!("q{n}{end}"));
        }
    }
    paths
}

/// Returns paths in and around directories and files of each mode.
pub(crate) fn guarded() -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for mode in crate::tree::MODES {
        let name = format!("{mode:03o}");
        for end in
            ["", "/", "/.", "/..", "/i", "/i/", "/j", "/j/..", "/j/../i", "/l", "/l/", "/nope", "/nope/i", "/./i", "/../f755"]
        {
            paths.push(format!("d{name}{end}").into_bytes());
        }
        for end in ["", "/", "/i"] {
            paths.push(format!("ld{name}{end}").into_bytes());
            paths.push(format!("f{name}{end}").into_bytes());
        }
        paths.push(fill("B/M", format!("d{name}").as_bytes()));
        paths.push(fill("B/M/..", format!("d{name}").as_bytes()));
    }
    paths
}

/// Returns a few paths of each kind, for tables in which other parameters vary.
pub(crate) fn few() -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = [
        "",
        ".",
        "./",
        "..",
        "../",
        "./.",
        "../.",
        "../d",
        "../d/f",
        "../f",
        "/",
        "/.",
        "/..",
        "//d",
        "/d/f",
        "/f",
        "/f/",
        "/nope",
        "/nope/f",
        "/to-f",
        "/to-d",
        "/to-d/",
        "/loop",
        "/dangling",
        "d",
        "d/",
        "d/f",
        "d/../f",
        "d/nope",
        "f",
        "f/",
        "f/.",
        "e",
        "e/g",
        "e/../f",
        "nope",
        "nope/",
        "nope/..",
        "up",
        "up/",
        "up-up",
        "up-up/g",
        "link-d",
        "link-d/",
        "link-d/absolute/f",
        "e/dangling",
        "to-d",
        "to-d/f",
        "to-f",
        "to-root",
        "to-root/",
        "to-root/d",
        "to-up",
        "to-up/f",
        "to-absolute",
        "to-absolute/g",
        "x",
        "fifo",
        "socket",
        "/d/e/g",
        "/d/e/g/",
        "/x",
        "/fifo",
        "/socket",
        "/empty",
        "/hard",
    ]
    .map(|path| path.as_bytes().to_vec())
    .into();
    paths.extend(["B", "/B", "nope/B", "f/B"].map(|frame| fill(frame, &[b'z'; 256])));
    paths.extend([ending(b"./", 4095, b"f"), ending(b"./", 4096, b"f"), ending(b"/", 4095, b"f"), ending(b"/", 5000, b"f")]);
    paths
}

/// Returns paths through the links of [`crate::tree::sticky`], as the last component and on the
/// way.
pub(crate) fn sticky() -> Vec<Vec<u8>> {
    let mut paths: Vec<Vec<u8>> = [
        "to-t-f1002",
        "to-t-d1002",
        "to-t-d1002/",
        "to-t-d1002/f",
        "to-t-below",
        "t",
        "t/",
        "f1000",
        "./f1002",
        "d1002/",
        "d1000/f",
    ]
    .map(|path| path.as_bytes().to_vec())
    .into();
    for dir in ["t", "owned", "closed", "loose", "other"] {
        for who in ["0", "1000", "1002"] {
            for end in ["f@", "f@/", "d@", "d@/", "d@/.", "d@/..", "d@/f", "d@/nope", "nope@", "nope@/", "loop@", "loop@/f"] {
                paths.push(format!("{dir}/{}", end.replace('@', who)).into_bytes());
            }
        }
    }
    paths
}

/// Returns paths of the same links from within a sticky directory.
pub(crate) fn sticky_here() -> Vec<Vec<u8>> {
    ["f0", "f1000", "f1002", "./f1000", "f1000/", "d1000", "d1002/", "d1000/f", "nope1002", "../to-t-f1002", "../owned/f0"]
        .map(|path| path.as_bytes().to_vec())
        .into()
}
