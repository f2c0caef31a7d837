//! Memory for a curvature (the Hessian of `-ln L`), allocated once per layout and thread and reused at every
//! point.

use crate::eval::Dataset;
use crate::linalg::Pivots;
use crate::plan::{Component, Layout};

/// The inputs of an assembly at one point, besides the results of `forward` in the scratch.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    /// Parameter values.
    pub(crate) theta: &'a [f64],
    /// Data of the fit.
    pub(crate) data: &'a Dataset,
    /// Whether each parameter may move; the others get a unit diagonal.
    pub(crate) active: &'a [bool],
    /// Side of the kink whose derivatives are used, for parameters at a kink: -1, +1, or 0 for the mean of
    /// both sides.
    pub(crate) side: &'a [f64],
    /// Weight of the second derivatives of the expected yields: 1 gives the exact Hessian, 0 the (positive
    /// semi-definite) Gauss-Newton form.
    pub(crate) exactness: f64,
    /// Levenberg damping, relative to the diagonal.
    pub(crate) damping: f64,
}

/// Matrices of one component; row-major, leading dimension `Component::width`.
#[derive(Debug, Clone)]
pub(crate) struct Matrices {
    /// Upper triangle over dense and border columns; after factoring, `U` and the Schur complement.
    pub(crate) h: Vec<f64>,
    /// Coupling `R` of the local rows to the columns; after factoring, `L^-1 R`.
    pub(crate) local: Vec<f64>,
    /// Derivative of a bin's expected yield with respect to each local parameter of this bin.
    pub(crate) local_slope: Vec<f64>,
    /// Local block of each bin, lower triangle, row-major, concatenated; after factoring, its Cholesky factor
    /// `L`.
    pub(crate) local_block: Vec<f64>,
    /// Start of each bin's block in `local_block`.
    pub(crate) local_block_start: Vec<u32>,
}

/// The matrices and working memory of assembly, factorisation and solution.
#[derive(Debug, Clone)]
pub(crate) struct Curvature {
    pub(crate) matrices: Vec<Matrices>,
    /// Upper triangle of the border matrix.
    pub(crate) border: Vec<f64>,
    /// Leading dimension of the border matrix.
    pub(crate) border_width: usize,
    /// Curvature of parameters that act on no bin.
    pub(crate) isolated: Vec<f64>,
    /// Jacobian of the expected yields of the current component, `columns x bins`.
    pub(crate) jacobian: Vec<f64>,
    /// Jacobian of the current component times the square roots of the Poisson weights, `bins x columns`.
    pub(crate) rows: Vec<f64>,
    /// Curvature of the constraint of each parameter.
    pub(crate) constraint: Vec<f64>,
    /// Absolute diagonal element of each parameter before elimination. Rounding errors of the parameter's
    /// pivot are proportional to it.
    pub(crate) scale: Vec<f64>,
    /// Magnitude of a negative pivot of each parameter up to which the pivot counts as zero. A pivot within
    /// this limit means that `-ln L` changes by less than a millionth if the parameter changes by its own
    /// absolute value.
    pub(crate) slack: Vec<f64>,
    /// Scale and slack of each column that is being factored.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Working memory for four vectors over the parameters of one block, in column order.
    pub(crate) ranked: [Vec<f64>; 4],
    /// Working memory of `solve` over the columns of one component.
    pub(crate) vector: Vec<f64>,
    /// Working memory of `solve` over the border columns.
    pub(crate) border_vector: Vec<f64>,
    pub(crate) pivots: Pivots,
}

impl Curvature {
    /// Returns the number of f64 elements of the matrices, which take most of the memory.
    pub(crate) fn numbers(layout: &Layout) -> usize {
        let of = |c: &Component| c.width * (c.width + c.local.len() + 2 * c.padded_bins());
        layout.components.iter().map(of).sum::<usize>() + layout.border.len() * layout.border.len()
    }

    /// Allocates the memory for a curvature at any point, in the order of `layout`.
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
    /// Returns the number of bins, rounded up so that a whole vector may be written from any bin on.
    pub(crate) fn padded_bins(&self) -> usize {
        self.n_bins.div_ceil(4) * 4 + 4
    }
}
