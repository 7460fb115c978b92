//! Trees that are mounted by `pathwalk mount`, beside ext4 itself and two other programs that serve
//! directories through `/dev/fuse`: times of whole commands, and requests to the server.
//!
//! ```sh
//! cargo build --release -p pathwalk-cli
//! cargo build --release -p pathwalk-bench --example mounted
//! target/release/examples/mounted DIRECTORY [SHARE [ROUNDS [WORK...]]]
//! ```
//!
//! It runs as root, needs `tar`, `git`, `grep`, `make` and a C compiler, and leaves out what is not
//! installed of `bindfs` and `fuse-overlayfs`. The directory is on the ext4 that is measured. With
//! a `SHARE` of 100, there are a hundredth of the files and of the data. Each work is done by one
//! subject after the other, in `ROUNDS` rounds, and times are medians. The works are those of
//! [`works::ALL`]. The environment variable `MOUNT_OPTIONS` has options for `pathwalk mount`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::material::{Material, Size};
use crate::subjects::Subject;
use crate::works::Work;

#[allow(dead_code, reason = "the other program has works for all of it")]
mod material;
mod subjects;
mod works;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What was measured of one work by one subject.
#[derive(Default)]
struct Measured {
    times: Vec<Duration>,
    /// The requests of the last round, by kind.
    requests: BTreeMap<String, u64>,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rest @ ..] = &arguments[..] else {
        return Err("usage: mounted DIRECTORY [SHARE [ROUNDS [WORK...]]]".into());
    };
    let number = |place: usize, usual| rest.get(place).map_or(Ok(usual), |text| text.parse::<usize>());
    let (size, rounds) = (Size::share(number(0, 1)?), number(1, 3)?);
    let named = rest.get(2..).unwrap_or_default();
    if let Some(unknown) = named.iter().find(|name| works::ALL.iter().all(|work| work.name != **name)) {
        return Err(format!("there is no work {unknown}").into());
    }
    let works: Vec<&Work> =
        works::ALL.iter().filter(|work| named.is_empty() || named.iter().any(|name| name == work.name)).collect();
    let base = PathBuf::from(directory).canonicalize()?.join("mounted-bench");
    std::fs::create_dir(&base)?;
    let done = run(&base, size, rounds, &works);
    std::fs::remove_dir_all(&base)?;
    done
}

fn run(base: &std::path::Path, size: Size, rounds: usize, works: &[&Work]) -> Result<()> {
    let material = Material::make(base, size)?;
    let mut subjects = Subject::start_all(base)?;
    for work in works {
        let mut measured: Vec<Measured> = subjects.iter().map(|_| Measured::default()).collect();
        let taking_part = |subject: &Subject| work.by.is_none_or(|names| names.contains(&subject.name));
        for subject in subjects.iter().filter(|subject| taking_part(subject)) {
            (work.prepare)(&subject.at, &material)?;
        }
        for round in 0..rounds {
            for turn in 0..subjects.len() {
                let which = (turn + round) % subjects.len();
                if taking_part(&subjects[which]) {
                    measure(work, &subjects[which], &material, &mut measured[which])?;
                }
            }
        }
        report(work, size, &subjects, &mut measured);
        for subject in &subjects {
            (work.clear)(&subject.at, &material)?;
        }
    }
    subjects.iter_mut().rev().try_for_each(Subject::stop)
}

fn measure(work: &Work, subject: &Subject, material: &Material, into: &mut Measured) -> Result<()> {
    (work.begin)(&subject.at, material)?;
    let before = subject.requests()?;
    let begun = Instant::now();
    (work.run)(&subject.at, material)?;
    into.times.push(begun.elapsed());
    // What the kernel sends behind a close comes a moment later.
    std::thread::sleep(Duration::from_millis(50));
    into.requests = subject.requests()?;
    into.requests.retain(|kind, count| {
        *count -= before.get(kind).copied().unwrap_or_default();
        *count > 0
    });
    Ok(())
}

fn report(work: &Work, size: Size, subjects: &[Subject], measured: &mut [Measured]) {
    let units = (work.units)(size);
    println!("{}: {} ({units} {})", work.name, work.says, work.unit);
    for (subject, measured) in subjects.iter().zip(measured) {
        measured.times.sort_unstable();
        let Some(median) = measured.times.get(measured.times.len() / 2) else { continue };
        let spread = [measured.times.first(), measured.times.last()].map(|time| time.map_or(0.0, Duration::as_secs_f64));
        let rate = units as f64 / median.as_secs_f64();
        print!("  {:15} {:9.4} s ({:.4} to {:.4}) {rate:12.0}/s", subject.name, median.as_secs_f64(), spread[0], spread[1]);
        let forgets = measured.requests.iter().filter(|(kind, _)| kind.ends_with("forget")).map(|(_, count)| count).sum::<u64>();
        let all = measured.requests.values().sum::<u64>() - forgets;
        if subject.is_counted() {
            print!("  {:.3} requests each:", all as f64 / units as f64);
            measured.requests.iter().for_each(|(kind, count)| print!(" {kind} {count}"));
        }
        println!();
    }
}
