//! A session that splits its fits into pieces, which the threads of a pool run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use ns_core::{
    Control, Data, Device, DeviceCheck, Evaluation, EvaluationRequest, FitTask, InputTable, InverseHessian,
    LeftToCpu, OutcomeParts, ParameterTable, Pulled, Session, SessionError, Sink, SquaredWeights,
    TaskOutcome, ToySource,
};

use super::queue::{Failure, Piece, Reply};
use super::split::{Pace, Rest};
use super::{Pool, RequestAccount};
/// Largest number of pieces of one batch of fits that wait or run at the same time, per thread of the pool. With
/// two pieces per thread, no thread has to wait until the caller submits the next piece.
const AHEAD: usize = 2;

/// A session for one request. The threads of a pool run the fits. The calling thread does everything else.
pub(crate) struct PooledSession {
    inner: Arc<dyn Session>,
    pool: Arc<Pool>,
    pace: Arc<Pace>,
    account: Arc<RequestAccount>,
    /// Whether the calling thread runs the fits.
    in_caller: bool,
    /// For a session on a GPU, the session on the CPU that makes single fits.
    cpu: Option<Box<PooledSession>>,
}

impl PooledSession {
    /// Returns a session that runs the fits of `inner` on the threads of `pool`. `account` records the thread time
    /// that the request uses.
    pub(crate) fn new(
        inner: Arc<dyn Session>,
        pool: Arc<Pool>,
        pace: Arc<Pace>,
        account: Arc<RequestAccount>,
    ) -> Self {
        Self { inner, pool, pace, account, in_caller: false, cpu: None }
    }

    /// Sets whether the calling thread runs the fits, instead of the threads of the pool.
    pub(crate) fn in_caller(self, in_caller: bool) -> Self {
        Self { in_caller, ..self }
    }

    /// Adds to a session on a GPU a session on the CPU, which makes single fits.
    pub(crate) fn with_cpu(self, cpu: Self) -> Self {
        Self { cpu: Some(Box::new(cpu)), ..self }
    }
}

/// A batch of fits in progress: the pieces that wait or run, and finished outcomes that cannot be delivered before
/// earlier outcomes.
struct Batch<'a> {
    replies: Receiver<Reply>,
    early: BTreeMap<usize, Vec<TaskOutcome>>,
    /// Number of outcomes and number of fits of each piece of the batch.
    sizes: Vec<(usize, usize)>,
    /// Number of pieces whose outcomes have been delivered.
    delivered: usize,
    /// Number of outcomes that have been delivered, which is the index of the next outcome.
    index: usize,
    fits: usize,
    total: usize,
    control: Control<'a>,
}

impl Batch<'_> {
    /// Waits for the outcomes of one piece, and passes all outcomes that are next in order to `sink`. Returns false
    /// if the outcomes are missing because the request was cancelled.
    fn receive(&mut self, sink: &mut dyn Sink) -> Result<bool, SessionError> {
        // The pool keeps a sender for each piece until it has sent the reply.
        let Ok(Reply { number, outcomes }) = self.replies.recv() else { return Ok(false) };
        match outcomes {
            Ok(outcomes) => self.early.insert(number, outcomes),
            Err(Failure::Session(error)) => return Err(error),
            Err(Failure::Panicked) => std::panic::resume_unwind(Box::new("a fit panicked")),
        };
        while let Some(outcomes) = self.early.remove(&self.delivered) {
            let (expected, fits) = self.sizes.get(self.delivered).copied().unwrap_or_default();
            let complete = outcomes.len() >= expected;
            for outcome in outcomes {
                sink.accept(self.index, outcome);
                self.index += 1;
            }
            if !complete {
                return Ok(false);
            }
            self.delivered += 1;
            self.fits += fits;
            self.control.progress(self.fits, self.total);
        }
        Ok(true)
    }
}

impl Session for PooledSession {
    fn device(&self) -> Device {
        self.inner.device()
    }

    fn parameters(&self) -> &ParameterTable {
        self.inner.parameters()
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        if self.in_caller {
            let started = Instant::now();
            let made = self.inner.fit_batch(tasks, wanted, control, sink);
            self.pool.charge(&self.account, started.elapsed());
            return made;
        }
        let fits: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
        let total = usize::try_from(fits).unwrap_or(usize::MAX);
        let (reply, replies) = channel();
        let (early, sizes) = (BTreeMap::new(), Vec::new());
        let mut batch = Batch { replies, early, sizes, delivered: 0, index: 0, fits: 0, total, control };
        let mut rest = Rest::of(tasks);
        let mut waiting = 0;
        loop {
            while waiting < AHEAD * self.pool.threads() && !control.is_cancelled() {
                let Some(cut) = rest.next(&self.pace) else { break };
                let number = batch.sizes.len();
                batch.sizes.push((cut.outcomes, cut.fits));
                self.pool.submit(Piece {
                    account: Arc::clone(&self.account),
                    session: Arc::clone(&self.inner),
                    pace: Arc::clone(&self.pace),
                    tasks: cut.tasks,
                    wanted,
                    number,
                    expected: cut.expected,
                    reply: reply.clone(),
                });
                waiting += 1;
            }
            if waiting == 0 {
                return Ok(());
            }
            waiting -= 1;
            if !batch.receive(sink)? {
                return Ok(());
            }
        }
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        self.inner.evaluate(data, points, request)
    }

    fn asimov_for(&self, parameters: &[f64], visited: &[&[f64]], of: &Data) -> Result<Data, SessionError> {
        self.inner.asimov_for(parameters, visited, of)
    }

    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError> {
        self.inner.toy_source(parameters, of, seed, hypothesis)
    }

    fn combined_variances(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.inner.combined_variances(data, point, free, combinations)
    }

    fn inverse_rows(&self, inverse: &InverseHessian, parameters: &[usize]) -> Vec<Option<Vec<f64>>> {
        self.inner.inverse_rows(inverse, parameters)
    }

    fn squared_weights(
        &self,
        data: &Data,
        point: &[f64],
        form: SquaredWeights,
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.inner.squared_weights(data, point, form)
    }

    fn inputs(&self) -> &InputTable {
        self.inner.inputs()
    }

    fn pull_back(&self, data: &Data, point: &[f64], along: Option<&[f64]>) -> Result<Pulled, SessionError> {
        self.inner.pull_back(data, point, along)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        self.inner.saturated_nll(data)
    }

    fn cpu(&self) -> Option<&dyn Session> {
        self.cpu.as_deref().map(|cpu| cpu as &dyn Session)
    }

    fn check(&self) -> Option<DeviceCheck> {
        self.inner.check()
    }

    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        self.inner.left_to_cpu()
    }
}
