//! The header of a set of toys. It contains everything on which the numbers of the toys depend. The headers of two
//! sets of toys show whether the sets belong to one run.

use serde::{Deserialize, Serialize};

use super::{Hypothesis, Shard};
use crate::InferenceError;

/// Largest difference at which two generating points (values of all parameters at which toys are drawn) count as equal,
/// in standard deviations of each parameter.
pub const SAME_POINT: f64 = 1e-6;

/// Largest difference at which two observed test statistics `q` count as equal, divided by `1 + |q|`. In p-values, a
/// toy also counts as having at least the observed statistic if its statistic is smaller by at most this number (an
/// absolute difference).
pub const SAME_STATISTIC: f64 = 1e-8;

/// The part of the header that is common to toys of hypothesis tests and toys of studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToyOrigin {
    /// Version of NextStat that made the toys.
    pub version: String,
    /// Digest of the model ([`ns_core::Model::digest`]).
    pub model_digest: String,
    /// Digest of the data that were fitted to obtain the generating points (values of all parameters at which toys are
    /// drawn).
    pub data_digest: String,
    /// Interpolation codes of the model, as text.
    pub interpolation: String,
    /// Version of the algorithms that draw random numbers ([`ns_core::random::SAMPLERS`]). Headers written with the
    /// first version of the algorithms do not contain this number.
    #[serde(default = "first_samplers")]
    pub samplers: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys of the whole run. In a hypothesis test, it is the number of toys of each hypothesis.
    pub n_toys: u64,
    /// Part (shard) of the run to which these toys belong.
    pub shard: Shard,
    /// Parameters that the options fix in all fits, with their values. Parameters that the model fixes are not
    /// listed.
    pub fixed: Vec<(String, f64)>,
    /// Effort of the search for the global minimum in the fits of toys.
    pub search: String,
    /// Largest accepted relative error of integrals of densities in the fits of toys; `None` means
    /// [`ns_core::INTEGRAL_TOLERANCE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integral_tolerance: Option<f64>,
    /// Names of all parameters, in the model's order.
    pub parameter_names: Vec<String>,
    /// Scale of each parameter, which is the unit of differences between generating points (values of all parameters at
    /// which toys are drawn). The scale is the uncertainty of the parameter. For a parameter without an uncertainty, it
    /// is the absolute value of the parameter, but at least 1.
    pub sigmas: Vec<f64>,
}

/// Returns the version of the algorithms that draw random numbers, for headers that do not contain this version.
const fn first_samplers() -> u32 {
    1
}

impl ToyOrigin {
    /// Checks that toys of this origin and toys of the origin `other` belong to one run.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first field that differs.
    pub fn compatible(&self, other: &Self) -> Result<(), InferenceError> {
        same("the version of NextStat", &self.version, &other.version)?;
        same("the model's digest", &self.model_digest, &other.model_digest)?;
        same("the digest of the data", &self.data_digest, &other.data_digest)?;
        same("the interpolation", &self.interpolation, &other.interpolation)?;
        same("the version of the samplers", &self.samplers, &other.samplers)?;
        same("the seed", &self.seed, &other.seed)?;
        same("the number of toys of the whole run", &self.n_toys, &other.n_toys)?;
        same("the set of fixed parameters", &Held(&self.fixed), &Held(&other.fixed))?;
        same("the search for minima", &self.search, &other.search)?;
        let accepted = |origin: &Self| origin.integral_tolerance.unwrap_or(ns_core::INTEGRAL_TOLERANCE);
        same("the accepted error of integrals", &accepted(self), &accepted(other))?;
        same("the number of parameters", &self.parameter_names.len(), &other.parameter_names.len())?;
        for (ours, theirs) in self.parameter_names.iter().zip(&other.parameter_names) {
            same("the name of a parameter", ours, theirs)?;
        }
        Ok(())
    }

    /// Checks that two generating points (values of all parameters at which toys are drawn) are equal within
    /// [`SAME_POINT`]. `of` is the name of the points in the error message.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first parameter that differs.
    pub(crate) fn same_point(&self, of: &str, ours: &[f64], theirs: &[f64]) -> Result<(), InferenceError> {
        same("the length of a generating point", &ours.len(), &theirs.len())?;
        for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
            let sigma = self.sigmas.get(i).copied().unwrap_or(1.0);
            if !((a - b).abs() <= SAME_POINT * sigma) {
                let name = self.parameter_names.get(i).map_or("?", String::as_str);
                return Err(differs(format!("the generating point {of} of parameter '{name}'"), a, b));
            }
        }
        Ok(())
    }
}

/// The header of the toys of a hypothesis test. All headers of one run are equal except for the shard; see
/// [`Self::compatible`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToyHeader {
    /// The part of the header that is common to toys of hypothesis tests and toys of studies.
    pub origin: ToyOrigin,
    /// Name of the parameter of interest.
    pub param: String,
    /// Tested value of the parameter of interest.
    pub mu_test: f64,
    /// Name of the test statistic: "qtilde", "q" or "q0".
    pub test_stat: String,
    /// Observed value of the test statistic.
    pub q_obs: f64,
    /// Best-fit value of the parameter of interest for the observed data.
    pub mu_hat_obs: f64,
    /// Index of the parameter of interest.
    pub poi_index: usize,
    /// Values of all parameters at which toys of the alternative hypothesis are drawn.
    pub point_b: Vec<f64>,
    /// Values of all parameters at which toys of the tested hypothesis are drawn.
    pub point_sb: Vec<f64>,
    /// Whether the fits of the observed data converged.
    pub converged: bool,
    /// Warnings about the fits of the observed data.
    pub warnings: Vec<String>,
}

impl ToyHeader {
    /// Returns the values of all parameters at which toys of a hypothesis are drawn.
    #[must_use]
    pub fn point(&self, hypothesis: Hypothesis) -> &[f64] {
        match hypothesis {
            Hypothesis::Background => &self.point_b,
            Hypothesis::Signal => &self.point_sb,
        }
    }

    /// Checks that toys with this header and toys with the header `other` belong to one run. Machines round
    /// differently, so small differences are allowed: [`SAME_POINT`] standard deviations for generating points and
    /// observed best fits, and [`SAME_STATISTIC`] times `1 + |q|` for observed statistics `q`. All other fields
    /// except the shard must be equal.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first field that differs.
    pub fn compatible(&self, other: &Self) -> Result<(), InferenceError> {
        self.origin.compatible(&other.origin)?;
        same("the parameter of interest", &self.param, &other.param)?;
        same("the tested value", &self.mu_test, &other.mu_test)?;
        same("the statistic", &self.test_stat, &other.test_stat)?;
        self.origin.same_point("(b)", &self.point_b, &other.point_b)?;
        self.origin.same_point("(sb)", &self.point_sb, &other.point_sb)?;
        if !((self.q_obs - other.q_obs).abs() <= SAME_STATISTIC * (1.0 + self.q_obs.abs())) {
            return Err(differs("the observed statistic".into(), &self.q_obs, &other.q_obs));
        }
        let sigma = self.origin.sigmas.get(self.poi_index).copied().unwrap_or(1.0);
        if !((self.mu_hat_obs - other.mu_hat_obs).abs() <= SAME_POINT * sigma) {
            return Err(differs("the observed best fit".into(), &self.mu_hat_obs, &other.mu_hat_obs));
        }
        Ok(())
    }
}

/// Header of a run of toys that are fitted to study the estimates of parameters. The toys of hypothesis tests have a
/// header of another type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitToysHeader {
    /// The part of the header that is common to toys of hypothesis tests and toys of studies.
    pub origin: ToyOrigin,
    /// Full names of the studied parameters, in the order of the values in the rows.
    pub params: Vec<String>,
    /// Indices of the studied parameters in the model, in the order of `params`.
    pub indices: Vec<usize>,
    /// Values of all parameters at which toys are drawn. If expected data are given, these values are the best fit to
    /// the expected data.
    pub point: Vec<f64>,
    /// Given expected data from which toys are drawn: main counts, then auxiliary data. `None` if toys are drawn at
    /// `point`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<Vec<f64>>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

impl FitToysHeader {
    /// Checks that toys with this header and toys with the header `other` belong to one run. The allowed differences
    /// are those of [`ToyHeader::compatible`].
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first field that differs.
    pub fn compatible(&self, other: &Self) -> Result<(), InferenceError> {
        self.origin.compatible(&other.origin)?;
        same("the number of parameters studied", &self.params.len(), &other.params.len())?;
        for (ours, theirs) in self.params.iter().zip(&other.params) {
            same("a parameter studied", ours, theirs)?;
        }
        let given = |header: &Self| header.expectation.clone().map_or(Given(Vec::new()), Given);
        same("the given expectation", &given(self), &given(other))?;
        self.origin.same_point("", &self.point, &other.point)
    }
}

/// The expected data from which toys are drawn, if the caller gave them. Error messages show them in words.
#[derive(PartialEq)]
struct Given(Vec<f64>);

impl std::fmt::Display for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("that of the generating point"),
            all => write!(f, "one of {} numbers that sum to {}", all.len(), all.iter().sum::<f64>()),
        }
    }
}

/// Fixed parameters and their values, formatted as words for error messages.
#[derive(PartialEq)]
struct Held<'a>(&'a [(String, f64)]);

impl std::fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("empty");
        }
        let held: Vec<String> = self.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&held.join(", "))
    }
}

fn same<T: PartialEq + std::fmt::Display>(what: &str, ours: &T, theirs: &T) -> Result<(), InferenceError> {
    if ours == theirs { Ok(()) } else { Err(differs(what.to_owned(), ours, theirs)) }
}

fn differs(what: String, ours: &impl std::fmt::Display, theirs: &impl std::fmt::Display) -> InferenceError {
    InferenceError::ForeignToys { what, ours: ours.to_string(), theirs: theirs.to_string() }
}
