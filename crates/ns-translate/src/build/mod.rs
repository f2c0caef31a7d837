//! Builds workspaces of binned models from histograms.
//!
//! A [`Description`] is the model as plain data: channels, samples, up and down templates. Configuration files and the
//! Python builder both make one. [`build`] smooths and symmetrises its templates, leaves out effects that are too small,
//! and writes a workspace of pyhf.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ns_translate::build::{Description, build};
//!
//! let description: Description = serde_json::from_str(r#"{
//!     "measurement": {"name": "search", "poi": "mu"},
//!     "channels": [{"name": "SR", "data": [14, 9], "samples": [
//!         {"name": "signal", "template": {"values": [2, 4]}, "norm_factors": ["mu"]},
//!         {"name": "background", "template": {"values": [10, 6], "variances": [1, 0.5]}, "systematics": [
//!             {"name": "scale", "effect": {"type": "templates", "up": [12, 6]}}]}]}]}"#)?;
//! let built = build(&description)?;
//! assert_eq!(built.workspace["channels"][0]["samples"][1]["modifiers"][0]["name"], "staterror_SR");
//! # Ok(())
//! # }
//! ```

mod cabinetry;
mod check;
mod describe;
mod error;
mod fields;
mod from_file;
mod merge;
mod places;
mod poisson;
mod prune;
mod smooth;
mod sources;
mod symmetrise;
mod trex;
mod workspace;
mod yaml;

use serde::Serialize;
use serde_json::Value;

pub use describe::{
    Channel, Description, Effect, Formula, McConstraint, Measurement, Parameter, Parts, Pruning, Sample,
    Smoothing, Symmetrise, Systematic, Template,
};
pub use error::BuildError;
pub(crate) use from_file::build_config_in;
pub use from_file::{ConfigOptions, build_config};
pub use merge::merged;
pub use places::Place;
pub use prune::{EffectRow, Part, Reason};
pub use smooth::{medians_353qh_twice, smoothed};
pub use symmetrise::{Split, split};
pub use workspace::TemplateRow;

use crate::pyhf::{Problem, Report, Workspace};
use crate::{Axes, Axis};
use poisson::PoissonError;

/// A workspace that was built, and how.
#[derive(Debug, Clone, Serialize)]
pub struct Built {
    /// The workspace, as a document of pyhf; for Poisson constraints of the simulation an HS3 model.
    pub workspace: Value,
    /// The effect of every systematic with a normalisation or templates, in the order of the workspace.
    pub systematics: Vec<EffectRow>,
    /// Titles and edges of the bins of the channels, for which workspaces of pyhf have no place.
    pub axes: Axes,
    /// The templates of every systematic that has them, for pictures. They are not serialised.
    #[serde(skip)]
    pub templates: Vec<TemplateRow>,
    /// What the user should look at. It is not serialised.
    #[serde(skip)]
    pub warnings: Vec<Problem>,
}

/// Builds the workspace of a description.
///
/// # Errors
/// [`BuildError::Invalid`] with all problems of the description; [`BuildError::Workspace`] if the workspace breaks a rule
/// that the description cannot know.
pub fn build(description: &Description) -> Result<Built, BuildError> {
    build_named(description, "description", Report::default(), &|place| place.to_string())
}

/// Builds the workspace of a description from a file. `what` names the file in messages, `report` has its warnings, and
/// `path` is where a part of the description comes from.
pub(crate) fn build_named(
    description: &Description,
    what: &str,
    mut report: Report,
    path: &dyn Fn(Place<'_>) -> String,
) -> Result<Built, BuildError> {
    let invalid = |report: Report| BuildError::Invalid { what: what.to_owned(), report };
    report.extend(check::check(description, path));
    if report.has_errors() {
        return Err(invalid(report));
    }
    let workspace::Written { workspace, effects: systematics, templates } =
        workspace::write(description, &mut report, path);
    if report.has_errors() {
        return Err(invalid(report));
    }
    let read = Workspace::from_value(workspace.clone()).map_err(Box::new)?;
    let mut warnings = report.problems;
    let found = Report { problems: read.validate(), omitted: 0 };
    if found.has_errors() {
        return Err(Box::new(crate::pyhf::WorkspaceError::Invalid { report: found }).into());
    }
    warnings.extend(found.problems);
    let axes = axes(description);
    let workspace = match description.mc_constraint {
        McConstraint::Gaussian => workspace,
        McConstraint::Poisson => poisson::hs3(&read, &axes).map_err(|error| match error {
            PoissonError::Workspace(error) => BuildError::Workspace(Box::new(error)),
            PoissonError::Write(error) => BuildError::Hs3(error),
        })?,
    };
    Ok(Built { workspace, systematics, axes, templates, warnings })
}

/// The axes of the channels that have a title or edges.
fn axes(description: &Description) -> Axes {
    let axis = |channel: &Channel| {
        let axis = Axis { title: channel.title.clone(), edges: channel.edges.clone() };
        (axis != Axis::default()).then(|| (channel.name.clone(), axis))
    };
    description.channels.iter().filter_map(axis).collect()
}

#[cfg(test)]
mod tests;
