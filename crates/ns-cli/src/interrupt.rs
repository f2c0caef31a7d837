//! Ctrl-C, or the SIGTERM of a batch system: the first asks the work to stop and write what is done, the
//! second ends the process. Signals that whoever started the program has ignored (`nohup`, `trap ''`) stay ignored.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Listens from now on; returns the flag that the first Ctrl-C sets.
pub(crate) fn listen() -> &'static AtomicBool {
    let ignored = ignored::signals();
    // Without a handler (already set, or none possible) Ctrl-C ends the process as usual.
    let set = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(crate::error::Exit::Interrupted as i32);
        }
    });
    if set.is_ok() {
        ignored::ignore(&ignored);
    }
    &STOP
}

#[cfg(unix)]
mod ignored {
    use std::ffi::c_int;

    /// Those that the handler takes.
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
            // SAFETY: no code of ours runs for an ignored signal.
            unsafe { libc::signal(*signal, libc::SIG_IGN) };
        }
    }
}

#[cfg(not(unix))]
mod ignored {
    pub(super) fn signals() {}

    pub(super) fn ignore((): &()) {}
}
