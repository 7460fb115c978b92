//! The parts of a program, made from bytes: each takes a byte or two, so that a mutation changes
//! one thing.
//!
//! There are few names, so that operations meet. When the bytes are used up, every choice is the
//! first of its kind.

use std::fmt::Write;

use arbitrary::Unstructured;

/// The actors. The rights of each are defined in `xtask`.
const ACTORS: [&str; 15] = [
    "root", "user", "member", "other", "bare", "fowner", "override", "search", "giver", "fsetid", "maker", "weak", "suid",
    "suidroot", "fallen",
];

/// The pieces of paths, in the language of programs. Joined, they make any kind of path.
const PIECES: [&str; 40] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "/",
    "/a",
    "/b",
    "/c",
    "/d",
    "/e",
    "a/",
    "b/",
    "c/",
    "d/",
    "e/",
    ".",
    "..",
    "/.",
    "/..",
    "./",
    "../",
    "//",
    "...",
    "/a/b",
    "a/b",
    "a/c",
    "b/c",
    "/a/b/c",
    "../a",
    "a/../",
    "b/../",
    "{n*255}",
    "{n*256}",
    "{./*2040}",
    "{x/*2047}",
    "{x*127}",
    "{x*128}",
    "\\xff\\x0a",
    "{../*40}",
];

const MODES: [&str; 18] = [
    "0755", "0777", "0644", "0700", "0711", "1777", "2775", "2777", "4755", "6777", "2745", "0444", "0111", "0000", "7777",
    "0666", "0600", "0070",
];

/// The lengths of reads and writes, in bytes. A few dozen writes stay within what the model stores.
const LENGTHS: [&str; 5] = ["0", "1", "5", "100", "2000"];

/// Sizes and positions, in bytes: those at the edges of pages, and those that the kernel refuses.
/// The model does not store the ones in between.
const SIZES: [&str; 11] =
    ["0", "1", "5", "100", "4095", "4096", "4097", "10000", "30000", "9223372036854775808", "18446744073709551615"];

/// The positions of reads far beyond the end, where there is no data.
const FAR: [&str; 4] = ["131072", "8589934592", "9223372036854775806", "9223372036854775807"];

const TIMES: [&str; 10] = [
    "now",
    "keep",
    "0.0",
    "1.1",
    "-1.999999999",
    "-5000000000.500",
    "8589934592.999999999",
    "1099511627776.0",
    "1.1000000000",
    "1000000000.4294967295",
];

const KINDS: [&str; 10] =
    ["file", "fifo", "socket", "char:4000:7", "block:4000:1048575", "char:0:0", "directory", "link", "block:0:0", "char:4000:0"];

const OWNERS: [&str; 5] = ["-", "0", "1000", "1001", "1002"];

const OPEN: [&str; 10] =
    ["READ", "WRITE", "CREATE", "EXCLUSIVE", "TRUNCATE", "APPEND", "DIRECTORY", "NOFOLLOW", "PATH", "TMPFILE"];

/// The usual flags of opens. Other sets are drawn flag by flag.
const USUAL_OPEN: [&str; 10] = [
    "READ",
    "PATH",
    "READ+WRITE+CREATE",
    "WRITE+CREATE+EXCLUSIVE",
    "READ+DIRECTORY",
    "WRITE+TRUNCATE",
    "READ+WRITE+TMPFILE",
    "PATH+NOFOLLOW",
    "READ+WRITE+CREATE+APPEND",
    "WRITE+TMPFILE+EXCLUSIVE",
];

const AT: [&str; 3] = ["SYMLINK_NOFOLLOW", "EMPTY_PATH", "EACCESS"];
const ACCESS: [&str; 3] = ["READ", "WRITE", "EXECUTE"];
const LINK: [&str; 2] = ["SYMLINK_FOLLOW", "EMPTY_PATH"];
const RENAME: [&str; 2] = ["NOREPLACE", "EXCHANGE"];
const STATX: [&str; 8] = ["TYPE", "MODE", "NLINK", "UID", "SIZE", "INO", "MTIME", "BLOCKS"];
const WHENCE: [&str; 3] = ["start", "current", "end"];
const BY: [&str; 9] = ["0", "1", "-1", "100", "2000", "-2000", "-4096", "1999", "-9223372036854775808"];

/// The number of descriptors of a program.
const SLOTS: usize = 6;

/// A source of parts, made from bytes.
pub(crate) struct Draw<'a> {
    bytes: Unstructured<'a>,
    actor: &'static str,
    /// The actor that last tried to open each descriptor. Only this actor writes to it.
    openers: [&'static str; SLOTS],
}

impl<'a> Draw<'a> {
    pub(crate) fn new(bytes: Unstructured<'a>) -> Draw<'a> {
        Draw { bytes, actor: ACTORS[0], openers: [ACTORS[0]; SLOTS] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    fn among(&mut self, choices: &[&'static str]) -> &'static str {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// Returns the names whose bits are set, joined as in programs. There may be up to 16 names.
    pub(crate) fn flags(&mut self, names: &[&'static str]) -> String {
        let low = self.byte();
        let high = if names.len() > 8 { self.byte() } else { 0 };
        let bits = u16::from_le_bytes([low, high]);
        let set: Vec<&str> = names.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0).map(|(_, name)| *name).collect();
        if set.is_empty() { "-".to_owned() } else { set.join("+") }
    }

    fn slot(&mut self) -> usize {
        usize::from(self.byte()) % SLOTS
    }

    /// Returns a path. One byte selects the number of pieces: most paths are short.
    fn path(&mut self) -> String {
        let pieces = [1, 1, 1, 2, 2, 3, 4, 0][usize::from(self.byte() % 8)];
        let body: String = (0..pieces).map(|_| self.among(&PIECES)).collect();
        format!("\"{body}\"")
    }

    /// Returns a path with its start, which is usually the working directory.
    fn place(&mut self) -> String {
        let at = self.byte();
        let path = self.path();
        if at % 4 == 3 { format!("{}:{path}", usize::from(at / 4) % SLOTS) } else { path }
    }

    fn open_flags(&mut self) -> String {
        match usize::from(self.byte()) {
            usual if usual < 200 => USUAL_OPEN[usual % USUAL_OPEN.len()].to_owned(),
            _ => self.any_open_flags(),
        }
    }

    /// Returns a set of open flags. `READ` is a flag here but not in the kernel. It is left out
    /// with `PATH`, and half of the time with `WRITE`.
    fn any_open_flags(&mut self) -> String {
        let others = self.flags(&OPEN[1..]);
        let drawn: Vec<&str> = others.split('+').collect();
        let reads = !drawn.contains(&"PATH") && (!drawn.contains(&"WRITE") || self.byte().is_multiple_of(2));
        if reads { format!("READ+{others}") } else { others }
    }

    /// Writes one line.
    pub(crate) fn step(&mut self, text: &mut String) {
        let verb = self.byte();
        // The actor is often that of the previous line.
        let who = self.byte();
        if who >= 64 {
            self.actor = ACTORS[usize::from(who) % ACTORS.len()];
        }
        let line = match verb % 48 {
            0..12 => self.names(verb % 12),
            12..20 => self.opening(verb % 4),
            20..30 => self.attributes(verb % 10),
            30..38 => self.question(verb % 8),
            _ => self.data(verb % 10),
        };
        let _ = writeln!(text, "{} {line}", self.actor);
    }

    fn names(&mut self, verb: u8) -> String {
        let place = self.place();
        match verb {
            0 | 1 => format!("mkdir {place} {}", self.among(&MODES)),
            2 => format!("mknod {place} {} {}", self.among(&KINDS), self.among(&MODES)),
            3 | 4 => format!("symlink {} {place}", self.path()),
            5 => format!("link {place} {} {}", self.place(), self.flags(&LINK)),
            6 => format!("unlink {place}"),
            7 => format!("rmdir {place}"),
            _ => format!("rename {place} {} {}", self.place(), self.flags(&RENAME)),
        }
    }

    fn opening(&mut self, verb: u8) -> String {
        let slot = self.slot();
        if verb == 3 {
            return format!("close {slot}");
        }
        self.openers[slot] = self.actor;
        let (place, flags) = (self.place(), self.open_flags());
        let makes = flags.contains("CREATE") || flags.contains("TMPFILE");
        let mode = if makes { self.among(&MODES) } else { "0000" };
        format!("open {slot} {place} {flags} {mode}")
    }

    fn attributes(&mut self, verb: u8) -> String {
        match verb {
            0..3 => format!("chmod {} {} {}", self.place(), self.among(&MODES), self.flags(&AT)),
            3..5 => {
                let (uid, gid) = (self.among(&OWNERS), self.among(&OWNERS));
                format!("chown {} {uid} {gid} {}", self.place(), self.flags(&AT))
            }
            5 => format!("truncate {} {}", self.path(), self.among(&SIZES)),
            6 => format!("times {} {} {} {}", self.place(), self.among(&TIMES), self.among(&TIMES), self.flags(&AT)),
            7 => format!("chdir {}", self.path()),
            8 => format!("chroot {}", self.path()),
            _ => format!("umask {}", self.among(&MODES)),
        }
    }

    fn question(&mut self, verb: u8) -> String {
        match verb {
            0 | 1 => format!("stat {} {}", self.place(), self.flags(&AT[..2])),
            2 => format!("statx {} {} {}", self.place(), self.flags(&AT[..2]), self.flags(&STATX)),
            3 => format!("readlink {} {}", self.place(), self.among(&["4096", "0", "1", "5"])),
            4 | 5 => format!("access {} {} {}", self.place(), self.flags(&ACCESS), self.flags(&AT)),
            6 => format!("statfs {}", self.path()),
            _ => format!("stat {} {}", self.place(), self.flags(&AT)),
        }
    }

    fn data(&mut self, verb: u8) -> String {
        let slot = self.slot();
        if matches!(verb, 2..=4) {
            self.actor = self.openers[slot];
        }
        match verb {
            0 => format!("read {slot} {}", self.among(&LENGTHS)),
            1 => {
                let from: &[&str] = if self.byte().is_multiple_of(4) { &FAR } else { &SIZES };
                format!("pread {slot} {} {}", self.among(&LENGTHS), self.among(from))
            }
            2 => format!("write {slot} 119 {}", self.among(&LENGTHS)),
            3 => format!("pwrite {slot} 112 {} {}", self.among(&LENGTHS), self.among(&SIZES)),
            4 => format!("ftruncate {slot} {}", self.among(&SIZES)),
            5 | 6 => format!("seek {slot} {} {}", self.among(&WHENCE), self.among(&BY)),
            7 | 8 => format!("list {slot}"),
            _ => format!("fsync {slot}"),
        }
    }
}
