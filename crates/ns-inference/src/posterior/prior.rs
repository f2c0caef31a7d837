//! Priors that are given for free parameters.

use std::fmt;
use std::str::FromStr;

use ns_core::{Constraint, Model};
use serde::{Deserialize, Serialize};

use super::{PosteriorOptions, bad};
use crate::present::exact;
use crate::{InferenceError, parameter_index};

/// The prior of a free parameter, up to a constant. It holds within the bounds of the parameter. Reads from and writes as text
/// like `normal(1, 0.5)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Prior {
    /// `normal(mean, sd)`.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// `lognormal(median, sigma)`: the logarithm of the parameter has a normal distribution.
    LogNormal {
        /// Median of the parameter.
        median: f64,
        /// Standard deviation of its logarithm.
        sigma: f64,
    },
    /// `gamma(shape, scale)`: the density is `x^(shape - 1) exp(-x / scale)`.
    Gamma {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: f64,
    },
    /// `exponential(mean)`.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// `inverse`: the density is `1 / x`, which is flat in the logarithm of the parameter.
    Inverse,
}

/// The forms of all priors, for messages.
const FORMS: &str =
    "normal(mean, sd), lognormal(median, sigma), gamma(shape, scale), exponential(mean) or inverse";

impl Prior {
    /// Returns the logarithm of the density at `x`, up to a constant, and its derivative.
    pub(super) fn ln_density(self, x: f64) -> (f64, f64) {
        match self {
            Self::Normal { mean, sd } => {
                let z = (x - mean) / sd;
                (-0.5 * z * z, -z / sd)
            }
            Self::LogNormal { median, sigma } => {
                let z = (x / median).ln() / sigma;
                (-x.ln() - 0.5 * z * z, -(1.0 + z / sigma) / x)
            }
            Self::Gamma { shape, scale } => {
                ((shape - 1.0) * x.ln() - x / scale, (shape - 1.0) / x - 1.0 / scale)
            }
            Self::Exponential { mean } => (-x / mean, -1.0 / mean),
            Self::Inverse => (-x.ln(), -1.0 / x),
        }
    }

    fn is_of_positive_numbers(self) -> bool {
        !matches!(self, Self::Normal { .. })
    }
}

impl fmt::Display for Prior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Normal { mean, sd } => write!(f, "normal({}, {})", exact(mean), exact(sd)),
            Self::LogNormal { median, sigma } => write!(f, "lognormal({}, {})", exact(median), exact(sigma)),
            Self::Gamma { shape, scale } => write!(f, "gamma({}, {})", exact(shape), exact(scale)),
            Self::Exponential { mean } => write!(f, "exponential({})", exact(mean)),
            Self::Inverse => f.write_str("inverse"),
        }
    }
}

impl From<Prior> for String {
    fn from(prior: Prior) -> Self {
        prior.to_string()
    }
}

impl TryFrom<String> for Prior {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Prior {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no prior; use {FORMS}");
        let (kind, numbers) = match text.trim().split_once('(') {
            Some((kind, rest)) => (kind.trim(), rest.strip_suffix(')').ok_or_else(bad)?),
            None => (text.trim(), ""),
        };
        let numbers = numbers.split(',').map(str::trim).filter(|number| !number.is_empty());
        let numbers: Vec<f64> = numbers.map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let prior = match (kind, numbers.as_slice()) {
            ("normal", &[mean, sd]) => Self::Normal { mean, sd },
            ("lognormal", &[median, sigma]) => Self::LogNormal { median, sigma },
            ("gamma", &[shape, scale]) => Self::Gamma { shape, scale },
            ("exponential", &[mean]) => Self::Exponential { mean },
            ("inverse", []) => Self::Inverse,
            _ => return Err(bad()),
        };
        let positive = numbers.get(usize::from(kind == "normal")..).unwrap_or_default();
        if numbers.iter().any(|x| !x.is_finite()) || positive.iter().any(|x| *x <= 0.0) {
            return Err(format!("'{text}' is no prior: give finite numbers, and widths and scales above 0"));
        }
        Ok(prior)
    }
}

/// Returns the priors of the options with the indices of their parameters.
///
/// # Errors
/// For a parameter that is unknown, fixed or has a constraint term, and for a prior of positive numbers of a parameter that may
/// be negative.
pub(super) fn of_options(
    model: &Model,
    options: &PosteriorOptions,
    is_fixed: impl Fn(usize) -> bool,
) -> Result<Vec<(usize, Prior)>, InferenceError> {
    let mut priors = Vec::with_capacity(options.priors.len());
    for (name, prior) in &options.priors {
        let index = parameter_index(model, name)?;
        let Some(parameter) = model.parameters.get(index) else { continue };
        let (lower, upper) = parameter.bounds;
        if is_fixed(index) || lower >= upper {
            return Err(bad(format!(
                "the prior of {name}: the parameter is fixed; release it, or leave out its prior"
            )));
        }
        if !matches!(parameter.constraint, Constraint::None) {
            return Err(bad(format!(
                "the prior of {name}: its prior is its constraint term, and cannot be given a second time"
            )));
        }
        if prior.is_of_positive_numbers() && lower < 0.0 {
            return Err(bad(format!(
                "the prior of {name}: {prior} is for positive numbers, and {name} may be as low as {}; raise its lower bound \
                 to 0, or give it a normal prior",
                exact(lower)
            )));
        }
        priors.push((index, *prior));
    }
    Ok(priors)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] =
        ["normal(-1, 0.5)", "lognormal(2, 0.3)", "gamma(2.5, 0.7)", "exponential(3)", "inverse"];

    #[test]
    fn priors_read_as_they_are_written() {
        for text in TEXTS {
            assert_eq!(text.parse::<Prior>().map(|prior| prior.to_string()), Ok(text.to_owned()));
        }
        for text in
            ["normal(1)", "normal(1, 0)", "gamma(1, 2", "flat", "normal(nan, 1)", "lognormal(-1, 1)", ""]
        {
            assert!(text.parse::<Prior>().is_err(), "{text}");
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        for prior in TEXTS.map(|text| text.parse::<Prior>().unwrap()) {
            for x in [0.2, 1.0, 3.7] {
                let h = 1e-5 * x;
                let slope = (prior.ln_density(x + h).0 - prior.ln_density(x - h).0) / (2.0 * h);
                assert!((slope - prior.ln_density(x).1).abs() < 1e-7 * (1.0 + slope.abs()), "{prior} at {x}");
            }
        }
    }
}
