//! Measurements in a process of their own, in which no other test takes memory.

use std::fs::File;
use std::io::Read;
use std::process::Command;

use pathwalk_tests::skipped;

/// The environment variable that is set in the children, with the argument of the test.
const ALONE: &str = "PATHWALK_MEMORY_BUDGET_ALONE";

/// The file in which the kernel reports the resident memory.
const ROLLUP: &str = "/proc/self/smaps_rollup";

/// Runs `body` with each of the arguments, each in a process in which nothing else runs. Reports a
/// skip if this kernel does not report resident memory. `test` is the name of the calling test.
pub(crate) fn alone(test: &str, arguments: &[u64], body: impl FnOnce(u64)) {
    if let Some(argument) = std::env::var_os(ALONE) {
        let argument = argument.to_str().and_then(|argument| argument.parse().ok()).expect("the parent sets a number");
        return body(argument);
    }
    if let Err(why) = ask_resident() {
        return skipped(test, &why);
    }
    for argument in arguments {
        let program = std::env::current_exe().expect("a test knows its program");
        let output = Command::new(program)
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ALONE, argument.to_string())
            .output()
            .expect("a test can run itself");
        let said = String::from_utf8_lossy(&output.stdout);
        print!("{said}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{test} with {argument}: {}\n{errors}", output.status);
    }
}

/// Returns the resident memory of this process in bytes.
pub(crate) fn resident() -> u64 {
    ask_resident().expect("it was told when the parent asked")
}

/// Returns the resident memory in bytes, or the reason why it is unknown: `ROLLUP` is not in every
/// kernel, nor in every sandbox.
///
/// The figure comes from the page tables: the counters in `/proc/self/statm` may be off by some
/// dozens of pages for each processor.
fn ask_resident() -> Result<u64, String> {
    let mut buffer = [0; 4096];
    let read = File::open(ROLLUP).and_then(|mut file| file.read(&mut buffer)).map_err(|error| format!("{ROLLUP}: {error}"))?;
    let lines = buffer[..read].split(|byte| *byte == b'\n');
    let line = lines.into_iter().find_map(|line| line.strip_prefix(b"Rss:")).ok_or_else(|| format!("no Rss in {ROLLUP}"))?;
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')) * 1024)
}

/// Keeps the kernel from giving this process pages of 2 MiB where it touches a few bytes. Otherwise
/// the memory of a touch would depend on the machine's settings.
pub(crate) fn small_pages() {
    // SAFETY: the call changes only the kernel's treatment of page faults.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
