//! Tests of where processes are and what their descriptors lead to: everything in the recording is
//! used, and nothing is guessed.

mod common;

use common::assert_relative;
use pathwalk_recording::LeftOut::{OtherRoot, RemovedDirectory, UnknownDirectory};

const HOME: Option<&str> = Some("/home");

#[test]
fn one_process_goes_about() {
    let text = r#"stat("a", 0x1) = 0
chdir("/usr") = 0
stat("b", 0x1) = 0
chdir("lib") = 0
stat("c", 0x1) = 0
chdir("nowhere") = -1 ENOENT (No such file or directory)
stat("d", 0x1) = 0
chdir("..") = 0
stat("e", 0x1) = 0
chdir(".") = 0
stat("f", 0x1) = 0
chdir("x") = ?
stat("g", 0x1) = 0
getcwd("/tmp", 4096) = 5
stat("h", 0x1) = 0
"#;
    let rest = ["/usr|b", "/usr|lib", "/usr/lib|c", "/usr/lib|nowhere", "/usr/lib|d", "/usr/lib|..", "/usr/lib/..|e"];
    let more = ["/usr/lib/..|.", "/usr/lib/..|f", "/usr/lib/..|x", "/tmp|h"];
    assert_relative(text, HOME, &[&["/home|a"][..], &rest, &more].concat(), &[(UnknownDirectory, 1)]);
    assert_relative(text, None, &[&rest[..], &more].concat(), &[(UnknownDirectory, 2)]);
}

#[test]
fn a_directory_that_grows_too_long_is_unknown() {
    let step = format!("chdir(\"{}\") = 0\n", "d".repeat(250));
    let text = format!("{}stat(\"a\", 0x1) = 0\n", step.repeat(17));
    let recording = common::read(&text);
    assert_eq!(common::left_out(&recording), [(UnknownDirectory, 1)]);
    assert_eq!(recording.lookups.len(), 17);
}

#[test]
fn annotations_are_the_truth() {
    let text = r#"7 openat(AT_FDCWD</a b\76>, "x", O_RDONLY) = 3</a b\76/x>
7 stat("y", 0x1) = 0
7 openat(3</dir>, "z", O_RDONLY) = 4</dir/z>
7 openat(3</dir>(deleted), "z", O_RDONLY) = -1 ENOENT (No such file or directory)
7 openat(3</dir (deleted)>, "z", O_RDONLY) = -1 ENOENT (No such file or directory)
7 openat(5<socket:[12]>, "z", O_RDONLY) = -1 ENOTDIR (Not a directory)
7 mkdirat(AT_FDCWD</b>, "x", 0777) = 0
7 stat("y", 0x1) = 0
7 fchdir(4</c>) = 0
7 stat("y", 0x1) = 0
7 openat(AT_FDCWD</c>(deleted), "x", O_RDONLY) = -1 ENOENT (No such file or directory)
7 stat("y", 0x1) = -1 ENOENT (No such file or directory)
"#;
    let expected = ["/a b>|x", "/a b>|y", "/dir|z", "/b|y", "/c|y"];
    assert_relative(text, None, &expected, &[(UnknownDirectory, 1), (RemovedDirectory, 4)]);
}

#[test]
fn a_child_whose_lines_come_before_its_number() {
    let text = r#"7 chdir("/w") = 0
7 vfork( <unfinished ...>
8 chdir("sub") = 0
8 execve("./p", ["p"], 0x1 /* 3 vars */ <unfinished ...>
7 <... vfork resumed>)              = 8
7 stat("a", 0x1 <unfinished ...>
8 <... execve resumed>)             = 0
7 <... stat resumed>) = 0
8 stat("b", 0x1) = 0
8 exit_group(0) = ?
8 +++ exited with 0 +++
7 stat("c", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/w|sub", "/w/sub|./p", "/w|a", "/w/sub|b", "/w|c"], &[]);
}

#[test]
fn threads_share_and_processes_do_not() {
    let text = r#"7 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0, stack=0x7f} => {parent_tid=[8]}, 88) = 8
7 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f) = 9
8 chdir("/t") = 0
7 stat("a", 0x1) = 0
9 stat("b", 0x1) = 0
8 openat(AT_FDCWD</u>, "/x", O_RDONLY) = 3
7 stat("c", 0x1) = 0
8 unshare(CLONE_FS) = 0
8 chdir("/v") = 0
7 stat("d", 0x1) = 0
8 stat("e", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/t|a", "/home|b", "/u|c", "/u|d", "/v|e"], &[]);
}

#[test]
fn descriptors_are_followed_if_closing_is_shown() {
    let text = r#"7 open("/a", O_RDONLY|O_DIRECTORY) = 3
7 openat(3, "b", O_RDONLY|O_CLOEXEC) = 4
7 dup2(3, 9) = 9
7 fcntl(4, F_DUPFD_CLOEXEC, 10) = 10
7 fcntl(4, F_DUPFD, 11) = 11
7 fcntl(11, F_SETFD, FD_CLOEXEC) = 0
7 dup(4) = 5
7 vfork() = 8
8 readlinkat(10, "c", 0x1, 9) = -1 EINVAL (Invalid argument)
8 execve("/p", ["p"], NULL) = 0
8 readlinkat(4, "d", 0x1, 9) = -1 EINVAL (Invalid argument)
8 readlinkat(10, "d", 0x1, 9) = -1 EINVAL (Invalid argument)
8 readlinkat(11, "d", 0x1, 9) = -1 EINVAL (Invalid argument)
8 readlinkat(5, "e", 0x1, 9) = -1 EINVAL (Invalid argument)
8 readlinkat(9, "f", 0x1, 9) = -1 EINVAL (Invalid argument)
8 fchdir(5) = 0
8 stat("g", 0x1) = 0
8 close_range(5, 4294967295, 0) = 0
8 readlinkat(5, "h", 0x1, 9) = -1 EINVAL (Invalid argument)
7 readlinkat(4, "i", 0x1, 9) = -1 EINVAL (Invalid argument)
"#;
    let expected = ["/a|b", "/a/b|c", "/a/b|e", "/a|f", "/a/b|g", "/a/b|i"];
    assert_relative(&format!("{text}7 close(3) = 0\n"), HOME, &expected, &[(UnknownDirectory, 4)]);
    assert_relative(text, HOME, &[], &[(UnknownDirectory, 10)]);
}

#[test]
fn what_a_descriptor_leads_to_ends_with_closing() {
    let text = r#"7 open("/a", O_RDONLY) = 3
7 close(3) = 0
7 fchdir(3) = -1 EBADF (Bad file descriptor)
7 stat("x", 0x1) = 0
7 fchdir(4) = 0
7 stat("y", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|x"], &[(UnknownDirectory, 1)]);
}

#[test]
fn without_closing_one_who_opens_a_directory_may_go_there_unseen() {
    let text = "7 stat(\"a\", 0x1) = 0\n7 open(\".\", O_RDONLY) = 3\n7 stat(\"b\", 0x1) = 0\n";
    assert_relative(text, HOME, &["/home|a", "/home|."], &[(UnknownDirectory, 1)]);
    assert_relative(&format!("{text}7 close(3) = 0\n"), HOME, &["/home|a", "/home|.", "/home|b"], &[]);
}

#[test]
fn two_makers_that_are_alike_need_no_waiting() {
    let text = r#"7 vfork() = 8
7 vfork( <unfinished ...>
8 vfork( <unfinished ...>
10 stat("a", 0x1) = 0
9 stat("b", 0x1) = 0
10 exit_group(0) = ?
10 +++ exited with 0 +++
8 <... vfork resumed>) = 10
7 <... vfork resumed>) = 9
9 stat("c", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|a", "/home|b", "/home|c"], &[]);
}

#[test]
fn two_makers_that_differ_are_told_apart_by_the_number() {
    let text = r#"7 vfork() = 8
8 chdir("/other") = 0
7 vfork( <unfinished ...>
8 vfork( <unfinished ...>
10 stat("a", 0x1) = 0
10 vfork( <unfinished ...>
11 stat("b", 0x1 <unfinished ...>
9 stat("c", 0x1) = 0
9 exit_group(0) = ?
9 +++ exited with 0 +++
10 <... vfork resumed>) = 11
11 <... stat resumed>) = 0
8 <... vfork resumed>) = 10
7 <... vfork resumed>) = 9
10 stat("d", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/other|a", "/other|b", "/home|c", "/other|d"], &[]);
}

#[test]
fn who_waits_for_ever_is_a_stranger() {
    let text = r#"7 vfork() = 8
8 chdir("/other") = 0
7 vfork( <unfinished ...>
8 vfork( <unfinished ...>
10 stat("a", 0x1) = 0
"#;
    assert_relative(text, HOME, &[], &[(UnknownDirectory, 1)]);
    // The result is the same if so many lines wait that their memory is exhausted.
    let many = "10 stat(\"a\", 0x1) = 0\n".repeat(40_000);
    assert_relative(
        &format!("{text}{many}8 <... vfork resumed>) = 10\n10 stat(\"b\", 0x1) = 0\n"),
        HOME,
        &[],
        &[(UnknownDirectory, 40_002)],
    );
}

#[test]
fn numbers_are_those_that_strace_sees() {
    let text = r#"7 vfork() = 2 /* 8 in strace's PID NS */
7 chdir("/a") = 0
8 stat("x", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|x"], &[]);
}

#[test]
fn a_thread_that_executes_takes_the_number_of_its_process() {
    let text = r#"7 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, parent_tid=[8]) = 8
8 unshare(CLONE_FS) = 0
8 chdir("/t") = 0
8 execve("p", ["p"], NULL <pid changed to 7 ...>
7 +++ superseded by execve in pid 8 +++
7 <... execve resumed>) = 0
7 stat("a", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/t|p", "/t|a"], &[]);
}

#[test]
fn another_root_is_another_world() {
    let text = r#"7 vfork() = 8
8 chroot("/jail") = 0
8 stat("/a", 0x1) = 0
8 stat("b", 0x1) = 0
8 vfork() = 9
9 stat("/c", 0x1) = 0
7 stat("d", 0x1) = 0
7 chroot("/nowhere") = -1 ENOENT (No such file or directory)
7 stat("e", 0x1) = 0
7 clone(child_stack=NULL, flags=CLONE_NEWNS|SIGCHLD) = 10
10 stat("/f", 0x1) = 0
7 unshare(CLONE_NEWNS) = -1 EPERM (Operation not permitted)
7 mount("none", "/mnt", "tmpfs", 0, NULL) = 0
7 stat("g", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|d", "/home|e"], &[(OtherRoot, 5), (pathwalk_recording::LeftOut::OtherCall, 2)]);
}

#[test]
fn pivot_root_concerns_all_unless_the_mounts_are_ones_own() {
    let text = "7 vfork() = 8\n8 pivot_root(\".\", \".\") = 0\n7 stat(\"a\", 0x1) = 0\n8 stat(\"/b\", 0x1) = 0\n";
    assert_relative(text, HOME, &[], &[(OtherRoot, 2)]);
    let own = text.replace("8 pivot_root", "8 unshare(CLONE_NEWNS) = 0\n8 pivot_root");
    assert_relative(&own, HOME, &["/home|a"], &[(OtherRoot, 1)]);
}

#[test]
fn children_of_nobody_are_nowhere() {
    // `strace -f -e trace=%file` shows the processes in this way.
    let text = r#"7 stat("a", 0x1) = 0
8 stat("b", 0x1) = 0
8 chdir("/known") = 0
8 stat("c", 0x1) = 0
7 stat("d", 0x1) = 0
7 chdir("/first") = 0
7 stat("e", 0x1) = 0
8 stat("f", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|a", "/known|c", "/first|e"], &[(UnknownDirectory, 3)]);
}

#[test]
fn numbers_that_are_given_again() {
    let text = r#"7 vfork() = 8
8 chdir("/old") = 0
8 exit_group(0) = ?
8 +++ exited with 0 +++
7 vfork() = 8
8 stat("a", 0x1) = 0
8 exit_group(0) = ?
7 vfork( <unfinished ...>
8 stat("b", 0x1) = 0
7 <... vfork resumed>) = 8
8 +++ exited with 0 +++
8 stat("c", 0x1) = 0
"#;
    assert_relative(text, HOME, &["/home|a", "/home|b"], &[(UnknownDirectory, 1)]);
}

#[test]
fn processes_named_while_there_are_several() {
    let text = r#"stat("a", 0x1) = 0
vfork(strace: Process 8 attached
 <unfinished ...>
[pid     8] chdir("/c") = 0
[pid     8] execve("./p", ["p"], NULL <unfinished ...>
[pid     7] <... vfork resumed>)        = 8
[pid     7] vfork(strace: Process 9 attached
 <unfinished ...>
[pid     9] stat("z", 0x1) = 0
[pid     7] <... vfork resumed>)        = 9
[pid     9] +++ exited with 0 +++
[pid     8] <... execve resumed>)       = 0
[pid     7] stat("b", 0x1) = 0
[pid     8] exit_group(0)               = ?
[pid     8] +++ exited with 0 +++
--- SIGCHLD {si_signo=SIGCHLD} ---
stat("c", 0x1) = 0
+++ exited with 0 +++
"#;
    assert_relative(text, HOME, &["/home|a", "/c|./p", "/home|z", "/home|b", "/home|c"], &[]);
}

#[test]
fn calls_that_never_return_count_if_they_tell_what_they_asked() {
    let text = r#"7 access("a", R_OK <unfinished ...>
7 +++ killed by SIGKILL +++
"#;
    assert_relative(text, HOME, &["/home|a"], &[]);
    let recording = common::read(
        "7 access(\"a\", R_OK <unfinished ...>\n8 stat(\"/b\",  <unfinished ...>\n8 newfstatat(AT_FDCWD, \"/c\",  <unfinished ...>\n",
    );
    let answers: Vec<u64> = recording.lookups.iter().map(|recorded| recorded.answers.unknown).collect();
    assert_eq!((answers, recording.tally.unreadable), (vec![1, 1], 1));
    assert_eq!(recording.tally.first_unreadable[0].line, 3);
}

#[test]
fn repeats_mean_what_they_mean_where_they_stand() {
    let three = |line: &str| format!("{line}\n").repeat(3);
    let same = three("7 stat(\"a\", 0x1) = 0") + &three("7 stat(\"/abs\", 0x1) = 0");
    let opens =
        three("7 openat(AT_FDCWD, \"d\", O_RDONLY) = 3") + "7 readlinkat(3, \"x\", 0x1, 9) = -1 EINVAL (Invalid argument)\n";
    let noted = three("7 openat(AT_FDCWD</noted>, \"/e\", O_RDONLY) = 4</e>") + "7 stat(\"n\", 0x1) = 0\n";
    let text = [
        "7 close(9) = 0\n",
        &same,
        &opens,
        "7 chdir(\"/usr\") = 0\n",
        &same,
        &opens,
        "7 close(3) = 0\n7 readlinkat(3, \"y\", 0x1, 9) = -1 EBADF (Bad file descriptor)\n",
        &opens,
        &noted,
        "7 chdir(\"/usr\") = 0\n",
        &noted,
        "7 chroot(\"/jail\") = 0\n",
        &same,
    ];
    let recording = common::read(&text.concat());
    let counted: Vec<(String, u64)> =
        common::asked(&recording).into_iter().zip(recording.lookups.iter().map(|recorded| recorded.answers.total())).collect();
    let expected = [
        ("/home|a", 3),
        ("/abs", 6),
        ("/home|d", 3),
        ("/home/d|x", 1),
        ("/usr", 2),
        ("/usr|a", 3),
        ("/usr|d", 6),
        ("/usr/d|x", 2),
        ("/e", 6),
        ("/noted|n", 2),
    ];
    assert_eq!(counted, expected.map(|(path, count)| (path.to_owned(), count)));
    use pathwalk_recording::LeftOut::OtherCall;
    assert_eq!(common::left_out(&recording), [(UnknownDirectory, 1), (OtherRoot, 6), (OtherCall, 1)]);
}
