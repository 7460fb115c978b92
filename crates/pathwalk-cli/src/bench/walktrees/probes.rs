//! The comparisons: the first probes side by side, and their waits while the holder of a bucket's
//! lock sleeps. They are printed after the passes themselves.

use pathwalk_bench::rounds::Quartiles;
use pathwalk_bench::walktrees::held::{Holding, Waits};
use pathwalk_bench::walktrees::{Plan, Probe, Report, Subject, Which, Who};
use serde_json::{Value, json};

use super::show;
use crate::output::{Table, grouped, number, rounded, spread, spread_json, table};

/// The results.
pub(super) struct Outcome {
    /// The results of the walks, one for each number of threads.
    pub(super) walked: Vec<(Plan, Report)>,
    pub(super) held: Option<(Holding, Vec<Waits>)>,
}

/// Returns the results as tables.
pub(super) fn text(outcome: &Outcome) -> String {
    let walks: Vec<_> = outcome.walked.iter().map(|(plan, report)| show::text(plan, report)).collect();
    let mut text = walks.join("\n");
    if outcome.walked.iter().any(|(plan, _)| !compared_of(plan).is_empty()) {
        text += &format!(
            "\nFirst probes and peers side by side, medians (and quartiles) of files a second\n{}\n",
            side_by_side(outcome)
        );
    }
    if let Some((holding, waits)) = &outcome.held {
        let hold = holding.hold.as_millis();
        text += &format!(
            "\nProbes of a bucket whose lock is held by a thread that sleeps {hold} ms, again and again\n{}\n",
            held(holding, waits)
        );
    }
    text
}

fn side_by_side(outcome: &Outcome) -> Table {
    let header = ["threads", "probe", "first", "", "against the first", "repeated", "", "against the first"];
    let mut rows = table(&header, &[1]).keys(2);
    for (plan, report) in &outcome.walked {
        for who in compared_of(plan) {
            let cells = Which::BOTH.map(|which| {
                let (rate, ratio) = compared(plan, report, *who, which)?;
                Some([number(rate.median), format!("({})", spread(rate)), format!("{:.3}", ratio.median)])
            });
            let threads = plan.shape.threads().to_string();
            let cells = cells.into_iter().flat_map(Option::unwrap_or_default);
            rows.add_row([threads, label(*who).to_owned()].into_iter().chain(cells));
        }
    }
    rows
}

/// Returns the name that distinguishes the compared caches: that of the first probe, or of the
/// peer.
fn label(who: Who) -> &'static str {
    who.probe().map_or(who.name(), Probe::name)
}

/// Returns the caches that a plan compares.
fn compared_of(plan: &Plan) -> &[Who] {
    match &plan.subject {
        Subject::Trees { .. } => &[],
        Subject::Nodes(caches) => caches,
    }
}

/// Returns the files a second, and their ratio to those of the cache that was named first.
fn compared(plan: &Plan, report: &Report, who: Who, which: Which) -> Option<(Quartiles, Quartiles)> {
    let first = *compared_of(plan).first()?;
    Some((report.rate(who, which)?, report.ratio(who, first, which)?))
}

/// Returns a table of the probes under a held lock. A row has all rounds of one probe with one
/// number of threads: counts are sums, the longest time is the maximum, and the other times are
/// medians over the rounds.
fn held(holding: &Holding, waits: &[Waits]) -> Table {
    let header = ["threads", "probe", "probes", "during", "median, µs", "99 %", "99.9 %", "longest"];
    let mut rows = table(&header, &[1]).keys(2);
    for (threads, probe) in holding.threads.iter().flat_map(|threads| holding.probes.iter().map(move |probe| (threads, probe))) {
        let of: Vec<_> = waits.iter().filter(|waits| (waits.turn.threads, waits.turn.probe) == (*threads, *probe)).collect();
        let sum = |count: fn(&Waits) -> u64| grouped(of.iter().map(|waits| count(waits)).sum::<u64>() as i64);
        let microseconds = |time: fn(&Waits) -> u64| of.iter().map(|waits| time(waits) as f64 / 1e3).collect::<Vec<_>>();
        let median = |time| number(Quartiles::of(microseconds(time)).median);
        let longest = number(microseconds(|waits| waits.longest).into_iter().fold(0.0, f64::max));
        let counts = [sum(|waits| waits.probes), sum(|waits| waits.during)];
        let times = [median(|waits| waits.median), median(|waits| waits.p99), median(|waits| waits.p99_9), longest];
        rows.add_row([threads.to_string(), probe.name().to_owned()].into_iter().chain(counts).chain(times));
    }
    rows
}

/// Returns the results as JSON. A single walk is the object itself; several are in `by_threads`.
/// Parts that were not requested are missing.
pub(super) fn json(outcome: &Outcome) -> Value {
    let walk = |(plan, report): &(Plan, Report)| {
        let mut value = show::json(plan, report);
        let caches = compared_of(plan);
        if !caches.is_empty() {
            value["probes"] = caches.iter().filter_map(|who| probe_json(plan, report, *who)).collect();
        }
        value
    };
    let mut value = match &outcome.walked[..] {
        [one] => walk(one),
        several => json!({ "name": "walktrees", "by_threads": several.iter().map(walk).collect::<Vec<_>>() }),
    };
    if let Some((holding, waits)) = &outcome.held {
        value["held"] = held_json(holding, waits);
    }
    value
}

fn probe_json(plan: &Plan, report: &Report, who: Who) -> Option<Value> {
    let mut value = json!({ "probe": label(who) });
    for which in Which::BOTH {
        let (rate, ratio) = compared(plan, report, who, which)?;
        value[which.name()] = json!({
            "files_per_second": rate.median.round(),
            "files_per_second_quartiles": spread_json(rate),
            "against_first": rounded(ratio.median),
            "against_first_quartiles": spread_json(ratio),
        });
    }
    Some(value)
}

fn held_json(holding: &Holding, waits: &[Waits]) -> Value {
    let turn = |waits: &Waits| {
        json!({
            "probe": waits.turn.probe.name(),
            "threads": waits.turn.threads,
            "round": waits.turn.round + 1,
            "probes": waits.probes,
            "during": waits.during,
            "median_ns": waits.median,
            "p99_ns": waits.p99,
            "p99_9_ns": waits.p99_9,
            "longest_ns": waits.longest,
        })
    };
    json!({
        "hold_seconds": holding.hold.as_secs_f64(),
        "holds": holding.holds,
        "turns": waits.iter().map(turn).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pathwalk_bench::walktrees::held::hold;
    use pathwalk_bench::walktrees::trees::Trees;
    use pathwalk_bench::walktrees::{Ask, Peer, Room, Shape, run};

    use super::*;

    fn outcome(threads: &[u32], subject: &Subject, held: Option<Holding>) -> Outcome {
        let walked = threads.iter().map(|threads| {
            let shape = Shape::new(*threads, 2, 20).unwrap();
            let plan = Plan { shape, room: Room::All, subject: subject.clone(), rounds: 2 };
            let report = run(&plan, &mut |_, _, _| ()).unwrap();
            (plan, report)
        });
        let held = held.map(|plan| {
            let waits = hold(&plan, &mut |_| ()).unwrap();
            (plan, waits)
        });
        Outcome { walked: walked.collect(), held }
    }

    #[test]
    fn one_walk_alone_stands_alone() {
        let trees = Subject::Trees { trees: Trees::Synth, ask: Ask::default() };
        let outcome = outcome(&[2], &trees, None);
        let value = json(&outcome);
        assert_eq!(
            (&value["name"], &value["threads"], value["runs"].as_array().unwrap().len()),
            (&"walktrees".into(), &2.into(), 2)
        );
        assert_eq!((&value["probes"], &value["held"], &value["by_threads"]), (&Value::Null, &Value::Null, &Value::Null));
        assert_eq!(text(&outcome), show::text(&outcome.walked[0].0, &outcome.walked[0].1));
    }

    #[test]
    fn probes_stand_side_by_side() {
        let probes = [Probe::LockFree, Probe::Global];
        let caches = [Who::Inodes(probes[0]), Who::Inodes(probes[1]), Who::Peer(Peer::DashMap)];
        let holding = Holding { threads: vec![1], probes: probes.to_vec(), hold: Duration::from_millis(2), holds: 2, rounds: 1 };
        let outcome = outcome(&[1, 3], &Subject::Nodes(caches.to_vec()), Some(holding));
        let value = json(&outcome);
        assert_eq!((&value["by_threads"][0]["threads"], &value["by_threads"][1]["threads"]), (&1.into(), &3.into()));
        let [first, second] = [0, 1].map(|at| &value["by_threads"][1]["probes"][at]);
        assert_eq!((&first["probe"], &second["probe"]), (&"lockfree".into(), &"global".into()));
        assert_eq!(first["first"]["against_first"], 1.0);
        let (walk, run) = (&value["by_threads"][1], &value["by_threads"][1]["runs"][1]);
        assert_eq!((&run["who"], &run["probe"], &walk["fs"]), (&"inode cache".into(), &"global".into(), &Value::Null));
        assert!(second["repeated"]["files_per_second"].as_f64() > Some(0.0) && second["first"]["against_first"].is_f64());
        let turns = value["held"]["turns"].as_array().unwrap();
        assert_eq!((turns.len(), &turns[1]["probe"], &value["held"]["holds"]), (2, &"global".into(), &2.into()));
        for key in ["probes", "during", "median_ns", "p99_ns", "p99_9_ns", "longest_ns"] {
            assert!(turns[0][key].is_u64(), "{key}: {value:#}");
        }
        assert_eq!(
            (&value["by_threads"][0]["probes"][2]["probe"], &walk["runs"][2]["who"]),
            (&"dashmap".into(), &"dashmap".into())
        );
        let text = text(&outcome);
        for word in [
            "1 threads",
            "3 threads",
            "side by side",
            "a thread that sleeps 2 ms",
            "in inode caches alone",
            "inode cache, global, round 2",
            "99.9 %",
            "during",
        ] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
    }
}
