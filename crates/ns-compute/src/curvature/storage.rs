//! Memory for a curvature (the Hessian of `-ln L`). It is allocated once per layout and thread, and used again at
//! every point.

use crate::eval::Dataset;
use crate::linalg::Pivots;
use crate::plan::{Component, Layout};

/// The inputs from which a curvature (the Hessian of `-ln L`) is computed at one point. The results of `forward`, which
/// are in a `Scratch`, are further inputs.
#[derive(Clone, Copy)]
pub(crate) struct Point<'a> {
    /// Value of each parameter.
    pub(crate) theta: &'a [f64],
    /// Data of the fit whose `-ln L` is differentiated.
    pub(crate) data: &'a Dataset,
    /// For each parameter, whether it may move. The matrix has a 1 on the diagonal for a parameter that may not move.
    pub(crate) active: &'a [bool],
    /// For each parameter at a kink, the side whose derivatives are used: -1, +1, or 0 for the mean of both sides.
    /// Ignored for all other parameters.
    pub(crate) side: &'a [f64],
    /// Factor that multiplies the second derivatives of the expected yields in the matrix. 1 gives the exact Hessian; 0
    /// gives the Gauss-Newton matrix, which is positive semi-definite.
    pub(crate) exactness: f64,
    /// Levenberg damping. Each diagonal element of the matrix is increased by this fraction of itself.
    pub(crate) damping: f64,
    /// Numbers that are added to the diagonal elements: the second derivatives of a `Tether`. Empty if the fit has no
    /// such term.
    pub(crate) tether: &'a [f64],
}

/// The matrices of one component (channels that share parameters). They are stored row by row. The length of a row of
/// `h` and of `local` is `Component::width`.
#[derive(Debug, Clone)]
pub(crate) struct Matrices {
    /// Upper triangle of the matrix over dense parameters (those that act on whole channels of one component) and
    /// border parameters (those that act on many channels). After factoring, it contains the factor `U` and the Schur
    /// complement of the border parameters.
    pub(crate) h: Vec<f64>,
    /// Coupling `R` of the local parameters, each of which scales a single bin, to the dense and border parameters. It
    /// has one row per local parameter. After factoring, it contains `L^-1 R`, where `L` is the factor in
    /// `local_block`.
    pub(crate) local: Vec<f64>,
    /// For each local parameter (a parameter that scales a single bin), the derivative of the expected yield of its
    /// bin.
    pub(crate) local_slope: Vec<f64>,
    /// For each bin, the matrix of the curvature between the local parameters of the bin (parameters that scale only
    /// this bin). The matrices of all bins follow one another. Each is a lower triangle, stored row by row. After
    /// factoring, it contains the Cholesky factor `L`.
    pub(crate) local_block: Vec<f64>,
    /// Index in `local_block` at which the matrix of each bin starts.
    pub(crate) local_block_start: Vec<u32>,
}

/// The matrices of the curvature, with the working memory of assembly, factorisation and solution.
#[derive(Debug, Clone)]
pub(crate) struct Curvature {
    pub(crate) matrices: Vec<Matrices>,
    /// Upper triangle of the matrix over the border parameters (parameters that act on many channels and are eliminated
    /// last).
    pub(crate) border: Vec<f64>,
    /// Length of a row of the matrix `border`, including padding.
    pub(crate) border_width: usize,
    /// Second derivative of `-ln L` with respect to each parameter that acts on no bin.
    pub(crate) isolated: Vec<f64>,
    /// Derivatives of the expected yields of the current component (channels that share parameters). There is one row
    /// per parameter in the component's matrix, with one number per bin.
    pub(crate) jacobian: Vec<f64>,
    /// Transpose of `jacobian`. Each row, which belongs to one bin, is multiplied by the square root of the bin's
    /// Poisson weight.
    pub(crate) rows: Vec<f64>,
    /// Second derivatives of the constraint terms, one number per parameter.
    pub(crate) constraint: Vec<f64>,
    /// Absolute value of each parameter's diagonal element before the elimination. The rounding errors of the
    /// parameter's pivot are proportional to this number.
    pub(crate) scale: Vec<f64>,
    /// Limit for each parameter: a negative pivot of a smaller magnitude counts as zero. A curvature of this
    /// magnitude changes `-ln L` by less than a millionth if the parameter `x` changes by `1 + |x|`.
    pub(crate) slack: Vec<f64>,
    /// `scale` and `slack` for each column of the matrix that is being factored.
    pub(crate) limits: Vec<(f64, f64)>,
    /// Working memory: four vectors over the parameters of one block (one sample in one channel), in the order of their
    /// columns in the matrix.
    pub(crate) ranked: [Vec<f64>; 4],
    /// Working memory of `solve`: one element per column of a component's matrix.
    pub(crate) vector: Vec<f64>,
    /// Working memory of `solve`: one element per border parameter (a parameter that acts on many channels).
    pub(crate) border_vector: Vec<f64>,
    pub(crate) pivots: Pivots,
}

impl Curvature {
    /// Returns the number of f64 elements in the matrices of a curvature with this layout. The matrices take most of
    /// the memory of a curvature.
    pub(crate) fn numbers(layout: &Layout) -> usize {
        let of = |c: &Component| c.width * (c.width + c.local.len() + 2 * c.padded_bins());
        layout.components.iter().map(of).sum::<usize>() + layout.border.len() * layout.border.len()
    }

    /// Allocates the memory for curvatures whose parameters are eliminated in the order of `layout`. The memory can be
    /// used for any point.
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
    /// Returns the number of bins of the component (channels that share parameters) plus padding. The padding allows
    /// writing a whole SIMD vector that starts at any bin.
    pub(crate) fn padded_bins(&self) -> usize {
        self.n_bins.div_ceil(4) * 4 + 4
    }
}
