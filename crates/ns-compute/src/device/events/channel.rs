//! An event channel in the memory of a device.

use std::sync::Arc;

use ns_core::SessionError;

use super::super::arena::{Arena, moved};
use super::super::backend::{Backend, Buffer};
use super::layout::EventChannel;
use super::rows::Rows;
use super::upload;
use crate::events::Offload;

/// Number of sums over events that every channel has, independently of its coordinates (variables of its density).
/// `kernels/events.cuh` lists these sums.
const PLAIN_SUMS: usize = 3;

/// An event channel of a model in device memory.
pub(super) struct ChannelOnDevice {
    pub(super) channel: EventChannel,
    _lists: Buffer,
    /// Number of parameter-dependent values that each evaluation sends to the device.
    pub(super) numbers: usize,
    /// Number of sums over the events that each evaluation returns.
    pub(super) sums: usize,
    /// Working memory of one thread, in doubles.
    pub(super) per_thread: usize,
    /// Lists the sums that the device computes over the events of a toy, and assigns each of them to a sum of the
    /// channel.
    pub(super) rows: Rows,
}

impl ChannelOnDevice {
    /// Copies the description of a channel to the device.
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
