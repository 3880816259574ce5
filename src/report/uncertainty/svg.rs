//! Plots.
use super::Uncertainty;
/// Files.
pub fn files(_: &Uncertainty) -> Vec<(String, String)> { vec![] }
