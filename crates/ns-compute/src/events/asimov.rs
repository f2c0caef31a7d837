//! Asimov data of an event channel. The data are events on a grid. Each event is weighted with the expected number of
//! events around its grid point. If the contents of bins are compared with integrals, the grid points are the centres
//! of the bins.

use ns_core::{BinRule, EventTable, SessionError};
use thiserror::Error;

use super::channel::ChannelPlan;
use super::grid::{Evaluator, Point, Values, grid};
use super::integral::{KRONROD, kronrod};
use crate::simd::Level;

/// Number of panels per observable of the grid of a process, for channels with one, two, three, and more observables.
/// The panels divide a fit range, and each panel has 21 nodes (grid points).
const PANELS: [usize; 4] = [200, 10, 2, 1];

/// Whether the weighted points of a grid represent all events of a channel or the events of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GridOf {
    /// All events of a channel. The grid is adapted to the densities of the channel. A negative weight is an error.
    Channel,
    /// The events of one process. All intervals (panels) of the grid have equal width, so all processes have the same
    /// grid points. A weight may be negative, because only the sum over all processes has to be positive.
    Process,
}

/// Reasons why a grid has no weighted events.
#[derive(Debug, Error)]
pub(super) enum GridError {
    /// The density is negative or not finite at a grid point.
    #[error("the density is {value:e} at {at:?}")]
    Density {
        /// Coordinates of the grid point.
        at: Vec<f64>,
        /// The density at this point.
        value: f64,
    },
    /// The density cannot be evaluated.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl GridError {
    /// Converts the error to the error of a session for the event channel with the index `channel`.
    pub(super) fn in_channel(self, channel: usize) -> SessionError {
        match self {
            Self::Density { at, value } => SessionError::BadDensity { channel, at, value },
            Self::Session(error) => error,
        }
    }
}

/// Returns grid points within the fit ranges as weighted events. The points are the nodes of a quadrature rule; if bin
/// contents are compared with integrals, they are the bin centres. The weights are proportional to the density at
/// `point` and add up to `total`. Points with weight 0 are left out. The grid of a whole channel is also adapted to the
/// densities at the points `visited`. The second result is the estimated error of twice `-ln L` of the weighted events; for
/// bins of a process it is the relative distance of the sum of the integrals over the bins from `total`.
///
/// # Errors
/// If the density is not finite at a point, or if it is negative in a grid of a whole channel.
pub(super) fn weighted_grid(
    level: Level,
    plan: &ChannelPlan,
    (point, visited): (&Point, &[Point]),
    total: f64,
    of: GridOf,
) -> Result<(EventTable, f64), GridError> {
    let (mut columns, mut volumes) = (vec![Vec::new(); plan.observables], Vec::new());
    let mut error = 0.0;
    match &plan.binning {
        Some(binning) if binning.rule == BinRule::Integral => {
            add_bins(&binning.edges, &plan.boxes, &mut columns, &mut volumes);
        }
        _ if of == GridOf::Process => {
            for region in &plan.boxes {
                add_nodes(region, panels(plan.observables), &mut columns, &mut volumes);
            }
        }
        _ if total == 0.0 => {}
        _ => {
            let made = grid(level, plan, point, visited, total).map_err(SessionError::from)?;
            (columns, volumes, error) = (made.columns, made.volumes, made.error);
        }
    }
    let mut values = Values::default();
    let logs = Evaluator::new(level, plan, vec![point])
        .evaluate(None, &columns, &mut values)
        .map_err(SessionError::from)?;
    columns.extend(logs);
    let weights: Vec<f64> = volumes.iter().zip(&values.densities[0]).map(|(v, f)| v * f).collect();
    if let Some(index) = weights.iter().position(|w| !(w.is_finite() && (of == GridOf::Process || *w >= 0.0)))
    {
        let at = columns.iter().take(plan.observables).filter_map(|x| x.get(index).copied()).collect();
        return Err(GridError::Density { at, value: values.densities[0][index] });
    }
    let sum: f64 = weights.iter().sum();
    let scale = if sum > 0.0 { total / sum } else { 0.0 };
    if of == GridOf::Process && plan.binning.as_ref().is_some_and(|binning| binning.rule == BinRule::Integral)
    {
        error = (sum / total - 1.0).abs();
    }
    let keep = |i: &usize| weights[*i] != 0.0;
    let kept: Vec<usize> = (0..weights.len()).filter(keep).collect();
    let table = EventTable {
        columns: columns
            .iter()
            .map(|column| kept.iter().filter_map(|&i| column.get(i)).copied().collect())
            .collect(),
        weights: Some(kept.iter().map(|&i| scale * weights[i]).collect()),
    };
    Ok((table, error))
}

/// Returns the number of panels (intervals of a quadrature rule) per observable for a channel with `observables`
/// observables.
pub(super) fn panels(observables: usize) -> usize {
    PANELS[observables.clamp(1, PANELS.len()) - 1]
}

/// Adds the grid points of the box `region` to `columns`, and the part of the volume that belongs to each grid point to
/// `volumes`. Each side of the box is divided into `panels` panels.
fn add_nodes(region: &[(f64, f64)], panels: usize, columns: &mut [Vec<f64>], volumes: &mut Vec<f64>) {
    let sides: Vec<Vec<(f64, f64)>> = region.iter().map(|&side| side_nodes(side, panels)).collect();
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
