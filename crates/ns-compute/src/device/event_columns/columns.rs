//! [`DeviceEvents`]: columns of events in the memory of a device.

use std::sync::Arc;

use ns_core::{Device, SessionError};

use super::super::backend::{Backend, Buffer};
use super::super::offset::Offset;

/// A device to whose memory events can be copied.
#[derive(Clone)]
pub struct EventTarget {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) device: Device,
}

impl std::fmt::Debug for EventTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventTarget").field("device", &self.device).finish_non_exhaustive()
    }
}

impl EventTarget {
    pub(crate) fn new(backend: Arc<dyn Backend>, device: Device) -> Self {
        Self { backend, device }
    }
}

/// Counts of the rows that were left out of a copy because a value is outside the bounds of its column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutsideBounds {
    /// Number of rows of the file, including those that were left out.
    pub rows: u64,
    /// Number of rows in which at least one value is outside the bounds of its column. A NaN counts as outside. These
    /// rows are not on the device.
    pub outside: u64,
    /// For each column, the number of rows whose value in this column is outside the bounds. One row can count in
    /// several columns.
    pub by_column: Vec<u64>,
}

/// Columns of events in the memory of a device: 64-bit floating-point numbers, column after column without gaps.
/// Dropping the value waits for all work on the device, also that of other libraries, and frees the memory.
pub struct DeviceEvents {
    pub(super) device: Device,
    pub(super) names: Vec<String>,
    pub(super) buffer: Buffer,
    pub(super) rows: usize,
    pub(super) outside: OutsideBounds,
}

impl std::fmt::Debug for DeviceEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceEvents")
            .field("device", &self.device)
            .field("names", &self.names)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Drop for DeviceEvents {
    fn drop(&mut self) {
        self.buffer.settle();
    }
}

impl DeviceEvents {
    /// Returns the device on which the events are.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the names of the columns, in the order of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of events on the device.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns how many rows were left out because of the bounds.
    #[must_use]
    pub fn outside(&self) -> &OutsideBounds {
        &self.outside
    }

    /// Returns the device address of the first column. The other columns follow without gaps. Returns 0 if there are no
    /// numbers.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.buffer.start().bytes()
    }

    /// Returns the device address of a column; `None` if there is no such column. The next column begins
    /// [`Self::rows`] numbers later. The copy to the device is complete when the upload returns.
    #[must_use]
    pub fn address(&self, column: usize) -> Option<u64> {
        let start = || self.buffer.start().cast::<f64, false>().plus(column * self.rows);
        (column < self.names.len()).then(|| start().bytes())
    }

    /// Copies a column back to the host and returns its values, one per event.
    ///
    /// # Errors
    /// If there is no such column, or the device fails.
    pub fn read(&self, column: usize) -> Result<Vec<f64>, SessionError> {
        if column >= self.names.len() {
            let (what, expected) = ("index of a column", self.names.len());
            return Err(SessionError::WrongLength { what, actual: column, expected });
        }
        let mut to = vec![0.0; self.rows];
        self.buffer.read_into(column * self.rows, &mut to)?;
        Ok(to)
    }

    /// Removes the gaps between columns: copies the columns to a new buffer and returns this buffer. Each column in
    /// `wide` has space for `capacity` numbers, and its first `rows` numbers are copied. If there are no gaps, returns
    /// `wide` itself.
    pub(super) fn packed(
        target: &EventTarget,
        wide: Buffer,
        columns: usize,
        (capacity, rows): (usize, usize),
    ) -> Result<Buffer, SessionError> {
        if rows == capacity {
            return Ok(wide);
        }
        let packed = Buffer::new(&target.backend, 8 * columns * rows)?;
        for column in 0..columns {
            let from: Offset<f64, true> = wide.at().plus(column * capacity);
            let to: Offset<f64, true> = packed.at().plus(column * rows);
            target.backend.duplicate(from.cast(), to.cast(), 8 * rows)?;
        }
        // The read waits for the end of the copies. The old buffer is freed only after that.
        let mut last = [0_u8; 8];
        if rows > 0 {
            target.backend.read(packed.start(), &mut last)?;
        }
        Ok(packed)
    }
}
