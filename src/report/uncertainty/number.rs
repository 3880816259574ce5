//! Numbers for people: as many digits as their uncertainty leaves worth reading.

use crate::report::format::count;
use crate::stat::Interval;

/// Digits after the point of numbers of this size.
fn digits(size: f64) -> usize {
    match size.abs() {
        large if large >= 1000.0 => 0,
        middle if middle >= 10.0 || middle == 0.0 => 1,
        small if small >= 0.095 => 2,
        _ => 4,
    }
}

fn with(digits: usize, x: f64) -> String {
    match digits {
        _ if !x.is_finite() => "–".into(),
        0 if x < 0.0 => format!("-{}", count(x.abs().round() as u64)),
        0 => count(x.round() as u64),
        _ => format!("{x:.digits$}"),
    }
}

/// A number.
pub(super) fn number(x: f64) -> String {
    with(digits(x), x)
}

/// A number that says its sign.
pub(super) fn signed(x: f64) -> String {
    if x > 0.0 { format!("+{}", number(x)) } else { number(x) }
}

/// Both ends with the digits of the larger, and `dash` between.
pub(super) fn between(of: Interval, dash: &str) -> String {
    let digits = digits(of.low.abs().max(of.high.abs()));
    format!("{}{dash}{}", with(digits, of.low), with(digits, of.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_size() {
        let told = [12_194.4, 110.43, 2.714, 0.0609, 0.0, f64::NAN, -1234.5].map(number);
        assert_eq!(told, ["12,194", "110.4", "2.71", "0.0609", "0.0", "–", "-1,235"]);
        assert_eq!([3.0, -3.0, 0.0].map(signed), ["+3.00", "-3.00", "0.0"]);
        assert_eq!(between(Interval { low: 0.9832, high: 1.987 }, "–"), "0.98–1.99");
        assert_eq!(between(Interval { low: 998.7, high: 1001.2 }, " – "), "999 – 1,001");
    }
}
