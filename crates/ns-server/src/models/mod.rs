//! The models that the server stores in compiled form, with open sessions. A request finds its model by the text of
//! the workspace or by the digests of the model.

mod compiled;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use compiled::Compiled;

use crate::body::{ModelBody, ModelReference};
use crate::devices::Devices;
use crate::problem::ServerError;

/// The stored models. If all models together need more memory than allowed, the least recently used models
/// are removed.
pub(crate) struct Models {
    devices: Arc<Devices>,
    limits: ModelLimits,
    kept: Mutex<Kept>,
}

/// Limits on the size of one model and on the memory of all models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelLimits {
    /// Largest number of parameters of a model.
    pub(crate) parameters: usize,
    /// Largest memory of all stored models together, in bytes.
    pub(crate) memory: u64,
}

#[derive(Default)]
struct Kept {
    /// Models, by the hash of the text of the requests that use them. The entry of a model is locked while the model
    /// is compiled. Simultaneous requests for the same model therefore compile it only once.
    by_text: HashMap<[u8; 32], Arc<Place>>,
    /// Counter that increases each time a model is used. Each model stores the value of the counter at its last
    /// use. The model with the smallest stored value is removed first.
    clock: u64,
}

#[derive(Default)]
struct Place {
    model: Mutex<Option<Arc<Compiled>>>,
    last_used: std::sync::atomic::AtomicU64,
}

impl Models {
    /// Creates an empty store of models.
    pub(crate) fn new(devices: Arc<Devices>, limits: ModelLimits) -> Self {
        Self { devices, limits, kept: Mutex::default() }
    }

    /// Returns the devices that the models run on.
    pub(crate) fn devices(&self) -> &Arc<Devices> {
        &self.devices
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the model of a request. Compiles the model if no earlier request has done so. If another request is
    /// compiling the model, waits for it to finish.
    ///
    /// # Errors
    /// If the workspace is wrong, the model is too large, or no stored model has the digests.
    pub(crate) fn get(&self, body: &ModelBody) -> Result<Arc<Compiled>, ServerError> {
        let workspace = match body.source()? {
            ModelReference::Digests { model, data } => return self.by_digests(model, data),
            ModelReference::Workspace(workspace) => workspace,
        };
        let text = body.fingerprint();
        let place = {
            let mut kept = self.lock();
            kept.clock += 1;
            let now = kept.clock;
            let place = Arc::clone(kept.by_text.entry(text).or_default());
            place.last_used.store(now, std::sync::atomic::Ordering::Relaxed);
            place
        };
        let mut model = place.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = model.as_ref() {
            return Ok(Arc::clone(known));
        }
        let made = workspace.read("/model").and_then(|read| {
            let pointer = || "/model/workspace".to_owned();
            let workspace = read.map_err(|source| ServerError::Workspace { pointer: pointer(), source })?;
            Compiled::new(workspace, body, self.limits.parameters, &self.devices)
        });
        match made {
            Ok(made) => {
                let made = Arc::new(made);
                *model = Some(Arc::clone(&made));
                drop(model);
                self.shrink(text);
                Ok(made)
            }
            Err(error) => {
                drop(model);
                self.lock().by_text.remove(&text);
                Err(error)
            }
        }
    }

    /// Returns the model that a request names by its digests, if the server has stored it.
    pub(crate) fn kept(&self, body: &ModelBody) -> Option<Arc<Compiled>> {
        match body.source().ok()? {
            ModelReference::Digests { model, data } => self.by_digests(model, data).ok(),
            ModelReference::Workspace(_) => None,
        }
    }

    fn by_digests(&self, model: &str, data: &str) -> Result<Arc<Compiled>, ServerError> {
        let mut kept = self.lock();
        kept.clock += 1;
        let now = kept.clock;
        for place in kept.by_text.values() {
            // The model of a locked entry is being compiled. No client knows its digests yet.
            let Ok(found) = place.model.try_lock() else { continue };
            if let Some(found) = found.as_ref().filter(|m| m.digest == model && m.data_digest == data) {
                place.last_used.store(now, std::sync::atomic::Ordering::Relaxed);
                return Ok(Arc::clone(found));
            }
        }
        Err(ServerError::NotFound {
            what: "model with the digests",
            name: format!("{model} and {data}"),
            remedy: "send its workspace again",
        })
    }

    /// Removes the least recently used models until the remaining models fit into the memory limit. The model with
    /// the hash `but` is never removed.
    fn shrink(&self, but: [u8; 32]) {
        let mut kept = self.lock();
        let mut known: Vec<(u64, [u8; 32], u64)> = Vec::new();
        for (text, place) in &kept.by_text {
            let Ok(model) = place.model.try_lock() else { continue };
            if let Some(model) = model.as_ref() {
                let used = place.last_used.load(std::sync::atomic::Ordering::Relaxed);
                known.push((used, *text, model.bytes));
            }
        }
        known.sort_unstable();
        let mut total: u64 = known.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, text, bytes) in known {
            if total <= self.limits.memory || text == but {
                continue;
            }
            kept.by_text.remove(&text);
            total -= bytes;
        }
    }

    /// Returns the number of stored models and their estimated memory in bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        let kept = self.lock();
        let bytes = kept.by_text.values().filter_map(|place| {
            let model = place.model.try_lock().ok()?;
            model.as_ref().map(|model| model.bytes)
        });
        let bytes: Vec<u64> = bytes.collect();
        (bytes.len(), bytes.iter().sum())
    }
}
