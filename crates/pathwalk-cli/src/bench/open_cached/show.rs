//! The results as tables and as JSON.

use pathwalk_bench::open_cached::{Cache, Costs, Latency, Peer, Plan, Report, Row, Way};
use serde_json::{Value, json};

use crate::output::{Table, number, rounded, spread, spread_json, table};

/// Returns the results as tables.
pub(super) fn text(plan: &Plan, report: &Report) -> String {
    let dir = plan.dir.as_os_str().as_encoded_bytes().escape_ascii();
    let (opens, kind) = (plan.opens, &report.file_system);
    let holds = if report.holds_descriptor {
        "holds a descriptor of the host"
    } else {
        "holds no descriptor of the host until it is read"
    };
    let title = format!("open-cached: {opens} opens a batch, on {kind} in {dir}; a file that was opened {holds}");
    let delay = match plan.delay.as_micros() {
        0 => String::new(),
        delay => format!("Every miss is delayed by {delay} µs at least.\n"),
    };
    let notes: String = report.notes.iter().map(|note| format!("Note: {note}.\n")).collect();
    let tables = [ways(report), costs(report), single(report), peers(report)].map(|table| table.to_string());
    format!("{title}\n{delay}{}\n{notes}", tables.join("\n\n"))
}

fn ways(report: &Report) -> Table {
    let header =
        ["hit %", "depth", "always punted, ms", "cached first, ms", "speedup", "quartiles", "bound", "of bound", "in Linux"];
    let mut rows = table(&header, &[]).keys(2);
    for row in &report.rows {
        let linux = row.linux.map(|times| format!("{times:.1}")).unwrap_or_default();
        let times = [row.always_punt, row.cached_first].map(|time| millis(time.median));
        let of_bound = format!("{:.0} %", row.of_bound.median * 100.0);
        let [punt, first] = times;
        let (speedup, bound) = (number(row.speedup.median), number(row.bound.median));
        rows.add_row([
            row.hit.to_string(),
            row.depth.to_string(),
            punt,
            first,
            speedup,
            spread(row.speedup),
            bound,
            of_bound,
            linux,
        ]);
    }
    rows
}

fn millis(nanoseconds: f64) -> String {
    number(nanoseconds / 1e6)
}

fn costs(report: &Report) -> Table {
    let mut rows = table(&["hit %", "depth", "hop, ns", "hit, ns", "try, ns", "miss, ns"], &[]).keys(2);
    for row in &report.rows {
        let Costs { hop, hit, failed_try, miss } = row.costs;
        let of_misses = [failed_try, miss].map(|cost| if row.hit == 100 { String::new() } else { number(cost) });
        let [failed_try, miss] = of_misses;
        rows.add_row([row.hit.to_string(), row.depth.to_string(), number(hop), number(hit), failed_try, miss]);
    }
    rows
}

fn single(report: &Report) -> Table {
    let mut rows = table(&["hit %", "depth", "a single open, µs", "p50", "p99", "p99.9"], &[2]).keys(3);
    for row in &report.rows {
        for (way, latency) in Way::BOTH.into_iter().zip(row.single) {
            let of = [latency.p50, latency.p99, latency.p999].map(|ns| number(ns as f64 / 1e3));
            let [p50, p99, p999] = of;
            rows.add_row([row.hit.to_string(), row.depth.to_string(), name(way).to_owned(), p50, p99, p999]);
        }
    }
    rows
}

fn name(way: Way) -> &'static str {
    match way {
        Way::AlwaysPunt => "always punted",
        Way::CachedFirst => "cached first",
    }
}

fn cache(cache: Cache) -> &'static str {
    match cache {
        Cache::Warm => "warm",
        Cache::Cold => "cold",
    }
}

fn peers(report: &Report) -> Table {
    let mut rows = table(&["peers", "depth", "caches", "ns", "quartiles"], &[2]).keys(3);
    for peer in &report.peers {
        let Peer { what, depth, ns, .. } = peer;
        rows.add_row([what, depth.to_string().as_str(), cache(peer.cache), &number(ns.median), &spread(*ns)]);
    }
    rows
}

/// Returns the results as JSON. Times are in nanoseconds. `linux` is null where nothing was
/// reported.
pub(super) fn json(plan: &Plan, report: &Report) -> Value {
    json!({
        "name": "open-cached",
        "dir": plan.dir.as_os_str().as_encoded_bytes().escape_ascii().to_string(),
        "file_system": report.file_system,
        "opens": plan.opens,
        "delay_us": plan.delay.as_micros() as u64,
        "rounds": plan.rounds,
        "workers": 1,
        "holds_descriptor": report.holds_descriptor,
        "rows": report.rows.iter().map(row_json).collect::<Vec<_>>(),
        "peers": report.peers.iter().map(peer_json).collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn row_json(row: &Row) -> Value {
    let Costs { hop, hit, failed_try, miss } = row.costs;
    let [punt, first] = row.single.map(latency_json);
    json!({
        "hit": row.hit,
        "depth": row.depth,
        "always_punt": rounded(row.always_punt.median),
        "always_punt_quartiles": spread_json(row.always_punt),
        "cached_first": rounded(row.cached_first.median),
        "cached_first_quartiles": spread_json(row.cached_first),
        "speedup": rounded(row.speedup.median),
        "speedup_quartiles": spread_json(row.speedup),
        "bound": rounded(row.bound.median),
        "bound_quartiles": spread_json(row.bound),
        "of_bound": rounded(row.of_bound.median),
        "costs": { "hop": rounded(hop), "hit": rounded(hit), "try": rounded(failed_try), "miss": rounded(miss) },
        "single": { "always_punt": punt, "cached_first": first },
        "linux": row.linux,
    })
}

fn latency_json(latency: Latency) -> Value {
    json!({ "p50": latency.p50, "p99": latency.p99, "p99.9": latency.p999 })
}

fn peer_json(peer: &Peer) -> Value {
    json!({
        "what": peer.what,
        "depth": peer.depth,
        "caches": cache(peer.cache),
        "ns": rounded(peer.ns.median),
        "ns_quartiles": spread_json(peer.ns),
    })
}
