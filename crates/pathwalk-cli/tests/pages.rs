//! Tests of `pathwalk completions` and `pathwalk man`: shells and `man` accept what is written.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{pathwalk, refused};
use pathwalk_tests::skipped;

fn written(args: &[&str]) -> String {
    let output = pathwalk().args(args).output().expect("the program starts");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""), "{args:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs another program with this standard input. The error says why it cannot be run.
fn fed(command: &mut Command, input: &str) -> Result<Output, String> {
    let mut run = || {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        child.stdin.take().expect("a pipe").write_all(input.as_bytes())?;
        child.wait_with_output()
    };
    run().map_err(|error| error.to_string())
}

#[test]
fn bash_takes_the_completions() {
    let script = written(&["completions", "bash"]);
    let output = match fed(Command::new("bash").arg("-n"), &script) {
        Ok(output) => output,
        Err(why) => return skipped("completions for bash", &why),
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let asks = |words: &str| {
        let all: Vec<&str> = words.split(' ').collect();
        let [.., before, word] = all[..] else { panic!("too few words") };
        let count = all.len() - 1;
        format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD={count}; _pathwalk pathwalk '{word}' '{before}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
        )
    };
    for (words, expected) in [
        ("pathwalk re", &["replay"][..]),
        ("pathwalk bench pin", &["pinned"]),
        ("pathwalk explain --wa", &["--want"]),
        ("pathwalk replay --qui", &["--quiet"]),
        ("pathwalk coun", &[]),
    ] {
        let output = fed(&mut Command::new("bash"), &asks(words)).expect("bash was there");
        let told = String::from_utf8(output.stdout).expect("text");
        let told: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(told, expected, "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn other_shells_have_completions() {
    for (shell, says) in [("zsh", "#compdef pathwalk"), ("fish", "complete -c pathwalk"), ("elvish", "pathwalk;explain")] {
        assert!(written(&["completions", shell]).contains(says), "{shell}");
    }
    assert!(refused(&["completions".as_ref(), "csh".as_ref()]).contains("bash, elvish, fish"));
}

#[test]
fn there_is_a_page_for_each_command() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("share/man1");
    let told = written(&["man", pages.to_str().expect("temporary files have names in UTF-8")]);
    let mut names: Vec<String> =
        std::fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "pathwalk-bench-open-cached.1",
        "pathwalk-bench-pinned.1",
        "pathwalk-bench-resolver.1",
        "pathwalk-bench-walktrees.1",
        "pathwalk-bench-wide.1",
        "pathwalk-bench.1",
        "pathwalk-branch-apply.1",
        "pathwalk-branch-check.1",
        "pathwalk-branch-commit.1",
        "pathwalk-branch-diff.1",
        "pathwalk-branch-drop.1",
        "pathwalk-branch-fork.1",
        "pathwalk-branch-gc.1",
        "pathwalk-branch-list.1",
        "pathwalk-branch-note.1",
        "pathwalk-branch-rebase.1",
        "pathwalk-branch-show.1",
        "pathwalk-branch-undo.1",
        "pathwalk-branch.1",
        "pathwalk-completions.1",
        "pathwalk-explain.1",
        "pathwalk-man.1",
        "pathwalk-mount.1",
        "pathwalk-replay.1",
        "pathwalk-stats.1",
        "pathwalk-try.1",
        "pathwalk-umount.1",
        "pathwalk-watch.1",
        "pathwalk.1",
    ];
    assert_eq!(names, expected);
    assert!(told.contains("29 pages"), "{told}");
    assert_eq!(std::fs::read_to_string(pages.join("pathwalk.1")).unwrap(), written(&["man"]));
    for name in names {
        renders(&pages.join(name));
    }
    assert!(refused(&["man".as_ref(), "/dev/null/x".as_ref()]).contains("a directory that you may write to"));
}

/// Checks that `man` renders a page without a warning, and that lines stay as they are.
fn renders(page: &Path) {
    let mut man = Command::new("man");
    man.args(["--warnings", "-l"]).arg(page).env("MANWIDTH", "90").env("LC_ALL", "C.UTF-8").env_remove("MAN_KEEP_FORMATTING");
    let output = match fed(&mut man, "") {
        Ok(output) => output,
        Err(why) => return skipped("rendering pages", &format!("man cannot be run ({why})")),
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() && errors.contains("minimized") {
        return skipped("rendering pages", errors.trim());
    }
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", page.display());
    for words in ["NAME", "SYNOPSIS", "OPTIONS", "Exit codes:\n", "  0  ", "-q, --quiet"] {
        assert!(text.contains(words), "{}: {words}:\n{text}", page.display());
    }
    if page.ends_with("pathwalk-replay.1") {
        assert!(text.contains("\\\n") && text.contains("-e trace=%file,%process"), "{text}");
    }
}
