//! Words: the text form of the parts of an operation.
//!
//! A word contains no space. Paths are quoted, with all unprintable bytes escaped and long
//! repetitions folded: `"{n*255}"`.

mod acl;
mod data;
mod mounts;
mod open_files;
mod options;
mod text;

use std::fmt::Write;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bitflags::Flags;
use bitflags::parser::{ParseHex, WriteHex};
use pathwalk::{Device, SetTime, Timestamp};

pub(crate) use acl::List;
pub(crate) use data::Offset;
pub(crate) use mounts::{Ids, Spread};
pub(crate) use open_files::{Family, KEPT, Kept, SocketKind};
pub(crate) use options::Options;
use text::{quote, unquote};

/// A type with a text form of one word.
pub(crate) trait Word: Sized {
    /// Appends the word.
    fn write(&self, out: &mut String);
    /// Reads the word.
    fn read(word: &str) -> Result<Self>;
    /// Returns the place, if the word is one.
    fn place(&self) -> Option<(Option<Slot>, &[u8])> {
        None
    }
    /// Returns the descriptor, if the word is one.
    fn slot(&self) -> Option<Slot> {
        None
    }
}

/// The words of one line, from first to last.
pub(crate) struct Words<'a>(std::str::SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    pub(crate) fn of(line: &'a str) -> Words<'a> {
        Words(line.split_ascii_whitespace())
    }

    pub(crate) fn word(&mut self) -> Result<&'a str> {
        self.0.next().ok_or_else(|| anyhow!("a word is missing at the end of the line"))
    }

    pub(crate) fn take<T: Word>(&mut self) -> Result<T> {
        let word = self.word()?;
        T::read(word).with_context(|| format!("in the word `{word}`"))
    }

    /// Fails if a word is left.
    pub(crate) fn end(mut self) -> Result<()> {
        self.0.next().map_or(Ok(()), |word| bail!("`{word}` is one word too many"))
    }
}

/// A descriptor, by its small number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Slot(pub(crate) u8);

/// The number of descriptors.
pub(crate) const SLOTS: usize = 12;

/// The body of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Body(pub(crate) Vec<u8>);

/// A path that starts at the working directory.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Text(pub(crate) Vec<u8>);

/// A path, and its start: the working directory or a descriptor.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Place {
    pub(crate) at: Option<Slot>,
    pub(crate) path: Text,
}

/// Permission bits, written in octal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode(pub(crate) u16);

/// A user or group to be set, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner(pub(crate) Option<u32>);

/// The type of node that `mknod` is to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Fifo,
    Socket,
    Char(Device),
    Block(Device),
}

/// The origin of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whence {
    Start,
    Current,
    End,
}

impl Word for Slot {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{}", self.0);
    }

    fn read(word: &str) -> Result<Slot> {
        let slot: u8 = word.parse()?;
        ensure!(usize::from(slot) < SLOTS, "descriptors are 0 to {}", SLOTS - 1);
        Ok(Slot(slot))
    }

    fn slot(&self) -> Option<Slot> {
        Some(*self)
    }
}

macro_rules! number {
    ($($type:ty),*) => { $(
        impl Word for $type {
            fn write(&self, out: &mut String) {
                let _ = write!(out, "{self}");
            }

            fn read(word: &str) -> Result<$type> {
                Ok(word.parse()?)
            }
        }
    )* };
}

number!(u64, i64, u8);

impl Word for Mode {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "{:04o}", self.0);
    }

    fn read(word: &str) -> Result<Mode> {
        Ok(Mode(u16::from_str_radix(word, 8)?))
    }
}

impl Word for Owner {
    fn write(&self, out: &mut String) {
        out.push_str(&self.0.map_or_else(|| "-".to_owned(), |id| id.to_string()));
    }

    fn read(word: &str) -> Result<Owner> {
        Ok(Owner(if word == "-" { None } else { Some(word.parse()?) }))
    }
}

impl Word for Place {
    fn write(&self, out: &mut String) {
        if let Some(slot) = self.at {
            let _ = write!(out, "{}:", slot.0);
        }
        self.path.write(out);
    }

    fn read(word: &str) -> Result<Place> {
        match word.split_once(":\"") {
            Some((slot, _)) if !slot.starts_with('"') => {
                Ok(Place { at: Some(Slot::read(slot)?), path: Text::read(&word[slot.len() + 1..])? })
            }
            _ => Ok(Place { at: None, path: Text::read(word)? }),
        }
    }

    fn place(&self) -> Option<(Option<Slot>, &[u8])> {
        Some((self.at, &self.path.0))
    }

    fn slot(&self) -> Option<Slot> {
        self.at
    }
}

impl Word for Body {
    fn write(&self, out: &mut String) {
        quote(&self.0, out);
    }

    fn read(word: &str) -> Result<Body> {
        unquote(word).map(Body)
    }
}

impl Word for Text {
    fn write(&self, out: &mut String) {
        quote(&self.0, out);
    }

    fn read(word: &str) -> Result<Text> {
        unquote(word).map(Text)
    }

    fn place(&self) -> Option<(Option<Slot>, &[u8])> {
        Some((None, &self.0))
    }
}

/// Appends the names of flags joined by `+`, or `-` for none. Bits without a name are one number.
pub(crate) fn write_flags<F: Flags<Bits: WriteHex>>(flags: &F, out: &mut String) {
    let mut names = flags.iter_names();
    let mut words: Vec<String> = names.by_ref().map(|(name, _)| name.into()).collect();
    let rest = names.remaining();
    if !rest.is_empty() {
        let mut number = String::from("0x");
        _ = rest.bits().write_hex(&mut number);
        words.push(number);
    }
    out.push_str(if words.is_empty() { "-" } else { "" });
    out.push_str(&words.join("+"));
}

/// Reads names of flags joined by `+`, or `-` for none.
pub fn read_flags<F: Flags<Bits: ParseHex>>(word: &str) -> Result<F> {
    let names = word.split('+').filter(|name| *name != "-");
    let unnamed = |name: &str| F::Bits::parse_hex(name.strip_prefix("0x")?).ok().map(F::from_bits_retain);
    let flag = |name| F::from_name(name).or_else(|| unnamed(name));
    let each = names.map(|name| flag(name).ok_or_else(|| anyhow!("no flag is called `{name}`")));
    each.into_iter().try_fold(F::empty(), |all, flag| Ok(all.union(flag?)))
}

macro_rules! flags {
    ($($type:ty),*) => { $(
        impl Word for $type {
            fn write(&self, out: &mut String) {
                write_flags(self, out);
            }

            fn read(word: &str) -> Result<$type> {
                read_flags(word)
            }
        }
    )* };
}

flags!(pathwalk::AtFlags, pathwalk::LinkFlags, pathwalk::OpenFlags, pathwalk::RenameFlags, pathwalk::Access, pathwalk::StatxMask);
flags!(pathwalk::InodeFlags, pathwalk::XattrFlags, pathwalk::HandleFlags);
flags!(pathwalk::FallocateFlags, pathwalk::RwFlags);
flags!(pathwalk::MountFlags, pathwalk::MoveFlags, pathwalk::UmountFlags, pathwalk::Resolve);

impl Word for SetTime {
    fn write(&self, out: &mut String) {
        let _ = match self {
            SetTime::Now => write!(out, "now"),
            SetTime::Keep => write!(out, "keep"),
            SetTime::To(time) => write!(out, "{}.{}", time.seconds, time.nanoseconds),
        };
    }

    fn read(word: &str) -> Result<SetTime> {
        Ok(match word {
            "now" => SetTime::Now,
            "keep" => SetTime::Keep,
            time => {
                let (seconds, nanoseconds) = time.split_once('.').ok_or_else(|| anyhow!("a time is now, keep or 1.2"))?;
                SetTime::To(Timestamp { seconds: seconds.parse()?, nanoseconds: nanoseconds.parse()? })
            }
        })
    }
}

impl Word for Kind {
    fn write(&self, out: &mut String) {
        let _ = match self {
            Kind::File => write!(out, "file"),
            Kind::Directory => write!(out, "directory"),
            Kind::Link => write!(out, "link"),
            Kind::Fifo => write!(out, "fifo"),
            Kind::Socket => write!(out, "socket"),
            Kind::Char(Device { major, minor }) => write!(out, "char:{major}:{minor}"),
            Kind::Block(Device { major, minor }) => write!(out, "block:{major}:{minor}"),
        };
    }

    fn read(word: &str) -> Result<Kind> {
        let device = |numbers: &str| -> Result<Device> {
            let (major, minor) = numbers.split_once(':').ok_or_else(|| anyhow!("a device has two numbers"))?;
            Ok(Device { major: major.parse()?, minor: minor.parse()? })
        };
        Ok(match (word, word.split_once(':')) {
            ("file", _) => Kind::File,
            ("directory", _) => Kind::Directory,
            ("link", _) => Kind::Link,
            ("fifo", _) => Kind::Fifo,
            ("socket", _) => Kind::Socket,
            (_, Some(("char", numbers))) => Kind::Char(device(numbers)?),
            (_, Some(("block", numbers))) => Kind::Block(device(numbers)?),
            _ => bail!("no kind of node"),
        })
    }
}

impl Word for Whence {
    fn write(&self, out: &mut String) {
        out.push_str(match self {
            Whence::Start => "start",
            Whence::Current => "current",
            Whence::End => "end",
        });
    }

    fn read(word: &str) -> Result<Whence> {
        Ok(match word {
            "start" => Whence::Start,
            "current" => Whence::Current,
            "end" => Whence::End,
            _ => bail!("start, current or end"),
        })
    }
}
