//! Reads configurations of cabinetry: all settings of its schema, and templates from histograms or columns.

mod check;
mod config;
mod describe;
mod plan;
mod read;

use std::collections::HashMap;

use super::describe::Description;
use super::fields::Reader;
use super::places::Place;
use super::sources::{self, Room};
use super::yaml::Node;
use crate::files::Folder;
use crate::pyhf::names::quoted;
use config::Config;

/// A configuration whose templates have been read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) description: Description,
    config: Config,
}

/// Reads a configuration and its templates. `folder` is where relative paths begin. Problems go to the report; the
/// description is complete if it has no errors.
pub(super) fn read(root: &Node, folder: Folder<'_>, reader: &mut Reader) -> Option<Read> {
    let config = read::config(root, reader);
    check::names(&config, reader);
    let (keys, requests) = plan::plan(&config, Room::new(folder.files), reader);
    if reader.report.has_errors() {
        return None;
    }
    let filled = sources::read(&requests, folder, reader);
    if reader.report.has_errors() {
        return None;
    }
    let mut templates: HashMap<_, _> =
        keys.into_iter().zip(filled).filter_map(|(key, filled)| Some((key, filled?))).collect();
    rebin(&config, &mut templates, reader);
    if reader.report.has_errors() {
        return None;
    }
    let description = describe::describe(&config, &templates, reader);
    Some(Read { description, config })
}

/// Gives the templates of regions with `Rebin` their bins. Problems go to the report.
fn rebin(config: &Config, templates: &mut HashMap<plan::Key, sources::Filled>, reader: &mut Reader) {
    for (r, region) in config.regions.iter().enumerate() {
        let Some(rebin) = region.rebin else { continue };
        for filled in templates.iter_mut().filter(|((of, ..), _)| *of == r).map(|(_, filled)| filled) {
            match rebin.edges(filled.template.values.len()) {
                Some(edges) => filled.regroup(&edges, false),
                None => {
                    let message = format!("'Rebin' leaves no bin of the region {}.", quoted(&region.name));
                    reader.error(rebin.line, message, "Correct its indices.");
                    break;
                }
            }
        }
    }
}

impl Read {
    /// The line that a part of the description comes from.
    pub(super) fn line(&self, place: Place<'_>) -> usize {
        let found = match place {
            Place::All | Place::Measurement => Some(self.config.general.line),
            Place::Parameter(name) => {
                let factor = self.config.norm_factors.iter().find(|f| f.name == name).map(|f| f.line);
                factor.or_else(|| {
                    self.config.systematics.iter().find(|s| s.parameter() == name).map(|s| s.line)
                })
            }
            Place::Channel(name) => self.config.regions.iter().find(|r| r.name == name).map(|r| r.line),
            Place::Sample { sample, .. } => {
                self.config.samples.iter().find(|s| s.name == sample).map(|s| s.line)
            }
            Place::Systematic { systematic, .. } => {
                self.config.systematics.iter().find(|s| s.name == systematic).map(|s| s.line)
            }
        };
        found.unwrap_or(self.config.general.line)
    }
}
