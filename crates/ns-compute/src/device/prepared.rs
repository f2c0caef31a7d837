//! Caches the inputs that batches of toys share. A toy study runs many batches with the same requests and the same
//! source of toys, and prepares these inputs only once.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{FitRequest, LeftToCpu, SessionError, ToySource};

use super::draws;
use super::fit_kind::{DeviceFitKind, Size};
use super::session::GpuSession;
use crate::lanes::ToyFitter;
use crate::task::FitDomain;

/// Largest number of entries in a [`RecentCache`]. This is enough for the toys of two hypotheses and for other tasks
/// that run in parallel.
const KEPT: usize = 4;

/// Inputs of batches of toys that depend on the requests and on the expected data, but not on the seed of the toys.
pub(super) struct Shared {
    pub(super) fitters: Vec<Option<ToyFitter>>,
    /// Inputs for the fits of each request, in device memory.
    pub(super) kinds: Vec<DeviceFitKind>,
    pub(super) domains: Vec<FitDomain>,
    pub(super) size: Size,
}

/// Inputs that batches of toys share if they have the same source of toys (distributions and seed) and the same fit
/// requests.
pub(super) struct Prepared {
    source: Arc<ToySource>,
    requests: Vec<FitRequest>,
    /// Inputs that do not depend on the seed, and the distributions of the toys in device memory. `None` if the CPU
    /// makes the fits of these toys.
    pub(super) on_device: Option<(Arc<Shared>, draws::Uploaded)>,
}

/// A cache of the `KEPT` most recently used values, in the order of their last use.
pub(super) struct RecentCache<T>(Mutex<Vec<Arc<T>>>);

impl<T> Default for RecentCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> RecentCache<T> {
    /// Returns a value for which `wanted` is true, and marks it as used. If there are several, returns the most
    /// recently used one.
    pub(super) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().rposition(|one| wanted(one))?;
        let found = all.remove(place);
        all.push(Arc::clone(&found));
        Some(found)
    }

    /// Adds a value to the cache. If the cache is full, removes the least recently used value.
    pub(super) fn keep(&self, one: &Arc<T>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push(Arc::clone(one));
    }
}

/// Returns whether both arrays contain the same numbers, bit by bit. Zeros of opposite sign are different.
fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Returns whether two sources have the same parameters and distributions. Their seeds and hypotheses may
/// differ.
fn same_means(a: &ToySource, b: &ToySource) -> bool {
    same_bits(&a.parameters, &b.parameters) && a.main == b.main && a.auxiliary == b.auxiliary
}

/// Returns whether the source has the given parameters, seed and hypothesis.
pub(super) fn is_of(source: &ToySource, parameters: &[f64], seed: u64, hypothesis: u8) -> bool {
    (source.seed, source.hypothesis) == (seed, hypothesis) && same_bits(&source.parameters, parameters)
}

impl GpuSession {
    /// Returns the inputs for fits with `requests` to toys of `source`. If the cache contains these inputs, they are
    /// not prepared again.
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn prepare(
        &self,
        source: &Arc<ToySource>,
        requests: &[FitRequest],
    ) -> Result<Arc<Prepared>, SessionError> {
        let same = |known: &Prepared| {
            known.requests == requests
                && (Arc::ptr_eq(&known.source, source)
                    || ((known.source.seed, known.source.hypothesis) == (source.seed, source.hypothesis)
                        && same_means(&known.source, source)))
        };
        if let Some(known) = self.prepared.find(same) {
            return Ok(known);
        }
        let alike = |known: &Prepared| known.requests == requests && same_means(&known.source, source);
        let shared = match self.prepared.find(alike) {
            Some(known) => known.on_device.as_ref().map(|(shared, _)| Arc::clone(shared)),
            None => self.share(source, requests)?.map(Arc::new),
        };
        let on_device = match shared {
            Some(shared) => Some((shared, draws::Uploaded::new(&self.backend, source)?)),
            None => None,
        };
        let prepared =
            Arc::new(Prepared { source: Arc::clone(source), requests: requests.to_vec(), on_device });
        self.prepared.keep(&prepared);
        Ok(prepared)
    }

    fn share(&self, source: &ToySource, requests: &[FitRequest]) -> Result<Option<Shared>, SessionError> {
        let plan = &self.cpu.plan;
        if requests.iter().any(|request| !request.released.is_empty()) {
            self.note_left(LeftToCpu::Released);
            return Ok(None);
        }
        let fitters = self.cpu.fitters(source, requests, true);
        if fitters.iter().any(Option::is_none) {
            self.note_left(self.unsuitable());
            return Ok(None);
        }
        if fitters.iter().flatten().any(ToyFitter::may_end_on_ridge) {
            self.note_left(LeftToCpu::Ridge);
            return Ok(None);
        }
        let kinds = fitters
            .iter()
            .flatten()
            .map(|fitter| DeviceFitKind::new(&self.backend, fitter, plan.n_bins(), true));
        let kinds = kinds.collect::<Result<Vec<DeviceFitKind>, SessionError>>()?;
        let size = kinds.iter().map(|kind| kind.size).reduce(Size::max).unwrap_or_default();
        let domains = requests.iter().map(|request| FitDomain::new(&plan.structure.table, request)).collect();
        Ok(Some(Shared { fitters, kinds, domains, size }))
    }
}
