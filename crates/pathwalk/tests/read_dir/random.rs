//! A random program between any two entries of several iterators over one directory.

use std::collections::BTreeMap;
use std::io::SeekFrom;

use pathwalk::{At, Context, DirEntry, Errno, File, FileSystem, OpenFlags, ReadDir, RenameFlags};
use pathwalk_memfs::MemFs;

use super::{filled, locking, long, root_of, watched};

/// Files that are there all the time: more than are read ahead.
const STAY: usize = 250;

/// Names that come and go: `STAY..STAY + COME`.
const COME: usize = 100;

const STEPS: usize = 6_000;
const SEEDS: u64 = 6;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}

/// One iterator, and what it gave.
struct Reader {
    entries: ReadDir,
    given: BTreeMap<Vec<u8>, usize>,
    /// How often each name had come into the directory when it began.
    came: BTreeMap<Vec<u8>, usize>,
}

struct Program {
    context: Context,
    dice: Dice,
    /// Where the directory is now.
    dir: &'static str,
    readers: Vec<Reader>,
    file: File,
    /// How often each name came into the directory.
    came: BTreeMap<Vec<u8>, usize>,
    last: Option<DirEntry>,
    ended: usize,
}

impl Program {
    fn new(fs: impl FileSystem + 'static, seed: u64) -> Program {
        let context = root_of(fs);
        filled(&context, STAY);
        let file = context.open("/d", OpenFlags::READ).unwrap();
        Program { context, dice: Dice(seed), dir: "/d", readers: vec![], file, came: BTreeMap::new(), last: None, ended: 0 }
    }

    /// Returns a name that comes and goes, and its path.
    fn name(&mut self) -> (Vec<u8>, String) {
        let name = long(STAY + self.dice.below(COME));
        let path = format!("{}/{name}", self.dir);
        (name.into_bytes(), path)
    }

    fn comes(&mut self, name: Vec<u8>, result: Result<(), Errno>) {
        match result {
            Ok(()) => *self.came.entry(name).or_default() += 1,
            Err(errno) => assert!(
                matches!(
                    errno,
                    Errno::ENOENT | Errno::EEXIST | Errno::ENOTDIR | Errno::EISDIR | Errno::ENOTEMPTY | Errno::EINVAL
                ),
                "{errno}"
            ),
        }
    }

    fn step(&mut self) {
        match self.dice.below(16) {
            0 | 1 => {
                let (name, path) = self.name();
                let made = self.context.mknod(&path, pathwalk::NewKind::Regular, 0o600);
                self.comes(name, made);
            }
            2 => {
                let (name, path) = self.name();
                let made = self.context.mkdir(&path, 0o700);
                self.comes(name, made);
            }
            3 | 4 => {
                _ = {
                    let path = self.name().1;
                    self.context.remove_file(&path)
                }
            }
            5 => {
                _ = {
                    let path = self.name().1;
                    self.context.remove_dir(&path)
                }
            }
            6 => {
                let ((_, from), (name, to)) = (self.name(), self.name());
                let moved = self.context.renameat(At::Cwd, &from, At::Cwd, &to, RenameFlags::empty());
                self.comes(name, moved);
            }
            7 => {
                let to = if self.dir == "/d" { "/moved" } else { "/d" };
                self.context.renameat(At::Cwd, self.dir, At::Cwd, to, RenameFlags::empty()).unwrap();
                self.dir = to;
            }
            8 => self.list_beside(),
            9 if self.readers.len() < 5 => {
                let entries = self.context.read_dir(self.dir).unwrap();
                self.readers.push(Reader { entries, given: BTreeMap::new(), came: self.came.clone() });
            }
            10 if self.dice.below(40) == 0 && !self.readers.is_empty() => {
                let which = self.dice.below(self.readers.len());
                drop(self.readers.swap_remove(which));
            }
            11 => _ = self.last.as_ref().map(|entry| entry.metadata(&self.context)),
            _ if self.readers.is_empty() => {}
            _ => self.advance(),
        }
    }

    /// Lists a part of the directory through a file that others have, too.
    fn list_beside(&mut self) {
        if self.dice.below(4) == 0 {
            self.file.seek(SeekFrom::Start(self.dice.below(STAY) as u64)).unwrap();
        }
        let at_most = self.dice.below(300) + 1;
        assert!(self.file.getdents(at_most).unwrap().len() <= at_most);
    }

    /// Takes some entries of one of the iterators; ends it if there are no more.
    fn advance(&mut self) {
        let which = self.dice.below(self.readers.len());
        for _ in 0..=self.dice.below(12) {
            let reader = &mut self.readers[which];
            let Some(entry) = reader.entries.next() else {
                let reader = self.readers.swap_remove(which);
                return self.end(&reader);
            };
            let entry = entry.unwrap();
            *reader.given.entry(entry.name().to_vec()).or_default() += 1;
            self.last = Some(entry);
        }
    }

    /// Checks that what stayed came once; what came and went, at most as often as it came.
    fn end(&mut self, reader: &Reader) {
        for number in 0..STAY {
            assert_eq!(reader.given.get(long(number).as_bytes()), Some(&1), "{number}");
        }
        for (name, given) in &reader.given {
            let since = self.came.get(name).unwrap_or(&0) - reader.came.get(name).unwrap_or(&0);
            assert!(*given <= 1 + since, "{} was given {given} times and came {since} times", name.escape_ascii());
        }
        self.ended += 1;
    }
}

fn run(fs: impl FileSystem + 'static, seed: u64) {
    let mut program = Program::new(fs, seed);
    (0..STEPS).for_each(|_| program.step());
    assert!(program.ended > 20, "seed {seed}: only {} iterators came to their end", program.ended);
}

#[test]
fn anything_between_two_entries() {
    watched("a random program between two entries", || {
        for seed in 1..=SEEDS {
            println!("seed {seed}");
            run(MemFs::new(), seed);
            run(locking(), seed);
        }
    });
}
