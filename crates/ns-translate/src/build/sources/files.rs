//! Finds the files that a name with `*` and `?` stands for.

use std::path::{Component, Path, PathBuf};

use wildmatch::WildMatch;

use crate::files::Files;

/// Largest number of files that one name may stand for.
const MOST: usize = 100_000;

/// Returns the files of a name, sorted; the name itself if it has no `*` and no `?`.
pub(super) fn matching(files: &Files, path: &Path) -> Vec<PathBuf> {
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
                found.iter().flat_map(|base| children(files, base, &pattern)).take(MOST).collect()
            }
        };
    }
    found.retain(|path| files.exists(path));
    found.sort();
    found
}

/// The entries of a folder whose names fit.
fn children(files: &Files, folder: &Path, pattern: &WildMatch) -> Vec<PathBuf> {
    let names = files.children(folder);
    names.into_iter().filter(|name| pattern.matches(name)).map(|name| folder.join(name)).collect()
}
