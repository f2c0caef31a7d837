//! A compiled plan in the form that kernels read.
//!
//! The same numbers as in [`crate::plan::Plan`], arranged for neighbouring threads to read neighbouring numbers: normsys
//! terms block after block, histosys templates once by cell (in slices of 32 cells, those with many terms first)
//! and once by parameter.

use ns_core::{HistosysCode, NormsysCode};

use super::arena::Arena;
use super::layout;
use crate::plan::{LANES, Plan};

/// Cells of one slice.
const SLICE: usize = 32;

/// One histosys in one cell.
#[derive(Debug, Clone, Copy)]
struct Template {
    param: usize,
    slope: f64,
    curve: f64,
}

/// What one parameter does to yields.
#[derive(Debug, Clone, Default)]
struct Reactions {
    /// Cell, slope and curve.
    hist: Vec<(usize, f64, f64)>,
    /// Terms, one after another.
    norm: Vec<usize>,
    /// Place in the list of scalar factors.
    factor: Vec<usize>,
    /// Cell and place in the list of per-bin factors.
    binwise: Vec<(usize, usize)>,
}

/// Adds `plan` to `arena`; addresses are offsets.
pub(super) fn plan(plan: &Plan, arena: &mut Arena) -> layout::Plan {
    let n = plan.n_parameters();
    let mut reactions = vec![Reactions::default(); n];
    let mut out = layout::Plan {
        n_params: n as i32,
        n_bins: plan.n_bins as i32,
        n_aux: plan.n_aux as i32,
        n_blocks: plan.blocks.len() as i32,
        n_gauss: plan.gaussian.param.len() as i32,
        n_pois: plan.poisson.param.len() as i32,
        histosys: match plan.histosys {
            HistosysCode::Code0 => 0,
            HistosysCode::Code2 => 2,
            HistosysCode::Code4p => 4,
        },
        normsys: match plan.normsys {
            NormsysCode::Code1 => 1,
            NormsysCode::Code4 => 4,
        },
        ..layout::Plan::default()
    };
    cells(plan, arena, &mut reactions, &mut out);
    norms(plan, arena, &mut reactions, &mut out);
    parameters(plan, arena, &mut out);
    react(arena, &reactions, &mut out);
    out
}

/// Blocks, cells, factors and templates.
fn cells(plan: &Plan, arena: &mut Arena, reactions: &mut [Reactions], out: &mut layout::Plan) {
    let mut starts = vec![0];
    let (mut cell_block, mut cell_bin, mut nominal) = (Vec::new(), Vec::new(), Vec::new());
    let mut cell_factor: Vec<i32> = Vec::new();
    let mut templates: Vec<Vec<Template>> = Vec::new();
    let mut bins: Vec<Vec<usize>> = vec![Vec::new(); plan.n_bins];
    let (mut factors, mut binwise) = (vec![0], vec![0]);
    let (mut factor_param, mut binwise_first) = (Vec::new(), Vec::new());
    for (index, block) in plan.blocks.iter().enumerate() {
        let stride = block.n_lanes * LANES;
        for b in 0..block.n_bins {
            let cell = cell_block.len();
            cell_block.push(index);
            cell_bin.push(block.bin + b);
            bins[block.bin + b].push(cell);
            nominal.push(plan.nominal[block.cell + b]);
            cell_factor.push(match &plan.binwise_first[block.binwise.0..block.binwise.1] {
                [] => -1,
                [first] => (*first as usize + b) as i32,
                _ => -2,
            });
            let mut of_cell = Vec::new();
            for (i, &param) in plan.hist_param[block.hist.0..block.hist.1].iter().enumerate() {
                let param = param as usize;
                let slope = plan.hist_slope[block.slope + i * stride + b];
                let curved = block.hist.0 + i < block.hist_curved;
                let curve = if curved { plan.hist_curve[block.curve + i * stride + b] } else { 0.0 };
                if slope != 0.0 || curve != 0.0 {
                    of_cell.push(Template { param, slope, curve });
                    reactions[param].hist.push((cell, slope, curve));
                }
            }
            templates.push(of_cell);
            for (k, &first) in plan.binwise_first[block.binwise.0..block.binwise.1].iter().enumerate() {
                reactions[first as usize + b].binwise.push((cell, binwise_first.len() + k));
            }
        }
        for &p in &plan.factor_param[block.factor.0..block.factor.1] {
            reactions[p as usize].factor.push(factor_param.len());
            factor_param.push(p as usize);
        }
        binwise_first
            .extend(plan.binwise_first[block.binwise.0..block.binwise.1].iter().map(|&p| p as usize));
        starts.push(cell_block.len());
        factors.push(factor_param.len());
        binwise.push(binwise_first.len());
    }
    out.n_cells = cell_block.len() as i32;
    out.block_cell = arena.put_indices(starts);
    out.block_factor = arena.put_indices(factors);
    out.block_binwise = arena.put_indices(binwise);
    out.n_factors = factor_param.len() as i32;
    out.factor_param = arena.put_indices(factor_param);
    out.binwise_first = arena.put_indices(binwise_first);
    out.cell_block = arena.put_indices(cell_block);
    out.cell_bin = arena.put_indices(cell_bin);
    out.cell_factor = arena.put(&cell_factor);
    out.nominal = arena.put(&nominal);
    (out.bin_start, out.bin_cell) = lists(arena, &bins, |&cell| cell);
    slices(arena, &templates, out);
}

/// Templates by cell, in slices.
fn slices(arena: &mut Arena, templates: &[Vec<Template>], out: &mut layout::Plan) {
    let mut order: Vec<usize> = (0..templates.len()).collect();
    order.sort_by_key(|&cell| std::cmp::Reverse(templates[cell].len()));
    let (mut starts, mut cells) = (vec![0], Vec::new());
    let (mut params, mut shapes) = (Vec::new(), Vec::new());
    for slice in order.chunks(SLICE) {
        let longest = slice.iter().map(|&cell| templates[cell].len()).max().unwrap_or(0);
        // Kernels read four at a time.
        let longest = longest.next_multiple_of(4);
        for i in 0..longest {
            for lane in 0..SLICE {
                let of_cell = slice.get(lane).and_then(|&cell| templates[cell].get(i));
                // Places without a template add nothing.
                let template = of_cell.copied().unwrap_or(Template { param: 0, slope: 0.0, curve: 0.0 });
                params.push(template.param);
                shapes.push([template.slope, template.curve]);
            }
        }
        starts.push(params.len());
        cells.extend((0..SLICE).map(|lane| slice.get(lane).map_or(-1, |&cell| cell as i32)));
    }
    out.n_slices = starts.len() as i32 - 1;
    out.slice_start = arena.put_indices(starts);
    out.slice_cell = arena.put(&cells);
    out.slice_param = arena.put_indices(params);
    out.slice_template = arena.put(&shapes);
}

/// normsys terms, parameter after parameter.
fn norms(plan: &Plan, arena: &mut Arena, reactions: &mut [Reactions], out: &mut layout::Plan) {
    let n_blocks = plan.blocks.len();
    let (mut terms, mut params, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    let mut of_block: Vec<Vec<usize>> = vec![Vec::new(); n_blocks];
    for run in &plan.norm_runs {
        for term in run.start..run.end {
            let block = plan.norm_block[term] as usize;
            if block >= n_blocks {
                break; // padding
            }
            reactions[run.param].norm.push(terms.len());
            of_block[block].push(terms.len());
            terms.push(term);
            params.push(run.param);
            blocks.push(block);
        }
    }
    let pick = |from: &[f64]| -> Vec<f64> { terms.iter().map(|&term| from[term]).collect() };
    let pairs = [(5, 4), (3, 2), (1, 0)];
    let coefficients: Vec<[f64; 2]> = pairs
        .iter()
        .flat_map(|&(a, b)| {
            let [a, b] = [a, b].map(|k: usize| pick(&plan.norm_coefficients[k]));
            a.into_iter().zip(b).map(|(a, b)| [a, b])
        })
        .collect();
    out.n_terms = terms.len() as i32;
    out.norm_param = arena.put_indices(params);
    out.norm_coefficient = arena.put(&coefficients);
    out.norm_log_hi = arena.put(&pick(&plan.norm_log_hi));
    out.norm_log_lo = arena.put(&pick(&plan.norm_log_lo));
    out.norm_block = arena.put_indices(blocks);
    (out.block_norm, out.norm_of_block) = lists(arena, &of_block, |term| *term);
}

/// Constraints and box by parameter.
fn parameters(plan: &Plan, arena: &mut Arena, out: &mut layout::Plan) {
    let n = plan.n_parameters();
    let (mut kind, mut aux) = (vec![0_i32; n], vec![0; n]);
    let (mut scale, mut width) = (vec![0.0; n], vec![0.0; n]);
    let gaussian = &plan.gaussian;
    for ((&p, &a), &w) in gaussian.param.iter().zip(&gaussian.aux).zip(&gaussian.inverse_sigma) {
        (kind[p], aux[p], scale[p], width[p]) = (1, a, w, 1.0 / w);
    }
    let poisson = &plan.poisson;
    for ((&p, &a), &tau) in poisson.param.iter().zip(&poisson.aux).zip(&poisson.tau) {
        (kind[p], aux[p], scale[p], width[p]) = (2, a, tau, 1.0 / tau.sqrt());
    }
    let side = |pick: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..n).map(|p| if plan.table.fixed[p] { plan.table.init[p] } else { pick(p) }).collect()
    };
    out.constraint = arena.put(&kind);
    out.constraint_aux = arena.put_indices(aux);
    out.constraint_scale = arena.put(&scale);
    out.lower = arena.put(&side(&|p| plan.table.bounds[p].0));
    out.upper = arena.put(&side(&|p| plan.table.bounds[p].1));
    out.width = arena.put(&width);
    out.init = arena.put(&plan.table.init);
}

/// Reactions by parameter, those with most work first, so that no team is left with a long list at the end.
fn react(arena: &mut Arena, reactions: &[Reactions], out: &mut layout::Plan) {
    let work = |r: &Reactions| r.hist.len() + 2 * r.norm.len() + 3 * r.factor.len();
    let mut order: Vec<usize> = (0..reactions.len()).filter(|&p| work(&reactions[p]) > 0).collect();
    order.sort_by_key(|&p| std::cmp::Reverse(work(&reactions[p])));
    let chosen: Vec<&Reactions> = order.iter().map(|&p| &reactions[p]).collect();
    let hist: Vec<_> = chosen.iter().map(|r| r.hist.clone()).collect();
    let norm: Vec<_> = chosen.iter().map(|r| r.norm.clone()).collect();
    let factor: Vec<_> = chosen.iter().map(|r| r.factor.clone()).collect();
    out.n_reacting = order.len() as i32;
    out.reacting_param = arena.put_indices(order.iter().copied());
    (out.reacting_hist, out.hist_cell) = lists(arena, &hist, |entry| entry.0);
    let shapes: Vec<[f64; 2]> = hist.iter().flatten().map(|&(_, slope, curve)| [slope, curve]).collect();
    out.hist_template = arena.put(&shapes);
    // Terms of a parameter are consecutive: where they begin and end.
    let ranges: Vec<i32> = norm
        .iter()
        .flat_map(|terms| match (terms.first(), terms.last()) {
            (Some(&first), Some(&last)) => [first as i32, last as i32 + 1],
            _ => [0, 0],
        })
        .collect();
    out.reacting_norm = arena.put(&ranges);
    (out.reacting_factor, out.factor_place) = lists(arena, &factor, |place| *place);
    let binwise: Vec<usize> = (0..reactions.len()).filter(|&p| !reactions[p].binwise.is_empty()).collect();
    let cells: Vec<_> = binwise.iter().map(|&p| reactions[p].binwise.clone()).collect();
    out.n_binwise = binwise.len() as i32;
    out.binwise_param = arena.put_indices(binwise);
    (out.binwise_start, out.binwise_cell) = lists(arena, &cells, |entry| entry.0);
    out.binwise_place = arena.put_indices(cells.iter().flatten().map(|entry| entry.1));
}

/// Starts (one more than lists) and indices of lists laid end to end.
fn lists<T>(arena: &mut Arena, lists: &[Vec<T>], index: impl Fn(&T) -> usize) -> (u64, u64) {
    (starts(arena, lists), arena.put_indices(lists.iter().flatten().map(index)))
}

/// Starts of lists laid end to end, and the end of the last.
fn starts<T>(arena: &mut Arena, lists: &[Vec<T>]) -> u64 {
    let ends = lists.iter().scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
    arena.put_indices(starts)
}
