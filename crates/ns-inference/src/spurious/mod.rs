//! Spurious signals: the signal that a fit finds where there is none, because its background cannot describe the true one.
//!
//! Each of several backgrounds is fitted to its own data without signal. The data that it then expects are fitted with the
//! tested model, with the signal at many places. The fitted strengths are the spurious signals; they have no statistical
//! fluctuation (ATLAS collaboration, Phys. Lett. B 716 (2012) 1; ATL-PHYS-PUB-2020-028).

mod background;
mod options;
mod result;

use ns_core::{Control, FitOutcome, Model, OutcomeParts, Session};

pub use options::SpuriousOptions;
pub use result::{SpuriousBackground, SpuriousPeak, SpuriousResult};

use self::background::expected;
use crate::analysis::Analysis;
use crate::look_elsewhere::{Axis, Searched, search};
use crate::present::exact;
use crate::single_fits::of_single_fits;
use crate::{InferenceError, SessionOpener};

/// The parts of a fit that are wanted: the uncertainty of the strength.
const WANTED: OutcomeParts = OutcomeParts { uncertainties: true, covariance: false, inverse: false };

/// Finds the spurious signals of a model with each of the `backgrounds`, which are models with names. `opener` opens their
/// sessions, which are on the CPU.
///
/// # Errors
/// For a list without backgrounds, a background without the channels of the model, a strength that cannot be negative, and the
/// errors of searches at many places and of fits.
pub fn spurious_signal(
    model: &Model,
    session: &dyn Session,
    backgrounds: &[(String, &Model)],
    options: &SpuriousOptions,
    opener: &dyn SessionOpener,
    control: Control<'_>,
) -> Result<SpuriousResult, InferenceError> {
    let bad = |problem: String| InferenceError::BadPlaces { problem };
    if backgrounds.is_empty() {
        return Err(bad("there are no backgrounds to test with; give at least one model".to_owned()));
    }
    if !(options.limit > 0.0 && options.limit.is_finite()) {
        return Err(bad(format!(
            "the limit is {}; give a positive number, such as 0.2",
            exact(options.limit)
        )));
    }
    let mut analysis = Analysis::new(model, of_single_fits(session), &options.fit, control)?;
    let axis = Axis::new(&analysis, &options.search())?;
    let name = |index: usize| model.parameters.get(index).map_or_else(String::new, |p| p.name.clone());
    let (poi, param) = (name(axis.poi), name(axis.index));
    if model.parameters.get(axis.poi).is_some_and(|p| p.bounds.0 >= 0.0) {
        return Err(bad(format!("the strength {poi} cannot be negative; give it a lower bound below 0")));
    }
    let silent = analysis.silent();
    let mut warnings = model.warnings.clone();
    let mut converged = true;
    let mut found = Vec::with_capacity(backgrounds.len());
    for (name, background) in backgrounds {
        let made = expected((name, background), model, &axis, (&options.fit, opener, silent))?;
        warnings.extend(made.warnings);
        analysis.data = made.data;
        let searched = search(&mut analysis, &axis, WANTED)?;
        let mut told = Vec::new();
        converged &= searched.told(model, &mut told) && made.converged;
        warnings.extend(told.into_iter().map(|text| format!("background {name}: {text}")));
        found.push(of_background(name, made.n_events, &searched, &axis));
    }
    let largest = |of: fn(&SpuriousBackground) -> Option<f64>| found.iter().filter_map(of).reduce(f64::max);
    let spurious_signal = largest(|own| own.largest.as_ref().map(|peak| peak.strength.abs()));
    let largest_ratio = largest(|own| own.largest_ratio.as_ref().map(|peak| peak.ratio.abs()));
    Ok(SpuriousResult {
        poi,
        param,
        places: axis.places.clone(),
        backgrounds: found,
        spurious_signal,
        largest_ratio,
        limit: options.limit,
        passed: largest_ratio.map(|ratio| ratio <= options.limit),
        converged,
        warnings,
    })
}

/// Reads the fits with one background.
fn of_background(name: &str, n_events: f64, searched: &Searched, axis: &Axis) -> SpuriousBackground {
    let each = |value: fn(&FitOutcome, usize) -> Option<f64>| -> Vec<Option<f64>> {
        searched.fits().map(|fit| value(fit.filter(|fit| fit.converged())?, axis.poi)).collect()
    };
    let strength = each(|fit, poi| fit.parameters.get(poi).copied());
    let uncertainty = each(|fit, poi| fit.uncertainties.get(poi).copied().flatten());
    let peaks: Vec<SpuriousPeak> = axis
        .places
        .iter()
        .zip(strength.iter().zip(&uncertainty))
        .filter_map(|(place, (strength, sigma))| {
            let (strength, uncertainty) = (*strength.as_ref()?, *sigma.as_ref()?);
            Some(SpuriousPeak { place: *place, strength, uncertainty, ratio: strength / uncertainty })
        })
        .collect();
    let largest = |size: fn(&SpuriousPeak) -> f64| {
        peaks.iter().max_by(|a, b| size(a).abs().total_cmp(&size(b).abs())).cloned()
    };
    SpuriousBackground {
        name: name.to_owned(),
        n_events,
        largest: largest(|peak| peak.strength),
        largest_ratio: largest(|peak| peak.ratio),
        strength,
        uncertainty,
    }
}
