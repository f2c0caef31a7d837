//! How much `-ln L` falls if a peak is put at a place, with the best height of the peak there.

use super::shape::Peak;

/// Largest number of Newton steps for the height of the peak.
const MOST_STEPS: usize = 12;

/// Events that are closer to each other than this fraction of half the width of the peak are joined.
const JOINED: f64 = 0.25;

/// Places are at least this fraction of half the width of the peak apart.
const APART: f64 = 0.34;

/// Smallest number of points within half a width of a place, if the points are not single events but weighted nodes,
/// which have gaps between them.
const FEWEST_NODES: usize = 4;

/// Events near each other along an observable: their mean place, their number, and by how much a peak of height 1
/// increases the density there, as a fraction of the density without the peak.
#[derive(Debug, Clone, Copy)]
struct Group {
    x: f64,
    number: f64,
    rise: f64,
}

/// The events of a channel in the order of an observable.
#[derive(Debug)]
pub(super) struct Gains<'a> {
    peak: &'a Peak,
    groups: Vec<Group>,
    /// Places of all nodes in ascending order, if the events are weighted nodes; empty otherwise.
    nodes: Vec<f64>,
    /// Sum of the weights of the events.
    total: f64,
    /// Expected number of events of a peak of height 1, as a fraction of the number of all other events. It is `None` if
    /// the height of the peak is given.
    share: Option<f64>,
    heights: Vec<f64>,
}

/// A place of a peak.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) x: f64,
    /// The height of the peak.
    pub(super) height: f64,
    /// By how much `-ln L` is below its value without the peak.
    pub(super) gain: f64,
}

impl<'a> Gains<'a> {
    /// `events` contains for each event its place along the observable of the peak, its weight, and the rise of a peak of
    /// height 1 there. `range` is the range of the observable.
    pub(super) fn new(
        peak: &'a Peak,
        mut events: Vec<(f64, f64, f64)>,
        is_weighted: bool,
        is_free: bool,
        range: (f64, f64),
    ) -> Self {
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = events.iter().map(|event| event.1).sum();
        let rises: f64 = events.iter().map(|(_, weight, rise)| weight * rise).sum();
        let share = rises * peak.area() / (total * (range.1 - range.0));
        let nodes = if is_weighted { events.iter().map(|event| event.0).collect() } else { Vec::new() };
        let mut groups: Vec<Group> = Vec::new();
        let mut from = 0;
        while let Some(&(first, ..)) = events.get(from) {
            let mut sums = [0.0; 4];
            let mut to = from;
            while let Some((x, weight, rise)) =
                events.get(to).filter(|event| event.0 - first <= JOINED * peak.half)
            {
                let parts = [weight * x, *weight, weight * rise, weight * rise * rise];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
                to += 1;
            }
            let [places, weights, once, twice] = sums;
            // A group has the same first and second derivative with respect to the height as its events.
            if once > 0.0 {
                groups.push(Group { x: places / weights, number: once * once / twice, rise: twice / once });
            }
            from = to;
        }
        Self { peak, groups, nodes, total, share: is_free.then_some(share), heights: Vec::new() }
    }

    /// Returns the places near events, in ascending order: those of the events, and between neighbours.
    pub(super) fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> = Vec::new();
        let mut put = |x: f64| {
            if places.last().is_none_or(|last| x - last >= APART * self.peak.half) {
                places.push(x);
            }
        };
        for (i, group) in self.groups.iter().enumerate() {
            put(group.x);
            if let Some(next) = self.groups.get(i + 1).filter(|next| next.x - group.x <= 2.0 * self.peak.half)
            {
                put(0.5 * (group.x + next.x));
            }
        }
        places
    }

    /// Returns the gain of a peak at `x`, with the best height of at least 0.
    pub(super) fn at(&mut self, x: f64) -> Site {
        let none = Site { x, height: 0.0, gain: 0.0 };
        if !self.nodes.is_empty() {
            let count = |to: f64| self.nodes.partition_point(|node| *node < to);
            if count(x + self.peak.half) - count(x - self.peak.half) < FEWEST_NODES {
                return none;
            }
        }
        let reach = self.peak.reach();
        let from = self.groups.partition_point(|group| group.x < x - reach);
        let to = self.groups.partition_point(|group| group.x <= x + reach);
        let groups = &self.groups[from..to];
        let rises = groups.iter().map(|group| group.rise * self.peak.height(group.x - x));
        self.heights.clear();
        self.heights.extend(rises);
        let gain = |height: f64, share: f64| {
            let of = |(group, rise): (&Group, &f64)| group.number * (height * rise).ln_1p();
            groups.iter().zip(&self.heights).map(of).sum::<f64>() - self.total * (height * share).ln_1p()
        };
        let Some(share) = self.share else { return Site { x, height: 1.0, gain: gain(1.0, 0.0) } };
        // The first and second derivative with respect to the height.
        let slopes = |height: f64| {
            let (mut first, mut second) = (0.0, 0.0);
            for (group, rise) in groups.iter().zip(&self.heights) {
                let part = rise / (1.0 + height * rise);
                first += group.number * part;
                second -= group.number * part * part;
            }
            let part = share / (1.0 + height * share);
            (first - self.total * part, second + self.total * part * part)
        };
        let mut height = 0.0;
        for _ in 0..MOST_STEPS {
            let (first, second) = slopes(height);
            if height == 0.0 && !(first > 0.0) {
                return none;
            }
            let newton = height - first / second;
            let next = if second < 0.0 && newton > 0.0 {
                newton
            } else if first > 0.0 {
                2.0 * height
            } else {
                0.5 * height
            };
            let is_close = (next - height).abs() <= 1e-3 * next;
            height = next;
            if is_close || !height.is_finite() || height == 0.0 {
                break;
            }
        }
        Site { x, height, gain: gain(height, share) }
    }
}
