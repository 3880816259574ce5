//! What numbers have in common.

/// The greatest common divisor of two numbers; the other, if one is 0.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
