//! Reads configurations of TRExFitter: regions, samples, factors and systematics, with templates from histograms or columns.
//!
//! The meaning of settings is that of TRExFitter. Settings of pictures and tables have no effect; settings that would change
//! the workspace and are not supported are errors with their line.

mod auto_bins;
mod blocks;
mod check;
mod config;
mod decorrelate;
mod describe;
mod known;
mod morph;
mod plan;
mod read;
mod read_region;
mod read_systematic;
mod rebin;
mod settings;
mod steps;
mod variation;

use super::describe::Description;
use super::fields::Reader;
use super::places::Place;
use super::sources::{self, Room};
use crate::files::Folder;
use config::Config;

/// A configuration whose templates have been read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) description: Description,
    config: Config,
}

/// Reads a configuration and its templates. `folder` is where relative paths begin. Problems go to the report; the
/// description is complete if it has no errors.
pub(super) fn read(text: &str, folder: Folder<'_>, reader: &mut Reader) -> Option<Read> {
    let blocks = match blocks::read(text) {
        Ok(blocks) => blocks,
        Err((line, message, remedy)) => {
            reader.error(line, message, remedy);
            return None;
        }
    };
    known::check(&blocks, reader);
    check::names(&blocks, reader);
    let config = read::config(&blocks, reader);
    if reader.report.has_errors() {
        return None;
    }
    let (keys, requests) = plan::plan(&config, Room::new(folder.files), reader);
    if reader.report.has_errors() {
        return None;
    }
    let filled = sources::read(&requests, folder, reader);
    if reader.report.has_errors() {
        return None;
    }
    let mut templates = describe::added(keys, filled);
    rebin::apply(&config, &mut templates, reader);
    if reader.report.has_errors() {
        return None;
    }
    let description = describe::describe(&config, &templates, reader);
    Some(Read { description, config })
}

impl Read {
    /// The line that a part of the description comes from.
    pub(super) fn line(&self, place: Place<'_>) -> usize {
        let config = &self.config;
        let found = match place {
            Place::All | Place::Measurement => None,
            Place::Parameter(name) => config.factors.iter().find(|f| f.name == name).map(|f| f.line),
            Place::Channel(name) => config.regions.iter().find(|r| r.name == name).map(|r| r.line),
            Place::Sample { sample, .. } => config.samples.iter().find(|s| s.name == sample).map(|s| s.line),
            Place::Systematic { systematic, .. } => {
                config.systematics.iter().find(|s| s.name == systematic).map(|s| s.line)
            }
        };
        found.unwrap_or(config.job.line)
    }
}
