//! Functions of parameters as lists of operations for another device.
#![cfg_attr(
    not(any(feature = "cuda", feature = "cuda-on-host")),
    allow(dead_code, reason = "only builds with devices upload functions")
)]

use super::offload::{Operation, operation};
use super::program::{Slot, Step, components, pair};
use super::sources::Functions;

/// One operation of a [`FunctionTape`]. Operands and results are given by the index of their first component.
#[derive(Debug, Clone)]
pub(crate) struct TapeStep {
    pub(crate) operation: Operation,
    /// Index of the first component of the result.
    pub(crate) to: usize,
    /// Index of the first component of each operand; 0 for missing operands.
    pub(crate) operands: [usize; 3],
    /// Variables for which the first derivative of the result may differ from zero.
    pub(crate) first: Vec<usize>,
    /// Pairs of variables for which the second derivative of the result may differ from zero.
    pub(crate) second: Vec<(usize, usize)>,
}

/// A function of parameters, together with the functions that it uses, as one list of operations. Each result has the
/// components of a program's result: the value, the first and the second derivatives with respect to the variables.
/// Components that no operation writes are zero.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionTape {
    /// Indices of the parameters that are the variables, in ascending order.
    pub(crate) parameters: Vec<usize>,
    pub(crate) steps: Vec<TapeStep>,
    /// For each variable that is used, the index of its value and the parameter.
    pub(crate) variables: Vec<(usize, usize)>,
    /// Components that are the same at all points: the index, and the number.
    pub(crate) numbers: Vec<(usize, f64)>,
    /// Number of components of all results.
    pub(crate) components: usize,
    /// Index of the function's value. Its derivatives follow.
    pub(crate) result: usize,
}

/// A tape that is being built from functions.
struct Builder<'a> {
    functions: &'a Functions,
    tape: FunctionTape,
    /// Functions that are part of the tape already, with the places of their results.
    known: Vec<(usize, usize)>,
    /// The place of the value of each variable, if the tape uses it already.
    places: Vec<Option<usize>>,
}

impl FunctionTape {
    /// Returns the tape of the function with the index `function`. Returns `None` if devices have no code for one of its
    /// operations.
    pub(crate) fn new(functions: &Functions, function: usize) -> Option<Self> {
        let parameters = functions.parameters(function).to_vec();
        let places = vec![None; parameters.len()];
        let tape = Self { parameters, ..Self::default() };
        let mut builder = Builder { functions, tape, known: Vec::new(), places };
        let result = builder.function(function)?;
        Some(Self { result, ..builder.tape })
    }

    /// Returns the index, relative to a result, of its second derivative with respect to the variables `i` and `j`.
    pub(crate) fn pair(&self, i: usize, j: usize) -> usize {
        pair(self.parameters.len(), i, j)
    }
}

impl Builder<'_> {
    /// Returns the place of a new result.
    fn place(&mut self) -> usize {
        let place = self.tape.components;
        self.tape.components += components(self.tape.parameters.len());
        place
    }

    /// Returns the place of a variable's value.
    fn variable(&mut self, position: usize) -> Option<usize> {
        if let Some(Some(known)) = self.places.get(position) {
            return Some(*known);
        }
        let place = self.place();
        *self.places.get_mut(position)? = Some(place);
        self.tape.variables.push((place, *self.tape.parameters.get(position)?));
        self.tape.numbers.push((place + 1 + position, 1.0));
        Some(place)
    }

    /// Appends the operations of a function, unless they are on the tape already. Returns the place of its result.
    fn function(&mut self, function: usize) -> Option<usize> {
        if let Some((_, known)) = self.known.iter().find(|(f, _)| *f == function) {
            return Some(*known);
        }
        let plan = self.functions.plans.get(function)?;
        let own: Option<Vec<usize>> =
            plan.parameters.iter().map(|p| self.tape.parameters.binary_search(p).ok()).collect();
        let own = own?;
        let mut places: Vec<usize> = Vec::new();
        for (slot, (step, _)) in plan.program().all_steps().enumerate() {
            let place = match step {
                Step::Number(x) => {
                    let place = self.place();
                    self.tape.numbers.push((place, x));
                    place
                }
                Step::Variable(v) => self.variable(*own.get(v)?)?,
                Step::Input(i) => self.function(plan.input(i)?)?,
                other => {
                    let at = |slot: Slot| places.get(slot).copied();
                    let (operation, operands) = operation(other, at, 0)?;
                    let active = plan.program().active(slot)?;
                    let first = active.first.iter().filter_map(|&v| own.get(v).copied()).collect();
                    let pairs = active.second.iter().filter_map(|&(v, w)| {
                        let (v, w) = (*own.get(v)?, *own.get(w)?);
                        Some((v.max(w), v.min(w)))
                    });
                    let second = pairs.collect();
                    let to = self.place();
                    self.tape.steps.push(TapeStep { operation, to, operands, first, second });
                    to
                }
            };
            places.push(place);
        }
        let result = places.last().copied()?;
        self.known.push((function, result));
        Some(result)
    }
}
