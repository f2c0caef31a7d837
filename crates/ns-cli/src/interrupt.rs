//! Handles Ctrl-C, SIGTERM (from a batch system) and SIGHUP (from a closed terminal). The first signal during
//! the analysis asks the analysis to stop. The command then writes the finished part of the result. A second
//! signal, or a signal before the analysis, removes temporary files and ends the process at once. No
//! half-written file remains. Signals that were ignored when the program started (`nohup`, `trap ''`) stay
//! ignored.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether a signal has asked the running analysis to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether the analysis has started. A running analysis checks [`STOP`].
static WORKING: AtomicBool = AtomicBool::new(false);

/// Temporary files that are removed if a signal ends the process. A complete temporary file is moved to its
/// final path and removed from the list.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Marks the start of the analysis. From then on, the first signal sets the returned flag and does not end
/// the process.
pub(crate) fn listen() -> &'static AtomicBool {
    WORKING.store(true, Ordering::SeqCst);
    handle();
    &STOP
}

/// Adds a temporary file to the list of files that are removed when a signal ends the process.
pub(crate) fn remove_at_end(path: PathBuf) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    handle();
}

fn handle() {
    let ignored = ignored::signals();
    // An error means that the handler is installed already, or that no handler can be installed. In the
    // second case Ctrl-C ends the process.
    let set = ctrlc::set_handler(|| {
        if !WORKING.load(Ordering::SeqCst) || STOP.swap(true, Ordering::Relaxed) {
            for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                // An error cannot be reported here.
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(crate::error::Exit::Interrupted as i32);
        }
    });
    if set.is_ok() {
        ignored::ignore(&ignored);
    }
}

#[cfg(unix)]
mod ignored {
    use std::ffi::c_int;

    /// The signals for which the crate `ctrlc` installs its handler.
    const TAKEN: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    /// Returns those signals in [`TAKEN`] that the process ignores at this time.
    pub(super) fn signals() -> Vec<c_int> {
        let is_ignored = |signal: &c_int| {
            // SAFETY: all bits zero are a valid `sigaction` structure. Without a new action the call only
            // copies the existing action into that structure.
            let old = unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                (libc::sigaction(*signal, std::ptr::null(), &raw mut old) == 0).then_some(old)
            };
            old.is_some_and(|old| old.sa_sigaction == libc::SIG_IGN)
        };
        TAKEN.into_iter().filter(is_ignored).collect()
    }

    /// Makes the process ignore the given signals again. Before this call, a handler was installed for them.
    pub(super) fn ignore(signals: &[c_int]) {
        for signal in signals {
            // SAFETY: an ignored signal runs no handler.
            unsafe { libc::signal(*signal, libc::SIG_IGN) };
        }
    }
}

#[cfg(not(unix))]
mod ignored {
    pub(super) fn signals() {}

    pub(super) fn ignore((): &()) {}
}
