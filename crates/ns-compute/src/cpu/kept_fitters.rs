//! Keeps the prepared inputs that fits of toys share, so that a run in many small batches prepares them once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ns_core::{FitRequest, ToySource};

use crate::lanes::ToyFitter;

/// Largest number of kept entries: enough for two hypotheses of two simultaneous runs.
const MOST: usize = 4;

/// Inputs that the fits of toys share, one element per request of a task. An element is `None` if the scalar
/// optimiser makes the fits of the request.
pub(super) type Fitters = Arc<Vec<Option<ToyFitter>>>;

/// The fitters of the last runs of toys on a session.
#[derive(Default)]
pub(super) struct KeptFitters {
    entries: Mutex<VecDeque<Entry>>,
}

struct Entry {
    /// The source of the toys. No other source can have the same address while this reference exists.
    source: Weak<ToySource>,
    fits: Vec<FitRequest>,
    fitters: Fitters,
}

impl KeptFitters {
    /// Returns the fitters for a source of toys and the requests `fits`. They are kept from an earlier batch, or
    /// else computed by `prepare`.
    pub(super) fn get(
        &self,
        source: &Arc<ToySource>,
        fits: &[FitRequest],
        prepare: impl FnOnce() -> Vec<Option<ToyFitter>>,
    ) -> Fitters {
        let known = |entry: &&Entry| Weak::as_ptr(&entry.source) == Arc::as_ptr(source) && entry.fits == fits;
        let lock = || self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = lock().iter().find(known) {
            return Arc::clone(&entry.fitters);
        }
        // The lock is not held here, so other batches do not wait for this computation.
        let fitters = Arc::new(prepare());
        let mut entries = lock();
        entries.retain(|entry| entry.source.strong_count() > 0);
        if entries.len() >= MOST {
            entries.pop_front();
        }
        let source = Arc::downgrade(source);
        entries.push_back(Entry { source, fits: fits.to_vec(), fitters: Arc::clone(&fitters) });
        fitters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Arc<ToySource> {
        let (parameters, main, auxiliary) = (Vec::new(), Vec::new(), Vec::new());
        Arc::new(ToySource { seed: 0, hypothesis: 0, parameters, main, auxiliary, events: Vec::new() })
    }

    #[test]
    fn fitters_are_prepared_once_for_a_source_and_its_requests() {
        let kept = KeptFitters::default();
        let mut prepared = 0;
        let mut get = |source: &Arc<ToySource>, fits: &[FitRequest]| {
            kept.get(source, fits, || {
                prepared += 1;
                Vec::new()
            });
            prepared
        };
        let (one, other) = (source(), source());
        let free = [FitRequest::default()];
        let fixed = [FitRequest { fixed: vec![(0, 1.0)], ..FitRequest::default() }];
        assert_eq!([get(&one, &free), get(&one, &free)], [1, 1]);
        assert_eq!([get(&one, &fixed), get(&other, &free), get(&one, &free)], [2, 3, 3]);
        drop(other);
        assert_eq!(get(&source(), &free), 4);
        for n in 0..2 * MOST {
            get(&source(), &[FitRequest { fixed: vec![(n, 0.0)], ..FitRequest::default() }]);
        }
        assert!(kept.entries.lock().is_ok_and(|entries| entries.len() <= MOST));
    }
}
