//! Ctrl-C, or the SIGTERM of a batch system: the first asks the work to stop and write what is done, the
//! second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Listens from now on; returns the flag that the first Ctrl-C sets.
pub(crate) fn listen() -> &'static AtomicBool {
    // Without a handler (already set, or none possible) Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(crate::error::Exit::Interrupted as i32);
        }
    });
    &STOP
}
