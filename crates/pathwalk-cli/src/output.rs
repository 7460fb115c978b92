//! Standard output, tables and progress, as `pathwalk_output` has them, and the form of quartiles.

use pathwalk_bench::rounds::Quartiles;
use serde_json::{Value, json};

pub(crate) use pathwalk_output::{
    Progress, Table, bytes_progress, grouped, number, print, print_json, print_unbroken, progress, rounded, table, wrap,
};

/// Returns the lower and the upper quartile.
pub(crate) fn spread(quartiles: Quartiles) -> String {
    format!("{} .. {}", number(quartiles.lower), number(quartiles.upper))
}

/// Returns the lower and the upper quartile, for JSON.
pub(crate) fn spread_json(quartiles: Quartiles) -> Value {
    json!([rounded(quartiles.lower), rounded(quartiles.upper)])
}
