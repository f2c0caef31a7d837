//! Plot of a search at many places.

use ns_viz::Places;

use super::remarks;
use crate::LookElsewhereResult;

/// Builds the plot of the statistic along the places, with the largest excess.
#[must_use]
pub fn look_elsewhere(result: &LookElsewhereResult) -> Places {
    Places {
        parameter: result.param.clone(),
        x: result.places.clone(),
        q0: result.q0.clone(),
        level: result.level,
        peak: Some([result.best_place, result.q0_max]),
        significance: result.z_global.map(|global| [result.z_local, global]),
        subtitle: remarks([
            (!result.converged && !result.interrupted).then_some("not converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..Places::default()
    }
}
