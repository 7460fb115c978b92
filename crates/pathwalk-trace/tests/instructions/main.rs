//! Checks the cost of a cached lookup, in instructions and calls, counted in callgrind's simulator,
//! against `hit-path.budget`.
//!
//! - [`measured`]: the part that runs in the simulator: this program again, with arguments;
//! - [`callgrind`]: starts the program there and reads the profile;
//! - [`budget`]: the allowed costs.
//!
//! Four things are asserted of the public `Context::access`, from counts that are exact and the
//! same on every run:
//!
//! 1. On a cached path of six components, at most one function is called beneath it, the fast walk,
//!    and that calls nothing.
//! 2. The cost is linear in the number of lookups: the first lookups cost nothing extra.
//! 3. The instructions of a lookup, and over the lookups of a compiler, stay within the budget.
//! 4. In a branch of the tree, a lookup takes the instructions that it takes in the tree.
//!
//! That a hit stores nothing is not shown here, but in `pathwalk-tests/tests/read_only_memory.rs`.
//!
//! The program has no test harness, since it runs itself. Without optimization, or where valgrind
//! is not installed, it reports that it is skipped. With `PATHWALK_HIT_PATH=required`, as
//! `.ci/hit-path` sets it, that is a failure.

mod budget;
mod callgrind;
mod measured;

use std::error::Error;
use std::process::ExitCode;

use budget::Budget;
use callgrind::Profile;
use measured::{MEASURED, Subject};

/// The only function that a hit may call.
const FAST_WALK: &str = "from_cwd";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [MEASURED, subject, passes] => measured::run(subject, passes),
        // All other arguments from `cargo test` are for a harness.
        [..] if arguments.iter().any(|argument| argument == "--list") => Ok(()),
        [..] => check_or_skip(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hit path: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check_or_skip() -> Result<(), Box<dyn Error>> {
    let required = std::env::var_os("PATHWALK_HIT_PATH").is_some_and(|value| value == "required");
    match why_not() {
        None => check(),
        Some(reason) if required => Err(reason.into()),
        Some(reason) => {
            println!("hit path: skipped: {reason}");
            Ok(())
        }
    }
}

/// Returns the reason why instructions cannot be counted here, if there is one.
fn why_not() -> Option<&'static str> {
    if cfg!(debug_assertions) {
        return Some("this build is not optimized; run .ci/hit-path");
    }
    (!callgrind::is_there()).then_some("valgrind is not there; install it (Debian: valgrind and libc6-dbg) and run .ci/hit-path")
}

fn check() -> Result<(), Box<dyn Error>> {
    let budget = Budget::read()?;
    let (mut over, mut in_tree) = (Vec::new(), None);
    println!("{:<16} {:>8} {:>13} {:>8}", "hit path", "lookups", "instructions", "budget");
    for subject in Subject::BUDGETED {
        let (few, more) = (measure(subject, subject.few())?, measure(subject, subject.more())?);
        let cost = cost_of_one_pass(subject, &few, &more)?;
        let allowed = budget.of(subject.name());
        let shown = allowed.map_or("none".into(), |allowed| allowed.to_string());
        println!("{:<16} {:>8} {cost:>13} {shown:>8}", subject.name(), subject.lookups());
        print!("{}", functions(&more, subject.more()));
        if subject == Subject::SixComponents {
            no_call_but_one(subject, &few, &more)?;
            in_tree = Some(cost);
        }
        if subject == Subject::SixInBranch && in_tree != Some(cost) {
            over.push(format!("{} takes {cost} instructions, and the tree itself {in_tree:?}", subject.name()));
        }
        over.extend(allowed.and_then(|allowed| exceeded(subject, cost, allowed)));
    }
    let control = Subject::Control;
    if no_call_but_one(control, &measure(control, control.few())?, &measure(control, control.more())?).is_ok() {
        return Err("a call too many was made on purpose and not found out: calls are not seen here".into());
    }
    if over.is_empty() { Ok(()) } else { Err(over.join("\n").into()) }
}

/// Returns a message if the cost exceeds the budget.
fn exceeded(subject: Subject, cost: u64, allowed: u64) -> Option<String> {
    let (name, file, next) = (subject.name(), budget::FILE, Budget::for_cost(cost));
    if next < allowed {
        println!("    {name} got cheaper: lower its budget in {file} to {next}");
    }
    (cost > allowed).then(|| {
        format!(
            "{name} takes {cost} instructions, {allowed} are allowed: make it cheaper, or raise its budget in {file} (to {next}) and \
             say in CHANGELOG.md what they are spent on"
        )
    })
}

fn measure(subject: Subject, passes: u64) -> Result<Profile, Box<dyn Error>> {
    let passes = passes.to_string();
    callgrind::profile(&[MEASURED, subject.name(), &passes], measured::PUBLIC_ACCESS)
}

/// Returns the instructions of one pass over the subject's lookups. Fails if the first passes cost
/// anything that later ones do not.
fn cost_of_one_pass(subject: Subject, few: &Profile, more: &Profile) -> Result<u64, Box<dyn Error>> {
    let (few, more) = ((few.instructions(), subject.few()), (more.instructions(), subject.more()));
    if subject.is_paced() {
        return Ok(more.0 / more.1);
    }
    let cost = few.0 / few.1;
    if cost == 0 || (few.0, more.0) != (cost * few.1, cost * more.1) {
        let name = subject.name();
        let message = format!(
            "{name}: {} passes take {} instructions and {} take {}: that is not the same for each pass, so it is not a steady state",
            few.1, few.0, more.1, more.0
        );
        return Err(message.into());
    }
    Ok(cost)
}

/// Checks that the public call calls at most the fast walk, and that this calls nothing.
fn no_call_but_one(subject: Subject, few: &Profile, more: &Profile) -> Result<(), Box<dyn Error>> {
    let lookups = subject.more() - subject.few();
    for call in more.calls_beyond(few) {
        let allowed = call.from.contains(measured::PUBLIC_ACCESS) && call.to.contains(FAST_WALK);
        if !allowed || call.count > lookups {
            let message = format!(
                "a cached lookup makes a call: \"{}\" called \"{}\" {} times in {lookups} lookups; only one call a lookup, of \
                 {FAST_WALK} by the public access, is allowed",
                call.from, call.to, call.count
            );
            return Err(message.into());
        }
    }
    Ok(())
}

/// Returns where the instructions of one pass are spent, a function a line.
fn functions(profile: &Profile, passes: u64) -> String {
    let line = |(name, cost): (&str, u64)| format!("    {:>37} {name}\n", cost as f64 / passes as f64);
    profile.functions().map(line).collect()
}
