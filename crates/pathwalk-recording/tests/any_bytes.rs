//! Tests that any input gives an answer or an error, and no panic.

use pathwalk_recording::{Options, Recording};
use proptest::prelude::*;

const REAL: [&[u8]; 3] = [
    include_bytes!("recordings/gcc-y.strace"),
    include_bytes!("recordings/shell-plain.strace"),
    include_bytes!("recordings/shell-stderr.strace"),
];

/// The pieces that lines are made of.
const PIECES: [&str; 44] = [
    "7 ",
    "8  ",
    "9 ",
    "[pid     8] ",
    "12:00:01 ",
    "0.1 ",
    "[ 12] ",
    "open(",
    "openat(",
    "openat2(",
    "newfstatat(",
    "execve(",
    "chdir(",
    "fchdir(",
    "vfork(",
    "clone(",
    "clone3({flags=",
    "CLONE_FS|CLONE_FILES",
    "close(",
    "close_range(",
    "dup2(",
    "AT_FDCWD",
    "AT_FDCWD</a>",
    "3",
    "3</a>",
    "<",
    ">",
    "\"",
    "\"/a\"",
    "\"b\"...",
    "\\",
    "{",
    "}",
    ", ",
    "O_RDONLY",
    ")",
    " = 0",
    " = 8",
    " = ?",
    " = -1 ENOENT (No such file or directory)",
    " <unfinished ...>",
    "<... vfork resumed>",
    "+++ exited with 0 +++",
    "\n",
];

fn read(bytes: &[u8]) {
    // A line in front makes the text a recording.
    let text = [b"7 access(\"/a\", F_OK) = 0\n", bytes].concat();
    let recording = Recording::read(&text[..], Options { cwd: Some("/home".into()), progress: None }).unwrap();
    assert!(recording.lookups.iter().map(|recorded| recorded.answers.total()).sum::<u64>() >= recording.sequence.len() as u64);
    assert!(recording.lookups.is_sorted_by_key(|recorded| recorded.line));
}

proptest! {
    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
        let _ = Recording::read(&bytes[..], Options::default());
        let _ = Recording::read(&[&[0x1f, 0x8b, 8, 0][..], &bytes].concat()[..], Options::default());
    }

    #[test]
    fn pieces(pieces in proptest::collection::vec(0..PIECES.len(), 0..300)) {
        read(pieces.iter().map(|piece| PIECES[*piece]).collect::<String>().as_bytes());
    }

    #[test]
    fn real_ones_with_damage(which in 0..REAL.len(), damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20)) {
        let mut bytes = REAL[which].to_vec();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        read(&bytes);
    }
}

#[test]
fn real_ones_cut_off_anywhere() {
    for real in REAL {
        // Only the end of the long recording is cut: there processes end and calls are interrupted.
        for end in real.len().saturating_sub(4000)..real.len() {
            // The text starts at the last few lines. The lines before them do not change.
            let begin =
                real[..end].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(3).map_or(0, |(at, _)| at + 1);
            read(&real[begin..end]);
        }
    }
}
