//! The header of a set of toys: everything on which its numbers depend. Headers decide whether two sets
//! belong to one run.

use serde::{Deserialize, Serialize};

use super::{Hypothesis, Shard};
use crate::InferenceError;

/// Largest difference, in standard deviations, up to which two generating points count as equal.
pub const SAME_POINT: f64 = 1e-6;

/// Largest difference between two observed statistics `q` that count as equal, divided by `1 + |q|`. The statistic of
/// a toy counts as not below the observed statistic if it is lower by at most this difference.
pub const SAME_STATISTIC: f64 = 1e-8;

/// The part of a header that is common to all kinds of toys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToyOrigin {
    /// Version of NextStat.
    pub version: String,
    /// Fingerprint of the model ([`ns_core::Model::digest`]).
    pub model_digest: String,
    /// Fingerprint of the data whose fits gave the generating points.
    pub data_digest: String,
    /// Interpolation codes of the model.
    pub interpolation: String,
    /// Version of the samplers ([`ns_core::random::SAMPLERS`]). It is missing in headers that were written
    /// with the first version.
    #[serde(default = "first_samplers")]
    pub samplers: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys of the whole run; in a test, of each hypothesis.
    pub n_toys: u64,
    /// Part of the run to which these toys belong.
    pub shard: Shard,
    /// Parameters fixed in all fits, with their values, in addition to those that the model fixes.
    pub fixed: Vec<(String, f64)>,
    /// Effort of the search for the global minimum in the fits of toys.
    pub search: String,
    /// Names of all parameters, in the model's order.
    pub parameter_names: Vec<String>,
    /// Scale of each parameter for comparisons of generating points: its uncertainty, or its absolute value
    /// (at least 1) if it has no uncertainty.
    pub sigmas: Vec<f64>,
}

/// Returns the version of the samplers for headers without such a version.
const fn first_samplers() -> u32 {
    1
}

impl ToyOrigin {
    /// Checks that toys of this origin and of `other` are parts of one run.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first difference.
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
        same("the number of parameters", &self.parameter_names.len(), &other.parameter_names.len())?;
        for (ours, theirs) in self.parameter_names.iter().zip(&other.parameter_names) {
            same("the name of a parameter", ours, theirs)?;
        }
        Ok(())
    }

    /// Checks that two generating points are equal within [`SAME_POINT`].
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the parameter that differs.
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

/// The header of the toys of a hypothesis test. The headers of one run agree in everything but the shard; see
/// [`Self::compatible`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToyHeader {
    /// Part of the header that is common to all kinds of toys.
    pub origin: ToyOrigin,
    /// Name of the parameter of interest.
    pub param: String,
    /// Tested value of the parameter of interest.
    pub mu_test: f64,
    /// Name of the statistic: "qtilde", "q" or "q0".
    pub test_stat: String,
    /// Observed value of the test statistic.
    pub q_obs: f64,
    /// Best-fit value of the parameter of interest for the observed data.
    pub mu_hat_obs: f64,
    /// Index of the parameter of interest.
    pub poi_index: usize,
    /// Generating point of the alternative hypothesis, all parameters.
    pub point_b: Vec<f64>,
    /// Generating point of the tested hypothesis, all parameters.
    pub point_sb: Vec<f64>,
    /// Whether the fits of the observed data converged.
    pub converged: bool,
    /// Warnings about the fits of the observed data.
    pub warnings: Vec<String>,
}

impl ToyHeader {
    /// Returns the generating point of a hypothesis, all parameters.
    #[must_use]
    pub fn point(&self, hypothesis: Hypothesis) -> &[f64] {
        match hypothesis {
            Hypothesis::Background => &self.point_b,
            Hypothesis::Signal => &self.point_sb,
        }
    }

    /// Checks that toys with this header and with `other` are parts of one run. Generating points and
    /// observed best fits may differ by [`SAME_POINT`] standard deviations, and observed statistics `q` by
    /// [`SAME_STATISTIC`] times `1 + |q|`, because machines round differently. All other fields except the
    /// shard must agree exactly.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first difference.
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

/// The header of the toys of a study of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitToysHeader {
    /// Part of the header that is common to all kinds of toys.
    pub origin: ToyOrigin,
    /// Full names of the parameters studied, in the order of the values in the rows.
    pub params: Vec<String>,
    /// Indices of the parameters studied, in the model's order of parameters.
    pub indices: Vec<usize>,
    /// Generating point, all parameters. If expected data are given, this is the best fit to these data.
    pub point: Vec<f64>,
    /// Expected data from which toys are drawn, if given: main counts, then auxiliary data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<Vec<f64>>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

impl FitToysHeader {
    /// Checks that toys with this header and with `other` are parts of one run, like
    /// [`ToyHeader::compatible`].
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] with the first difference.
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

/// Given expected data, displayed in words.
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

/// Fixed parameters and their values, displayed in words.
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
