//! Computes variances of linear combinations of parameters from a factored curvature, without its inverse.

use super::Curvature;
use super::solve::axpy;
use super::storage::Matrices;
use crate::linalg::solve_lower;
use crate::plan::{Component, CurvatureSlot, Layout};
use crate::simd::Level;

/// Returns the variance `v' H^-1 v` of each linear combination `v` of parameters. `H` is the Hessian of `-ln L`. A
/// combination is a list of pairs of a parameter and its weight.
///
/// With the factorisation `H = T T'` into triangular matrices, the variance is `|T^-1 v|^2`. This needs only the
/// forward substitution, and only in those components (channels that share parameters) that contain a parameter with
/// a weight.
pub(crate) fn combined_variances(
    level: Level,
    layout: &Layout,
    c: &Curvature,
    combinations: &[Vec<(usize, f64)>],
) -> Vec<f64> {
    let mut half = HalfSolve::new(level, layout, c);
    combinations.iter().map(|combination| half.variance(combination)).collect()
}

/// A factored curvature, with the working memory for the variance of one linear combination of parameters.
struct HalfSolve<'a> {
    level: Level,
    layout: &'a Layout,
    curvature: &'a Curvature,
    /// Inverse curvature of each parameter that acts on no bin; 0 for all other parameters.
    isolated: Vec<f64>,
    /// For each parameter of the linear combination: the index of its component (channels that share parameters), its
    /// position in this component, and its weight in the combination.
    elements: Vec<(u32, Element, f64)>,
    /// Right-hand side of the linear system, restricted to the matrix columns of one component (its dense and border
    /// parameters).
    columns: Vec<f64>,
    /// Right-hand side of the linear system, restricted to the border parameters, which act on many channels and are
    /// eliminated last.
    border: Vec<f64>,
    /// Weights of the local parameters (those that act on a single bin) of one component. All weights are set back to
    /// zero before the next component.
    local: Vec<f64>,
    /// Bins of one component whose local parameters (those that act on a single bin) occur in the linear combination.
    bins: Vec<usize>,
}

/// Position of a parameter in the matrices of its component: a column for a dense parameter (which acts on whole
/// channels), a row for a local parameter (which acts on a single bin).
#[derive(Debug, Clone, Copy)]
enum Element {
    Dense(u32),
    Local(u32),
}

impl<'a> HalfSolve<'a> {
    fn new(level: Level, layout: &'a Layout, curvature: &'a Curvature) -> Self {
        let mut isolated = vec![0.0; layout.place.len()];
        for (&p, &h) in layout.isolated.iter().zip(&curvature.isolated) {
            isolated[p as usize] = 1.0 / h;
        }
        let most = |of: fn(&Component) -> usize| layout.components.iter().map(of).max().unwrap_or(0);
        Self {
            level,
            layout,
            curvature,
            isolated,
            elements: Vec::new(),
            columns: vec![0.0; most(|component| component.columns)],
            border: vec![0.0; layout.border.len()],
            local: vec![0.0; most(|component| component.local.len())],
            bins: Vec::new(),
        }
    }

    fn variance(&mut self, combination: &[(usize, f64)]) -> f64 {
        let mut total: f64 = combination.iter().map(|&(p, w)| w * w * self.isolated[p]).sum();
        self.border.fill(0.0);
        let mut elements = std::mem::take(&mut self.elements);
        elements.clear();
        for &(p, weight) in combination {
            match self.layout.place[p] {
                CurvatureSlot::Dense { component, column } => {
                    elements.push((component, Element::Dense(column), weight));
                }
                CurvatureSlot::Local { component, row } => {
                    elements.push((component, Element::Local(row), weight));
                }
                CurvatureSlot::Border { column } => self.border[column as usize] += weight,
                CurvatureSlot::Isolated => {}
            }
        }
        elements.sort_by_key(|element| element.0);
        for elements in elements.chunk_by(|a, b| a.0 == b.0) {
            total += self.component(elements);
        }
        self.elements = elements;
        let n = self.border.len();
        solve_lower(self.level, &self.curvature.border, self.curvature.border_width, n, n, &mut self.border);
        total + self.border.iter().map(|y| y * y).sum::<f64>()
    }

    /// Returns the contribution of the parameters of one component to the variance. Also adds the coupling of these
    /// parameters to the right-hand side of the border parameters, which are eliminated last.
    fn component(&mut self, elements: &[(u32, Element, f64)]) -> f64 {
        let Some(&(k, ..)) = elements.first() else { return 0.0 };
        let (component, m) = (&self.layout.components[k as usize], &self.curvature.matrices[k as usize]);
        let (n, dense) = (component.columns, component.dense.len());
        self.columns[..n].fill(0.0);
        for &(_, element, weight) in elements {
            match element {
                Element::Dense(column) => self.columns[column as usize] += weight,
                Element::Local(row) => {
                    self.local[row as usize] += weight;
                    self.bins.push(component.local_bin[row as usize] as usize);
                }
            }
        }
        let mut bins = std::mem::take(&mut self.bins);
        bins.sort_unstable();
        bins.dedup();
        let mut total: f64 = bins.drain(..).map(|bin| self.eliminate(component, m, bin)).sum();
        self.bins = bins;
        let columns = &mut self.columns[..n];
        solve_lower(self.level, &m.h, component.width, n, dense, columns);
        total += columns[..dense].iter().map(|y| y * y).sum::<f64>();
        for (to, add) in self.border.iter_mut().zip(&columns[dense..]) {
            *to += add;
        }
        total
    }

    /// Returns the contribution of the local parameters of one bin (parameters that act on this bin only) to the
    /// variance. Also subtracts the coupling of these parameters from the right-hand side of the dense and border
    /// parameters.
    fn eliminate(&mut self, component: &Component, m: &Matrices, bin: usize) -> f64 {
        let start = component.local_start[bin] as usize;
        let count = component.local_start[bin + 1] as usize - start;
        let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
        let z = &mut self.local[start..start + count];
        let columns = &mut self.columns[..component.columns];
        let mut own = 0.0;
        for i in 0..count {
            let mut sum = z[i];
            for k in 0..i {
                sum -= l[i * count + k] * z[k];
            }
            z[i] = sum / l[i * count + i];
            own += z[i] * z[i];
            axpy(self.level, -z[i], &m.local[(start + i) * component.width..][..columns.len()], columns);
        }
        z.fill(0.0);
        own
    }
}
