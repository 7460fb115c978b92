//! Statistics in the text format of Prometheus.
//!
//! Source: "Exposition formats" in the documentation of Prometheus, version 0.0.4.

use std::fmt::Write as _;

use super::report::{Report, end_of};

/// The first range of times that has a line of its own: those before are in it.
const FIRST_RANGE: usize = 9;

/// The labels of all lines.
struct Lines {
    labels: String,
    text: String,
}

/// Returns a report in that format.
pub(super) fn text(report: &Report) -> String {
    let labels = format!("source=\"{}\",mount_point=\"{}\"", escaped(&report.source), escaped(&report.mount_point));
    let mut lines = Lines { labels, text: String::new() };
    lines.one("pathwalk_mounted_seconds", "gauge", "Time since the tree was mounted.", report.seconds);
    lines.head("pathwalk_request_errors_total", "counter", "Requests that were answered with an error.");
    for of in &report.operations {
        lines.line("pathwalk_request_errors_total", &kind(&of.kind), of.errors);
    }
    lines.head("pathwalk_request_duration_seconds", "histogram", "Time from the read of a request to its answer.");
    for of in &report.operations {
        lines.histogram(&of.kind, &of.latencies, of.nanoseconds);
    }
    let caches = &report.caches;
    lines.one("pathwalk_lookup_hits_total", "counter", "Lookups for which no file system was asked.", caches.hits);
    lines.head("pathwalk_hand_overs_total", "counter", "Walks that left the fast walk.");
    for (reason, count) in &caches.hand_overs {
        lines.line("pathwalk_hand_overs_total", &format!(",reason=\"{}\"", escaped(reason)), count);
    }
    lines.one("pathwalk_file_system_lookups_total", "counter", "Lookups of the file systems.", caches.asked);
    lines.one("pathwalk_known_absences_total", "counter", "Absences known since their directory was.", caches.known_absent);
    lines.one("pathwalk_siblings_total", "counter", "Names that file systems reported unasked.", caches.siblings);
    lines.one("pathwalk_waits_total", "counter", "Walks that waited for a lookup of another.", caches.waits);
    lines.one("pathwalk_evictions_total", "counter", "Names evicted from the caches.", caches.evictions);
    let memory = &report.memory;
    lines.one("pathwalk_cache_budget_bytes", "gauge", "The budget of the caches.", memory.budget);
    lines.one("pathwalk_cache_used_bytes", "gauge", "The part of the budget in use.", memory.used);
    lines.one("pathwalk_file_system_bytes", "gauge", "Memory of the file systems.", memory.file_systems);
    lines.one("pathwalk_cached_names", "gauge", "Names and absences in the caches.", memory.names);
    lines.one("pathwalk_cached_nodes", "gauge", "Nodes in the caches.", memory.nodes);
    let kernel = &report.kernel;
    lines.one("pathwalk_kernel_nodes", "gauge", "Nodes that the kernel holds.", kernel.nodes);
    lines.one("pathwalk_kernel_lookups", "gauge", "Lookups of them that it has not forgotten.", kernel.lookups);
    lines.one("pathwalk_kernel_nodes_bound", "gauge", "The most nodes that it is to hold.", kernel.most_nodes);
    lines.one("pathwalk_kernel_asked_to_forget_total", "counter", "Nodes that it was asked to forget.", kernel.asked_to_forget);
    lines.one("pathwalk_kernel_notices_total", "counter", "What the kernel was told.", kernel.notices);
    lines.one("pathwalk_open_files", "gauge", "Open files and directories.", kernel.open_files);
    lines.text
}

fn kind(kind: &str) -> String {
    format!(",kind=\"{}\"", escaped(kind))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Lines {
    fn head(&mut self, name: &str, of: &str, help: &str) {
        // A string takes all that is written to it.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {of}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{name}{{{}{labels}}} {value}", self.labels);
    }

    fn one(&mut self, name: &str, of: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, of, help);
        self.line(name, "", value);
    }

    fn histogram(&mut self, of: &str, latencies: &[u64], nanoseconds: u64) {
        let labels = kind(of);
        let mut sum = 0;
        // The last range has no end.
        for (range, count) in latencies.iter().enumerate().take(latencies.len().saturating_sub(1)) {
            sum += count;
            if range >= FIRST_RANGE {
                let end = format!("{labels},le=\"{}\"", end_of(range) as f64 / 1e9);
                self.line("pathwalk_request_duration_seconds_bucket", &end, sum);
            }
        }
        let count: u64 = latencies.iter().sum();
        self.line("pathwalk_request_duration_seconds_bucket", &format!("{labels},le=\"+Inf\""), count);
        self.line("pathwalk_request_duration_seconds_sum", &labels, nanoseconds as f64 / 1e9);
        self.line("pathwalk_request_duration_seconds_count", &labels, count);
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Kind;
    use super::*;

    #[test]
    fn histograms_add_up() {
        let mut latencies = vec![0; 32];
        (latencies[3], latencies[10], latencies[31]) = (1, 2, 4);
        let operations = vec![Kind { kind: "lookup".into(), count: 7, errors: 3, nanoseconds: 1500, latencies }];
        let text = text(&Report { source: "a\"b".into(), mount_point: "/m".into(), operations, ..Report::default() });
        let labels = "source=\"a\\\"b\",mount_point=\"/m\",kind=\"lookup\"";
        for line in [
            format!("pathwalk_request_duration_seconds_bucket{{{labels},le=\"0.000001024\"}} 1\n"),
            format!("pathwalk_request_duration_seconds_bucket{{{labels},le=\"0.000002048\"}} 3\n"),
            format!("pathwalk_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 7\n"),
            format!("pathwalk_request_duration_seconds_sum{{{labels}}} 0.0000015\n"),
            format!("pathwalk_request_errors_total{{{labels}}} 3\n"),
            "# TYPE pathwalk_request_duration_seconds histogram\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("pathwalk_")));
    }
}
