//! Goodness of fit of single events: chi2 in bins, and the Kolmogorov-Smirnov distance.
//!
//! Both statistics compare the events with the density at the best fit. The density was fitted to the same events,
//! which changes the distributions of the statistics. The distribution of chi2 lies between two chi2 distributions
//! (H. Chernoff and E. L. Lehmann, Ann. Math. Statist. 25 (1954) 579). The distribution of the Kolmogorov-Smirnov
//! distance depends on the model. Toys give correct p-values for both.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ns_core::{Control, EventTable, FitOutcome, Model, OutcomeParts, Session, ToySource};
use serde::{Deserialize, Serialize};

use super::distance::Distances;
use super::histogram::Histograms;
use super::{chi2_tail, unconstrained};
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::present::significant;
use crate::single_fits::of_single_fits;
use crate::toys::INTERRUPTED;
use crate::toys::goodness::{GoodnessToys, Measure, binomial_error, check_number, count};
use crate::weighted::has_weights;
use crate::{FitOptions, InferenceError};

/// An expected number of events is negative if it is below 0 by more than this fraction of all events.
const NEGATIVE: f64 = 1e-9;

/// A statistic that compares events with the fitted density.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum EventStatistic {
    /// Pearson's chi2 in bins of equal width.
    Chi2,
    /// The Kolmogorov-Smirnov distance: the largest distance between the distribution function of the events and that
    /// of the density.
    Ks,
}

impl EventStatistic {
    /// Returns the name of the statistic on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chi2 => "chi2",
            Self::Ks => "ks",
        }
    }
}

impl fmt::Display for EventStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EventStatistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Chi2, Self::Ks]
            .into_iter()
            .find(|statistic| statistic.name() == text)
            .ok_or_else(|| format!("unknown statistic '{text}'; use \"saturated\", \"chi2\" or \"ks\""))
    }
}

/// The goodness-of-fit statistic of one event channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ChannelGoodness {
    /// Name of the channel.
    pub name: String,
    /// For chi2, the chi2 of the channel. For a distance, the Kolmogorov-Smirnov distance `D` of the channel.
    pub value: f64,
    /// Number of events in the fit ranges. For chi2, the sum of the weights of these events.
    pub n_events: f64,
    /// Number of bins of chi2; `None` if the statistic is a distance.
    pub n_bins: Option<usize>,
    /// Smallest expected number of events in a bin of chi2; `None` if the statistic is a distance.
    pub least_expected: Option<f64>,
}

/// The result of a goodness-of-fit test of events. Serialises to the JSON of `nextstat gof --statistic`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct EventGoodness {
    /// The statistic.
    pub statistic: EventStatistic,
    /// For chi2, the sum of chi2 over all event channels. For the Kolmogorov-Smirnov distance, the largest
    /// `sqrt(n) D` of any channel, where `n` is the number of events of the channel and `D` its distance. `None` for
    /// weighted events.
    pub value: Option<f64>,
    /// Number of degrees of freedom of chi2: the number of bins, minus the number of free parameters without a
    /// constraint, minus 1 for each channel that is not extended. `None` if the statistic is a distance.
    pub ndof: Option<i64>,
    /// Asymptotic p-value: the probability of a statistic of at least `value`. For chi2 the p-value is approximate.
    /// For a distance the p-value is `None` if parameters were fitted.
    pub p_value: Option<f64>,
    /// p-value from toys: the fraction of the converged toys whose statistic is at least `value`. `None` without
    /// toys.
    pub p_value_toys: Option<f64>,
    /// Binomial error of `p_value_toys`; `None` if there is no such p-value.
    pub p_value_toys_error: Option<f64>,
    /// Number of toys that were run, and number of toys that were left out; `None` without toys.
    pub toys: Option<GoodnessToys>,
    /// The statistics of the event channels.
    pub channels: Vec<ChannelGoodness>,
    /// Number of free parameters without a constraint.
    pub n_unconstrained: usize,
    /// `-2 ln L` at the best fit.
    pub twice_nll: f64,
    /// Whether the fit reached a certified minimum.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// The chosen statistic, chi2 or Kolmogorov-Smirnov distance, with the densities that it needs.
enum Judge {
    Chi2(Histograms),
    Ks(Distances),
}

impl Judge {
    /// Returns the statistic of each event channel. `parameters` are the values of all parameters, and `tables` the
    /// events of each channel. If the events are Asimov data, `expected` contains the parameters at which they are
    /// expected.
    fn channels(
        &self,
        parameters: &[f64],
        tables: &[Arc<EventTable>],
        expected: Option<&[f64]>,
    ) -> Result<Vec<ChannelGoodness>, InferenceError> {
        match self {
            Self::Chi2(histograms) => histograms.channels(parameters, tables, expected),
            Self::Ks(distances) => distances.channels(parameters, tables),
        }
    }

    /// Returns the statistic of all channels together: the sum of chi2, or the largest `sqrt(n) D`, where `n` is the
    /// number of events of a channel and `D` its Kolmogorov-Smirnov distance.
    fn total(&self, channels: &[ChannelGoodness]) -> f64 {
        match self {
            Self::Chi2(_) => channels.iter().map(|channel| channel.value).sum(),
            Self::Ks(_) => channels.iter().map(|c| c.n_events.sqrt() * c.value).fold(0.0, f64::max),
        }
    }
}

impl Measure for Judge {
    fn of_toy(&self, fit: &FitOutcome, source: &ToySource, index: u64) -> Option<f64> {
        let toy = source.draw_whole(index).ok()?;
        let channels = self.channels(&fit.parameters, &toy.events, None).ok()?;
        Some(self.total(&channels)).filter(|value| value.is_finite())
    }
}

/// Compares the events of a model with the density at the best fit. `bins` is the number of bins along each
/// observable for chi2. `toys` is the number of toys and their seed, if a p-value from toys is wanted. The toys are
/// drawn at the best fit and fitted in the same way as the data. Binned channels of the model are part of the fit,
/// but not of the comparison.
///
/// # Errors
/// If the model has no event channels, if the statistic is a distance and a channel has several observables, or if
/// there are too many bins. Also the errors of [`super::goodness_of_fit_toys`].
pub fn event_goodness_of_fit(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    (statistic, bins): (EventStatistic, usize),
    toys: Option<(u64, u64)>,
    control: Control<'_>,
) -> Result<EventGoodness, InferenceError> {
    if let Some((n_toys, _)) = toys {
        check_number(n_toys)?;
    }
    if model.event_channels.is_empty() {
        let reason =
            "the model has no channel of events; binned channels are compared with the saturated model"
                .to_owned();
        return Err(InferenceError::NoEventStatistic { statistic: statistic.name(), reason });
    }
    let judge = match statistic {
        EventStatistic::Chi2 => Judge::Chi2(Histograms::new(model, bins)?),
        EventStatistic::Ks => Judge::Ks(Distances::new(model)?),
    };
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), options, silent)?;
    let data = analysis.data.clone();
    let fit = analysis.fit(&data, analysis.base.clone(), OutcomeParts::default())?;
    let mut warnings = model.warnings.clone();
    if !fit.converged() {
        warnings.extend(diagnosis::not_converged(model, &fit));
    }
    let n_unconstrained = unconstrained(&analysis);
    let mut result = EventGoodness {
        statistic,
        value: None,
        ndof: None,
        p_value: None,
        p_value_toys: None,
        p_value_toys_error: None,
        toys: None,
        channels: Vec::new(),
        n_unconstrained,
        twice_nll: 2.0 * fit.nll,
        converged: fit.converged(),
        warnings,
    };
    if has_weights(model, &data, &options.data) {
        let why = "value is null: the events have weights, for which the statistic has no known distribution";
        result.warnings.push(why.to_owned());
        return Ok(result);
    }
    let given = &data.counts(model).events;
    let tables = if given.is_empty() { &model.observed.events } else { given };
    let expected = data.expected.as_ref().map(|at| at.parameters.as_slice());
    result.channels = judge.channels(&fit.parameters, tables, expected)?;
    let inexact = match &judge {
        Judge::Chi2(histograms) => histograms.inexact(&fit.parameters),
        Judge::Ks(distances) => distances.inexact(&fit.parameters, tables)?,
    };
    result.converged &= inexact.is_empty();
    result.warnings.extend(inexact);
    let value = judge.total(&result.channels);
    if let Some(warning) = negative_bin(&result.channels) {
        result.warnings.push(warning);
        return Ok(result);
    }
    result.value = Some(value).filter(|value| value.is_finite());
    if result.value.is_none() {
        result.warnings.push("value is null: events lie in bins in which none are expected".to_owned());
    }
    asymptotic(&mut result, &analysis, value);
    let Some(((n_toys, seed), _)) = toys.zip(result.value) else { return Ok(result) };
    let (counts, above) =
        count(&mut analysis, session, &fit.parameters, (value, &judge), (n_toys, seed), control)?;
    let good = counts.n_toys - counts.n_nonconverged - counts.n_error;
    if good > 0 {
        result.p_value_toys = Some(above as f64 / good as f64);
        result.p_value_toys_error = binomial_error(above, good);
    } else {
        result.warnings.push("p_value_toys is null: there is no toy to count".to_owned());
    }
    if good < counts.n_toys {
        let (left, all) = (counts.n_toys - good, counts.n_toys);
        result.warnings.push(format!("{left} of {all} toys did not converge or failed and are left out"));
    }
    if counts.interrupted {
        result.warnings.push(INTERRUPTED.to_owned());
    }
    result.toys = Some(counts);
    Ok(result)
}

/// Returns a warning if a bin has a negative expected number of events. chi2 is then no measure of a distance.
fn negative_bin(channels: &[ChannelGoodness]) -> Option<String> {
    let negative = |channel: &&ChannelGoodness| {
        channel.least_expected.is_some_and(|least| least < -NEGATIVE * channel.n_events)
    };
    let channel = channels.iter().find(negative)?;
    Some(format!(
        "value is null: the density of event channel '{}' is negative at the best fit, so that a bin has {} expected events; \
         narrow the bounds of the coefficients, or use a density that cannot be negative",
        channel.name,
        significant(channel.least_expected.unwrap_or(f64::NAN))
    ))
}

/// Sets the degrees of freedom and the asymptotic p-value, and adds warnings about their validity.
fn asymptotic(result: &mut EventGoodness, analysis: &Analysis<'_>, value: f64) {
    let model = analysis.model;
    match result.statistic {
        EventStatistic::Chi2 => {
            let bins: usize = result.channels.iter().filter_map(|channel| channel.n_bins).sum();
            let shapes = model.event_channels.iter().filter(|channel| !channel.extended).count();
            let ndof = bins as i64 - shapes as i64 - result.n_unconstrained as i64;
            result.ndof = Some(ndof);
            if ndof > 0 {
                result.p_value = Some(chi2_tail(value, ndof as f64)).filter(|p| p.is_finite());
                if result.n_unconstrained > 0 {
                    result.warnings.push(format!(
                        "p_value is approximate: parameters were fitted to single events, so that chi2 lies between chi2 \
                         distributions with {ndof} and {} degrees of freedom; p_value_toys is right",
                        bins as i64 - shapes as i64
                    ));
                }
            } else {
                result
                    .warnings
                    .push("p_value is null: there is no degree of freedom; use more bins".to_owned());
            }
            let least = result.channels.iter().filter_map(|c| c.least_expected).fold(f64::INFINITY, f64::min);
            if least < 5.0 {
                result.warnings.push(format!(
                    "a bin has {least:.3} expected events: chi2 follows its asymptotic distribution from about 5 on; use fewer \
                     bins or toys"
                ));
            }
        }
        EventStatistic::Ks => {
            let free = (0..model.parameters.len()).any(|i| !analysis.is_fixed(i));
            if free {
                result.warnings.push(
                    "p_value is null: with fitted parameters the distance has no general distribution; use toys".to_owned(),
                );
            } else if result.channels.len() == 1 {
                result.p_value = Some(kolmogorov_tail(value));
            }
        }
    }
}

/// Returns the asymptotic probability that `sqrt(n) D` exceeds `x`, where `n` is the number of events and `D` is the
/// Kolmogorov-Smirnov distance: `2 sum_k (-1)^(k-1) exp(-2 k^2 x^2)`.
fn kolmogorov_tail(x: f64) -> f64 {
    if x < 0.2 {
        // The probability differs from 1 by less than 1e-12.
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
        sign * (-2.0 * f64::from(k * k) * x * x).exp()
    };
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::kolmogorov_tail;

    #[test]
    fn tails_have_the_tabulated_values() {
        // scipy.special.kolmogorov
        for (x, p) in [
            (0.3, 0.9999906941986655),
            (0.5, 0.9639452436648751),
            (1.0, 0.26999967167735456),
            (2.0, 0.0006709252557796953),
        ] {
            assert!((kolmogorov_tail(x) / p - 1.0).abs() < 1e-9, "{x}: {}", kolmogorov_tail(x));
        }
    }
}
