//! The parts of a sampler that a device needs. The device makes the first attempt of every event below the hat. The CPU
//! draws the few events that the bounds of the density do not accept.

use ns_core::random::Stream;
use ns_core::{EventSource, NotDrawn};

use super::draw::{Attempt, Sampler};
use super::hat::Hat;

/// Largest fraction of the area of a hat, and so of its events, that may be left to the CPU.
const MOST_OPEN: f64 = 0.04;

/// The sampler of a channel with one observable.
#[derive(Clone, Copy)]
pub(crate) struct DeviceHat<'a> {
    sampler: &'a Sampler,
    hat: &'a Hat,
}

impl<'a> DeviceHat<'a> {
    /// Returns the hat of a distribution; `None` if devices cannot draw from it.
    pub(crate) fn of(source: &'a EventSource) -> Option<Self> {
        let sampler = source.0.as_any()?.downcast_ref::<Sampler>()?;
        let hat = sampler.only_hat()?;
        let ends = hat.cells.iter().skip(1).map(|next| next.begin.min(1.0));
        let sure: f64 = hat.cells.iter().zip(ends).map(|(cell, end)| (end - cell.begin) * cell.sure).sum();
        (1.0 - sure <= MOST_OPEN).then_some(Self { sampler, hat })
    }

    /// Returns the number of events of a toy, and the slot of its first event.
    pub(crate) fn number(&self, stream: &Stream, slot: u32) -> (usize, u32) {
        self.sampler.number(stream, slot)
    }

    /// Returns five numbers for each cell, and for one further cell that marks the end: the fraction of the area of the
    /// hat before the cell, lower end and largest coordinate, length divided by the cell's fraction of the area, and
    /// the lower bound of the density divided by the upper bound.
    pub(crate) fn cells(&self) -> impl Iterator<Item = [f64; 5]> {
        self.hat.cells.iter().map(|cell| [cell.begin, cell.low, cell.last, cell.slope, cell.sure])
    }

    /// Returns the guide of the hat: for each of the equal parts of the range from 0 to 1, the index of the
    /// cell that contains its beginning.
    pub(crate) fn guide(&self) -> &'a [u32] {
        self.hat.guide()
    }

    /// Allocates the working memory of [`Self::draw`].
    pub(crate) fn memory(&self) -> Attempt {
        self.sampler.memory()
    }

    /// Draws the event with this slot. Makes attempts, beginning with the first, until one is accepted.
    ///
    /// # Errors
    /// If the density of a proposed event is negative or not a number.
    pub(crate) fn draw(&self, stream: &Stream, slot: u32, memory: &mut Attempt) -> Result<f64, NotDrawn> {
        self.sampler.single(stream, slot, memory)
    }
}
