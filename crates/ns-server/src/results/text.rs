//! Descriptions of keys, made from the comments of fields in the source.

/// Returns the comment of a field or a type as the description of a key in JSON. Comments say "`None`" for a number that does not
/// exist; in JSON it is `null`, or the key is absent if `is_optional`.
pub(super) fn reworded(comment: &str, is_optional: bool) -> String {
    let mut text = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    if is_optional {
        for (old, new) in [(". `None`", ". Absent"), ("`None`", "absent")] {
            text = text.replace(old, new);
        }
    }
    without_links(&text.replace("`None`", "`null`"))
}

/// Removes the links of rustdoc: of a link to `GpuCheck::edm`, its last name remains.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((target, after)) = link.split_once("`]") else { break };
        let name = target.rsplit("::").next().unwrap_or(target);
        out.push_str(before);
        out.push_str(&format!("`{name}`"));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_descriptions() {
        let comment = "Rise at the\nends. `None` without [`Report::level`]; `None` too.";
        assert_eq!(reworded(comment, false), "Rise at the ends. `null` without `level`; `null` too.");
        assert_eq!(reworded(comment, true), "Rise at the ends. Absent without `level`; absent too.");
    }
}
