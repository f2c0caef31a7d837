//! XML elements as text.

use std::fmt::Write as _;

use crate::xml_error::HistFactoryError;

/// XML in the making.
#[derive(Debug, Default)]
pub(super) struct Xml {
    pub(super) text: String,
    open: Vec<&'static str>,
}

impl Xml {
    /// A file whose outermost element is `root`.
    pub(super) fn of(root: &str) -> Self {
        let head = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE {root} SYSTEM \"HistFactorySchema.dtd\">\n"
        );
        Self { text: head, open: Vec::new() }
    }

    fn start(&mut self, tag: &str, attributes: &[(&str, String)]) -> Result<(), HistFactoryError> {
        let indent = "  ".repeat(self.open.len());
        let _ = write!(self.text, "{indent}<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escaped(value)?);
        }
        Ok(())
    }

    /// An element without contents.
    pub(super) fn empty(&mut self, tag: &str, attributes: &[(&str, String)]) -> Result<(), HistFactoryError> {
        self.start(tag, attributes)?;
        self.text.push_str("/>\n");
        Ok(())
    }

    /// An element with a text.
    pub(super) fn with(
        &mut self,
        tag: &str,
        attributes: &[(&str, String)],
        text: &str,
    ) -> Result<(), HistFactoryError> {
        self.start(tag, attributes)?;
        let _ = writeln!(self.text, ">{}</{tag}>", escaped(text)?);
        Ok(())
    }

    /// Begins an element with other elements.
    pub(super) fn begin(
        &mut self,
        tag: &'static str,
        attributes: &[(&str, String)],
    ) -> Result<(), HistFactoryError> {
        self.start(tag, attributes)?;
        self.text.push_str(">\n");
        self.open.push(tag);
        Ok(())
    }

    /// Ends the element that was begun last.
    pub(super) fn end(&mut self) {
        if let Some(tag) = self.open.pop() {
            let indent = "  ".repeat(self.open.len());
            let _ = writeln!(self.text, "{indent}</{tag}>");
        }
    }
}

/// A text between quotes or tags.
fn escaped(text: &str) -> Result<String, HistFactoryError> {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => {
                return Err(HistFactoryError::NotWritten {
                    part: format!("The name '{}'", text.escape_debug()),
                    message: "it has a control character.".to_owned(),
                    remedy: "Rename it with `nextstat rename`.".to_owned(),
                });
            }
            letter => out.push(letter),
        }
    }
    Ok(out)
}
