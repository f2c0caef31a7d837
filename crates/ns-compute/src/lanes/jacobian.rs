//! Computes the derivatives of all expected yields at one point, as a dense matrix, for the metric of a
//! batch.

use crate::eval::{Scratch, forward, norm_ratios};
use crate::plan::Plan;
use crate::simd::{Level, Separate};
use crate::terms::{per_bin, scale};

/// Returns `d lambda_b / d theta_p` at `theta`, one parameter after the other (`n_parameters x n_bins`).
pub(crate) fn jacobian(level: Level, plan: &Plan, theta: &[f64], scratch: &mut Scratch) -> Vec<f64> {
    let n_bins = plan.n_bins();
    let mut rows = vec![0.0; plan.n_parameters() * n_bins];
    forward(level, plan, theta, scratch);
    norm_ratios::<Separate>(plan, theta, |_| 0.0, scratch);
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        let scale = scratch.scale[index];
        for b in 0..block.n_bins {
            let (additive, factor) = (scratch.additive[block.cell + b], scratch.binwise[block.cell + b]);
            let mut add = |p: usize, derivative: f64| rows[p * n_bins + block.bin + b] += derivative;
            for template in plan.templates_in(block, b) {
                let slope = template.slope + scratch.curved_first[template.param] * template.curve;
                add(template.param, slope * scale * factor);
            }
            for i in block.norm.0..block.norm.1 {
                let p = plan.structure.block_params[block.params.0 + plan.structure.norm_slot[i] as usize]
                    as usize;
                let ratio = scratch.ratio[plan.structure.norm_of_block[i] as usize];
                add(p, additive * scale * factor * ratio);
            }
            for (k, &p) in plan.scale_factors(block).iter().enumerate() {
                let others = scale::product(1.0, plan.scale_factors(block), [k], |q| theta[q]);
                add(p as usize, additive * factor * scratch.norm[index] * others);
            }
            for (k, &first) in plan.per_bin_factors(block).iter().enumerate() {
                let others = per_bin::product(1.0, plan.per_bin_factors(block), b, [k], |q| theta[q]);
                add(first as usize + b, additive * scale * others);
            }
        }
    }
    rows
}

/// Change of the expected yields, in statistical errors and summed over bins, below which it is negligible.
const NEXT_TO_NONE: f64 = 1e-6;

/// Returns whether a parameter that is not `fixed` changes the expected yields at `point` only to second
/// order, so that its effect is the same in both directions. `rows` and `scratch` must have been computed at
/// `point`. For such a parameter, a descent with a Gauss-Newton metric from this point sees neither slope nor
/// curvature of the data, and takes the ridge between two minima for a minimum.
pub(super) fn has_ridge(
    level: Level,
    plan: &Plan,
    point: &[f64],
    fixed: &[bool],
    rows: &[f64],
    scratch: &mut Scratch,
) -> bool {
    let n_bins = plan.n_bins();
    let expected: Vec<f64> = scratch.lambda.iter().take(n_bins).copied().collect();
    let errors = |change: f64, at: &f64| change.abs() / at.max(1.0).sqrt();
    let still = |&p: &usize| {
        let row = rows.iter().skip(p * n_bins).take(n_bins);
        plan.policy.nonlinear[p]
            && !fixed[p]
            && row.zip(&expected).map(|(x, at)| errors(*x, at)).sum::<f64>() < NEXT_TO_NONE
    };
    let still: Vec<usize> = (0..plan.n_parameters()).filter(still).collect();
    let found = still.iter().any(|&p| {
        let mut moved = point.to_vec();
        moved[p] += 1.0;
        forward(level, plan, &moved, scratch);
        let there = scratch.lambda.iter().zip(&expected);
        there.map(|(to, at)| errors(to - at, at)).sum::<f64>() > NEXT_TO_NONE
    });
    if !still.is_empty() {
        forward(level, plan, point, scratch);
    }
    found
}

/// Largest number of elements of a matrix of parameters by bins: one gibibyte.
const MOST_NUMBERS: usize = 1 << 27;

/// Returns whether the Jacobian of a model has more than [`MOST_NUMBERS`] elements.
pub(super) fn is_too_large(plan: &Plan) -> bool {
    plan.n_parameters().saturating_mul(plan.n_bins()) > MOST_NUMBERS
}
