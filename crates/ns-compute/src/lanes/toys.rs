//! Fits of toys in SIMD lanes (eight fits at once). The inputs that all toys share are prepared once for each request.
//! Each call of `ToyFitter::run` then fits some of the toys.

use std::sync::{Mutex, PoisonError};

use ns_core::{Certificate, FitOutcome, FitStatus, Inactive, Reason};

use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind};
use super::descents::{DescentDevice, Descents, Lanes, descend};
use super::directions::{Direction, directions};
use super::flips::Flips;
use super::folds::{Fold, folds};
use super::group::Bounds;
use super::jacobian::{has_ridge, jacobian};
use super::known_minimum::KnownMinimum;
use super::metric::Metric;
use super::search::{Allowance, FurtherStarts};
use super::starts::{CommonPoint, Starts};
use crate::eval::{Dataset, Scratch};
use crate::plan::Plan;
use crate::simd::Level;
use crate::stop::Stop;

/// Number of toys whose descents decide whether each lane has a Jacobian of its own: as many as there are lanes.
pub(crate) const PILOTS: usize = super::WIDTH;

/// Each lane has a Jacobian of its own if at least this number of the [`PILOTS`] is lost, or takes more than
/// [`LONG_PILOT`] evaluations.
const HARD_PILOTS: usize = 2;
const LONG_PILOT: usize = 45;

/// Makes the fits of the toys of one request. It contains the inputs that all these fits share.
pub(crate) struct ToyFitter {
    metric: Metric,
    bounds: Bounds,
    /// Indices of the free parameters whose effects are asymmetric enough for a second minimum.
    nonlinear: Vec<usize>,
    /// Finds starting points at which one nonlinear parameter has the opposite sign. `None` unless the model is
    /// strongly nonlinear.
    flips: Option<Flips>,
    /// Parameters of functions along which there may be other valleys.
    folds: Vec<Fold>,
    /// Starting points of further descents, which are the same for all toys.
    starts: Starts,
    /// Directions along which normsys effects add up. Descents start from points that lie along these directions from
    /// the minimum of each fit.
    directions: Vec<Direction>,
    /// For each parameter, the width of its constraint; `None` without a constraint.
    width: Vec<Option<f64>>,
    /// Whether a descent may begin on the ridge between two minima, where the slope of `-ln L` is zero. Only GPU
    /// sessions use this field.
    #[cfg_attr(not(any(feature = "cuda", feature = "cuda-on-host")), allow(dead_code))]
    ridge: bool,
    /// Device that makes the descents.
    descents: Box<dyn Descents>,
    /// Working memory that no thread uses at the moment.
    spare: Mutex<Vec<DescentMemory>>,
}

/// Starting points of further descents in the fit of a toy. The first descent starts at the fit's own starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Further {
    /// No further descents are made.
    None,
    /// Further descents start from the points that the fits of all toys share.
    Shared,
    /// Further descents start from the points that the fits of all toys share, and from the point around which the toys
    /// scatter. The latter is needed if the first descents do not start at that point.
    AndPoint,
}

/// Data and starting point of one toy.
pub(crate) struct Toy<'a> {
    pub(crate) main: &'a [f64],
    pub(crate) aux: &'a [f64],
    pub(crate) start: &'a [f64],
    /// `-ln L` of the saturated model for the data of the toy.
    pub(crate) saturated: f64,
}

/// Result of the fit of one toy in a SIMD lane.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all fits are finished, so that a box would cost each of them"
)]
pub(crate) enum ToyEnd {
    /// The outcome of a finished fit: a certified minimum, or a fit whose `-ln L` falls without limit from all
    /// starting points.
    Fitted(FitOutcome),
    /// The fit is not finished, and the scalar optimiser should continue it.
    Left {
        /// The point from which the scalar optimiser continues. `None` means the starting point of the fit.
        reached: Option<Vec<f64>>,
        /// A certified minimum, if one was found but `-ln L` is lower at `reached`; otherwise `None`.
        known: Option<Vec<f64>>,
    },
}

/// Returns whether fits in SIMD lanes support the interpolation codes of a model. Codes with kinks and exponential
/// interpolation are not supported.
pub(crate) fn suit_lanes(plan: &Plan) -> bool {
    let smooth = !plan.structure.histosys.has_kink() || plan.numbers.hist_curve.is_empty();
    let exponential = !plan.structure.normsys.is_smooth_at_zero() && !plan.structure.norm_runs.is_empty();
    !plan.structure.has_kinks && smooth && !exponential
}

impl ToyFitter {
    /// Prepares the fits of toys that scatter around the data expected at `point`. `aux` contains the expected
    /// auxiliary data. The parameters `fixed` are fixed, and all other parameters are between `lower` and `upper`. If
    /// the model can have several minima, `further` says from which further points descents start.
    ///
    /// Returns `None` if SIMD lanes do not suit the fits. Reasons are kinks, exponential interpolation, a model that is
    /// too large, or a free factor without effect. If `for_gpu` is true, kinks and exponential interpolation are
    /// accepted, fits also start from mirror images of the minimum, and large models are accepted if their bins fall
    /// into groups. `pilots` draws [`PILOTS`] toys.
    #[expect(clippy::too_many_arguments, reason = "what fits share comes from many places")]
    pub(crate) fn new(
        level: Level,
        plan: &Plan,
        point: &[f64],
        aux: &[f64],
        (lower, upper, fixed): (Vec<f64>, Vec<f64>, &[bool]),
        further: Further,
        for_gpu: bool,
        pilots: &dyn Fn() -> Vec<Dataset>,
        scratch: &mut Scratch,
    ) -> Option<Self> {
        if !(for_gpu || suit_lanes(plan)) {
            return None;
        }
        let rows = jacobian(level, plan, point, scratch);
        let metric = Metric::new(plan, point, aux, fixed, &rows, for_gpu)?;
        let ridge = for_gpu && has_ridge(level, plan, point, fixed, &rows, scratch);
        let mut barrier = vec![false; plan.n_parameters()];
        let flipped = if plan.structure.has_kinks { &plan.policy.asymmetric } else { &plan.policy.nonlinear };
        // The CPU fits large models one by one, without a search in toys. A GPU does the same.
        let searches = further != Further::None && !(suit_lanes(plan) && metric.divided);
        let bent = plan.factors.bent_parameters();
        // The search along parameters of functions is another one.
        let through_functions =
            |p: &usize| bent.binary_search(p).is_ok() && !plan.policy.nonlinearity.is_nonlinear(*p);
        let nonlinear: Vec<usize> = metric
            .free
            .iter()
            .copied()
            .filter(|p| searches && flipped[*p] && !through_functions(p))
            .collect();
        let mut width = vec![None; plan.n_parameters()];
        for (p, _, w) in plan.gaussian() {
            width[p] = Some(1.0 / w);
        }
        for (p, _, tau) in plan.poisson() {
            barrier[p] = true;
            width[p] = Some(1.0 / tau.sqrt());
        }
        let folds = if searches && !bent.is_empty() {
            folds(level, plan, point, (&lower, &upper), (&metric.free, &width))
        } else {
            Vec::new()
        };
        let bounds = Bounds { lower, upper, barrier };
        // `jacobian` has written the expected yields at `point` to `scratch`.
        let directions = if plan.structure.has_kinks || !searches {
            Vec::new()
        } else {
            directions(plan, &scratch.lambda, &metric.free, &width)
        };
        let expected = scratch.lambda.iter().copied().take(plan.n_bins()).collect::<Vec<f64>>();
        let mut fitter = Self {
            metric,
            bounds,
            flips: plan.policy.strongly_nonlinear.then(|| Flips::new(plan, &nonlinear)),
            nonlinear,
            folds,
            width,
            starts: Starts::default(),
            directions,
            ridge,
            descents: Box::new(Lanes),
            spare: Mutex::default(),
        };
        if !for_gpu {
            fitter.choose_derivatives(level, plan, point, pilots);
        }
        let mut common = point.to_vec();
        for &p in &fitter.metric.free {
            common[p] = common[p].clamp(fitter.bounds.lower[p], fitter.bounds.upper[p]);
        }
        if !fitter.folds.is_empty() {
            // The scalar optimiser searches in fits that have a further starting point.
            fitter.starts.others = vec![common.clone()];
        }
        if searches && fitter.is_nonlinear() {
            if !suit_lanes(plan) {
                // All other starting points need descents in SIMD lanes, which do not support this model.
                let starts = Starts::between_kinks(&fitter.kind(level, plan, Stop::default()), &common);
                fitter.starts = starts;
                return Some(fitter);
            }
            let common = CommonPoint { point: &common, main: &expected, aux };
            let mut memory = DescentMemory::new(plan, &fitter.metric);
            let (nonlinear, directions) = (&fitter.nonlinear, &fitter.directions);
            let kind = fitter.kind(level, plan, Stop::default());
            let apart = further == Further::AndPoint;
            let starts = Starts::new(&kind, &common, nonlinear, directions, apart, &mut memory, scratch);
            fitter.starts = starts;
            fitter.spare = Mutex::new(vec![memory]);
        }
        Some(fitter)
    }

    /// Gives each lane a Jacobian of its own if descents of toys with the shared one are lost or long. `pilots` draws
    /// the toys for this trial.
    fn choose_derivatives(
        &mut self,
        level: Level,
        plan: &Plan,
        point: &[f64],
        pilots: &dyn Fn() -> Vec<Dataset>,
    ) {
        if self.metric.own_derivatives || !self.metric.may_have_own_derivatives(plan) {
            return;
        }
        let toys = pilots();
        let start: Vec<f64> = point
            .iter()
            .zip(self.bounds.lower.iter().zip(&self.bounds.upper))
            .map(|(x, (lower, upper))| x.clamp(*lower, *upper))
            .collect();
        let jobs: Vec<DescentJob<'_>> = toys
            .iter()
            .map(|toy| DescentJob { main: &toy.main, aux: &toy.aux, start: &start, beat: None })
            .collect();
        let mut memory = DescentMemory::new(plan, &self.metric);
        let ends = Lanes.descend(&self.kind(level, plan, Stop::default()), &jobs, &mut memory);
        let hard = ends.iter().filter(|end| !end.converged || end.evaluations > LONG_PILOT).count();
        self.metric.own_derivatives = hard >= HARD_PILOTS;
    }

    /// Has the descents of the fits made by `device`, if it can make them. `plan` is the one that the fits were prepared
    /// with.
    pub(crate) fn by(mut self, device: &dyn DescentDevice, level: Level, plan: &Plan) -> Self {
        if let Some(descents) = device.prepare(&self.kind(level, plan, Stop::default())) {
            self.descents = descents;
        }
        self
    }

    /// Returns whether the model can have several minima.
    fn is_nonlinear(&self) -> bool {
        !self.nonlinear.is_empty() || !self.directions.is_empty()
    }

    fn kind<'a>(&'a self, level: Level, plan: &'a Plan, stop: Stop<'a>) -> FitKind<'a> {
        let (metric, bounds, width) = (&self.metric, &self.bounds, &self.width);
        FitKind { plan, level, metric, bounds, width, descents: self.descents.as_ref(), stop }
    }

    /// Makes the fits of all `toys`, and returns the results in the order of the toys. If `stop` is set, returns
    /// early with results that must not be used.
    pub(crate) fn run(&self, level: Level, plan: &Plan, toys: &[Toy<'_>], stop: Stop<'_>) -> Vec<ToyEnd> {
        // A poisoned lock only means that another thread panicked. Every fit resets its lane.
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = spare().pop().unwrap_or_else(|| DescentMemory::new(plan, &self.metric));
        let kind = self.kind(level, plan, stop);
        let jobs: Vec<DescentJob<'_>> = toys
            .iter()
            .map(|toy| DescentJob { main: toy.main, aux: toy.aux, start: toy.start, beat: None })
            .collect();
        let mut ends = descend(&kind, &jobs, &mut memory);
        let lower = if self.is_nonlinear() || !self.folds.is_empty() {
            let (starts, directions, nonlinear) = (&self.starts, &self.directions[..], &self.nonlinear[..]);
            let allowance = Allowance::new(plan, &self.metric);
            let further = FurtherStarts {
                starts,
                directions,
                nonlinear,
                flips: self.flips.as_ref(),
                folds: &self.folds,
                allowance,
            };
            further.find_lower(&kind, &jobs, &mut ends, &mut memory)
        } else {
            ends.iter().map(|_| None).collect()
        };
        spare().push(memory);
        let ends = ends.into_iter().zip(lower).zip(toys);
        ends.map(|((end, lower), toy)| self.describe(end, lower, toy)).collect()
    }

    /// Returns starting points of further descents for a fit that could not be finished in SIMD lanes. There are none
    /// if the model cannot have several minima.
    pub(crate) fn other_starts(&self) -> &[Vec<f64>] {
        &self.starts.others
    }

    /// Returns the result of the fit of `toy`. `end` is the result of its best descent. `lower` is a lower point that
    /// another descent reached without a certificate, or `None` if there is no such point.
    fn describe(&self, end: DescentEnd, lower: Option<KnownMinimum>, toy: &Toy<'_>) -> ToyEnd {
        if !end.converged && !end.falls {
            return ToyEnd::Left { reached: end.is_usable().then_some(end.theta), known: None };
        }
        if let Some(lower) = lower.filter(|_| !end.falls) {
            return ToyEnd::Left { reached: Some(lower.theta), known: Some(end.theta) };
        }
        let held = end.held.iter().map(|&p| {
            let lower = end.theta[p] <= self.bounds.lower[p];
            (p, if lower { Inactive::LowerBound } else { Inactive::UpperBound })
        });
        ToyEnd::Fitted(FitOutcome {
            status: if end.falls { FitStatus::NotConverged(Reason::Unbounded) } else { FitStatus::Converged },
            nll: end.value + toy.saturated,
            certificate: Certificate {
                edm: end.edm,
                // sqrt(2 EDM) is the length of the gradient in the metric. No element of the gradient, in units of
                // the metric, is larger.
                projected_gradient: (2.0 * end.edm).sqrt(),
                indefinite_steps: 0,
                restarts_improved: 0,
                integral_error: None,
            },
            n_iterations: end.iterations,
            n_search_iterations: 0,
            n_evaluations: end.evaluations,
            inactive: held.collect(),
            empty_bins: end.empty,
            empty_channels: Vec::new(),
            uncertainties: Vec::new(),
            covariance: None,
            factors: None,
            parameters: end.theta,
        })
    }
}

/// Access to the inputs that GPU sessions copy to the device.
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
impl ToyFitter {
    /// Returns the part of the Gauss-Newton metric that all fits share.
    pub(crate) fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Returns whether a single descent may end on the ridge between two minima. This is possible if the effect of a
    /// parameter is the same in both directions.
    pub(crate) fn has_ridge(&self) -> bool {
        self.ridge
    }

    /// Returns whether a fit of a large model may end on a ridge, because it makes no search. The CPU fits such models
    /// with exact Hessians, which lead away from ridges.
    pub(crate) fn may_end_on_ridge(&self) -> bool {
        self.ridge && self.metric.divided
    }

    /// Returns two lists of starting points, which are the same for all toys. The first list is for every fit. The
    /// second is for fits that seem to have several minima.
    pub(crate) fn starts(&self) -> (&[Vec<f64>], &[Vec<f64>]) {
        (&self.starts.first, &self.starts.second)
    }

    /// Returns the starting points of further descents in fits whose `-ln L` falls without limit in the first descent.
    pub(crate) fn starts_of_fallen(&self) -> &[Vec<f64>] {
        // Other models have no such descents in the search (see `FurtherStarts::find_lower`).
        if self.flips.is_some() { &self.starts.others } else { &[] }
    }

    /// Returns the indices of the free parameters for which there may be another minimum at the opposite sign.
    pub(crate) fn nonlinear(&self) -> &[usize] {
        &self.nonlinear
    }

    /// Returns the parameters along which functions turn.
    pub(crate) fn folds(&self) -> &[Fold] {
        &self.folds
    }

    /// Returns the directions along which normsys effects add up. The minimum of each fit is moved along them to obtain
    /// starting points for further descents.
    pub(crate) fn directions(&self) -> &[Direction] {
        &self.directions
    }
}
