//! Estimates the memory of a session from the sizes of its arrays, and limits the sizes of batches of fits to the
//! remaining memory.

use ns_core::{Device, EvaluationRequest, Execution, FitOutcome, FitTask, OutcomeParts, SessionError};

use super::CpuSession;
use super::work_unit::{TOYS_PER_UNIT, TOYS_PER_UNIT_ON_DEVICES};
use crate::curvature::Curvature;
use crate::lanes::metric::MOST_DUAL_BINS;
use crate::lanes::{WIDTH, derivatives};
use crate::optimise::DENSE_LIMIT;
use crate::plan::Plan;

/// Smallest number of finished outcomes per thread that may wait in memory until the sink takes them. Only the memory
/// limit may make the number smaller.
const FEWEST_WAITING: usize = 512;
/// Largest number of finished outcomes per thread that may wait in memory until the sink takes them. Small models
/// need many waiting outcomes, because their fits are very short.
const MOST_WAITING: usize = 8192;
/// Number of parameter values in the waiting outcomes of one thread. The number of waiting outcomes follows from it,
/// but stays between [`FEWEST_WAITING`] and [`MOST_WAITING`].
const NUMBERS_WAITING: usize = 1 << 18;

/// Memory that a session always uses, in units of eight bytes. Memory that is used only in rare cases, for example for
/// the full Hessian at saddle points, is not included.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Memory of the compiled model, in units of eight bytes.
    plan: usize,
    /// Working memory of one thread, in units of eight bytes.
    thread: usize,
}

impl Held {
    fn of(plan: &Plan) -> Self {
        let (n, bins, cells, terms) =
            (plan.n_parameters(), plan.n_bins(), plan.structure.n_cells, plan.structure.norm_block.len());
        let wide = if n <= DENSE_LIMIT { Curvature::numbers(&plan.structure.wide) } else { 0 };
        // Number of vectors per parameter, normsys term, cell and bin. `single` is the memory of one fit of the
        // scalar optimiser; `eight` is the memory of eight fits in SIMD lanes.
        let single =
            25 * n + 4 * terms + 3 * cells + 4 * bins + Curvature::numbers(&plan.structure.layout) + wide;
        let dual = bins.min(MOST_DUAL_BINS);
        let eight = WIDTH * (26 * n + terms + 2 * cells + 6 * bins + dual * dual / 2 + plan.n_aux());
        // The derivatives are stored twice: at the trial points and at the accepted points.
        let eight = eight + 2 * derivatives::numbers(plan);
        let toys = TOYS_PER_UNIT as usize * (bins + plan.n_aux());
        Self {
            plan: plan.numbers.hist_slope.len() + plan.numbers.hist_curve.len() + 10 * terms + cells,
            thread: single + eight + toys,
        }
    }
}

/// Returns the number of threads of a session. If the execution asks for all cores and has a memory limit, there are at
/// most as many threads as fit within this limit. `models` is the number of compiled models.
pub(super) fn threads(plan: &Plan, models: usize, execution: &Execution) -> usize {
    let threads = execution.resolved_threads();
    let Some(limit) = execution.memory_limit.filter(|_| execution.threads == 0) else { return threads };
    let held = Held::of(plan);
    let numbers = usize::try_from(limit / 8).unwrap_or(usize::MAX) / models;
    threads.min(numbers.saturating_sub(held.plan) / held.thread.max(1)).max(1)
}

impl CpuSession {
    /// Returns the number of compiled models: 2 if the session has a second model of the same size, with smooth
    /// interpolation codes; otherwise 1.
    pub(super) fn models(&self) -> usize {
        1 + usize::from(self.smooth.is_some())
    }

    /// Returns the part of the memory limit that is left for batches, in bytes. Returns `None` if there is no limit.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if the model and the working memory of the threads already exceed the
    /// limit.
    pub(super) fn memory_for_batches(&self) -> Result<Option<u64>, SessionError> {
        let Some(limit) = self.memory_limit else { return Ok(None) };
        let held = Held::of(&self.plan);
        let threads = self.threads.max(1);
        // If inputs can be replaced, each thread may have its own copy of the compiled model.
        let copies = if self.plan.open.table.is_empty() { 1 } else { 1 + threads };
        let needed = 8 * (self.models() * (held.plan * copies + held.thread * threads)) as u64;
        let (device, what) = (Device::Cpu, "the compiled model with the working memory of its threads");
        let refused = SessionError::MemoryLimit {
            device,
            what,
            needed,
            limit,
            remedy: "take fewer threads (--threads)",
        };
        limit.checked_sub(needed).map(Some).ok_or(refused)
    }

    /// Returns two limits for a batch: how many finished outcomes may wait until the sink takes them, and how many
    /// toys a work unit may have. The results of fits do not depend on these limits.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if there is no memory for the outcome of one task.
    pub(super) fn batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
    ) -> Result<(usize, u64), SessionError> {
        let n = self.plan.n_parameters();
        let threads = self.threads.max(1);
        let each = NUMBERS_WAITING / n.max(1);
        let usual = each.clamp(FEWEST_WAITING, MOST_WAITING) * threads;
        let (Some(room), Some(limit)) = (self.memory_for_batches()?, self.memory_limit) else {
            let on_device = self.descents.is_some();
            return Ok((usual, if on_device { TOYS_PER_UNIT_ON_DEVICES } else { TOYS_PER_UNIT }));
        };
        let uncertainties = if wanted.uncertainties || wanted.covariance { 16 * n } else { 0 };
        let covariance = if wanted.covariance { 8 * n * n } else { 0 };
        let inverse = if wanted.inverse { 8 * Curvature::numbers(&self.plan.structure.layout) } else { 0 };
        let per_fit = size_of::<FitOutcome>() + 8 * n + uncertainties + covariance + inverse;
        let fits = tasks.iter().map(|task| task.fits.len()).max().unwrap_or(0);
        let outcome = (per_fit * fits).max(1) as u64;
        // New work units start only while fewer outcomes than this number wait. Units that are already running add
        // more outcomes. Half of the memory is reserved for them.
        let fitting = usize::try_from(room / outcome / 2).unwrap_or(usize::MAX);
        if fitting == 0 {
            let needed = limit - room + 2 * outcome;
            let (device, what, remedy) =
                (Device::Cpu, "the outcome of one task", "do not ask for covariances");
            return Err(SessionError::MemoryLimit { device, what, needed, limit, remedy });
        }
        Ok((fitting.min(usual), (fitting as u64 / threads as u64).clamp(1, TOYS_PER_UNIT)))
    }

    /// Returns the largest number of fits that one thread may have in progress at the same time. Each of these fits
    /// takes `more` bytes in addition to its working memory.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn fits_at_once(&self, more: usize) -> usize {
        let Ok(Some(room)) = self.memory_for_batches() else { return usize::MAX };
        let each = (8 * Held::of(&self.plan).thread + more) as u64;
        usize::try_from(room / 4 / self.threads.max(1) as u64 / each).unwrap_or(usize::MAX).max(1)
    }

    /// Checks that the results of an evaluation at `points` points fit within the memory limit.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if they do not.
    pub(super) fn check_results(
        &self,
        points: usize,
        request: EvaluationRequest,
    ) -> Result<(), SessionError> {
        let (Some(room), Some(limit)) = (self.memory_for_batches()?, self.memory_limit) else {
            return Ok(());
        };
        let (plan, n) = (&self.plan, self.plan.n_parameters());
        let of = |wanted: bool, numbers: usize| if wanted { numbers } else { 0 };
        let numbers = of(request.nll, 3)
            + of(request.gradient, n)
            + of(request.hessian, n * n)
            + of(request.expected, plan.n_bins() + plan.n_aux())
            + of(request.samples, plan.structure.n_cells);
        let needed = 8 * (numbers * points) as u64;
        if needed <= room {
            return Ok(());
        }
        let (device, what, remedy) =
            (Device::Cpu, "an evaluation at these points", "ask for fewer points at a time");
        Err(SessionError::MemoryLimit { device, what, needed: needed + (limit - room), limit, remedy })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
