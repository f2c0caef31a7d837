//! Computes the derivatives of all expected yields at one point. They are used by the metric that a batch of fits
//! shares.

use std::ops::Range;

use crate::eval::{Scratch, forward, norm_ratios};
use crate::plan::{Block, Plan};
use crate::simd::{Level, Separate};
use crate::terms::{per_bin, scale};

/// Derivatives of the expected yields, `d lambda_b / d theta_p`. For each parameter `p`, they are stored only for the
/// bins `b` on which the parameter acts.
#[derive(Debug, Default)]
pub(crate) struct Jacobian {
    /// Spans: ranges of consecutive bins, each with the position of its first derivative in `values`. The spans are
    /// grouped by parameter, and the spans of each parameter are in ascending order.
    spans: Vec<(Range<usize>, usize)>,
    /// For each parameter, the index of its first span (range of bins) in `spans`. One more element marks the end.
    start: Vec<usize>,
    values: Vec<f64>,
}

impl Jacobian {
    /// Finds the bins on which each parameter acts. Sets all derivatives to 0.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut acts: Vec<(usize, usize, usize)> = Vec::new();
        for block in &plan.structure.blocks {
            let (first, end) = (block.bin, block.bin + block.n_bins);
            let scalars = &plan.structure.block_params[block.params.0..block.params.1];
            acts.extend(scalars.iter().map(|&p| (p as usize, first, end)));
            for &p in plan.per_bin_factors(block) {
                acts.extend((0..block.n_bins).map(|b| (p as usize + b, first + b, first + b + 1)));
            }
        }
        // A span must come before the spans that it contains.
        acts.sort_unstable_by_key(|&(p, first, end)| (p, first, std::cmp::Reverse(end)));
        let n = plan.n_parameters();
        let mut out = Self { start: Vec::with_capacity(n + 1), ..Self::default() };
        let (mut acts, mut position) = (acts.into_iter().peekable(), 0);
        for p in 0..n {
            out.start.push(out.spans.len());
            let mut covered = 0;
            while let Some((_, first, end)) = acts.next_if(|act| act.0 == p) {
                if end > covered {
                    out.spans.push((first..end, position));
                    position += end - first;
                    covered = end;
                }
            }
        }
        out.start.push(out.spans.len());
        out.values = vec![0.0; position];
        out
    }

    fn spans(&self, p: usize) -> &[(Range<usize>, usize)] {
        &self.spans[self.start[p]..self.start[p + 1]]
    }

    /// Returns the range of bins from the first to the last on which parameter `p` acts. It may contain bins on which
    /// the parameter does not act.
    pub(super) fn reach(&self, p: usize) -> Range<usize> {
        match self.spans(p) {
            [] => 0..0,
            [(first, _), rest @ ..] => {
                first.start..rest.iter().fold(first.end, |end, (bins, _)| end.max(bins.end))
            }
        }
    }

    /// Iterates over the bins on which parameter `p` acts, in ascending order. Each element contains the bin and the
    /// derivative of its expected yield with respect to the parameter.
    pub(crate) fn row(&self, p: usize) -> impl Iterator<Item = (usize, f64)> {
        self.spans(p)
            .iter()
            .flat_map(|(bins, at)| bins.clone().zip(self.values[*at..*at + bins.len()].iter().copied()))
    }

    /// Appends the derivatives of all expected yields with respect to parameter `p` to `to`. They are one number for
    /// each of the `n_bins` bins.
    pub(crate) fn write_row(&self, p: usize, n_bins: usize, to: &mut Vec<f64>) {
        let first = to.len();
        to.resize(first + n_bins, 0.0);
        for (bin, value) in self.row(p) {
            to[first + bin] = value;
        }
    }

    /// Returns the position in `values` of the derivative of the expected yield in `bin` with respect to parameter `p`.
    /// The parameter must act on this bin.
    fn position(&self, p: usize, bin: usize) -> usize {
        let spans = self.spans(p);
        let (bins, at) = &spans[spans.partition_point(|(bins, _)| bins.end <= bin)];
        at + bin - bins.start
    }
}

/// Computes the derivatives of all expected yields at the point `theta`.
pub(crate) fn jacobian(level: Level, plan: &Plan, theta: &[f64], scratch: &mut Scratch) -> Jacobian {
    let mut out = Jacobian::new(plan);
    forward(level, plan, theta, scratch);
    norm_ratios::<Separate>(plan, theta, |_| 0.0, scratch);
    let mut places = Vec::new();
    for (index, block) in plan.structure.blocks.iter().enumerate() {
        if block.n_bins > 0 {
            add_block(plan, index, block, theta, scratch, &mut places, &mut out);
        }
    }
    out
}

/// Adds the derivatives of the yields of one block (one sample in one channel) to `out`. `places` is working memory.
fn add_block(
    plan: &Plan,
    index: usize,
    block: &Block,
    theta: &[f64],
    scratch: &Scratch,
    places: &mut Vec<usize>,
    out: &mut Jacobian,
) {
    let (templates, factors) = (plan.templates(block), plan.scale_factors(block));
    let norms = || (block.norm.0..block.norm.1).map(|i| plan.norm_param(block, i));
    // Positions of the derivatives in the first bin of the block. Those in the other bins follow.
    places.clear();
    let params = templates.iter().map(|&p| p as usize).chain(norms());
    let params = params.chain(factors.iter().map(|&p| p as usize));
    places.extend(params.map(|p| out.position(p, block.bin)));
    let (of_templates, rest) = places.split_at(templates.len());
    let (of_norms, of_factors) = rest.split_at(block.norm.1 - block.norm.0);
    let scale = scratch.scale[index];
    let value = |function: usize| plan.factors.value(function, &scratch.factors);
    let whole = block.function.map_or(1.0, |function| value(function.index));
    for b in 0..block.n_bins {
        let of_bin = plan.bin_functions(block).get(b).map_or(1.0, |&function| value(function as usize));
        let (additive, factor) = (scratch.additive[block.cell + b], scratch.binwise[block.cell + b]);
        for (template, place) in plan.templates_in(block, b).zip(of_templates) {
            let slope = template.slope + scratch.curved_first[template.param] * template.curve;
            out.values[place + b] += slope * scale * factor;
        }
        for (i, place) in (block.norm.0..block.norm.1).zip(of_norms) {
            let ratio = scratch.ratio[plan.structure.norm_of_block[i] as usize];
            out.values[place + b] += additive * scale * factor * ratio;
        }
        for (k, place) in of_factors.iter().enumerate() {
            let others = scale::product(1.0, factors, [k], |q| theta[q]);
            out.values[place + b] += additive * factor * scratch.norm[index] * others * whole;
        }
        for (k, &first) in plan.per_bin_factors(block).iter().enumerate() {
            let others = per_bin::product(1.0, plan.per_bin_factors(block), b, [k], |q| theta[q]);
            let place = out.position(first as usize + b, block.bin + b);
            out.values[place] += additive * scale * others * of_bin;
        }
        let mut add = |function: usize, others: f64| {
            let own = &plan.factors.result(function, &scratch.factors.at)[1..];
            for (&p, derivative) in plan.factors.parameters(function).iter().zip(own) {
                let place = out.position(p, block.bin + b);
                out.values[place] += others * derivative;
            }
        };
        if let Some(function) = block.function {
            let rest = scale::product(scratch.norm[index], factors, [], |q| theta[q]);
            add(function.index, additive * factor * rest);
        }
        if let Some(&function) = plan.bin_functions(block).get(b) {
            let others = per_bin::product(1.0, plan.per_bin_factors(block), b, [], |q| theta[q]);
            add(function as usize, additive * scale * others);
        }
    }
}

/// A change of the expected yields counts as no change if it is smaller than this number. The change is measured in
/// statistical errors and summed over the bins.
const NEXT_TO_NONE: f64 = 1e-6;

/// Returns whether there is a parameter on which the expected yields depend only in second order at `point`. The effect
/// of this parameter is then the same in both directions. Parameters that are `fixed` are not considered. `rows` (the
/// derivatives of the expected yields) and `scratch` must have been computed at `point`.
///
/// The slope of the data terms along such a parameter is zero at this point, and so is their curvature in the
/// Gauss-Newton metric. A descent from this point would take the ridge between two minima for a minimum.
pub(super) fn has_ridge(
    level: Level,
    plan: &Plan,
    point: &[f64],
    fixed: &[bool],
    rows: &Jacobian,
    scratch: &mut Scratch,
) -> bool {
    let n_bins = plan.n_bins();
    let expected: Vec<f64> = scratch.lambda.iter().take(n_bins).copied().collect();
    let errors = |change: f64, at: &f64| change.abs() / at.max(1.0).sqrt();
    let still = |&p: &usize| {
        let effect = || rows.row(p).map(|(b, x)| errors(x, &expected[b])).sum::<f64>();
        plan.policy.nonlinear[p] && !fixed[p] && effect() < NEXT_TO_NONE
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
