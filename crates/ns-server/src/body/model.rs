//! The model of a request: a workspace, or the digests of a model that the server has stored.

use ns_core::{HistosysCode, Interpolation, NormsysCode};
use ns_translate::pyhf::{ModelOptions, WorkspaceError};
use ns_translate::{Axes, CorrelationTable};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::archive::CardFields;
use super::{ModelText, Names, PatchBody, WorkspaceBody};
use crate::problem::ServerError;

/// The model of a request: a workspace or an archive with the options of its model, or the digests of a model that `POST
/// /v1/models` returned.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelBody {
    /// Workspace in pyhf's JSON.
    #[schema(value_type = Option<Object>)]
    #[serde(default)]
    pub(crate) workspace: Option<Box<RawValue>>,
    /// A file in base64, instead of `workspace`: a tar archive, also compressed by gzip, or a zip archive, with XML of
    /// HistFactory, a datacard or a configuration and the ROOT files that it names; or a model in a single file.
    #[serde(default)]
    pub(crate) archive: Option<String>,
    /// Path of the model in the archive; it may be left out if there is only one.
    #[serde(default)]
    pub(crate) file: Option<String>,
    /// Mass in GeV, which replaces `$MASS` in a datacard.
    #[serde(default)]
    pub(crate) mass: Option<f64>,
    /// Parameters of interest of a datacard, each as `channel/process:name[start,lower,upper]`.
    #[serde(default)]
    pub(crate) map: Vec<String>,
    /// What is done with `autoMCStats` of a datacard: `combine` (the default), `staterror` or `ignore`.
    #[serde(default)]
    pub(crate) mc_stats: Option<String>,
    /// Patches to apply, in order.
    #[serde(default)]
    pub(crate) patches: Vec<PatchBody>,
    /// Whether the digests of patchsets must match the workspace; true by default.
    #[serde(default)]
    pub(crate) digest_check: Option<bool>,
    /// Name of the measurement; the first measurement by default.
    #[serde(default)]
    pub(crate) measurement: Option<String>,
    /// Name of the parameter of interest, or a list of names; by default those of the measurement. A request that names a stored
    /// model by its digests may have it, too.
    #[serde(default)]
    pub(crate) poi: Option<Names>,
    /// Names of the channels to use. If the list is empty, all channels are used.
    #[serde(default)]
    pub(crate) channels: Vec<String>,
    /// Names of the channels to leave out.
    #[serde(default)]
    pub(crate) mask: Vec<String>,
    /// Interpolation: `smooth` (code4 and code4p, the default) or `piecewise` (code1 and code0).
    #[serde(default)]
    pub(crate) interpolation: InterpolationName,
    /// Interpolation code of normsys modifiers. It takes precedence over `interpolation`.
    #[serde(default, deserialize_with = "code")]
    #[schema(value_type = Option<String>)]
    pub(crate) normsys_code: Option<NormsysCode>,
    /// Interpolation code of histosys modifiers. It takes precedence over `interpolation`.
    #[serde(default, deserialize_with = "code")]
    #[schema(value_type = Option<String>)]
    pub(crate) histosys_code: Option<HistosysCode>,
    /// Correlations between Gaussian constraints: objects with the keys `parameters` and `correlations`.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub(crate) correlations: Vec<CorrelationTable>,
    /// Titles and bin edges of channels, for pictures and tables: objects by channel with the keys `title` and `edges`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) axes: Axes,
    /// Digest of a stored model. A request gives either this digest or `workspace`.
    #[serde(default)]
    pub(crate) model_digest: Option<String>,
    /// Digest of the observed data of the stored model. A request with `model_digest` must have this digest too.
    #[serde(default)]
    pub(crate) data_digest: Option<String>,
}

/// Pairs of interpolation codes for normsys and histosys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InterpolationName {
    /// Codes 4 and 4p, as in pyhf.
    #[default]
    Smooth,
    /// Codes 1 and 0, the original HistFactory.
    Piecewise,
}

fn code<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let name = Option::<String>::deserialize(from)?;
    name.map(|name| name.parse().map_err(serde::de::Error::custom)).transpose()
}

/// The two ways in which a request gives its model.
pub(crate) enum ModelReference<'a> {
    /// A workspace or an archive in the body.
    Workspace(WorkspaceBody<'a>),
    /// The digests of a model that the server has stored.
    Digests {
        /// Digest of the model.
        model: &'a str,
        /// Digest of the observed data.
        data: &'a str,
    },
}

impl ModelBody {
    /// Names a stored model by its digests (of the model and of the data), with other parameters of interest.
    pub(crate) fn of_kept((model, data): (&str, &str), pois: impl Iterator<Item = String>) -> Self {
        Self {
            model_digest: Some(model.to_owned()),
            data_digest: Some(data.to_owned()),
            poi: Some(Names::Several(pois.collect())),
            ..Self::default()
        }
    }

    /// Returns the names of the parameters of interest that the request gives; none for those of the measurement.
    pub(crate) fn pois(&self) -> &[String] {
        self.poi.as_ref().map_or(&[], Names::list)
    }

    /// Returns the workspace or the digests that the request gives.
    ///
    /// # Errors
    /// If the request gives none of them, or several.
    pub(crate) fn source(&self) -> Result<ModelReference<'_>, ServerError> {
        let wrong =
            |reason: &str| ServerError::Body { pointer: "/model".to_owned(), reason: reason.to_owned() };
        let card = CardFields { mass: self.mass, map: &self.map, mc_stats: self.mc_stats.as_deref() };
        if self.archive.is_none() && (self.file.is_some() || card.is_given()) {
            return Err(wrong("`file`, `mass`, `map` and `mc_stats` belong to `archive`; leave them out"));
        }
        let text = match (&self.workspace, &self.archive, &self.model_digest, &self.data_digest) {
            (Some(text), None, None, None) => ModelText::Json(text),
            (None, Some(packed), None, None) => {
                ModelText::Archive { packed, file: self.file.as_deref(), card }
            }
            (None, None, Some(model), Some(data)) => return Ok(ModelReference::Digests { model, data }),
            _ => {
                let reason =
                    "give either `workspace`, or `archive`, or both `model_digest` and `data_digest`";
                return Err(wrong(reason));
            }
        };
        Ok(ModelReference::Workspace(WorkspaceBody {
            text,
            patches: &self.patches,
            digest_check: self.digest_check.unwrap_or(true),
            channels: &self.channels,
            mask: &self.mask,
        }))
    }

    /// Returns the error for a model that cannot be read or made.
    pub(crate) fn wrong(&self, source: WorkspaceError) -> ServerError {
        let key = if self.archive.is_some() { "archive" } else { "workspace" };
        ServerError::Workspace { pointer: format!("/model/{key}"), source }
    }

    /// Returns measurement, parameter of interest, interpolation codes, correlations and axes.
    pub(crate) fn options(&self) -> ModelOptions {
        let mut codes = match self.interpolation {
            InterpolationName::Smooth => Interpolation::SMOOTH,
            InterpolationName::Piecewise => Interpolation::PIECEWISE,
        };
        codes.normsys = self.normsys_code.unwrap_or(codes.normsys);
        codes.histosys = self.histosys_code.unwrap_or(codes.histosys);
        let (measurement, pois) = (self.measurement.clone(), self.pois().to_vec());
        ModelOptions {
            measurement,
            interpolation: codes,
            pois,
            unobserved: true,
            correlations: self.correlations.clone().into(),
            axes: self.axes.clone(),
            ..ModelOptions::default()
        }
    }

    /// Returns a hash of all fields on which the model depends. Two requests have equal hashes if the texts of these
    /// fields are equal.
    pub(crate) fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(self.workspace.as_ref().map_or("", |text| text.get()));
        add(self.archive.as_deref().unwrap_or(""));
        add(self.model_digest.as_deref().unwrap_or(""));
        add(self.data_digest.as_deref().unwrap_or(""));
        for patch in &self.patches {
            add(patch.patch.as_ref().map_or("", |text| text.get()));
            add(patch.patchset.as_ref().map_or("", |text| text.get()));
            add(patch.name.as_deref().unwrap_or(""));
        }
        add(&format!(
            "{:?}",
            (
                self.digest_check,
                &self.channels,
                &self.mask,
                self.options(),
                &self.file,
                self.mass,
                &self.map,
                &self.mc_stats
            )
        ));
        hash.finalize().into()
    }
}
