//! Fills the result of a region.

use super::result::{BorderPoint, RegionPoint, RegionResult};
use super::spacing::{distance, error};
use super::{Axes, Found, Law, Ray, RegionOptions};
use crate::analysis::Analysis;
use crate::goodness::chi2_tail;
use crate::interval::search::{Side, Tested};
use crate::interval::tester::{Ended, Tester};
use crate::observed::Observed;
use crate::present::significant;
use crate::toys::INTERRUPTED;
use crate::toys::goodness::binomial_error;

/// Makes the result of a search.
pub(super) fn result(
    (analysis, observed, tester): (&Analysis<'_>, &mut Observed, &mut Tester<'_>),
    options: &RegionOptions,
    (names, level): ([&str; 2], f64),
    found: &Found,
) -> RegionResult {
    let has_toys = options.n_toys.is_some();
    let rays = found.rays.as_slice();
    let (border, mut points): (Vec<BorderPoint>, Vec<RegionPoint>) = match &found.axes {
        Some(axes) => {
            let border = rays.iter().map(|ray| border(axes, ray, has_toys)).collect();
            let tested = rays.iter().filter_map(|ray| ray.search.as_ref().map(|search| (ray, search)));
            let points = tested.flat_map(|(ray, search)| search.tested.iter().map(move |one| (ray, one)));
            (border, points.filter_map(|(ray, tested)| point(axes, ray, tested)).collect())
        }
        None => (Vec::new(), Vec::new()),
    };
    points.sort_by(|a, b| a.at.partial_cmp(&b.at).unwrap_or(std::cmp::Ordering::Equal));
    let searches = rays.iter().filter_map(|ray| ray.search.as_ref());
    let connected = has_toys.then(|| searches.clone().all(super::Search::is_connected));
    let spacing_error = found.axes.as_ref().and_then(|axes| error(axes, rays));
    let mut warnings = analysis.model.warnings.clone();
    warnings.extend(analysis.about_weights());
    let is_known = told(&border, spacing_error, options, &mut warnings);
    if connected == Some(false) {
        warnings.push(
            "points inside the border are outside the region: along a direction from the best fit the accepted points are \
             not connected; the p-values of the points show where"
                .to_owned(),
        );
    }
    let left_out: u64 = points.iter().map(|p| p.n_nonconverged + p.n_error).sum();
    if left_out > 0 {
        warnings.push(format!(
            "{left_out} toys did not converge or failed and are left out; the errors of the border contain them"
        ));
    }
    let interrupted = found.ended == Ended::Interrupted;
    if interrupted {
        warnings.push(INTERRUPTED.to_owned());
    }
    if !observed.best().converged() {
        let problems = crate::diagnosis::not_converged(analysis.model, observed.best());
        warnings.push(format!("the free fit: {}", problems.join("; ")));
    }
    let is_known = is_known && tester.doubts.is_empty();
    warnings.append(&mut tester.doubts);
    warnings.append(&mut observed.notes);
    warnings.extend(analysis.about_expected());
    RegionResult {
        params: names.map(str::to_owned),
        method: if has_toys { "feldman-cousins" } else { "likelihood" }.into(),
        nuisance: has_toys.then_some(options.nuisance),
        cl: options.cl,
        best_fit: found.axes.as_ref().map_or([f64::NAN; 2], |axes| axes.best),
        level,
        border,
        spacing_error,
        connected,
        points,
        accepted_error: options.precision,
        n_toys: tester.n_toys,
        seed: options.seed,
        toys_per_s: tester.toys_per_s(),
        converged: is_known
            && !interrupted
            && observed.converged
            && observed.best().converged()
            && !analysis.has_inexact_data(),
        interrupted,
        warnings,
    }
}

/// Adds warnings about the border. Returns whether it is known well enough.
fn told(
    border: &[BorderPoint],
    spacing_error: Option<f64>,
    options: &RegionOptions,
    warnings: &mut Vec<String>,
) -> bool {
    let missing: Vec<&str> = border.iter().filter_map(|point| point.reason.as_deref()).collect();
    if let Some(reason) = missing.first() {
        warnings.push(format!(
            "the border was not found in {} of {} directions: {reason}",
            missing.len(),
            border.len()
        ));
    }
    let accepted = options.precision;
    let errors = border.iter().filter_map(|point| point.relative_error).filter(|error| *error > accepted);
    let (n, largest) = errors.fold((0_usize, 0.0), |(n, most), error| (n + 1, f64::max(most, error)));
    if n > 0 {
        warnings.push(format!(
            "the error of the border is above the accepted {} in {n} of {} directions (largest {}); take more toys, or accept \
             a larger error (precision)",
            significant(accepted),
            border.len(),
            significant(largest)
        ));
    }
    let spaced = spacing_error.is_some_and(|error| error <= accepted);
    if !spaced {
        let shown =
            spacing_error.map_or_else(|| "is not known".to_owned(), |e| format!("is {}", significant(e)));
        warnings.push(format!(
            "the error of the border between the directions {shown}, not at most the accepted {}; take more directions",
            significant(accepted)
        ));
    }
    missing.is_empty() && n == 0 && spaced
}

fn border(axes: &Axes, ray: &Ray, has_toys: bool) -> BorderPoint {
    let at = |distance: f64| axes.point(ray.direction, distance);
    let found = distance(ray);
    let error = match &ray.search {
        Some(search) => search.border(Side::Upper, "").error,
        None => (has_toys && ray.room == 0.0).then_some(0.0),
    };
    let unit = ray.unit();
    let reason = match (found, &ray.search) {
        (Some(_), _) => None,
        (None, Some(search)) => {
            let last = search.tested.last().map_or(axes.best, |tested| at(tested.value));
            let [x, y] = last.map(significant);
            Some(format!("the search ended at ({x}, {y})"))
        }
        (None, None) => Some("-2 ln L does not rise enough".to_owned()),
    };
    BorderPoint {
        angle: ray.angle,
        at: found.map(at),
        error: error.map(|error| ray.direction.map(|d| (d * error).abs())),
        relative_error: error.map(|error| if unit > 0.0 { error / unit } else { 0.0 }),
        at_bound: found.is_some_and(|distance| distance >= ray.room),
        reason,
        asymptotic: match ray.law {
            Law::Moved => None,
            _ => ray.of_law().map(at),
        },
    }
}

/// Returns a tested point; `None` for the best fit, which needs no toys.
fn point(axes: &Axes, ray: &Ray, tested: &Tested) -> Option<RegionPoint> {
    if tested.value == 0.0 {
        return None;
    }
    let counts = tested.counts.unwrap_or_default();
    Some(RegionPoint {
        at: axes.point(ray.direction, tested.value),
        t: tested.t,
        p_value: if tested.counts.is_none() { Some(1.0) } else { counts.p_value() },
        p_value_error: tested.counts.and_then(|counts| binomial_error(counts.above, counts.good())),
        p_value_asymptotic: chi2_tail(tested.t, 2.0),
        n_toys: counts.run,
        n_nonconverged: counts.nonconverged,
        n_error: counts.error,
    })
}
