//! Copies between host and device in pieces, through page-locked memory. While the device transfers one piece, the
//! host copies another piece from or to page-locked memory.

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};

use super::locked::Locked;

/// Size of a piece of page-locked memory in bytes.
const PIECE: usize = 2 << 20;

/// Two pieces of page-locked memory. Copies use them alternately.
pub(super) struct Staging {
    pieces: [Piece; 2],
}

/// A piece of page-locked memory, with an event that marks the end of its use by the GPU.
struct Piece {
    memory: Locked,
    done: CUevent,
}

// SAFETY: the driver's handles are valid on any thread.
unsafe impl Send for Staging {}

impl Staging {
    /// Allocates the page-locked memory. The device's context must be the current context of the thread, here and in
    /// all other functions of `Staging`.
    pub(super) fn new() -> Result<Self, DriverError> {
        Ok(Self { pieces: [Piece::new()?, Piece::new()?] })
    }

    /// Copies `from` to the device address `to`. The copy runs after the earlier work and before the later work of the
    /// stream. The caller may change `from` as soon as the call returns.
    ///
    /// # Safety
    /// `to` must be the address of device memory that is at least as large as `from`.
    pub(super) unsafe fn write(&mut self, stream: CUstream, to: u64, from: &[u8]) -> Result<(), DriverError> {
        let mut at = to;
        for (i, chunk) in from.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces[i % 2];
            piece.wait()?;
            piece.memory.content_mut(chunk.len()).copy_from_slice(chunk);
            // SAFETY: the caller guarantees the device memory; the piece is not used before its event.
            unsafe { result::memcpy_htod_async(at, piece.memory.content(chunk.len()), stream) }?;
            piece.mark(stream)?;
            at += chunk.len() as u64;
        }
        Ok(())
    }

    /// Copies the device memory that begins at the address `from` to `to`. The copy begins after all work that was
    /// submitted to the stream before. Waits for the end of the copy.
    ///
    /// # Safety
    /// `from` must be the address of device memory that is at least as large as `to`.
    pub(super) unsafe fn read(
        &mut self,
        stream: CUstream,
        from: u64,
        to: &mut [u8],
    ) -> Result<(), DriverError> {
        let mut at = from;
        // While the device copies one chunk to page-locked memory, the host copies the previous chunk from there to
        // `to`.
        let mut coming: Option<(usize, &mut [u8])> = None;
        for (i, chunk) in to.chunks_mut(PIECE).enumerate() {
            let piece = &mut self.pieces[i % 2];
            // An earlier `write` may still read from this piece, but that copy comes first in the stream.
            // SAFETY: the caller guarantees the device memory; the piece is not used before its event.
            unsafe { result::memcpy_dtoh_async(piece.memory.content_mut(chunk.len()), at, stream) }?;
            piece.mark(stream)?;
            at += chunk.len() as u64;
            if let Some((before, chunk)) = coming.replace((i % 2, chunk)) {
                self.pieces[before].copy_out(chunk)?;
            }
        }
        if let Some((last, chunk)) = coming {
            self.pieces[last].copy_out(chunk)?;
        }
        Ok(())
    }
}

impl Piece {
    fn new() -> Result<Self, DriverError> {
        let mut memory = Locked::NONE;
        memory.reserve(PIECE)?;
        Ok(Self { memory, done: result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING)? })
    }

    /// Marks this piece as used by the GPU until all work that was submitted to the stream so far has ended.
    fn mark(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: event and stream are of the current context.
        unsafe { result::event::record(self.done, stream) }
    }

    fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event is of the current context. The wait ends at once if the event was never recorded.
        unsafe { result::event::synchronize(self.done) }
    }

    fn copy_out(&mut self, to: &mut [u8]) -> Result<(), DriverError> {
        self.wait()?;
        to.copy_from_slice(self.memory.content(to.len()));
        Ok(())
    }
}
