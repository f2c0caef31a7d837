//! Computes the change of `-ln L` when one parameter moves and all other parameters keep their values.
//!
//! A parameter acts only on some cells (a cell is one bin of one sample). The change for eight fits therefore takes a
//! few operations for each of these cells. An evaluation of the whole model for each parameter and value would take
//! many more.

use super::WIDTH;
use super::correlated::Coupling;
use super::evaluate::{at, normsys_factor, put};
use super::group::Group;
use super::scratch::Scratch;
use crate::plan::{LANES, Plan};
use crate::simd::{MulAdd, Vector, isa_fn};
use crate::terms::poisson::term;
use crate::terms::{gaussian, histosys};

/// The effects of one parameter on one block (one sample in one channel).
#[derive(Debug)]
struct BlockEffect {
    /// Index of the block (one sample in one channel) among all blocks of the plan.
    block: usize,
    /// Index of the parameter's histosys template among the templates of the block (one sample in one channel); `None`
    /// if the parameter has no histosys effect in the block.
    template: Option<usize>,
    /// Index of the parameter's normsys term among all normsys terms; `None` if the parameter has no normsys effect in
    /// the block (one sample in one channel).
    normsys: Option<usize>,
}

/// The effects of one parameter: the blocks (samples in channels) and bins on which it acts, and its constraint.
#[derive(Debug)]
pub(super) struct SingleMoves {
    pub(super) param: usize,
    blocks: Vec<BlockEffect>,
    /// Indices of the main bins whose expected yields depend on the parameter, in ascending order.
    bins: Vec<usize>,
    /// The Gaussian constraint of the parameter: the index of its auxiliary datum, and 1 divided by its width. `None`
    /// without a constraint.
    constraint: Option<(usize, f64)>,
    /// The correlations of the constraint with others. `None` if it is independent.
    coupling: Option<Coupling>,
}

impl SingleMoves {
    /// Returns the effects of each of the parameters `params`. Returns `None` if one of the parameters is also a factor
    /// on a sample (a scale factor or a per-bin factor) or moves a function that is one, or has a Poisson constraint.
    pub(super) fn of_all(plan: &Plan, params: &[usize]) -> Option<Vec<Self>> {
        let structure = &plan.structure;
        let mut place = vec![None; plan.n_parameters()];
        let mut all: Vec<Self> = Vec::with_capacity(params.len());
        for (k, &param) in params.iter().enumerate() {
            place[param] = Some(k);
            let coupling = Coupling::of(plan, param);
            all.push(Self { param, blocks: Vec::new(), bins: Vec::new(), constraint: None, coupling });
        }
        if plan.poisson().any(|(p, _, _)| place[p].is_some()) {
            return None;
        }
        for (p, a, weight) in plan.gaussian() {
            if let Some(k) = place[p] {
                all[k].constraint = Some((a, weight));
            }
        }
        for (index, block) in structure.blocks.iter().enumerate() {
            let per_bin = plan.per_bin_factors(block).iter();
            let per_bin = per_bin.flat_map(|&first| first as usize..first as usize + block.n_bins);
            let mut factors = plan.scale_factors(block).iter().map(|&p| p as usize).chain(per_bin);
            let functions = (0..block.n_bins).flat_map(|b| plan.functions_of_bin(block, b));
            let mut functions = functions.flat_map(|function| plan.factors.parameters(function));
            if factors.any(|p| place[p].is_some()) || functions.any(|&p| place[p].is_some()) {
                return None;
            }
            let mut add = |p: usize, template: Option<usize>, normsys: Option<usize>| {
                let Some(moves) = place[p].and_then(|k| all.get_mut(k)) else { return };
                match moves.blocks.last_mut().filter(|last| last.block == index) {
                    Some(last) => last.normsys = normsys,
                    None => moves.blocks.push(BlockEffect { block: index, template, normsys }),
                }
            };
            for (i, &p) in plan.templates(block).iter().enumerate() {
                add(p as usize, Some(i), None);
            }
            for i in block.norm.0..block.norm.1 {
                add(plan.norm_param(block, i), None, Some(structure.norm_of_block[i] as usize));
            }
        }
        for moves in &mut all {
            let blocks = moves.blocks.iter().map(|effect| &structure.blocks[effect.block]);
            moves.bins = blocks.flat_map(|block| block.bin..block.bin + block.n_bins).collect();
            moves.bins.sort_unstable();
            moves.bins.dedup();
        }
        Some(all)
    }
}

isa_fn! {
    /// Computes for every lane (one of eight fits) the rise of `-ln L` when one parameter moves from its value in
    /// `group.trial` to the value in `to`. `scratch` contains the expected yields of all lanes at `group.trial`.
    /// `shifts` is working memory with one number per main bin and lane.
    pub(super) fn rises(plan: &Plan, moves: &SingleMoves, to: &[f64; WIDTH], group: &Group, scratch: &Scratch, shifts: &mut [f64], rises: &mut [f64; WIDTH]) = rises_body
}

#[inline(always)]
fn rises_body<M: MulAdd>(
    plan: &Plan,
    moves: &SingleMoves,
    to: &[f64; WIDTH],
    group: &Group,
    scratch: &Scratch,
    shifts: &mut [f64],
    rises: &mut [f64; WIDTH],
) {
    let splat = M::V8::splat;
    let (from, to): (M::V8, M::V8) = (at(&group.trial, moves.param), M::V8::load(to));
    let step = to.sub(from);
    let bend = histosys::curved(plan.structure.histosys, to).f.sub(at(&scratch.curved, moves.param));
    for &b in &moves.bins {
        put(shifts, b, splat(0.0));
    }
    for effect in &moves.blocks {
        let block = &plan.structure.blocks[effect.block];
        let stride = block.n_lanes * LANES;
        let ratio = match effect.normsys {
            None => splat(1.0),
            Some(i) => normsys_factor::<M>(plan, i, to).div(normsys_factor::<M>(plan, i, from)),
        };
        let scale: M::V8 = at(&scratch.block_scale, effect.block);
        for b in 0..block.n_bins {
            let before: M::V8 = at(&scratch.additive, block.cell + b);
            let mut after = before;
            if let Some(i) = effect.template {
                let slope = splat(plan.numbers.hist_slope[block.slope + i * stride + b]);
                after = step.mul_add(slope, after);
                if block.hist.0 + i < block.hist_curved {
                    let curve = splat(plan.numbers.hist_curve[block.curve + i * stride + b]);
                    after = bend.mul_add(curve, after);
                }
            }
            let weight = scale.mul(at(&scratch.binwise, block.cell + b));
            let shift: M::V8 = at(shifts, block.bin + b);
            put(shifts, block.bin + b, weight.mul_add(after.mul(ratio).sub(before), shift));
        }
    }
    let mut rise = splat(0.0);
    for &b in &moves.bins {
        let range = b * WIDTH..(b + 1) * WIDTH;
        let (lambdas, counts) = (&scratch.lambda[range.clone()], &group.main[range.clone()]);
        let shift = &shifts[range];
        let mut terms = [0.0; WIDTH];
        for l in 0..WIDTH {
            let term = term::<M>(lambdas[l] + shift[l], counts[l]);
            terms[l] = if term.is_impossible { f64::INFINITY } else { term.value };
        }
        rise = rise.add(M::V8::load(&terms).sub(at(&scratch.term, b)));
    }
    if let Some((a, weight)) = moves.constraint {
        let (aux, weight): (M::V8, M::V8) = (at(&group.aux, a), splat(weight));
        let value = |theta| gaussian::value(gaussian::pull(theta, aux, weight));
        rise = rise.add(value(to).sub(value(from)));
    }
    if let Some(coupling) = &moves.coupling {
        rise = rise.add(coupling.rise::<M>(step, &group.trial, &group.aux));
    }
    rise.store(rises);
}
