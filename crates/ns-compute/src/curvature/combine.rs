//! Computes variances of linear combinations of parameters from a factored curvature, without its inverse.

use super::Curvature;
use super::storage::Matrices;
use crate::linalg::invert_factor;
use crate::plan::{Component, CurvatureSlot, Layout};
use crate::simd::Level;
use crate::stop::Stop;

/// Returns `v' H^-1 v` for each combination `v`, a list of parameters with weights, in a layout without a
/// border.
///
/// With the factor `L` of a bin's local block, its coupling `Y = L^-1 R`, `W = U^-T` of the dense block and
/// `z = L^-1 v_l`, this is the sum of `|z|^2` over all bins plus `|W (v_d - Y'z)|^2` (l: local part, d: dense
/// part).
pub(crate) fn combined_variances(
    level: Level,
    layout: &Layout,
    c: &Curvature,
    combinations: &[Vec<(usize, f64)>],
) -> Vec<f64> {
    let mut out = vec![0.0; combinations.len()];
    let mut isolated = vec![0.0; layout.place.len()];
    for (&p, &h) in layout.isolated.iter().zip(&c.isolated) {
        isolated[p as usize] = 1.0 / h;
    }
    for (sum, combination) in out.iter_mut().zip(combinations) {
        *sum = combination.iter().map(|&(p, weight)| weight * weight * isolated[p]).sum();
    }
    for (index, (component, m)) in layout.components.iter().zip(&c.matrices).enumerate() {
        let mut part = Part::new(level, component, m);
        for (sum, combination) in out.iter_mut().zip(combinations) {
            *sum += part.variance(layout, index, combination);
        }
    }
    out
}

/// One component, and working memory for the variance of a combination.
struct Part<'a> {
    component: &'a Component,
    matrices: &'a Matrices,
    /// Inverse of the dense factor, transposed: lower triangle, leading dimension `Component::width`.
    w: Vec<f64>,
    /// Weights of the dense parameters; zero between two combinations.
    dense: Vec<f64>,
    /// Weights of the local parameters; zero between two combinations.
    local: Vec<f64>,
    /// Bins in which a local parameter has a weight.
    bins: Vec<usize>,
}

impl<'a> Part<'a> {
    fn new(level: Level, component: &'a Component, matrices: &'a Matrices) -> Self {
        let (width, dense) = (component.width, component.dense.len());
        let mut w = vec![0.0; width * dense.div_ceil(16).max(1) * 16];
        invert_factor(level, &matrices.h, width, dense, &mut w, Stop::default());
        let local = vec![0.0; component.local.len()];
        Self { component, matrices, w, dense: vec![0.0; dense], local, bins: Vec::new() }
    }

    fn variance(&mut self, layout: &Layout, index: usize, combination: &[(usize, f64)]) -> f64 {
        let mut touched = false;
        for &(p, weight) in combination {
            match layout.place[p] {
                CurvatureSlot::Dense { component, column } if component as usize == index => {
                    self.dense[column as usize] += weight;
                    touched = true;
                }
                CurvatureSlot::Local { component, row } if component as usize == index => {
                    self.local[row as usize] += weight;
                    self.bins.push(self.component.local_bin[row as usize] as usize);
                    touched = true;
                }
                _ => {}
            }
        }
        if !touched {
            return 0.0;
        }
        self.bins.sort_unstable();
        self.bins.dedup();
        let mut total = 0.0;
        for bin in std::mem::take(&mut self.bins) {
            total += self.eliminate(bin);
        }
        let width = self.component.width;
        for k in 0..self.dense.len() {
            let sum: f64 =
                self.w[k * width..=k * width + k].iter().zip(&self.dense).map(|(w, v)| w * v).sum();
            total += sum * sum;
        }
        self.dense.fill(0.0);
        total
    }

    /// Returns the contribution `|z|^2` of the local parameters of a bin, and subtracts their coupling `Y'z`
    /// from the dense weights.
    fn eliminate(&mut self, bin: usize) -> f64 {
        let (component, m) = (self.component, self.matrices);
        let start = component.local_start[bin] as usize;
        let count = component.local_start[bin + 1] as usize - start;
        let l = &m.local_block[m.local_block_start[bin] as usize..][..count * count];
        let z = &mut self.local[start..start + count];
        let mut own = 0.0;
        for i in 0..count {
            let mut sum = z[i];
            for k in 0..i {
                sum -= l[i * count + k] * z[k];
            }
            z[i] = sum / l[i * count + i];
            own += z[i] * z[i];
            for (v, y) in self.dense.iter_mut().zip(&m.local[(start + i) * component.width..]) {
                *v -= z[i] * y;
            }
        }
        z.fill(0.0);
        own
    }
}
