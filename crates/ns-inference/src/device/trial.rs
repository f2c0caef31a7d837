//! Measures how long the fit of a toy of a model takes. The cost model knows only the size of a model. Two models of
//! the same size may need a few or thousands of evaluations for a fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Drawn, Execution, FitOutcome, FitRequest, FitTask, Observer, OutcomeParts, Search,
    Session, Start, ToySource,
};

/// Number of toys of the smallest batch: one vector of SIMD lanes.
const FEWEST: u64 = 8;

/// Largest number of toys of a batch.
const MOST: u64 = 2048;

/// Longest duration of the fits of toys, in seconds. A wrong choice costs about as much: it is the time in which a GPU
/// starts.
const LONGEST: f64 = 0.3;

/// Shortest duration of the batch that is measured, in seconds. Few toys of a model may take most of the time.
const MEASURED: f64 = 0.08;

/// The fit of the observed data is timed again if it takes less than this time, in seconds. The first fit of a process
/// also waits for memory.
const SHORT_FIT: f64 = 0.03;

/// Seed of the toys of a trial.
const SEED: u64 = 1;

/// Counts the finished fits of a batch.
#[derive(Default)]
struct Finished(AtomicUsize);

impl Observer for Finished {
    fn progress(&self, done: usize, _total: usize) {
        self.0.fetch_max(done, Ordering::Relaxed);
    }
}

/// A model whose toys are timed.
struct Trial {
    session: CpuSession,
    source: Arc<ToySource>,
    request: FitRequest,
    /// Becomes true when the time is over.
    over: AtomicBool,
}

/// Measured times on one CPU thread, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Time of the fit of the observed data, with the standard search.
    pub(super) first: f64,
    /// Time of the fit of a toy. If the trial was too short for eight toys, it is a lower bound.
    pub(super) toy: f64,
}

/// Fits the observed data and some toys, which are drawn at the best fit, on one thread. Returns `None` if there is no
/// such fit or no such toy. Beside the fit of the observed data, the trial takes about a third of a second at most.
pub(super) fn measure(cpu: &CpuSession) -> Option<Measured> {
    let session = cpu.sharing(&Execution { threads: 1, ..Execution::default() }).ok()?;
    let (mut first, mut best) = fit_observed(&session)?;
    if first < SHORT_FIT {
        let again = fit_observed(&session)?;
        (first, best) = (first.min(again.0), again.1);
    }
    let source = session.toy_source(&best.parameters, &Data::observed(), SEED, 0).ok()?;
    // These are the requests of toys with the standard search. In smooth models, the lanes search.
    let search = if cpu.plan().has_kinks() { Search::Standard } else { Search::Local };
    let request = FitRequest {
        start: Start::At(Arc::from(best.parameters.as_slice())),
        search,
        metric: best.inverse_hessian(),
        ..FitRequest::default()
    };
    let trial = Trial { session, source, request, over: AtomicBool::new(false) };
    let toy = within(LONGEST, &trial.over, || trial.per_toy())?;
    Some(Measured { first, toy })
}

/// Fits the observed data with the standard search. Returns the time in seconds, and the fit.
fn fit_observed(session: &CpuSession) -> Option<(f64, FitOutcome)> {
    let begin = Instant::now();
    let request = FitRequest { search: Search::Standard, ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let wanted = OutcomeParts { inverse: true, ..OutcomeParts::default() };
    let mut outcomes = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).ok()?;
    Some((begin.elapsed().as_secs_f64(), outcomes.pop()?.fits.pop()?.ok()?))
}

/// Calls `work`. Sets the flag `over` if it takes longer than `seconds`.
fn within<T>(seconds: f64, over: &AtomicBool, work: impl FnOnce() -> T) -> T {
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let limit = Duration::from_secs_f64(seconds);
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                over.store(true, Ordering::Relaxed);
            }
        });
        let result = work();
        drop(done);
        result
    })
}

impl Trial {
    /// Returns the time per toy. The first batch also makes what all toys share, so it is only a bound.
    fn per_toy(&self) -> Option<f64> {
        let mut n = FEWEST;
        let (first, done) = self.batch(0, n)?;
        let mut per_toy = first / done as f64;
        let mut begin = n;
        while !self.over.load(Ordering::Relaxed) {
            let (seconds, done) = self.batch(begin, n)?;
            if self.over.load(Ordering::Relaxed) {
                return Some(per_toy.min(seconds / done as f64));
            }
            per_toy = seconds / n as f64;
            if seconds >= MEASURED || n >= MOST {
                break;
            }
            begin += n;
            n *= 4;
        }
        Some(per_toy)
    }

    /// Fits the toys from index `first` on. Returns the time in seconds, and the number of finished toys. If fewer than a
    /// vector are finished in time, the number is that of a vector: its toys are fitted together.
    fn batch(&self, first: u64, count: u64) -> Option<(f64, usize)> {
        let drawn = Drawn { source: Arc::clone(&self.source), toys: first..first + count };
        let data = Data::observed().with(drawn);
        let task = FitTask { data, fits: vec![self.request.clone()], cancel: None };
        let finished = Finished::default();
        let control = Control { observer: Some(&finished), cancel: Some(&self.over), task: None };
        let begin = Instant::now();
        let mut outcomes = Vec::new();
        self.session.fit_batch(&[task], OutcomeParts::default(), control, &mut outcomes).ok()?;
        Some((begin.elapsed().as_secs_f64(), finished.0.into_inner().max(FEWEST as usize)))
    }
}
