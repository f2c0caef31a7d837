//! Elements of an XML file with their lines, and their attributes with checks.

use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use crate::pyhf::names::{list, nearest};
use crate::xml_error::{HistFactoryError, Place};

/// Largest number of elements, attributes and texts of a file.
const MOST_NODES: u32 = 10_000_000;

/// Parses a file, of which `path` is the name for messages.
pub(super) fn parse<'a>(text: &'a str, path: &Path) -> Result<Document<'a>, HistFactoryError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let position = error.pos();
        let text = error.to_string();
        let suffix = format!(" at {}:{}", position.row, position.col);
        let message = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
        HistFactoryError::Syntax {
            place: Place { file: path.display().to_string(), line: position.row },
            message: format!("{message} (column {})", position.col),
        }
    })
}

/// An element of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a> {
    node: Node<'a, 'a>,
    path: &'a Path,
}

impl<'a> Element<'a> {
    /// The outermost element of a document.
    pub(super) fn root(document: &'a Document<'a>, path: &'a Path) -> Self {
        Self { node: document.root_element(), path }
    }

    pub(super) fn tag(self) -> &'a str {
        self.node.tag_name().name()
    }

    pub(super) fn place(self) -> Place {
        let line = self.node.document().text_pos_at(self.node.range().start).row;
        Place { file: self.path.display().to_string(), line }
    }

    /// The element as messages show it.
    pub(super) fn shown(self) -> String {
        match self.node.attribute("Name") {
            Some(name) => format!("<{} Name=\"{name}\">", self.tag()),
            None => format!("<{}>", self.tag()),
        }
    }

    pub(super) fn error(self, message: impl Into<String>, remedy: impl Into<String>) -> HistFactoryError {
        HistFactoryError::Element {
            place: self.place(),
            element: self.shown(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The elements within, after a check that there is no other text and no element but those of `known`.
    pub(super) fn children(self, known: &[&str]) -> Result<Vec<Element<'a>>, HistFactoryError> {
        let mut out = Vec::new();
        for node in self.node.children() {
            if node.is_element() {
                let child = Element { node, path: self.path };
                if !known.contains(&child.tag()) {
                    let message = format!("HistFactory has no such element within <{}>.", self.tag());
                    return Err(child.error(message, suggestion(child.tag(), known)));
                }
                out.push(child);
            } else if node.is_text() && node.text().is_some_and(|text| !text.trim().is_empty()) {
                let text: String = node.text().unwrap_or_default().trim().chars().take(40).collect();
                let message = format!("The text '{text}' has no meaning here.");
                return Err(self.error(message, "Remove it, or make it a comment: <!-- -->."));
            }
        }
        Ok(out)
    }

    /// Checks that there is no attribute but those of `known`.
    pub(super) fn only(self, known: &[&str]) -> Result<(), HistFactoryError> {
        for attribute in self.node.attributes() {
            if !known.contains(&attribute.name()) {
                let message = format!("There is no attribute '{}'.", attribute.name());
                return Err(self.error(message, suggestion(attribute.name(), known)));
            }
        }
        Ok(())
    }

    /// An attribute that may be missing.
    pub(super) fn get(self, name: &str) -> Option<&'a str> {
        self.node.attribute(name).map(str::trim)
    }

    /// An attribute that is there and has a text.
    pub(super) fn text_of(self, name: &str) -> Result<&'a str, HistFactoryError> {
        match self.get(name) {
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(self.error(format!("The attribute '{name}' is empty."), "Write its value.")),
            None => Err(self.error(format!("The attribute '{name}' is missing."), "Add it.")),
        }
    }

    /// A number that may be missing.
    pub(super) fn optional_number(self, name: &str) -> Result<Option<f64>, HistFactoryError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => {
                let message = format!("The attribute '{name}' is '{text}', which is no finite number.");
                Err(self.error(message, "Write a number such as 1.05."))
            }
        }
    }

    pub(super) fn number(self, name: &str) -> Result<f64, HistFactoryError> {
        self.text_of(name)?;
        let number = self.optional_number(name)?;
        number.ok_or_else(|| self.error(format!("The attribute '{name}' is missing."), "Add it."))
    }

    /// `True` or `False`, if the attribute is there.
    pub(super) fn truth(self, name: &str) -> Result<Option<bool>, HistFactoryError> {
        match self.get(name) {
            None => Ok(None),
            Some("True" | "true") => Ok(Some(true)),
            Some("False" | "false") => Ok(Some(false)),
            Some(text) => {
                let message = format!("The attribute '{name}' is '{text}'.");
                Err(self.error(message, "Write \"True\" or \"False\"."))
            }
        }
    }

    /// Whether a constraint is Poisson, if the attribute `ConstraintType` is there.
    pub(super) fn poisson(self) -> Result<Option<bool>, HistFactoryError> {
        match self.get("ConstraintType") {
            None => Ok(None),
            Some("Poisson" | "Pois") => Ok(Some(true)),
            Some("Gaussian" | "Gauss") => Ok(Some(false)),
            Some(text) => {
                let message = format!("There is no constraint type '{text}'.");
                Err(self.error(message, "Write \"Gaussian\" or \"Poisson\"."))
            }
        }
    }

    /// The text between the tags, without spaces at its ends.
    pub(super) fn line(self) -> Result<&'a str, HistFactoryError> {
        if let Some(node) = self.node.children().find(|node| node.is_element()) {
            let child = Element { node, path: self.path };
            let message = format!("HistFactory has no such element within <{}>.", self.tag());
            return Err(child.error(message, "Write a text only."));
        }
        let text = self.node.children().filter(|node| node.is_text()).filter_map(|node| node.text());
        let text = text.map(str::trim).find(|text| !text.is_empty());
        text.ok_or_else(|| self.error("It has no text.", "Write a text between its tags."))
    }

    /// The words between the tags; none if the element is empty.
    pub(super) fn words(self) -> Result<Vec<&'a str>, HistFactoryError> {
        if self.node.children().next().is_none() {
            return Ok(Vec::new());
        }
        Ok(self.line()?.split_whitespace().collect())
    }

    /// The words between the tags, at least one.
    pub(super) fn named(self, what: &str) -> Result<Vec<&'a str>, HistFactoryError> {
        let words = self.words()?;
        if words.is_empty() {
            let remedy = "Write the names between its tags, or remove it.";
            return Err(self.error(format!("It names no {what}."), remedy));
        }
        Ok(words)
    }
}

fn suggestion(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("Did you mean '{near}'?"),
        None if known.is_empty() => "Remove it.".to_owned(),
        None => list("There are", known),
    }
}
