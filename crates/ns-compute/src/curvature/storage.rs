//! Memory of a curvature, allocated once per layout and thread and reused at every point.

use crate::eval::Dataset;
use crate::linalg::Pivots;
use crate::plan::{Component, Layout};

/// The point at which a curvature is taken, besides what the scratch of `forward` holds.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    /// Parameters.
    pub(crate) theta: &'a [f64],
    /// Data.
    pub(crate) data: &'a Dataset,
    /// Parameters that may move; the others get a unit diagonal.
    pub(crate) active: &'a [bool],
    /// Branch taken at a kink: -1, +1, or 0 where there is none.
    pub(crate) side: &'a [f64],
    /// Weight of the second derivatives of the expectation: 1 is the exact Hessian,
    /// 0 the (positive semi-definite) Gauss-Newton form.
    pub(crate) exactness: f64,
    /// Levenberg damping, relative to the Gauss-Newton diagonal.
    pub(crate) damping: f64,
}

/// Matrices of one component; row-major, leading dimension `Component::width`.
#[derive(Debug, Clone)]
pub(crate) struct Matrices {
    /// Upper triangle over dense and border columns; after factoring, `U` and the Schur complement.
    pub(crate) h: Vec<f64>,
    /// `L^-1` times the coupling of the local rows to the columns.
    pub(crate) local: Vec<f64>,
    /// Derivative of its bin's yield by each local parameter.
    pub(crate) local_slope: Vec<f64>,
    /// Per bin, the lower Cholesky factor of its local block, row-major, concatenated.
    pub(crate) local_block: Vec<f64>,
    /// Start of each bin's block in `local_block`.
    pub(crate) local_block_start: Vec<u32>,
}

/// Everything that assembly and factorisation write.
#[derive(Debug, Clone)]
pub(crate) struct Curvature {
    pub(crate) matrices: Vec<Matrices>,
    /// Upper triangle of the border.
    pub(crate) border: Vec<f64>,
    /// Leading dimension of the border.
    pub(crate) border_width: usize,
    /// Curvature of parameters that act on no bin.
    pub(crate) isolated: Vec<f64>,
    /// Derivatives of the yields, `columns x bins`, of the current component.
    pub(crate) jacobian: Vec<f64>,
    /// The same, scaled by the Poisson weights, `bins x columns`.
    pub(crate) rows: Vec<f64>,
    /// Curvature of the constraint terms, per parameter.
    pub(crate) constraint: Vec<f64>,
    /// Diagonal before any elimination, per parameter: the scale of rounding in its pivot.
    pub(crate) scale: Vec<f64>,
    /// How far below zero a pivot may fall and still count as flat, per parameter: a change of
    /// the parameter by its own size then moves the likelihood by less than a millionth.
    pub(crate) slack: Vec<f64>,
    /// Scale and slack of the current columns.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Scratch for one block's vectors in column order.
    pub(crate) ranked: [Vec<f64>; 4],
    /// Scratch of `solve`.
    pub(crate) vector: Vec<f64>,
    pub(crate) border_vector: Vec<f64>,
    pub(crate) pivots: Pivots,
}

impl Curvature {
    /// Numbers of the matrices in it, of which it mostly consists.
    pub(crate) fn numbers(layout: &Layout) -> usize {
        let of = |c: &Component| c.width * (c.width + c.local.len() + 2 * c.padded_bins());
        layout.components.iter().map(of).sum::<usize>() + layout.border.len() * layout.border.len()
    }

    /// Memory for the curvature of any point in `layout`.
    pub(crate) fn new(layout: &Layout) -> Self {
        let matrices: Vec<Matrices> = layout.components.iter().map(Matrices::new).collect();
        let width = layout.components.iter().map(|c| c.width).max().unwrap_or(16);
        let bins = layout.components.iter().map(|c| c.n_bins).max().unwrap_or(0);
        let border_width = layout.border.len().div_ceil(16).max(1) * 16;
        let jacobian = layout.components.iter().map(|c| c.width * c.padded_bins()).max().unwrap_or(0);
        Self {
            matrices,
            border: vec![0.0; border_width * border_width],
            border_width,
            isolated: vec![0.0; layout.isolated.len()],
            jacobian: vec![0.0; jacobian],
            rows: vec![0.0; bins * width],
            constraint: vec![0.0; layout.place.len()],
            scale: vec![0.0; layout.place.len()],
            slack: vec![0.0; layout.place.len()],
            limits: Vec::new(),
            ranked: std::array::from_fn(|_| vec![0.0; width]),
            vector: vec![0.0; width],
            border_vector: vec![0.0; border_width],
            pivots: Pivots::default(),
        }
    }
}

impl Matrices {
    fn new(component: &Component) -> Self {
        let mut start = vec![0];
        let mut total = 0;
        for pair in component.local_start.windows(2) {
            let n = pair[1] - pair[0];
            total += n * n;
            start.push(total);
        }
        Self {
            h: vec![0.0; component.width * component.width],
            local: vec![0.0; component.local.len() * component.width],
            local_slope: vec![0.0; component.local.len()],
            local_block: vec![0.0; total as usize],
            local_block_start: start,
        }
    }
}

impl Component {
    /// Bins rounded up so that a whole vector may be written at any bin.
    pub(crate) fn padded_bins(&self) -> usize {
        self.n_bins.div_ceil(4) * 4 + 4
    }
}
