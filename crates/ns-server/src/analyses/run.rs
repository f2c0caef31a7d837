//! The input of an analysis that the server runs, and the answer to its request.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ns_core::{Control, Device, Model, Observer};
use ns_inference::report::{Report, RunInfo, to_json};
use ns_inference::toys::store::{Saving, ToyDestination};
use ns_inference::{Blind, FitData, Work};
use ns_viz::Drawing;
use serde::Serialize;

use crate::body::ModelBody;
use crate::devices::Devices;
use crate::memory::{Reserved, of_work};
use crate::models::{Compiled, Further, Models};
use crate::pool::{PooledSession, RequestAccount};
use crate::problem::ServerError;

/// Interval at which finished toys are saved. If the server is killed, the toys of at most one interval are
/// lost.
const PIECE_TIME: Duration = Duration::from_secs(2);

/// The input of an analysis for one request: the models of the server, the account of the request (its client and the
/// thread time that it has used), and an observer of the progress.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) models: &'a Models,
    pub(crate) account: &'a Arc<RequestAccount>,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) started: Instant,
    /// Whether the client asked for a picture.
    pub(crate) picture: bool,
    /// Whether the thread that runs the analysis also makes the fits. Otherwise the threads of the pool make the
    /// fits.
    pub(crate) here: bool,
    /// File in which toys are saved; `None` if the server does not store jobs on disk.
    pub(crate) toys: Option<&'a PathBuf>,
}

/// The answer to a request.
pub(crate) struct Answer {
    /// The result as JSON, in the same form as on the command line.
    pub(crate) json: Vec<u8>,
    /// The picture of the result, if the client asked for one.
    pub(crate) picture: Option<Drawing>,
    /// Whether the request was cancelled. The result in the answer then covers only the finished part of the
    /// analysis.
    pub(crate) interrupted: bool,
}

/// A model, with a session for the fits of one request.
pub(crate) struct Opened {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) session: PooledSession,
    reason: Option<String>,
    /// The blinded channels of the analysis.
    blind: Option<Blind>,
    /// The reserved memory of the fits and of the result.
    reserved: Reserved,
}

impl Opened {
    pub(crate) fn model(&self) -> &Model {
        &self.compiled.model
    }

    /// Returns the reserved memory of the fits and of the result, in bytes.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.bytes()
    }

    /// Adds the blinded channels in `data`, the data of the analysis, to the answer.
    pub(crate) fn with_data(self, data: &FitData) -> Self {
        Self { blind: data.blind().cloned(), ..self }
    }
}

impl<'a> Run<'a> {
    /// Returns the model of a request with a session for its fits, and reserves the memory of the fits. `work` is the amount of work of the request, from
    /// which the device `auto` is chosen.
    ///
    /// # Errors
    /// If the model is not valid or the device is not available.
    pub(crate) fn open(
        &self,
        model: &ModelBody,
        device: Option<Device>,
        work: Work,
    ) -> Result<Opened, ServerError> {
        let compiled = self.models.get(model)?;
        // The thread that received the request must not wait, and makes one brief fit at a time.
        let bytes = if self.here { 0 } else { of_work(work, compiled.model.parameters.len() as u64) };
        let reserved = self.models.room(bytes)?;
        let opened = compiled.open(device, work, self.account, self.here)?;
        Ok(Opened { session: opened.session, reason: opened.reason, blind: None, compiled, reserved })
    }

    /// Reserves `bytes` for the request in addition to what its work needs.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn reserve(&self, opened: &mut Opened, bytes: u64) -> Result<(), ServerError> {
        opened.reserved.join(self.models.room(bytes)?);
        Ok(())
    }

    /// Returns what opens the sessions of models that the analysis makes itself. `device` is the device that the request
    /// names, if any.
    pub(crate) fn further(&self, device: Option<Device>) -> Further<'a> {
        let devices: &Devices = self.models.devices();
        let device = device.unwrap_or(devices.execution().device);
        Further { devices, account: self.account, device }
    }

    /// Reserves the memory of `n` models at a time that the analysis makes of `model`.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn room_for(&self, n: u64, model: &Compiled) -> Result<Reserved, ServerError> {
        self.models.room(model.bytes().saturating_mul(n))
    }

    /// Returns the control of the fits: the observer of their progress, and the flag that cancels the request.
    pub(crate) fn control(&self) -> Control<'a> {
        Control { observer: Some(self.observer), cancel: Some(&self.account.cancel), task: None }
    }

    /// Reserves the file in which the toys of the request are saved. Returns `None` if the server does not store jobs
    /// on disk.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn saving(&self) -> Result<Option<Saving>, ServerError> {
        let claim = |path| ToyDestination::claim(path, true);
        let destination = self.toys.map(claim).transpose()?;
        Ok(destination.map(|destination| Saving { destination, every: PIECE_TIME }))
    }

    /// Returns the answer to a request: the result, information about the run, and the picture that `draw` makes if
    /// the client asked for one.
    ///
    /// # Errors
    /// If the result cannot be written or drawn.
    pub(crate) fn answer<E>(
        &self,
        opened: Opened,
        result: &impl Serialize,
        draw: impl FnOnce() -> Option<Result<Drawing, E>>,
    ) -> Result<Answer, ServerError>
    where
        ServerError: From<E>,
    {
        let ran = RunInfo::on(&opened.session, opened.reason, self.started);
        let ran = ran.about(&opened.compiled.model, opened.compiled.digest.clone());
        let ran = ran.blinded(opened.blind.as_ref());
        let json = to_json(&Report { result, ran, parts: Vec::new() })?;
        let picture = if self.picture { Some(draw().ok_or(ServerError::NoPicture)??) } else { None };
        Ok(Answer { json, picture, interrupted: self.account.is_cancelled() })
    }

    /// Returns the answer to a request that needs no fits.
    ///
    /// # Errors
    /// If the result cannot be written, or a picture was asked for.
    pub(crate) fn plain(&self, json: Vec<u8>) -> Result<Answer, ServerError> {
        if self.picture {
            return Err(ServerError::NoPicture);
        }
        Ok(Answer { json, picture: None, interrupted: false })
    }
}

/// Checks that the number `actual` in a request is at most `limit`. Without a limit, one request could use
/// all memory.
///
/// # Errors
/// [`ServerError::TooLarge`] if the number is above the limit.
pub(super) fn limited(what: &'static str, actual: u64, limit: u64) -> Result<(), ServerError> {
    if actual <= limit { Ok(()) } else { Err(ServerError::TooLarge { what, actual, limit }) }
}

/// Returns no picture. Analyses that have no picture use it as their drawing function.
pub(crate) fn no_picture() -> Option<Result<Drawing, ServerError>> {
    None
}
