//! The `shapes` lines of a card that is written: one per process and channel, or one per channel where all processes have
//! the same rule.

use std::path::{Component, Path, PathBuf};

use crate::datacard::document::{Channel, Document, ShapeRule};
use crate::datacard::shapes::rule;

/// Returns the lines. Names of files are relative to `folder`.
pub(super) fn lines(document: &Document, folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    if document.channels.iter().all(|channel| channel.origin.shapes.is_empty()) {
        return lines;
    }
    for (at, channel) in document.channels.iter().enumerate() {
        if channel.origin.shapes.is_empty() {
            // Without this line the channel would have the templates of other channels' lines with wildcards.
            lines.push(format!("shapes * {} FAKE", channel.name));
            continue;
        }
        let own = document.columns.iter().filter(|column| column.channel == at);
        let names: Vec<&str> =
            std::iter::once("data_obs").chain(own.map(|column| column.process.as_str())).collect();
        let rules: Vec<Option<&ShapeRule>> = names.iter().map(|name| rule(channel, name)).collect();
        let first = rules.first().copied().flatten();
        if let Some(common) = first.filter(|common| rules.iter().all(|r| r.is_some_and(|r| r == *common))) {
            lines.push(line("*", channel, common, folder));
            continue;
        }
        for (name, rule) in names.iter().zip(rules) {
            lines.extend(rule.map(|rule| line(name, channel, rule, folder)));
        }
    }
    lines
}

fn line(process: &str, channel: &Channel, rule: &ShapeRule, folder: &Path) -> String {
    let Some(file) = &rule.file else { return format!("shapes {process} {} FAKE", channel.name) };
    // The channel may have had another name.
    let named = |text: &str| text.replace("$CHANNEL", &channel.written);
    let file = relative(&channel.origin.folder.join(named(file)), folder);
    let mut words = vec!["shapes".to_owned(), process.to_owned(), channel.name.clone(), file];
    words.push(named(&rule.nominal));
    words.extend(rule.systematic.as_deref().map(named));
    words.join(" ")
}

/// Returns a path as seen from a folder, with slashes.
fn relative(file: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (file, folder) = (clean(&absolute(file)), clean(&absolute(folder)));
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), file.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len().saturating_sub(same));
    let down = to.iter().skip(same).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Removes `.` and resolves `..` by name.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_seen_from_the_folder() {
        assert_eq!(relative(Path::new("/a/b/c.root"), Path::new("/a/b")), "c.root");
        assert_eq!(relative(Path::new("/a/./b/../d/c.root"), Path::new("/a/b/x")), "../../d/c.root");
    }
}
