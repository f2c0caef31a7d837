//! Goodness of fit by comparison with the saturated model.
//!
//! The saturated model has one free expected yield per bin, and its constraint terms are at their maxima. Twice the
//! difference between `-ln L` at the best fit and in the saturated model is approximately chi2-distributed. The number
//! of degrees of freedom is the number of bins minus the number of free parameters without a constraint (R. D. Cousins,
//! "Generalization of chisquare goodness-of-fit test for binned data using saturated models"; the degrees of freedom
//! are counted as in cabinetry).

mod distance;
mod events;
mod histogram;

use ns_core::{Constraint, Control, Model, OutcomeParts, Session};
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::diagnosis;
use crate::present;
use crate::single_fits::of_single_fits;
use crate::toys::INTERRUPTED;
pub use crate::toys::goodness::GoodnessToys;
use crate::toys::goodness::{Saturated, binomial_error, check_number, count};
use crate::{FitData, FitOptions, InferenceError};
pub use events::{ChannelGoodness, EventGoodness, EventStatistic, event_goodness_of_fit};

/// Default number of bins along each observable in the chi2 test of events.
pub const DEFAULT_BINS: usize = 20;

/// Reason why `chi2` does not exist for data with single events.
const NO_SATURATED_MODEL: &str = "chi2 is null: single events have no saturated model, because the likelihood of a density that \
     peaks at every event has no bound; compare the model with counts in bins (statistic chi2), or use the statistic ks";

/// The result of a goodness-of-fit test. Serialises to the JSON of `nextstat gof`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct GoodnessResult {
    /// Twice the difference of `-ln L` between the best fit and the saturated model, which has one free expected yield
    /// per bin. `None` for data with single events, because they have no saturated model.
    pub chi2: Option<f64>,
    /// Degrees of freedom: number of bins minus number of free parameters without a constraint. `None` if `chi2` is
    /// `None`.
    pub ndof: Option<i64>,
    /// Probability of a value of at least `chi2`; `None` if `chi2` is `None` or `ndof` is not positive.
    pub p_value: Option<f64>,
    /// Fraction of the converged toys with a value of at least `chi2`; `None` if no toys were asked for or
    /// none converged.
    pub p_value_toys: Option<f64>,
    /// Binomial error of `p_value_toys`. If no toy has a value of at least `chi2`, the error is the upper end of the
    /// Clopper-Pearson interval of one standard deviation.
    pub p_value_toys_error: Option<f64>,
    /// Number of toys that were run, and numbers of toys that were left out; `None` if no toys were asked for.
    pub toys: Option<GoodnessToys>,
    /// Number of bins of all channels together. Auxiliary data are not counted.
    pub n_bins: usize,
    /// Number of free parameters without a constraint.
    pub n_unconstrained: usize,
    /// `-2 ln L` at the best fit.
    pub twice_nll: f64,
    /// `-2 ln L` of the saturated model, which has one free expected yield per bin. `None` for data with single events.
    pub twice_nll_saturated: Option<f64>,
    /// Whether the fit reached a certified minimum.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Computes the goodness of fit by a comparison of the best fit with the saturated model, which has one free expected
/// yield per bin.
///
/// # Errors
/// For options that do not match the model, a likelihood that is not finite at any starting point, a device failure
/// or an interruption.
pub fn goodness_of_fit(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    control: Control<'_>,
) -> Result<GoodnessResult, InferenceError> {
    refuse_blind(options)?;
    let mut analysis = Analysis::new(model, session, options, control)?;
    compare(&mut analysis).map(|(result, _)| result)
}

/// Computes the goodness of fit with a p-value from `n_toys` toys. The p-value is the fraction of toys whose chi2 is
/// at least as large as that of the data. Toys are drawn at the best fit with the random seed `seed`. Each toy is
/// fitted with the same free parameters as the data, and compared with its own saturated model.
///
/// # Errors
/// The errors of [`goodness_of_fit`]. Also if the number of toys is not allowed, or if toys cannot be drawn because a
/// bin has a negative expected yield.
pub fn goodness_of_fit_toys(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    n_toys: u64,
    seed: u64,
    control: Control<'_>,
) -> Result<GoodnessResult, InferenceError> {
    check_number(n_toys)?;
    refuse_blind(options)?;
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), options, silent)?;
    let (mut result, point) = compare(&mut analysis)?;
    let Some(chi2) = result.chi2 else {
        result
            .warnings
            .push("no toys were drawn: without chi2 there is nothing to compare them with".to_owned());
        return Ok(result);
    };
    let measure = Saturated { session, of: analysis.data.clone() };
    let (counts, above) = count(&mut analysis, session, &point, (chi2, &measure), (n_toys, seed), control)?;
    let good = counts.n_toys - counts.n_nonconverged - counts.n_error;
    if good > 0 {
        result.p_value_toys = Some(above as f64 / good as f64);
        result.p_value_toys_error = binomial_error(above, good);
    } else {
        result.warnings.push("p_value_toys is null: there is no toy to count".to_owned());
    }
    if good < counts.n_toys {
        result.warnings.push(format!(
            "{} of {} toys did not converge or failed and are left out",
            counts.n_toys - good,
            counts.n_toys
        ));
    }
    if counts.interrupted {
        result.warnings.push(INTERRUPTED.to_owned());
    }
    result.toys = Some(counts);
    Ok(result)
}

/// Returns an error for blinded data. The counts of blinded channels agree with the model by construction.
pub(crate) fn refuse_blind(options: &FitOptions) -> Result<(), InferenceError> {
    match options.data {
        FitData::Blind(_) => Err(InferenceError::CannotBlind {
            problem: "the data of blinded channels agree with the model by construction, so they say nothing about the goodness \
                      of fit; leave these channels out of the model"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Compares the best fit with the saturated model. Returns the result and the best-fit values of all parameters.
fn compare(analysis: &mut Analysis<'_>) -> Result<(GoodnessResult, Vec<f64>), InferenceError> {
    let (model, session) = (analysis.model, analysis.session);
    let data = analysis.data.clone();
    let fit = analysis.fit(&data, analysis.base.clone(), OutcomeParts::default())?;
    let saturated = session.saturated_nll(&data)?;
    let mut warnings = model.warnings.clone();
    if !fit.converged() {
        warnings.extend(diagnosis::not_converged(model, &fit));
    } else {
        warnings.extend(diagnosis::without_events(model, session, &data, &fit));
    }

    let n_bins = model.n_bins();
    let n_unconstrained = unconstrained(analysis);
    let chi2 = saturated.map(|saturated| (2.0 * (fit.nll - saturated)).max(0.0));
    let ndof = chi2.map(|_| n_bins as i64 - n_unconstrained as i64);
    let p_value = chi2
        .zip(ndof.filter(|ndof| *ndof > 0))
        .map(|(chi2, ndof)| chi2_tail(chi2, ndof as f64))
        .filter(|p| p.is_finite());
    if chi2.is_none() {
        warnings.push(NO_SATURATED_MODEL.to_owned());
    }
    if ndof.is_some_and(|ndof| ndof <= 0) {
        warnings.push(format!(
            "p_value is null: {} and {} without a constraint leave no degree of freedom",
            present::count(n_bins, "bin"),
            present::count(n_unconstrained, "free parameter")
        ));
    }
    let result = GoodnessResult {
        chi2,
        ndof,
        p_value,
        p_value_toys: None,
        p_value_toys_error: None,
        toys: None,
        n_bins,
        n_unconstrained,
        twice_nll: 2.0 * fit.nll,
        twice_nll_saturated: saturated.map(|saturated| 2.0 * saturated),
        converged: fit.converged(),
        warnings,
    };
    Ok((result, fit.parameters))
}

/// Returns the number of free parameters without a constraint.
pub(crate) fn unconstrained(analysis: &Analysis<'_>) -> usize {
    let free = |i: &usize| !analysis.is_fixed(*i);
    let constraint = |i: usize| analysis.model.parameters.get(i).map(|p| p.constraint);
    let n = analysis.model.parameters.len();
    let without: Vec<usize> =
        (0..n).filter(free).filter(|i| constraint(*i) == Some(Constraint::None)).collect();
    // Other constraint terms constrain at most as many parameters as there are terms.
    let terms = analysis.model.penalties_of_parameters();
    let of_each: Vec<&Vec<usize>> =
        without.iter().filter_map(|i| terms.get(*i)).filter(|terms| !terms.is_empty()).collect();
    let mut distinct: Vec<usize> = of_each.iter().flat_map(|terms| terms.iter().copied()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    without.len() - of_each.len().min(distinct.len())
}

/// Computes the probability that a chi2-distributed variable with `ndof` degrees of freedom exceeds `chi2`.
pub(crate) fn chi2_tail(chi2: f64, ndof: f64) -> f64 {
    if chi2 <= 0.0 {
        return 1.0;
    }
    statrs::function::gamma::checked_gamma_ur(0.5 * ndof, 0.5 * chi2).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::chi2_tail;

    #[test]
    fn tails_have_the_tabulated_values() {
        // scipy.stats.chi2.sf
        for (chi2, ndof, p) in [
            (0.0, 3.0, 1.0),
            (3.84, 1.0, 0.05004352124870519),
            (100.0, 50.0, 3.454931382984871e-05),
            (500.0, 300.0, 3.3592224575792775e-12),
        ] {
            let found = chi2_tail(chi2, ndof);
            assert!((found / p - 1.0).abs() < 1e-9, "{chi2} {ndof}: {found}");
        }
    }
}
