//! The description of an event channel for another device, which computes the sums over events. The description
//! contains the formulas of the leaves (basic densities) as lists of steps, and the numbers that depend on the
//! parameters.
#![cfg_attr(
    not(any(feature = "cuda", feature = "cuda-on-host")),
    allow(dead_code, reason = "only builds with devices upload channels")
)]

use std::sync::Arc;

use ns_core::{EventTable, Special};

use super::channel::ChannelPlan;
use super::kernels::Kernel;
use super::leaf::Leaf;
use super::program::{Binary, Memory, Slot, Sources, Step, Table, Unary, components};
use super::sums::Sums;
use crate::simd::Level;

/// Interface of a device that computes sums over events in place of the CPU.
pub(crate) trait ChannelSums: Send + Sync + std::fmt::Debug {
    /// Computes the sums over the events of one channel. Returns true, or false if the CPU has to compute these sums.
    /// `numbers` are the numbers of the channel that depend on the parameters. [`Offload::numbers`] says how many
    /// there are.
    fn sum(&self, channel: usize, table: &Arc<EventTable>, numbers: &[f64], out: &mut Totals<'_>) -> bool;
}

/// References to the places to which the sums of a channel are written. The arrays have the order of [`Sums`].
#[derive(Debug)]
pub(crate) struct Totals<'a> {
    pub(crate) value: &'a mut f64,
    pub(crate) scale: &'a mut f64,
    pub(crate) gradient: &'a mut [f64],
    pub(crate) squares: &'a mut [f64],
    pub(crate) bends: &'a mut [f64],
    /// Index of the first event whose density is not positive or not finite; `None` if there is no such event.
    pub(crate) bad: &'a mut Option<usize>,
}

impl<'a> Totals<'a> {
    pub(super) fn of(sums: &'a mut Sums) -> Self {
        let Sums { value, scale, gradient, squares, bends, bad, outliers: _ } = sums;
        Self { value, scale, gradient, squares, bends, bad }
    }
}

/// An operand or the result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A result that differs from event to event. It consists of several components: its value and its derivatives.
    /// All such components of the channel are numbered, and the index is that of the result's first component.
    Event(usize),
    /// A result that is the same for all events. Its components are among the numbers of the channel that depend on
    /// the parameters, and the index is that of its first component there.
    Number(usize),
}

/// One step of a formula, which is computed for each event.
#[derive(Debug, Clone)]
pub(crate) struct EventStep {
    pub(crate) step: Operation,
    /// Index of the first component (the value) of the result among all components that differ from event to event,
    /// as in [`Operand::Event`].
    pub(crate) to: usize,
    pub(crate) operands: [Operand; 3],
    /// Variables for which the first derivative of the result may differ from zero.
    pub(crate) first: Vec<usize>,
    /// Pairs of variables for which the second derivative of the result may differ from zero.
    pub(crate) second: Vec<(usize, usize)>,
}

/// The operation of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Observable(usize),
    /// A function that is given by a table: index of the table in the channel, and index of the row in the table.
    Table(usize, usize),
    Add,
    Sub,
    Mul,
    Unary(UnaryOperation, f64),
    Div,
    Pow,
    Atan2,
    Less,
    LessEqual,
    Equal,
    Select,
}

/// Functions of one number for which other devices have code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOperation {
    Neg,
    Exp,
    Ln,
    Sqrt,
    Abs,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Asinh,
    Erf,
    Erfc,
    Sinh,
    Cosh,
    Tanh,
    Reciprocal,
    Power,
}

/// A leaf (basic density) for which devices have a function of their own, in place of steps. The CPU has kernels for
/// the same leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OwnKernel {
    /// Gaussian density of an observable. Its mean and width are variables. `observable` is the index of the
    /// observable.
    Gaussian { observable: usize },
    /// Exponential density of an observable whose range is `axis`. Its slope is a variable. `observable` is the index
    /// of the observable.
    Exponential { observable: usize, axis: (f64, f64) },
}

/// The steps that compute one leaf (basic density) of a channel.
#[derive(Debug, Clone)]
pub(crate) struct LeafSteps {
    /// A function that the device uses in place of the steps, and the index of its first variable among the numbers of
    /// the channel. `None` if the device uses the steps.
    pub(crate) own: Option<(OwnKernel, usize)>,
    /// Number of variables of the leaf (basic density).
    pub(crate) variables: usize,
    /// Index of the channel's coordinate that is the first variable of the leaf (basic density).
    pub(crate) first: usize,
    pub(crate) steps: Vec<EventStep>,
    pub(crate) result: Operand,
    /// Variables for which the first derivative of the leaf (basic density) may differ from zero. `pairs` contains the
    /// pairs of variables for which the second derivative may differ from zero.
    pub(crate) ones: Vec<usize>,
    pub(crate) pairs: Vec<(usize, usize)>,
}

/// The description of a channel that another device uses to compute the sums over its events.
#[derive(Debug, Clone)]
pub(crate) struct Offload {
    /// Number of coordinates of the channel. They are its amplitudes and the variables of its leaves (basic densities).
    /// The sums are differentiated with respect to them.
    pub(crate) coordinates: usize,
    /// Indices of the leaves (basic densities) of each term. The amplitude of term `t` is the element `t` of the
    /// numbers that depend on the parameters.
    pub(crate) terms: Vec<Vec<usize>>,
    pub(crate) leaves: Vec<LeafSteps>,
    pub(crate) tables: Vec<Table>,
    /// Total number of components (values and derivatives) of those results that differ from event to event.
    pub(crate) event_components: usize,
    /// How many numbers of the channel depend on the parameters but not on the event. The amplitudes are among them.
    pub(crate) numbers: usize,
}

/// Working memory for one channel. It contains those values that must be computed again when the parameters change.
#[derive(Debug, Clone, Default)]
pub(super) struct OffloadMemory {
    leaves: Vec<Memory>,
    variables: Vec<f64>,
    pub(super) numbers: Vec<f64>,
}

impl Offload {
    /// Returns the description of a channel. Returns `None` if the CPU must compute the sums over its events. This is
    /// the case if a formula uses a function for which other devices have no code, if a density has a context (further
    /// numbers on which it depends), or if means over bins replace the densities.
    pub(super) fn new(plan: &ChannelPlan) -> Option<Self> {
        if !plan.conditionals.is_empty() {
            return None;
        }
        let mut made = Self {
            coordinates: plan.coordinates,
            terms: plan.terms.iter().map(|term| term.leaves.clone()).collect(),
            leaves: Vec::new(),
            tables: Vec::new(),
            event_components: 0,
            numbers: plan.terms.len(),
        };
        // Means over bins are computed once per point; after that they are only looked up. Another device would not
        // be faster.
        if plan.leaves.iter().any(Leaf::is_of_bins) {
            return None;
        }
        for (leaf, &first) in plan.leaves.iter().zip(&plan.first) {
            let own = made.leaf(leaf, first)?;
            made.leaves.push(own);
        }
        Some(made)
    }

    fn leaf(&mut self, leaf: &Leaf, first: usize) -> Option<LeafSteps> {
        let program = leaf.program();
        let size = components(program.variables());
        let (ones, pairs) = leaf.active();
        if let Some(own) = leaf.kernel().and_then(Kernel::on_devices) {
            let (variables, result) = (program.variables(), Operand::Event(self.event_components));
            let own = Some((own, self.numbers));
            self.event_components += size;
            self.numbers += variables;
            let (ones, pairs) = (ones.to_vec(), pairs.to_vec());
            return Some(LeafSteps { own, variables, first, steps: Vec::new(), result, ones, pairs });
        }
        let first_table = self.tables.len();
        self.tables.extend_from_slice(program.tables());
        let mut places: Vec<Operand> = Vec::new();
        let mut steps = Vec::new();
        for (slot, (step, uniform)) in program.all_steps().enumerate() {
            if uniform {
                places.push(Operand::Number(self.numbers));
                self.numbers += size;
                continue;
            }
            let to = self.event_components;
            self.event_components += size;
            let active = program.active(slot)?;
            let none = Operand::Number(0);
            let (step, operands) = match step {
                Step::Observable(x) => (Operation::Observable(x), [none; 3]),
                Step::Table(table, row) => (Operation::Table(first_table + table, row), [none; 3]),
                other => operation(other, |slot| places.get(slot).copied(), none)?,
            };
            let (ones, pairs) = (active.first.clone(), active.second.clone());
            steps.push(EventStep { step, to, operands, first: ones, second: pairs });
            places.push(Operand::Event(to));
        }
        Some(LeafSteps {
            own: None,
            variables: program.variables(),
            first,
            steps,
            result: places.last().copied()?,
            ones: ones.to_vec(),
            pairs: pairs.to_vec(),
        })
    }
}

/// Computes the numbers of a channel that depend on the parameters, and writes them to `memory.numbers`. First come
/// the amplitudes of the terms. Then come the numbers of each leaf (basic density). If devices have a function of
/// their own for the leaf, these are the values of its variables. Otherwise they are those results of its steps that
/// are the same for all events, with their derivatives.
pub(super) fn compute_numbers(
    level: Level,
    plan: &ChannelPlan,
    (locals, amplitudes): (&[f64], &[f64]),
    memory: &mut OffloadMemory,
) {
    if memory.leaves.is_empty() {
        let memory_of = |leaf: &Leaf| match leaf.kernel().and_then(Kernel::on_devices) {
            Some(_) => Memory::default(),
            None => Memory::new(leaf.program(), 1),
        };
        memory.leaves = plan.leaves.iter().map(memory_of).collect();
    }
    let OffloadMemory { leaves, variables, numbers } = memory;
    numbers.clear();
    numbers.extend_from_slice(amplitudes);
    for (leaf, own) in plan.leaves.iter().zip(leaves) {
        variables.clear();
        variables.extend(leaf.variables.iter().map(|&local| locals[local]));
        if leaf.kernel().and_then(Kernel::on_devices).is_some() {
            numbers.extend_from_slice(variables);
            continue;
        }
        let program = leaf.program();
        program.prepare(level, Sources::of(variables), own);
        for (slot, (_, uniform)) in program.all_steps().enumerate() {
            if uniform {
                numbers.extend_from_slice(own.components(program, slot));
            }
        }
    }
}

/// Returns the operation that other devices do for a step, and its operands: `at` returns the operand that is the result in a
/// slot, and `none` is a missing operand. Returns `None` if the kernels have no code for the step.
pub(super) fn operation<T: Copy>(
    step: Step,
    at: impl Fn(Slot) -> Option<T>,
    none: T,
) -> Option<(Operation, [T; 3])> {
    Some(match step {
        Step::Add(a, b) => (Operation::Add, [at(a)?, at(b)?, none]),
        Step::Sub(a, b) => (Operation::Sub, [at(a)?, at(b)?, none]),
        Step::Mul(a, b) => (Operation::Mul, [at(a)?, at(b)?, none]),
        Step::Unary(unary, a) => {
            let (unary, power) = unary_operation(unary)?;
            (Operation::Unary(unary, power), [at(a)?, none, none])
        }
        Step::Binary(Binary::Div, a, b) => (Operation::Div, [at(a)?, at(b)?, none]),
        Step::Binary(Binary::Pow, a, b) => (Operation::Pow, [at(a)?, at(b)?, none]),
        Step::Binary(Binary::Atan2, a, b) => (Operation::Atan2, [at(a)?, at(b)?, none]),
        Step::Less(a, b) => (Operation::Less, [at(a)?, at(b)?, none]),
        Step::LessEqual(a, b) => (Operation::LessEqual, [at(a)?, at(b)?, none]),
        Step::Equal(a, b) => (Operation::Equal, [at(a)?, at(b)?, none]),
        Step::Select(condition, a, b) => (Operation::Select, [at(condition)?, at(a)?, at(b)?]),
        // The kernels have no code for these functions, or these steps are no operations.
        Step::Binary(
            Binary::NormalIntegral | Binary::Voigt | Binary::FaddeevaImaginary | Binary::SmearedDecay,
            ..,
        )
        | Step::Number(_)
        | Step::Variable(_)
        | Step::Input(_)
        | Step::Observable(_)
        | Step::Datum(_)
        | Step::Table(..) => return None,
    })
}

fn unary_operation(unary: Unary) -> Option<(UnaryOperation, f64)> {
    let plain = match unary {
        Unary::Neg => UnaryOperation::Neg,
        Unary::Exp => UnaryOperation::Exp,
        Unary::Ln => UnaryOperation::Ln,
        Unary::Sqrt => UnaryOperation::Sqrt,
        Unary::Abs => UnaryOperation::Abs,
        Unary::Sin => UnaryOperation::Sin,
        Unary::Cos => UnaryOperation::Cos,
        Unary::Tan => UnaryOperation::Tan,
        Unary::Asin => UnaryOperation::Asin,
        Unary::Acos => UnaryOperation::Acos,
        Unary::Atan => UnaryOperation::Atan,
        Unary::Asinh => UnaryOperation::Asinh,
        Unary::Reciprocal => UnaryOperation::Reciprocal,
        Unary::Power(p) => return Some((UnaryOperation::Power, p)),
        Unary::Special(Special::Erf) => UnaryOperation::Erf,
        Unary::Special(Special::Erfc) => UnaryOperation::Erfc,
        Unary::Special(Special::Sinh) => UnaryOperation::Sinh,
        Unary::Special(Special::Cosh) => UnaryOperation::Cosh,
        Unary::Special(Special::Tanh) => UnaryOperation::Tanh,
        Unary::Special(Special::Asinh) => UnaryOperation::Asinh,
        Unary::Special(Special::Gamma | Special::LnGamma | Special::BesselJ(_) | Special::Landau)
        | Unary::Decay
        | Unary::Interpolation(_) => return None,
    };
    Some((plain, 0.0))
}
