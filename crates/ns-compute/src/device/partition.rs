//! Splits a batch into parts: tasks that go to the device together, and tasks that another session runs.
//! Indices of outcomes and reports of progress are those of the whole batch.

use ns_core::{
    Control, FitTask, Observer, OutcomeParts, Search, Seen, Session, SessionError, Sink, TaskOutcome,
};

/// Kind of a task. Consecutive tasks of the same kind are run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// Toys that the device fits.
    Drawn,
    /// Given data that the device fits.
    Given,
    /// Toys that are left to the CPU: those whose fits search for further minima on their own, or release
    /// parameters.
    DrawnLeft,
    /// Given data that are left to the CPU, because fits release parameters.
    GivenLeft,
}

impl TaskKind {
    /// Returns the kind of a task. `kinked` means that the model has kinks; devices make its standard search.
    fn of(task: &FitTask, kinked: bool) -> Self {
        let releases = task.fits.iter().any(|request| !request.released.is_empty());
        let local = |search| search == Search::Local || (kinked && search == Search::Standard);
        let searches = task.fits.iter().any(|request| !local(request.search));
        match task.data.seen {
            Seen::Drawn(_) if releases || searches => Self::DrawnLeft,
            Seen::Drawn(_) => Self::Drawn,
            Seen::Observed | Seen::Given(_) if releases => Self::GivenLeft,
            Seen::Observed | Seen::Given(_) => Self::Given,
        }
    }
}

/// Progress with the tasks of a part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TasksDone {
    /// Number of tasks that are done, counted from the first.
    pub(super) done: usize,
    /// Number of tasks after them that are left to another session.
    pub(super) left: usize,
}

/// Function that receives outcomes in order.
pub(super) type DeliverOutcomes<'a> = dyn FnMut(Vec<TaskOutcome>) + 'a;

/// Function that runs tasks of one kind as far as it can. At least one task is done or left.
pub(super) type RunTasks<'a> =
    dyn Fn(TaskKind, &[FitTask], &mut DeliverOutcomes<'_>) -> Result<TasksDone, SessionError> + 'a;

/// Runs a batch part by part: `make` runs the tasks that it can, and the session returned by `other` runs the
/// rest.
///
/// # Errors
/// The first error. Outcomes of earlier tasks are delivered.
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

/// Returns the number of fits that tasks request.
pub(super) fn fits_of(tasks: &[FitTask]) -> usize {
    let fits: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
    usize::try_from(fits).unwrap_or(usize::MAX)
}

/// Position in a batch at which a part of it is given to another session.
#[derive(Debug, Clone, Copy)]
struct BatchPosition {
    /// Index of the next outcome.
    index: usize,
    /// Number of fits that are done before.
    before: usize,
    /// Number of fits in the batch.
    total: usize,
}

/// Runs `tasks`, a part of a batch, on `session`, and returns the number of outcomes that it delivered.
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
    session.fit_batch(tasks, wanted, Control { observer, cancel: control.cancel }, &mut shifted)?;
    Ok(shifted.delivered)
}

/// Reports the progress of a part as progress of the batch.
struct Progress<'a> {
    observer: &'a dyn Observer,
    place: BatchPosition,
}

impl Observer for Progress<'_> {
    fn progress(&self, done: usize, _total: usize) {
        self.observer.progress(self.place.before + done, self.place.total);
    }
}

/// Passes on outcomes with their indices in the batch.
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
