//! Finds the positions of the inputs in the model arrays on a device, and prepares copies of these arrays in which the
//! inputs can replace numbers.

use super::super::arena::Arena;
use super::super::upload::Places;
use super::layout::{DifferentiateLaunch, InputCell, InputNorm, InputTemplate, InputWidth};
use crate::plan::{OpenBlock, OpenNorm, OpenWidth, Plan, Source};
use crate::shared_constants::{GAUSSIAN, POISSON};

/// Copies of model arrays in which inputs replace numbers. Each thread block has its own set of copies. This
/// structure is the initial content of one set: the numbers of the compiled model, one array after another.
#[derive(Debug, Default)]
pub(super) struct Copies {
    numbers: Vec<f64>,
}

impl Copies {
    /// Ends the set of copies. All sets are in one buffer, one after the other. An even length keeps each set aligned
    /// to 16 bytes.
    pub(super) fn finish(mut self, launch: &mut DifferentiateLaunch) -> Vec<f64> {
        self.numbers.resize(self.numbers.len().next_multiple_of(2), 0.0);
        launch.copies_stride = self.numbers.len() as u64;
        self.numbers
    }

    /// Appends an array and returns its position, counted in doubles. Every array begins at a multiple of 16 bytes.
    pub(super) fn put(&mut self, numbers: impl IntoIterator<Item = f64>) -> u64 {
        let at = self.numbers.len().next_multiple_of(2);
        self.numbers.resize(at, 0.0);
        self.numbers.extend(numbers);
        at as u64
    }
}

/// Returns two things about element `i` of a source of numbers: the index of the element in the array of all inputs (-1
/// if it is not an input), and its value in the compiled model.
fn index_and_own(source: &Source, i: usize, values: &[f64]) -> (i32, f64) {
    match source {
        Source::Input(at) => ((at + i) as i32, values.get(at + i).copied().unwrap_or(0.0)),
        Source::Model(own) => (-1, own.get(i).copied().unwrap_or(0.0)),
    }
}

/// Adds the lists of inputs to `arena`, which already contains the arrays of `launch.plan`. Sets the fields of
/// `launch` that refer to these lists. Returns the initial content of the copies of one thread block.
pub(super) fn place(
    plan: &Plan,
    places: &Places,
    arena: &mut Arena,
    launch: &mut DifferentiateLaunch,
) -> Copies {
    let mut copies = Copies::default();
    launch.n_inputs = plan.open.table.len() as i32;
    if !plan.open.blocks.is_empty() {
        blocks(plan, places, arena, launch, &mut copies);
    }
    if !plan.open.norms.is_empty() {
        norms(plan, places, arena, launch, &mut copies);
    }
    if !(plan.open.gaussian.is_empty() && plan.open.poisson.is_empty()) {
        widths(plan, arena, launch, &mut copies);
    }
    copies
}

fn blocks(
    plan: &Plan,
    places: &Places,
    arena: &mut Arena,
    launch: &mut DifferentiateLaunch,
    copies: &mut Copies,
) {
    let values = &plan.open.table.values;
    let (mut cells, mut templates) = (Vec::new(), Vec::new());
    for OpenBlock { block, nominal, templates: open } in &plan.open.blocks {
        let (first, block) = (places.first_cell.get(*block).copied(), &plan.structure.blocks[*block]);
        let Some(first) = first else { continue };
        for b in 0..block.n_bins {
            let (cell, from) = (first + b, templates.len());
            let (nominal, own_nominal) = index_and_own(nominal, b, values);
            for t in open {
                let param = plan.templates(block)[t.index] as usize;
                let places = (places.in_slice(cell, t.index), places.in_list(param, cell));
                let (Some(in_slice), Some(in_list)) = places else { continue };
                let (lo, own_lo) = index_and_own(&t.lo, b, values);
                let (hi, own_hi) = index_and_own(&t.hi, b, values);
                let (param, in_slice, in_list) = (param as i32, in_slice as i32, in_list as i32);
                templates.push(InputTemplate {
                    param,
                    in_slice,
                    in_list,
                    nominal,
                    lo,
                    hi,
                    own_lo,
                    own_hi,
                    own_nominal,
                });
            }
            let (first, end) = (from as i32, templates.len() as i32);
            cells.push(InputCell { cell: cell as i32, nominal, first, end, own: own_nominal });
        }
    }
    launch.n_cells = cells.len() as i32;
    launch.n_templates = templates.len() as i32;
    launch.cells = arena.put(&cells);
    launch.templates = arena.put(&templates);
    let n_cells = launch.plan.n_cells as usize;
    launch.nominal_at = copies.put(arena.doubles(launch.plan.nominal, n_cells));
    launch.slice_at = copies.put(arena.doubles(launch.plan.slice_template, 2 * places.slice_entries));
    launch.list_at = copies.put(arena.doubles(launch.plan.hist_template, 2 * places.list_cells.len()));
}

fn norms(
    plan: &Plan,
    places: &Places,
    arena: &mut Arena,
    launch: &mut DifferentiateLaunch,
    copies: &mut Copies,
) {
    let values = &plan.open.table.values;
    let place_of = |OpenNorm { term, lo, hi, .. }: &OpenNorm| {
        let term = places.terms.iter().position(|of_plan| of_plan == term)?;
        let ((lo, own_lo), (hi, own_hi)) = (index_and_own(lo, 0, values), index_and_own(hi, 0, values));
        Some(InputNorm { term: term as i32, padding: 0, lo, hi, own_lo, own_hi })
    };
    let norms: Vec<InputNorm> = plan.open.norms.iter().filter_map(place_of).collect();
    launch.n_norms = norms.len() as i32;
    launch.norms = arena.put(&norms);
    let n_terms = places.terms.len();
    launch.coefficient_at = copies.put(arena.doubles(launch.plan.norm_coefficient, 6 * n_terms));
    launch.rate_at = copies.put(arena.doubles(launch.plan.norm_rate, 2 * n_terms));
}

fn widths(plan: &Plan, arena: &mut Arena, launch: &mut DifferentiateLaunch, copies: &mut Copies) {
    let scale = arena.doubles(launch.plan.constraint_scale, plan.n_parameters());
    let width = |kind: i32, of: &OpenWidth, param: usize| InputWidth {
        param: param as i32,
        kind,
        input: of.place as i32,
        padding: 0,
        own: plan.open.table.values.get(of.place).copied().unwrap_or(0.0),
        own_scale: scale.get(param).copied().unwrap_or(0.0),
    };
    let gaussian =
        plan.open.gaussian.iter().map(|of| width(GAUSSIAN, of, plan.structure.gaussian.param[of.term]));
    let poisson =
        plan.open.poisson.iter().map(|of| width(POISSON, of, plan.structure.poisson.param[of.term]));
    let widths: Vec<InputWidth> = gaussian.chain(poisson).collect();
    launch.n_widths = widths.len() as i32;
    launch.widths = arena.put(&widths);
    launch.scale_at = copies.put(scale);
}
