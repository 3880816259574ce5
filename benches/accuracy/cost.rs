//! Seconds by samples and functions.

use anyhow::Result;

/// To be measured.
pub fn measure(_quick: bool) -> Result<()> {
    Ok(())
}
