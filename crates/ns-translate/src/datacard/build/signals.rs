//! Parameters of interest and the processes that they multiply.

use std::collections::{BTreeSet, HashMap};

use ns_core::{Effect, Modifier};
use regex::Regex;

use super::Builder;
use super::parameters::{Entry, Written};
use crate::datacard::document::Document;
use crate::datacard::error::CardError;
use crate::datacard::options::{CardOptions, PoiTarget};
use crate::datacard::pattern::beginning;
use crate::pyhf::names::quoted;

/// Start value, lower and upper bound.
type Range = (f64, f64, f64);

/// Start value and bounds of a parameter of interest for which nothing else is given.
const DEFAULT: Range = (1.0, 0.0, 20.0);

/// What multiplies a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    One,
    Zero,
    /// Index of a parameter of interest in [`Signals::pois`].
    Poi(usize),
}

/// The parameters of interest of a card.
pub(super) struct Signals {
    /// Names, start values and bounds.
    pub(super) pois: Vec<(String, Range)>,
    /// What multiplies each column.
    pub(super) scales: Vec<Scale>,
}

/// Applies the maps of the options.
pub(super) fn signals(document: &Document, options: &CardOptions) -> Result<Signals, CardError> {
    if options.maps.is_empty() {
        let scale = |signal| if signal { Scale::Poi(0) } else { Scale::One };
        return Ok(Signals {
            pois: vec![("r".to_owned(), DEFAULT)],
            scales: document.columns.iter().map(|column| scale(column.signal)).collect(),
        });
    }
    let mut pois: Vec<(String, Option<Range>)> = Vec::new();
    let mut rules: Vec<(Vec<Regex>, Scale)> = Vec::new();
    for map in &options.maps {
        let mut patterns = Vec::new();
        for pattern in &map.patterns {
            patterns.push(beginning(pattern).map_err(|error| CardError::BadOption {
                option: "map",
                value: pattern.clone(),
                message: format!("the pattern is no regular expression: {error}."),
                remedy: "Write 'channel/process', with .* for any text.".to_owned(),
            })?);
        }
        let scale = match &map.target {
            PoiTarget::Unscaled => Scale::One,
            PoiTarget::Zero => Scale::Zero,
            PoiTarget::Parameter { name, range } => {
                let at = pois.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                    pois.push((name.clone(), None));
                    pois.len() - 1
                });
                if let Some((_, known)) = pois.get_mut(at) {
                    *known = known.or(*range);
                }
                Scale::Poi(at)
            }
        };
        let mut found = false;
        for column in &document.columns {
            let name = format!("{}/{}", document.channel_of(column), column.process);
            found |= patterns.iter().any(|pattern| pattern.is_match(&name));
        }
        if !found {
            return Err(CardError::BadOption {
                option: "map",
                value: map.patterns.join(","),
                message: "no process of a channel matches.".to_owned(),
                remedy: example(document),
            });
        }
        rules.push((patterns, scale));
    }
    let scale_of = |name: &str| {
        // The last map that matches counts.
        let rule = rules.iter().rev().find(|(patterns, _)| patterns.iter().any(|p| p.is_match(name)));
        rule.map_or(Scale::One, |(_, scale)| *scale)
    };
    let scales = document
        .columns
        .iter()
        .map(|column| scale_of(&format!("{}/{}", document.channel_of(column), column.process)))
        .collect();
    let pois = pois.into_iter().map(|(name, range)| (name, range.unwrap_or(DEFAULT))).collect();
    Ok(Signals { pois, scales })
}

/// Returns a sentence with an example of a pattern.
fn example(document: &Document) -> String {
    let signal = document.columns.iter().find(|column| column.signal).or(document.columns.first());
    signal.map_or_else(String::new, |column| {
        format!(
            "Write channel and process as in {}; a pattern is a regular expression.",
            quoted(&format!("{}/{}", document.channel_of(column), column.process))
        )
    })
}

impl Builder<'_> {
    /// Adds the parameters of interest that multiply processes of the model. Returns the names of all.
    pub(super) fn add_signals(&mut self, signals: &Signals) -> Vec<String> {
        let used: BTreeSet<usize> = self
            .cells
            .iter()
            .zip(&signals.scales)
            .filter_map(|(cell, scale)| match scale {
                Scale::Poi(poi) if cell.is_some() => Some(*poi),
                _ => None,
            })
            .collect();
        let mut index: HashMap<usize, (usize, &str)> = HashMap::new();
        for (at, (name, (init, lo, hi))) in signals.pois.iter().enumerate() {
            if used.contains(&at) {
                let entry = Entry { init: *init, bounds: (*lo, *hi), fixed: false, written: Written::Free };
                if let Ok(parameter) = self.parameters.declare(name, entry) {
                    index.insert(at, (parameter, name));
                }
            }
        }
        for (cell, scale) in self.cells.iter_mut().zip(&signals.scales) {
            if let (Some(cell), Scale::Poi(poi)) = (cell, scale)
                && let Some(&(first, name)) = index.get(poi)
            {
                cell.modifiers.push(Modifier { name: name.to_owned(), first, effect: Effect::NormFactor });
            }
        }
        signals.pois.iter().map(|(name, _)| name.clone()).collect()
    }
}
