//! Patterns of names: wildcards as in file names, and regular expressions.

use regex::{Regex, RegexBuilder};

/// Largest size in bytes of a compiled expression. Without it, a short expression could use much memory.
const LARGEST: usize = 1 << 18;

/// Returns whether a name matches a pattern with the wildcards `*`, `?`, `[abc]` and `[!abc]`, in letters of the same
/// case. The time is at most proportional to the product of the two lengths.
pub(super) fn wildcard(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where to continue if the characters after the last star do not match: the star takes one character more.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if let Some('*') = pattern.get(p) {
            retry = Some((p + 1, n));
            p += 1;
            continue;
        }
        match name.get(n) {
            None if p >= pattern.len() => return true,
            None => return false,
            Some(&c) => {
                if let Some(length) = one(pattern.get(p..).unwrap_or_default(), c) {
                    p += length;
                    n += 1;
                } else if let Some((after, from)) = retry {
                    retry = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                } else {
                    return false;
                }
            }
        }
    }
}

/// Returns the length of the first part of a pattern, if this part matches the character.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let (negated, set) = match rest {
                ['!', set @ ..] => (true, set),
                set => (false, set),
            };
            // A bracket right after the opening one belongs to the set.
            let Some(end) = set.iter().skip(1).position(|c| *c == ']').map(|i| i + 1) else {
                return (c == '[').then_some(1);
            };
            let set = set.get(..end).unwrap_or_default();
            let mut inside = false;
            let mut at = 0;
            while let Some(&first) = set.get(at) {
                match (set.get(at + 1), set.get(at + 2)) {
                    (Some('-'), Some(&last)) => {
                        inside |= (first..=last).contains(&c);
                        at += 3;
                    }
                    _ => {
                        inside |= first == c;
                        at += 1;
                    }
                }
            }
            (inside != negated).then_some(end + 2 + usize::from(negated))
        }
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

/// Returns whether a text has wildcards.
pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// A pattern of a `nuisance edit` line: `*` or a regular expression that has to match the whole name.
#[derive(Debug, Clone)]
pub(super) enum Whole {
    Any,
    Matching(Regex),
}

impl Whole {
    /// Compiles a pattern. The error is what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        if pattern == "*" {
            return Ok(Self::Any);
        }
        compiled(&format!("^(?:{pattern})$")).map(Self::Matching)
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Matching(regex) => regex.is_match(name),
        }
    }
}

/// Compiles a pattern of `channel/process` that has to match the beginning of the text. A single `*` in front of the
/// slash or behind it stands for every name.
pub(super) fn beginning(pattern: &str) -> Result<Regex, String> {
    let (channel, process) = pattern.split_once('/').unwrap_or((pattern, "*"));
    let part = |part: &str| if part == "*" { ".*".to_owned() } else { part.to_owned() };
    compiled(&format!("^(?:{}/{})", part(channel), part(process)))
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(LARGEST).dfa_size_limit(LARGEST).build().map_err(
        |error| match error {
            regex::Error::CompiledTooBig(_) => "the expression is too large".to_owned(),
            other => {
                // The last line says what is wrong; the others draw a picture.
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default().trim();
                last.strip_prefix("error: ").unwrap_or(last).to_owned()
            }
        },
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_in_file_names() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "abc"),
            ("a*", "abc"),
            ("*c", "abc"),
            ("a?c", "abc"),
            ("a*b*c", "axxbxbc"),
            ("[ab]1", "b1"),
            ("[a-c]*", "cat"),
            ("[!a]b", "cb"),
            ("[]a]", "]"),
            ("a[b", "a[b"),
        ] {
            assert!(wildcard(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("a", "A"), ("a?c", "ac"), ("[a-c]", "d"), ("[!a]b", "ab"), ("a*b", "abc"), ("?", "")]
        {
            assert!(!wildcard(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn expressions_match_whole_names_or_their_beginning() {
        assert!(Whole::new("CMS_.*").unwrap().matches("CMS_eff"));
        assert!(!Whole::new("CMS").unwrap().matches("CMS_eff"));
        assert!(Whole::new("*").unwrap().matches("anything"));
        assert!(Whole::new("(").is_err());
        assert!(beginning(".*/ggH").unwrap().is_match("incl/ggH_hgg"));
        assert!(beginning("*/ggH$").unwrap().is_match("incl/ggH"));
        assert!(!beginning("dijet/*").unwrap().is_match("incl/ggH"));
        assert!(beginning("a{1000}{1000}/b").is_err());
    }
}
