//! Splits a batch into parts: consecutive tasks that the device runs together, and tasks that another session runs.
//! Outcomes keep their indices in the batch. Progress is reported for the batch as a whole.

use ns_core::{
    Control, FitTask, Observer, OutcomeParts, Search, Seen, Session, SessionError, Sink, TaskOutcome,
};

/// Kind of a task: which data it fits, and whether the device or the CPU fits them. Consecutive tasks of one kind are
/// run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// Toys that the device fits.
    Drawn,
    /// Given data that the device fits.
    Given,
    /// Toys that the CPU fits. A fit of the task requests a search for further minima that devices do not make, or
    /// frees a parameter that the model fixes.
    DrawnLeft,
    /// Given data that the CPU fits, for example because a fit frees a parameter that the model fixes.
    GivenLeft,
}

impl TaskKind {
    /// Returns the kind of a task. `kinked` is true if the model has kinks. For fits of toys, devices make the standard
    /// search for further minima only in such models. In other models, the CPU makes this search.
    fn of(task: &FitTask, kinked: bool) -> Self {
        let releases = task.fits.iter().any(|request| !request.released.is_empty());
        let local = |search| search == Search::Local || (kinked && search == Search::Standard);
        let searches = task.fits.iter().any(|request| !local(request.search));
        match task.data.seen {
            Seen::Drawn(_) if releases || searches => Self::DrawnLeft,
            Seen::Drawn(_) => Self::Drawn,
            // The kernels use the numbers of the compiled model. The CPU therefore runs tasks that replace these
            // numbers.
            Seen::Observed | Seen::Given(_) if releases || task.data.yields.is_some() => Self::GivenLeft,
            Seen::Observed | Seen::Given(_) => Self::Given,
        }
    }
}

/// Result of running tasks on a device: how many of them are done, and how many another session must run next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TasksDone {
    /// Number of completed tasks, counted from the first.
    pub(super) done: usize,
    /// Number of tasks after the completed ones that another session must run next.
    pub(super) left: usize,
}

/// Function that receives outcomes in the order of their tasks.
pub(super) type DeliverOutcomes<'a> = dyn FnMut(Vec<TaskOutcome>) + 'a;

/// Function that runs tasks of one kind. It may stop before all tasks are done. The returned [`TasksDone`] must contain
/// at least one task, either done or left.
pub(super) type RunTasks<'a> =
    dyn Fn(TaskKind, &[FitTask], &mut DeliverOutcomes<'_>) -> Result<TasksDone, SessionError> + 'a;

/// Runs a batch part by part. `make` runs consecutive tasks of one kind. Tasks that `make` does not run are run by the
/// session that `other` returns. `kinked` is true if the model has kinks.
///
/// # Errors
/// The first error. Outcomes of the tasks before the error have been delivered.
pub(super) fn in_parts<'a>(
    (tasks, kinked): (&[FitTask], bool),
    wanted: OutcomeParts,
    control: Control<'_>,
    sink: &mut dyn Sink,
    make: &RunTasks<'_>,
    other: &dyn Fn(&[FitTask]) -> &'a dyn Session,
) -> Result<(), SessionError> {
    let total = fits_of(tasks);
    let (mut index, mut fits) = (0, 0);
    let mut rest = tasks;
    while let Some(task_kind) =
        rest.first().map(|task| TaskKind::of(task, kinked)).filter(|_| !control.is_cancelled())
    {
        let together = rest.iter().take_while(|task| TaskKind::of(task, kinked) == task_kind).count();
        let now = rest.get(..together).unwrap_or_default();
        let mut deliver = |outcomes: Vec<TaskOutcome>| {
            for outcome in outcomes {
                fits += outcome.fits.len();
                sink.accept(index, outcome);
                index += 1;
            }
            control.progress(fits, total);
        };
        let TasksDone { done, left } = make(task_kind, now, &mut deliver)?;
        let left = now.get(done..).and_then(|tasks| tasks.get(..left)).unwrap_or_default();
        if !left.is_empty() {
            let place = BatchPosition { index, before: fits, total };
            index += hand_over(other(now), left, wanted, control, sink, place)?;
            fits += fits_of(left);
        }
        rest = rest.get((done + left.len()).max(1)..).unwrap_or_default();
    }
    Ok(())
}

/// Returns the number of fits that the tasks request, summed over all toys.
pub(super) fn fits_of(tasks: &[FitTask]) -> usize {
    let fits: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
    usize::try_from(fits).unwrap_or(usize::MAX)
}

/// Position in a batch at which another session begins to run a part of the batch.
#[derive(Debug, Clone, Copy)]
struct BatchPosition {
    /// Index of the next outcome in the batch.
    index: usize,
    /// Number of fits of the batch that were done before this position.
    before: usize,
    /// Number of fits in the batch.
    total: usize,
}

/// Runs `tasks` on `session`. They are a part of a batch, and `place` is the position of this part. Returns how many
/// outcomes the session delivered.
///
/// # Errors
/// Any error of the session.
fn hand_over(
    session: &dyn Session,
    tasks: &[FitTask],
    wanted: OutcomeParts,
    control: Control<'_>,
    sink: &mut dyn Sink,
    place: BatchPosition,
) -> Result<usize, SessionError> {
    let progress = control.observer.map(|observer| Progress { observer, place });
    let observer = progress.as_ref().map(|progress| progress as &dyn Observer);
    let mut shifted = Shifted { sink, by: place.index, delivered: 0 };
    session.fit_batch(tasks, wanted, Control { observer, ..control }, &mut shifted)?;
    Ok(shifted.delivered)
}

/// Observer that receives the progress of a part and reports it as progress of the batch.
struct Progress<'a> {
    observer: &'a dyn Observer,
    place: BatchPosition,
}

impl Observer for Progress<'_> {
    fn progress(&self, done: usize, _total: usize) {
        self.observer.progress(self.place.before + done, self.place.total);
    }
}

/// Sink that receives the outcomes of a part and passes them on with their indices in the batch.
struct Shifted<'a> {
    sink: &'a mut dyn Sink,
    by: usize,
    delivered: usize,
}

impl Sink for Shifted<'_> {
    fn accept(&mut self, index: usize, outcome: TaskOutcome) {
        self.delivered += 1;
        self.sink.accept(self.by + index, outcome);
    }
}
