//! Reads the settings of a group, and reports those that do not exist or have the wrong kind of value.

use super::yaml::{Key, Node, Value, is_nothing};
use crate::pyhf::Report;
use crate::pyhf::names::{list, nearest, quoted};

/// Collects the problems of a file.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) file: String,
    pub(super) report: Report,
}

impl Reader {
    pub(super) fn path(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }

    pub(super) fn error(&mut self, line: usize, message: impl Into<String>, remedy: impl Into<String>) {
        self.report.error(self.path(line), message, remedy);
    }

    pub(super) fn warn(&mut self, line: usize, message: impl Into<String>, remedy: impl Into<String>) {
        self.report.warn(self.path(line), message, remedy);
    }
}

/// The settings of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) line: usize,
    /// What the group is, such as "a region".
    what: &'static str,
    entries: &'a [(Key, Node)],
}

impl<'a> Fields<'a> {
    /// The settings of a group that may have the keys `known`. Returns `None` if the part is no group.
    pub(super) fn of(
        node: &'a Node,
        what: &'static str,
        known: &[&'static str],
        reader: &mut Reader,
    ) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            let message = format!("{what} is a group of settings, not {}.", node.value.kind());
            reader.error(node.line, message, list("Its settings are", known));
            return None;
        };
        for (i, (key, _)) in entries.iter().enumerate() {
            let name = key.text.as_str();
            if !known.contains(&name) {
                let remedy = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("Did you mean {}?", quoted(near)),
                    None => list("The settings are", known),
                };
                reader.error(key.line, format!("{what} has no setting {}.", quoted(name)), remedy);
            } else if entries.iter().take(i).any(|(other, _)| other.text == name) {
                reader.error(
                    key.line,
                    format!("{what} has the setting {} twice.", quoted(name)),
                    "Remove one of them.",
                );
            }
        }
        Some(Self { line: node.line, what, entries })
    }

    /// The value of a setting, if it has one.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        let (_, node) = self.entries.iter().find(|(known, _)| known.text == key)?;
        let nothing = matches!(&node.value, Value::Scalar { text, plain: true } if is_nothing(text));
        (!nothing).then_some(node)
    }

    /// The value of a setting that must be there.
    pub(super) fn required(&self, key: &'static str, reader: &mut Reader) -> Option<&'a Node> {
        let found = self.get(key);
        if found.is_none() {
            let message = format!("{} has no {}.", self.what, quoted(key));
            reader.error(self.line, message, format!("Add '{key}: ...'."));
        }
        found
    }

    /// A text that may be missing.
    pub(super) fn text(&self, key: &'static str, reader: &mut Reader) -> Option<String> {
        text(self.get(key)?, key, reader)
    }

    /// A text that must be there; empty if it is not.
    pub(super) fn required_text(&self, key: &'static str, reader: &mut Reader) -> String {
        self.required(key, reader).and_then(|node| text(node, key, reader)).unwrap_or_default()
    }

    /// One text or a list of texts. Nothing is an empty list.
    pub(super) fn texts(&self, key: &'static str, reader: &mut Reader) -> Vec<String> {
        match self.get(key).map(|node| (node, &node.value)) {
            None => Vec::new(),
            Some((_, Value::List(items))) => {
                items.iter().filter_map(|item| text(item, key, reader)).collect()
            }
            Some((node, _)) => text(node, key, reader).into_iter().collect(),
        }
    }

    /// A number that may be missing.
    pub(super) fn number(&self, key: &'static str, reader: &mut Reader) -> Option<f64> {
        number(self.get(key)?, key, reader)
    }

    /// A list of numbers that may be missing.
    pub(super) fn numbers(&self, key: &'static str, reader: &mut Reader) -> Option<Vec<f64>> {
        let items = self.list(key, reader)?;
        Some(items.iter().filter_map(|item| number(item, key, reader)).collect())
    }

    /// A logical value; false if it is missing.
    pub(super) fn flag(&self, key: &'static str, reader: &mut Reader) -> bool {
        let Some(node) = self.get(key) else { return false };
        let word = match &node.value {
            Value::Scalar { text, plain: true } => text.to_lowercase(),
            _ => String::new(),
        };
        match word.as_str() {
            "true" | "yes" | "on" => true,
            "false" | "no" | "off" => false,
            _ => {
                reader.error(
                    node.line,
                    format!("{} is not True or False.", quoted(key)),
                    "Write one of the two.",
                );
                false
            }
        }
    }

    /// A list that may be missing.
    pub(super) fn list(&self, key: &'static str, reader: &mut Reader) -> Option<&'a [Node]> {
        let node = self.get(key)?;
        match &node.value {
            Value::List(items) => Some(items),
            other => {
                let message = format!("{} is a list, not {}.", quoted(key), other.kind());
                reader.error(
                    node.line,
                    message,
                    "Begin every entry with '-' on a line of its own, or write [a, b].",
                );
                None
            }
        }
    }
}

fn text(node: &Node, key: &str, reader: &mut Reader) -> Option<String> {
    match &node.value {
        Value::Scalar { text, plain } if !(*plain && is_nothing(text)) => Some(text.clone()),
        other => {
            let message = format!("{} is a text, not {}.", quoted(key), other.kind());
            reader.error(node.line, message, "Write a text; quotes are needed around special characters.");
            None
        }
    }
}

fn number(node: &Node, key: &str, reader: &mut Reader) -> Option<f64> {
    let found = match &node.value {
        Value::Scalar { text, plain: true } => text.parse().ok().filter(|x: &f64| x.is_finite()),
        _ => None,
    };
    if found.is_none() {
        let message = format!("{} is not a finite number.", quoted(key));
        reader.error(node.line, message, "Write a number without quotes, such as 0.05.");
    }
    found
}
