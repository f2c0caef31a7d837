//! Ctrl-C, or the SIGTERM of a batch system: the first asks the work to stop and write what is done, the
//! second ends the process, and so does the first one before the work. Temporary files are then removed, so
//! that no half-written file remains. Signals that were ignored when the program started (`nohup`, `trap ''`) stay ignored.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Set by a signal during the work.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether the program checks [`STOP`].
static WORKING: AtomicBool = AtomicBool::new(false);

/// Temporary files, which are moved to their final path when they are complete.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Handles signals from now on; returns the flag that the first Ctrl-C sets.
pub(crate) fn listen() -> &'static AtomicBool {
    WORKING.store(true, Ordering::SeqCst);
    handle();
    &STOP
}

/// Removes a file when a signal ends the process.
pub(crate) fn remove_at_end(path: PathBuf) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    handle();
}

fn handle() {
    let ignored = ignored::signals();
    // Without a handler (already set, or none possible) Ctrl-C ends the process as usual.
    let set = ctrlc::set_handler(|| {
        if !WORKING.load(Ordering::SeqCst) || STOP.swap(true, Ordering::Relaxed) {
            for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                // Errors cannot be reported any more.
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

    /// The signals that the handler handles.
    const TAKEN: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    /// Signals that are ignored at the moment.
    pub(super) fn signals() -> Vec<c_int> {
        let is_ignored = |signal: &c_int| {
            // SAFETY: all bits zero are a valid structure, and with no new action `sigaction` only reads the old one into it.
            let old = unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                (libc::sigaction(*signal, std::ptr::null(), &raw mut old) == 0).then_some(old)
            };
            old.is_some_and(|old| old.sa_sigaction == libc::SIG_IGN)
        };
        TAKEN.into_iter().filter(is_ignored).collect()
    }

    /// Ignores them again.
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
