//! Numbers and names as text of a known width.

use crate::export::plain;

/// How a report is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to use ANSI colours.
    pub color: bool,
    /// Columns; fewer than 60 are treated as 60.
    pub width: usize,
    /// Functions shown per event.
    pub functions: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { color: false, width: 100, functions: 20 }
    }
}

impl Style {
    pub(crate) fn columns(&self) -> usize {
        self.width.max(60)
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.paint(text, "1")
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint(text, "2")
    }

    pub(crate) fn alarm(&self, text: &str) -> String {
        self.paint(text, "33")
    }

    pub(crate) fn hot(&self, text: &str) -> String {
        self.paint(text, "1;31")
    }

    pub(crate) fn loops(&self, text: &str) -> String {
        self.paint(text, "36")
    }

    fn paint(&self, text: &str, code: &str) -> String {
        match self.color && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// `1234567` → `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 sample`, `2 samples`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A share, 0 to 1, as per cent; a dash for what is not a number.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}%", share * 100.0) } else { "–".into() }
}

/// A clean name of at most `width` characters, cut in the middle, where C++ names differ least.
pub(crate) fn fit(name: &str, width: usize) -> String {
    let chars: Vec<char> = plain(name).chars().collect();
    if chars.len() <= width {
        return chars.into_iter().collect();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let mut text: String = chars[..head].iter().collect();
    text.push('…');
    text.extend(&chars[chars.len() - tail..]);
    text
}

/// A function's name of at most `width` characters: what it takes goes first, then the middle.
pub(super) fn fit_function(name: &str, width: usize) -> String {
    let name = plain(name);
    if name.chars().count() <= width {
        return name;
    }
    fit(&without_parameters(&name).unwrap_or(name), width)
}

/// `a<b(c)>::d(e, f) const [clone .g]` → `a<b(c)>::d(…)`; `None` if no parameters stand at its end.
fn without_parameters(name: &str) -> Option<String> {
    let name = name.split(" [clone").next()?;
    let name = name.strip_suffix(" const").unwrap_or(name);
    let mut depth = 0;
    for (at, c) in name.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let named = c == '(' && at > 0;
            return named.then(|| format!("{}(…)", &name[..at]));
        }
    }
    None
}

/// Clean text broken into lines of at most `width` characters, each behind `indent` blanks.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in plain(&text.replace(['\n', '\t'], " ")).split_whitespace() {
        let line = &lines[lines.len() - 1];
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        let at = lines.len() - 1;
        if !lines[at].is_empty() {
            lines[at].push(' ');
        }
        lines[at].push_str(word);
    }
    lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
}

/// `share` of `width` cells, in eighths of a cell.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar.extend(std::iter::repeat_n(' ', width - eighths.div_ceil(8)));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_easily() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((percent(0.12345), percent(f64::NAN)), ("12.3%".into(), "–".into()));
        assert_eq!((counted(1, "sample"), counted(0, "sample")), ("1 sample".into(), "0 samples".into()));
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(fit("abcdefghij", 10), "abcdefghij");
        assert_eq!(fit("abcdefghij", 5), "ab…ij");
        assert_eq!(fit("ab\x1b[31m\u{202e}c", 9), "ab[31mc");
        assert_eq!((fit("ab", 1), fit("ab", 0)), ("…".into(), "…".into()));
    }

    #[test]
    fn long_names_lose_their_parameters_before_anything_else() {
        let name = "shapes::spin<double (int)>(unsigned long, int (*)(char)) const [clone .cold]";
        assert_eq!(fit_function(name, 200), name);
        assert_eq!(fit_function(name, 40), "shapes::spin<double (int)>(…)");
        assert_eq!(fit_function(name, 13), "shapes…t)>(…)");
        assert_eq!(fit_function("(anonymous)", 6), "(an…s)");
        assert_eq!(fit_function("operator())", 6), "ope…))");
    }

    #[test]
    fn bars_are_as_wide_as_asked() {
        assert_eq!((bar(0.5, 4), bar(1.0, 2), bar(0.0, 2)), ("██  ".into(), "██".into(), "  ".into()));
        assert_eq!(bar(0.0625, 4), "▎   ");
        for share in [-1.0, 0.01, 0.999, 7.0, f64::NAN] {
            assert_eq!(bar(share, 9).chars().count(), 9);
        }
    }

    #[test]
    fn text_is_wrapped_at_words() {
        assert_eq!(wrap("aa bb\ncc", 2, 7), "  aa bb\n  cc\n");
        assert_eq!(wrap("unbreakable", 2, 5), "  unbreakable\n");
    }
}
