//! The result of sampling a posterior.

use std::collections::BTreeMap;

use serde::Serialize;

/// The marginal posterior of one parameter. A number that does not exist is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Marginal {
    /// Name of the parameter.
    pub name: String,
    /// Value at the best fit.
    pub best_fit: f64,
    /// Mean.
    pub mean: f64,
    /// Error of `mean` that comes from the finite number of draws.
    pub mean_error: Option<f64>,
    /// Standard deviation.
    pub sd: f64,
    /// Median.
    pub median: f64,
    /// Quantiles at the probabilities that one and two standard deviations of a normal distribution have: 2.28 %, 15.87 %,
    /// 84.13 % and 97.72 %.
    pub quantiles: [f64; 4],
    /// Lower end of the central credible interval: a fraction `(1 - cl) / 2` of the probability lies below it.
    pub lower: f64,
    /// Upper end of the central credible interval.
    pub upper: f64,
    /// Upper limit: a fraction `cl` of the probability lies below it.
    pub upper_limit: f64,
    /// Error of `upper_limit` that comes from the finite number of draws.
    pub upper_limit_error: Option<f64>,
    /// Rank-normalised R-hat. It is near 1 if all chains agree.
    pub r_hat: Option<f64>,
    /// Number of independent draws that are worth as much for the centre of the distribution.
    pub ess_bulk: Option<f64>,
    /// Number of independent draws that are worth as much for the quantiles at 5 % and 95 %.
    pub ess_tail: Option<f64>,
}

/// The result of sampling a posterior. Serialises to the JSON of `nextstat sample`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PosteriorResult {
    /// Names of the parameters of interest.
    pub pois: Vec<String>,
    /// Priors that were given for free parameters, by name. The others are flat within the bounds.
    pub priors: BTreeMap<String, String>,
    /// Probability of the credible intervals and upper limits.
    pub cl: f64,
    /// One entry per free parameter.
    pub parameters: Vec<Marginal>,
    /// Number of chains.
    pub n_chains: usize,
    /// Number of kept draws per chain.
    pub n_draws: usize,
    /// Number of draws per chain that adapted the step size.
    pub n_tune: usize,
    /// Number of kept draws whose path left the region where the integration is accurate.
    pub n_divergent: u64,
    /// Number of gradients of the likelihood.
    pub n_gradients: u64,
    /// Largest R-hat of a converged result.
    pub most_r_hat: f64,
    /// Smallest effective number of draws of a converged result.
    pub least_ess: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether R-hat and the effective numbers of draws of all parameters keep their limits, and few paths diverged.
    pub converged: bool,
    /// Whether the caller stopped the work.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// The draws.
    #[serde(skip)]
    pub draws: Draws,
}

/// The draws of all chains.
#[derive(Debug, Clone, PartialEq, Default, Serialize, serde::Deserialize)]
pub struct Draws {
    /// Names of the free parameters.
    pub names: Vec<String>,
    /// For each chain the values of all free parameters, draw after draw (`draws x parameters`).
    pub values: Vec<Vec<f64>>,
    /// For each chain `ln L` at each draw.
    pub ln_likelihood: Vec<Vec<f64>>,
}

impl Draws {
    /// Returns the draws of the parameter with this index, chain by chain.
    #[must_use]
    pub fn of(&self, index: usize) -> Vec<Vec<f64>> {
        let n = self.names.len().max(1);
        let column = |chain: &Vec<f64>| chain.iter().skip(index).step_by(n).copied().collect();
        self.values.iter().map(column).collect()
    }
}
