//! Runs long computations with the interpreter lock released. Meanwhile progress is shown, and Ctrl-C stops
//! the computation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ns_core::{Control, Observer};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use crate::shown::shown;

/// Interval between two checks whether the user pressed Ctrl-C. Progress is shown in the same interval.
const TICK: Duration = Duration::from_millis(50);

/// The latest report of progress: the numbers of finished and of all fits, or toys in an analysis of toys.
#[derive(Default)]
struct Counter {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Observer for Counter {
    fn progress(&self, done: usize, total: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }
}

/// How the progress of an analysis is reported.
pub(crate) enum Progress {
    /// Progress is not reported.
    Silent,
    /// A bar of the module `nextstat._progress`, which is called with `(done, total, last)`.
    Bar(Py<PyAny>),
    /// A function is called with the arguments `(done, total)`.
    Call(Py<PyAny>),
}

impl Progress {
    /// Reads the `progress` argument, which is a truth value or a function.
    ///
    /// # Errors
    /// `TypeError` for other objects.
    pub(crate) fn read(object: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        match object {
            None => Ok(Self::Silent),
            Some(object) if object.is_callable() => Ok(Self::Call(object.clone().unbind())),
            Some(object) => match object.extract::<bool>() {
                Ok(true) => {
                    let bar = object.py().import("nextstat._progress")?.call_method0("Bar")?;
                    Ok(Self::Bar(bar.unbind()))
                }
                Ok(false) => Ok(Self::Silent),
                Err(_) => Err(PyTypeError::new_err(format!(
                    "progress must be True, False or a function that is called with the numbers done and in all, not {}",
                    shown(object)
                ))),
            },
        }
    }

    fn show(&self, py: Python<'_>, done: usize, total: usize, last: bool) -> PyResult<()> {
        match self {
            Self::Silent => Ok(()),
            Self::Call(function) => function.call1(py, (done, total)).map(|_| ()),
            Self::Bar(bar) => bar.call1(py, (done, total, last)).map(|_| ()),
        }
    }
}

/// Runs `work` on a separate thread, with the interpreter lock released.
///
/// # Errors
/// The exception that a signal handler or the progress function raised, once `work` has stopped, or
/// `RuntimeError` if `work` panicked.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    work: impl FnOnce(Control<'_>) -> T + Send,
) -> PyResult<T> {
    match run_keeping(py, progress, work) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(without_result()),
    }
}

/// Runs `work` like [`run`], for functions that return a partial result when they are stopped. Returns the
/// exception that was raised, if any, and the result of `work`. There is no result if `work` panicked.
pub(crate) fn run_keeping<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    work: impl FnOnce(Control<'_>) -> T + Send,
) -> (Option<PyErr>, Option<T>) {
    let (stop, counter) = (AtomicBool::new(false), Counter::default());
    let mut shown = 0;
    let mut raised: Option<PyErr> = None;
    let mut look_after = |stop: &AtomicBool, last: bool| {
        let heard = Python::attach(|py| {
            py.check_signals()?;
            let (done, total) = (counter.done.load(Ordering::Relaxed), counter.total.load(Ordering::Relaxed));
            if done != shown || (last && total > 0) {
                shown = done;
                progress.show(py, done, total, last)?;
            }
            Ok(())
        });
        if let Err(error) = heard {
            stop.store(true, Ordering::Relaxed);
            raised.get_or_insert(error);
        }
    };
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let control = Control { observer: Some(&counter), cancel: Some(&stop), task: None };
            let worker = scope.spawn(move || {
                // `send` cannot fail, because the receiver exists until this thread has ended.
                let _ = sender.send(work(control));
            });
            let result = loop {
                match receiver.recv_timeout(TICK) {
                    Ok(result) => break Some(result),
                    Err(RecvTimeoutError::Timeout) => look_after(&stop, false),
                    Err(RecvTimeoutError::Disconnected) => break None,
                }
            };
            // `join` returns a panic of the worker as an error; without `join` the scope would panic too.
            let ended = worker.join();
            look_after(&stop, true);
            result.filter(|_| ended.is_ok())
        })
    });
    (raised, result)
}

/// Largest number of parameters of a model whose fits are made by [`run_short`]. Such fits take milliseconds.
pub(crate) const SHORT_FIT: usize = 400;

/// Runs `work` on the calling thread, with the interpreter lock released. This is meant for work that takes a few
/// milliseconds, because starting another thread would take as long. Ctrl-C takes effect only after `work`.
///
/// # Errors
/// `RuntimeError` if `work` panicked, which is a bug, or the exception that a signal handler raised.
pub(crate) fn run_short<T: Send>(py: Python<'_>, work: impl FnOnce(Control<'_>) -> T + Send) -> PyResult<T> {
    let result = released(py, || work(Control::default()));
    py.check_signals()?;
    result
}

/// Runs `work` with the interpreter lock released. A panic, which is a bug, becomes a Python exception.
///
/// # Errors
/// `RuntimeError` if `work` panicked.
pub(crate) fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // After a panic, no value that the closure borrows is used again.
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| without_result())
}

/// Panics for a test, in the function that the test names: "thread" for [`run`], "short" for [`run_short`],
/// and any other text for [`released`].
#[cfg(debug_assertions)]
#[pyfunction]
pub(crate) fn _panic(py: Python<'_>, place: &str) -> PyResult<()> {
    let work = || assert!(place.is_empty(), "a panic that a test asked for");
    match place {
        "thread" => run(py, &Progress::Silent, |_| work()),
        "short" => run_short(py, |_| work()),
        _ => released(py, work),
    }
}

pub(crate) fn without_result() -> PyErr {
    PyRuntimeError::new_err("internal error: a fit ended without a result; please report it")
}
