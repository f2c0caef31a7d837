//! Reads YAML as a tree whose parts know their lines.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};

/// Deepest nesting that is read; configurations need four levels.
const DEEPEST: usize = 32;
/// Largest number of parts, with those that aliases repeat.
const MOST: usize = 500_000;

/// A part of a YAML file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Line of its beginning, counted from 1.
    pub(super) line: usize,
    pub(super) value: Value,
}

/// The contents of a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A text, a number or a logical value as it is written. `plain` is false in quotes.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    /// Keys with their lines, and what they have.
    Map(Vec<(Key, Node)>),
}

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) line: usize,
    pub(super) text: String,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlError {
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

impl Value {
    /// What the part is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Scalar { text, plain: true } if is_nothing(text) => "nothing",
            Self::Scalar { .. } => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a group of settings",
        }
    }
}

/// Whether a text without quotes stands for no value.
pub(super) fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// A list or a group that is not complete yet.
enum Open {
    List { line: usize, anchor: usize, items: Vec<Node> },
    Map { line: usize, anchor: usize, entries: Vec<(Key, Node)>, key: Option<Key> },
}

/// Reads a text with one document.
pub(super) fn read(text: &str) -> Result<Node, YamlError> {
    let fault = |line, message: &str, remedy| YamlError { line, message: message.to_owned(), remedy };
    let mut reader = Reader { open: Vec::new(), anchors: HashMap::new(), parts: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            message: format!("This is not YAML: {}.", error.info().trim_end_matches('.')),
            remedy: "Look at the indentation and at the quotes of this line and the one above.",
        })?;
        let line = span.start.line();
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = Value::Scalar { text: text.into_owned(), plain };
                reader.add(Node { line, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                reader.enter(line, Open::List { line, anchor, items: Vec::new() })?;
            }
            Event::MappingStart(_, anchor, _) => {
                reader.enter(line, Open::Map { line, anchor, entries: Vec::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => reader.leave()?,
            Event::Alias(anchor) => reader.alias(line, anchor)?,
            Event::DocumentStart(..) if reader.root.is_some() => {
                return Err(fault(line, "A second document begins here.", "Write one document to a file."));
            }
            _ => {}
        }
    }
    reader.root.ok_or_else(|| fault(1, "The file has no settings.", "Write a configuration into it."))
}

struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    parts: usize,
    root: Option<Node>,
}

impl Reader {
    fn enter(&mut self, line: usize, part: Open) -> Result<(), YamlError> {
        self.open.push(part);
        self.check(line, self.open.len(), 1)
    }

    /// Counts parts, and checks both limits.
    fn check(&mut self, line: usize, depth: usize, parts: usize) -> Result<(), YamlError> {
        self.parts = self.parts.saturating_add(parts);
        let message = if depth > DEEPEST {
            format!("The settings are nested more than {DEEPEST} levels deep.")
        } else if self.parts > MOST {
            format!("The file has more than {MOST} parts, with those that aliases repeat.")
        } else {
            return Ok(());
        };
        Err(YamlError { line, message, remedy: "Check that it is the right file." })
    }

    fn leave(&mut self) -> Result<(), YamlError> {
        match self.open.pop() {
            Some(Open::List { line, anchor, items }) => {
                self.add(Node { line, value: Value::List(items) }, anchor)
            }
            Some(Open::Map { line, anchor, entries, .. }) => {
                let entries = merged(entries)?;
                self.add(Node { line, value: Value::Map(entries) }, anchor)
            }
            None => Ok(()),
        }
    }

    fn alias(&mut self, line: usize, anchor: usize) -> Result<(), YamlError> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            let message = "The alias stands within the part that it names.".to_owned();
            return Err(YamlError { line, message, remedy: "Write the settings out." });
        };
        let (depth, parts) = size(&node);
        self.check(line, self.open.len() + depth, parts)?;
        self.add(Node { line, ..node }, 0)
    }

    /// Adds a complete part to the list or the group around it.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.check(node.line, self.open.len(), 1)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match (key.take(), node.value) {
                (Some(key), value) => entries.push((key, Node { line: node.line, value })),
                (None, Value::Scalar { text, .. }) => *key = Some(Key { line: node.line, text }),
                (None, _) => {
                    let message = "A key is a list or a group.".to_owned();
                    return Err(YamlError {
                        line: node.line,
                        message,
                        remedy: "Write a name before the colon.",
                    });
                }
            },
        }
        Ok(())
    }
}

/// Depth and number of parts of a tree.
fn size(node: &Node) -> (usize, usize) {
    let children: Vec<&Node> = match &node.value {
        Value::Scalar { .. } => return (0, 1),
        Value::List(items) => items.iter().collect(),
        Value::Map(entries) => entries.iter().map(|(_, node)| node).collect(),
    };
    let sizes = children.into_iter().map(size);
    let (depth, parts) = sizes.fold((0, 0), |(depth, parts), (d, p)| (depth.max(d), parts + p));
    (depth + 1, parts + 1)
}

/// Adds the entries of the groups that `<<` names, as YAML 1.1 has it. The group's own entries come first.
fn merged(entries: Vec<(Key, Node)>) -> Result<Vec<(Key, Node)>, YamlError> {
    if entries.iter().all(|(key, _)| key.text != "<<") {
        return Ok(entries);
    }
    let (merge, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key.text == "<<");
    for (key, node) in merge {
        let sources = match node.value {
            Value::List(items) => items,
            _ => vec![node],
        };
        for source in sources {
            let Value::Map(entries) = source.value else {
                let message = "'<<' adds settings of another group, and names none.".to_owned();
                return Err(YamlError { line: key.line, message, remedy: "Name a group by an alias." });
            };
            for (key, node) in entries {
                if own.iter().all(|(known, _)| known.text != key.text) {
                    own.push((key, node));
                }
            }
        }
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::{Node, Value, read};

    fn text(node: &Node) -> String {
        match &node.value {
            Value::Scalar { text, plain } => format!("{text}{}", if *plain { "" } else { "'" }),
            Value::List(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(" ")),
            Value::Map(entries) => {
                let entry =
                    |(key, node): &(super::Key, Node)| format!("{}@{}={}", key.text, key.line, text(node));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn shown(yaml: &str) -> String {
        read(yaml).map_or_else(|e| format!("{}: {} {}", e.line, e.message, e.remedy), |node| text(&node))
    }

    #[test]
    fn parts_know_their_lines() {
        assert_eq!(shown("a: 1\nb:\n  - 'x'\n  - [y, 2]\n"), "{a@1=1 b@2=[x' [y 2]]}");
    }

    #[test]
    fn aliases_and_merges_are_written_out() {
        let yaml = "base: &b {x: 1, y: 2}\nnext:\n  <<: *b\n  y: 3\nagain: *b\n";
        assert_eq!(shown(yaml), "{base@1={x@1=1 y@1=2} next@2={y@4=3 x@1=1} again@5={x@1=1 y@1=2}}");
    }

    #[test]
    fn hostile_files_are_refused() {
        let deep = shown(&"[".repeat(100_000));
        assert!(deep.contains("recursion limit exceeded"), "{deep}");
        let deep = shown(&format!("{}{}", "[".repeat(40), "]".repeat(40)));
        assert!(deep.contains("nested more than 32 levels"), "{deep}");
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..20 {
            let inner = format!("*a{}, ", i - 1).repeat(10);
            bomb.push_str(&format!("a{i}: &a{i} [{inner}]\n"));
        }
        assert!(shown(&bomb).contains("more than"), "{}", shown(&bomb));
        assert!(shown("a: &a [*a]").contains("alias"), "{}", shown("a: &a [*a]"));
        assert!(shown("a: [1\nb: 2").contains("not YAML"));
        assert!(shown("a: 1\n---\nb: 2").starts_with("2: A second document"), "{}", shown("a: 1\n---\nb: 2"));
        assert!(shown("").contains("no settings"));
    }
}
