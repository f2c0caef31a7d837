//! [`Card`]: a datacard that was read. Models are built from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ns_core::Model;

use super::document::Document;
use super::error::CardError;
use super::lines::lines;
use super::options::CardOptions;
use super::{build, header, systematics};
use crate::pyhf::problem::Report;
use crate::pyhf::{ChannelSelection, ModelOptions, Problem};

/// A datacard, or several cards put together, with the options it was read with.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub(super) document: Document,
    pub(super) options: CardOptions,
    /// Name of the card in messages.
    pub(super) file: String,
    /// Warnings about the text.
    pub(super) notes: Report,
}

impl Card {
    /// Reads a card, which may be compressed with gzip. Files that it names are relative to its folder. They are read
    /// when a model is made.
    ///
    /// # Errors
    /// [`CardError::Input`] if the file cannot be read; [`CardError::Invalid`] with all problems of the text;
    /// [`CardError::NoSuchChannel`] if a masked channel does not exist.
    pub fn read(path: impl AsRef<Path>, options: &CardOptions) -> Result<Self, CardError> {
        let path = path.as_ref();
        let text = options.files.text(path)?;
        let folder = options.files.folder_of(path);
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        Self::parse(&text, &name, folder, options)
    }

    /// Reads the text of a card. `file` is its name in messages. Files that it names are relative to the current
    /// folder.
    ///
    /// # Errors
    /// The errors of [`Card::read`], apart from errors of reading the file.
    pub fn from_text(text: &[u8], file: &str, options: &CardOptions) -> Result<Self, CardError> {
        Self::parse(text, file, PathBuf::new(), options)
    }

    fn parse(text: &[u8], file: &str, folder: PathBuf, options: &CardOptions) -> Result<Self, CardError> {
        let mut notes = Report::default();
        // Only comments may have other bytes; in names, the replacement would be seen.
        let text = String::from_utf8_lossy(text);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let name: Arc<str> = file.into();
        let mut lines = lines(text, &name);
        let (mut document, head) = header::read(&mut lines, folder, &name, &mut notes);
        if !document.columns.is_empty() {
            systematics::read(lines, head.kmax, &mut document, &mut notes);
        }
        let card = Self { document, options: options.clone(), file: file.to_owned(), notes };
        card.checked()
    }

    /// Returns the card, or its problems if there are errors.
    pub(super) fn checked(self) -> Result<Self, CardError> {
        if self.notes.has_errors() {
            return Err(CardError::Invalid { file: self.file, report: self.notes });
        }
        self.kept()?;
        Ok(self)
    }

    /// Returns the card without channels. As in Combine, only the likelihood of the channels is left out; parameters
    /// that nothing else uses go with them.
    ///
    /// # Errors
    /// [`CardError::NoSuchChannel`] if a channel does not exist, or none is left.
    pub fn masked(mut self, channels: &[String]) -> Result<Self, CardError> {
        self.options.masks.extend(channels.iter().cloned());
        self.kept()?;
        Ok(self)
    }

    /// Returns for each channel whether it is part of the likelihood.
    pub(super) fn kept(&self) -> Result<Vec<bool>, CardError> {
        let names = self.all_channels();
        if let Some(unknown) = self.options.masks.iter().find(|mask| !names.contains(&mask.as_str())) {
            let available = names.iter().map(|&name| name.to_owned()).collect();
            return Err(CardError::NoSuchChannel { name: unknown.clone(), available });
        }
        let kept: Vec<bool> =
            names.iter().map(|name| !self.options.masks.iter().any(|mask| mask == name)).collect();
        if !kept.contains(&true) {
            let available = names.iter().map(|&name| name.to_owned()).collect();
            return Err(CardError::NoSuchChannel { name: String::new(), available });
        }
        Ok(kept)
    }

    /// Returns the card without the channels that a selection leaves out.
    ///
    /// # Errors
    /// [`CardError::NoSuchChannel`] if a channel does not exist, or none is left.
    pub fn selected(self, selection: &ChannelSelection) -> Result<Self, CardError> {
        let mut masks = selection.mask.clone();
        if let Some(keep) = &selection.keep {
            let names = self.channel_names();
            if let Some(unknown) = keep.iter().find(|name| !names.contains(&name.as_str())) {
                let available = names.iter().map(|&name| name.to_owned()).collect();
                return Err(CardError::NoSuchChannel { name: unknown.clone(), available });
            }
            let others = names.iter().filter(|name| !keep.iter().any(|kept| kept == *name));
            masks.extend(others.map(|&name| name.to_owned()));
        }
        self.masked(&masks)
    }

    /// Returns the name of the card in messages, which is the name of its file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file
    }

    fn all_channels(&self) -> Vec<&str> {
        self.document.channels.iter().map(|channel| channel.name.as_str()).collect()
    }

    /// Returns the names of the channels that are not masked, in the order of the card.
    #[must_use]
    pub fn channel_names(&self) -> Vec<&str> {
        self.all_channels().into_iter().filter(|name| !self.options.masks.iter().any(|m| m == name)).collect()
    }

    /// Returns the groups of parameters, each with its name and its members.
    #[must_use]
    pub fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        self.document
            .groups
            .iter()
            .map(|group| (group.name.as_str(), group.members.iter().map(String::as_str).collect()))
            .collect()
    }

    /// Returns the warnings about the text of the card.
    #[must_use]
    pub fn reading_warnings(&self) -> &[Problem] {
        &self.notes.problems
    }

    /// Returns all errors and warnings, those of the model included.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        match build::build(self) {
            Ok((_, report)) => report.problems,
            Err(CardError::Invalid { report, .. }) => report.problems,
            Err(other) => {
                let mut report = self.notes.clone();
                report.error(self.file.clone(), other.to_string(), "");
                report.problems
            }
        }
    }

    /// Makes the model with the options of other formats. A measurement must be the name of the card; the parameter of
    /// interest takes the place of that of the card's options. Interpolation codes are always those of Combine.
    ///
    /// # Errors
    /// The errors of [`Card::model`]; [`CardError::BadOption`] for another measurement.
    pub(crate) fn model_of(&self, options: &ModelOptions) -> Result<Model, CardError> {
        if let Some(name) = options.measurement.as_ref().filter(|name| **name != self.file) {
            return Err(CardError::BadOption {
                option: "measurement",
                value: name.clone(),
                message: "a datacard has no measurements.".to_owned(),
                remedy: "Leave the name out.".to_owned(),
            });
        }
        if options.pois.is_empty() {
            return self.model();
        }
        let mut card = self.clone();
        card.options.pois.clone_from(&options.pois);
        card.model()
    }

    /// Makes the model, with the observed data, and with warnings in words. Reads the files of templates.
    ///
    /// # Errors
    /// [`CardError::Invalid`] if a template is missing or does not fit the card, or if the card has something that
    /// models cannot express; [`CardError::BadOption`] if an option does not fit the card.
    pub fn model(&self) -> Result<Model, CardError> {
        build::build(self).map(|(model, _)| model)
    }
}
