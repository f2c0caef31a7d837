//! The significance of a signal that was searched at many places, such as at many masses (look-elsewhere effect).
//!
//! At each place the statistic is `q0`, as in [`crate::significance()`]. Without signal, the probability of a `q0` above `q`
//! anywhere is that at one place plus the mean number of places at which `q0` rises through `q`. The latter follows from
//! the number at a low level, which a few toys or the data themselves have (E. Gross, O. Vitells, Eur. Phys. J. C 70 (2010) 525,
//! arXiv:1005.1891).

mod crossings;
mod options;
mod result;
mod search;

use ns_core::{Constraint, Control, FitRequest, Model, OutcomeParts, Session};

pub use options::LookElsewhereOptions;
pub use result::LookElsewhereResult;

use self::crossings::{Crossings, global};
pub(crate) use self::search::{Searched, search};

use self::search::peak;
use crate::analysis::Analysis;
use crate::normal::upper_tail;
use crate::present::{exact, significant, with_error};
use crate::single_fits::of_single_fits;
use crate::toys::goodness::{binomial_error, check_number};
use crate::toys::places::{PlacesRow, PlacesToys};
use crate::toys::{INTERRUPTED, SAME_STATISTIC, ToyStatus};
use crate::{InferenceError, parameter_index};

/// Name of the analysis in messages.
const WHAT: &str = "a search at many places";

/// Largest number of places.
const MOST_POINTS: usize = 100_000;

/// Largest fraction of the crossings that the distance between the places may hide in a converged result.
const MOST_HIDDEN: f64 = 0.05;

/// Searches a signal at many places, and finds the significance of the largest excess anywhere among them.
///
/// The data are fitted at each place from two starting points, and without signal from the minima at all places. Each fit of a
/// toy has one starting point, and in models that can have several minima the further ones of all fits of toys. In such models
/// the toys may therefore miss minima that the data find, and the probability by toys and their crossings may be too small.
///
/// # Errors
/// For a parameter that is unknown, fixed, without a range, constrained or the parameter of interest; for a parameter that acts
/// on more than the signal; for a number of places or toys or a level that is not allowed; and for the errors of fits and
/// toys. [`InferenceError::Cancelled`] if the caller stopped the work before the data were fitted or the first toy was done.
pub fn look_elsewhere(
    model: &Model,
    session: &dyn Session,
    options: &LookElsewhereOptions,
    control: Control<'_>,
) -> Result<LookElsewhereResult, InferenceError> {
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let (single, own) =
        if options.n_toys.is_some() { (of_single_fits(session), silent) } else { (session, control) };
    let mut analysis = Analysis::new(model, single, &options.fit, own)?;
    let axis = Axis::new(&analysis, options)?;
    let search = search(&mut analysis, &axis, OutcomeParts::default())?;
    let mut warnings = model.warnings.clone();
    warnings.extend(analysis.about_weights());
    let mut is_good = search.told(model, &mut warnings);
    let grid_max = search.q0.iter().copied().flatten().fold(0.0, f64::max);
    let peak = peak(&mut analysis, &axis, &search, grid_max)?;
    let mut counted = Counted { interrupted: peak.interrupted, ..Counted::default() };
    match options.n_toys {
        None => counted.crossings.add(&search.q0, options.level),
        Some(n_toys) => {
            let requests: Vec<FitRequest> = axis.requests(&analysis).collect();
            let null = search.null.parameters.as_slice();
            let toys = PlacesToys::prepare(&analysis, session, (null, &requests), axis.poi, options.seed)?;
            let mut take = |rows: &[PlacesRow]| {
                rows.iter().for_each(|row| counted.add(row, options.level, grid_max));
                Ok(())
            };
            let run = toys.run((model, session), 0..n_toys, control, &mut take)?;
            if run.n_rows == 0 {
                return Err(InferenceError::Cancelled);
            }
            counted.n_toys = run.n_rows;
            counted.interrupted |= run.interrupted;
            counted.toys_per_s = (run.wall_s > 0.0).then(|| run.n_rows as f64 / run.wall_s);
        }
    }
    let Some(mean) = counted.crossings.mean(options.level) else {
        return Err(InferenceError::FitFailed {
            reason: "no toy converged, so that no crossings can be counted".to_owned(),
        });
    };
    if mean.hides_more_than(MOST_HIDDEN) {
        is_good = false;
        warnings.push(format!(
            "{} of {} crossings of q0 = {} may be hidden between the places; take more points",
            with_error(Some(mean.hidden), Some(mean.hidden_error)),
            significant(mean.value + mean.hidden),
            exact(options.level)
        ));
    }
    if peak.q0 < options.level {
        warnings.push(format!(
            "the largest q0 is below {}, where the crossings are counted: there is no excess to correct",
            exact(options.level)
        ));
    }
    counted.told(&mut warnings);
    warnings.extend(analysis.about_expected());
    let anywhere = global(peak.q0, options.level, mean);
    let p_local = upper_tail(peak.q0.sqrt());
    let good = counted.crossings.n;
    let has_toys = options.n_toys.is_some();
    let name = |index: usize| model.parameters.get(index).map_or_else(String::new, |p| p.name.clone());
    Ok(LookElsewhereResult {
        poi: name(axis.poi),
        param: name(axis.index),
        strength: search.strength(axis.poi),
        best_place: peak.place,
        q0_max: peak.q0,
        p_local,
        z_local: peak.q0.sqrt(),
        level: options.level,
        counted_in: if has_toys { "toys" } else { "data" }.into(),
        n_crossings: mean.value,
        n_crossings_error: mean.error,
        n_hidden: mean.hidden,
        n_hidden_error: mean.hidden_error,
        p_global: anywhere.p,
        p_global_error: anywhere.p_error,
        z_global: anywhere.z,
        trial_factor: anywhere.trial_factor,
        trial_factor_error: anywhere.trial_factor_error,
        p_global_toys: has_toys.then(|| counted.above as f64 / good as f64),
        p_global_toys_error: if has_toys { binomial_error(counted.above, good) } else { None },
        n_toys: counted.n_toys,
        n_nonconverged: counted.n_nonconverged,
        n_error: counted.n_error,
        seed: options.seed,
        toys_per_s: counted.toys_per_s,
        asimov_error: analysis.asimov_error(),
        converged: is_good && !counted.interrupted && !analysis.has_inexact_data(),
        interrupted: counted.interrupted,
        warnings,
        places: axis.places,
        q0: search.q0,
    })
}

/// The parameters of the search, and its places.
pub(crate) struct Axis {
    pub(crate) poi: usize,
    pub(crate) index: usize,
    pub(crate) places: Vec<f64>,
}

impl Axis {
    pub(crate) fn new(
        analysis: &Analysis<'_>,
        options: &LookElsewhereOptions,
    ) -> Result<Self, InferenceError> {
        let model = analysis.model;
        if let Some(n_toys) = options.n_toys {
            check_number(n_toys)?;
        }
        let bad = |problem: String| Err(InferenceError::BadPlaces { problem });
        let poi = analysis.poi(WHAT)?;
        let index = parameter_index(model, &options.param)?;
        if index == poi {
            return bad(
                "the places are those of the strength of the signal; name another parameter".to_owned()
            );
        }
        let Some((strength, parameter)) = model.parameters.get(poi).zip(model.parameters.get(index)) else {
            return Err(InferenceError::Cancelled);
        };
        if analysis.is_fixed(poi) || strength.bounds.0 >= strength.bounds.1 {
            let (name, format) = (strength.name.clone(), model.format);
            return Err(InferenceError::PoiFixed { analysis: WHAT, name, format });
        }
        let name = &parameter.name;
        if !matches!(parameter.constraint, Constraint::None) {
            return bad(format!(
                "{name} has a constraint, which prefers some places; name a parameter without one"
            ));
        }
        let (lower, upper) = parameter.bounds;
        let (start, stop) = (options.start.unwrap_or(lower), options.stop.unwrap_or(upper));
        if !(start.is_finite() && stop.is_finite() && start < stop && lower <= start && stop <= upper) {
            return bad(format!(
                "the range of {name} is {} to {}; give a rising range within its bounds {} to {} (start, stop)",
                exact(start),
                exact(stop),
                exact(lower),
                exact(upper)
            ));
        }
        if !(3..=MOST_POINTS).contains(&options.points) {
            return bad(format!("their number is {}; give 3 to {MOST_POINTS} (points)", options.points));
        }
        if !(options.level > 0.0 && options.level.is_finite()) {
            return bad(format!("the level is {}; give a number above 0, such as 0.5", exact(options.level)));
        }
        let last = options.points - 1;
        let at = |i: usize| if i == last { stop } else { start + (stop - start) * i as f64 / last as f64 };
        Ok(Self { poi, index, places: (0..options.points).map(at).collect() })
    }

    /// Returns the name of the parameter that says where the signal is.
    pub(crate) fn name<'b>(&self, model: &'b Model) -> Option<&'b str> {
        model.parameters.get(self.index).map(|p| p.name.as_str())
    }

    /// Returns the request of the fit without signal, and then those at the places.
    fn requests<'b>(&'b self, analysis: &'b Analysis<'_>) -> impl Iterator<Item = FitRequest> + 'b {
        let first = self.places.first().copied().unwrap_or(f64::NAN);
        let base = &analysis.base;
        let held = move |held: &[(usize, f64)]| {
            let mut request = base.clone();
            request.fixed.retain(|(i, _)| held.iter().all(|(j, _)| i != j));
            request.fixed.extend(held);
            request
        };
        let null = held(&[(self.poi, 0.0), (self.index, first)]);
        std::iter::once(null).chain(self.places.iter().map(move |place| held(&[(self.index, *place)])))
    }
}

/// What was counted in toys, or in the data.
#[derive(Default)]
struct Counted {
    crossings: Crossings,
    /// Number of toys whose largest `q0` is at least that of the data.
    above: u64,
    n_toys: u64,
    n_nonconverged: u64,
    n_error: u64,
    interrupted: bool,
    toys_per_s: Option<f64>,
}

impl Counted {
    fn add(&mut self, (status, values): &PlacesRow, level: f64, observed: f64) {
        match status {
            ToyStatus::Converged => {
                self.crossings.add(values, level);
                let largest = values.iter().copied().flatten().fold(0.0, f64::max);
                self.above += u64::from(largest >= observed - SAME_STATISTIC);
            }
            ToyStatus::NotConverged => self.n_nonconverged += 1,
            ToyStatus::Failed => self.n_error += 1,
        }
    }

    fn told(&self, warnings: &mut Vec<String>) {
        let left_out = self.n_nonconverged + self.n_error;
        if left_out > 0 {
            warnings.push(format!(
                "{left_out} of {} toys did not converge or failed and are left out",
                self.n_toys
            ));
        }
        if self.interrupted {
            warnings.push(INTERRUPTED.to_owned());
        }
    }
}
