//! Derivatives of all expected yields at one point, as a dense matrix: what the metric of a batch is made of.

use crate::eval::{Scratch, forward, norm_ratios};
use crate::plan::{LANES, Plan};
use crate::simd::{Level, Separate};

/// `d lambda_b / d theta_p` at `theta`, parameter after parameter (`n_parameters x n_bins`).
pub(crate) fn jacobian(level: Level, plan: &Plan, theta: &[f64], scratch: &mut Scratch) -> Vec<f64> {
    let n_bins = plan.n_bins;
    let mut rows = vec![0.0; plan.n_parameters() * n_bins];
    forward(level, plan, theta, scratch);
    norm_ratios::<Separate>(plan, theta, |_| 0.0, scratch);
    for (index, block) in plan.blocks.iter().enumerate() {
        let scale = scratch.scale[index];
        let stride = block.n_lanes * LANES;
        for b in 0..block.n_bins {
            let (additive, factor) = (scratch.additive[block.cell + b], scratch.binwise[block.cell + b]);
            let mut add = |p: usize, derivative: f64| rows[p * n_bins + block.bin + b] += derivative;
            for (i, &p) in plan.hist_param[block.hist.0..block.hist.1].iter().enumerate() {
                let p = p as usize;
                let mut slope = plan.hist_slope[block.slope + i * stride + b];
                if block.hist.0 + i < block.hist_curved {
                    slope += scratch.curved_first[p] * plan.hist_curve[block.curve + i * stride + b];
                }
                add(p, slope * scale * factor);
            }
            for i in block.norm.0..block.norm.1 {
                let p = plan.block_params[block.params.0 + plan.norm_slot[i] as usize] as usize;
                let ratio = scratch.ratio[plan.norm_of_block[i] as usize];
                add(p, additive * scale * factor * ratio);
            }
            let factors = &plan.factor_param[block.factor.0..block.factor.1];
            for (k, &p) in factors.iter().enumerate() {
                let others = factors.iter().enumerate().filter(|(j, _)| *j != k);
                let others: f64 = others.map(|(_, &q)| theta[q as usize]).product();
                add(p as usize, additive * factor * scratch.norm[index] * others);
            }
            let binwise = &plan.binwise_first[block.binwise.0..block.binwise.1];
            for (k, &first) in binwise.iter().enumerate() {
                let others = binwise.iter().enumerate().filter(|(j, _)| *j != k);
                let others: f64 = others.map(|(_, &q)| theta[q as usize + b]).product();
                add(first as usize + b, additive * scale * others);
            }
        }
    }
    rows
}
