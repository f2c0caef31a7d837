//! Converts the description of an event channel to the structures that kernels read.

use super::super::arena::Arena;
use super::layout::{self, EventCode, EventLeaf, EventStep, LeafKind};
use super::rows::Rows;
use crate::events::{LeafSteps, Offload, Operand, Operation, OwnKernel, Table, UnaryOperation};

/// Lists of operations and variables that are uploaded. The description of each density refers to ranges of these
/// lists.
#[derive(Debug, Default)]
struct Lists {
    steps: Vec<EventStep>,
    singles: Vec<i32>,
    pairs: Vec<[i32; 2]>,
}

impl Lists {
    /// Appends variables to the list of variables, and returns their range in it.
    fn singles(&mut self, variables: &[usize]) -> [i32; 2] {
        let first = self.singles.len() as i32;
        self.singles.extend(variables.iter().map(|&v| v as i32));
        [first, self.singles.len() as i32]
    }

    /// Appends pairs of variables to the list of pairs, and returns their range in it.
    fn pairs(&mut self, pairs: &[(usize, usize)]) -> [i32; 2] {
        let first = self.pairs.len() as i32;
        self.pairs.extend(pairs.iter().map(|&(v, w)| [v as i32, w as i32]));
        [first, self.pairs.len() as i32]
    }
}

/// Adds the lists of a channel's operations and variables to `arena`. Returns the structure that refers to these lists.
pub(super) fn channel(offload: &Offload, rows: &Rows, arena: &mut Arena) -> layout::EventChannel {
    let mut lists = Lists::default();
    let leaves: Vec<EventLeaf> = offload.leaves.iter().map(|of| leaf(of, &mut lists)).collect();
    let mut term_leaves = Vec::new();
    let mut terms = Vec::new();
    for term in &offload.terms {
        let first = term_leaves.len() as i32;
        term_leaves.extend(term.iter().map(|&leaf| leaf as i32));
        terms.push([first, term_leaves.len() as i32]);
    }
    let tables: Vec<layout::EventTable> = offload.tables.iter().map(|of| table(of, arena)).collect();
    layout::EventChannel {
        n_terms: terms.len() as i32,
        n_leaves: leaves.len() as i32,
        n_coordinates: offload.coordinates as i32,
        n_components: offload.event_components as i32,
        leaves: arena.put(&leaves),
        steps: arena.put(&lists.steps),
        singles: arena.put(&lists.singles),
        pairs: arena.put(&lists.pairs),
        terms: arena.put(&terms),
        term_leaves: arena.put(&term_leaves),
        tables: arena.put(&tables),
        n_bends: rows.n_bends as i32,
        n_outputs: rows.outputs.len() as i32,
        bends: arena.put(&rows.bends),
        outputs: arena.put(&rows.outputs),
    }
}

/// Returns the number of the code of an operation that reads neither observables nor tables, and its constant exponent.
pub(in crate::device) fn operation_code(operation: Operation) -> (i32, f64) {
    let (code, _, _, number) = code(operation);
    (code as i32, number)
}

fn operand(of: Operand) -> i32 {
    match of {
        Operand::Event(at) => at as i32,
        Operand::Number(at) => -1 - at as i32,
    }
}

fn leaf(of: &LeafSteps, lists: &mut Lists) -> EventLeaf {
    let first = lists.steps.len() as i32;
    for step in &of.steps {
        let (code, source, row, number) = code(step.step);
        let own = EventStep {
            code: code as i32,
            to: step.to as i32,
            operands: step.operands.map(operand),
            source: source as i32,
            row: row as i32,
            first: lists.singles(&step.first),
            second: lists.pairs(&step.second),
            padding: 0,
            number,
        };
        lists.steps.push(own);
    }
    let (kind, numbers, observable, axis) = match of.own {
        None => (LeafKind::Program, 0, 0, [0.0; 2]),
        Some((OwnKernel::Gaussian { observable }, numbers)) => {
            (LeafKind::Gaussian, numbers, observable, [0.0; 2])
        }
        Some((OwnKernel::Exponential { observable, axis }, numbers)) => {
            (LeafKind::Exponential, numbers, observable, [axis.0, axis.1])
        }
    };
    EventLeaf {
        n_variables: of.variables as i32,
        first: of.first as i32,
        steps: [first, lists.steps.len() as i32],
        result: operand(of.result),
        singles: lists.singles(&of.ones),
        pairs: lists.pairs(&of.pairs),
        kind: kind as i32,
        numbers: numbers as i32,
        observable: observable as i32,
        axis,
    }
}

/// Returns four properties of an operation: its code, the index of the observable or table from which it reads, the
/// index of its row in the table, and its constant exponent. Properties that the operation does not have are 0.
fn code(operation: Operation) -> (EventCode, usize, usize, f64) {
    let plain = |code| (code, 0, 0, 0.0);
    match operation {
        Operation::Observable(x) => (EventCode::Observable, x, 0, 0.0),
        Operation::Table(table, row) => (EventCode::Table, table, row, 0.0),
        Operation::Add => plain(EventCode::Add),
        Operation::Sub => plain(EventCode::Sub),
        Operation::Mul => plain(EventCode::Mul),
        Operation::Div => plain(EventCode::Div),
        Operation::Pow => plain(EventCode::Pow),
        Operation::Atan2 => plain(EventCode::Atan2),
        Operation::Less => plain(EventCode::Less),
        Operation::LessEqual => plain(EventCode::LessEqual),
        Operation::Equal => plain(EventCode::Equal),
        Operation::Select => plain(EventCode::Select),
        Operation::Unary(unary, number) => {
            let code = match unary {
                UnaryOperation::Neg => EventCode::Neg,
                UnaryOperation::Exp => EventCode::Exp,
                UnaryOperation::Ln => EventCode::Ln,
                UnaryOperation::Sqrt => EventCode::Sqrt,
                UnaryOperation::Abs => EventCode::Abs,
                UnaryOperation::Sin => EventCode::Sin,
                UnaryOperation::Cos => EventCode::Cos,
                UnaryOperation::Tan => EventCode::Tan,
                UnaryOperation::Asin => EventCode::Asin,
                UnaryOperation::Acos => EventCode::Acos,
                UnaryOperation::Atan => EventCode::Atan,
                UnaryOperation::Asinh => EventCode::Asinh,
                UnaryOperation::Erf => EventCode::Erf,
                UnaryOperation::Erfc => EventCode::Erfc,
                UnaryOperation::Sinh => EventCode::Sinh,
                UnaryOperation::Cosh => EventCode::Cosh,
                UnaryOperation::Tanh => EventCode::Tanh,
                UnaryOperation::Reciprocal => EventCode::Reciprocal,
                UnaryOperation::Power => EventCode::Power,
            };
            (code, 0, 0, number)
        }
    }
}

fn table(of: &Table, arena: &mut Arena) -> layout::EventTable {
    let axis = |observable: usize, edges: &[f64]| [observable as i32, edges.len() as i32];
    match of {
        Table::Histogram { observables, edges, heights } => {
            let axes: Vec<[i32; 2]> =
                observables.iter().zip(edges).map(|(&x, edges)| axis(x, edges)).collect();
            layout::EventTable {
                is_spline: 0,
                n_axes: axes.len() as i32,
                axes: arena.put(&axes),
                edges: arena.put(&edges.concat()),
                numbers: arena.put(heights),
            }
        }
        Table::Spline { observable, knots, bends } => layout::EventTable {
            is_spline: 1,
            n_axes: 1,
            axes: arena.put(&[axis(*observable, knots)]),
            edges: arena.put(knots),
            numbers: arena.put(bends),
        },
    }
}
