//! Tests with small recordings of real programs, made by strace 6.1 in `/tmp/build`: every line is
//! read, and nothing is left out without need.

mod common;

use common::{asked, left_out};
use pathwalk_recording::{Call, LeftOut, Options, Recording};

const GCC: &[u8] = include_bytes!("recordings/gcc-y.strace");
const GCC_PACKED: &[u8] = include_bytes!("recordings/gcc-y.strace.gz");
const PLAIN: &[u8] = include_bytes!("recordings/shell-plain.strace");
const STDERR: &[u8] = include_bytes!("recordings/shell-stderr.strace");
const BARE: &[u8] = include_bytes!("recordings/shell-bare.strace");

fn read(bytes: &[u8], cwd: Option<&str>) -> Recording {
    let recording = Recording::read(bytes, Options { cwd: cwd.map(Into::into), progress: None }).unwrap();
    assert_eq!(recording.tally.unreadable, 0, "{:#?}", recording.tally.first_unreadable);
    assert_eq!(recording.sequence.len() as u64, recording.lookups.iter().map(|recorded| recorded.answers.total()).sum::<u64>());
    recording
}

fn relative(recording: &Recording) -> Vec<String> {
    asked(recording).into_iter().filter(|path| path.contains('|')).collect()
}

#[test]
fn a_compiler_with_descriptors_decoded() {
    let recording = read(GCC, None);
    assert_eq!((left_out(&recording), recording.tally.processes), (vec![], 3));
    assert_eq!(relative(&recording), ["/tmp/build|m.c.gch", "/tmp/build|m.c", "/tmp/build|m.o"]);
    let count = |call| recording.lookups.iter().filter(|recorded| recorded.lookup.call == call).count();
    assert_eq!((count(Call::Execve), count(Call::Access)), (3, 9));
    assert_eq!(read(GCC_PACKED, None), recording);
}

#[test]
fn a_shell_without_descriptors_decoded() {
    let recording = read(PLAIN, Some("/tmp/build"));
    assert_eq!((left_out(&recording), recording.tally.processes), (vec![], 3));
    assert_eq!(relative(&recording), ["/tmp/build/sub|../m.c"]);
    // The shell asked for its working directory, so the recording contains it.
    assert_eq!(read(PLAIN, None), recording);
}

#[test]
fn a_shell_on_standard_error_with_times() {
    let recording = read(STDERR, None);
    assert_eq!((left_out(&recording), recording.tally.processes), (vec![(LeftOut::OtherCall, 2)], 4));
    assert_eq!(relative(&recording), ["/tmp/build/sub|."]);
}

#[test]
fn a_shell_of_which_only_file_calls_were_recorded() {
    let recording = read(BARE, Some("/tmp/build"));
    assert_eq!(left_out(&recording), [(LeftOut::UnknownDirectory, 1), (LeftOut::OtherCall, 4)]);
    assert_eq!(recording.tally.processes, 4);
}
