//! The regions into which the box of an integral is divided, in the order of their errors.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What is known about a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum State {
    /// No rule was applied. The error of the region is its volume times the bound of the integrand. `wide` is the axis
    /// along which the region has to be divided first. `unseen` is the largest error that a rule may make without
    /// noticing it.
    Waiting { wide: Option<usize>, unseen: f64 },
    /// The integrand has a pole. The number is the index of the chain of shells around it.
    Singular(usize),
    /// A rule was applied. The number is the axis along which its error is largest.
    Done(usize),
    /// The region cannot be divided further.
    Closed,
}

/// A part of the box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) state: State,
    /// Integral of the absolute value.
    pub(super) size: f64,
    pub(super) error: f64,
    /// Whether a rule of low degree was applied.
    pub(super) low: bool,
}

impl Region {
    /// A region without a rule.
    pub(super) fn without_rule(state: State, error: f64) -> Self {
        Self { state, size: 0.0, error, low: false }
    }
}

/// A region in the order of its error.
#[derive(Debug, Clone, Copy)]
struct Entry {
    error: f64,
    place: usize,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.error.total_cmp(&other.error).then(other.place.cmp(&self.place))
    }
}

/// All regions, with sums over them.
#[derive(Debug, Clone)]
pub(super) struct Regions {
    dimensions: usize,
    list: Vec<Region>,
    /// The sides of all regions, one region after another.
    sides: Vec<(f64, f64)>,
    queue: BinaryHeap<Entry>,
    /// Sum of the finite errors.
    errors: f64,
    /// Number of infinite errors.
    infinite: usize,
    /// Part of `errors` that belongs to regions that cannot be divided.
    closed: f64,
    /// Integral of the absolute value over all regions.
    size: f64,
    /// Largest value of `errors` since the sums were computed from all regions.
    most_errors: f64,
}

impl Regions {
    pub(super) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            list: Vec::new(),
            sides: Vec::new(),
            queue: BinaryHeap::new(),
            errors: 0.0,
            infinite: 0,
            closed: 0.0,
            size: 0.0,
            most_errors: 0.0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.sides.clear();
        self.queue.clear();
        (self.errors, self.infinite, self.closed, self.size, self.most_errors) = (0.0, 0, 0.0, 0.0, 0.0);
    }

    /// Adds a region without an error, and returns its place.
    pub(super) fn add(&mut self, sides: &[(f64, f64)]) -> usize {
        self.sides.extend_from_slice(sides);
        self.list.push(Region::without_rule(State::Closed, 0.0));
        self.list.len() - 1
    }

    /// Returns the number of regions.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Replaces the sides of a region.
    pub(super) fn set_sides(&mut self, place: usize, sides: &[(f64, f64)]) {
        let d = self.dimensions;
        self.sides[place * d..(place + 1) * d].copy_from_slice(sides);
    }

    /// Replaces what is known about a region, and puts it in the queue.
    pub(super) fn set(&mut self, place: usize, region: Region) {
        let old = std::mem::replace(&mut self.list[place], region);
        for (region, sign) in [(old, -1.0), (region, 1.0)] {
            match (region.error.is_finite(), sign > 0.0) {
                (true, _) => self.errors += sign * region.error,
                (false, true) => self.infinite += 1,
                (false, false) => self.infinite -= 1,
            }
            self.size += sign * region.size;
        }
        self.most_errors = self.most_errors.max(self.errors);
        if region.error > 0.0 {
            self.queue.push(Entry { error: region.error, place });
        }
    }

    /// Marks a region that cannot be divided. Its error stays.
    pub(super) fn close(&mut self, place: usize) {
        let region = &mut self.list[place];
        region.state = State::Closed;
        if region.error.is_finite() {
            self.closed += region.error;
        }
    }

    /// Takes the region with the largest error from the queue.
    pub(super) fn pop(&mut self) -> Option<usize> {
        self.queue.pop().map(|entry| entry.place)
    }

    pub(super) fn get(&self, place: usize) -> (Region, &[(f64, f64)]) {
        let d = self.dimensions;
        (self.list[place], &self.sides[place * d..(place + 1) * d])
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Region, &[(f64, f64)])> {
        self.list.iter().zip(self.sides.chunks_exact(self.dimensions))
    }

    /// Returns the integral of the absolute value over all regions.
    pub(super) fn size(&self) -> f64 {
        self.size
    }

    /// Returns the sum of the errors, and of those that follow from the rounding of the places of the nodes. The latter
    /// matter only for peaks that are hardly wider than the distance of neighbouring numbers.
    pub(super) fn error(&self) -> f64 {
        let rounding = |(region, sides): (&Region, &[(f64, f64)])| {
            let steps = sides.iter().map(|(lo, hi)| lo.abs().max(hi.abs()) / (hi - lo));
            region.size * 0.1 * f64::EPSILON * steps.sum::<f64>()
        };
        let rounding: f64 = self.all().map(rounding).sum();
        if self.infinite > 0 { f64::INFINITY } else { self.errors + rounding }
    }

    /// Returns whether the sum of the errors is at most a fraction of the integral, or would hardly get smaller.
    pub(super) fn are_good(&mut self, tolerance: f64) -> bool {
        if !self.seem_good(tolerance) && self.errors >= 1e-6 * self.most_errors {
            return false;
        }
        // The running sums have rounding errors of earlier, larger terms.
        self.add_up();
        self.seem_good(tolerance)
    }

    fn seem_good(&self, tolerance: f64) -> bool {
        let open = self.errors - self.closed;
        self.infinite == 0 && open <= (tolerance * self.size - self.closed).max(0.1 * self.closed)
    }

    /// Computes the sums from all regions.
    pub(super) fn add_up(&mut self) {
        (self.errors, self.infinite, self.size) = (0.0, 0, 0.0);
        for region in &self.list {
            if region.error.is_finite() {
                self.errors += region.error
            } else {
                self.infinite += 1
            }
            self.size += region.size;
        }
        self.most_errors = self.errors;
    }
}
