//! Exact Hessian times a vector, without a matrix: the gradient differentiated along a
//! direction, block by block, at about twice its cost.

use super::{Dataset, Scratch, forward::norm_ratios};
use crate::plan::{Block, LANES, Plan};

/// Working arrays of a product; made once, reused.
#[derive(Debug, Clone)]
pub(crate) struct Tangent {
    /// Derivative of the expectation along the direction, per bin.
    lambda: Vec<f64>,
    /// Derivative of the additive part, per padded cell.
    additive: Vec<f64>,
    /// Derivative of the likelihood slope, per bin.
    slope: Vec<f64>,
}

impl Tangent {
    /// Memory for any direction of `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            lambda: vec![0.0; plan.n_bins() + LANES],
            additive: vec![0.0; plan.structure.n_cells],
            slope: vec![0.0; plan.n_bins() + LANES],
        }
    }
}

/// Scalar product `N` of a block with its first derivative along the direction, as a
/// function of which factors are left out.
struct Scalars {
    /// Values of all scalar factors, then their derivatives along the direction.
    value: Vec<f64>,
    rate: Vec<f64>,
}

impl Scalars {
    /// Product of all factors except those at `skip`, and its derivative along the direction.
    fn product(&self, skip: Option<usize>) -> (f64, f64) {
        let (mut value, mut rate) = (1.0, 0.0);
        for i in 0..self.value.len() {
            if Some(i) != skip {
                rate = rate * self.value[i] + value * self.rate[i];
                value *= self.value[i];
            }
        }
        (value, rate)
    }
}

/// Writes `H v` to `out`, at the point of the last `forward` and `likelihood`. Kinks count with
/// the mean of both sides. No division by a factor anywhere.
pub(crate) fn hessian_vector(
    plan: &Plan,
    theta: &[f64],
    data: &Dataset,
    v: &[f64],
    scratch: &mut Scratch,
    tangent: &mut Tangent,
    out: &mut [f64],
) {
    norm_ratios::<crate::simd::Separate>(plan, theta, |_| 0.0, scratch);
    out.fill(0.0);
    tangent.lambda.fill(0.0);
    let mut scalars = Scalars { value: Vec::new(), rate: Vec::new() };
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        load_scalars(plan, index, block, theta, v, scratch, &mut scalars);
        let (n, dn) = scalars.product(None);
        for b in 0..block.n_bins {
            let mut da = 0.0;
            for_templates(plan, block, b, |p, s, a| da += v[p] * (s + scratch.curved_first[p] * a));
            tangent.additive[block.cell + b] = da;
            let (g, dg) = binwise(plan, block, theta, v, b, None);
            let d = scratch.additive[block.cell + b];
            tangent.lambda[block.bin + b] += da * n * g + d * dn * g + d * n * dg;
        }
    }
    for b in 0..plan.n_bins() {
        tangent.slope[b] = scratch.curvature[b] * tangent.lambda[b];
    }
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        load_scalars(plan, index, block, theta, v, scratch, &mut scalars);
        let (n, dn) = scalars.product(None);
        // Sum over bins of r g D and its derivative along v.
        let (mut total, mut dtotal) = (0.0, 0.0);
        for b in 0..block.n_bins {
            let (r, dr) = (scratch.slope[block.bin + b], tangent.slope[block.bin + b]);
            let (d, dd) = (scratch.additive[block.cell + b], tangent.additive[block.cell + b]);
            let (g, dg) = binwise(plan, block, theta, v, b, None);
            total += r * g * d;
            dtotal += dr * g * d + r * dg * d + r * g * dd;
            let (w, dw) = (r * g, dr * g + r * dg);
            for_templates(plan, block, b, |p, s, a| {
                let slope = s + scratch.curved_first[p] * a;
                let bend = scratch.curved_second[p] * v[p] * a;
                out[p] += (dw * n + w * dn) * slope + w * n * bend;
            });
            for (i, &first) in
                plan.structure.binwise_first[block.binwise.0..block.binwise.1].iter().enumerate()
            {
                let (rest, drest) = binwise(plan, block, theta, v, b, Some(i));
                out[first as usize + b] +=
                    dr * d * n * rest + r * dd * n * rest + r * d * dn * rest + r * d * n * drest;
            }
        }
        scatter_scalars(plan, index, block, theta, v, scratch, &scalars, total, dtotal, out);
    }
    for (&p, &w) in plan.structure.gaussian.param.iter().zip(&plan.numbers.inverse_sigma) {
        out[p] += w * w * v[p];
    }
    for (&p, &a) in plan.structure.poisson.param.iter().zip(&plan.structure.poisson.aux) {
        out[p] += data.aux[a] / (theta[p] * theta[p]) * v[p];
    }
}

/// Every histosys of the block in bin `b`: parameter, `S`, `A`.
fn for_templates(plan: &Plan, block: &Block, b: usize, mut each: impl FnMut(usize, f64, f64)) {
    let stride = block.n_lanes * LANES;
    let curved = block.hist_curved - block.hist.0;
    for (i, &p) in plan.structure.hist_param[block.hist.0..block.hist.1].iter().enumerate() {
        let a = if i < curved { plan.numbers.hist_curve[block.curve + i * stride + b] } else { 0.0 };
        each(p as usize, plan.numbers.hist_slope[block.slope + i * stride + b], a);
    }
}

/// Product of the per-bin factors in bin `b` except the one at `skip`, and its derivative along `v`.
fn binwise(
    plan: &Plan,
    block: &Block,
    theta: &[f64],
    v: &[f64],
    b: usize,
    skip: Option<usize>,
) -> (f64, f64) {
    let (mut value, mut rate) = (1.0, 0.0);
    for (i, &first) in plan.structure.binwise_first[block.binwise.0..block.binwise.1].iter().enumerate() {
        if Some(i) != skip {
            let p = first as usize + b;
            rate = rate * theta[p] + value * v[p];
            value *= theta[p];
        }
    }
    (value, rate)
}

fn load_scalars(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    v: &[f64],
    scratch: &Scratch,
    scalars: &mut Scalars,
) {
    scalars.value.clear();
    scalars.rate.clear();
    if plan.structure.normsys.is_exponential() {
        // One exponential for the whole block; its logarithm is linear on each side.
        let rate: f64 = plan.structure.norm_of_block[block.norm.0..block.norm.1]
            .iter()
            .enumerate()
            .map(|(i, &t)| scratch.ratio[t as usize] * v[norm_param(plan, block, i)])
            .sum();
        scalars.value.push(scratch.norm[index]);
        scalars.rate.push(scratch.norm[index] * rate);
    } else {
        for (i, &t) in plan.structure.norm_of_block[block.norm.0..block.norm.1].iter().enumerate() {
            let p = norm_param(plan, block, i);
            let kappa = scratch.kappa[t as usize];
            scalars.value.push(kappa);
            scalars.rate.push(super::kappa_derivatives(plan, t as usize, theta[p], kappa).0 * v[p]);
        }
    }
    for &p in &plan.structure.factor_param[block.factor.0..block.factor.1] {
        scalars.value.push(theta[p as usize]);
        scalars.rate.push(v[p as usize]);
    }
}

fn norm_param(plan: &Plan, block: &Block, i: usize) -> usize {
    plan.structure.block_params[block.params.0 + plan.structure.norm_slot[block.norm.0 + i] as usize] as usize
}

/// Adds the rows of normsys, normfactor and lumi.
fn scatter_scalars(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    v: &[f64],
    scratch: &Scratch,
    scalars: &Scalars,
    total: f64,
    dtotal: f64,
    out: &mut [f64],
) {
    let norms = block.norm.1 - block.norm.0;
    let mut position = 0;
    if plan.structure.normsys.is_exponential() {
        let (n, dn) = scalars.product(None);
        let _ = index;
        for i in 0..norms {
            let ratio = scratch.ratio[plan.structure.norm_of_block[block.norm.0 + i] as usize];
            out[norm_param(plan, block, i)] += ratio * (dtotal * n + total * dn);
        }
        position = 1;
    } else {
        for i in 0..norms {
            let term = plan.structure.norm_of_block[block.norm.0 + i] as usize;
            let p = norm_param(plan, block, i);
            let (rest, drest) = scalars.product(Some(position));
            let (first, second) = super::kappa_derivatives(plan, term, theta[p], scratch.kappa[term]);
            out[p] += (dtotal * rest + total * drest) * first + total * rest * second * v[p];
            position += 1;
        }
    }
    for &p in &plan.structure.factor_param[block.factor.0..block.factor.1] {
        let (rest, drest) = scalars.product(Some(position));
        out[p as usize] += dtotal * rest + total * drest;
        position += 1;
    }
}
