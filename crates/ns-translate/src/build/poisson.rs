//! Gives the parameters for the statistics of simulation Poisson constraints, which workspaces of pyhf do not have.

use ns_core::{Constraint, Effect, Model};
use serde_json::Value;

use crate::Axes;
use crate::hs3;
use crate::pyhf::{ModelOptions, Workspace, WorkspaceError};

/// Why the model cannot be written.
#[derive(Debug)]
pub(super) enum PoissonError {
    Workspace(WorkspaceError),
    Write(hs3::WriteError),
}

/// Writes the model of a workspace as HS3, in which each `staterror` has the constraint `a ~ Poisson(tau * gamma)` with
/// `tau` one over the square of its relative uncertainty. The edges of bins are those of `axes`.
pub(super) fn hs3(workspace: &Workspace, axes: &Axes) -> Result<Value, PoissonError> {
    let mut model = workspace.model(&ModelOptions::default()).map_err(PoissonError::Workspace)?;
    axes.apply(&mut model).map_err(|error| PoissonError::Workspace(error.into()))?;
    for i in stat_parameters(&model) {
        let Some(parameter) = model.parameters.get_mut(i) else { continue };
        let Constraint::Gaussian { sigma, aux } = parameter.constraint else { continue };
        let tau = 1.0 / (sigma * sigma);
        if let Some(datum) = model.observed.aux.get_mut(aux).filter(|_| tau.is_finite() && tau > 0.0) {
            *datum = tau;
            parameter.constraint = Constraint::Poisson { tau, aux };
        }
    }
    hs3::write(&model).map_err(PoissonError::Write)
}

/// Indices of the parameters of all `staterror` modifiers, each of them once.
fn stat_parameters(model: &Model) -> Vec<usize> {
    let mut found = Vec::new();
    for channel in &model.channels {
        for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
            if matches!(modifier.effect, Effect::StatError) {
                found.extend(modifier.first..modifier.first + channel.n_bins);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
