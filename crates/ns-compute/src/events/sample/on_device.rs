//! The parts of a sampler that a device needs. The device makes the first attempt for every event, below the hat. The
//! CPU draws the few events for which the bounds of the density do not decide on acceptance.

use ns_core::random::Stream;
use ns_core::{EventSource, NotDrawn};

use super::draw::{Attempt, Sampler};
use super::hat::Hat;

/// Largest fraction of the area below a hat that may be between the bounds. It is also the fraction of events that
/// may be left to the CPU.
const MOST_OPEN: f64 = 0.04;

/// The sampler of a channel with one observable, for use on a device.
#[derive(Clone, Copy)]
pub(crate) struct DeviceHat<'a> {
    sampler: &'a Sampler,
    hat: &'a Hat,
}

impl<'a> DeviceHat<'a> {
    /// Returns the hat of a distribution, or `None` if devices cannot draw from it.
    pub(crate) fn of(source: &'a EventSource) -> Option<Self> {
        let sampler = source.0.as_any()?.downcast_ref::<Sampler>()?;
        let hat = sampler.only_hat()?;
        let ends = hat.cells.iter().skip(1).map(|next| next.begin.min(1.0));
        let sure: f64 = hat.cells.iter().zip(ends).map(|(cell, end)| (end - cell.begin) * cell.sure).sum();
        (1.0 - sure <= MOST_OPEN).then_some(Self { sampler, hat })
    }

    /// Draws the number of events in a toy. Also returns the slot of the first event.
    pub(crate) fn number(&self, stream: &Stream, slot: u32) -> (usize, u32) {
        self.sampler.number(stream, slot)
    }

    /// Returns five numbers for each cell, and for one further cell that marks the end. They are the fraction of the
    /// area below the hat in all earlier cells, the lower end, the largest coordinate, the length divided by the
    /// cell's fraction of the area, and the lower bound of the density divided by its upper bound.
    pub(crate) fn cells(&self) -> impl Iterator<Item = [f64; 5]> {
        self.hat.cells.iter().map(|cell| [cell.begin, cell.low, cell.last, cell.slope, cell.sure])
    }

    /// Returns the guide of the hat. For each of the equal parts of the range from 0 to 1, it contains the index of
    /// the cell that contains the beginning of the part.
    pub(crate) fn guide(&self) -> &'a [u32] {
        self.hat.guide()
    }

    /// Allocates the working memory of [`Self::draw`].
    pub(crate) fn memory(&self) -> Attempt {
        self.sampler.memory()
    }

    /// Draws the event that belongs to the given slot. Attempts are made in order until one is accepted.
    ///
    /// # Errors
    /// If the density of a proposed event is negative or NaN.
    pub(crate) fn draw(&self, stream: &Stream, slot: u32, memory: &mut Attempt) -> Result<f64, NotDrawn> {
        self.sampler.single(stream, slot, memory)
    }
}
