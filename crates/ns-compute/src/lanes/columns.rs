//! Lists the effects on expected yields parameter by parameter.
//!
//! The plan lists effects sample by sample. The derivatives of the expected yields at each lane's point are computed
//! column by column: all effects of one parameter in one channel together. Their sum then stays in registers and is
//! written once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::own_norms;
use crate::plan::{Block, LANES, Plan};

/// All histosys and normsys effects of one parameter in one channel.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) param: usize,
    /// First bin of the channel.
    pub(super) bin: usize,
    pub(super) n_bins: usize,
    /// Range of the histosys effects with an asymmetric part, in [`Columns::curved`].
    pub(super) curved: Range<usize>,
    /// Range of the histosys effects without an asymmetric part, in [`Columns::straight`].
    pub(super) straight: Range<usize>,
    /// Range of the normsys effects, in [`Columns::norms`].
    pub(super) norms: Range<usize>,
    /// Whether the parameter is also a factor in the channel. If so, the derivatives of the column are added to those
    /// of the factors.
    pub(super) adds: bool,
}

/// A histosys effect: the first cell on which it acts, and the position of its numbers in [`Columns::numbers`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    pub(super) cell: usize,
    pub(super) numbers: usize,
}

/// A normsys effect, given by its block, the first cell of the block, and the index of the term.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormTerm {
    pub(super) block: usize,
    pub(super) cell: usize,
    pub(super) term: usize,
}

/// The effects of all parameters, and the elements of the Jacobian to which factors contribute.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// Histosys effects with an asymmetric part, column after column.
    pub(super) curved: Vec<Template>,
    /// Histosys effects without an asymmetric part, column after column.
    pub(super) straight: Vec<Template>,
    pub(super) norms: Vec<NormTerm>,
    /// For each histosys effect, its slope in every bin of its channel. For an effect in `curved`, its asymmetric part
    /// in every bin follows. In contrast to the plan, effects are not padded to whole SIMD vectors: in channels with
    /// few bins, most of the memory that evaluations read would be padding.
    pub(super) numbers: Vec<f64>,
    /// The same numbers as in `numbers`, but in the order of the plan: block after block. A block is one sample in
    /// one channel.
    by_block: Vec<f64>,
    /// Position of the first number of each block in `by_block`.
    first: Vec<usize>,
    /// For each element of `norms`, the coefficients of the parabola for its second derivative ([`own_norms::bend`]).
    pub(super) bends: Vec<[f64; 3]>,
    /// Indices `bin * n_parameters + parameter` of the elements of the Jacobian to which factors contribute. These
    /// elements are set to zero before contributions are added.
    pub(super) cleared: Vec<usize>,
    /// Bin and parameter of those elements in `cleared` to which no column contributes, only factors.
    pub(super) alone: Vec<(usize, usize)>,
}

/// The effects of one parameter in one channel, while they are being collected.
#[derive(Default)]
struct Effects {
    curved: Vec<Template>,
    straight: Vec<Template>,
    norms: Vec<NormTerm>,
}

impl Columns {
    /// Returns the numbers of the histosys effects, beginning with those of one block (one sample in one channel). The
    /// effects of a block follow each other. Each of them has its slope in every bin, and then its asymmetric part in
    /// every bin if it has one.
    #[inline(always)]
    pub(super) fn of_block(&self, block: usize) -> &[f64] {
        &self.by_block[self.first[block]..]
    }

    /// Collects the effects of all parameters of a model.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut out = Self::default();
        let n = plan.n_parameters();
        let mut collected: BTreeMap<(usize, usize), (usize, Effects)> = BTreeMap::new();
        let mut factors = Vec::new();
        for (index, block) in plan.structure.blocks.iter().enumerate() {
            let Block { bin, n_bins, cell, .. } = *block;
            let mut at = |p: usize, add: &mut dyn FnMut(&mut Effects)| {
                add(&mut collected.entry((bin, p)).or_insert_with(|| (n_bins, Effects::default())).1);
            };
            let stride = block.n_lanes * LANES;
            out.first.push(out.by_block.len());
            for (i, &p) in plan.templates(block).iter().enumerate() {
                let is_curved = block.hist.0 + i < block.hist_curved;
                let template = Template { cell, numbers: out.by_block.len() };
                out.by_block.extend(&plan.numbers.hist_slope[block.slope + i * stride..][..n_bins]);
                if is_curved {
                    out.by_block.extend(&plan.numbers.hist_curve[block.curve + i * stride..][..n_bins]);
                }
                at(p as usize, &mut |effects| {
                    let list = if is_curved { &mut effects.curved } else { &mut effects.straight };
                    list.push(template);
                });
            }
            for i in block.norm.0..block.norm.1 {
                let term = plan.structure.norm_of_block[i] as usize;
                at(plan.norm_param(block, i), &mut |effects| {
                    effects.norms.push(NormTerm { block: index, cell, term });
                });
            }
            for b in 0..n_bins {
                let scale = plan.scale_factors(block).iter().map(|&p| p as usize);
                let binwise = plan.per_bin_factors(block).iter().map(|&first| first as usize + b);
                let functions = plan.functions_of_bin(block, b).flat_map(|f| plan.factors.parameters(f));
                let all = scale.chain(binwise).chain(functions.copied());
                factors.extend(all.map(|p| (bin, bin + b, p)));
            }
        }
        let adding: BTreeSet<(usize, usize)> = factors.iter().map(|&(channel, _, p)| (channel, p)).collect();
        let alone = factors.iter().filter(|(channel, _, p)| !collected.contains_key(&(*channel, *p)));
        out.alone = alone.map(|&(_, bin, p)| (bin, p)).collect();
        out.alone.sort_unstable();
        out.alone.dedup();
        out.cleared = factors.into_iter().map(|(_, bin, p)| bin * n + p).collect();
        out.cleared.sort_unstable();
        out.cleared.dedup();
        for ((bin, param), (n_bins, effects)) in collected {
            let (curved, straight, norms) = (out.curved.len(), out.straight.len(), out.norms.len());
            for (effects, list, size) in
                [(effects.curved, &mut out.curved, 2 * n_bins), (effects.straight, &mut out.straight, n_bins)]
            {
                for Template { cell, numbers } in effects {
                    list.push(Template { cell, numbers: out.numbers.len() });
                    out.numbers.extend(&out.by_block[numbers..][..size]);
                }
            }
            out.bends.extend(effects.norms.iter().map(|norm| own_norms::bend(plan, norm.term)));
            out.norms.extend(effects.norms);
            out.columns.push(Column {
                param,
                bin,
                n_bins,
                curved: curved..out.curved.len(),
                straight: straight..out.straight.len(),
                norms: norms..out.norms.len(),
                adds: adding.contains(&(bin, param)),
            });
        }
        out
    }
}
