//! Finds out whether standard output was closed when the program started (`>&-`). Before `main`, Rust
//! replaces a closed standard output by the null device. A result would be lost there without an error.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether standard output was closed when the program started; always false except on Linux.
pub(crate) fn stdout_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
mod at_start {
    use super::{CLOSED, Ordering};

    /// Pointer to a function that the dynamic loader calls before Rust's run time starts.
    // SAFETY: the section contains addresses of functions with this signature. This function reads the flags
    // of a file descriptor and stores a flag, which does not need Rust's run time.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the call only reads the flags of a file descriptor, and fails if the descriptor is closed.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
}
