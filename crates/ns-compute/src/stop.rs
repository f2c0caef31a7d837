//! A request of the caller to stop a long computation.

use std::sync::atomic::{AtomicBool, Ordering};

use ns_core::Control;

/// The caller's flags that request a stop: one flag for the batch and one for a single task. Each is `None` if the
/// caller gave none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stop<'a>([Option<&'a AtomicBool>; 2]);

impl<'a> Stop<'a> {
    /// Returns the flags of a control.
    pub(crate) fn of(control: Control<'a>) -> Self {
        Self([control.cancel, control.task])
    }

    /// Returns whether the caller gave no flag.
    pub(crate) fn is_never(self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns true once the caller has asked to stop. Results that are computed after that are not used.
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
