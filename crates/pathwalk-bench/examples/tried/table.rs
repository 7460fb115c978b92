//! The table of times, in Markdown.

use std::time::Duration;

use crate::subjects::{Subject, Times};
use crate::works::{Kind, Work};

/// Prints the head, with two columns for each `try`: the command, and all of it.
pub(crate) fn head(subjects: &[Subject]) {
    print!("| |");
    for subject in subjects {
        match subject.is_try() {
            true => print!(" {}: command, s | all, s |", subject.name),
            false => print!(" {}, s |", subject.name),
        }
    }
    println!(" command, times the first three: fuse | overlay | all, times overlayfs: overlay |");
    let columns = 4 + subjects.iter().map(|subject| if subject.is_try() { 2 } else { 1 }).sum::<usize>();
    println!("|{}", "---|".repeat(columns));
}

/// Prints the medians of a work, with the smallest and the largest, and how they compare.
pub(crate) fn row(work: &Work, measured: &mut [Vec<Times>]) {
    let of = |times: &[Times], which: fn(&Times) -> Duration| {
        let mut sorted: Vec<f64> = times.iter().map(|times| which(times).as_secs_f64()).collect();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
    };
    let shown = |(median, least, most): (f64, f64, f64)| format!("{median:.3} ({least:.3}–{most:.3})");
    let which: fn(&Times) -> Duration = if work.kind == Kind::Start { |times| times.start } else { |times| times.command };
    let (others, tries) = measured.split_at(measured.len() - 2);
    print!("| {} |", work.says);
    others.iter().for_each(|times| print!(" {} |", shown(of(times, which))));
    for times in tries {
        let all = if work.kind == Kind::Whole { shown(of(times, |times| times.all)) } else { "–".to_owned() };
        print!(" {} | {all} |", shown(of(times, which)));
    }
    let medians: Vec<f64> = others.iter().map(|times| of(times, which).0).collect();
    for times in tries {
        let own = of(times, which).0;
        let ratios: Vec<String> = medians.iter().map(|other| format!("{:.2}", own / other)).collect();
        print!(" {} |", ratios.join(", "));
    }
    let all = tries.last().map(|times| of(times, |times| times.all).0);
    match all.filter(|_| work.kind == Kind::Whole) {
        Some(all) => println!(" {:.2} |", all / of(&others[1], |times| times.all).0),
        None => println!(" – |"),
    }
}
