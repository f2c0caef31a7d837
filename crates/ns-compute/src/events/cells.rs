//! Combines the events of one observable in narrow cells of equal width.
//!
//! Each cell becomes one weighted event. Its coordinate is the mean coordinate of the events in the cell, and its
//! weight is the sum of their weights. If densities have little curvature within a cell, a thousand such events have
//! nearly the same likelihood and the same minima as a million original events.

use std::sync::{Mutex, PoisonError};

use ns_core::EventTable;

use super::crew::Crew;
use crate::pool::Pool;

/// Number of events in a piece. Each piece fills a set of cells of its own. These sets are added to the total in the
/// order of the events, so results do not depend on the number of threads.
const PIECE: usize = 1 << 18;

/// Largest number of pieces (ranges of events) that several threads process at the same time.
const WAITING: usize = 16;

/// Contents of a cell (an interval of the observable): number of events, sum of their coordinates, and sum of their
/// weights.
type Cell = [f64; 3];

/// Cells of equal width along the axis of one observable.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    weighted: bool,
}

impl Cells {
    /// Sorts the events of a table with one column into `count` cells of equal width. `axis` contains the lower end of
    /// the first cell and the upper end of the last cell.
    pub(crate) fn gather(events: &EventTable, axis: (f64, f64), count: usize, crew: Option<&Crew>) -> Self {
        let mut cells = vec![[0.0; 3]; count];
        let pieces = events.len().div_ceil(PIECE);
        let range = |piece: usize| (piece * PIECE, events.len().min((piece + 1) * PIECE));
        let together = if crew.is_some() { WAITING.min(pieces) } else { 1 };
        let places: Vec<Mutex<Vec<Cell>>> =
            (0..together).map(|_| Mutex::new(vec![[0.0; 3]; count])).collect();
        for first in (0..pieces).step_by(together) {
            let now = together.min(pieces - first);
            let work = |i: usize| {
                let mut place = places[i].lock().unwrap_or_else(PoisonError::into_inner);
                place.fill([0.0; 3]);
                add(events, range(first + i), axis, &mut place);
            };
            Pool::each(crew.map(|crew| &*crew.pool), crew.map_or(1, |crew| crew.threads), now, &work);
            for place in &places[..now] {
                let place = place.lock().unwrap_or_else(PoisonError::into_inner);
                for (to, from) in cells.iter_mut().zip(place.iter()) {
                    add_cell(to, from);
                }
            }
        }
        Self { cells, weighted: events.weights.is_some() }
    }

    /// Returns one weighted event for each group of `size` neighbouring cells. Groups without events are left out.
    pub(crate) fn table(&self, size: usize) -> EventTable {
        let (mut places, mut weights) = (Vec::new(), Vec::new());
        for group in self.cells.chunks(size) {
            let mut all: Cell = [0.0; 3];
            group.iter().for_each(|cell| add_cell(&mut all, cell));
            let [number, sum, weight] = all;
            if number > 0.0 {
                places.push(sum / number);
                weights.push(if self.weighted { weight } else { number });
            }
        }
        EventTable { columns: vec![places.into()], weights: Some(weights.into()) }
    }
}

fn add_cell(to: &mut Cell, from: &Cell) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Adds the events of a range to their cells. Events beyond an end of the axis are added to the cell at that end.
fn add(events: &EventTable, (from, to): (usize, usize), (low, high): (f64, f64), cells: &mut [Cell]) {
    let Some(column) = events.columns.first() else { return };
    let (scale, last) = (cells.len() as f64 / (high - low), cells.len() - 1);
    // Conversions from float to integer saturate, so events below the axis go to cell 0.
    let place = |x: f64| last.min(((x - low) * scale) as usize);
    match &events.weights {
        None => {
            for &x in &column[from..to] {
                let cell = &mut cells[place(x)];
                cell[0] += 1.0;
                cell[1] += x;
            }
        }
        Some(weights) => {
            for (&x, &w) in column[from..to].iter().zip(&weights[from..to]) {
                add_cell(&mut cells[place(x)], &[1.0, x, w]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_numbers_places_and_weights() {
        let column: Vec<f64> = (0..1000).map(|i| 2.0 + 0.008 * f64::from((i * 617) % 1000)).collect();
        let weights: Vec<f64> = (0..1000).map(|i| 0.5 + f64::from(i % 7)).collect();
        let (sum, weight): (f64, f64) = (column.iter().sum(), weights.iter().sum());
        let mut events = EventTable { columns: vec![column.into()], weights: None };
        let cells = Cells::gather(&events, (2.0, 10.0), 64, None);
        for size in [1, 8, 64] {
            let table = cells.table(size);
            assert_eq!(table.len(), 64 / size);
            assert_eq!(table.sum_of_weights(), 1000.0);
            let total: f64 = table.columns[0]
                .iter()
                .zip(table.weights.iter().flat_map(|w| w.iter()))
                .map(|(x, w)| x * w)
                .sum();
            assert!((total - sum).abs() < 1e-9, "{total} {sum}");
        }
        events.weights = Some(weights.into());
        let table = Cells::gather(&events, (4.0, 6.0), 64, None).table(1);
        assert!((table.sum_of_weights() - weight).abs() < 1e-9);
        // Cells without events are left out.
        assert!(Cells::gather(&events, (0.0, 1e6), 64, None).table(1).len() == 1);
    }
}
