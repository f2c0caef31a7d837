//! Lists the effects of the parameters bin by bin, for fits whose metric has the derivatives of the expected yields at
//! their own point (see [`crate::lanes::derivatives`]).

use std::collections::BTreeMap;

use super::arena::Arena;
use super::layout;
use super::offset::Offset;
use super::upload::{Ranges, Reactions};
use crate::lanes::{derivatives, own_norms};
use crate::plan::Plan;
use crate::shared_constants::{EFFECTS_AT_A_TIME, TEAM};

/// Effects of one parameter on the expected yield of one bin.
#[derive(Debug, Default)]
struct OnBin {
    /// Cell (one bin of one sample), slope and curve of each histosys template.
    hist: Vec<(usize, [f64; 2])>,
    /// Index of each normsys term, and the cell on which it acts.
    norm: Vec<[i32; 2]>,
    /// Entries of [`layout::Effects::factor`].
    factor: Vec<[i32; 4]>,
}

impl OnBin {
    fn len(&self) -> usize {
        self.hist.len() + self.norm.len() + self.factor.len()
    }
}

/// Arrays of [`layout::Effects`] that are being filled.
#[derive(Debug, Default)]
struct Arrays {
    param: Vec<[i32; 4]>,
    part: Vec<[i32; 4]>,
    bin: Vec<i32>,
    cell: Vec<i32>,
    shape: Vec<[f64; 2]>,
    norm: Vec<[i32; 2]>,
    factor: Vec<[i32; 4]>,
}

/// Adds the effects of all parameters to `arena`, and returns their offset. `ranges` contains the blocks (samples in
/// channels) in the order of the device, `reactions` the effects of each parameter, `term_blocks` the block of each
/// normsys term, and `terms` the index of each normsys term in the plan. Returns a null offset if the metric of the
/// model has the derivatives at a point that all fits share.
pub(super) fn put(
    plan: &Plan,
    arena: &mut Arena,
    ranges: &[Ranges],
    reactions: &[Reactions],
    (term_blocks, terms): (&[usize], &[usize]),
) -> Offset<layout::Effects> {
    if !derivatives::are_better_on_gpus(plan) || plan.structure.has_kinks {
        return Offset::NULL;
    }
    // The derivatives through functions are added to those without. So the latter are written in all bins, also where they are
    // zero.
    let mut everywhere = vec![false; reactions.len()];
    plan.factors.all_parameters().for_each(|p| everywhere[p] = reactions[p].acts());
    let bins_of = |p: usize| if everywhere[p] { plan.n_bins() } else { 0 };
    let mut of_params: Vec<(usize, Vec<(usize, OnBin)>)> = (0..reactions.len())
        .map(|p| (p, of_param(ranges, &reactions[p], term_blocks, bins_of(p))))
        .filter(|(_, of_bins)| !of_bins.is_empty())
        .collect();
    // A team of threads that begins a long list last would keep the other teams waiting.
    let work = |of_bins: &[(usize, OnBin)]| -> usize {
        of_bins.chunks(TEAM).map(|part| part.iter().map(|(_, on)| on.len()).max().unwrap_or(0)).sum()
    };
    of_params.sort_by_key(|(_, of_bins)| std::cmp::Reverse(work(of_bins)));
    let mut arrays = Arrays::default();
    for (p, of_bins) in &of_params {
        let first = arrays.part.len() / 2;
        of_bins.chunks(TEAM).for_each(|part| arrays.add_part(part));
        let norm = reactions[*p].norm;
        arrays.param.push([first as i32, arrays.part.len() as i32 / 2, *p as i32, 0]);
        arrays.param.push([norm.0 as i32, norm.1 as i32, 0, 0]);
    }
    let norm_bend = if own_norms::applies(plan) {
        let bends: Vec<[f64; 3]> = terms.iter().map(|&term| own_norms::bend(plan, term)).collect();
        let of_kind = |kind: usize| bends.iter().map(move |bend| bend[kind]);
        arena.put(&[0, 1, 2].into_iter().flat_map(of_kind).collect::<Vec<f64>>())
    } else {
        Offset::NULL
    };
    let effects = layout::Effects {
        n_params: of_params.len() as i32,
        padding: 0,
        param: arena.put(&arrays.param),
        part: arena.put(&arrays.part),
        bin: arena.put(&arrays.bin),
        cell: arena.put(&arrays.cell),
        shape: arena.put(&arrays.shape),
        norm: arena.put(&arrays.norm),
        factor: arena.put(&arrays.factor),
        norm_bend,
    };
    arena.put(&[effects])
}

/// Returns the effects of one parameter on each bin on which it acts, and on the first `n_bins` bins. Bins with the longest
/// lists come first, so that the lists of one part have similar lengths.
fn of_param(
    ranges: &[Ranges],
    reactions: &Reactions,
    term_blocks: &[usize],
    n_bins: usize,
) -> Vec<(usize, OnBin)> {
    let mut of_bins: BTreeMap<usize, OnBin> = (0..n_bins).map(|bin| (bin, OnBin::default())).collect();
    // Blocks follow each other in the list of cells, and in the list of scalar factors.
    let block_of_cell = |cell: usize| ranges.partition_point(|block| block.cell.1 <= cell);
    let bin_of = |block: &Ranges, cell: usize| block.bin + cell - block.cell.0;
    for &(cell, slope, curve) in &reactions.hist {
        let bin = bin_of(&ranges[block_of_cell(cell)], cell);
        of_bins.entry(bin).or_default().hist.push((cell, [slope, curve]));
    }
    for term in reactions.norm.0..reactions.norm.1 {
        let block = &ranges[term_blocks[term]];
        for cell in block.cell.0..block.cell.1 {
            of_bins.entry(bin_of(block, cell)).or_default().norm.push([term as i32, cell as i32]);
        }
    }
    for &factor in &reactions.factor {
        let index = ranges.partition_point(|block| block.factor.1 <= factor);
        let block = &ranges[index];
        for cell in block.cell.0..block.cell.1 {
            let entry = [cell as i32, index as i32, factor as i32, -1];
            of_bins.entry(bin_of(block, cell)).or_default().factor.push(entry);
        }
    }
    for &[cell, block, bin, place] in &reactions.binwise {
        of_bins.entry(bin as usize).or_default().factor.push([cell, block, -1, place]);
    }
    let mut of_bins: Vec<(usize, OnBin)> = of_bins.into_iter().collect();
    of_bins.sort_by_key(|(_, on)| std::cmp::Reverse(on.len()));
    of_bins
}

impl Arrays {
    /// Adds one part: the effects of a parameter on at most [`TEAM`] bins.
    fn add_part(&mut self, part: &[(usize, OnBin)]) {
        let (hist, norm, factor) = (self.cell.len(), self.norm.len(), self.factor.len());
        let longest = |length: fn(&OnBin) -> usize| part.iter().map(|(_, on)| length(on)).max().unwrap_or(0);
        let n_hist = longest(|on| on.hist.len()).next_multiple_of(EFFECTS_AT_A_TIME);
        let n_norm = longest(|on| on.norm.len()).next_multiple_of(EFFECTS_AT_A_TIME);
        let n_factor = longest(|on| on.factor.len());
        for i in 0..TEAM {
            self.bin.push(part.get(i).map_or(-1, |(bin, _)| *bin as i32));
        }
        let entries = |n: usize| (0..n).flat_map(|k| (0..TEAM).map(move |i| (k, part.get(i))));
        for (k, on) in entries(n_hist) {
            let entry = on.and_then(|(_, on)| on.hist.get(k)).copied().unwrap_or_default();
            self.cell.push(entry.0 as i32);
            self.shape.push(entry.1);
        }
        for (k, on) in entries(n_norm) {
            self.norm.push(on.and_then(|(_, on)| on.norm.get(k)).copied().unwrap_or([-1, 0]));
        }
        for (k, on) in entries(n_factor) {
            self.factor.push(on.and_then(|(_, on)| on.factor.get(k)).copied().unwrap_or([-1, 0, -1, -1]));
        }
        let ends = [self.cell.len(), self.norm.len(), self.factor.len()].map(|end| end as i32);
        self.part.push([hist as i32, ends[0], norm as i32, ends[1]]);
        self.part.push([factor as i32, ends[2], 0, 0]);
    }
}
