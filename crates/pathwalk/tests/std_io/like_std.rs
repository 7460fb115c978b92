//! The standard library's own files as the oracle: the same random calls through the same traits
//! have the same results, errors, positions and contents. Reproduce a failure with the seed that it
//! names.

use std::fmt::Debug;
use std::fs;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use fastrand::Rng;
use pathwalk::{File, OpenFlags};

use super::{LOG, RW, memfs, open, text};

const ROUNDS: u64 = 100;
const STEPS: usize = 100;

/// How far offsets go. Only on a tmpfs are both ends the same as in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    Near,
}

/// What both have. Lengths are set by methods that no trait has.
trait Both: Read + Write + Seek {
    fn positioned(&self) -> &dyn FileExt;
    fn resize(&self, size: u64) -> io::Result<()>;
}

impl Both for &fs::File {
    fn positioned(&self) -> &dyn FileExt {
        *self
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}

impl Both for &File {
    fn positioned(&self) -> &dyn FileExt {
        *self
    }

    fn resize(&self, size: u64) -> io::Result<()> {
        Ok(self.set_len(size)?)
    }
}

#[derive(Clone, Debug)]
enum Call {
    Read(usize),
    ReadVectored(usize, usize),
    ReadExact(usize),
    ReadToEnd,
    ReadAt(usize, u64),
    ReadExactAt(usize, u64),
    Write(usize),
    WriteVectored(usize, usize),
    WriteAll(usize),
    WriteAt(usize, u64),
    WriteAllAt(usize, u64),
    Seek(SeekFrom),
    StreamPosition,
    SetLen(u64),
    Flush,
}

impl Call {
    fn random(rng: &mut Rng, reach: Reach) -> Call {
        let (length, other) = (rng.usize(0..40), rng.usize(0..40));
        let offset = match rng.u32(0..12) {
            0 if reach == Reach::All => *rng.choice(&[i64::MAX as u64, i64::MAX as u64 - 20, 1 << 63, u64::MAX]).unwrap(),
            1 => rng.u64(0..20_000),
            _ => rng.u64(0..100),
        };
        match rng.u32(0..17) {
            0 => Call::Read(length),
            1 => Call::ReadVectored(length, other),
            2 => Call::ReadExact(length),
            // A file of some exabytes is not read whole.
            3 => {
                if reach == Reach::Near {
                    Call::ReadToEnd
                } else {
                    Call::Read(length)
                }
            }
            4 => Call::ReadAt(length, offset),
            5 => Call::ReadExactAt(length, offset),
            6 => Call::Write(length),
            7 => Call::WriteVectored(length, other),
            8 => Call::WriteAll(length),
            9 => Call::WriteAt(length, offset),
            10 => Call::WriteAllAt(length, offset),
            11..14 => Call::Seek(Call::random_target(rng, offset, reach)),
            14 => Call::StreamPosition,
            // Beyond that, an error of std has no number.
            15 => Call::SetLen(offset.min(i64::MAX as u64)),
            _ => Call::Flush,
        }
    }

    fn random_target(rng: &mut Rng, offset: u64, reach: Reach) -> SeekFrom {
        let by = match rng.u32(0..12) {
            0 if reach == Reach::All => *rng.choice(&[i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 50]).unwrap(),
            _ => rng.i64(-60..60),
        };
        match rng.u32(0..3) {
            0 => SeekFrom::Start(offset),
            1 => SeekFrom::Current(by),
            _ => SeekFrom::End(by),
        }
    }

    /// Returns the result: a number, and the bytes that were read.
    fn on(&self, mut file: impl Both) -> io::Result<(u64, Vec<u8>)> {
        let count = |result: io::Result<usize>| result.map(|count| (count as u64, Vec::new()));
        match *self {
            Call::Read(length) => reading(length, |buffer| file.read(buffer)),
            Call::ReadVectored(length, other) => reading(length + other, |buffer| {
                let (first, second) = buffer.split_at_mut(length);
                file.read_vectored(&mut [first, second].map(IoSliceMut::new))
            }),
            Call::ReadExact(length) => reading(length, |buffer| file.read_exact(buffer).map(|()| length)),
            Call::ReadToEnd => {
                let mut all = Vec::new();
                Ok((file.read_to_end(&mut all)? as u64, all))
            }
            Call::ReadAt(length, offset) => reading(length, |buffer| file.positioned().read_at(buffer, offset)),
            Call::ReadExactAt(length, offset) => {
                reading(length, |buffer| file.positioned().read_exact_at(buffer, offset).map(|()| length))
            }
            Call::Write(length) => count(file.write(&text(length))),
            Call::WriteVectored(length, other) => {
                count(file.write_vectored(&[text(length), text(other)].each_ref().map(|part| IoSlice::new(part))))
            }
            Call::WriteAll(length) => file.write_all(&text(length)).map(|()| Default::default()),
            Call::WriteAt(length, offset) => count(file.positioned().write_at(&text(length), offset)),
            Call::WriteAllAt(length, offset) => {
                file.positioned().write_all_at(&text(length), offset).map(|()| Default::default())
            }
            Call::Seek(to) => file.seek(to).map(|at| (at, Vec::new())),
            Call::StreamPosition => file.stream_position().map(|at| (at, Vec::new())),
            Call::SetLen(size) => file.resize(size).map(|()| Default::default()),
            Call::Flush => file.flush().map(|()| Default::default()),
        }
    }
}

fn reading(length: usize, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<(u64, Vec<u8>)> {
    let mut buffer = vec![0; length];
    let count = read(&mut buffer)?;
    Ok((count as u64, buffer))
}

/// Returns an answer in a form that can be compared.
fn told<T>(result: io::Result<T>) -> Result<T, (ErrorKind, Option<i32>)> {
    result.map_err(|error| (error.kind(), error.raw_os_error()))
}

#[track_caller]
fn same<T: PartialEq + Debug>(ours: io::Result<T>, theirs: io::Result<T>, seed: u64, calls: &[Call]) {
    assert_eq!(told(ours), told(theirs), "seed {seed}, after {calls:?}");
}

fn round(dir: &Path, reach: Reach, flags: OpenFlags, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let is_log = flags.contains(OpenFlags::APPEND);
    let (context, path) = (memfs(), dir.join(format!("{seed}-{is_log}")));
    let ours = open(&context, "/f", flags);
    let theirs = fs::OpenOptions::new();
    let theirs = theirs.clone().read(!is_log).write(true).append(is_log).create(true).mode(0o600).open(&path).unwrap();
    let mut calls = Vec::new();
    for _ in 0..STEPS {
        calls.push(Call::random(&mut rng, reach));
        let call = &calls[calls.len() - 1];
        same(call.on(&ours), call.on(&theirs), seed, &calls);
        same(Seek::stream_position(&mut &ours), (&theirs).stream_position(), seed, &calls);
        same(Ok(context.stat("/f").unwrap().size), theirs.metadata().map(|metadata| metadata.len()), seed, &calls);
    }
    if reach == Reach::Near && !is_log {
        ours.rewind().unwrap();
        (&theirs).rewind().unwrap();
        same(Call::ReadToEnd.on(&ours), Call::ReadToEnd.on(&theirs), seed, &calls);
    }
    fs::remove_file(path).unwrap();
}

/// On a tmpfs if there is one where Linux has it, and then with offsets that only a tmpfs takes.
#[test]
fn random_calls_are_answered_as_by_a_file_of_std() {
    let (dir, reaches) = match tempfile::tempdir_in("/dev/shm") {
        Ok(dir) => (dir, &[Reach::Near, Reach::All][..]),
        Err(_) => (tempfile::tempdir().unwrap(), &[Reach::Near][..]),
    };
    for reach in reaches {
        for seed in 0..ROUNDS {
            round(dir.path(), *reach, RW, seed);
            round(dir.path(), *reach, LOG, seed);
        }
    }
}
