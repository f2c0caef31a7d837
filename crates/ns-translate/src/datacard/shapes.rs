//! Finds the templates of processes by the `shapes` lines.

use std::collections::HashSet;

use super::document::{Channel, ShapeRule};
use super::histograms::{Histogram, Opened, Trouble};
use super::lines::Place;
use super::options::CardOptions;
use super::pattern::{has_wildcard, wildcard};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// What the card gives for a process.
pub(super) enum Found {
    /// A count, without a template.
    Count,
    Histogram(Histogram),
    /// Nothing that can be used; the report has the error.
    Nothing,
}

/// A reader of the templates of a card.
pub(super) struct Shapes<'o> {
    options: &'o CardOptions,
    files: Opened,
    /// Files with an error that is in the report.
    reported: HashSet<String>,
}

impl<'o> Shapes<'o> {
    pub(super) fn new(options: &'o CardOptions) -> Self {
        Self { options, files: Opened::new(&options.files), reported: HashSet::new() }
    }

    /// Returns the nominal template of a process, or of `data_obs`.
    pub(super) fn nominal(
        &mut self,
        channel: &Channel,
        process: &str,
        rule: Option<&ShapeRule>,
        report: &mut Report,
    ) -> Found {
        if channel.origin.shapes.is_empty() {
            return Found::Count;
        }
        let Some(rule) = rule else {
            report.error(
                channel.place.to_string(),
                format!(
                    "No 'shapes' line gives the template of process {} in channel {}.",
                    quoted(process),
                    quoted(&channel.name)
                ),
                "Add a line, with FAKE as the file if the channel is a count.",
            );
            return Found::Nothing;
        };
        let Some(file) = &rule.file else { return Found::Count };
        match self.get(channel, process, rule, file, &rule.nominal, "", report) {
            None => Found::Nothing,
            Some((Some(histogram), _)) => Found::Histogram(histogram),
            Some((None, names)) => {
                self.missing(channel, &names, &rule.place, report);
                Found::Nothing
            }
        }
    }

    /// Returns a varied template. `None` if there is an error, which is in the report; `Some(None)` if the card or the
    /// file does not have the template and `optional` is set.
    pub(super) fn varied(
        &mut self,
        channel: &Channel,
        process: &str,
        rule: &ShapeRule,
        systematic: &str,
        optional: bool,
        place: &Place,
        report: &mut Report,
    ) -> Option<Option<Histogram>> {
        let file = rule.file.as_ref()?;
        let Some(pattern) = &rule.systematic else {
            if optional {
                return Some(None);
            }
            report.error(
                rule.place.to_string(),
                format!(
                    "The 'shapes' line gives no name for the templates of {} (line {}).",
                    quoted(systematic),
                    place.line
                ),
                "Add the name, such as $PROCESS_$SYSTEMATIC.",
            );
            return None;
        };
        match self.get(channel, process, rule, file, pattern, systematic, report)? {
            (Some(histogram), _) => Some(Some(histogram)),
            (None, _) if optional => Some(None),
            (None, names) => {
                self.missing(channel, &names, place, report);
                None
            }
        }
    }

    /// Returns the histogram with a name in which words are replaced, and the names of file and histogram.
    fn get(
        &mut self,
        channel: &Channel,
        process: &str,
        rule: &ShapeRule,
        file: &str,
        object: &str,
        systematic: &str,
        report: &mut Report,
    ) -> Option<(Option<Histogram>, (String, String))> {
        let mut names = Vec::with_capacity(2);
        for text in [file, object] {
            match self.replaced(text, channel, process, systematic) {
                Ok(text) => names.push(text),
                Err(trouble) => {
                    self.trouble(&trouble, text, &rule.place, report);
                    return None;
                }
            }
        }
        let [file, object] = <[String; 2]>::try_from(names).ok()?;
        if let (Some((workspace, _)), false) = (object.split_once(':'), file.ends_with(".csv")) {
            let trouble = Trouble {
                message: format!(
                    "The template {} is in a RooWorkspace {}, which is not supported.",
                    quoted(&object),
                    quoted(workspace)
                ),
                remedy: "Write histograms, or write the model as HS3 from RooFit.".to_owned(),
                of_file: true,
            };
            self.trouble(&trouble, &file, &rule.place, report);
            return None;
        }
        match self.files.histogram(&channel.origin.folder, &file, &object) {
            Ok(histogram) => Some((histogram, (file, object))),
            Err(trouble) => {
                self.trouble(&trouble, &file, &rule.place, report);
                None
            }
        }
    }

    /// Adds an error. An error of a whole file is added once.
    fn trouble(&mut self, trouble: &Trouble, file: &str, place: &Place, report: &mut Report) {
        if !trouble.of_file || self.reported.insert(format!("{}:{file}", place.file)) {
            report.error(place.to_string(), trouble.message.clone(), trouble.remedy.clone());
        }
    }

    fn missing(
        &self,
        channel: &Channel,
        (file, object): &(String, String),
        place: &Place,
        report: &mut Report,
    ) {
        let near = self.files.near(&channel.origin.folder, file, object);
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(&near)));
        report.error(
            place.to_string(),
            format!("The file {} has no histogram {}.{near}", quoted(file), quoted(object)),
            "Correct the names in the card or the 'shapes' line, or add the histogram.",
        );
    }

    /// Replaces `$PROCESS` and the other words in a name.
    fn replaced(
        &self,
        text: &str,
        channel: &Channel,
        process: &str,
        systematic: &str,
    ) -> Result<String, Trouble> {
        if !text.contains('$') {
            return Ok(text.to_owned());
        }
        let mut text = text
            .replace("$PROCESS", process)
            .replace("$CHANNEL", &channel.written)
            .replace("$SYSTEMATIC", systematic);
        if text.contains("$MASS") {
            let Some(mass) = self.options.mass else {
                return Err(Trouble {
                    message: format!("The name {} needs a mass.", quoted(&text)),
                    remedy: "Give one with --mass (mass=).".to_owned(),
                    of_file: true,
                });
            };
            text = text.replace("$MASS", &mass.to_string());
        }
        for (word, value) in &self.options.keywords {
            text = text.replace(&format!("${word}"), value);
        }
        Ok(text)
    }
}

/// Returns the `shapes` line for a process of a channel: that with the channel's name before one with `*`, and among
/// these that with the name of the process.
pub(super) fn rule<'c>(channel: &'c Channel, process: &str) -> Option<&'c ShapeRule> {
    let closeness = |pattern: &str, name: &str| match pattern {
        _ if pattern == name => Some(2),
        "*" => Some(0),
        _ => (has_wildcard(pattern) && wildcard(pattern, name)).then_some(1),
    };
    channel
        .origin
        .shapes
        .iter()
        .filter_map(|rule| {
            let key = (closeness(&rule.channel, &channel.written)?, closeness(&rule.process, process)?);
            Some((key, rule))
        })
        // Of equals the first is taken.
        .rev()
        .max_by_key(|(key, _)| *key)
        .map(|(_, rule)| rule)
}
