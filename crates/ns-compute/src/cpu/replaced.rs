//! Sessions with replaced numbers. They are copies of the compiled model, which the session keeps and
//! overwrites for each task.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Data, FitRequest, FitTask, Search, SessionError, Yields};

use super::CpuSession;
use crate::eval::Dataset;
use crate::plan::Plan;

/// Copies of the session that no thread uses at the moment.
pub(super) type ReplacedShelf = Arc<Mutex<Vec<CpuSession>>>;

/// The purpose for which numbers are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Fits. The parameters with possible further minima are determined anew from the replaced numbers.
    Fits,
    /// Fits that begin near a known minimum with its inverse Hessian and look for no other minimum. The parameters with
    /// possible further minima are those of the compiled numbers.
    Refits,
    /// Evaluations, which look for no minima.
    Evaluation,
}

impl Purpose {
    /// Returns the purpose of a task's fits.
    pub(super) fn of(task: &FitTask) -> Self {
        let is_refit = |fit: &FitRequest| fit.search == Search::Local && fit.metric.is_some();
        if task.fits.iter().all(is_refit) { Self::Refits } else { Self::Fits }
    }

    /// Sets the search policy of a copied plan. `compiled` is the plan with the compiled numbers.
    fn set_policy(self, plan: &mut Plan, compiled: &Plan) {
        match self {
            Self::Fits => plan.judge(),
            Self::Refits => plan.policy.clone_from(&compiled.policy),
            Self::Evaluation => {}
        }
    }
}

impl CpuSession {
    /// Calls `work` with a session that has the numbers of `data`. This is a copy of the session if `data`
    /// replace numbers of the model, otherwise the session itself.
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

    /// Returns a copy of the session in which `yields` replace numbers of the model. The copy is taken from
    /// the shelf if there is one.
    fn replaced(&self, yields: &Yields, purpose: Purpose) -> Result<Self, SessionError> {
        let Yields { values } = yields;
        self.plan.open.check(values)?;
        let kept = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut session = kept.unwrap_or_else(|| self.copied());
        // The copies belong to this session alone, so nothing is cloned here.
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

    /// Returns a session with copies of everything that depends on the numbers of the model. It shares the
    /// threads and the working memory.
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
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
