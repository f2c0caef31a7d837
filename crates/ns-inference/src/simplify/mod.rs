//! Simplified likelihoods: the background of each bin as a quadratic function of one normal parameter, with the means,
//! covariances and third moments of the full model.
//!
//! CMS NOTE-2017/001; A. Buckley, D. Citron, S. Fichet, S. Kraml, W. Waltenberger, N. Wardle, JHEP 04 (2019) 064,
//! arXiv:1809.05548. The moments come from draws of the nuisance parameters around a point with a given covariance, such as
//! that of a fit of the control regions.

mod compare;
mod moments;
mod options;
mod result;
mod workspace;

use ns_core::random::{Normal, Stream};
use ns_core::{Control, Covariance, Data, EvaluationRequest, Model, Session};

pub use compare::compare;
pub use options::SimplifyOptions;
pub use result::{Compared, SimplifiedBin, SimplifyResult};

use self::moments::{Coefficients, Moments, factor};
use self::workspace::workspace;
use crate::linear::{cholesky, eigen};
use crate::present::{exact, significant};
use crate::single_fits::of_single_fits;
use crate::{InferenceError, diagnosis};

/// Series of these draws in the key of the random numbers.
const SERIES: u8 = 5;

/// Number of points that are evaluated at a time.
const BATCH: u64 = 256;

/// Largest number of draws, and of bins.
const MOST_DRAWS: u64 = 100_000_000;
const MOST_BINS: usize = 1000;

/// Largest errors of relative variances and of skewnesses in a converged result.
const MOST_VARIANCE_ERROR: f64 = 0.03;
const MOST_SKEWNESS_ERROR: f64 = 0.1;

/// Returns the number of bins of the simplified likelihood. The memory of the draws is proportional to it.
///
/// # Errors
/// The errors of [`simplify`] about the parameter of interest and the channels.
pub fn n_bins(model: &Model, options: &SimplifyOptions) -> Result<usize, InferenceError> {
    Ok(kept_bins(model, poi_of(model)?, options)?.len())
}

/// Simplifies the likelihood of binned channels. `point` has the values of all parameters and `covariance` their covariance,
/// for example those of a fit of control regions ([`crate::Extrapolated`]). The parameter of interest is set to 0 for the
/// background, and to 1 for the signal.
///
/// # Errors
/// If the model has no parameter of interest, a channel is unknown or not binned, the yields are not linear in the parameter of
/// interest, or the number of draws is not allowed. [`InferenceError::Cancelled`] if the caller stopped the work.
pub fn simplify(
    model: &Model,
    session: &dyn Session,
    (point, covariance): (&[f64], &Covariance),
    options: &SimplifyOptions,
    control: Control<'_>,
) -> Result<SimplifyResult, InferenceError> {
    let bad = |problem: String| InferenceError::CannotSimplify { problem };
    if !(1000..=MOST_DRAWS).contains(&options.n_draws) {
        return Err(bad(format!("{} draws are asked for; give 1000 to {MOST_DRAWS}", options.n_draws)));
    }
    let session = of_single_fits(session);
    let poi = poi_of(model)?;
    let Some(parameter) = model.parameters.get(poi) else { return Err(InferenceError::Cancelled) };
    let kept = kept_bins(model, poi, options)?;
    let at = |value: f64| -> Result<Vec<f64>, InferenceError> {
        let mut point = point.to_vec();
        if let Some(x) = point.get_mut(poi) {
            *x = value;
        }
        yields(model, session, &point, &kept)
    };
    let (none, one, two) = (at(0.0)?, at(1.0)?, at(2.0)?);
    let signal: Vec<f64> = one.iter().zip(&none).map(|(one, none)| one - none).collect();
    let bends = |((none, two), signal): ((&f64, &f64), &f64)| {
        (two - none - 2.0 * signal).abs() > 1e-9 * (two.abs() + none.abs() + 1e-9)
    };
    if none.iter().zip(&two).zip(&signal).any(bends) {
        let name = &parameter.name;
        return Err(bad(format!("the yields are not linear in {name}; choose another parameter with --poi")));
    }
    let draws = draws(model, session, (point, covariance), (poi, &kept), options, control)?;
    let moments = Moments::of(&draws, kept.len());
    let coefficients = Coefficients::of(&moments, options.third_moments);
    let n = kept.len();
    let (columns, change) = factor(&coefficients.correlation, n);
    let number = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
    let bin = |(i, place): (usize, &Place)| SimplifiedBin {
        channel: place.channel.clone(),
        bin: place.bin,
        observed: number(&model.observed.main, place.index),
        signal: number(&signal, i),
        mean: number(&moments.mean, i),
        sigma: moments.sigma(i),
        skewness: {
            let cubed = moments.sigma(i).powi(3);
            if cubed > 0.0 { number(&moments.third, i) / cubed } else { 0.0 }
        },
        skewness_error: number(&moments.skewness_error, i),
        a: number(&coefficients.a, i),
        b: number(&coefficients.b, i),
        c: number(&coefficients.c, i),
    };
    let bins: Vec<SimplifiedBin> = kept.iter().enumerate().map(bin).collect();
    let variance_error = moments.variance_error.iter().copied().fold(0.0, f64::max);
    let skewness_error = moments.skewness_error.iter().copied().fold(0.0, f64::max);
    let skewness_counts = options.third_moments && skewness_error > MOST_SKEWNESS_ERROR;
    let mut warnings = model.warnings.clone();
    if variance_error > MOST_VARIANCE_ERROR || skewness_counts {
        warnings.push(format!(
            "the variances have errors of up to {}, the skewnesses of up to {}; take more draws",
            significant(variance_error),
            significant(skewness_error)
        ));
    }
    warnings.extend(doubts(&bins, &coefficients, change));
    Ok(SimplifyResult {
        param: parameter.name.clone(),
        workspace: workspace(&bins, &coefficients, &columns, parameter, &model.measurement),
        bins,
        correlation: coefficients.correlation.chunks(n.max(1)).map(<[f64]>::to_vec).collect(),
        n_directions: columns.len(),
        correlation_change: change,
        n_draws: options.n_draws,
        variance_error,
        seed: options.seed,
        validation: Vec::new(),
        converged: variance_error <= MOST_VARIANCE_ERROR && !skewness_counts,
        warnings,
    })
}

/// Returns the index of the parameter of interest.
fn poi_of(model: &Model) -> Result<usize, InferenceError> {
    let (measurement, format) = (model.measurement.clone(), model.format);
    model.poi().ok_or(InferenceError::NoPoi { analysis: "a simplified likelihood", measurement, format })
}

/// A bin of the simplified likelihood: its channel, its index within the channel, and its index among all bins.
struct Place {
    channel: String,
    bin: usize,
    index: usize,
}

/// Returns the bins of the channels that are kept, in the order of the model.
fn kept_bins(model: &Model, poi: usize, options: &SimplifyOptions) -> Result<Vec<Place>, InferenceError> {
    let bad = |problem: String| Err(InferenceError::CannotSimplify { problem });
    let known: Vec<&str> = model.channels.iter().map(|channel| channel.name.as_str()).collect();
    if let Some(name) = options.channels.iter().find(|name| !known.contains(&name.as_str())) {
        return bad(format!(
            "there is no binned channel '{name}'; there are {}",
            diagnosis::list(known.into_iter())
        ));
    }
    let mut kept = Vec::new();
    for channel in &model.channels {
        let mut modifiers = channel.samples.iter().flat_map(|sample| &sample.modifiers);
        let acts = modifiers.any(|m| model.acting_parameters(m, channel.n_bins).contains(&poi));
        let wanted =
            if options.channels.is_empty() { acts } else { options.channels.contains(&channel.name) };
        if wanted {
            let place = |bin| Place { channel: channel.name.clone(), bin, index: channel.first_bin + bin };
            kept.extend((0..channel.n_bins).map(place));
        }
    }
    if kept.is_empty() || kept.len() > MOST_BINS {
        return bad(format!("it would have {} bins; choose channels with 1 to {MOST_BINS}", kept.len()));
    }
    Ok(kept)
}

/// Returns the expected yields of the kept bins at points, point after point.
fn yields(
    model: &Model,
    session: &dyn Session,
    points: &[f64],
    kept: &[Place],
) -> Result<Vec<f64>, InferenceError> {
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let found = session.evaluate(&Data::observed(), points, request)?;
    let n_points = points.len() / model.parameters.len().max(1);
    let width = found.expected.len() / n_points.max(1);
    let of_point =
        |row: &[f64]| -> Vec<f64> { kept.iter().filter_map(|p| row.get(p.index).copied()).collect() };
    Ok(found.expected.chunks(width.max(1)).flat_map(of_point).collect())
}

/// Draws the nuisance parameters from the normal distribution with the given covariance, within their bounds, and returns the
/// yields of the kept bins for each draw.
fn draws(
    model: &Model,
    session: &dyn Session,
    (point, covariance): (&[f64], &Covariance),
    (poi, kept): (usize, &[Place]),
    options: &SimplifyOptions,
    control: Control<'_>,
) -> Result<Vec<f64>, InferenceError> {
    let bad = |problem: String| InferenceError::CannotSimplify { problem };
    let variance = |i: usize| covariance.values.get(i * (covariance.n + 1)).copied().unwrap_or(0.0);
    let moving: Vec<usize> = (0..model.parameters.len())
        .filter(|i| *i != poi && variance(*i) > 0.0 && variance(*i).is_finite())
        .collect();
    if moving.is_empty() {
        return Err(bad("no nuisance parameter has an uncertainty; give a fit with a covariance".to_owned()));
    }
    let m = moving.len();
    let element = |i: usize, j: usize| covariance.values.get(i * covariance.n + j).copied().unwrap_or(0.0);
    let part: Vec<f64> = moving
        .iter()
        .flat_map(|i| moving.iter().map(move |j| (*i, *j)))
        .map(|(i, j)| element(i, j))
        .collect();
    let lower = cholesky(&part, m).unwrap_or_else(|| {
        // Rounded covariances of files may have eigenvalues slightly below 0.
        let (values, vectors) = eigen(&part, m);
        let scaled =
            |(place, x): (usize, &f64)| x * values.get(place % m).copied().unwrap_or(0.0).max(0.0).sqrt();
        vectors.iter().enumerate().map(scaled).collect()
    });
    let normal = Normal::new(0.0, 1.0).map_err(|error| bad(error.to_string()))?;
    let mut all = Vec::with_capacity(kept.len() * usize::try_from(options.n_draws).unwrap_or(0));
    let mut first = 0;
    while first < options.n_draws {
        if control.is_cancelled() {
            return Err(InferenceError::Cancelled);
        }
        let last = (first + BATCH).min(options.n_draws);
        let mut points = Vec::new();
        for index in first..last {
            let stream = Stream::new(options.seed, index, SERIES);
            let z: Vec<f64> =
                (0..m).map(|k| normal.draw(&stream, u32::try_from(k).unwrap_or(u32::MAX))).collect();
            let mut drawn = point.to_vec();
            if let Some(x) = drawn.get_mut(poi) {
                *x = 0.0;
            }
            for (i, row) in moving.iter().zip(lower.chunks(m)) {
                let shift: f64 = row.iter().zip(&z).map(|(l, z)| l * z).sum();
                if let (Some(x), Some(p)) = (drawn.get_mut(*i), model.parameters.get(*i)) {
                    *x = (*x + shift).clamp(p.bounds.0, p.bounds.1);
                }
            }
            points.extend(drawn);
        }
        all.extend(yields(model, session, &points, kept)?);
        first = last;
        let done = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        control.progress(done(first), done(options.n_draws));
    }
    Ok(all)
}

/// Returns warnings about bins that the simplified likelihood describes badly.
fn doubts(bins: &[SimplifiedBin], coefficients: &Coefficients, change: f64) -> Vec<String> {
    let name = |bin: &SimplifiedBin| format!("{}[{}]", bin.channel, bin.bin);
    let mut notes = Vec::new();
    let skew: Vec<String> = coefficients.too_skew.iter().filter_map(|i| bins.get(*i)).map(name).collect();
    if !skew.is_empty() {
        let list = diagnosis::list(skew.iter().map(String::as_str));
        notes.push(format!("{list}: the background is more skew than a quadratic function can be"));
    }
    let wide: Vec<String> = bins.iter().filter(|bin| bin.sigma > 0.4 * bin.mean).map(name).collect();
    if !wide.is_empty() {
        let list = diagnosis::list(wide.iter().map(String::as_str));
        notes.push(format!(
            "{list}: the background has an uncertainty of more than 40 %, so that its normal parameter can make it negative"
        ));
    }
    if change > 1e-3 {
        notes.push(format!(
            "the correlation matrix was not positive; elements were changed by up to {}",
            exact(change)
        ));
    }
    notes
}
