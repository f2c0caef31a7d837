//! Results of fits as differentiable functions of the inputs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{
    Control, Data, Execution, FitFailure, FitOutcome, FitRequest, FitTask, InverseHessian, Model,
    OutcomeParts, Pulled, Search, Session, Start, TaskOutcome,
};

use super::{DifferentiableSession, Differentiated, Follow, add_pulled};
use crate::analysis::Analysis;
use crate::hypotest::TestStatistic;
use crate::options::FitData;
use crate::{FitOptions, InferenceError, diagnosis};

/// The best-fit value and a tested value count as equal if their distance is at most this number times (1 plus the
/// absolute value of the tested value).
pub(super) const ON_EDGE: f64 = 1e-5;

/// Largest number of entries that are kept for later calls. An entry has the starting points for one row of a batch and
/// one tested value.
const MOST_WARM: usize = 65_536;

/// Options of a [`ProfiledDifferentiableSession`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProfiledOptions {
    /// Selects which other numbers of the model, such as histosys templates, change with the nominal yields.
    pub follow: Follow,
    /// Data of all fits. If these are Asimov data, they change with the inputs.
    pub data: FitData,
    /// Effort of the search for the global minimum.
    pub search: Search,
}

/// Largest memory, in bytes, for inverse Hessians that are kept for later calls.
const MOST_METRICS: usize = 256 << 20;

/// Number of calls that use the same inverse Hessians before new ones are computed. In the training of a neural
/// network, the yields change from step to step, so that inverse Hessians become less accurate with time.
const CALLS_PER_METRIC: usize = 16;

/// Inverse Hessians at the minima of an earlier free fit and an earlier conditional fit.
#[derive(Clone)]
struct Metrics {
    free: InverseHessian,
    conditional: InverseHessian,
}

/// Starting points and inverse Hessians for the next fits at one tested value.
#[derive(Clone)]
struct Warm {
    /// Parameters at the minimum of the last free fit. The field `conditional` has those at the minimum of the last
    /// conditional fit.
    free: Arc<[f64]>,
    conditional: Arc<[f64]>,
    /// Inverse Hessians that the next free and conditional fits use at their start; `None` if these fits have to
    /// compute new ones.
    metrics: Option<Metrics>,
    /// Number of calls whose fits have used the inverse Hessians in `metrics`.
    calls: usize,
}

/// A free fit and a conditional fit, and the inverse Hessians that they used at their start, if any.
struct BothFits {
    free: FitOutcome,
    conditional: FitOutcome,
    metrics: Option<Metrics>,
}

/// Key of the stored starting points. It consists of the index of a row in a batch of inputs, and the bits of the
/// tested value (f64).
type WarmKey = (usize, u64);

/// A model whose fit results are differentiable functions of its open inputs ([`Model::open`]). The fits run on the
/// CPU.
pub struct ProfiledDifferentiableSession {
    pub(super) inner: DifferentiableSession,
    options: ProfiledOptions,
    warm: Mutex<HashMap<WarmKey, Warm>>,
}

impl ProfiledDifferentiableSession {
    /// Compiles a model in which the open inputs can be changed.
    ///
    /// # Errors
    /// The errors of [`DifferentiableSession::open`]. Also if the model has no parameter of interest, or if the
    /// parameter of interest is fixed.
    pub fn open(
        model: &Model,
        options: &ProfiledOptions,
        execution: &Execution,
    ) -> Result<Self, InferenceError> {
        let inner = DifferentiableSession::open(model, options.follow, &options.data, execution)?;
        let session = Self { inner, options: options.clone(), warm: Mutex::default() };
        let what = "a profiled statistic";
        let poi = session.poi()?;
        match session.inner.model.parameters.get(poi) {
            Some(p) if p.fixed || !(p.bounds.0 < p.bounds.1) => {
                Err(InferenceError::PoiFixed { analysis: what, name: p.name.clone(), format: model.format })
            }
            _ => Ok(session),
        }
    }

    /// Returns the session that computes `-ln L` at given parameters, without fits.
    #[must_use]
    pub fn likelihood(&self) -> &DifferentiableSession {
        &self.inner
    }

    /// Returns the index of the parameter of interest.
    pub(super) fn poi(&self) -> Result<usize, InferenceError> {
        let model = &self.inner.model;
        model.poi().ok_or_else(|| InferenceError::NoPoi {
            analysis: "a profiled statistic",
            measurement: model.measurement.clone(),
            format: model.format,
        })
    }

    /// Returns the fit options that the command line uses by default, so that results are equal to those of the command
    /// line. Only the search effort comes from the options of this session.
    pub(super) fn fit_options(&self) -> FitOptions {
        FitOptions::default().search(self.options.search)
    }

    /// Returns the analysis (model, session, data and settings of the free fit) of the given data.
    pub(super) fn analysis(&self, data: &Data) -> Result<Analysis<'_>, InferenceError> {
        let model: &Model = &self.inner.model;
        let mut analysis =
            Analysis::new(model, self.inner.session(), &self.fit_options(), Control::default())?;
        analysis.data = data.clone();
        Ok(analysis)
    }

    /// Runs the fits of one task and returns their outcomes, in the order of `fits`.
    pub(super) fn run(
        &self,
        data: &Data,
        fits: Vec<FitRequest>,
        wanted: OutcomeParts,
    ) -> Result<Vec<FitOutcome>, InferenceError> {
        let task = FitTask { data: data.clone(), fits, cancel: None };
        let mut outcomes: Vec<TaskOutcome> = Vec::with_capacity(1);
        self.inner.session().fit_batch(
            std::slice::from_ref(&task),
            wanted,
            Control::default(),
            &mut outcomes,
        )?;
        let fits = outcomes.pop().map_or_else(Vec::new, |outcome| outcome.fits);
        let named = |failure: FitFailure| match failure {
            FitFailure::Cancelled => InferenceError::Cancelled,
            failure => InferenceError::FitFailed { reason: diagnosis::failure(&self.inner.model, &failure) },
        };
        fits.into_iter().map(|fit| fit.map_err(named)).collect()
    }

    /// Returns a one-sided test statistic and its derivatives with respect to the inputs. The statistics q and qtilde
    /// test the value `mu` of the parameter of interest. The statistic q0 tests the value 0 and ignores `mu`.
    /// `yields` are the values of the inputs.
    ///
    /// `warm` is the index of a row in a batch of inputs. If it is given, the free and the conditional fit start at the
    /// minima of the last fits for the same row and tested value, and each makes a single descent. The result then
    /// depends on earlier calls, within the tolerance of a fit.
    ///
    /// # Errors
    /// If a value is not allowed for an input, or `-ln L` is not finite at any starting point.
    pub fn statistic(
        &self,
        statistic: TestStatistic,
        mu: f64,
        yields: &[f64],
        warm: Option<usize>,
    ) -> Result<Differentiated, InferenceError> {
        let poi = self.poi()?;
        let mu = if statistic == TestStatistic::Q0 { 0.0 } else { mu };
        let name = || self.inner.model.parameters.get(poi).map_or_else(String::new, |p| p.name.clone());
        if !mu.is_finite() {
            return Err(InferenceError::NotFinite { what: "the tested value", name: name(), value: mu });
        }
        let data = self.inner.data(yields)?;
        let BothFits { free, conditional, metrics } = self.both_fits(&data, (poi, mu), warm)?;
        let best = free.parameters.get(poi).copied().unwrap_or(f64::NAN);
        let zero = match statistic {
            TestStatistic::Q0 => best <= mu,
            TestStatistic::Q | TestStatistic::Qtilde => best >= mu,
        };
        let value = 2.0 * (conditional.nll - free.nll);
        // At the best fit the statistic is 0. On one side of the best fit it is also 0, and on the other side it
        // rises.
        let one_sided = (best - mu).abs() <= ON_EDGE * (1.0 + mu.abs());
        if zero || value <= 0.0 {
            return Ok(Differentiated { value: 0.0, gradient: vec![0.0; yields.len()], one_sided });
        }
        let near = metrics.as_ref();
        let derivatives = |fit: &FitOutcome, held: &[usize], metric: Option<&InverseHessian>| {
            let minimum = self.inner.minimum_near(&data, fit, held, metric)?;
            Ok(self.inner.direct(&minimum, poi)?.1)
        };
        let (free, conditional) = self.inner.both(
            || derivatives(&free, &[], near.map(|metrics| &metrics.free)),
            || derivatives(&conditional, &[poi], near.map(|metrics| &metrics.conditional)),
        )?;
        let mut pulled = Pulled::default();
        add_pulled(&mut pulled, 2.0, &conditional);
        add_pulled(&mut pulled, -2.0, &free);
        let gradient = self.inner.by_inputs(yields, &data, pulled)?;
        Ok(Differentiated { value, gradient, one_sided })
    }

    /// Makes the free fit and the conditional fit. In the conditional fit, the parameter of interest, which has the
    /// index `poi`, is fixed at `mu`. `row` is the index of a row in a batch of inputs, as `warm` in
    /// [`Self::statistic`].
    fn both_fits(
        &self,
        data: &Data,
        (poi, mu): (usize, f64),
        row: Option<usize>,
    ) -> Result<BothFits, InferenceError> {
        let last = row.and_then(|row| {
            let kept = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get(&(row, mu.to_bits())).cloned()
        });
        let base = self.fit_options().request(&self.inner.model)?;
        let held = vec![(poi, mu)];
        let calls = last.as_ref().map_or(0, |last| last.calls);
        let inverse = row.is_some_and(|row| self.keeps_metrics(row));
        let wanted = |inverse| OutcomeParts { inverse, ..OutcomeParts::default() };
        let (mut free, conditional, metrics) = match last {
            Some(Warm { free, conditional, metrics, .. }) => {
                let inverse = inverse && metrics.is_none();
                let from = |start, metric: Option<&InverseHessian>, fixed| FitRequest {
                    start: Start::At(start),
                    search: Search::Local,
                    metric: metric.cloned(),
                    fixed,
                    ..base.clone()
                };
                let near = metrics.as_ref();
                let first = from(free, near.map(|metrics| &metrics.free), base.fixed.clone());
                let second = from(conditional, near.map(|metrics| &metrics.conditional), held);
                let one = |request| {
                    self.run(data, vec![request], wanted(inverse))?.pop().ok_or(InferenceError::Cancelled)
                };
                let (free, conditional) = self.inner.both(|| one(first), || one(second))?;
                (free, conditional, metrics)
            }
            None => {
                let conditional = FitRequest { start: Start::Earlier(0), fixed: held, ..base.clone() };
                let mut fits = self.run(data, vec![base, conditional], wanted(inverse))?.into_iter();
                let (Some(free), Some(conditional)) = (fits.next(), fits.next()) else {
                    return Err(InferenceError::Cancelled);
                };
                (free, conditional, None)
            }
        };
        let mut next = match &metrics {
            None => free
                .inverse_hessian()
                .zip(conditional.inverse_hessian())
                .map(|(free, conditional)| Metrics { free, conditional }),
            Some(_) if calls >= CALLS_PER_METRIC => None,
            Some(metrics) => Some(metrics.clone()),
        };
        // If the conditional fit ends below the free fit, the free fit has not found the lowest minimum.
        let bounds = self.inner.model.parameters.get(poi).map(|p| p.bounds);
        if conditional.nll < free.nll && bounds.is_some_and(|(lower, upper)| lower <= mu && mu <= upper) {
            let start = Start::At(Arc::from(conditional.parameters.as_slice()));
            let base = self.fit_options().request(&self.inner.model)?;
            let again = FitRequest { start, search: Search::Local, ..base };
            if let Some(lower) = self.run(data, vec![again], OutcomeParts::default())?.pop()
                && lower.nll < free.nll
            {
                (free, next) = (lower, None);
            }
        }
        if let Some(row) = row {
            let (free, conditional) =
                (Arc::from(&free.parameters[..]), Arc::from(&conditional.parameters[..]));
            let mut kept = self.warm.lock().unwrap_or_else(PoisonError::into_inner);
            // Without this limit, a loop over many tested values would fill the memory.
            if kept.len() >= MOST_WARM {
                kept.clear();
            }
            let calls = if metrics.is_some() { calls + 1 } else { 1 };
            kept.insert((row, mu.to_bits()), Warm { free, conditional, metrics: next, calls });
        }
        Ok(BothFits { free, conditional, metrics })
    }

    /// Returns whether inverse Hessians are kept for a row of a batch of inputs. This depends only on the index of the
    /// row and the number of parameters. Results therefore do not depend on the order in which threads compute the
    /// rows.
    fn keeps_metrics(&self, row: usize) -> bool {
        let n = self.inner.model.parameters.len();
        row < MOST_METRICS / (16 * n * n).max(1)
    }
}
