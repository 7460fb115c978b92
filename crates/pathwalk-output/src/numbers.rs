//! The form of numbers.

use indicatif::HumanCount;

/// Returns a number with three digits, or with more if its integer part has more.
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1000.0 => grouped(value.round() as i64),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Returns a number with a comma every three digits.
pub fn grouped(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", HumanCount(value.unsigned_abs()))
}

/// Returns a number rounded to four decimals, which is more than any clock gives.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [(1.234, "1.23"), (56.78, "56.8"), (-812.3, "-812"), (1080.4, "1,080"), (21_876_543.0, "21,876,543")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!([0, 999, -1000, i64::MIN].map(grouped), ["0", "999", "-1,000", "-9,223,372,036,854,775,808"]);
    }
}
