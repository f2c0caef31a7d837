//! The input of a launch of fits: requests (one per fit), items (fits that share one set of data), and the arrays that
//! requests and items use.

use std::collections::HashMap;

use ns_core::{Condition, FitRequest, ParameterTable, Start};

use super::arena::Arena;
use super::fit_kind::DeviceFitKind;
use super::layout;
use super::offset::Offset;
use crate::shared_constants::{
    MOST_FLIPS, MOST_VALLEYS, N_COUNTERS, PLACES, START_ALONG, START_AT, START_EARLIER,
};

/// Requests, items, and the arrays that they use. All of them are copied to the device together. Until then the arrays
/// are in `arena`, and their offsets count from the start of the arena.
#[derive(Default)]
pub(super) struct Input {
    pub(super) arena: Arena,
    pub(super) requests: Vec<layout::Request>,
    pub(super) items: Vec<layout::Item>,
    points: HashMap<(*const f64, usize), Offset<f64>>,
    pub(super) n_outcomes: usize,
    /// Offset of the counters that the queue of fits uses on the device.
    pub(super) queue: Offset<i32>,
}

impl Input {
    /// Creates an input without requests and items. It contains only the counters of the queue of fits.
    pub(super) fn new() -> Self {
        let mut input = Self::default();
        input.queue = input.arena.put(&[0_i32; N_COUNTERS]);
        input
    }

    /// Adds an array, unless it was added before, and returns its offset. Several requests may use the same array.
    /// The array must outlive this input, because the address of the array identifies it.
    pub(super) fn shared(&mut self, values: &[f64]) -> Offset<f64> {
        let arena = &mut self.arena;
        *self.points.entry((values.as_ptr(), values.len())).or_insert_with(|| arena.put(values))
    }

    /// Adds a set of data, unless it was added before, and returns its offset. The set contains the main counts and
    /// then the auxiliary data. `main` must outlive this input, because the address of `main` identifies the set.
    pub(super) fn data(&mut self, main: &[f64], aux: &[f64]) -> Offset<f64> {
        let arena = &mut self.arena;
        *self.points.entry((main.as_ptr(), main.len())).or_insert_with(|| {
            let both: Vec<f64> = main.iter().chain(aux).copied().collect();
            arena.put(&both)
        })
    }

    /// Adds a request for a fit. The fit uses the inputs `kind`, which it shares with other fits. If `looks` is true,
    /// the fit searches for further minima from the starting points of `kind`.
    pub(super) fn request(
        &mut self,
        table: &ParameterTable,
        request: &FitRequest,
        kind: &DeviceFitKind,
        looks: bool,
    ) {
        let count = |n: usize| if looks { n as i32 } else { 0 };
        let overrides = overrides(table, request);
        let (start, earlier, point) = match &request.start {
            Start::Init => (START_AT, 0, self.shared(&table.init)),
            Start::At(point) => (START_AT, 0, self.shared(point)),
            Start::Earlier(i) => (START_EARLIER, *i as i32, Offset::NULL),
            Start::Along(i, direction) => (START_ALONG, *i as i32, self.shared(direction)),
        };
        let (held_param, held_value) = request.fixed.first().map_or((-1, 0.0), |&(p, x)| (p as i32, x));
        let n_overrides = overrides.len() as i32;
        let overrides = self.arena.put(&overrides);
        let (condition_fit, condition_param, range) = match request.only_if {
            Some(Condition { fit, parameter, range }) => (fit as i32, parameter as i32, range),
            None => (-1, 0, (0.0, 0.0)),
        };
        self.requests.push(layout::Request {
            start,
            earlier,
            point,
            held_param,
            n_overrides,
            held_value,
            overrides,
            condition_fit,
            condition_param,
            condition_low: range.0,
            condition_high: range.1,
            metric: kind.metric,
            n_first: count(kind.first.1),
            n_second: count(kind.second.1),
            n_nonlinear: count(kind.nonlinear.1),
            n_directions: count(kind.directions.1),
            first: kind.first.0,
            second: kind.second.0,
            nonlinear: kind.nonlinear.0,
            directions: kind.directions.0,
            others: kind.others.0,
            n_others: count(kind.others.1),
            n_folds: count(kind.folds.2),
            fold_param: kind.folds.0,
            fold_values: kind.folds.1,
        });
    }

    /// Adds an item (fits that share one set of data), which consists of the last `n_requests` requests. `data` is the
    /// offset of the item's data, which [`Self::data`] returned.
    pub(super) fn item(&mut self, n_requests: usize, data: Offset<f64>) {
        self.items.push(layout::Item {
            first_request: (self.requests.len() - n_requests) as i32,
            n_requests: n_requests as i32,
            first_outcome: self.n_outcomes as i32,
            padding: 0,
            data,
        });
        self.n_outcomes += n_requests;
    }
}

/// Returns how many further starting points of a fit can be used at the same time. This is the number of starting
/// points in the largest round of the fit's search (see `starts_of` and `choose_flips` in `kernels/search.cuh`). It is
/// 0 if the fit has no further starting points.
pub(super) fn starts_of(request: &layout::Request) -> usize {
    let count = |n: i32| usize::try_from(n).unwrap_or(0);
    let nonlinear = count(request.n_nonlinear);
    let shared = count(request.n_first + PLACES as i32 * request.n_directions).max(count(request.n_second));
    let folds = match count(request.n_folds) {
        0 => 0,
        folds => MOST_VALLEYS * folds + 1,
    };
    let flips = nonlinear.min(MOST_FLIPS);
    (shared + usize::from(nonlinear > 0)).max(flips).max(count(request.n_others)).max(folds)
}

/// Returns the bounds of the parameters whose bounds in a request differ from their bounds in the model. For a fixed
/// parameter, both bounds are equal to its value.
fn overrides(table: &ParameterTable, request: &FitRequest) -> Vec<layout::Override> {
    let named = request.fixed.iter().map(|(p, _)| *p).chain(request.bounds.iter().map(|(p, _)| *p));
    let mut named: Vec<usize> = named.collect();
    named.sort_unstable();
    named.dedup();
    let differing = named.into_iter().filter_map(|p| {
        let (init, bounds, fixed) = (*table.init.get(p)?, *table.bounds.get(p)?, *table.fixed.get(p)?);
        let model = if fixed { (init, init) } else { bounds };
        // If a request fixes a parameter several times, the last value is used.
        let held = request.fixed.iter().rev().find(|(q, _)| *q == p).map(|(_, value)| *value);
        let own = request.bounds.iter().rev().find(|(q, _)| *q == p).map_or(bounds, |(_, own)| *own);
        let (lower, upper) = match held {
            Some(value) => (value, value),
            None if fixed => model,
            None => own,
        };
        let held = held.is_some() || fixed || own.0 == own.1;
        let differs = (lower, upper) != model;
        differs.then_some(layout::Override { param: p as i32, held: i32::from(held), lower, upper })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_blocks_help_as_the_largest_round_has_starts() {
        let starts = |n_first, n_second, n_directions, n_nonlinear| {
            starts_of(&layout::Request {
                n_first,
                n_second,
                n_directions,
                n_nonlinear,
                ..layout::Request::default()
            })
        };
        assert_eq!(starts(0, 0, 0, 0), 0);
        // Each direction has `PLACES` = 2 starting points in the first round. All other starting points of this round
        // are shared by all fits.
        assert_eq!(starts(3, 4, 2, 0), 7);
        assert_eq!(starts(3, 9, 1, 0), 9);
        // Nonlinear parameters add one starting point at which all of them have the opposite sign. They can also have
        // a round of their own: up to eight starting points at which one of them has the opposite sign.
        assert_eq!(starts(0, 0, 0, 1), 1);
        assert_eq!(starts(9, 2, 0, 3), 10);
        assert_eq!(starts(0, 1, 1, 5), 5);
        assert_eq!(starts(0, 1, 1, 50), 8);
    }
}
