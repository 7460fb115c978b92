//! Measuring in a process of one's own, in which no other test takes memory.

use std::fs::File;
use std::io::Read;
use std::process::Command;

use pathwalk_tests::skipped;

/// Set in the children: what the test is to do there.
const ALONE: &str = "PATHWALK_MEMORY_BUDGET_ALONE";

/// Where the kernel tells what is resident.
const ROLLUP: &str = "/proc/self/smaps_rollup";

/// Runs `body` with each of the arguments, each in a process in which nothing else runs, or says that this kernel does not tell what is
/// resident. `test` is the name of the test that calls this.
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

/// Bytes of this process that are in memory.
pub(crate) fn resident() -> u64 {
    ask_resident().expect("it was told when the parent asked")
}

/// The same, or why it is not told: `ROLLUP` is not in every kernel, nor in every sandbox.
///
/// From the page tables: the counters in `/proc/self/statm` may be off by some dozens of pages for each processor.
fn ask_resident() -> Result<u64, String> {
    let mut buffer = [0; 4096];
    let read = File::open(ROLLUP).and_then(|mut file| file.read(&mut buffer)).map_err(|error| format!("{ROLLUP}: {error}"))?;
    let lines = buffer[..read].split(|byte| *byte == b'\n');
    let line = lines.into_iter().find_map(|line| line.strip_prefix(b"Rss:")).ok_or_else(|| format!("no Rss in {ROLLUP}"))?;
    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')) * 1024)
}

/// Keeps the kernel from giving this process pages of 2 MiB where it touches a few bytes: how much a touch takes would depend on
/// the machine's settings.
pub(crate) fn small_pages() {
    // SAFETY: it changes nothing but what the kernel does on page faults.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
