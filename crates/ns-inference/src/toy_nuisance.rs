//! The values of the nuisance parameters at which the toys of a tested point are drawn.

use std::fmt;
use std::str::FromStr;

use ns_core::{Control, Model, Session};
use serde::{Deserialize, Serialize};

use crate::posterior::{Draws, PosteriorOptions, sample, sampled};
use crate::present::significant;
use crate::toys::origin::Origin;
use crate::{FitOptions, InferenceError, parameter_index};

/// Numbers of chains and of kept draws per chain of the posterior at a tested point.
const CHAINS: usize = 4;
const DRAWS: usize = 1000;

/// How the nuisance parameters are chosen at which the toys of a tested point are drawn. All ways are the same for a model
/// without nuisance parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ToyNuisance {
    /// Their best fit to the data with the tested parameters held (profile construction).
    #[default]
    Profiled,
    /// Their values at the best fit of all parameters, the same at every tested point.
    PlugIn,
    /// A new draw for each toy from their posterior with the tested parameters held, so that the p-value is an average over
    /// the posterior. The prior is the one of [`crate::sample()`]. R. D. Cousins, V. L. Highland, Nucl. Instrum. Meth. A 320
    /// (1992) 331.
    Posterior,
}

impl ToyNuisance {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Profiled, Self::PlugIn, Self::Posterior];

    /// Returns the name on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Profiled => "profiled",
            Self::PlugIn => "plug-in",
            Self::Posterior => "posterior",
        }
    }
}

impl fmt::Display for ToyNuisance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ToyNuisance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|way| way.name() == text).ok_or_else(|| {
            format!(
                "'{text}' is no way to choose the nuisance parameters of toys; use \"profiled\", \"plug-in\" or \"posterior\""
            )
        })
    }
}

/// Finds the points for toys of the point with the values `held`. `best` and `conditional` are the fits to the data with
/// all parameters free and with those in `held` at their values.
pub(crate) fn origin(
    nuisance: ToyNuisance,
    (model, session): (&Model, &dyn Session),
    fit: &FitOptions,
    (best, conditional): (&[f64], &[f64]),
    (held, seed): (&[(usize, f64)], u64),
    control: Control<'_>,
) -> Result<Origin, InferenceError> {
    let mut origin = Origin { centre: conditional.to_vec(), points: Vec::new(), doubt: None };
    match nuisance {
        ToyNuisance::Profiled => {}
        ToyNuisance::PlugIn => {
            origin.centre = best.to_vec();
            put(&mut origin.centre, held.iter().copied());
        }
        ToyNuisance::Posterior => {
            let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
            let mut fit = fit.clone();
            fit.fixed.retain(|(fixed, _)| held.iter().all(|&(i, _)| name(i) != *fixed));
            fit.fixed.extend(held.iter().map(|&(i, value)| (name(i), value)));
            let options = PosteriorOptions::default().fit(fit).chains(CHAINS).draws(DRAWS).seed(seed);
            if !sampled(model, &options).is_empty() {
                let silent = Control { observer: None, cancel: control.cancel, task: None };
                let posterior = sample(model, session, &options, silent)?;
                if posterior.interrupted {
                    return Err(InferenceError::Cancelled);
                }
                origin.doubt = (!posterior.converged).then(|| doubt(model, held, &posterior.warnings));
                take(&mut origin, model, &posterior.draws)?;
            }
        }
    }
    Ok(origin)
}

/// Keeps the draws of a posterior, those of all chains in turns.
fn take(origin: &mut Origin, model: &Model, draws: &Draws) -> Result<(), InferenceError> {
    let indices = draws.names.iter().map(|name| parameter_index(model, name));
    let indices: Vec<usize> = indices.collect::<Result<_, _>>()?;
    let n = indices.len().max(1);
    for number in 0..DRAWS {
        for chain in &draws.values {
            let Some(values) = chain.get(number * n..(number + 1) * n) else { continue };
            let mut point = origin.centre.clone();
            put(&mut point, indices.iter().copied().zip(values.iter().copied()));
            origin.points.push(point);
        }
    }
    Ok(())
}

/// Sets some values of a point.
fn put(point: &mut [f64], values: impl Iterator<Item = (usize, f64)>) {
    for (i, value) in values {
        if let Some(x) = point.get_mut(i) {
            *x = value;
        }
    }
}

fn doubt(model: &Model, held: &[(usize, f64)], warnings: &[String]) -> String {
    let at = held.iter().map(|&(i, value)| {
        let name = model.parameters.get(i).map_or("", |p| p.name.as_str());
        format!("{name} = {}", significant(value))
    });
    let at: Vec<String> = at.collect();
    let known = &model.warnings;
    let reasons: Vec<&str> = warnings.iter().filter(|w| !known.contains(w)).map(String::as_str).collect();
    format!("the posterior of the nuisance parameters at {}: {}", at.join(", "), reasons.join("; "))
}
