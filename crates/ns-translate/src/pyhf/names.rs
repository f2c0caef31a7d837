//! Names in messages: quoting names, listing names, and finding the name nearest to a misspelt name.

/// Largest length, in bytes, of an accepted name. The name of a vector parameter is repeated for each bin.
/// Without a limit, a small file with a very long name could use much memory.
pub(crate) const LONGEST: usize = 512;

/// Puts a name into quotes, escapes its control characters, and cuts it after 80 characters.
pub(crate) fn quoted(name: &str) -> String {
    const SHOWN: usize = 80;
    let mut text = String::with_capacity(name.len().min(SHOWN) + 2);
    text.push('\'');
    for (i, c) in name.chars().enumerate() {
        if i == SHOWN {
            text.push('…');
            break;
        }
        if c.is_control() {
            text.extend(c.escape_debug());
        } else {
            text.push(c);
        }
    }
    text.push('\'');
    text
}

/// Lists names in the form `lead: 'a', 'b', 'c'.`, where `lead` is the given text. At most ten names are listed.
pub(crate) fn list<S: AsRef<str>>(lead: &str, names: &[S]) -> String {
    const SHOWN: usize = 10;
    if names.is_empty() {
        return "There are none.".to_owned();
    }
    let mut text: Vec<String> = names.iter().take(SHOWN).map(|n| quoted(n.as_ref())).collect();
    if names.len() > SHOWN {
        text.push(format!("and {} more", names.len() - SHOWN));
    }
    format!("{lead}: {}.", text.join(", "))
}

/// Returns the candidate that `name` was probably meant to be.
///
/// HistFactory and ROOT put prefixes before parameter names (`alpha_syst`, `gamma_stat`), but pyhf does not.
/// A candidate that equals `name` without such a prefix is therefore preferred. Otherwise the candidate with
/// the closest spelling is returned, if the difference can be a typing error.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    // Limits the time that hostile input can take. Real models are far below these numbers.
    const COMPARED: usize = 5000;
    const LONGEST_COMPARED: usize = 100;
    if name.is_empty() || name.len() > LONGEST_COMPARED {
        return None;
    }
    let bare = ["alpha_", "gamma_", "gamma_stat_", "beta_"].iter().find_map(|prefix| {
        let rest = name.strip_prefix(prefix)?;
        candidates.clone().find(|c| *c == rest)
    });
    if bare.is_some() {
        return bare;
    }
    let lower = name.to_lowercase();
    if let Some(same) = candidates.clone().take(COMPARED).find(|c| c.to_lowercase() == lower) {
        return Some(same);
    }
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .take(COMPARED)
        .filter(|c| c.len() <= LONGEST_COMPARED)
        .map(|c| (strsim::damerau_levenshtein(name, c), c))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// Formats a number, with an exponent if it would otherwise have many zeros.
pub(crate) fn show(x: f64) -> String {
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) { format!("{x:e}") } else { x.to_string() }
}

/// Escapes a key for use in a JSON pointer, and cuts it after 80 characters.
pub(crate) fn pointer_token(key: &str) -> String {
    let short: String = key.chars().take(80).collect();
    short.replace('~', "~0").replace('/', "~1")
}
