//! Lists the effects of parameters on expected yields, one parameter after the other.
//!
//! The plan lists these effects sample by sample. The derivatives of the expected yields at each lane's point (each of
//! eight fits that are computed at once) are instead computed column by column. A column consists of all effects of one
//! parameter in one channel. The sum of these effects stays in registers and is written once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::own_norms;
use crate::plan::{Block, LANES, Plan};

/// A column: all histosys and normsys effects of one parameter in one channel.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) param: usize,
    /// Index of the first bin of the channel among all bins.
    pub(super) bin: usize,
    pub(super) n_bins: usize,
    /// Range in [`Columns::curved`] of the histosys effects that have an asymmetric part.
    pub(super) curved: Range<usize>,
    /// Range in [`Columns::straight`] of the histosys effects that have no asymmetric part.
    pub(super) straight: Range<usize>,
    /// Range in [`Columns::norms`] of the normsys effects.
    pub(super) norms: Range<usize>,
    /// Whether the parameter is also a factor (such as a normfactor or a gamma) in the channel. If so, the derivatives
    /// of the column are added to those that come from the factors.
    pub(super) adds: bool,
}

/// A histosys effect on one sample. It is given by the index of the first cell of the sample (a cell is one bin of one
/// sample), and the position of its coefficients in [`Columns::numbers`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    pub(super) cell: usize,
    pub(super) numbers: usize,
}

/// A normsys effect, given by its block (one sample in one channel), the first cell of the block (its first bin), and
/// the index of the normsys term.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormTerm {
    pub(super) block: usize,
    pub(super) cell: usize,
    pub(super) term: usize,
}

/// The histosys and normsys effects of all parameters, and the elements of the Jacobian of the expected yields to which
/// factors contribute.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// Histosys effects that have an asymmetric part, one column (the effects of one parameter in one channel) after
    /// the other.
    pub(super) curved: Vec<Template>,
    /// Histosys effects that have no asymmetric part, one column (the effects of one parameter in one channel) after
    /// the other.
    pub(super) straight: Vec<Template>,
    pub(super) norms: Vec<NormTerm>,
    /// Coefficients of the histosys effects. For each effect, these are its slopes in all bins of the channel and then,
    /// for an effect in `curved`, its asymmetric parts in all bins. There is no padding: in the arrays of the plan,
    /// which pad every effect to whole SIMD vectors, evaluations would mostly read padding.
    pub(super) numbers: Vec<f64>,
    /// The same coefficients in the order of the plan: the effects of a block (one sample in one channel) follow each
    /// other.
    by_block: Vec<f64>,
    /// For each block (one sample in one channel), the position of its first coefficient in `by_block`.
    first: Vec<usize>,
    /// For each element of `norms`, the coefficients of 1, `alpha` and `alpha^2` of a parabola in the parameter
    /// `alpha`. The parabola approximates the second derivative of the normsys factor, divided by the factor
    /// ([`own_norms::bend`](super::own_norms::bend)).
    pub(super) bends: Vec<[f64; 3]>,
    /// Indices `bin * n_parameters + parameter` of the elements of the Jacobian of the expected yields to which factors
    /// (such as normfactors and gammas) contribute. These elements are set to zero before contributions are added.
    pub(super) cleared: Vec<usize>,
    /// Bin and parameter of those elements in `cleared` to which only factors contribute, but no column (no histosys or
    /// normsys effect).
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
    /// Returns the coefficients of the histosys effects, beginning with those of the given block (one sample in one
    /// channel). For each effect, these are its slope in every bin and then, if it has an asymmetric part, this part in
    /// every bin.
    #[inline(always)]
    pub(super) fn of_block(&self, block: usize) -> &[f64] {
        &self.by_block[self.first[block]..]
    }

    /// Collects the histosys and normsys effects of all parameters of a model.
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
                factors.extend(scale.chain(binwise).map(|p| (bin, bin + b, p)));
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
