//! Keeps the [`Fitters`], which are the inputs that all fits of the same toys share. A run of toys in many small
//! batches then prepares them only once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ns_core::{FitRequest, ToySource};

use crate::lanes::ToyFitter;

/// Largest number of kept [`Fitters`]. This is enough for two runs at the same time with two hypotheses each.
const MOST: usize = 4;

/// Inputs that the fits of all toys share, one element per request of a task. An element is `None` if the fits of
/// that request are made by the scalar optimiser of the CPU, which makes one fit at a time.
pub(super) type Fitters = Arc<Vec<Option<ToyFitter>>>;

/// The [`Fitters`] that a session prepared for its last runs of toys. At most [`MOST`] are kept.
#[derive(Default)]
pub(super) struct KeptFitters {
    entries: Mutex<VecDeque<Entry>>,
}

struct Entry {
    /// The distributions from which the toys are drawn. While this weak reference exists, no other source can have the
    /// same address.
    source: Weak<ToySource>,
    fits: Vec<FitRequest>,
    fitters: Fitters,
}

impl KeptFitters {
    /// Returns the fitters for a source of toys and the requests `fits`. If no earlier batch has stored them, calls
    /// `prepare` to compute them, and stores them.
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
        // The lock is not held during this computation, so other batches do not wait for it.
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
        Arc::new(ToySource {
            seed: 0,
            hypothesis: 0,
            parameters,
            main,
            auxiliary,
            joint: Vec::new(),
            events: Vec::new(),
        })
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
