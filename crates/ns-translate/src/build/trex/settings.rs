//! Reads the settings of a block by their keys.

use super::blocks::{Block, Setting};
use super::config::{Locations, Scope};
use crate::build::fields::Reader;
use crate::pyhf::names::quoted;

/// The settings of a block.
pub(super) struct Settings<'a, 'r> {
    pub(super) block: &'a Block,
    pub(super) reader: &'r mut Reader,
}

impl<'a> Settings<'a, '_> {
    pub(super) fn name(&self) -> String {
        self.block.names.first().cloned().unwrap_or_default()
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Setting> {
        self.block.settings.iter().find(|setting| setting.key == key)
    }

    pub(super) fn error(&mut self, line: usize, message: String, remedy: &str) {
        let place = format!("{} {}: {message}", self.block.kind, quoted(&self.name()));
        self.reader.error(line, place, remedy);
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        self.get(key).map(|setting| setting.values.clone()).unwrap_or_default()
    }

    /// The text of a setting, with its commas.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|setting| setting.values.join(","))
    }

    /// A word in capitals.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        self.text(key).map(|text| text.to_uppercase())
    }

    pub(super) fn number(&mut self, key: &str) -> Option<f64> {
        let setting = self.get(key)?;
        let number = setting.values.join(",").parse().ok().filter(|x: &f64| x.is_finite());
        if number.is_none() {
            self.error(setting.line, format!("'{key}' is not a finite number."), "Write one number.");
        }
        number
    }

    pub(super) fn flag(&mut self, key: &str, usual: bool) -> bool {
        match (self.get(key), self.word(key).as_deref()) {
            (None, _) => usual,
            (_, Some("TRUE")) => true,
            (_, Some("FALSE")) => false,
            (Some(setting), _) => {
                self.error(setting.line, format!("'{key}' is not TRUE or FALSE."), "Write one of the two.");
                usual
            }
        }
    }

    /// Reports a value that is not among those that are supported.
    pub(super) fn one_of(&mut self, key: &str, known: &[&str]) -> Option<String> {
        let word = self.word(key)?;
        if !known.contains(&word.as_str()) {
            let line = self.get(key).map_or(self.block.line, |setting| setting.line);
            let message = format!("'{key}: {word}' is not supported.");
            self.error(line, message, &format!("The values that are read are {}.", known.join(", ")));
        }
        Some(word)
    }

    /// Folders, files and names. `side` is empty, `Up` or `Down`.
    pub(super) fn place(&self, ntuples: bool, side: &str) -> Locations {
        let kind = if ntuples { "Ntuple" } else { "Histo" };
        let one_or_many = |what: &str| {
            let one = self.list(&format!("{kind}{what}{side}"));
            if one.is_empty() { self.list(&format!("{kind}{what}s{side}")) } else { one }
        };
        let suffix = |what: &str| {
            let key =
                if side.is_empty() { format!("{kind}{what}Suff") } else { format!("{kind}{what}Suf{side}") };
            self.text(&key).unwrap_or_default()
        };
        Locations {
            paths: one_or_many("Path"),
            files: one_or_many("File"),
            names: one_or_many("Name"),
            path_suffix: suffix("Path"),
            file_suffix: suffix("File"),
            name_suffix: suffix("Name"),
        }
    }

    pub(super) fn scope(&self) -> Scope {
        Scope { samples: self.list("Samples"), regions: self.list("Regions"), exclude: self.list("Exclude") }
    }
}
