//! How a request gets memory: at once, by the removal of models, or after a wait.

use std::time::{Duration, Instant};

use super::Models;
use crate::memory::Reserved;
use crate::problem::ServerError;

/// Longest time that a request waits for memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time after which a request that waits for memory looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Models {
    /// Reserves memory. If less is free, removes models that no request uses, the least recently used first. Returns
    /// `None` if there is still too little.
    fn try_room(&self, bytes: u64) -> Option<Reserved> {
        loop {
            if let Some(reserved) = self.memory.reserve(bytes) {
                return Some(reserved);
            }
            if bytes > self.memory.limit() || !self.remove_oldest() {
                return None;
            }
        }
    }

    /// Reserves memory like [`Self::try_room`] for a request that has waited since `since`. Returns `None` if the request
    /// should look again.
    fn look(&self, bytes: u64, since: Instant) -> Result<Option<Reserved>, ServerError> {
        let room = self.try_room(bytes);
        let limit = self.memory.limit();
        if room.is_none() && bytes > limit {
            let what = "the memory that the request needs, in bytes,";
            return Err(ServerError::TooLarge { what, actual: bytes, limit });
        }
        if room.is_none() && since.elapsed() >= PATIENCE {
            return Err(ServerError::Busy { why: "has too little free memory for this request" });
        }
        Ok(room)
    }

    /// Reserves memory. If less is free, removes models that no request uses, and waits for some time until other requests
    /// give memory back.
    ///
    /// # Errors
    /// If the request needs more memory than there is, or than others leave.
    pub(crate) fn room(&self, bytes: u64) -> Result<Reserved, ServerError> {
        let since = Instant::now();
        loop {
            if let Some(reserved) = self.look(bytes, since)? {
                return Ok(reserved);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Reserves memory like [`Self::room`]. Other tasks of the thread go on during the wait.
    ///
    /// # Errors
    /// The errors of [`Self::room`].
    pub(crate) async fn room_later(&self, bytes: u64) -> Result<Reserved, ServerError> {
        let since = Instant::now();
        loop {
            if let Some(reserved) = self.look(bytes, since)? {
                return Ok(reserved);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
