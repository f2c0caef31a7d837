//! Computes the uncertainties of a batch of fits on the device, from exact Hessians and their inverses.
//!
//! All fits of a batch are first made without uncertainties. Then the device computes the covariances at all minima.
//! The device cannot confirm a fit if the Hessian is not safely positive definite, or if the EDM (estimated distance to
//! the minimum) from that Hessian is above the tolerance. In these cases the CPU computes the uncertainties, in the
//! same way as in CPU sessions. Whether the device or the CPU computes them depends on the fit alone, not on the batch.

use std::borrow::Cow;
use std::sync::Arc;

use ns_core::{
    Control, Covariance, FitFailure, FitOutcome, FitStatus, Inactive, OutcomeParts, Reason, Search,
    SessionError, TaskOutcome,
};

use super::backend::{Buffer, Kernel, Shape};
use super::hessian::{HessianPlacement, Sets};
use super::layout::CovarianceLaunch;
use super::offset::Offset;
use super::session::GpuSession;
use super::shape::RESERVED;
use crate::eval::Dataset;
use crate::optimise::{DENSE_LIMIT, NEAR_KINK, Problem, Worker, fit};
use crate::plan::EDM_TOLERANCE;
use crate::shared_constants::{HELD_BY_BOUND, MOST_INVERTING, MOVES_FREELY, RESTS, TABLE_COLUMNS, TILE};
use crate::task::FitDomain;

/// Smallest value of `1 / (H_ii C_ii)` for which the device's covariance is used. `H` is the Hessian, `C` its inverse,
/// and `i` a parameter. For an uncorrelated parameter the value is 1. The smaller the value is, the more `C` amplifies
/// the rounding errors of `H`. Below this limit the CPU checks whether `-ln L` is flat along some direction.
const LEAST_LEFT: f64 = 1e-7;

/// A fit with an EDM (estimated distance to the minimum) above this value takes one more Newton step before its
/// covariance is computed, as in CPU sessions. Without this step the covariance would belong to a slightly different
/// point.
const LAST_STEP: f64 = 1e-14;

/// Largest total size, in bytes, of the covariances that are copied to the host after one launch.
const MOST_FETCHED: usize = 64 << 20;

/// Requests and data of the fits whose uncertainties are computed.
pub(super) struct Fitted<'a> {
    /// Returns the bounds and fixed parameters of a fit. The arguments are the index of its task and the index of its
    /// request within the task.
    pub(super) domain: &'a (dyn Fn(usize, usize) -> Cow<'a, FitDomain> + Sync),
    /// Sets of data in device memory. Each set contains the main counts, then the auxiliary data.
    pub(super) sets: Offset<f64>,
    /// Returns the index in `sets` of the data of a task. The argument is the index of the task.
    pub(super) set_of: &'a (dyn Fn(usize) -> usize + Sync),
    /// Returns the data of a task on the host. The argument is the index of the task.
    pub(super) data: &'a (dyn Fn(usize) -> Cow<'a, Dataset> + Sync),
    /// Whether the data are toys.
    pub(super) drawn: bool,
}

/// Position of a fit: the index of its task, and the index of the fit within the task.
type FitIndex = (usize, usize);

/// The device's results for the covariance of one fit. `CovarianceLaunch` in layout.rs describes the arrays.
struct ReturnedCovariance<'a> {
    least: f64,
    edm: f64,
    slope: &'a [f64],
    step: &'a [f64],
    variances: &'a [f64],
}

/// Returns whether the uncertainties of a fit are missing. If `-ln L` falls without limit, there is no minimum at which
/// uncertainties exist.
fn is_missing(fit: &FitOutcome) -> bool {
    fit.uncertainties.is_empty() && fit.status != FitStatus::NotConverged(Reason::Unbounded)
}

impl GpuSession {
    /// Returns the placement of the arrays of Hessians if the device computes the uncertainties that `wanted` asks
    /// for. Returns `None` if `wanted` asks for none, or if the CPU computes them together with the fits.
    pub(super) fn covers(&self, wanted: OutcomeParts) -> Option<&HessianPlacement> {
        let asked = wanted.uncertainties || wanted.covariance;
        let size = self.cpu.plan.n_parameters();
        // Only the CPU knows where functions have kinks.
        let bends = !self.cpu.plan.factors.has_branches();
        self.hessians.as_ref().filter(|_| asked && bends && (1..=DENSE_LIMIT).contains(&size))
    }

    /// Adds uncertainties to the fits of `outcomes` that have none yet, and covariances if `wanted` asks for them. If
    /// the work is cancelled, fits that still have no uncertainties become [`FitFailure::Cancelled`].
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn add_uncertainties(
        &self,
        placement: &HessianPlacement,
        outcomes: &mut [TaskOutcome],
        fitted: &Fitted<'_>,
        wanted: OutcomeParts,
        control: Control<'_>,
    ) -> Result<(), SessionError> {
        let (mut here, mut left) = (Vec::new(), Vec::new());
        for (i, task) in outcomes.iter().enumerate() {
            for (k, fit) in task.fits.iter().enumerate() {
                if let Ok(fit) = fit
                    && is_missing(fit)
                {
                    let plain = self.is_plain(fit, &(fitted.domain)(i, k));
                    let list = if plain { &mut here } else { &mut left };
                    list.push((i, k));
                }
            }
        }
        let n = self.cpu.plan.n_parameters();
        let most = if wanted.covariance { (MOST_FETCHED / (8 * n * n)).max(1) } else { usize::MAX };
        for places in here.chunks(self.at_a_time().min(most)) {
            if control.is_cancelled() {
                break;
            }
            self.invert(placement, outcomes, fitted, wanted, places, &mut left)?;
        }
        self.leave(outcomes, fitted, wanted, control, &left);
        if control.is_cancelled() {
            for fit in outcomes.iter_mut().flat_map(|task| &mut task.fits) {
                if fit.as_ref().is_ok_and(is_missing) {
                    *fit = Err(FitFailure::Cancelled);
                }
            }
        }
        Ok(())
    }

    /// Returns whether the device can compute the covariance of a fit. The fit must have converged, and `-ln L` must
    /// not be flat along any direction. Every parameter on a bound or next to a kink must be fixed or held there.
    /// Then `-ln L` has second derivatives at the minimum with respect to all other parameters.
    fn is_plain(&self, fit: &FitOutcome, domain: &FitDomain) -> bool {
        let rests = |p: usize| domain.fixed[p] || fit.inactive.iter().any(|(q, _)| *q == p);
        let at_an_edge = |p: usize, x: f64| {
            let kinked = x.abs() < NEAR_KINK && self.cpu.plan.structure.kinked[p];
            x <= domain.lower[p] || x >= domain.upper[p] || kinked
        };
        fit.converged()
            && fit.inactive.iter().all(|(_, why)| *why != Inactive::Flat)
            && fit.parameters.iter().enumerate().all(|(p, &x)| !at_an_edge(p, x) || rests(p))
    }

    /// Adds the device's uncertainties to the fits with the indices `places`. Appends to `left` the indices of those
    /// fits whose uncertainties the device cannot compute reliably. Most fits take one launch; fits that need a last
    /// Newton step take two.
    fn invert(
        &self,
        placement: &HessianPlacement,
        outcomes: &mut [TaskOutcome],
        fitted: &Fitted<'_>,
        wanted: OutcomeParts,
        places: &[FitIndex],
        left: &mut Vec<FitIndex>,
    ) -> Result<(), SessionError> {
        let n = self.cpu.plan.n_parameters();
        let mut problems = Problems::default();
        for &(i, k) in places {
            let Some(Ok(fit)) = outcomes.get(i).and_then(|task| task.fits.get(k)) else { continue };
            let domain = (fitted.domain)(i, k);
            let mut rests: Vec<u8> =
                domain.fixed.iter().map(|fixed| if *fixed { RESTS } else { MOVES_FREELY }).collect();
            for &(p, why) in &fit.inactive {
                rests[p] = if why == Inactive::Kink { RESTS } else { HELD_BY_BOUND };
            }
            problems.push((i, k), None, &fit.parameters, &rests, (fitted.set_of)(i) as i32);
        }
        while !problems.places.is_empty() {
            let solved = self.solve(placement, fitted.sets, &problems, wanted)?;
            let mut next = Problems::default();
            for (m, &((i, k), before)) in problems.places.iter().enumerate() {
                let Some(Ok(fit)) = outcomes.get_mut(i).and_then(|task| task.fits.get_mut(k)) else {
                    continue;
                };
                let (found, row) = (solved.get(m, n), m * n..(m + 1) * n);
                if found.is_safe() && found.edm <= LAST_STEP {
                    if let Some(edm) = before {
                        fit.parameters.copy_from_slice(&problems.points[row]);
                        // The change of `-ln L` in the last step comes from the quadratic approximation. Its error is
                        // far below rounding errors here.
                        fit.nll -= edm - found.edm;
                    }
                    found.put_into(fit);
                    fit.covariance = self.fetch_covariance(&solved, m)?;
                } else if found.is_safe()
                    && before.is_none()
                    && let Some(point) = self.step(fit, &(fitted.domain)(i, k), found.step)
                {
                    next.push((i, k), Some(found.edm), &point, &problems.rests[row], problems.sets[m]);
                } else {
                    left.push((i, k));
                }
            }
            problems = next;
        }
        Ok(())
    }

    /// Returns the end point of the last Newton step of a fit: the point of the fit plus the vector `step`. Returns
    /// `None` if that point is not inside the bounds, or if the step crosses a kink or ends next to one.
    fn step(&self, fit: &FitOutcome, domain: &FitDomain, step: &[f64]) -> Option<Vec<f64>> {
        let to = |(p, (x, step)): (usize, (&f64, &f64))| {
            let to = x + step;
            let crosses =
                self.cpu.plan.structure.kinked[p] && ((to > 0.0) != (*x > 0.0) || to.abs() < NEAR_KINK);
            let inside = to > domain.lower[p] && to < domain.upper[p];
            (*step == 0.0 || (inside && !crosses)).then_some(to)
        };
        fit.parameters.iter().zip(step).enumerate().map(to).collect()
    }

    /// Computes the Hessians and their inverses at all points of `problems` on the device.
    fn solve(
        &self,
        placement: &HessianPlacement,
        sets: Offset<f64>,
        problems: &Problems,
        wanted: OutcomeParts,
    ) -> Result<Solved, SessionError> {
        let (n, count, backend) = (self.cpu.plan.n_parameters(), problems.sets.len(), &self.backend);
        let made =
            self.start_hessians(placement, Sets { data: sets, of: &problems.sets }, &problems.points)?;
        let rests = Buffer::holding(backend, &problems.rests)?;
        let variances = Buffer::new(backend, 8 * n * count)?;
        let steps = Buffer::new(backend, 8 * n * count)?;
        let found = Buffer::new(backend, 16 * count)?;

        let rows = n.next_multiple_of(TILE);
        let side = rows / TILE;
        let (table, matrix) = (TABLE_COLUMNS * rows, TILE * TILE * (side * (side + 1) / 2));
        let in_shared = 8 * (table + matrix) + RESERVED <= backend.properties().shared_per_block;
        let shared = 8 * if in_shared { table + matrix } else { table };
        let threads = threads(n);
        let blocks = backend.resident(Kernel::Covariance, threads, shared)?.min(count).max(1);
        let slab = Buffer::new(backend, if in_shared { 0 } else { 8 * matrix * blocks })?;
        let launch = CovarianceLaunch {
            n: n as i32,
            n_matrices: count as i32,
            in_shared: i32::from(in_shared),
            slab: slab.at(),
            slab_stride: matrix as u64,
            hessians: made.hessians.at(),
            wanted: i32::from(wanted.covariance),
            gradients: made.gradients.at(),
            rests: rests.at(),
            usable: made.usable.at(),
            variances: variances.at(),
            steps: steps.at(),
            found: found.at(),
            ..CovarianceLaunch::default()
        };
        let shape = Shape { blocks: blocks as u32, threads, shared: shared as u32 };
        backend.launch(Kernel::Covariance, shape, bytemuck::bytes_of(&launch))?;

        Ok(Solved {
            found: found.read(2 * count)?,
            slopes: made.gradients.read(n * count)?,
            variances: variances.read(n * count)?,
            steps: steps.read(n * count)?,
            covariances: wanted.covariance.then_some(made.hessians),
        })
    }

    /// Returns the covariance at the point with index `m`, or `None` if covariances were not wanted. Covariances are
    /// large, so the elements are copied from the device directly to the memory of the result.
    fn fetch_covariance(&self, solved: &Solved, m: usize) -> Result<Option<Arc<Covariance>>, SessionError> {
        let Some(covariances) = &solved.covariances else { return Ok(None) };
        let n = self.cpu.plan.n_parameters();
        let mut values = vec![0.0_f64; n * n];
        covariances.read_into(n * n * m, &mut values)?;
        Ok(Some(Arc::new(Covariance { n, values })))
    }
}

/// Points at which covariances are to be computed. The arrays have one entry or row per point.
#[derive(Default)]
struct Problems {
    /// For each point, the position of its fit. If the point is the end of the fit's last Newton step, the second
    /// element is the EDM (estimated distance to the minimum) before that step.
    places: Vec<(FitIndex, Option<f64>)>,
    points: Vec<f64>,
    /// State of each parameter at each point: `MOVES_FREELY`, `RESTS` (fixed or on a kink) or `HELD_BY_BOUND`. There is
    /// one row per point.
    rests: Vec<u8>,
    /// For each point, the index of its set of data.
    sets: Vec<i32>,
}

impl Problems {
    fn push(&mut self, place: FitIndex, before: Option<f64>, point: &[f64], rests: &[u8], set: i32) {
        self.places.push((place, before));
        self.points.extend_from_slice(point);
        self.rests.extend_from_slice(rests);
        self.sets.push(set);
    }
}

/// Results of the device for many points. `found` contains two values per point: the smallest `1 / (H_ii C_ii)` over
/// the parameters `i` (`H` is the Hessian and `C` its inverse), and the EDM (estimated distance to the minimum). The
/// other arrays contain one value per parameter and point.
struct Solved {
    found: Vec<f64>,
    slopes: Vec<f64>,
    variances: Vec<f64>,
    steps: Vec<f64>,
    /// Covariances in device memory, or `None` if they were not wanted.
    covariances: Option<Buffer>,
}

impl Solved {
    /// Returns the results for the point with index `m` of a model with `n` parameters.
    fn get(&self, m: usize, n: usize) -> ReturnedCovariance<'_> {
        let row = m * n..(m + 1) * n;
        ReturnedCovariance {
            least: self.found[2 * m],
            edm: self.found[2 * m + 1],
            slope: &self.slopes[row.clone()],
            variances: &self.variances[row.clone()],
            step: &self.steps[row],
        }
    }
}

impl ReturnedCovariance<'_> {
    /// Returns whether the Hessian is safely positive definite, and whether the EDM (estimated distance to the minimum)
    /// from this Hessian is within the tolerance of a converged fit. Returns false if a number is NaN.
    fn is_safe(&self) -> bool {
        self.least > LEAST_LEFT && self.edm <= EDM_TOLERANCE
    }

    /// Writes the uncertainties and the convergence certificate to `fit`. They have the same meaning as in CPU
    /// sessions. The covariance is not written.
    fn put_into(&self, fit: &mut FitOutcome) {
        let known = |variance: &f64| (*variance > 0.0 && variance.is_finite()).then(|| variance.sqrt());
        fit.uncertainties = self.variances.iter().map(known).collect();
        fit.certificate.edm = self.edm.max(0.0);
        let pulls = fit.uncertainties.iter().zip(self.slope).filter_map(|(s, g)| s.map(|s| (g * s).abs()));
        fit.certificate.projected_gradient = pulls.fold(0.0, f64::max);
    }
}

impl GpuSession {
    /// Continues the fits with the indices `places` on the CPU. The CPU starts at the minima that the device found, and
    /// also computes the uncertainties.
    fn leave(
        &self,
        outcomes: &mut [TaskOutcome],
        fitted: &Fitted<'_>,
        wanted: OutcomeParts,
        control: Control<'_>,
        places: &[FitIndex],
    ) {
        let reached: &[TaskOutcome] = outcomes;
        let again = |number: usize| {
            let mut fits = Vec::new();
            let place = places.get(number).copied();
            let fit = place.and_then(|(i, k)| reached.get(i)?.fits.get(k)?.as_ref().ok());
            if let (Some(fit), Some((i, k)), false) = (fit, place, control.is_cancelled()) {
                let domain = (fitted.domain)(i, k).into_owned();
                let (data, mut result) = ((fitted.data)(i), Err(FitFailure::Cancelled));
                self.lend(&mut |worker| {
                    let problem = self.cpu.problem(domain.clone(), &data, fitted.drawn, control);
                    result = finish(worker, &problem, fit, wanted);
                });
                fits.push(result);
            }
            TaskOutcome { fits }
        };
        let made = self.settle_all(places.len(), &|range| range.map(again).collect(), 0, &|_| ());
        for (&(i, k), mut made) in places.iter().zip(made) {
            let to = outcomes.get_mut(i).and_then(|task| task.fits.get_mut(k));
            if let (Some(to), Some(fit)) = (to, made.fits.pop()) {
                *to = fit;
            }
        }
    }
}

/// Continues the fit `from` on the CPU, starting at its end point, and computes its uncertainties.
fn finish(
    worker: &mut Worker,
    problem: &Problem<'_>,
    from: &FitOutcome,
    wanted: OutcomeParts,
) -> Result<FitOutcome, FitFailure> {
    let mut fit = fit(worker, problem, &from.parameters, &[], Search::Local, false, None, wanted)?;
    fit.n_iterations += from.n_iterations;
    fit.n_search_iterations += from.n_search_iterations;
    fit.n_evaluations += from.n_evaluations;
    fit.certificate.indefinite_steps += from.certificate.indefinite_steps;
    fit.certificate.restarts_improved = from.certificate.restarts_improved;
    Ok(fit)
}

/// Returns the number of threads per thread block for the inversion of matrices with `n` rows. With this number, each
/// thread processes a few tiles of the matrix. The number depends on `n` alone, because it determines the order of sums
/// and therefore the rounding of results.
fn threads(n: usize) -> u32 {
    match n {
        ..=24 => 64,
        25..=48 => 128,
        49..=96 => 256,
        _ => MOST_INVERTING as u32,
    }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
