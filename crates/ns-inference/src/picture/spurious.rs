//! Plot of spurious signals.

use ns_viz::{Spurious, SpuriousCurve};

use super::remarks;
use crate::SpuriousResult;

/// Builds the plot of the spurious signals, divided by their uncertainties, along the places.
#[must_use]
pub fn spurious(result: &SpuriousResult) -> Spurious {
    let curve = |own: &crate::spurious::SpuriousBackground| {
        let ratio = |(strength, sigma): (&Option<f64>, &Option<f64>)| Some((*strength)? / (*sigma)?);
        SpuriousCurve {
            name: own.name.clone(),
            ratio: own.strength.iter().zip(&own.uncertainty).map(ratio).collect(),
        }
    };
    Spurious {
        parameter: result.param.clone(),
        x: result.places.clone(),
        curves: result.backgrounds.iter().map(curve).collect(),
        limit: result.limit,
        subtitle: remarks([(!result.converged).then_some("not converged")]),
        ..Spurious::default()
    }
}
