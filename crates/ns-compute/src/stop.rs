//! A wish of the caller to stop, for computations that take longer than anybody wants to wait.

use std::sync::atomic::{AtomicBool, Ordering};

/// The flag of a caller, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stop<'a>(pub(crate) Option<&'a AtomicBool>);

impl Stop<'_> {
    /// True once the caller asked to stop: later results are not used.
    pub(crate) fn asked(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
