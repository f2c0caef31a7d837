//! Finds the files that a name with `*` and `?` stands for.

use std::path::{Component, Path, PathBuf};

use wildmatch::WildMatch;

/// Largest number of files that one name may stand for.
const MOST: usize = 100_000;

/// Returns the files of a name, sorted; the name itself if it has no `*` and no `?`.
pub(super) fn matching(path: &Path) -> Vec<PathBuf> {
    let is_pattern = |part: &str| part.contains(['*', '?']);
    if !path.to_str().is_some_and(is_pattern) {
        return vec![path.to_owned()];
    }
    let mut found = vec![PathBuf::new()];
    for component in path.components() {
        let pattern = match component {
            Component::Normal(part) => part.to_str().filter(|part| is_pattern(part)),
            _ => None,
        };
        found = match pattern {
            None => found.into_iter().map(|base| base.join(component)).collect(),
            Some(pattern) => {
                let pattern = WildMatch::new(pattern);
                found.iter().flat_map(|base| children(base, &pattern)).take(MOST).collect()
            }
        };
    }
    found.retain(|path| path.exists());
    found.sort();
    found
}

/// The entries of a folder whose names fit.
fn children(folder: &Path, pattern: &WildMatch) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| pattern.matches(name)))
        .map(|entry| folder.join(entry.file_name()))
        .collect()
}
