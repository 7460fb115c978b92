//! Each way to open a pipe, beside each kind of files that have it open: what the kernel answers
//! and what the engine answers. What waits is released by an opener of both ends.

use pathwalk::{Errno, OpenFlags};

use crate::side::{Call, Ends, Engine, Kernel, NAMES, Side};

const RIGHTS: [OpenFlags; 3] = [OpenFlags::READ, OpenFlags::WRITE, OpenFlags::READ.union(OpenFlags::WRITE)];

/// Flags beside the rights.
const MORE: [OpenFlags; 9] = [
    OpenFlags::empty(),
    OpenFlags::TRUNCATE,
    OpenFlags::CREATE,
    OpenFlags::CREATE.union(OpenFlags::EXCLUSIVE),
    OpenFlags::CREATE.union(OpenFlags::TRUNCATE),
    OpenFlags::DIRECTORY,
    OpenFlags::NOFOLLOW,
    OpenFlags::APPEND,
    OpenFlags::PATH,
];

/// The files that have the pipe open before.
#[derive(Clone, Copy, Debug)]
enum Before {
    None,
    Reader,
    Writer,
    Both,
    /// Both, one after the other; then the reader is closed.
    WriterAlone,
    /// Both, and data in the pipe; then the writer is closed.
    ReaderAndData,
}

const BEFORE: [Before; 6] =
    [Before::None, Before::Reader, Before::Writer, Before::Both, Before::WriterAlone, Before::ReaderAndData];

fn prepared<S: Side>(side: &S, before: Before) -> Vec<S::File> {
    let nonblocking = |flags| side.open("pipe", flags | OpenFlags::NONBLOCK).unwrap();
    let both = || nonblocking(OpenFlags::READ | OpenFlags::WRITE);
    match before {
        Before::None => vec![],
        Before::Reader => vec![nonblocking(OpenFlags::READ)],
        Before::Writer | Before::WriterAlone => {
            let _reader = both();
            vec![nonblocking(OpenFlags::WRITE)]
        }
        Before::Both => vec![nonblocking(OpenFlags::READ), nonblocking(OpenFlags::WRITE)],
        Before::ReaderAndData => {
            let reader = nonblocking(OpenFlags::READ);
            assert_eq!(both().write(b"data"), Ok(4));
            vec![reader]
        }
    }
}

fn told<T: std::fmt::Debug>(result: Result<T, Errno>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(errno) => format!("{errno:?}"),
    }
}

/// Returns what the operations on an open file answer.
fn used(file: &impl Ends, flags: OpenFlags) -> String {
    let mut all = vec![told(file.read_at(3)), told(file.write_at(b"abc")), told(file.write_at(b""))];
    all.extend([told(file.seek()), told(file.set_len()), told(file.sync()), told(file.size()), told(file.write(b""))]);
    if flags.contains(OpenFlags::NONBLOCK) {
        all.extend([told(file.write(b"abcde")), told(file.read(4)), told(file.read(40)), told(file.read(0))]);
    }
    all.join(" ")
}

/// Returns the answer of one row.
fn answer<S: Side>(before: Before, name: &'static str, flags: OpenFlags) -> String {
    let side = S::new();
    let held = prepared(&side, before);
    let opener = side.clone();
    let call = Call::new(move || opener.open(name, flags));
    let waits = call.waits();
    let both = waits.then(|| side.open("pipe", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::NONBLOCK).unwrap());
    let opened = call.end();
    drop(both);
    let waited = if waits { "waits, then " } else { "" };
    let answer = match &opened {
        Ok(file) => format!("{waited}is open: {}", used(file, flags)),
        Err(errno) => format!("{waited}{errno:?}"),
    };
    // The others see what the opener does, and that it closes.
    let of_others = || held.iter().map(|file| format!(" {} {}", told(file.write(b"x")), told(file.read(9)))).collect::<String>();
    let beside = of_others();
    drop(opened);
    format!("{answer}; others:{beside}; then:{}", of_others())
}

#[test]
#[cfg_attr(miri, ignore = "makes pipes on the host")]
fn every_open_of_a_pipe_is_answered_as_by_the_kernel() {
    let (mut rows, mut waited, mut different) = (0, 0, Vec::new());
    for before in BEFORE {
        for rights in RIGHTS {
            for more in MORE {
                for patience in [OpenFlags::empty(), OpenFlags::NONBLOCK] {
                    // The standard library refuses these before it calls the kernel, or calls it
                    // with others.
                    let makes_to_read = more.contains(OpenFlags::CREATE) && !rights.contains(OpenFlags::WRITE);
                    if more.contains(OpenFlags::PATH) && (rights != OpenFlags::READ || !patience.is_empty()) || makes_to_read {
                        continue;
                    }
                    let flags = if more == OpenFlags::PATH { more } else { rights | more | patience };
                    let name = NAMES[rows % NAMES.len()];
                    let (kernel, engine) = (answer::<Kernel>(before, name, flags), answer::<Engine>(before, name, flags));
                    rows += 1;
                    waited += usize::from(kernel.starts_with("waits"));
                    if kernel != engine {
                        different.push(format!("{before:?}, {name}, {flags:?}\n    kernel: {kernel}\n    engine: {engine}"));
                    }
                }
            }
        }
    }
    assert!(different.is_empty(), "{} of {rows} rows differ:\n{}", different.len(), different.join("\n"));
    assert!(rows > 200 && waited > 20, "{rows} rows, {waited} of which wait");
}

/// The order of two opens, each of which may wait for the other one.
#[test]
#[cfg_attr(miri, ignore = "makes pipes on the host")]
fn two_openers_release_each_other_as_in_the_kernel() {
    fn answers<S: Side>(first: OpenFlags, second: OpenFlags) -> String {
        let side = S::new();
        let (one, other) = (side.clone(), side.clone());
        let one = Call::new(move || one.open("pipe", first));
        let is_first_waiting = one.waits();
        let other = Call::new(move || other.open("other", second));
        let is_second_waiting = other.waits();
        let both = side.open("link", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::NONBLOCK).unwrap();
        let opened = [one.end().map(drop), other.end().map(drop)];
        drop(both);
        format!("{is_first_waiting} {is_second_waiting} {opened:?}")
    }
    for first in RIGHTS {
        for second in RIGHTS {
            for patience in [OpenFlags::empty(), OpenFlags::NONBLOCK] {
                let second = second | patience;
                assert_eq!(answers::<Engine>(first, second), answers::<Kernel>(first, second), "{first:?}, then {second:?}");
            }
        }
    }
}

/// A partner that opened and closed again has released the opener that waited for it.
#[test]
#[cfg_attr(miri, ignore = "makes pipes on the host")]
fn a_partner_that_has_gone_again_counts() {
    fn answers<S: Side>(waiting: OpenFlags, partner: OpenFlags) -> String {
        let side = S::new();
        let opener = side.clone();
        let call = Call::new(move || opener.open("pipe", waiting));
        assert!(call.waits());
        drop(side.open("pipe", partner | OpenFlags::NONBLOCK).unwrap());
        let file = call.end().unwrap();
        if waiting == OpenFlags::READ { told(file.read(5)) } else { told(file.write(b"hello")) }
    }
    let (read, write) = (OpenFlags::READ, OpenFlags::WRITE);
    for (waiting, partner) in [(read, write), (write, read), (read, read | write), (write, read | write)] {
        assert_eq!(answers::<Engine>(waiting, partner), answers::<Kernel>(waiting, partner));
    }
}

/// Reads and writes that wait, and what ends the wait.
#[test]
#[cfg_attr(miri, ignore = "makes pipes on the host")]
fn reads_and_writes_wait_as_in_the_kernel() {
    fn answers<S: Side>(size: usize, ends: usize) -> String {
        let side = S::new();
        let both = side.open("pipe", OpenFlags::READ | OpenFlags::WRITE).unwrap();
        let reader = std::sync::Arc::new(side.open("pipe", OpenFlags::READ).unwrap());
        let writer = std::sync::Arc::new(side.open("pipe", OpenFlags::WRITE).unwrap());
        drop(both);
        let (for_read, for_write) = (reader.clone(), writer.clone());
        let read = Call::new(move || told(for_read.read(10)));
        let mut said = format!("{} ", read.waits());
        if ends == 0 {
            drop((writer, for_write));
            return said + &read.end();
        }
        writer.write(b"a").unwrap();
        said += &read.end();
        let write = Call::new(move || told(for_write.write(&vec![7; size])));
        said += &format!(" {} ", write.waits());
        if ends == 1 {
            drop(reader);
        } else {
            for _ in 0..size.div_ceil(1000).max(1) {
                let nothing_left = !write.waits() && size == 0;
                said += &if nothing_left { "0".into() } else { told(reader.read(1000).map(|bytes| bytes.len())) };
                said += &format!(" {} ", write.waits());
            }
        }
        said + &write.end()
    }
    for size in [1, 4096, 65_535, 65_536, 65_537, 70_000, 131_072] {
        for ends in [0, 1, 2] {
            assert_eq!(answers::<Engine>(size, ends), answers::<Kernel>(size, ends), "{size}, {ends}");
        }
    }
}
