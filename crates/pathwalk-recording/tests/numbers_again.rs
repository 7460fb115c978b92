//! Tests of process numbers that are reused before it is known which process has them now.

use pathwalk_recording::{Options, Recording};

/// A recording in which process 9 ends, and its number is reused while two calls are under way that
/// make processes of different kinds.
const TEXT: &str = r#"7 vfork() = 8
7 vfork() = 9
9 exit_group(0) = ?
7 vfork( <unfinished ...>
8 clone(child_stack=NULL, flags=CLONE_FS <unfinished ...>
9 access("/b", F_OK) = 0
"#;

#[test]
fn lines_wait_until_a_call_returns_the_number() {
    let text = format!("{TEXT}7 <... vfork resumed>) = 9\n");
    let recording = Recording::read(text.as_bytes(), Options::default()).unwrap();
    assert_eq!((recording.lookups.len(), recording.lookups[0].answers.fine), (1, 1));
    assert_eq!((recording.tally.processes, recording.tally.unreadable), (4, 0));
}

#[test]
fn lines_that_wait_to_the_end_are_a_strangers() {
    let recording = Recording::read(TEXT.as_bytes(), Options::default()).unwrap();
    assert_eq!((recording.lookups.len(), recording.lookups[0].answers.fine), (1, 1));
}
