//! The models that the server stores in compiled form, with open sessions. A request finds its model by the text of
//! the workspace or by the digests of the model.

mod compiled;
mod further;
mod room;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use compiled::Compiled;
pub(crate) use further::Further;
use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, WorkspaceError};

use crate::allocator::of_thread;
use crate::body::{ModelBody, ModelReference, WorkspaceBody};
use crate::devices::Devices;
use crate::memory::Memory;
use crate::problem::ServerError;

/// Memory of a small compiled model, in bytes, without what the length of its text adds.
const SMALL_MODEL: u64 = 256 << 10;

/// The stored models. If anything needs more memory than is free, the least recently used models are removed.
pub(crate) struct Models {
    devices: Arc<Devices>,
    /// Largest number of parameters of a model.
    most_parameters: usize,
    memory: Arc<Memory>,
    kept: Mutex<Kept>,
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
    pub(crate) fn new(devices: Arc<Devices>, most_parameters: usize, memory: Arc<Memory>) -> Self {
        Self { devices, most_parameters, memory, kept: Mutex::default() }
    }

    /// Returns the memory that the models share with all requests.
    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
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
        let text = body.fingerprint();
        match body.source()? {
            ModelReference::Workspace(workspace) => self.kept_or(text, || self.make(&workspace, body)),
            ModelReference::Digests { model, data } => {
                let found = self.by_digests(model, data)?;
                let pois = body.pois();
                if pois.is_empty() || found.model.poi_names().eq(pois.iter().map(String::as_str)) {
                    return Ok(found);
                }
                self.kept_or(text, || self.make_for(&found, pois))
            }
        }
    }

    /// Returns the model with the hash `text`. Compiles it by `make` if no earlier request has done so.
    fn kept_or(
        &self,
        text: [u8; 32],
        make: impl FnOnce() -> Result<Compiled, ServerError>,
    ) -> Result<Arc<Compiled>, ServerError> {
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
        match make() {
            Ok(made) => {
                let made = Arc::new(made);
                *model = Some(Arc::clone(&made));
                Ok(made)
            }
            Err(error) => {
                drop(model);
                self.lock().by_text.remove(&text);
                Err(error)
            }
        }
    }

    /// Reads and compiles a model.
    fn make(&self, workspace: &WorkspaceBody<'_>, body: &ModelBody) -> Result<Compiled, ServerError> {
        let limit = self.memory.limit();
        let wrong = |source| body.wrong(source);
        self.compile(SMALL_MODEL + workspace.memory(limit), body.options(), wrong, || {
            workspace.read("/model", limit)?.map(Arc::new).map_err(wrong)
        })
    }

    /// Compiles a stored model again, with other parameters of interest.
    fn make_for(&self, model: &Compiled, pois: &[String]) -> Result<Compiled, ServerError> {
        let options = ModelOptions { pois: pois.to_vec(), ..model.options.clone() };
        let wrong = |source| ServerError::Workspace { pointer: "/model/poi".to_owned(), source };
        self.compile(model.of_copy(), options, wrong, || Ok(Arc::clone(&model.workspace)))
    }

    /// Compiles the model of a workspace, which `read` reads. The memory is reserved by an `estimate` in bytes first, and then by
    /// what the model uses. `wrong` makes the error for a workspace without a valid model.
    fn compile(
        &self,
        estimate: u64,
        options: ModelOptions,
        wrong: impl FnOnce(WorkspaceError) -> ServerError,
        read: impl FnOnce() -> Result<Arc<ModelSource>, ServerError>,
    ) -> Result<Compiled, ServerError> {
        let mut reserved = self.room(estimate)?;
        let before = of_thread();
        let made = Compiled::new(read()?, options, wrong, self.most_parameters, &self.devices)?;
        let net = u64::try_from(of_thread() - before);
        let bytes = net.unwrap_or(reserved.bytes()) + made.of_other_threads();
        // The model exists already, so it stays reserved while it waits for more.
        if let Some(more) = bytes.checked_sub(reserved.bytes()) {
            reserved.join(self.room(more)?);
        }
        reserved.settle(bytes);
        Ok(made.reserving(reserved))
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

    /// Removes the least recently used model among those that no request uses. Returns whether there was one.
    fn remove_oldest(&self) -> bool {
        let mut kept = self.lock();
        let unused = kept.by_text.iter().filter_map(|(text, place)| {
            let model = place.model.try_lock().ok()?;
            let unused = model.as_ref().is_some_and(|model| Arc::strong_count(model) == 1);
            unused.then(|| (place.last_used.load(std::sync::atomic::Ordering::Relaxed), *text))
        });
        let oldest = unused.min().map(|(_, text)| text);
        oldest.is_some_and(|text| kept.by_text.remove(&text).is_some())
    }

    /// Returns the number of stored models and their memory in bytes.
    pub(crate) fn size(&self) -> (usize, u64) {
        let kept = self.lock();
        let bytes = kept.by_text.values().filter_map(|place| {
            let model = place.model.try_lock().ok()?;
            model.as_ref().map(|model| model.bytes())
        });
        let bytes: Vec<u64> = bytes.collect();
        (bytes.len(), bytes.iter().sum())
    }
}
