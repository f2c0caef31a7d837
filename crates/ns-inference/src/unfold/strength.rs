//! The choice of the strength of the penalty.

use ns_core::Data;

use super::options::{Regularisation, Strength, UnfoldOptions};
use super::result::TauPoint;
use super::roughness::Roughness;
use super::solve::{Problem, Solution};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::present::{exact, significant};

/// Largest number of scanned strengths.
const MOST_POINTS: usize = 10_000;

/// Largest ratio of the ends of a range that is chosen here.
const MOST_RANGE: f64 = 1e12;

/// Largest accepted distance of `ln tau` from the best value.
const ACCURACY: f64 = 1e-3;

/// Smallest information about a combination of factors that counts, relative to the largest.
const LEAST_INFORMATION: f64 = 1e-10;

/// The fit with the chosen strength, and the scan.
pub(super) struct Chosen {
    pub(super) solution: Solution,
    pub(super) scan: Vec<TauPoint>,
    pub(super) from: &'static str,
    pub(super) warnings: Vec<String>,
}

/// Checks the settings of the choice.
pub(super) fn check(options: &UnfoldOptions) -> Result<(), InferenceError> {
    let bad = |problem: String| Err(InferenceError::CannotUnfold { problem });
    if let Strength::Given(tau) = options.tau
        && options.regularisation != Regularisation::None
        && !(tau > 0.0 && tau.is_finite())
    {
        return bad(format!("the strength tau is {}; give a positive number", exact(tau)));
    }
    if let Some((low, high)) = options.tau_range
        && !(0.0 < low && low < high && high.is_finite())
    {
        return bad(format!(
            "the strengths are scanned from {} to {}; give two positive, rising numbers",
            exact(low),
            exact(high)
        ));
    }
    if !(3..=MOST_POINTS).contains(&options.points) {
        return bad(format!("{} strengths are scanned; give 3 to {MOST_POINTS} (points)", options.points));
    }
    Ok(())
}

/// Fits the data with the strength that `options` name or describe.
pub(super) fn choose(
    problem: &Problem<'_>,
    plain: &Analysis<'_>,
    options: &UnfoldOptions,
) -> Result<Chosen, InferenceError> {
    let (given, from) = match (options.regularisation, options.tau) {
        (Regularisation::None, _) => (Some(0.0), "none"),
        (_, Strength::Given(tau)) => (Some(tau), "given"),
        (_, Strength::LCurve) => (None, "l-curve"),
        (_, Strength::Correlation) => (None, "correlation"),
    };
    if let Some(tau) = given {
        let solution = problem.solve(plain, tau, None)?;
        return Ok(Chosen { solution, scan: Vec::new(), from, warnings: Vec::new() });
    }
    let by_curve = matches!(options.tau, Strength::LCurve);
    if by_curve && plain.session.saturated_nll(&plain.data)?.is_none() {
        return Err(InferenceError::CannotUnfold {
            problem: "an L-curve needs the chi2 of bins, and single events have none; choose tau by the correlations, or give it"
                .to_owned(),
        });
    }
    let range = match options.tau_range {
        Some(range) => range,
        None => range(problem, plain)?,
    };
    let scan = Scan { problem, plain, by_curve };
    scan.run(range, options.points, from)
}

/// Returns the range of strengths in which the penalty changes from having no effect on any combination of factors to
/// dominating all that it acts on. The information of the data about the factors is that of the data expected at the start
/// values.
fn range(problem: &Problem<'_>, plain: &Analysis<'_>) -> Result<(f64, f64), InferenceError> {
    let no_range = |why: &str| InferenceError::CannotUnfold {
        problem: format!("no range of strengths can be found: {why}; give one (tau_range)"),
    };
    let model = plain.model;
    let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let expected: Data = plain
        .session
        .asimov(&start, &plain.data)
        .map_err(|error| diagnosis::expectation(model, "the Asimov set cannot be made", error))?;
    // A weak penalty on each factor gives combinations a variance that the data do not determine.
    let weak = Problem {
        roughness: Roughness::new(Regularisation::Tikhonov, problem.truth.len()),
        truth: problem.truth.clone(),
        ..*problem
    };
    let own = weak.open(model, 1.0)?;
    let fit = weak.fit((&own.model, own.session.as_ref()), &expected, plain.base.clone())?;
    let spread = weak.solution(plain, 1.0, fit)?.spread;
    let penalised = spread.filter(|spread| spread.is_complete()).map(|spread| spread.penalised());
    let information = penalised.and_then(|penalised| penalised.inverse());
    let information = information.ok_or_else(|| no_range("a factor has no uncertainty"))?;
    let (values, vectors) = information.less(1.0, &weak.roughness.squares).eigen();
    let most = values.iter().copied().fold(0.0, f64::max);
    // In units of the information, each eigenvector of the penalty has a strength at which both are the same.
    let kept: Vec<usize> = (0..values.len())
        .filter(|k| values.get(*k).is_some_and(|value| *value > LEAST_INFORMATION * most))
        .collect();
    let column = |k: usize| -> Vec<f64> {
        let (k, n) = (kept.get(k).copied().unwrap_or(usize::MAX), vectors.n());
        let scale = values.get(k).map_or(0.0, |value| value.powf(-0.5));
        (0..n).map(|i| scale * vectors.get(i, k)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..kept.len()).map(column).collect();
    let at = |k: usize| columns.get(k).map_or(&[][..], Vec::as_slice);
    let scaled = super::matrix::Square::from_fn(kept.len(), |k, l| {
        super::matrix::dot(at(k), &problem.roughness.squares.apply(at(l)))
    });
    let (strengths, _) = scaled.eigen();
    let strongest = strengths.iter().copied().fold(0.0, f64::max);
    let weakest = strengths.iter().copied().filter(|x| *x > 1e-12 * strongest).fold(f64::INFINITY, f64::min);
    if !(strongest > 0.0 && weakest.is_finite()) {
        return Err(no_range("the penalty acts on nothing that the data determine"));
    }
    let high = 10.0 / weakest;
    Ok(((0.01 / strongest).max(high / MOST_RANGE), high))
}

/// A scan of the strength.
struct Scan<'a> {
    problem: &'a Problem<'a>,
    plain: &'a Analysis<'a>,
    by_curve: bool,
}

impl Scan<'_> {
    /// Scans a range from its upper end, where the factors are close to the prediction. Then searches for the best strength
    /// around the best point by golden sections.
    fn run(&self, range: (f64, f64), points: usize, from: &'static str) -> Result<Chosen, InferenceError> {
        let (low, high) = (range.0.ln(), range.1.ln());
        let control = self.problem.control;
        let at = |k: usize| high + (low - high) * k as f64 / (points - 1) as f64;
        let mut solutions: Vec<Solution> = Vec::with_capacity(points);
        for k in 0..points {
            if control.is_cancelled() {
                return Err(InferenceError::Cancelled);
            }
            let next = self.problem.solve(self.plain, at(k).exp(), solutions.last())?;
            solutions.push(next);
            control.progress(k + 1, points);
        }
        let scan = solutions.iter().rev().map(|one| self.point(one)).collect();
        let qualities: Vec<Option<f64>> = solutions.iter().map(|one| self.quality(one)).collect();
        let Some(best) = best_place(&qualities) else {
            return Err(InferenceError::CannotUnfold {
                problem: format!(
                    "no strength between {} and {} has a converged fit that determines all factors; give a strength (tau), or \
                     another range",
                    significant(range.0),
                    significant(range.1)
                ),
            });
        };
        let mut warnings = Vec::new();
        if best == 0 || best == points - 1 {
            warnings.push(format!(
                "the strength {} is at the end of the scanned range, within which there is no best one; give another range, or \
                 choose the strength in another way",
                significant(at(best).exp())
            ));
        }
        let near = solutions.swap_remove(best);
        let around = (at((best + 1).min(points - 1)), at(best.saturating_sub(1)));
        let found = self.golden(around, &near)?;
        let tau = found.as_ref().map_or(near.tau, |solution| solution.tau);
        // The fit whose numbers are reported has the starting point and the search of other fits too.
        let searched = self.problem.solve(self.plain, tau, None)?;
        let local = found.unwrap_or(near);
        let solution = if is_better(&searched, &local) { searched } else { local };
        Ok(Chosen { solution, scan, from, warnings })
    }

    /// Returns the best solution with `ln tau` between two ends, if it is better than `near`.
    fn golden(
        &self,
        (mut low, mut high): (f64, f64),
        near: &Solution,
    ) -> Result<Option<Solution>, InferenceError> {
        let section = 0.5 * (5.0_f64.sqrt() - 1.0);
        let solve = |x: f64| self.problem.solve(self.plain, x.exp(), Some(near));
        let value = |solution: &Solution| self.quality(solution).unwrap_or(f64::NEG_INFINITY);
        let mut left = solve(high - section * (high - low))?;
        let mut right = solve(low + section * (high - low))?;
        while high - low > ACCURACY {
            if self.problem.control.is_cancelled() {
                return Err(InferenceError::Cancelled);
            }
            if value(&left) >= value(&right) {
                high = right.tau.ln();
                right = left;
                left = solve(high - section * (high - low))?;
            } else {
                low = left.tau.ln();
                left = right;
                right = solve(low + section * (high - low))?;
            }
        }
        let best = if value(&left) >= value(&right) { left } else { right };
        Ok(Some(best).filter(|best| value(best) >= value(near)))
    }

    /// Returns a number that is largest at the best strength; `None` if the fit did not converge or has no such number.
    fn quality(&self, solution: &Solution) -> Option<f64> {
        if !solution.fit.converged() {
            return None;
        }
        if self.by_curve {
            solution.curvature(&self.problem.roughness)
        } else {
            solution.mean_correlation().map(|mean| -mean)
        }
    }

    fn point(&self, solution: &Solution) -> TauPoint {
        TauPoint {
            tau: solution.tau,
            chi2: solution.chi2,
            roughness: solution.roughness,
            curvature: solution.curvature(&self.problem.roughness),
            mean_correlation: solution.mean_correlation(),
            converged: solution.fit.converged(),
        }
    }
}

/// Returns the place of the largest number that is not below its neighbours; if there is none, that of the largest number.
/// Towards weak penalties the curvature of an L-curve tends to a constant, which may be larger than at its corner.
fn best_place(qualities: &[Option<f64>]) -> Option<usize> {
    let at = |k: usize| qualities.get(k).copied().flatten();
    let is_peak = |k: &usize| {
        let around = k.checked_sub(1).and_then(at).zip(at(k + 1));
        around.zip(at(*k)).is_some_and(|((left, right), here)| here >= left && here >= right)
    };
    let largest = |places: &mut dyn Iterator<Item = usize>| {
        places.filter_map(|k| Some((k, at(k)?))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(k, _)| k)
    };
    let n = qualities.len();
    largest(&mut (0..n).filter(is_peak)).or_else(|| largest(&mut (0..n)))
}

/// Returns whether a fit with the same penalty is better than another one.
fn is_better(first: &Solution, second: &Solution) -> bool {
    match (first.fit.converged(), second.fit.converged()) {
        (true, true) | (false, false) => first.penalised_nll() < second.penalised_nll(),
        (first, _) => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_more_than_a_higher_end() {
        let some = |list: &[f64]| -> Vec<Option<f64>> { list.iter().copied().map(Some).collect() };
        assert_eq!(best_place(&some(&[0.1, 0.5, 0.3, 0.7, 0.4, 2.0])), Some(3));
        assert_eq!(best_place(&some(&[0.1, 0.2, 0.3])), Some(2));
        assert_eq!(best_place(&[None, Some(0.9), None, Some(0.2), Some(0.4), Some(0.1)]), Some(4));
        assert_eq!(best_place(&[None, None]), None);
    }
}
