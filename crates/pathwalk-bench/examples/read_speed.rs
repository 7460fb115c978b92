//! Measures how long reading a recording takes, beside counting its lines.
//!
//! `cargo run --release -p pathwalk-bench --example read_speed [FILE [ROUNDS]]`
//!
//! Without a file, a recording of a million lines is made: a build as `strace -f -y` shows it.
//! Rounds of `wc -l` and of reading alternate, so that both meet the same state of the machine. The
//! output is the median and the best of each, their ratios, and how much reading raised the peak
//! memory.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pathwalk_recording::{Options, Recording};

const LINES: usize = 1_000_000;
const ROUNDS: usize = 31;

fn main() -> Result<(), Box<dyn Error>> {
    let made = tempfile::tempdir()?;
    let file = match std::env::args_os().nth(1) {
        Some(file) => PathBuf::from(file),
        None => make(&made.path().join("recording"))?,
    };
    let rounds = match std::env::args_os().nth(2).map(|rounds| rounds.to_string_lossy().into_owned()) {
        Some(rounds) => rounds.parse::<NonZeroUsize>().map_err(|error| format!("ROUNDS is {rounds:?}: {error}"))?.get(),
        None => ROUNDS,
    };
    // The first pass is not measured. It puts the file into the page cache.
    count_lines(&file)?;
    let before = most_memory();
    let recording = read(&file)?;
    let after = most_memory();

    let (mut counting, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        counting.push(timed(|| count_lines(&file))?.0);
        // The time includes freeing the memory, which a program that continues pays as well.
        reading.push(timed(|| read(&file).map(drop))?.0);
    }
    let (counting, reading) = (Times::of(counting), Times::of(reading));
    let tally = &recording.tally;
    let asked: u64 = recording.lookups.iter().map(|lookup| lookup.answers.total()).sum();
    println!("{} lines, {:.1} MB, {} processes", tally.lines, tally.bytes as f64 / 1e6, tally.processes);
    println!("{asked} lookups, {} of them distinct; {} lines unreadable", recording.lookups.len(), tally.unreadable);
    let row = |name, [median, best]: [f64; 2], rest: &str| println!("{name:9} {median:7.2} {best:9.2}   {rest}");
    println!("          median      best   of {rounds} rounds");
    row("wc -l, ms", [milliseconds(counting.median), milliseconds(counting.best)], "");
    let per_line = reading.median.as_nanos() as f64 / tally.lines as f64;
    let rest = format!("{per_line:.0} ns a line, {:.2} million lines/s", 1e3 / per_line);
    row("read, ms", [milliseconds(reading.median), milliseconds(reading.best)], &rest);
    let ratio = |reading: Duration, counting: Duration| reading.as_secs_f64() / counting.as_secs_f64();
    row("ratio", [ratio(reading.median, counting.median), ratio(reading.best, counting.best)], "");
    if let (Some(before), Some(after)) = (before, after) {
        println!("memory, MB{:7.1}             by which the most ever resident grew", (after - before) as f64 / 1e3);
    }
    Ok(())
}

fn read(file: &Path) -> Result<Recording, Box<dyn Error>> {
    Ok(Recording::read(File::open(file)?, Options::default())?)
}

fn count_lines(file: &Path) -> Result<(), Box<dyn Error>> {
    let status = Command::new("wc").arg("-l").arg(file).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("wc -l ended with {status}").into()) }
}

fn timed<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(Duration, T), Box<dyn Error>> {
    let begin = Instant::now();
    let done = work()?;
    Ok((begin.elapsed(), done))
}

struct Times {
    median: Duration,
    best: Duration,
}

impl Times {
    /// Computes the times of at least one round.
    fn of(mut times: Vec<Duration>) -> Times {
        times.sort();
        Times { median: times[times.len() / 2], best: times[0] }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns `VmHWM` in kilobytes. Source: `proc(5)`.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

/// Writes a recording of [`LINES`] lines.
fn make(file: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(file)?);
    let (mut lines, mut unit) = (0, 0);
    while lines < LINES {
        let text = compilation(unit);
        for line in text.lines().take(LINES - lines) {
            writeln!(out, "{line}")?;
            lines += 1;
        }
        unit += 1;
    }
    out.flush()?;
    Ok(file.into())
}

/// Returns the lines of a compiler for one file: libraries, then headers along a search path, most
/// of which are absent in the first directories.
fn compilation(unit: usize) -> String {
    const LIBRARIES: [&str; 6] = ["libisl.so.23", "libmpc.so.3", "libmpfr.so.6", "libgmp.so.10", "libz.so.1", "libc.so.6"];
    const SEARCH: [&str; 3] = ["/usr/lib/gcc/x86_64-linux-gnu/12/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu"];
    let (parent, pid) = (20_000 + unit % 8, 30_000 + unit);
    let mut text = String::new();
    let mut line =
        |who: usize, what: std::fmt::Arguments<'_>| writeln!(text, "{who}  {what}").expect("a String takes everything");
    line(parent, format_args!("vfork( <unfinished ...>"));
    line(pid, format_args!("close(3<pipe:[{unit}]>)                    = 0"));
    line(
        pid,
        format_args!(
            r#"execve("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", ["/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "-quiet", "unit{unit}.cpp"], 0x55f0c0 /* 35 vars */ <unfinished ...>"#
        ),
    );
    line(parent, format_args!("<... vfork resumed>)              = {pid}"));
    line(parent, format_args!("wait4(-1,  <unfinished ...>"));
    line(pid, format_args!("<... execve resumed>)             = 0"));
    line(pid, format_args!(r#"access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such file or directory)"#));
    for library in LIBRARIES {
        let file = format!("/usr/lib/x86_64-linux-gnu/{library}");
        line(
            pid,
            format_args!(
                r#"openat(AT_FDCWD</home/user/project/build>, "/lib/x86_64-linux-gnu/{library}", O_RDONLY|O_CLOEXEC) = 3<{file}>"#
            ),
        );
        line(
            pid,
            format_args!(r#"newfstatat(3<{file}>, "", {{st_mode=S_IFREG|0644, st_size=1926232, ...}}, AT_EMPTY_PATH) = 0"#),
        );
        line(pid, format_args!("close(3<{file}>) = 0"));
    }
    for header in 0..150 {
        let name = format!("bits/header_{}.h", (unit * 7 + header * 13) % 1200);
        for directory in &SEARCH[..header % 4] {
            line(
                pid,
                format_args!(
                    r#"openat(AT_FDCWD</home/user/project/build>, "{directory}/{name}", O_RDONLY|O_NOCTTY) = -1 ENOENT (No such file or directory)"#
                ),
            );
        }
        let file = format!("/usr/include/c++/12/{name}");
        line(pid, format_args!(r#"openat(AT_FDCWD</home/user/project/build>, "{file}", O_RDONLY|O_NOCTTY) = 4<{file}>"#));
        line(pid, format_args!(r#"newfstatat(4<{file}>, "", {{st_mode=S_IFREG|0644, st_size=5742, ...}}, AT_EMPTY_PATH) = 0"#));
        line(pid, format_args!("close(4<{file}>) = 0"));
        if header % 3 == 0 {
            line(
                pid,
                format_args!(
                    r#"newfstatat(AT_FDCWD</home/user/project/build>, "../src/unit{unit}/part{header}.h", {{st_mode=S_IFREG|0644, st_size=812, ...}}, 0) = 0"#
                ),
            );
            line(pid, format_args!(r#"readlink("/home/user/project", 0x7ffd4bf8e1b0, 1023) = -1 EINVAL (Invalid argument)"#));
        }
    }
    line(pid, format_args!("exit_group(0)                     = ?"));
    line(pid, format_args!("+++ exited with 0 +++"));
    line(parent, format_args!("<... wait4 resumed>[{{WIFEXITED(s) && WEXITSTATUS(s) == 0}}], 0, NULL) = {pid}"));
    line(
        parent,
        format_args!("--- SIGCHLD {{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid={pid}, si_uid=1000, si_status=0}} ---"),
    );
    text
}
