//! Parts of a batch that another session makes: its outcomes and its progress take their place in the whole.

use ns_core::{Control, FitTask, Observer, Session, SessionError, Sink, TaskOutcome, Wanted};

/// Fits that tasks ask for.
pub(super) fn fits_of(tasks: &[FitTask]) -> usize {
    let fits: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
    usize::try_from(fits).unwrap_or(usize::MAX)
}

/// How far a batch is when a part of it is handed over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Number of the next outcome.
    pub(super) index: usize,
    /// Fits done before, and in all.
    pub(super) before: usize,
    pub(super) total: usize,
}

/// Has `session` make `tasks`, a part of a batch; returns how many outcomes it delivered.
///
/// # Errors
/// Those of the session.
pub(super) fn hand_over(
    session: &dyn Session,
    tasks: &[FitTask],
    wanted: Wanted,
    control: Control<'_>,
    sink: &mut dyn Sink,
    place: Place,
) -> Result<usize, SessionError> {
    let progress = control.observer.map(|observer| Progress { observer, place });
    let observer = progress.as_ref().map(|progress| progress as &dyn Observer);
    let mut shifted = Shifted { sink, by: place.index, delivered: 0 };
    session.fit_batch(tasks, wanted, Control { observer, cancel: control.cancel }, &mut shifted)?;
    Ok(shifted.delivered)
}

/// Passes on progress of the part as that of the batch.
struct Progress<'a> {
    observer: &'a dyn Observer,
    place: Place,
}

impl Observer for Progress<'_> {
    fn progress(&self, done: usize, _total: usize) {
        self.observer.progress(self.place.before + done, self.place.total);
    }
}

/// Passes on outcomes under later numbers.
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
