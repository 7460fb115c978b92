//! Tests of whole files: packed, cut off, with other text in between, or no recording at all.

mod common;

use std::io::{self, Read, Write};

use common::{asked, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use pathwalk_recording::{Answers, Input, Kind, Options, ReadError, Recording};

const LINES: &str = "7 access(\"/a\", F_OK) = 0\n7 access(\"/a\", F_OK) = -1 ENOENT (No such file or directory)\n7 access(\"/a\", F_OK) = -1 EACCES (Permission denied)\n7 access(\"/a\", F_OK) = ? ERESTARTSYS (To be restarted)\n";

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn error(bytes: &[u8]) -> String {
    Recording::read(bytes, Options::default()).unwrap_err().to_string()
}

#[test]
fn answers_are_counted() {
    let recording = read(LINES);
    assert_eq!(recording.lookups.len(), 1);
    assert_eq!(recording.lookups[0].answers, Answers { fine: 1, absent: 1, failed: 1, unknown: 1 });
    assert_eq!((recording.lookups[0].line, recording.tally.lines, recording.tally.bytes), (1, 4, LINES.len() as u64));
    assert_eq!((recording.sequence, recording.stride), (vec![0; 4], 1));
}

#[test]
fn packed_ones_are_unpacked() {
    let mut progress = 0;
    let whole = [packed(LINES.as_bytes()), packed(LINES.as_bytes())].concat();
    let options = Options { cwd: None, progress: Some(&mut |bytes| progress = bytes) };
    let recording = Recording::read(&whole[..], options).unwrap();
    assert_eq!((recording.tally.lines, recording.tally.cut_short), (8, None));
    assert_eq!((recording.tally.bytes, progress), (2 * LINES.len() as u64, whole.len() as u64));
}

#[test]
fn a_packed_one_that_ends_early_counts_as_far_as_it_goes() {
    let text: String = (0..20_000).map(|i| format!("7 access(\"/{}\", F_OK) = 0\n", i * 7919 % 10_007)).collect();
    let whole = packed(text.as_bytes());
    for end in [whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let recording = Recording::read(&whole[..end], Options::default()).unwrap();
        assert!(recording.tally.cut_short.is_some() && recording.tally.lines > 1000, "{end}: {:?}", recording.tally);
    }
    let mut damaged = whole.clone();
    damaged[whole.len() / 2..].fill(0xff);
    assert!(Recording::read(&damaged[..], Options::default()).unwrap().tally.cut_short.is_some());
    assert!(matches!(Input::new(&whole[..whole.len() / 2]).unwrap().into_bytes(), Err(ReadError::CutShort { .. })));
}

#[test]
fn what_is_no_recording_is_refused() {
    assert!(error(b"").contains("it is empty; record a command with `strace -f -y"));
    assert!(error(&packed(b"")).contains("it is empty"));
    let binary = error(&std::fs::read(std::env::current_exe().unwrap()).unwrap());
    assert!(binary.contains("NUL bytes") && binary.contains("path TAB mode") && binary.contains("strace -f"), "{binary}");
    let text = error(b"hello\nworld\n");
    assert!(text.contains("it begins with \"hello\"") && text.contains("strace -f"), "{text}");
    assert!(error(b"/etc\tF_OK\n").contains("this is a trace"));
    assert!(error(&[0x1f, 0x8b, 0, 0]).contains("it is empty"));
    let relative = Recording::read(LINES.as_bytes(), Options { cwd: Some("home".into()), progress: None });
    assert!(relative.unwrap_err().to_string().contains("must be absolute, \"home\" is not"));
}

#[test]
fn the_kind_is_known_before_anything_is_taken_out() {
    let trace = b"/etc\tF_OK\n".repeat(50_000);
    let input = Input::new(&trace[..]).unwrap();
    assert_eq!(input.kind(), Kind::Trace);
    assert_eq!(input.into_bytes().unwrap(), trace);
    let input = Input::new(io::Cursor::new(packed(&trace))).unwrap();
    assert_eq!((input.kind(), input.into_bytes().unwrap().len()), (Kind::Trace, trace.len()));
    let input = Input::new(LINES.as_bytes()).unwrap();
    assert_eq!(input.kind(), Kind::Strace);
    assert_eq!(Recording::read_input(input, Options::default()).unwrap().tally.lines, 4);
}

#[test]
fn what_the_program_said_is_counted_and_shown() {
    let mut text = String::from("Compiling...\n\x1b[1mwarning\x1b[0m: unused\n");
    for line in LINES.lines() {
        text += &format!("{line}\nhello (world) = what\n");
    }
    text += &format!("{}\n", "x".repeat(500));
    text += &"7 open(\"/b\", O_RDONLY\n".repeat(20);
    let recording = read(&text);
    assert_eq!((recording.lookups.len(), recording.lookups[0].answers.total()), (1, 4));
    assert_eq!(recording.tally.unreadable, 2 + 4 + 1 + 20);
    let first = &recording.tally.first_unreadable;
    assert_eq!(first.len(), 10);
    assert_eq!((first[1].line, &*first[1].text), (2, "\\x1b[1mwarning\\x1b[0m: unused"));
    assert_eq!((first[2].line, first[6].line, first[6].text.len()), (4, 11, 83));
}

#[test]
fn a_last_line_that_is_cut_off_is_not_read() {
    for end in 1..=LINES.lines().next().unwrap().len() {
        let text = format!("{LINES}{}", &LINES[..end]);
        let recording = read(&text);
        let whole = recording.lookups[0].answers.total() == 5;
        assert_eq!(recording.tally.unreadable, u64::from(!whole), "{text}");
        assert_eq!(whole, text.ends_with(" = 0"), "{text}");
    }
    for end in ["-1", "-1 ", "-1 ENOE", "-1 ENOENT", "-1 ENOENT (No such"] {
        let recording = read(&format!("{LINES}7 access(\"/a\", F_OK) = {end}"));
        assert_eq!((recording.lookups[0].answers.total(), recording.tally.unreadable), (4, 1), "{end}");
    }
    assert_eq!(read(LINES.trim_end()).tally.unreadable, 0);
}

#[test]
fn a_line_without_an_end_costs_no_memory() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let length = room.len().min(self.0 as usize);
            room[..length].fill(b'x');
            self.0 -= length as u64;
            Ok(length)
        }
    }
    let source = LINES.as_bytes().chain(Endless(5 << 20)).chain(&b"\n"[..]).chain(LINES.as_bytes()).chain(Endless(3 << 20));
    let recording = Recording::read(source, Options::default()).unwrap();
    assert_eq!((recording.tally.lines, recording.tally.unreadable, recording.lookups[0].answers.total()), (10, 2, 8));
    assert_eq!(recording.tally.first_unreadable[0].line, 5);
}

#[test]
fn errors_of_reading_are_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let error = Recording::read(LINES.as_bytes().chain(Broken), Options::default()).unwrap_err();
    assert!(error.to_string().contains(&format!("after {} bytes: the disk is gone", LINES.len())), "{error}");
}

#[test]
fn what_is_left_out_has_a_reason() {
    use pathwalk_recording::LeftOut::{OtherCall, ResolveFlags, UnknownDirectory, UnknownPath};
    let long = "x".repeat(4095);
    let recording = read(&format!(
        r#"7 stat("{long}"..., 0x1) = -1 ENAMETOOLONG (File name too long)
7 stat(0x7f12, 0x1) = -1 EFAULT (Bad address)
7 stat(NULL, 0x1) = -1 EFAULT (Bad address)
7 stat("{long}", 0x1) = -1 ENOENT (No such file or directory)
7 openat2(AT_FDCWD, "x", {{flags=O_RDONLY, resolve=RESOLVE_BENEATH}}, 24) = 3
7 statfs("/a", {{f_type=TMPFS_MAGIC}}) = 0
7 newfstatat(12, "x", 0x1, 0) = 0
7 newfstatat(12, "/x", 0x1, 0) = 0
7 newfstatat(12, "", 0x1, AT_EMPTY_PATH) = 0
7 newfstatat(12, "", 0x1, 0) = -1 ENOENT (No such file or directory)
7 newfstatat(AT_FDCWD, "", 0x1, 0) = -1 ENOENT (No such file or directory)
7 mkdir("/a", 0777) = 0
7 openat(AT_FDCWD, "x", O_WRONLY|O_CREAT, 0666) = 3
7 stat("/\q", 0x1) = 0
"#
    ));
    assert_eq!(common::left_out(&recording), [(UnknownDirectory, 2), (UnknownPath, 3), (ResolveFlags, 1), (OtherCall, 1)]);
    assert_eq!(asked(&recording), [&*format!("/home|{long}"), "/x", "/home|"]);
    assert_eq!((recording.tally.no_name, recording.tally.unreadable), (1, 1));
    let counts = |counts: &std::collections::BTreeMap<String, u64>| counts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        (counts(&recording.tally.changes), counts(&recording.tally.other_calls)),
        (vec!["mkdir".into(), "openat".into()], vec!["statfs".into()])
    );
}

#[test]
fn names_are_bytes() {
    let recording = read("stat(\"/\\303\\251\\n\\\"\\\\\\t\\x41\", 0x1) = 0\n");
    assert_eq!(*recording.lookups[0].lookup.path, *"/\u{e9}\n\"\\\tA".as_bytes());
}
