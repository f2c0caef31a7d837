//! Finds out whether standard output was closed when the program started (`>&-`). Before `main` Rust replaces it by the null device,
//! where a result would be lost without an error.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there is no standard output.
pub(crate) fn stdout_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
mod at_start {
    use super::{CLOSED, Ordering};

    /// Called by the loader, before Rust's own start.
    // SAFETY: the section holds addresses of functions with this signature; this one asks about a descriptor and stores a flag,
    // which needs nothing of Rust's run time.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: reads the flags of a descriptor, which fails where there is none.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
}
