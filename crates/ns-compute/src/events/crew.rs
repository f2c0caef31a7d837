//! Distributes the events of a channel over threads.
//!
//! Each free thread sums over the next piece of the events. Pieces have a fixed size, and their sums are added in the
//! order of the pieces. Results therefore do not depend on the number of threads.

use std::sync::{Arc, Mutex, PoisonError};

use super::channel::ChannelPlan;
use super::sums::{Events, PIECE, Point, SumMemory, Sums, sum_piece};
use crate::pool::Pool;

/// Largest number of pieces (ranges of events) whose sums wait in memory until they are added in order.
const WAITING: usize = 64;

/// Threads that together compute the sums over the events of one fit.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) pool: Arc<Pool>,
    pub(crate) threads: usize,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crew").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// A sum that stores the rounding errors of its additions separately (Neumaier, ZAMM 54, 1974, 39). With ordinary
/// additions, the rounding error of `-ln L` for 100 million events would be larger than the changes of `-ln L` in the
/// last steps of a fit.
#[derive(Debug, Default)]
struct CompensatedSum {
    sum: f64,
    errors: f64,
}

impl CompensatedSum {
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        let (large, small) = if self.sum.abs() >= x.abs() { (self.sum, x) } else { (x, self.sum) };
        self.errors += (large - sum) + small;
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.errors } else { self.sum }
    }
}

/// Working memory of the threads, and the sums over those pieces of the events that have not been added yet.
#[derive(Debug, Default)]
pub(super) struct PieceMemory {
    idle: Mutex<Vec<SumMemory>>,
    places: Vec<Mutex<Sums>>,
}

impl Clone for PieceMemory {
    /// Returns empty memory. It is filled when it is needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PieceMemory {
    /// Returns the result of `read` for memory in which the leaves (basic densities) are prepared for the last point.
    /// Returns `None` if there is no such memory, because the channel has no events or another device summed them.
    pub(super) fn prepared<T>(&self, read: impl Fn(&SumMemory) -> T) -> Option<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter().find(|memory| memory.prepared).map(read)
    }

    /// Computes the sums over all events and writes them to `out`.
    pub(super) fn sum(
        &mut self,
        plan: &ChannelPlan,
        events: Events<'_>,
        point: Point<'_>,
        crew: Option<&Crew>,
        out: &mut Sums,
    ) {
        let pieces = events.count.div_ceil(PIECE);
        while self.places.len() < pieces.min(WAITING) {
            self.places.push(Mutex::new(Sums::new(plan.coordinates)));
        }
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        for memory in idle.iter_mut() {
            memory.prepared = false;
        }
        out.clear();
        let mut value = CompensatedSum::default();
        let (idle, places) = (&self.idle, &self.places);
        for first in (0..pieces).step_by(WAITING) {
            let count = WAITING.min(pieces - first);
            let work = |i: usize| {
                let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut memory = taken.unwrap_or_else(|| SumMemory::new(plan));
                if !memory.prepared {
                    memory.prepare(point.level, plan, point.locals);
                }
                let from = (first + i) * PIECE;
                let range = (from, events.count.min(from + PIECE));
                sum_piece(plan, events, point, range, &mut memory);
                let mut place = places[i].lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::swap(&mut *place, &mut memory.sums);
                drop(place);
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
            };
            let threads = crew.map_or(1, |crew| crew.threads);
            Pool::each(crew.map(|crew| &*crew.pool), threads, count, &work);
            for place in &places[..count] {
                let sums = place.lock().unwrap_or_else(PoisonError::into_inner);
                value.add(sums.value);
                out.add(&sums);
            }
        }
        out.value = value.total();
    }
}
