//! Writes a count and its noun for messages.

/// Returns a number with its noun: `1 axis`, `2 axes`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
