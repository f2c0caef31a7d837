//! A request of the caller to stop a computation that takes long.

use std::sync::atomic::{AtomicBool, Ordering};

/// The caller's flag that requests a stop; `None` if the caller gave none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stop<'a>(pub(crate) Option<&'a AtomicBool>);

impl Stop<'_> {
    /// Returns true once the caller has asked to stop. Later results are not used.
    pub(crate) fn asked(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
