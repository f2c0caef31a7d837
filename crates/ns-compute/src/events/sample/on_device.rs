//! The parts of a sampler that a device needs. The device makes the first attempt for every event, which is a point
//! below the hat (an upper bound of the density). The CPU draws the few events whose acceptance has to be decided by an
//! evaluation of the density.

use ns_core::random::Stream;
use ns_core::{EventSource, NotDrawn};

use super::draw::{Attempt, Sampler};
use super::hat::Hat;

/// Devices use a hat only if the area between the lower and the upper bound of the density is at most this fraction of
/// the area below the hat. This limits the fraction of events that the CPU has to draw.
const MOST_OPEN: f64 = 0.04;

/// The sampler of a channel with one observable, for use on a device.
#[derive(Clone, Copy)]
pub(crate) struct DeviceHat<'a> {
    sampler: &'a Sampler,
    hat: &'a Hat,
}

impl<'a> DeviceHat<'a> {
    /// Returns the hat (upper bound of the density) of a distribution, or `None` if devices cannot draw from it.
    pub(crate) fn of(source: &'a EventSource) -> Option<Self> {
        let sampler = source.0.as_any()?.downcast_ref::<Sampler>()?;
        let hat = sampler.only_hat()?;
        let ends = hat.cells.iter().skip(1).map(|next| next.begin.min(1.0));
        let sure: f64 = hat.cells.iter().zip(ends).map(|(cell, end)| (end - cell.begin) * cell.sure).sum();
        (1.0 - sure <= MOST_OPEN).then_some(Self { sampler, hat })
    }

    /// Draws the number of events in a toy. Returns this number and the slot (index in the random stream) of the first
    /// event.
    pub(crate) fn number(&self, stream: &Stream, slot: u32) -> (usize, u32) {
        self.sampler.number(stream, slot)
    }

    /// Returns five numbers for each cell (piece of constant height) of the hat, and for one more cell that marks the
    /// end:
    ///
    /// * the fraction of the area below the hat in all earlier cells,
    /// * the lower end of the cell,
    /// * the largest coordinate in the cell,
    /// * the length of the cell, divided by its fraction of the area,
    /// * the lower bound of the density, divided by its upper bound.
    pub(crate) fn cells(&self) -> impl Iterator<Item = [f64; 5]> {
        self.hat.cells.iter().map(|cell| [cell.begin, cell.low, cell.last, cell.slope, cell.sure])
    }

    /// Returns the table that speeds up the search for the cell (piece of constant height) at a given fraction of the
    /// area below the hat. The fractions from 0 to 1 are divided into equal parts. Each element of the table is the
    /// index of the cell that contains the beginning of one part.
    pub(crate) fn guide(&self) -> &'a [u32] {
        self.hat.guide()
    }

    /// Allocates the working memory of [`Self::draw`].
    pub(crate) fn memory(&self) -> Attempt {
        self.sampler.memory()
    }

    /// Draws the event that belongs to the given slot (index in the random stream). Attempts are made in order until
    /// one is accepted.
    ///
    /// # Errors
    /// If the density of a proposed event is negative or NaN, or if no attempt is accepted.
    pub(crate) fn draw(&self, stream: &Stream, slot: u32, memory: &mut Attempt) -> Result<f64, NotDrawn> {
        self.sampler.single(stream, slot, memory)
    }
}
