//! Finds the index of a parameter by its name.

use ns_core::Model;
use wildmatch::WildMatch;

use crate::InferenceError;

/// Returns the index of the parameter `name` in the model.
///
/// # Errors
/// [`InferenceError::UnknownParameter`] with a suggestion if the model has no such parameter.
pub fn parameter_index(model: &Model, name: &str) -> Result<usize, InferenceError> {
    model
        .parameter_index(name)
        .ok_or_else(|| InferenceError::UnknownParameter { name: name.to_owned(), hint: hint(model, name) })
}

/// `*` stands for any characters and `?` for one. A name that is known stands for itself.
fn is_pattern(name: &str, known: &[&str]) -> bool {
    !known.contains(&name) && (name == "all" || name.contains(['*', '?']))
}

/// Returns the names of `known` that a name, a pattern or `all` means; none if a pattern matches none. A name that is not
/// known is returned as it is.
#[must_use]
pub fn matching_names(name: &str, known: &[&str]) -> Vec<String> {
    if !is_pattern(name, known) {
        return vec![name.to_owned()];
    }
    let pattern = WildMatch::new(if name == "all" { "*" } else { name });
    known.iter().filter(|known| pattern.matches(known)).map(|known| (*known).to_owned()).collect()
}

/// Largest number of parameter names that a hint lists if no parameter has a similar name.
const LISTED: usize = 6;

/// Builds the hint for an unknown parameter name. If `name` is the name of a vector of parameters, the hint gives the
/// names of the elements of the vector. Otherwise it gives the most similar parameter name, or the first parameter
/// names of the model if no name is similar.
fn hint(model: &Model, name: &str) -> String {
    if let Some(set) = model.parameter_sets.iter().find(|set| set.name == name && !set.scalar) {
        return match set.range.len() {
            1 => format!("its elements are named one by one: '{name}[0]'"),
            n => format!("its elements are named one by one: '{name}[0]' to '{name}[{}]'", n - 1),
        };
    }
    let mut near: Vec<(usize, &str)> = model
        .parameters
        .iter()
        .map(|p| (distance(name, &p.name), p.name.as_str()))
        .filter(|(d, _)| *d <= 2.max(name.len() / 3))
        .collect();
    near.sort();
    match near.first() {
        Some((_, closest)) => format!("did you mean '{closest}'?"),
        None if model.parameters.is_empty() => "it has none at all".to_owned(),
        None => {
            let first: Vec<String> =
                model.parameters.iter().take(LISTED).map(|p| format!("'{}'", p.name)).collect();
            let more = match model.parameters.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("its parameters are {}{more}", first.join(", "))
        }
    }
}

/// Returns the Levenshtein distance of the first 64 characters of two names, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cb, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, matching_names};

    #[test]
    fn patterns_and_all_stand_for_names() {
        let known = ["mu", "stat_SR[0]", "stat_SR[1]"];
        assert_eq!(matching_names("stat_*", &known), ["stat_SR[0]", "stat_SR[1]"]);
        assert_eq!(matching_names("all", &known), known);
        assert_eq!(matching_names("all", &["all", "mu"]), ["all"]);
        assert_eq!(matching_names("nobody", &known), ["nobody"]);
        assert!(matching_names("jes*", &known).is_empty());
    }

    #[test]
    fn distance_counts_edits_and_ignores_case() {
        assert_eq!(distance("mu", "mu"), 0);
        assert_eq!(distance("Mu", "mu"), 0);
        assert_eq!(distance("mu_sig", "mu_SIG2"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
    }
}
