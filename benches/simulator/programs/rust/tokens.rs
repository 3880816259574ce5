// rustc: -C opt-level=3 -C target-feature=+crt-static
//! A text cut into tokens, counted in a hash table, and the counts sorted.
use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Token<'a> {
    Word(&'a str),
    Number(u64),
    Quoted(String),
    Mark(char),
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let (token, length) = match first {
            'a'..='z' | 'A'..='Z' | '_' | 'ä' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
            '0'..='9' => {
                let end = rest.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
                (Token::Number(rest[..end].parse().unwrap_or(0)), end)
            }
            '"' => {
                let end = rest[1..].find('"').map_or(rest.len(), |e| e + 2);
                (Token::Quoted(rest[1..end - 1].to_uppercase()), end)
            }
            c => (Token::Mark(c), c.len_utf8()),
        };
        rest = &rest[length..];
        Some(token)
    })
}

fn main() {
    let mut seed = 7u32;
    let mut next = |n: u32| {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 13) % n
    };
    let mut text = String::new();
    for _ in 0..3000 {
        match next(8) {
            0 => text.push_str(&next(4000).to_string()),
            1 => text += &format!("\"q{} ä{}\"", next(9), next(30)),
            2 => text.push(['+', '(', ')', ';', 'ß'][next(5) as usize]),
            _ => (0..2 + next(5)).for_each(|_| text.push(char::from(b'a' + next(3) as u8))),
        }
        text.push(' ');
    }
    let mut counts: HashMap<Token<'_>, usize, std::hash::BuildHasherDefault<std::collections::hash_map::DefaultHasher>> = HashMap::default();
    for token in tokens(&text) {
        *counts.entry(token).or_default() += 1;
    }
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| format!("{:?}", a.0).cmp(&format!("{:?}", b.0))));
    println!("{} {:?}", sorted.len(), &sorted[..3]);
}
