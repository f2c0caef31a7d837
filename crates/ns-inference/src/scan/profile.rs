//! The conditional fits of a scan. They are made in waves (sets of independent fits), from a coarse to a fine grid.
//! Afterwards some points are fitted again from the minima of their neighbours, which may give a lower minimum.

use ns_core::{EvaluationRequest, FitFailure, FitOutcome, FitRequest, FitTask, OutcomeParts, Search, Start};

use super::Tally;
use super::grid::Grid;
use super::order::{Along, waves};
use super::predict::{MOST, Node, interpolate};
use crate::InferenceError;
use crate::analysis::{Analysis, Fitted};
use crate::lowest::Stop;

/// The free fit of a scan, with a slope and a tolerance that the conditional fits use.
pub(super) struct Centre<'a> {
    pub(super) fit: &'a FitOutcome,
    /// Change of each parameter per unit of the scanned parameter, from the covariance of the free fit. `None` for a
    /// scan in two parameters.
    pub(super) slope: Option<Vec<f64>>,
    /// A conditional fit counts as a lower minimum if its `-2 ln L` is below that of the free fit by more than this
    /// number.
    pub(super) tolerance: f64,
}

impl<'a> Centre<'a> {
    /// Creates the centre of a scan over `grid`. `fit` is the free fit. The slope is computed from its covariance.
    pub(super) fn new(fit: &'a FitOutcome, grid: &Grid, tolerance: f64) -> Self {
        let index = grid.first.index;
        let inverse = fit.inverse_hessian().filter(|_| grid.second.is_none());
        let slope = inverse.and_then(|inverse| {
            let row = inverse.row(index)?;
            let variance = row.get(index).copied().filter(|v| *v > 0.0 && v.is_finite())?;
            Some(row.iter().map(|x| if x.is_finite() { x / variance } else { 0.0 }).collect())
        });
        Self { fit, slope, tolerance }
    }

    /// Returns the rise of `-2 ln L` above the minimum of the free fit. `nll` is the value of `-ln L`.
    pub(super) fn rise(&self, nll: f64) -> f64 {
        2.0 * (nll - self.fit.nll)
    }
}

/// The fits of a scan that have been made so far.
struct Fits<'a> {
    grid: &'a Grid,
    centre: &'a Centre<'a>,
    done: Vec<Option<Fitted>>,
    tally: &'a mut Tally,
}

/// Makes the conditional fit at every point of `grid`. Returns the fits in the order of the grid.
///
/// # Errors
/// [`Stop::Lower`] if a conditional fit ends below the minimum; [`Stop::Error`] if the device fails.
pub(super) fn profile(
    analysis: &mut Analysis<'_>,
    grid: &Grid,
    centre: &Centre<'_>,
    tally: &mut Tally,
) -> Result<Vec<Fitted>, Stop> {
    let mut fits = Fits { grid, centre, done: vec![None; grid.len()], tally };
    let (n1, n2) = grid.shape();
    let mut left = grid.len();
    for (round, wave) in waves(n1, n2).into_iter().enumerate() {
        if analysis.is_cancelled() {
            break;
        }
        analysis.expect(left);
        left -= wave.len();
        let starts = fits.starts(analysis, &wave)?;
        // The fits at the ends of the scan are far from the best fit. They search for the global minimum. If they
        // find a lower minimum, the starting points of the fits in between are interpolated from this minimum.
        let search = if round == 0 { analysis.base.search } else { analysis.variation_search() };
        let tasks: Vec<(usize, FitRequest)> = wave
            .iter()
            .zip(starts)
            .map(|((k, _), start)| (*k, FitRequest { search, ..analysis.conditional(&grid.held(*k), start) }))
            .collect();
        fits.run(analysis, tasks.clone())?;
        fits.compare(analysis, tasks)?;
        fits.lower()?;
    }
    fits.ask_neighbours(analysis)?;
    fits.lower()?;
    let cancelled = |fit: Option<Fitted>| fit.unwrap_or(Err(FitFailure::Cancelled));
    Ok(fits.done.into_iter().map(cancelled).collect())
}

impl Fits<'_> {
    /// Returns the fit at point `k`; `None` if there is no converged fit.
    fn good(&self, k: usize) -> Option<&FitOutcome> {
        self.done.get(k)?.as_ref()?.as_ref().ok().filter(|fit| fit.converged())
    }

    /// Returns the points between which minima are interpolated, in ascending order, each with its grid index. These
    /// are the `points` whose fits converged. In a scan in one parameter, the best fit is also included, with the grid
    /// index `None`.
    fn nodes(&self, points: impl Iterator<Item = usize>, along: Along) -> Vec<(Option<usize>, Node<'_>)> {
        let node = |k: usize| {
            let point = &self.good(k)?.parameters;
            Some((Some(k), Node { x: self.grid.x(k, along), point, slope: None }))
        };
        let mut nodes: Vec<(Option<usize>, Node<'_>)> = points.filter_map(node).collect();
        if self.grid.second.is_none()
            && let Some(x) = self.centre.fit.parameters.get(self.grid.first.index)
        {
            let slope = self.centre.slope.as_deref();
            nodes.push((None, Node { x: *x, point: &self.centre.fit.parameters, slope }));
        }
        nodes.sort_by(|a, b| a.1.x.total_cmp(&b.1.x));
        nodes
    }

    /// Returns the points nearest to `k` whose fits converged, up to [`MOST`] on each side of `k` in the direction
    /// `along`.
    fn near(&self, k: usize, along: Along) -> Vec<Node<'_>> {
        let (before, after) = self.grid.sides(k, along);
        let fitted = |k: &usize| self.good(*k).is_some();
        let points = before.filter(fitted).take(MOST).chain(after.filter(fitted).take(MOST));
        self.nodes(points, along).into_iter().map(|(_, node)| node).collect()
    }

    /// Returns the starting points of the fits of a wave (a set of points that are fitted together). Each starting
    /// point is an interpolation through several neighbours. If the interpolation differs much from the straight line
    /// through the two nearest neighbours, `-ln L` is evaluated at both predictions, and the better one is used. The
    /// starting points depend only on the free fit and on earlier waves.
    fn starts(
        &self,
        analysis: &Analysis<'_>,
        wave: &[(usize, Along)],
    ) -> Result<Vec<Vec<f64>>, InferenceError> {
        let mut candidates: Vec<(usize, Vec<f64>)> = Vec::with_capacity(2 * wave.len());
        for (slot, &(k, along)) in wave.iter().enumerate() {
            let held = self.grid.held(k);
            let x = self.grid.x(k, along);
            let mut add =
                |point: Vec<f64>| candidates.push((slot, analysis.admit(self.centre.fit, &held, point)));
            if along == Along::Nothing {
                add(analysis.predict(self.centre.fit, &held));
                continue;
            }
            let nodes = self.near(k, along);
            let curve = interpolate(&nodes, x);
            let after = nodes.partition_point(|node| node.x < x);
            let straight: Vec<Node<'_>> = [after.checked_sub(1).and_then(|i| nodes.get(i)), nodes.get(after)]
                .into_iter()
                .flatten()
                .map(|node| Node { slope: None, ..*node })
                .collect();
            let line = interpolate(&straight, x);
            match (curve, line) {
                (None, None) => add(analysis.predict(self.centre.fit, &held)),
                (Some(curve), Some(line)) if self.distance(analysis, &curve, &line) < SMOOTH => add(curve),
                (curve, line) => curve.into_iter().chain(line).for_each(add),
            }
        }
        if candidates.len() == wave.len() {
            return Ok(candidates.into_iter().map(|(_, point)| point).collect());
        }
        let points: Vec<f64> = candidates.iter().flat_map(|(_, point)| point.iter().copied()).collect();
        let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
        let nll = analysis.session.evaluate(&analysis.data, &points, request)?.nll;
        let mut best: Vec<Option<(f64, Vec<f64>)>> = vec![None; wave.len()];
        for ((slot, point), nll) in candidates.into_iter().zip(nll) {
            let value = if nll.is_finite() { nll } else { f64::INFINITY };
            if let Some(best) = best.get_mut(slot)
                && best.as_ref().is_none_or(|(lowest, _)| value < *lowest)
            {
                *best = Some((value, point));
            }
        }
        Ok(best.into_iter().map(|best| best.map_or_else(Vec::new, |(_, point)| point)).collect())
    }

    /// Makes the requested fits. If a point already has a fit, the better of both fits is kept. Returns the indices of
    /// the points whose fit was replaced.
    fn run(
        &mut self,
        analysis: &mut Analysis<'_>,
        requests: Vec<(usize, FitRequest)>,
    ) -> Result<Vec<usize>, InferenceError> {
        let (targets, tasks) = with_data(analysis, requests);
        let fits = analysis.run(&tasks, OutcomeParts::default())?;
        Ok(self.take(targets.into_iter().zip(fits)))
    }

    /// Keeps each fit that is better than the fit of the same point. Returns the indices of the points whose fit was
    /// replaced.
    fn take(&mut self, fits: impl Iterator<Item = (usize, Fitted)>) -> Vec<usize> {
        let mut changed = Vec::new();
        for (k, new) in fits {
            let Some(slot) = self.done.get_mut(k) else { continue };
            if let Ok(fit) = &new {
                self.tally.count(fit);
            }
            if better(&new, slot.as_ref(), self.centre.tolerance) {
                *slot = Some(new);
                changed.push(k);
            }
        }
        changed
    }

    /// Compares the fits of a wave (a set of points that are fitted together) with others that may find a lower
    /// minimum ([`Analysis::compare`]). `requests` are those of the fits of the wave.
    fn compare(
        &mut self,
        analysis: &mut Analysis<'_>,
        requests: Vec<(usize, FitRequest)>,
    ) -> Result<(), InferenceError> {
        let cancelled = || Err(FitFailure::Cancelled);
        let fit = |k: usize| self.done.get(k).cloned().flatten().unwrap_or_else(cancelled);
        let fits: Vec<Fitted> = requests.iter().map(|(k, _)| fit(*k)).collect();
        let (places, tasks): (Vec<usize>, Vec<FitTask>) = with_data(analysis, requests);
        let wanted = (tasks.as_slice(), OutcomeParts::default());
        let further = analysis.compare(self.centre.fit, wanted, &fits, true, |_| false)?;
        self.take(further.into_iter().filter_map(|(i, fit)| Some((*places.get(i)?, fit))));
        Ok(())
    }

    /// Returns [`Stop::Lower`] with the lowest fit of the scan if this fit lies below the free fit by more than the
    /// tolerance.
    fn lower(&self) -> Result<(), Stop> {
        let fits = self.done.iter().flatten().flatten();
        let Some(lowest) = fits.min_by(|a, b| a.nll.total_cmp(&b.nll)) else { return Ok(()) };
        let depth = -self.centre.rise(lowest.nll);
        if depth > self.centre.tolerance {
            return Err(Stop::Lower(lowest.parameters.clone(), depth));
        }
        Ok(())
    }

    /// Repeats fits in regions where the fitted parameters do not change smoothly from point to point, because
    /// neighbouring fits may have ended in different minima. The new fits start at the minima of neighbouring points.
    /// If a fit becomes lower, its neighbours are repeated too. In models of up to medium size
    /// ([`Analysis::is_middling`]), small deviations from a straight line suffice for a repetition.
    fn ask_neighbours(&mut self, analysis: &mut Analysis<'_>) -> Result<(), InferenceError> {
        // In small models all neighbours are asked.
        let smooth = match (analysis.is_small() && analysis.several_minima, analysis.is_middling()) {
            (true, _) => f64::NEG_INFINITY,
            (_, true) => SMOOTHER,
            _ => SMOOTH,
        };
        let mut pairs = self.rough_pairs(analysis, smooth);
        for _ in 0..self.grid.len() {
            if pairs.is_empty() || analysis.is_cancelled() {
                break;
            }
            let requests: Vec<(usize, FitRequest)> = pairs
                .iter()
                .filter_map(|&(to, from)| {
                    let point = match from {
                        Some(from) => &self.good(from)?.parameters,
                        None => &self.centre.fit.parameters,
                    };
                    let held = self.grid.held(to);
                    let start = analysis.admit(self.centre.fit, &held, point.clone());
                    Some((to, analysis.conditional(&held, start)))
                })
                .collect();
            let changed = self.run(analysis, requests)?;
            pairs = changed.iter().flat_map(|k| self.around(*k)).collect();
            pairs.sort_unstable();
            pairs.dedup();
        }
        Ok(())
    }

    /// Returns one pair `(neighbour, Some(k))` for each neighbour of `k` on the grid. `neighbour` is the point to fit
    /// again, and the fit starts at the minimum at `k`.
    fn around(&self, k: usize) -> Vec<(usize, Option<usize>)> {
        let mut pairs = Vec::with_capacity(4);
        for along in [Along::First, Along::Second] {
            let (mut before, mut after) = self.grid.sides(k, along);
            pairs.extend(before.next().into_iter().chain(after.next()).map(|other| (other, Some(k))));
        }
        pairs
    }

    /// Finds places where the parameters at three consecutive points do not lie on a smooth curve, i.e. where
    /// [`Self::bend`] exceeds `smooth`. Returns the fits that have to be repeated there, as pairs `(to, from)` of
    /// neighbouring points: the fit at `to` is repeated, starting at the minimum at `from`. If `from` is `None`, it
    /// starts at the best fit.
    fn rough_pairs(&self, analysis: &Analysis<'_>, smooth: f64) -> Vec<(usize, Option<usize>)> {
        let (n1, n2) = self.grid.shape();
        let rows = (0..n2).map(|j| (j * n1, Along::First));
        let columns = (0..n1).map(|i| (i, Along::Second)).filter(|_| self.grid.second.is_some());
        let mut pairs = Vec::new();
        for (k, along) in rows.chain(columns) {
            let nodes = self.nodes(self.grid.line(k, along), along);
            let mut ask = |a: &(Option<usize>, Node<'_>), b: &(Option<usize>, Node<'_>)| {
                pairs.extend(a.0.map(|to| (to, b.0)).into_iter().chain(b.0.map(|to| (to, a.0))));
            };
            if let [a, b] = nodes.as_slice()
                && smooth < 0.0
            {
                ask(a, b);
            }
            for window in nodes.windows(3) {
                let [a, b, c] = window else { continue };
                if self.bend(analysis, [a.1, b.1, c.1]) > smooth {
                    ask(a, b);
                    ask(b, c);
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Returns the distance of point `b` from the straight line through the points `a` and `c`. For each parameter the
    /// distance is divided by the uncertainty of the parameter, and the largest of these numbers is returned.
    fn bend(&self, analysis: &Analysis<'_>, [a, b, c]: [Node<'_>; 3]) -> f64 {
        let width = c.x - a.x;
        if !(width > 0.0) {
            return 0.0;
        }
        let fraction = (b.x - a.x) / width;
        let chord: Vec<f64> = a.point.iter().zip(c.point).map(|(a, c)| a + fraction * (c - a)).collect();
        self.distance(analysis, b.point, &chord)
    }

    /// Returns the distance between two points in parameter space. For each parameter the distance is divided by the
    /// uncertainty of the parameter, and the largest of these numbers is returned.
    fn distance(&self, analysis: &Analysis<'_>, a: &[f64], b: &[f64]) -> f64 {
        let far = |(j, (a, b)): (usize, (&f64, &f64))| {
            let sigma = self.centre.fit.uncertainties.get(j).copied().flatten();
            let prefit = analysis.model.parameters.get(j).and_then(|p| p.constraint.prefit_sigma());
            let scale = sigma.or(prefit).filter(|s| *s > 0.0).unwrap_or_else(|| 0.1 * a.abs().max(1.0));
            (a - b).abs() / scale
        };
        a.iter().zip(b).enumerate().map(far).fold(0.0, f64::max)
    }
}

/// Largest distance of a fitted point from the straight line through its neighbours at which these fits are assumed
/// to belong to the same minimum. The unit is the uncertainty of each parameter.
const SMOOTH: f64 = 0.25;

/// The limit that replaces [`SMOOTH`] in models of up to medium size. It is smaller, because the fits of such models
/// are fast.
const SMOOTHER: f64 = 0.02;

/// Returns whether a new fit of a point replaces the old fit. Usually the new fit must be lower by more than the
/// tolerance. If only the new fit converged, it is enough that it is not higher by more than the tolerance. If only
/// one fit has a result, this fit is kept.
fn better(new: &Fitted, old: Option<&Fitted>, tolerance: f64) -> bool {
    match (new, old) {
        (_, None) => true,
        (Ok(_), Some(Err(_))) => true,
        (Err(_), Some(_)) => false,
        (Ok(new), Some(Ok(old))) => {
            let gain = 2.0 * (old.nll - new.nll);
            let margin = if tolerance.is_finite() { tolerance } else { 0.0 };
            match (new.converged(), old.converged()) {
                (true, false) => gain > -margin,
                (false, true) => gain > margin,
                _ => gain > margin,
            }
        }
    }
}

/// Returns the points of the requests, and the tasks of their fits to the data of the analysis.
fn with_data(analysis: &Analysis<'_>, requests: Vec<(usize, FitRequest)>) -> (Vec<usize>, Vec<FitTask>) {
    let task = |request| FitTask { data: analysis.data.clone(), fits: vec![request], cancel: None };
    requests.into_iter().map(|(k, request)| (k, task(request))).unzip()
}

/// Returns a copy of `request` that makes a single descent from `point`.
pub(super) fn starting_at(request: &FitRequest, point: Vec<f64>) -> FitRequest {
    FitRequest { start: Start::At(point.into()), search: Search::Local, ..request.clone() }
}
