//! The input of a recording: unpacks bytes, recognizes what they are, and finds the ends of lines.
//!
//! The memory for a line is bounded. A longer line is reported as too long, with its beginning, and
//! skipped.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::ReadError;
use crate::kind::{Kind, kind_of};

/// The number of bytes, unpacked, that determine an input's kind.
///
/// [`kind_of`](crate::kind_of) has an example.
pub const BEGINNING: usize = 64 << 10;

/// The length of the longest line in bytes. strace's own limit is that of its strings, which are 32
/// bytes long by default.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// The first bytes of every gzip file. Source: RFC 1952.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The number of bytes that are read from the source at once. They should fit into a core's cache.
const PIECE: usize = 256 << 10;

/// A recording or a trace, plain or packed with gzip.
///
/// ```
/// use pathwalk_recording::{Input, Kind, Options, Recording};
/// let input = Input::new(&b"12 chdir(\"/tmp\") = 0\n"[..])?;
/// assert_eq!(input.kind(), Kind::Strace);
/// assert_eq!(Recording::read_input(input, Options::default())?.lookups.len(), 1);
///
/// let input = Input::new(&b"/etc/hosts\tR_OK\n"[..])?;
/// assert_eq!((input.kind(), input.bytes_read()), (Kind::Trace, 16));
/// println!("{}", input.not_readable());
/// assert_eq!(input.into_bytes()?, b"/etc/hosts\tR_OK\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Input<R> {
    source: Source<R>,
    /// The bytes that were read. Those before `start` were handed out.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    finished: bool,
    unpacked: u64,
    cut_short: Option<String>,
}

enum Source<R> {
    Plain(Counted<R>),
    Packed(Box<MultiGzDecoder<BufReader<Counted<R>>>>),
}

/// A source that counts what is read. The bytes that were already read come first.
struct Counted<R> {
    first: Cursor<Vec<u8>>,
    source: R,
    bytes: u64,
}

/// A line, without its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RawLine<'a> {
    /// A whole line.
    Whole(&'a [u8]),
    /// The last line, which has no end.
    Unended(&'a [u8]),
    /// The beginning of a line that is longer than [`LONGEST_LINE`].
    TooLong(&'a [u8]),
}

impl<R: Read> Input<R> {
    /// Reads the beginning of `source`, and unpacks it if it is packed. Plain sources need no
    /// buffer of their own.
    pub fn new(mut source: R) -> Result<Input<R>, ReadError> {
        let mut magic = Vec::new();
        (&mut source).take(GZIP.len() as u64).read_to_end(&mut magic).map_err(|source| ReadError::Io { bytes: 0, source })?;
        let packed = magic == GZIP;
        let source = Counted { first: Cursor::new(magic), source, bytes: 0 };
        let source = match packed {
            true => Source::Packed(Box::new(MultiGzDecoder::new(BufReader::with_capacity(PIECE, source)))),
            false => Source::Plain(source),
        };
        let mut input = Input { source, buffer: vec![0; PIECE], start: 0, end: 0, finished: false, unpacked: 0, cut_short: None };
        while input.end < BEGINNING && !input.finished {
            input.fill()?;
        }
        Ok(input)
    }

    /// Returns the kind of the input, determined from its beginning. It has to be called before
    /// anything is read from the input.
    pub fn kind(&self) -> Kind {
        kind_of(&self.buffer[self.start..self.end.min(self.start + BEGINNING)])
    }

    /// Returns an error that describes an input which is not a recording.
    pub fn not_readable(&self) -> ReadError {
        let beginning = &self.buffer[self.start..self.end];
        let looks = match memchr::memchr(0, beginning) {
            Some(_) => "it has NUL bytes, so it is no text".to_owned(),
            None => {
                format!("it begins with \"{}\"", shortened(beginning.split(|byte| *byte == b'\n').next().unwrap_or_default()))
            }
        };
        match self.kind() {
            Kind::Empty => ReadError::Empty,
            Kind::Trace => ReadError::Trace,
            Kind::Strace | Kind::Neither => ReadError::Neither { looks },
        }
    }

    /// Returns the whole input, unpacked. This is for a trace, which is held in memory.
    pub fn into_bytes(mut self) -> Result<Vec<u8>, ReadError> {
        while !self.finished {
            self.make_room();
            self.fill()?;
        }
        if let Some(problem) = self.cut_short {
            return Err(ReadError::CutShort { problem });
        }
        self.buffer.truncate(self.end);
        Ok(self.buffer.split_off(self.start))
    }

    /// Returns the number of bytes read from the source so far, as packed bytes if the source is
    /// packed.
    pub fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Plain(counted) => counted.bytes,
            Source::Packed(decoder) => decoder.get_ref().get_ref().bytes,
        }
    }

    /// Returns the number of bytes read so far, unpacked.
    pub(crate) fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Returns what is wrong with a packed file that ended early.
    pub(crate) fn take_cut_short(&mut self) -> Option<String> {
        self.cut_short.take()
    }

    /// Calls `each` with every line, and `piece` with the input before the lines of every piece of
    /// it.
    pub(crate) fn lines(&mut self, mut each: impl FnMut(RawLine<'_>), mut piece: impl FnMut(&Self)) -> Result<(), ReadError> {
        loop {
            piece(self);
            let unread = &self.buffer[self.start..self.end];
            let mut begin = 0;
            for newline in memchr::memchr_iter(b'\n', unread) {
                each(RawLine::Whole(&unread[begin..newline]));
                begin = newline + 1;
            }
            self.start += begin;
            let rest = &self.buffer[self.start..self.end];
            if self.finished {
                if !rest.is_empty() {
                    each(RawLine::Unended(rest));
                }
                return Ok(());
            }
            if rest.len() > LONGEST_LINE {
                each(RawLine::TooLong(rest));
                self.skip_line()?;
            }
            self.make_room();
            self.fill()?;
        }
    }

    /// Skips the rest of the line.
    fn skip_line(&mut self) -> Result<(), ReadError> {
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += newline + 1;
                return Ok(());
            }
            (self.start, self.end) = (0, 0);
            if self.finished {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Moves the unread bytes to the front, and makes room for a piece after them.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() - self.end < PIECE / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    /// Reads once. A packed source that cannot be unpacked any further ends there.
    fn fill(&mut self) -> Result<(), ReadError> {
        let room = &mut self.buffer[self.end..];
        let read = loop {
            let read = match &mut self.source {
                Source::Plain(source) => source.read(room),
                Source::Packed(decoder) => decoder.read(room),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => break read,
            }
        };
        let damaged =
            |kind| matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
        let read = match (read, &self.source) {
            (Err(error), Source::Packed(_)) if damaged(error.kind()) => {
                self.cut_short = Some(error.to_string());
                0
            }
            (read, _) => read.map_err(|source| ReadError::Io { bytes: self.unpacked, source })?,
        };
        self.end += read;
        self.unpacked += read as u64;
        self.finished = read == 0;
        Ok(())
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = match self.first.fill_buf()?.is_empty() {
            true => self.source.read(room)?,
            false => self.first.read(room)?,
        };
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Returns the text escaped, and cut off where a message would get too long.
pub(crate) fn shortened(text: &[u8]) -> String {
    const MOST: usize = 80;
    let dots = if text.len() > MOST { "..." } else { "" };
    format!("{}{dots}", text[..text.len().min(MOST)].escape_ascii())
}
