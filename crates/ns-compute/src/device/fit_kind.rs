//! Uploads the inputs that all fits of one kind share: the Gauss-Newton metric, and the starting points of the search
//! for further minima. All fits to given data in a session are of one kind. All fits of one request to the toys of one
//! source are also of one kind.

use std::sync::Arc;

use ns_core::SessionError;

use super::arena::Arena;
use super::backend::{Backend, Buffer};
use super::layout;
use super::offset::Offset;
use crate::lanes::directions::Direction;
use crate::lanes::metric::Metric;
use crate::lanes::{Fold, ToyFitter};

/// The inputs that a [`ToyFitter`] has prepared, in device memory.
pub(super) struct DeviceFitKind {
    _memory: Buffer,
    pub(super) metric: Offset<layout::Metric>,
    /// Offset in device memory, and number, of the further starting points in the first round of the search.
    pub(super) first: (Offset<f64>, usize),
    /// Offset in device memory, and number, of the further starting points in the second round of the search.
    pub(super) second: (Offset<f64>, usize),
    /// Offset in device memory, and number, of the further starting points for fits whose `-ln L` falls without limit in
    /// the first descent. There are none unless the model is strongly nonlinear.
    pub(super) others: (Offset<f64>, usize),
    /// Indices of the parameters for which there may be another minimum at the opposite sign: their offset in device
    /// memory, and how many there are.
    pub(super) nonlinear: (Offset<i32>, usize),
    /// Directions in parameter space along which the normsys effects on one sample add up, so that there may be a
    /// second minimum: their offset in device memory, and how many there are.
    pub(super) directions: (Offset<layout::Direction>, usize),
    /// Parameters along which functions turn, and the values of each that are tried: their offsets in device memory, and how
    /// many parameters there are.
    pub(super) folds: (Offset<i32>, Offset<f64>, usize),
    pub(super) size: Size,
}

/// Numbers of parameters of a Gauss-Newton metric, of three classes. *Local* parameters are constrained and act on one
/// bin. *Dual* and *primal* parameters are all others: the metric is inverted through a matrix over the bins for dual
/// parameters, and over the parameters for primal ones. These numbers and the plan determine how much working memory a
/// fit needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) locals: usize,
    pub(super) dual: usize,
    pub(super) primal: usize,
    /// Total number of elements of the matrices over bins. There is one square matrix for each group of bins.
    pub(super) matrix: usize,
    /// Whether the metric may have the derivatives at the point of each fit: it has dual parameters or parameters of functions,
    /// and the bins are not divided into groups.
    pub(super) own: bool,
}

impl Size {
    /// Returns the size that suffices for the metrics of `self` and of `other`. All fits of a launch are made by the same
    /// kernel, so they have derivatives of their own only if both metrics may have them.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            locals: self.locals.max(other.locals),
            dual: self.dual.max(other.dual),
            primal: self.primal.max(other.primal),
            matrix: self.matrix.max(other.matrix),
            own: self.own && other.own,
        }
    }
}

impl DeviceFitKind {
    /// Copies the inputs that `fitter` has prepared to the device. If `search` is false, no further starting points
    /// are copied.
    pub(super) fn new(
        backend: &Arc<dyn Backend>,
        fitter: &ToyFitter,
        n_bins: usize,
        search: bool,
    ) -> Result<Self, SessionError> {
        let mut arena = Arena::default();
        let metric = metric(fitter.metric(), n_bins, &mut arena);
        let metric = arena.put(&[metric]);
        let (first, second) = if search { fitter.starts() } else { (&[][..], &[][..]) };
        let nonlinear = if search { fitter.nonlinear() } else { &[] };
        let starts = |starts: &[Vec<f64>], arena: &mut Arena| {
            let all: Vec<f64> = starts.iter().flatten().copied().collect();
            (arena.put(&all), starts.len())
        };
        let others = if search { fitter.starts_of_fallen() } else { &[] };
        let (first, second) = (starts(first, &mut arena), starts(second, &mut arena));
        let others = starts(others, &mut arena);
        let nonlinear = (arena.put_indices(nonlinear.iter().copied()), nonlinear.len());
        let found = if search { fitter.directions() } else { &[] };
        let directions: Vec<layout::Direction> =
            found.iter().map(|direction| of_direction(direction, &mut arena)).collect();
        let directions = arena.put(&directions);
        let folds = if search { fitter.folds() } else { &[] };
        let fold_params = arena.put_indices(folds.iter().map(Fold::parameter));
        let fold_values: Vec<f64> = folds.iter().flat_map(Fold::values).copied().collect();
        let fold_values = arena.put(&fold_values);
        let memory = arena.upload(backend)?;
        let base = memory.start();
        let shared = fitter.metric();
        let bends = shared.primal_bends.contains(&true);
        Ok(Self {
            metric: metric.moved(base),
            first: (first.0.moved(base), first.1),
            second: (second.0.moved(base), second.1),
            others: (others.0.moved(base), others.1),
            nonlinear: (nonlinear.0.moved(base), nonlinear.1),
            directions: (directions.moved(base), found.len()),
            folds: (fold_params.moved(base), fold_values.moved(base), folds.len()),
            size: Size {
                locals: shared.locals.len(),
                dual: shared.dual.len(),
                primal: shared.primal.len(),
                matrix: shared.groups.iter().map(|group| group.bins.len().pow(2)).sum(),
                own: (!shared.dual.is_empty() || bends) && shared.groups.len() == 1,
            },
            _memory: memory,
        })
    }
}

/// Adds the arrays of a direction in parameter space to the arena. Returns the structure that refers to these arrays.
fn of_direction(direction: &Direction, arena: &mut Arena) -> layout::Direction {
    layout::Direction {
        n: direction.params.len() as i32,
        padding: 0,
        params: arena.put_indices(direction.params.iter().copied()),
        parts: arena.put(&direction.parts),
        widths: arena.put(&direction.widths),
        places: direction.places,
    }
}

/// Adds the arrays of the metric that all fits share to the arena. Returns the structure that refers to these arrays.
fn metric(metric: &Metric, n_bins: usize, arena: &mut Arena) -> layout::Metric {
    let mut locals: Vec<&crate::lanes::metric::Local> = metric.locals.iter().collect();
    locals.sort_by_key(|local| local.bin);
    let starts = (0..=n_bins).map(|b| locals.partition_point(|local| local.bin < b));
    let counts: Vec<i32> = locals.iter().map(|local| local.count.map_or(-1, |a| a as i32)).collect();
    let reactions: Vec<f64> = locals.iter().map(|local| local.reaction).collect();
    let stiffness: Vec<f64> = locals.iter().map(|local| local.stiffness).collect();
    let (mut groups, mut kernel, mut rows, mut columns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut triangles = metric.kernel.as_slice();
    for group in &metric.groups {
        groups.push([group.bins.start, group.dual.start, kernel.len(), rows.len()].map(|at| at as i32));
        let row = |d: usize| &metric.dual_rows[d * n_bins..(d + 1) * n_bins];
        rows.extend(group.dual.clone().flat_map(|d| &row(d)[group.bins.clone()]));
        for b in group.bins.clone() {
            columns.extend(group.dual.clone().map(|d| row(d)[b]));
        }
        if metric.dual.is_empty() {
            continue;
        }
        // The kernels read complete rows, so both triangles of the symmetric matrix are uploaded.
        let n = group.bins.len();
        let (triangle, rest) = triangles.split_at(n * (n + 1) / 2);
        triangles = rest;
        for i in 0..n {
            for j in 0..n {
                let (low, high) = (i.min(j), i.max(j));
                kernel.push(triangle[high * (high + 1) / 2 + low]);
            }
        }
    }
    groups.push([n_bins, metric.dual.len(), kernel.len(), rows.len()].map(|at| at as i32));
    let primal_coupling = if metric.primal_couplings.is_empty() {
        Offset::NULL
    } else {
        let n = metric.primal.len();
        let mut all = vec![0.0; n * n];
        for &(u, v, coupling) in &metric.primal_couplings {
            for place in [u * n + v, v * n + u] {
                if let Some(element) = all.get_mut(place) {
                    *element = coupling;
                }
            }
        }
        arena.put(&all)
    };
    layout::Metric {
        n_local: locals.len() as i32,
        n_dual: metric.dual.len() as i32,
        n_primal: metric.primal.len() as i32,
        n_groups: metric.groups.len() as i32,
        group: arena.put(&groups),
        local_start: arena.put_indices(starts),
        local_param: arena.put_indices(locals.iter().map(|local| local.param)),
        local_bin: arena.put_indices(locals.iter().map(|local| local.bin)),
        local_factor: arena.put_indices(locals.iter().map(|local| usize::from(local.factor))),
        local_count: arena.put(&counts),
        local_reaction: arena.put(&reactions),
        local_stiffness: arena.put(&stiffness),
        dual_param: arena.put_indices(metric.dual.iter().copied()),
        dual_inverse: arena.put(&metric.dual_inverse),
        dual_rows: arena.put(&rows),
        dual_columns: arena.put(&columns),
        kernel: arena.put(&kernel),
        primal_param: arena.put_indices(metric.primal.iter().copied()),
        primal_stiffness: arena.put(&metric.primal_stiffness),
        primal_coupling,
        primal_bends: arena.put_indices(metric.primal_bends.iter().map(|&bends| usize::from(bends))),
        primal_rows: arena.put(&metric.primal_rows),
    }
}
