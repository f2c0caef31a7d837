//! Places at which a narrow peak of an event channel may fit better than where it is.
//!
//! `-ln L` as a function of the place of a narrow peak has a minimum near every group of events. No descent leads from
//! one of them to the next. For a peak that a variable shifts along an observable, the gain of every place follows from
//! the events within the reach of the peak there (`gain`): one pass over the events compares all places.

mod gain;
mod shape;

use std::sync::Arc;

use ns_core::EventTable;

use self::gain::{Gains, Site};
use self::shape::{Peak, moving_peaks};
use super::block::multiply_leaves;
use super::channel::ChannelPlan;
use super::channel_sum::ChannelMemory;
use super::leaf::Leaf;
use super::sums::{BLOCK, SumMemory};
use super::term::{EventPlan, EventScratch};
use crate::simd::Level;

/// Places are compared with the best one by descents if their gain is at most this number below that of the present
/// place: the gains suppose that all other parameters stay.
const MARGIN: f64 = 1.0;

/// The density without a peak is at least this fraction of the density with it.
const LEAST_REST: f64 = 1e-12;

/// Distance, in half widths of a peak, from which on another place is no part of the same peak.
const FAR: f64 = 2.5;

/// About the number of events of a sample of the events, if there are more.
const FEW: usize = 1024;

/// Two widths of a peak are different if they differ by at least this factor.
const OTHER_WIDTH: f64 = 1.5;

/// Largest number of steps in the search for the value of a parameter at which a function has a given value.
const MOST_STEPS: usize = 30;

/// A peak of a leaf (a basic density), and the variable of the leaf that moves it.
#[derive(Debug, Clone)]
pub(crate) struct MovingPeak {
    channel: usize,
    leaf: usize,
    /// Index of the value of the channel that is the variable.
    local: usize,
    /// Parameters of the model on which the variable depends, and which may be searched.
    pub(crate) parameters: Vec<usize>,
    peak: Peak,
}

impl MovingPeak {
    /// Returns whether `other` is the same peak with about the same width.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let ratio = self.peak.half / other.peak.half;
        (self.channel, self.leaf, self.local) == (other.channel, other.leaf, other.local)
            && (1.0 / OTHER_WIDTH..=OTHER_WIDTH).contains(&ratio)
    }
}

/// A point at which a peak may fit better.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Value of the parameter that moves the peak.
    pub(crate) value: f64,
    /// Index and value of a parameter that gives the peak its best height; `None` if its height is given.
    pub(crate) height: Option<(usize, f64)>,
    /// Estimate of the fall of `-ln L` from the present point.
    pub(crate) gain: f64,
    /// Whether the peak is there already.
    pub(crate) is_present: bool,
    /// Whether the parameter that moves the peak is at one of its bounds.
    pub(crate) is_edge: bool,
}

/// Finds the narrow peaks that parameters move. The channels must have been evaluated. `may_move` returns whether a
/// parameter of the model may be searched.
pub(crate) fn find_peaks(
    level: Level,
    plan: &EventPlan,
    scratch: &EventScratch,
    may_move: &dyn Fn(usize) -> bool,
) -> Vec<MovingPeak> {
    let mut found = Vec::new();
    for (c, (channel, memory)) in plan.channels.iter().zip(&scratch.channels).enumerate() {
        if memory.is_wide() {
            continue;
        }
        let hull = hull(channel);
        for (l, leaf) in leaves_with_peaks(channel) {
            let parameters = |local: usize| -> Vec<usize> {
                let own = channel.locals[local].positions.iter().map(|&i| channel.parameters[i]);
                own.filter(|&p| may_move(p)).collect()
            };
            let wanted: Vec<usize> =
                (0..leaf.variables.len()).filter(|&v| !parameters(leaf.variables[v]).is_empty()).collect();
            if wanted.is_empty() {
                continue;
            }
            let peaks = moving_peaks(level, channel, l, &wanted, &memory.locals, &hull);
            found.extend(peaks.into_iter().map(|(variable, peak)| {
                let local = leaf.variables[variable];
                MovingPeak { channel: c, leaf: l, local, parameters: parameters(local), peak }
            }));
        }
    }
    found
}

/// Returns the leaves of a channel in which narrow peaks are looked for, with their indices.
fn leaves_with_peaks(channel: &ChannelPlan) -> impl Iterator<Item = (usize, &Leaf)> {
    let may_have = channel.conditionals.is_empty();
    let all = channel.leaves.iter().enumerate();
    all.filter(move |(_, leaf)| may_have && leaf.has_formula() && !leaf.is_of_bins())
}

/// Returns the parameters on which the places or the widths of peaks may depend that [`find_peaks`] finds, in ascending order.
pub(crate) fn peak_parameters(plan: &EventPlan) -> Vec<usize> {
    let mut found = Vec::new();
    for channel in &plan.channels {
        let locals = leaves_with_peaks(channel).flat_map(|(_, leaf)| &leaf.variables);
        let positions = locals.flat_map(|&local| &channel.locals[local].positions);
        found.extend(positions.map(|&position| channel.parameters[position]));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the parameter that changes the height of a peak most, and its value at which the height is 0. Returns `None` if
/// there is no such parameter. The channels must have been prepared at `theta`.
pub(crate) fn without_peak(
    plan: &EventPlan,
    scratch: &EventScratch,
    theta: &[f64],
    moving: &MovingPeak,
    is_free: &dyn Fn(usize) -> bool,
) -> Option<(usize, f64)> {
    let height = height_parameter(plan, scratch, moving, is_free)?;
    Some((height.parameter, height.value(theta, 0.0))).filter(|(_, value)| value.is_finite())
}

/// Returns places of a peak, the best first. The channels must have been prepared at `theta`. `parameter` moves the peak
/// within `bounds`. `is_free` returns whether a parameter may give the peak another height.
///
/// If `least` is given, the peak has no height at `theta`, and places with at least this gain are returned. Otherwise
/// the places are those that may be better than the present one.
pub(crate) fn places(
    (level, plan): (Level, &EventPlan),
    scratch: &EventScratch,
    tables: &[Arc<EventTable>],
    (theta, parameter, bounds): (&[f64], usize, (f64, f64)),
    moving: &MovingPeak,
    is_free: &dyn Fn(usize) -> bool,
    (most, least): (usize, Option<f64>),
) -> Vec<Place> {
    let table = &tables[moving.channel];
    let table = (&**table, table.weights.is_some());
    let Some(compared) = compare(level, plan, scratch, table, (parameter, bounds), moving, is_free) else {
        return Vec::new();
    };
    let peak = &moving.peak;
    let Compared { height, present, here, mut sites, edges } = compared;
    let from = least.unwrap_or(present - MARGIN);
    sites.retain(|site| site.gain >= from && (least.is_some() || (site.x - here).abs() > peak.half));
    sites.retain(|site| site.gain > 0.0);
    let before = if least.is_some() { 0.0 } else { present };
    sites.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let mut taken: Vec<f64> = Vec::new();
    let mut found: Vec<Place> = Vec::new();
    let place = |value: f64, site: &Site, is_edge: bool| {
        let height = height.as_ref().map(|height| (height.parameter, height.value(theta, site.height)));
        let is_present = (site.x - here).abs() <= peak.half;
        Place { value, height, gain: site.gain - before, is_present, is_edge }
    };
    for site in sites {
        if found.len() == most {
            break;
        }
        if taken.iter().any(|x| (x - site.x).abs() < 2.0 * peak.half) {
            continue;
        }
        taken.push(site.x);
        let local = peak.variable + (site.x - peak.top[peak.axis]) / peak.speed;
        let value = solve(level, plan, scratch, (theta, parameter, bounds), moving, local);
        found.extend(value.map(|value| place(value, &site, false)));
    }
    // What is below a peak changes most if the peak is at an end of its range. Its gain there is larger than this one.
    if least.is_some() {
        found.extend(edges.iter().map(|(bound, site)| place(*bound, site, true)));
    }
    found
}

/// Returns the gain of a peak at its present place, and the largest gain elsewhere. The channels must have been prepared at a
/// point where the peak has no height. Of many events, a part is used. Returns `None` if nothing can be said.
pub(crate) fn rivals(
    (level, plan): (Level, &EventPlan),
    scratch: &EventScratch,
    tables: &[Arc<EventTable>],
    parameter: usize,
    moving: &MovingPeak,
    is_free: &dyn Fn(usize) -> bool,
) -> Option<(f64, f64)> {
    let table = &tables[moving.channel];
    let sample = sample(table, (table.len() / FEW).max(1));
    // A sample of weighted nodes has gaps that the nodes do not have.
    let sample = (&sample, false);
    let compared = compare(level, plan, scratch, sample, (parameter, NOWHERE), moving, is_free)?;
    let elsewhere =
        compared.sites.iter().filter(|site| (site.x - compared.here).abs() > FAR * moving.peak.half);
    Some((compared.present, elsewhere.map(|site| site.gain).fold(0.0, f64::max)))
}

/// The gains of all places of a peak.
struct Compared {
    height: Option<Height>,
    /// The present place, and its gain.
    here: f64,
    present: f64,
    sites: Vec<Site>,
    /// The bounds of the parameter that moves the peak, with the places of the peak there, if these are in the fit range.
    edges: Vec<(f64, Site)>,
}

/// Bounds that are not places.
const NOWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// Compares all places of a peak for the events `table`, which may be weighted nodes. Returns `None` if nothing can be
/// said.
fn compare(
    level: Level,
    plan: &EventPlan,
    scratch: &EventScratch,
    (table, is_of_nodes): (&EventTable, bool),
    (parameter, bounds): (usize, (f64, f64)),
    moving: &MovingPeak,
    is_free: &dyn Fn(usize) -> bool,
) -> Option<Compared> {
    let (channel, memory) = (&plan.channels[moving.channel], &scratch.channels[moving.channel]);
    let peak = &moving.peak;
    if memory.is_wide() || table.is_empty() {
        return None;
    }
    let height = height_parameter(plan, scratch, moving, &|p| p != parameter && is_free(p));
    let range = hull(channel)[peak.axis];
    let here = peak.top[peak.axis] + peak.speed * (memory.locals[moving.local] - peak.variable);
    let events = rises(level, channel, memory, table, moving, range, height.as_ref())?;
    let mut gains = Gains::new(peak, events, is_of_nodes, height.is_some(), range);
    let present = gains.at(here).gain;
    let sites = gains.places().into_iter().map(|x| gains.at(x)).collect();
    let is_variable = channel.locals[moving.local].parameter.is_some();
    let mut at = |bound: f64| {
        let x = peak.top[peak.axis] + peak.speed * (bound - peak.variable);
        (is_variable && range.0 <= x && x <= range.1).then(|| (bound, gains.at(x)))
    };
    let edges = [bounds.0, bounds.1].into_iter().filter_map(&mut at).collect();
    Some(Compared { height, here, present, sites, edges })
}

/// Returns every `step`th event of a table.
fn sample(table: &EventTable, step: usize) -> EventTable {
    let thin = |column: &Arc<[f64]>| column.iter().step_by(step).copied().collect();
    EventTable {
        columns: table.columns.iter().map(thin).collect(),
        weights: table.weights.as_ref().map(thin),
    }
}

/// Returns the range of each observable over all fit ranges of a channel.
fn hull(channel: &ChannelPlan) -> Vec<(f64, f64)> {
    let whole = vec![(f64::INFINITY, f64::NEG_INFINITY); channel.observables];
    channel.boxes.iter().fold(whole, |all, sides| {
        all.iter().zip(sides).map(|(all, side)| (all.0.min(side.0), all.1.max(side.1))).collect()
    })
}

/// A parameter that changes the height of a peak.
struct Height {
    parameter: usize,
    /// Derivative of the amplitude of each term with respect to the parameter.
    slopes: Vec<f64>,
    /// Amplitude and slope of the term that it changes most.
    strongest: (f64, f64),
}

impl Height {
    /// Returns the value of the parameter that gives the peak a height.
    fn value(&self, theta: &[f64], height: f64) -> f64 {
        let (amplitude, slope) = self.strongest;
        theta[self.parameter] + height * slope.signum() - amplitude / slope
    }
}

/// Returns the parameter that changes the amplitudes of the terms with a peak most, if there is one.
fn height_parameter(
    plan: &EventPlan,
    scratch: &EventScratch,
    moving: &MovingPeak,
    is_free: &dyn Fn(usize) -> bool,
) -> Option<Height> {
    let (channel, memory) = (&plan.channels[moving.channel], &scratch.channels[moving.channel]);
    let mut best: Option<Height> = None;
    let shapes = plan.shape_parameters();
    for &q in channel.parameters.iter().filter(|&&q| is_free(q) && shapes.binary_search(&q).is_err()) {
        let by_parameter = |local: usize| {
            let own = &channel.locals[local];
            match own.parameter {
                Some(p) => f64::from(u8::from(p == q)),
                None => {
                    let parameters = &plan.functions.plans[own.function].parameters;
                    let at = parameters.iter().position(|p| *p == q);
                    at.map_or(0.0, |i| plan.functions.result(own.function, &scratch.functions)[1 + i])
                }
            }
        };
        let slope = |(t, term): (usize, &super::channel::Amplitude)| {
            if !term.leaves.contains(&moving.leaf) {
                return 0.0;
            }
            let slopes = &memory.amplitude(channel, t)[1..=channel.locals.len()];
            slopes.iter().enumerate().filter(|(_, s)| **s != 0.0).map(|(i, s)| s * by_parameter(i)).sum()
        };
        let slopes: Vec<f64> = channel.terms.iter().enumerate().map(slope).collect();
        let pairs = memory.amplitude_values.iter().copied().zip(slopes.iter().copied());
        let strongest = pairs.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap_or_default();
        let size = strongest.1.abs();
        if size > 0.0 && size.is_finite() && best.as_ref().is_none_or(|best| size > best.strongest.1.abs()) {
            best = Some(Height { parameter: q, slopes, strongest });
        }
    }
    best
}

/// Returns for each event its place along the observable of a peak, its weight, and by how much a peak of height 1
/// increases the density there, as a fraction of the density without the peak. Returns `None` if the density is not
/// positive without the peak.
fn rises(
    level: Level,
    channel: &ChannelPlan,
    memory: &ChannelMemory,
    table: &EventTable,
    moving: &MovingPeak,
    range: (f64, f64),
    height: Option<&Height>,
) -> Option<Vec<(f64, f64, f64)>> {
    let (peak, leaf) = (&moving.peak, &channel.leaves[moving.leaf]);
    let columns: Vec<&[f64]> =
        table.columns.iter().take(channel.columns()).map(|column| &column[..]).collect();
    let mut sums = SumMemory::new(channel);
    sums.prepare(level, channel, &memory.locals);
    // The same leaf with the peak as far away as possible: what remains is not the peak.
    let mut locals = memory.locals.clone();
    let here = peak.top[peak.axis] + peak.speed * (locals[moving.local] - peak.variable);
    let far = if here < 0.5 * (range.0 + range.1) { range.1 } else { range.0 };
    locals[moving.local] = peak.variable + (far - peak.top[peak.axis]) / peak.speed;
    let mut beside = leaf.memory(BLOCK);
    leaf.prepare(level, &locals, &mut beside);
    // The same leaf at the top of the peak, with the other observables of the event.
    let is_line = leaf.observables().len() == 1;
    let mut across = leaf.memory(BLOCK);
    let at_top = [here; BLOCK];
    leaf.prepare(level, &memory.locals, &mut across);
    let top_height = peak.height(0.0);
    let mut found = Vec::with_capacity(table.len());
    for start in (0..table.len()).step_by(BLOCK) {
        let n = BLOCK.min(table.len() - start);
        for (leaf, own) in channel.leaves.iter().zip(&mut sums.leaves) {
            leaf.run(level, &columns, start, n, own);
        }
        multiply_leaves(channel, &mut sums);
        leaf.run(level, &columns, start, n, &mut beside);
        if !is_line {
            let block: Vec<&[f64]> = columns
                .iter()
                .enumerate()
                .map(|(x, column)| if x == peak.axis { &at_top[..n] } else { &column[start..start + n] })
                .collect();
            leaf.run(level, &block, 0, n, &mut across);
        }
        for i in 0..n {
            let (mut density, mut now, mut unit) = (0.0, 0.0, 0.0);
            for (t, term) in channel.terms.iter().enumerate() {
                let amplitude = memory.amplitude_values[t];
                density += amplitude * sums.products[t][i];
                let Some(j) = term.leaves.iter().position(|&own| own == moving.leaf) else { continue };
                let others = if term.leaves.len() > 1 { sums.others[t][j][i] } else { 1.0 };
                now += amplitude * others;
                unit += others * height.map_or(amplitude, |height| height.slopes[t].abs());
            }
            let own = leaf.result(&sums.leaves[moving.leaf])[i];
            let without = density - now * (own - leaf.result(&beside)[i]).max(0.0);
            let without = without.max(LEAST_REST * density);
            let part =
                if is_line { 1.0 } else { ((leaf.result(&across)[i] - peak.level) / top_height).max(0.0) };
            let rise = unit * part / without;
            if !(without > 0.0 && rise.is_finite()) {
                return None;
            }
            let weight = table.weights.as_ref().map_or(1.0, |weights| weights[start + i]);
            found.push((columns[peak.axis][start + i], weight, rise));
        }
    }
    Some(found)
}

/// Returns the value of a parameter within `bounds` at which the variable of a peak has the value `wanted`.
fn solve(
    level: Level,
    plan: &EventPlan,
    scratch: &EventScratch,
    (theta, parameter, bounds): (&[f64], usize, (f64, f64)),
    moving: &MovingPeak,
    wanted: f64,
) -> Option<f64> {
    let local = &plan.channels[moving.channel].locals[moving.local];
    let is_inside = |x: f64| (bounds.0 <= x && x <= bounds.1).then_some(x);
    if local.parameter.is_some() {
        return is_inside(wanted);
    }
    let at = plan.functions.plans[local.function].parameters.iter().position(|p| *p == parameter)?;
    let (mut functions, mut point) = (scratch.functions.clone(), theta.to_vec());
    let scale = moving.peak.half / moving.peak.speed.abs();
    for _ in 0..MOST_STEPS {
        plan.functions.evaluate(level, &point, &mut functions);
        let result = plan.functions.result(local.function, &functions);
        let (distance, slope) = (wanted - result[0], result[1 + at]);
        if distance.abs() <= 0.05 * scale {
            return is_inside(point[parameter]);
        }
        let next = (point[parameter] + distance / slope).clamp(bounds.0, bounds.1);
        if !next.is_finite() || next == point[parameter] {
            return None;
        }
        point[parameter] = next;
    }
    None
}
