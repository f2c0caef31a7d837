//! What a model of a datacard is built from again.

use std::path::PathBuf;

use ns_translate::ModelSource;
use ns_translate::datacard::{Card, CardOptions, PoiMap};
use ns_translate::pyhf::{ChannelSelection, WorkspaceError};
use serde::{Deserialize, Serialize};

/// A card and the options it is read with. Pickles store it in place of a workspace: a model of a card is built again
/// from the card's files.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    pub(crate) nextstat_datacard: PathBuf,
    pub(crate) mass: Option<f64>,
    pub(crate) map: Vec<String>,
    pub(crate) channels: Option<Vec<String>>,
    pub(crate) mask: Vec<String>,
    pub(crate) mc_stats: Option<String>,
}

impl Recipe {
    /// Returns the recipe in the text of a pickle; `None` if the text is a workspace.
    pub(crate) fn of_pickle(text: &[u8]) -> Option<Self> {
        // A workspace may be large, so its text is not read for this.
        text.starts_with(b"{\"nextstat_datacard\"").then(|| serde_json::from_slice(text).ok()).flatten()
    }

    /// Reads the card.
    ///
    /// # Errors
    /// The errors of [`Card::read`], and those of the options.
    pub(crate) fn source(&self) -> Result<ModelSource, WorkspaceError> {
        let maps = self.map.iter().map(|map| map.parse::<PoiMap>()).collect::<Result<Vec<_>, _>>()?;
        let mc_stats = self.mc_stats.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let options = CardOptions { mass: self.mass, mc_stats, maps, ..CardOptions::default() };
        let card = Card::read(&self.nextstat_datacard, &options)?;
        let selection = ChannelSelection { keep: self.channels.clone(), mask: self.mask.clone() };
        let all = selection.is_everything();
        Ok(ModelSource::Card(Box::new(if all { card } else { card.selected(&selection)? })))
    }
}
