//! Sessions in which numbers of the model are replaced, for example by other yields. Such a session is a copy of the
//! original session. The original session keeps idle copies, and overwrites their numbers for each task.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Data, FitRequest, FitTask, Search, SessionError, Yields};

use super::CpuSession;
use crate::eval::Dataset;
use crate::plan::Plan;

/// Idle copies of a session. No thread uses them at the moment.
pub(super) type ReplacedShelf = Arc<Mutex<Vec<CpuSession>>>;

/// The computations for which numbers of the model (for example nominal yields) are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Fits that may search for further minima. The parameters for which they search are determined from the new
    /// numbers of the model.
    Fits,
    /// Fits that start near a known minimum, use the inverse Hessian of this minimum, and search for no other
    /// minimum. The list of parameters that may have further minima is copied from the compiled model. It is not
    /// determined again for the replaced numbers.
    Refits,
    /// Evaluations of `-ln L` at given points. They search for no minima.
    Evaluation,
}

impl Purpose {
    /// Returns [`Self::Refits`] if every fit of the task starts with a given inverse Hessian and searches for no
    /// other minimum; otherwise [`Self::Fits`].
    pub(super) fn of(task: &FitTask) -> Self {
        let is_refit = |fit: &FitRequest| fit.search == Search::Local && fit.metric.is_some();
        if task.fits.iter().all(is_refit) { Self::Refits } else { Self::Fits }
    }

    /// Sets the search policy of `plan`, which says for which parameters the optimiser searches for further minima.
    /// `plan` is a copy of a compiled model, with replaced numbers. `compiled` is the original compiled model.
    fn set_policy(self, plan: &mut Plan, compiled: &Plan) {
        match self {
            Self::Fits => plan.judge(),
            Self::Refits => plan.policy.clone_from(&compiled.policy),
            Self::Evaluation => {}
        }
    }
}

impl CpuSession {
    /// Calls `work` with a session whose model has the numbers that `data` contains. If `data` replace numbers of the
    /// model, this session is a copy; otherwise it is `self`.
    ///
    /// # Errors
    /// If the numbers do not suit the inputs of the model.
    pub(crate) fn with_numbers<R>(
        &self,
        data: &Data,
        purpose: Purpose,
        work: impl FnOnce(&Self) -> R,
    ) -> Result<R, SessionError> {
        let Some(yields) = data.yields.as_deref() else { return Ok(work(self)) };
        let session = self.replaced(yields, purpose)?;
        let result = work(&session);
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(result)
    }

    /// Returns a copy of the session in which `yields` replace numbers of the model. If there is an idle copy of the
    /// session, this copy is used.
    fn replaced(&self, yields: &Yields, purpose: Purpose) -> Result<Self, SessionError> {
        let Yields { values } = yields;
        self.plan.open.check(values)?;
        let kept = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut session = kept.unwrap_or_else(|| self.copied());
        // No other session uses the plan of this copy, so `make_mut` clones nothing.
        let plan = Arc::make_mut(&mut session.plan);
        plan.replace(values);
        purpose.set_policy(plan, &self.plan);
        if let (Some(smooth), Some(compiled)) = (&mut session.smooth, &self.smooth) {
            let smooth = Arc::make_mut(smooth);
            smooth.replace(values);
            purpose.set_policy(smooth, compiled);
        }
        Arc::make_mut(&mut session.observed).saturate(&session.plan);
        Ok(session)
    }

    /// Returns a session with its own copy of everything that depends on the numbers of the model. The threads and
    /// the working memory are shared with `self`.
    fn copied(&self) -> Self {
        Self {
            plan: Arc::new(Plan::clone(&self.plan)),
            smooth: self.smooth.as_deref().map(|smooth| Arc::new(Plan::clone(smooth))),
            observed: Arc::new(Dataset::clone(&self.observed)),
            level: self.level,
            threads: self.threads,
            memory_limit: self.memory_limit,
            pool: self.pool.clone(),
            workers: Arc::clone(&self.workers),
            smooth_workers: Arc::clone(&self.smooth_workers),
            fitters: super::KeptFitters::default(),
            shelf: ReplacedShelf::default(),
            sweeps: Arc::clone(&self.sweeps),
            event_sums: self.event_sums.clone(),
            event_toys: None,
            descents: None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
