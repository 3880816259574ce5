//! Text inside a page or a drawing.

use crate::export::plain;

/// Text that is only text in HTML and XML: names come from binaries and recordings.
pub fn escape(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => clean += "&amp;",
            '<' => clean += "&lt;",
            '>' => clean += "&gt;",
            '"' => clean += "&quot;",
            '\'' => clean += "&#39;",
            c => clean.push(c),
        }
    }
    clean
}
