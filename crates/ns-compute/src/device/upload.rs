//! Converts a compiled plan to the form that kernels read.
//!
//! The numbers are the same as in [`crate::plan::Plan`]. They are arranged so that neighbouring threads read
//! neighbouring numbers. A block is one sample in one channel, and a cell is one bin of a block. The normsys terms
//! (effects of one modifier) are sorted by parameter. The histosys templates are stored twice: by cell, in slices of 32
//! cells, and by parameter. Blocks with many templates come first. Indices that a thread reads together are stored in
//! one vector.

use super::arena::Arena;
use super::correlations;
use super::effects;
use super::functions::{self, Columns};
use super::layout;
use super::offset::Offset;
use crate::plan::{Plan, Template};
use crate::shared_constants::{
    AT_A_TIME, GAUSSIAN, NO_FACTOR, POISSON, SEVERAL_FACTORS, UNCONSTRAINED, WARP,
};

/// Effects of one parameter on the expected yields.
#[derive(Debug, Clone, Default)]
pub(super) struct Reactions {
    /// Cell (one bin of one sample), slope and curve of each histosys template that the parameter moves.
    pub(super) hist: Vec<(usize, f64, f64)>,
    /// Range of the parameter's normsys terms: index of the first term, and index after the last term.
    pub(super) norm: (usize, usize),
    /// Indices of the parameter's scalar factors in the list of all scalar factors.
    pub(super) factor: Vec<usize>,
    /// Cells (bins of samples) that the parameter scales as a per-bin factor. The four numbers of an element are the
    /// cell, the block (one sample in one channel), the bin, and the index in the list of per-bin factors. The last
    /// number is -1 if the cell has no other per-bin factor.
    pub(super) binwise: Vec<[i32; 4]>,
}

impl Reactions {
    /// Returns whether the parameter has an effect.
    pub(super) fn acts(&self) -> bool {
        let is_empty = self.hist.is_empty() && self.norm.0 == self.norm.1 && self.factor.is_empty();
        !(is_empty && self.binwise.is_empty())
    }
}

/// Index ranges of the parts of one block (one sample in one channel), and the first bin of the block's channel. A
/// range is the first index and the index after the last.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    norm: (usize, usize),
    pub(super) cell: (usize, usize),
    pub(super) factor: (usize, usize),
    binwise: (usize, usize),
    pub(super) bin: usize,
}

/// Where the cells, histosys templates and normsys terms of a plan (compiled model) lie in the arrays on the device.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// For each block (one sample in one channel), the index of its first cell on the device. A cell is one bin of a
    /// block. The blocks are in the order of the plan.
    pub(super) first_cell: Vec<usize>,
    /// For each slice of 32 cells (bins of samples), the position in `slice_template` of the first template of its
    /// first cell.
    pub(super) slices: Vec<usize>,
    /// Length of the array `slice_template`.
    pub(super) slice_entries: usize,
    /// For each parameter, the range of its templates in `hist_template`.
    pub(super) lists: Vec<(usize, usize)>,
    /// For each entry of `hist_template`, its cell (one bin of one sample). The cells of one parameter are in ascending
    /// order.
    pub(super) list_cells: Vec<usize>,
    /// For each normsys term on the device, its index in the plan.
    pub(super) terms: Vec<usize>,
}

impl Places {
    /// Returns the position in `slice_template` of the histosys template with index `i` in a cell (one bin of one
    /// sample).
    pub(super) fn in_slice(&self, cell: usize, i: usize) -> Option<usize> {
        Some(self.slices.get(cell / WARP)? + i * WARP + cell % WARP)
    }

    /// Returns the position in `hist_template` of the histosys template that a parameter has in a cell (one bin of one
    /// sample).
    pub(super) fn in_list(&self, param: usize, cell: usize) -> Option<usize> {
        let &(first, end) = self.lists.get(param)?;
        let place = self.list_cells.get(first..end)?.binary_search(&cell).ok()?;
        Some(first + place)
    }
}

/// Adds the arrays of `plan` to `arena`. Returns the structure that refers to these arrays, and the positions of the
/// plan's numbers in them.
pub(super) fn plan(plan: &Plan, arena: &mut Arena) -> (layout::Plan, Places) {
    let mut places = Places::default();
    let columns = Columns::new(plan);
    let mut reactions = vec![Reactions::default(); columns.len()];
    let mut out = layout::Plan {
        n_params: plan.n_parameters() as i32,
        n_columns: columns.len() as i32,
        n_bins: plan.n_bins() as i32,
        n_aux: plan.n_aux() as i32,
        n_blocks: plan.structure.blocks.len() as i32,
        histosys: plan.structure.histosys as i32,
        normsys: plan.structure.normsys.code as i32,
        ..layout::Plan::default()
    };
    let mut order: Vec<usize> = (0..plan.structure.blocks.len()).collect();
    order.sort_by_key(|&b| {
        std::cmp::Reverse(plan.structure.blocks[b].hist.1 - plan.structure.blocks[b].hist.0)
    });
    let mut ranges = cells(plan, arena, &order, &columns, &mut reactions, &mut out, &mut places);
    let term_blocks = norms(plan, arena, &order, &mut ranges, &mut reactions, &mut out, &mut places);
    let vectors: Vec<[[i32; 4]; 3]> = ranges.iter().map(Ranges::vectors).collect();
    out.block = arena.put(vectors.as_flattened());
    parameters(plan, arena, columns.len(), &mut out);
    react(arena, &reactions, &mut out, &mut places);
    let has_own = |p: usize| reactions.get(p).is_some_and(Reactions::acts);
    (out.functions, out.n_components) = functions::put(plan, arena, &columns, &has_own);
    out.correlations = correlations::put(plan, arena, columns.len());
    out.effects = effects::put(plan, arena, &ranges, &reactions, (&term_blocks, &places.terms));
    (out, places)
}

impl Ranges {
    fn vectors(&self) -> [[i32; 4]; 3] {
        let pair = |range: (usize, usize)| [range.0 as i32, range.1 as i32];
        let ([a, b], [c, d]) = (pair(self.norm), pair(self.cell));
        let ([e, f], [g, h]) = (pair(self.factor), pair(self.binwise));
        [[a, b, c, d], [e, f, g, h], [self.bin as i32, 0, 0, 0]]
    }
}

/// Adds the blocks (samples in channels) in the order `order`, with their cells (bins), factors and histosys templates.
/// Returns the index ranges of the blocks. [`norms`] sets the ranges of normsys terms later.
fn cells(
    plan: &Plan,
    arena: &mut Arena,
    order: &[usize],
    columns: &Columns,
    reactions: &mut [Reactions],
    out: &mut layout::Plan,
    places: &mut Places,
) -> Vec<Ranges> {
    let mut all = Vec::with_capacity(order.len());
    places.first_cell.resize(order.len(), 0);
    let mut has_inputs = vec![false; order.len()];
    for open in &plan.open.blocks {
        has_inputs[open.block] = true;
    }
    let (mut cell_block, mut cell_factor, mut nominal) = (Vec::new(), Vec::new(), Vec::new());
    let mut templates: Vec<Vec<Template>> = Vec::new();
    let mut bins: Vec<Vec<[i32; 2]>> = vec![Vec::new(); plan.n_bins()];
    let (mut factor_param, mut binwise_first) = (Vec::new(), Vec::new());
    for (index, &of_plan) in order.iter().enumerate() {
        let block = &plan.structure.blocks[of_plan];
        let first = cell_block.len();
        places.first_cell[of_plan] = first;
        // Functions that are factors are columns, which come after the parameters.
        let own: Vec<u32> = columns.first(plan.bin_functions(block)).map(|c| c as u32).into_iter().collect();
        let scaling = [plan.per_bin_factors(block), &own].concat();
        for b in 0..block.n_bins {
            let cell = cell_block.len();
            cell_block.push(index);
            bins[block.bin + b].push([cell as i32, index as i32]);
            nominal.push(plan.numbers.nominal[block.cell + b]);
            cell_factor.push(match scaling.as_slice() {
                [] => NO_FACTOR,
                [first] => (*first as usize + b) as i32,
                _ => SEVERAL_FACTORS,
            });
            for (k, &first) in scaling.iter().enumerate() {
                let place = if scaling.len() == 1 { -1 } else { (binwise_first.len() + k) as i32 };
                let at = [cell as i32, index as i32, (block.bin + b) as i32, place];
                reactions[first as usize + b].binwise.push(at);
            }
            // Templates whose numbers are all zero are left out, unless inputs may change these numbers.
            let kept = |t: &Template| has_inputs[of_plan] || t.slope != 0.0 || t.curve != 0.0;
            let of_cell = plan.templates_in(block, b).filter(kept);
            let of_cell: Vec<Template> = of_cell.collect();
            for template in &of_cell {
                reactions[template.param].hist.push((cell, template.slope, template.curve));
            }
            templates.push(of_cell);
        }
        let (scalars, scalings) = (factor_param.len(), binwise_first.len());
        let function = block.function.and_then(|function| columns.scalar(function.index));
        for p in plan.scale_factors(block).iter().map(|&p| p as usize).chain(function) {
            reactions[p].factor.push(factor_param.len());
            factor_param.push(p);
        }
        binwise_first.extend(scaling.iter().map(|&p| p as usize));
        all.push(Ranges {
            norm: (0, 0),
            cell: (first, cell_block.len()),
            factor: (scalars, factor_param.len()),
            binwise: (scalings, binwise_first.len()),
            bin: block.bin,
        });
    }
    out.n_cells = cell_block.len() as i32;
    out.n_factors = factor_param.len() as i32;
    out.factor_param = arena.put_indices(factor_param);
    out.binwise_first = arena.put_indices(binwise_first);
    out.cell_block = arena.put_indices(cell_block);
    out.cell_factor = arena.put(&cell_factor);
    out.nominal = arena.put(&nominal);
    out.bin = ranges_of(arena, &bins);
    out.bin_cell = arena.put(&bins.concat());
    slices(arena, &templates, out, places);
    all
}

/// Adds the histosys templates in slices of `WARP` cells (bins of samples). A slice contains the first template of each
/// of its cells, then the second template of each cell, and so on.
fn slices(arena: &mut Arena, templates: &[Vec<Template>], out: &mut layout::Plan, places: &mut Places) {
    let (mut starts, mut params, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for slice in templates.chunks(WARP) {
        let longest = slice.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(AT_A_TIME);
        let start = params.len() as i32;
        places.slices.push(params.len());
        for i in 0..longest {
            for lane in 0..WARP {
                // Cells with fewer templates are padded with zeros.
                let template =
                    slice.get(lane).and_then(|of_cell| of_cell.get(i)).copied().unwrap_or_default();
                params.push(template.param);
                shapes.push([template.slope, template.curve]);
            }
        }
        starts.push([start, params.len() as i32]);
    }
    out.n_slices = starts.len() as i32;
    places.slice_entries = params.len();
    out.slice = arena.put(&starts);
    out.slice_param = arena.put_indices(params);
    out.slice_template = arena.put(&shapes);
}

/// Adds the normsys terms (effects of one modifier on one sample) to `arena`, sorted by parameter. Returns the block
/// (sample in a channel) of each term.
fn norms(
    plan: &Plan,
    arena: &mut Arena,
    order: &[usize],
    ranges: &mut [Ranges],
    reactions: &mut [Reactions],
    out: &mut layout::Plan,
    place_of: &mut Places,
) -> Vec<usize> {
    let mut place_of_block = vec![0; order.len()];
    for (place, &block) in order.iter().enumerate() {
        place_of_block[block] = place;
    }
    let (mut terms, mut params, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    for run in &plan.structure.norm_runs {
        let first = terms.len();
        for term in run.start..run.end {
            // Terms that only pad the list refer to a block after the last block. These terms end the loop.
            let Some(&block) = place_of_block.get(plan.structure.norm_block[term] as usize) else { break };
            terms.push(term);
            params.push(run.param);
            blocks.push(block);
        }
        reactions[run.param].norm = (first, terms.len());
    }
    // Positions of the terms in the order of their blocks.
    let mut sorted: Vec<usize> = (0..terms.len()).collect();
    sorted.sort_by_key(|&i| blocks[i]);
    let mut places = vec![0; terms.len()];
    for (place, &i) in sorted.iter().enumerate() {
        places[i] = place;
        let range = &mut ranges[blocks[i]].norm;
        if range.1 == 0 {
            range.0 = place;
        }
        range.1 = place + 1;
    }
    let pairs =
        |a: &[f64], b: &[f64]| -> Vec<[f64; 2]> { terms.iter().map(|&term| [a[term], b[term]]).collect() };
    let c = &plan.numbers.norm_coefficients;
    let coefficients = [pairs(&c[5], &c[4]), pairs(&c[3], &c[2]), pairs(&c[1], &c[0])].concat();
    out.n_terms = terms.len() as i32;
    out.norm_param = arena.put_indices(params);
    out.norm_coefficient = arena.put(&coefficients);
    out.norm_rate = arena.put(&pairs(&plan.numbers.norm_rate_hi, &plan.numbers.norm_rate_lo));
    out.norm_block = arena.put_indices(blocks.iter().copied());
    out.norm_place = arena.put_indices(places);
    place_of.terms = terms;
    blocks
}

/// Adds the constraint and the bounds of each parameter to `arena`.
fn parameters(plan: &Plan, arena: &mut Arena, n_columns: usize, out: &mut layout::Plan) {
    let n = plan.n_parameters();
    let mut kind = vec![[UNCONSTRAINED, 0]; n_columns];
    let (mut scale, mut width) = (vec![0.0; n_columns], vec![0.0; n]);
    for (p, a, w) in plan.gaussian() {
        (kind[p], scale[p], width[p]) = ([GAUSSIAN, a as i32], w, 1.0 / w);
    }
    for (p, a, tau) in plan.poisson() {
        (kind[p], scale[p], width[p]) = ([POISSON, a as i32], tau, 1.0 / tau.sqrt());
    }
    let side = |pick: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..n)
            .map(|p| if plan.structure.table.fixed[p] { plan.structure.table.init[p] } else { pick(p) })
            .collect()
    };
    out.constraint = arena.put(&kind);
    out.constraint_scale = arena.put(&scale);
    out.lower = arena.put(&side(&|p| plan.structure.table.bounds[p].0));
    out.upper = arena.put(&side(&|p| plan.structure.table.bounds[p].1));
    out.width = arena.put(&width);
    out.strongly_nonlinear = i32::from(plan.policy.strongly_nonlinear);
    out.edm_tolerance = plan.policy.edm_tolerance;
    out.kinked = if plan.structure.has_kinks {
        arena.put_indices(plan.structure.kinked.iter().map(|&k| usize::from(k)))
    } else {
        Offset::NULL
    };
}

/// Adds the effects of each parameter on the expected yields. Parameters with long lists of effects come first.
/// Otherwise a team of threads might begin a long list when all other teams have already finished.
fn react(arena: &mut Arena, reactions: &[Reactions], out: &mut layout::Plan, of: &mut Places) {
    let work = |r: &Reactions| r.hist.len() + (r.norm.1 - r.norm.0) + r.factor.len();
    let mut order: Vec<usize> = (0..reactions.len()).filter(|&p| work(&reactions[p]) > 0).collect();
    order.sort_by_key(|&p| std::cmp::Reverse(work(&reactions[p])));
    let (mut vectors, mut cells, mut shapes, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut lists = vec![(0, 0); reactions.len()];
    for &p in &order {
        let own = &reactions[p];
        let (hist, factor) = (cells.len() as i32, places.len() as i32);
        cells.extend(own.hist.iter().map(|entry| entry.0));
        shapes.extend(own.hist.iter().map(|&(_, slope, curve)| [slope, curve]));
        places.extend(&own.factor);
        let norm = [own.norm.0 as i32, own.norm.1 as i32];
        lists[p] = (hist as usize, cells.len());
        let ends = [cells.len() as i32, places.len() as i32];
        vectors.push([hist, ends[0], norm[0], norm[1]]);
        vectors.push([factor, ends[1], p as i32, 0]);
    }
    out.n_reacting = order.len() as i32;
    out.reacting = arena.put(&vectors);
    (of.lists, of.list_cells) = (lists, cells.clone());
    out.hist_cell = arena.put_indices(cells);
    out.hist_template = arena.put(&shapes);
    out.factor_place = arena.put_indices(places);
    let (mut heads, mut entries) = (Vec::new(), Vec::new());
    for (p, of) in reactions.iter().enumerate().filter(|(_, of)| !of.binwise.is_empty()) {
        let start = entries.len() as i32;
        entries.extend_from_slice(&of.binwise);
        heads.push([start, entries.len() as i32, p as i32, 0]);
    }
    out.n_binwise = heads.len() as i32;
    out.n_scaled = entries.len() as i32;
    out.binwise = arena.put(&heads);
    out.binwise_cell = arena.put(&entries);
}

/// Joins lists, and adds an array with the range of each list in the joined list: its first index and the index after
/// its last. Returns the offset of this array.
fn ranges_of<T>(arena: &mut Arena, lists: &[Vec<T>]) -> Offset<[i32; 2]> {
    let mut end = 0;
    let ranges: Vec<[i32; 2]> = lists
        .iter()
        .map(|list| {
            let start = end;
            end += list.len() as i32;
            [start, end]
        })
        .collect();
    arena.put(&ranges)
}
