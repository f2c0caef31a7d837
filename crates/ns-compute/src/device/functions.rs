//! Factors that are functions of parameters, on the device.
//!
//! The kernels treat the value of such a function as a further parameter, a *column*: a function that multiplies samples is a
//! scalar factor, and the functions that multiply the bins of a sample are per-bin factors. Before an evaluation, kernels
//! compute the values of the columns; after it, the chain rule gives the derivatives with respect to the parameters
//! (`kernels/functions.cuh`).

use super::arena::Arena;
use super::events::operation_code;
use super::layout;
use super::offset::Offset;
use crate::events::FunctionTape;
use crate::plan::Plan;

/// The columns of a model: values of functions that kernels treat as further parameters.
#[derive(Debug, Default)]
pub(super) struct Columns {
    n_params: usize,
    /// Index of the function of each column.
    functions: Vec<usize>,
    /// Columns of functions that multiply whole samples: the function and its column.
    scalars: Vec<(usize, usize)>,
    /// Columns of functions that multiply single bins: the functions, one per bin, and the column of the first.
    by_bin: Vec<(Vec<u32>, usize)>,
}

impl Columns {
    /// Assigns columns to all factors of a model that are functions.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut columns = Self { n_params: plan.n_parameters(), ..Self::default() };
        for block in &plan.structure.blocks {
            if let Some(function) = block.function
                && columns.scalar(function.index).is_none()
            {
                columns.scalars.push((function.index, columns.len()));
                columns.functions.push(function.index);
            }
            let by_bin = plan.bin_functions(block);
            if !by_bin.is_empty() && columns.first(by_bin).is_none() {
                columns.by_bin.push((by_bin.to_vec(), columns.len()));
                columns.functions.extend(by_bin.iter().map(|&function| function as usize));
            }
        }
        columns
    }

    /// Returns the number of parameters and columns together.
    pub(super) fn len(&self) -> usize {
        self.n_params + self.functions.len()
    }

    /// Returns the column of a function that multiplies whole samples.
    pub(super) fn scalar(&self, function: usize) -> Option<usize> {
        self.scalars.iter().find(|(known, _)| *known == function).map(|(_, column)| *column)
    }

    /// Returns the first of the columns of functions that multiply single bins.
    pub(super) fn first(&self, functions: &[u32]) -> Option<usize> {
        self.by_bin.iter().find(|(known, _)| known == functions).map(|(_, column)| *column)
    }
}

/// Adds the operations of all functions to `arena`. Returns the structure that refers to them and the number of components of
/// all results, or a null offset for models without functions. `has_own` says for each parameter whether it acts on expected
/// yields without a function too.
pub(super) fn put(
    plan: &Plan,
    arena: &mut Arena,
    columns: &Columns,
    has_own: &dyn Fn(usize) -> bool,
) -> (Offset<layout::Functions>, i32) {
    if columns.functions.is_empty() {
        return (Offset::NULL, 0);
    }
    let (mut heads, mut steps, mut singles, mut pairs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut variables, mut places, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    // For each function: its place among all components, and its tape.
    let mut tapes: Vec<(usize, usize, FunctionTape)> = Vec::new();
    let mut start = 0;
    for function in plan.factors.all() {
        // `Plan::why_not_on_gpus` has found no function without a tape.
        let Some(tape) = plan.factors.tape(function) else { continue };
        let first = [steps.len() as i32, variables.len() as i32];
        for step in &tape.steps {
            let (code, number) = operation_code(step.operation);
            let single = singles.len() as i32;
            singles.extend(step.first.iter().map(|&v| v as i32));
            let pair = pairs.len() as i32;
            // Second derivatives with respect to one variable come first.
            let put = |mixed: bool, to: &mut Vec<[i32; 2]>| {
                let chosen = step.second.iter().filter(|(v, w)| (v != w) == mixed);
                to.extend(chosen.map(|&(v, w)| [v as i32, w as i32]));
                to.len() as i32
            };
            let diagonal = put(false, &mut pairs);
            let end = put(true, &mut pairs);
            steps.push(layout::FunctionStep {
                code,
                to: (start + step.to) as i32,
                operands: step.operands.map(|at| (start + at) as i32),
                first: [single, singles.len() as i32],
                second: [pair, diagonal, end],
                n_variables: tape.parameters.len() as i32,
                padding: 0,
                number,
            });
        }
        variables.extend(tape.variables.iter().map(|&(place, p)| [(start + place) as i32, p as i32]));
        for &(place, number) in &tape.numbers {
            places.push(start + place);
            numbers.push(number);
        }
        heads.push([first[0], steps.len() as i32, first[1], variables.len() as i32]);
        let components = tape.components;
        tapes.push((function, start, tape));
        start += components;
    }
    let of = |function: usize| tapes.iter().find(|(known, ..)| *known == function);
    let results = columns.functions.iter().filter_map(|&function| of(function));
    let results: Vec<[i32; 2]> = results
        .map(|(_, start, tape)| [(start + tape.result) as i32, tape.parameters.len() as i32])
        .collect();
    let (mut lists, mut slopes) = (Vec::new(), Vec::new());
    for p in 0..columns.n_params {
        let first = slopes.len() as i32;
        for (column, &function) in columns.functions.iter().enumerate() {
            let Some((_, start, tape)) = of(function) else { continue };
            let Ok(v) = tape.parameters.binary_search(&p) else { continue };
            let result = start + tape.result;
            slopes.push([
                (columns.n_params + column) as i32,
                (result + 1 + v) as i32,
                (result + tape.pair(v, v)) as i32,
                v as i32,
            ]);
        }
        if slopes.len() as i32 > first {
            lists.push([first, slopes.len() as i32, p as i32, i32::from(has_own(p))]);
        }
    }
    let mut list_of = vec![-1; columns.n_params];
    for (i, list) in lists.iter().enumerate() {
        if let Some(place) = usize::try_from(list[2]).ok().and_then(|p| list_of.get_mut(p)) {
            *place = i as i32;
        }
    }
    let functions = layout::Functions {
        n_functions: heads.len() as i32,
        n_columns: results.len() as i32,
        n_params: lists.len() as i32,
        n_components: start as i32,
        n_fixed: places.len() as i32,
        padding: 0,
        function: arena.put(&heads),
        step: arena.put(&steps),
        single: arena.put(&singles),
        pair: arena.put(&pairs),
        variable: arena.put(&variables),
        fixed_place: arena.put_indices(places),
        fixed_number: arena.put(&numbers),
        column: arena.put(&results),
        param: arena.put(&lists),
        list_of: arena.put(&list_of),
        slope: arena.put(&slopes),
    };
    (arena.put(&[functions]), start as i32)
}
