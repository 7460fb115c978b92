//! Helpers that read a recording in a test and show the result briefly.

#![allow(dead_code, unreachable_pub, reason = "every test program uses some of it")]

use pathwalk_recording::{LeftOut, Options, Recording, Start};

/// Reads a recording that starts in `/home`.
pub fn read(text: &str) -> Recording {
    read_in(text, Some("/home"))
}

/// Reads a recording that starts in a directory, or in an unknown one.
pub fn read_in(text: &str, cwd: Option<&str>) -> Recording {
    let options = Options { cwd: cwd.map(Into::into), progress: None };
    Recording::read(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns each distinct lookup as `start|path`, or as the path alone if it is absolute.
pub fn asked(recording: &Recording) -> Vec<String> {
    let shown = recording.lookups.iter().map(|recorded| {
        let path = String::from_utf8_lossy(&recorded.lookup.path);
        match recorded.lookup.start {
            Start::Root => path.into_owned(),
            Start::Directory(at) => format!("{}|{path}", String::from_utf8_lossy(&recording.starts[at as usize])),
        }
    });
    shown.collect()
}

/// Returns the number of lookups left out, by reason.
pub fn left_out(recording: &Recording) -> Vec<(LeftOut, u64)> {
    recording.tally.left_out.iter().map(|(reason, count)| (*reason, *count)).collect()
}

/// Asserts that all lines of a recording were read, and that its relative lookups are these.
/// Absolute lookups are ignored.
#[track_caller]
pub fn assert_relative(text: &str, cwd: Option<&str>, expected: &[&str], left: &[(LeftOut, u64)]) {
    let recording = read_in(text, cwd);
    assert_eq!(recording.tally.unreadable, 0, "{:#?}", recording.tally.first_unreadable);
    let relative: Vec<String> = asked(&recording).into_iter().filter(|path| path.contains('|')).collect();
    assert_eq!(relative, expected);
    assert_eq!(left_out(&recording), left);
}
