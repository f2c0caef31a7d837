//! A request of the caller to stop a long computation.

use std::sync::atomic::{AtomicBool, Ordering};

use ns_core::Control;

/// The caller's flags that request a stop: one flag for the whole batch and one for a single task. A flag is `None`
/// if the caller did not give it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stop<'a>([Option<&'a AtomicBool>; 2]);

impl<'a> Stop<'a> {
    /// Returns the stop flags that `control` contains.
    pub(crate) fn of(control: Control<'a>) -> Self {
        Self([control.cancel, control.task])
    }

    /// Returns true if the caller gave no flag. A stop can then never be requested.
    pub(crate) fn is_never(self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns true once a flag is set. The caller does not use results that are computed after a flag was set.
    pub(crate) fn asked(self) -> bool {
        self.0.into_iter().flatten().any(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
impl<'a> From<&'a AtomicBool> for Stop<'a> {
    fn from(flag: &'a AtomicBool) -> Self {
        Self([Some(flag), None])
    }
}
