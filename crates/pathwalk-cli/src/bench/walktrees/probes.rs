//! What is compared: the first probes side by side, and what they wait for while the holder of a bucket's lock sleeps; behind the walks themselves.

use pathwalk_bench::walktrees::held::{Holding, Waits};
use pathwalk_bench::walktrees::{Plan, Probe, Report, Which, Who};
use serde_json::{Value, json};

use super::{Outcome, show};
use crate::output::{grouped, number, rounded, spread, spread_json, table};

/// Tables.
pub(super) fn text(outcome: &Outcome) -> String {
    let walks: Vec<_> = outcome.walked.iter().map(|(plan, report)| show::text(plan, report)).collect();
    let mut text = walks.join("\n");
    if outcome.walked.iter().any(|(plan, _)| plan.probes.len() > 1) {
        text += &format!("\nFirst probes side by side, medians (and quartiles) of files a second\n{}\n", side_by_side(outcome));
    }
    if let Some((holding, waits)) = &outcome.held {
        let hold = holding.hold.as_millis();
        text += &format!(
            "\nProbes of a bucket whose lock is held by somebody who sleeps {hold} ms, again and again\n{}\n",
            held(waits)
        );
    }
    text
}

fn side_by_side(outcome: &Outcome) -> comfy_table::Table {
    let header = ["threads", "probe", "first", "", "against the first", "repeated", "", "against the first"];
    let mut rows = table(&header, &[1]);
    for (plan, report) in &outcome.walked {
        for probe in &plan.probes {
            let cells = Which::BOTH.map(|which| {
                let (rate, ratio) = compared(plan, report, *probe, which)?;
                Some([number(rate.median), format!("({})", spread(rate)), format!("{:.3}", ratio.median)])
            });
            let threads = plan.shape.threads().to_string();
            let cells = cells.into_iter().flat_map(Option::unwrap_or_default);
            rows.add_row([threads, probe.name().to_owned()].into_iter().chain(cells));
        }
    }
    rows
}

/// Files a second, and how many times those of the probe that was named first.
fn compared(
    plan: &Plan,
    report: &Report,
    probe: Probe,
    which: Which,
) -> Option<(pathwalk_bench::rounds::Quartiles, pathwalk_bench::rounds::Quartiles)> {
    let [who, first] = [probe, *plan.probes.first()?].map(Who::Pathwalk);
    Some((report.rate(who, which)?, report.ratio(who, first, which)?))
}

fn held(waits: &[Waits]) -> comfy_table::Table {
    let header = ["threads", "probe", "round", "probes", "during", "median, µs", "99 %", "99.9 %", "longest"];
    let mut rows = table(&header, &[1]);
    for waits in waits {
        let turn = waits.turn;
        let times = [waits.median, waits.p99, waits.p99_9, waits.longest].map(|time| number(time as f64 / 1e3));
        let counts = [waits.probes, waits.during].map(|count| grouped(count as i64));
        let who = [turn.threads.to_string(), turn.probe.name().to_owned(), (turn.round + 1).to_string()];
        rows.add_row(who.into_iter().chain(counts).chain(times));
    }
    rows
}

/// The same for machines: one walk as it is, several in `by_threads`; what was not asked for is not there.
pub(super) fn json(outcome: &Outcome) -> Value {
    let walk = |(plan, report): &(Plan, Report)| {
        let mut value = show::json(plan, report);
        if plan.probes.len() > 1 {
            value["probes"] = plan.probes.iter().filter_map(|probe| probe_json(plan, report, *probe)).collect();
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

fn probe_json(plan: &Plan, report: &Report, probe: Probe) -> Option<Value> {
    let mut value = json!({ "probe": probe.name() });
    for which in Which::BOTH {
        let (rate, ratio) = compared(plan, report, probe, which)?;
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
    use pathwalk_bench::walktrees::{Room, Shape, run};

    use super::*;

    fn outcome(threads: &[u32], probes: &[Probe], held: Option<Holding>) -> Outcome {
        let walked = threads.iter().map(|threads| {
            let shape = Shape::new(*threads, 2, 20).unwrap();
            let plan = Plan { shape, room: Room::All, trees: Trees::Synth, probes: probes.to_vec(), rounds: 2 };
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
        let outcome = outcome(&[2], &[Probe::LockFree], None);
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
        let holding = Holding { threads: vec![1], probes: probes.to_vec(), hold: Duration::from_millis(2), holds: 2, rounds: 1 };
        let outcome = outcome(&[1, 3], &probes, Some(holding));
        let value = json(&outcome);
        assert_eq!((&value["by_threads"][0]["threads"], &value["by_threads"][1]["threads"]), (&1.into(), &3.into()));
        let [first, second] = [0, 1].map(|at| &value["by_threads"][1]["probes"][at]);
        assert_eq!((&first["probe"], &second["probe"]), (&"lockfree".into(), &"global".into()));
        assert_eq!(first["first"]["against_first"], 1.0);
        assert!(second["repeated"]["files_per_second"].as_f64() > Some(0.0) && second["first"]["against_first"].is_f64());
        let turns = value["held"]["turns"].as_array().unwrap();
        assert_eq!((turns.len(), &turns[1]["probe"], &value["held"]["holds"]), (2, &"global".into(), &2.into()));
        for key in ["probes", "during", "median_ns", "p99_ns", "p99_9_ns", "longest_ns"] {
            assert!(turns[0][key].is_u64(), "{key}: {value:#}");
        }
        let text = text(&outcome);
        for word in ["1 threads", "3 threads", "side by side", "who sleeps 2 ms", "99.9 %", "during"] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
    }
}
