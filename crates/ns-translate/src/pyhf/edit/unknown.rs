//! Lists the names in a document and reports names that do not exist.

use std::collections::BTreeSet;

use ns_unbinned::expression::Expression;

use super::super::document::{Document, Effect, Modifier};
use super::super::names::{list, nearest, quoted};
use super::super::problem::Report;

/// The kind of item that a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    Channel,
    Sample,
    Modifier,
    Measurement,
}

impl NameKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Sample => "sample",
            Self::Modifier => "modifier",
            Self::Measurement => "measurement",
        }
    }

    /// Returns the JSON pointer to the part of the document that contains names of this kind.
    fn section(self) -> &'static str {
        if self == Self::Measurement { "/measurements" } else { "/channels" }
    }

    /// Returns all names of this kind in a document.
    pub(super) fn names(self, document: &Document) -> BTreeSet<&str> {
        let samples = || document.channels.iter().flat_map(|c| &c.samples);
        match self {
            Self::Channel => document.channels.iter().map(|c| c.name.as_str()).collect(),
            Self::Sample => samples().map(|s| s.name.as_str()).collect(),
            Self::Modifier => {
                let settings = document.measurements.iter().flat_map(|m| &m.config.parameters);
                let in_expressions = expressed(document);
                // The parameters that only functions use have settings in the measurements.
                let own = settings.map(|s| s.name.as_str()).filter(|name| in_expressions.contains(*name));
                modifiers(document).map(|m| m.name.as_str()).chain(own).collect()
            }
            Self::Measurement => document.measurements.iter().map(|m| m.name.as_str()).collect(),
        }
    }

    /// Reports each name in `wanted` that no item of this kind has.
    pub(super) fn require<'a>(
        self,
        wanted: impl Iterator<Item = &'a String>,
        document: &Document,
        report: &mut Report,
    ) {
        let mut wanted = wanted.peekable();
        if wanted.peek().is_none() {
            return;
        }
        let known = self.names(document);
        for name in wanted.filter(|name| !known.contains(name.as_str())) {
            report.error(
                self.section().to_owned(),
                format!("No {} is called {}.", self.name(), quoted(name)),
                suggestion(name, &known, &format!("The {}s are", self.name())),
            );
        }
    }
}

/// Suggests the name in `known` that is nearest to `name`. If no name is near, lists all names in `known` after the
/// introductory text `lead`.
pub(super) fn suggestion(name: &str, known: &BTreeSet<&str>, lead: &str) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("Did you mean {}?", quoted(near)),
        None => list(lead, &known.iter().collect::<Vec<_>>()),
    }
}

/// Returns all names in the expressions of functions. Expressions with mistakes are left out.
pub(super) fn expressed(document: &Document) -> BTreeSet<String> {
    let texts = modifiers(document).filter_map(|modifier| match &modifier.effect {
        Effect::Function(formulas) => Some(formulas.texts()),
        _ => None,
    });
    let parsed = texts.flatten().filter_map(|(_, text)| Expression::parse(text).ok());
    parsed.flat_map(|expression| expression.names().to_vec()).collect()
}

/// Returns every modifier of a document.
pub(super) fn modifiers(document: &Document) -> impl Iterator<Item = &Modifier> {
    document.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers)
}
