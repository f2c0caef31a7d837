//! An event channel in the memory of a device.

use std::sync::Arc;

use ns_core::SessionError;

use super::super::arena::{Arena, moved};
use super::super::backend::{Backend, Buffer};
use super::layout::EventChannel;
use super::rows::Rows;
use super::upload;
use crate::events::Offload;

/// Number of sums that do not depend on the coordinates, as in `kernels/events.cuh`.
const PLAIN_SUMS: usize = 3;

/// An event channel on the device.
pub(super) struct ChannelOnDevice {
    pub(super) channel: EventChannel,
    _lists: Buffer,
    /// Number of values per evaluation that depend on the parameters.
    pub(super) numbers: usize,
    /// Number of sums over the events that one evaluation needs.
    pub(super) sums: usize,
    /// Working memory per thread, in doubles.
    pub(super) per_thread: usize,
    /// Describes the sums that the device makes over the events of a toy, and which sum of the channel each belongs to.
    pub(super) rows: Rows,
}

impl ChannelOnDevice {
    /// Uploads a channel.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub(super) fn new(offload: &Offload, backend: &Arc<dyn Backend>) -> Result<Self, SessionError> {
        let mut arena = Arena::default();
        let rows = Rows::new(offload);
        let channel = upload::channel(offload, &rows, &mut arena);
        let lists = arena.upload(backend)?;
        let n = offload.coordinates;
        let sums = PLAIN_SUMS + n + n * (n + 1);
        Ok(Self {
            channel: moved(channel, lists.start()),
            _lists: lists,
            numbers: offload.numbers,
            sums,
            per_thread: offload.event_components + n + sums,
            rows,
        })
    }
}
