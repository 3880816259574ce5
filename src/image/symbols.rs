//! Stand-ins until the symbolizer lands; only what `export` reads.
#![allow(missing_docs)]

use super::Svma;

#[derive(Clone, Debug)]
pub struct Symbol {
    pub name: String,
    pub mangled: String,
    pub start: Svma,
    pub size: Option<u64>,
    pub frames: Vec<SourceFrame>,
}

#[derive(Clone, Debug, Default)]
pub struct SourceFrame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}
