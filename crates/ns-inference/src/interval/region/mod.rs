//! Confidence regions of two parameters with toys, by the construction of Feldman and Cousins.
//!
//! A point is inside the region if its p-value is above `1 - cl`, as for an [interval](super). The border is searched along
//! straight lines from the best fit, each like an end of an interval. So most toys are made near the border.

mod axes;
mod fill;
mod law;
mod options;
mod result;
mod spacing;

use ns_core::{Control, Model, Session};

pub use options::RegionOptions;
pub use result::{BorderPoint, RegionPoint, RegionResult};

use self::axes::Axes;
use self::law::{Law, law};
use self::spacing::between;
use super::blocks::{NoStore, Store};
use super::search::{Search, Tested};
use super::tester::{Ended, Tester};
use super::{MARGIN, follow};
use crate::analysis::Analysis;
use crate::observed::Observed;
use crate::present::exact;
use crate::single_fits::of_single_fits;
use crate::toys::goodness::check_number;
use crate::{InferenceError, parameter_index};

/// Name of the analysis in messages.
const WHAT: &str = "a confidence region";

/// How often directions are added where the border bends. At a corner each round halves the error.
const MOST_ROUNDS: usize = 12;

/// A direction from the best fit, with what is known of the border there.
struct Ray {
    angle: f64,
    /// Change of the parameters per unit of distance.
    direction: [f64; 2],
    /// Distance at which the direction leaves the bounds.
    room: f64,
    law: Law,
    /// The search with toys; `None` without toys, and where the best fit is at a bound.
    search: Option<Search>,
}

impl Ray {
    /// Returns the distance in units of which errors are given.
    fn unit(&self) -> f64 {
        match self.law {
            Law::At(distance) => distance,
            _ => self.room.min(1.0),
        }
    }

    /// Returns the distance of the border of the chi2 law.
    fn of_law(&self) -> Option<f64> {
        match self.law {
            Law::At(distance) => Some(distance),
            Law::Bound => Some(self.room),
            _ => None,
        }
    }
}

/// Finds the confidence region of two parameters: with toys by the construction of Feldman and Cousins, without toys by the
/// chi2 law.
///
/// # Errors
/// For a confidence level, a number of toys, directions or points or a precision that is not allowed; for a parameter that is
/// unknown or fixed, or named twice; and for the errors of fits and toys. [`InferenceError::Cancelled`] if the caller
/// stopped the work before the first toy. If it is stopped later, the result has what was found so far, and `interrupted` is
/// true.
pub fn region(
    model: &Model,
    session: &dyn Session,
    options: &RegionOptions,
    control: Control<'_>,
) -> Result<RegionResult, InferenceError> {
    search_region((model, session), options, control, &mut NoStore)
}

/// Finds the region. `store` keeps finished toys.
pub(super) fn search_region(
    (model, session): (&Model, &dyn Session),
    options: &RegionOptions,
    control: Control<'_>,
    store: &mut dyn Store,
) -> Result<RegionResult, InferenceError> {
    check(options)?;
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let mut analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
    let indices = parameters(&analysis, options)?;
    let names = indices.map(|index| model.parameters.get(index).map_or("", |p| p.name.as_str()));
    store.begin(&analysis, &names, (options.nuisance, options.seed))?;
    let mut observed = Observed::begin(&mut analysis, indices[0])?;
    let settings = (&options.fit, options.nuisance);
    let mut tester = Tester::new((model, session), indices.to_vec(), settings, options.seed, control);
    // Two degrees of freedom: the tail of the chi2 law is an exponential.
    let level = -2.0 * (1.0 - options.cl).ln();
    let mut found = Found { axes: None, rays: Vec::new(), ended: Ended::Moved };
    while found.ended == Ended::Moved {
        tester.forget();
        let mut job = Job { analysis: &mut analysis, observed: &mut observed, tester: &mut tester, store };
        found = find(&mut job, options, (indices, level))?;
    }
    Ok(fill::result((&analysis, &mut observed, &mut tester), options, (names, level), &found))
}

/// What a search uses.
struct Job<'a, 'b> {
    analysis: &'a mut Analysis<'b>,
    observed: &'a mut Observed,
    tester: &'a mut Tester<'b>,
    store: &'a mut dyn Store,
}

/// What a search found.
struct Found {
    /// The coordinates of the directions; `None` before the search.
    axes: Option<Axes>,
    /// The directions, by increasing angle.
    rays: Vec<Ray>,
    ended: Ended,
}

/// Searches the border in all directions, and then between them.
fn find(
    job: &mut Job<'_, '_>,
    options: &RegionOptions,
    (indices, level): ([usize; 2], f64),
) -> Result<Found, InferenceError> {
    let axes = Axes::new(job.analysis, job.observed, indices, level)?;
    let mut angles = axes.angles(options.directions);
    let mut found = Found { axes: None, rays: Vec::new(), ended: Ended::Done };
    for _ in 0..=MOST_ROUNDS {
        for angle in std::mem::take(&mut angles) {
            let direction = axes.direction(angle);
            let room = axes.room(direction);
            let law = match law(job.analysis, job.observed, (&axes, indices), direction, level) {
                Err(InferenceError::Cancelled) if job.tester.n_toys > 0 => {
                    found.ended = Ended::Interrupted;
                    break;
                }
                law => law?,
            };
            let mut ray = Ray { angle, direction, room, law, search: None };
            found.ended = if law == Law::Moved { Ended::Moved } else { toys(job, options, &axes, &mut ray)? };
            job.tester.finish_points();
            let place = found.rays.partition_point(|other| other.angle < angle);
            found.rays.insert(place, ray);
            if found.ended != Ended::Done {
                break;
            }
        }
        if found.ended != Ended::Done {
            break;
        }
        angles = between(&axes, &found.rays, options.precision);
        if angles.is_empty() {
            break;
        }
    }
    found.axes = Some(axes);
    Ok(found)
}

/// Searches the border in one direction with toys.
fn toys(
    job: &mut Job<'_, '_>,
    options: &RegionOptions,
    axes: &Axes,
    ray: &mut Ray,
) -> Result<Ended, InferenceError> {
    let Some(n_toys) = options.n_toys.filter(|_| ray.room > 0.0) else { return Ok(Ended::Done) };
    let unit = ray.unit();
    let last = ray.room.min((1.0 + MARGIN) * unit);
    let mut search = Search {
        alpha: 1.0 - options.cl,
        n_toys,
        bounds: (0.0, ray.room),
        grid: (1..=options.points).map(|i| last * i as f64 / options.points as f64).collect(),
        step: last / options.points as f64,
        resolution: 0.25 * options.precision * unit,
        tested: Vec::new(),
    };
    search.learn(Tested { value: 0.0, t: 0.0, counts: None });
    let direction = ray.direction;
    let place = |distance: f64| axes.point(direction, distance).to_vec();
    let ended = follow(job.analysis, job.observed, &mut search, (&mut *job.tester, &mut *job.store), &place)?;
    ray.search = Some(search);
    Ok(ended)
}

fn check(options: &RegionOptions) -> Result<(), InferenceError> {
    if let Some(n_toys) = options.n_toys {
        check_number(n_toys)?;
    }
    if !(options.cl > 0.0 && options.cl < 1.0) {
        return Err(InferenceError::ContourLevel { value: options.cl });
    }
    let bad = |problem: String| Err(InferenceError::BadRegion { problem });
    if !(8..=1000).contains(&options.directions) {
        return bad(format!("it has {} directions; give 8 to 1000", options.directions));
    }
    if !(2..=1000).contains(&options.points) {
        return bad(format!("it has {} points in each direction; give 2 to 1000", options.points));
    }
    if !(options.precision > 0.0 && options.precision <= 1.0) {
        let given = exact(options.precision);
        return bad(format!(
            "the precision is {given}; give a number above 0 and at most 1, for example 0.05"
        ));
    }
    Ok(())
}

/// Returns the indices of the two parameters.
fn parameters(analysis: &Analysis<'_>, options: &RegionOptions) -> Result<[usize; 2], InferenceError> {
    let model = analysis.model;
    let bad = |problem: String| Err(InferenceError::BadRegion { problem });
    let first = match &options.param {
        Some(name) => parameter_index(model, name)?,
        None => analysis.poi(WHAT)?,
    };
    let second = match &options.param2 {
        Some(name) => parameter_index(model, name)?,
        None => match model.pois.iter().copied().find(|poi| *poi != first) {
            Some(poi) => poi,
            None => return bad("it needs two parameters; name the second one".to_owned()),
        },
    };
    if first == second {
        return bad("both parameters are the same; name two different ones".to_owned());
    }
    for index in [first, second] {
        let parameter = model.parameters.get(index);
        let Some(parameter) = parameter.filter(|p| analysis.is_fixed(index) || p.bounds.0 >= p.bounds.1)
        else {
            continue;
        };
        let (name, format) = (parameter.name.clone(), model.format);
        return Err(InferenceError::PoiFixed { analysis: WHAT, name, format });
    }
    Ok([first, second])
}
