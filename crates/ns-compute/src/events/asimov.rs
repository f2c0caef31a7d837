//! Asimov data of an event channel. The data are events on a grid. Each event is weighted with the expected number of
//! events around its grid point. If the contents of bins are compared with integrals, the grid points are the centres
//! of the bins.

use ns_core::{BinRule, EXPECTED, EventTable, LogProbError, SessionError};

use super::block::multiply_leaves;
use super::channel::ChannelPlan;
use super::conditional::ConditionalMemory;
use super::integral::{KRONROD, kronrod};
use super::sample::breaks;
use super::sums::{BLOCK, SumMemory};
use crate::simd::Level;

/// Number of panels per observable, for channels with one, two, three, and more observables. The panels divide a fit
/// range, and each panel has 21 nodes (grid points).
const PANELS: [usize; 4] = [200, 10, 2, 1];

/// Whether the weighted points of a grid represent all events of a channel or the events of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GridOf {
    /// All events of a channel. The intervals (panels) of the grid also end where the density may have a jump or a
    /// kink. A negative weight is an error.
    Channel,
    /// The events of one process. All intervals (panels) of the grid have equal width, so all processes have the same
    /// grid points. A weight may be negative, because only the sum over all processes has to be positive.
    Process,
}

/// Returns grid points within the fit ranges as weighted events. The points are the nodes of a quadrature rule; if bin
/// contents are compared with integrals, they are the bin centres. The weights are proportional to the density and add
/// up to `total`. Points with weight 0 are left out. `locals` contains the values that the channel uses, and
/// `amplitudes` the factors of its terms.
///
/// # Errors
/// If the density is not finite at a point, or if it is negative in a grid of a whole channel.
pub(super) fn weighted_grid(
    level: Level,
    plan: &ChannelPlan,
    (locals, amplitudes): (&[f64], &[f64]),
    total: f64,
    of: GridOf,
) -> Result<EventTable, SessionError> {
    let (mut columns, mut volumes) = (vec![Vec::new(); plan.observables], Vec::new());
    match &plan.binning {
        Some(binning) if binning.rule == BinRule::Integral => {
            add_bins(&binning.edges, &plan.boxes, &mut columns, &mut volumes);
        }
        _ => {
            let panels = panels(plan.observables);
            // Equal panels are needed for densities from neural networks: they have no formulas, and their
            // log-densities are kept for the nodes of equal panels.
            let is_equal = of == GridOf::Process || !plan.logs.is_empty() || !plan.conditionals.is_empty();
            for region in &plan.boxes {
                let breaks = match is_equal {
                    true => vec![Vec::new(); region.len()],
                    false => breaks(plan, (locals, amplitudes), region),
                };
                add_nodes(region, panels, &breaks, &mut columns, &mut volumes);
            }
        }
    }
    columns.extend(logs_at_nodes(plan, &columns).map_err(SessionError::from)?);
    let conditionals: Result<Vec<_>, LogProbError> =
        plan.conditionals.iter().map(|of| ConditionalMemory::once(of, &columns, locals)).collect();
    let conditionals = conditionals?;
    let views: Vec<&[f64]> = columns.iter().chain(conditionals.iter().flatten()).map(Vec::as_slice).collect();
    let mut memory = SumMemory::new(plan);
    memory.prepare(level, plan, locals);
    let mut weights = Vec::with_capacity(volumes.len());
    for (b, volumes) in volumes.chunks(BLOCK).enumerate() {
        for (leaf, own) in plan.leaves.iter().zip(&mut memory.leaves) {
            leaf.run(level, &views, b * BLOCK, volumes.len(), own);
        }
        multiply_leaves(plan, &mut memory);
        for (i, volume) in volumes.iter().enumerate() {
            let products = memory.products.iter().zip(amplitudes);
            weights.push(volume * products.map(|(product, a)| a * product[i]).sum::<f64>());
        }
    }
    if let Some(index) = weights.iter().position(|w| !(w.is_finite() && (of == GridOf::Process || *w >= 0.0)))
    {
        let remedy = "the density of an event channel is finite and not negative";
        return Err(SessionError::BadNumber { what: EXPECTED, index, value: weights[index], remedy });
    }
    let sum: f64 = weights.iter().sum();
    let scale = if sum > 0.0 { total / sum } else { 0.0 };
    let keep = |i: &usize| weights[*i] != 0.0;
    let kept: Vec<usize> = (0..weights.len()).filter(keep).collect();
    Ok(EventTable {
        columns: columns
            .iter()
            .map(|column| kept.iter().filter_map(|&i| column.get(i)).copied().collect())
            .collect(),
        weights: Some(kept.iter().map(|&i| scale * weights[i]).collect()),
    })
}

/// Returns the columns of log-densities at the nodes (grid points) of a grid. Only the first call computes them; later
/// calls return the same numbers. Columns that belong to no density of the channel are empty.
fn logs_at_nodes(plan: &ChannelPlan, nodes: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, LogProbError> {
    if let Some(known) = plan.logs_at_nodes.get() {
        return Ok(known.clone());
    }
    let mut made = vec![Vec::new(); plan.columns() - plan.observables];
    for density in &plan.logs {
        made[density.column - plan.observables] = density.evaluate(nodes)?;
    }
    Ok(plan.logs_at_nodes.get_or_init(|| made).clone())
}

/// Returns the number of panels (intervals of a quadrature rule) per observable for a channel with `observables`
/// observables.
pub(super) fn panels(observables: usize) -> usize {
    PANELS[observables.clamp(1, PANELS.len()) - 1]
}

/// Adds the grid points of the box `region` to `columns`, and the part of the volume that belongs to each grid point to
/// `volumes`. Each side of the box is divided into `panels` panels. `breaks` contains one list of positions per side of
/// the box. Panels are cut at these positions.
fn add_nodes(
    region: &[(f64, f64)],
    panels: usize,
    breaks: &[Vec<f64>],
    columns: &mut [Vec<f64>],
    volumes: &mut Vec<f64>,
) {
    let nodes = |(&side, breaks): (&(f64, f64), &Vec<f64>)| cut_nodes(side, panels, breaks);
    let sides: Vec<Vec<(f64, f64)>> = region.iter().zip(breaks).map(nodes).collect();
    let count: usize = sides.iter().map(Vec::len).product();
    for number in 0..count {
        let (mut rest, mut volume) = (number, 1.0);
        for (side, column) in sides.iter().zip(columns.iter_mut()) {
            let (x, length) = side[rest % side.len()];
            rest /= side.len();
            column.push(x);
            volume *= length;
        }
        volumes.push(volume);
    }
}

/// Finds the bins whose centre is within one of the boxes. Appends their centres to `columns`, one column per
/// observable, and their volumes to `volumes`.
pub(super) fn add_bins(
    edges: &[Vec<f64>],
    boxes: &[Vec<(f64, f64)>],
    columns: &mut [Vec<f64>],
    volumes: &mut Vec<f64>,
) {
    let bins: usize = edges.iter().map(|axis| axis.len() - 1).product();
    let mut centre = vec![0.0; edges.len()];
    for index in 0..bins {
        let (mut rest, mut volume) = (index, 1.0);
        for (x, axis) in centre.iter_mut().zip(edges).rev() {
            let bin = rest % (axis.len() - 1);
            rest /= axis.len() - 1;
            *x = 0.5 * (axis[bin] + axis[bin + 1]);
            volume *= axis[bin + 1] - axis[bin];
        }
        let inside =
            |sides: &Vec<(f64, f64)>| sides.iter().zip(&centre).all(|((lo, hi), x)| lo <= x && x <= hi);
        if boxes.iter().any(inside) {
            volumes.push(volume);
            for (column, x) in columns.iter_mut().zip(&centre) {
                column.push(*x);
            }
        }
    }
}

/// Returns the nodes (grid points) along a side of a box, like [`side_nodes`]. The panels are also cut at the
/// positions `breaks`.
fn cut_nodes((lo, hi): (f64, f64), panels: usize, breaks: &[f64]) -> Vec<(f64, f64)> {
    if breaks.is_empty() {
        return side_nodes((lo, hi), panels);
    }
    let mut edges: Vec<f64> = (0..=panels)
        .map(|i| lo + (hi - lo) * i as f64 / panels as f64)
        .chain(breaks.iter().copied())
        .collect();
    edges.sort_by(f64::total_cmp);
    let least = 1e-9 * (hi - lo);
    edges.dedup_by(|b, a| *b - *a <= least);
    edges.windows(2).flat_map(|pair| side_nodes((pair[0], pair[1]), 1)).collect()
}

/// Returns the nodes (grid points) along a side of a box in ascending order. Each node comes with the part of the
/// side's length that belongs to it.
pub(super) fn side_nodes((lo, hi): (f64, f64), panels: usize) -> Vec<(f64, f64)> {
    let half = 0.5 * (hi - lo) / panels as f64;
    let node = |index: usize| {
        let (node, weight, _) = kronrod(index % KRONROD);
        (lo + half * ((2 * (index / KRONROD) + 1) as f64 + node), half * weight)
    };
    (0..panels * KRONROD).map(node).collect()
}
