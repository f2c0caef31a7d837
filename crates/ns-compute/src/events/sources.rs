//! The values that event channels and penalty terms use: parameters, or functions of parameters.

use ns_core::{Function, FunctionForm, Penalty, Value};

use super::formula;
use super::program::{
    Builder, Components, Input, Inputs, Memory, Program, Slot, Sources, Step, Truncated, Values,
};
use crate::simd::Level;

/// A value that a channel or a penalty term uses: a parameter or a function of parameters.
#[derive(Debug, Clone)]
pub(super) struct Local {
    /// Index of the parameter. `None` if the value is a function.
    pub(super) parameter: Option<usize>,
    /// Index of the function among the functions of the model. It is used only if the value is a function.
    pub(super) function: usize,
    /// For each parameter on which the value depends, the position of the parameter among the parameters of the
    /// channel.
    pub(super) positions: Vec<usize>,
}

/// A compiled function of parameters, or a compiled penalty term.
#[derive(Debug, Clone)]
pub(crate) struct FormulaPlan {
    program: Program,
    /// Indices of the parameters that are the variables of the program, in ascending order.
    pub(super) parameters: Vec<usize>,
    /// Functions whose results are inputs of the program. Each element contains the index of a function, and a list
    /// with one element per parameter on which the function depends: the index of this parameter among the variables
    /// of the program.
    inputs: Vec<(usize, Vec<usize>)>,
}

/// The compiled functions of a model. They are in the same order as in the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Functions {
    pub(super) plans: Vec<FormulaPlan>,
}

/// Values and derivatives of all functions at one point, or at one point per lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionMemory {
    memories: Vec<Memory>,
    variables: Vec<f64>,
}

/// The results of those functions that a formula uses.
#[derive(Debug)]
struct Results<'a> {
    formula: &'a FormulaPlan,
    functions: &'a Functions,
    memories: &'a [Memory],
}

impl Inputs for Results<'_> {
    fn get(&self, i: usize) -> Input<'_> {
        let (f, variables) = &self.formula.inputs[i];
        Input { result: self.memories[*f].value(&self.functions.plans[*f].program), variables }
    }
}

/// The functions of a model, with their values at the initial parameters.
#[derive(Debug)]
pub(super) struct AtStart<'a> {
    functions: &'a Functions,
    theta: Vec<f64>,
    memory: FunctionMemory,
}

impl<'a> AtStart<'a> {
    /// Evaluates all functions at the initial values `theta` of the parameters.
    pub(super) fn new(level: Level, functions: &'a Functions, theta: Vec<f64>) -> Self {
        let mut memory = functions.memory();
        functions.evaluate(level, &theta, &mut memory);
        Self { functions, theta, memory }
    }

    /// Returns the value of a parameter or of a function at the initial parameters of the model.
    pub(super) fn value(&self, value: Value) -> f64 {
        match value {
            Value::Number(x) => x,
            Value::Parameter(p) => self.theta.get(p).copied().unwrap_or(f64::NAN),
            Value::Function(f) => self.functions.result(f, &self.memory)[0],
        }
    }

    /// Returns the indices of the parameters on which a value depends, in ascending order.
    pub(super) fn dependencies(&self, value: Value) -> Vec<usize> {
        self.functions.dependencies(value)
    }

    /// Describes a value (a parameter or a function) for use in a channel. `parameters` contains the indices of the
    /// parameters of the channel.
    pub(super) fn local(&self, value: Value, parameters: &[usize]) -> Local {
        self.functions.local(value, parameters)
    }
}

/// Assigns a slot of a program (the result of one step) to each value of a formula.
struct Slots<'a> {
    known: &'a [FormulaPlan],
    parameters: Vec<usize>,
    functions: Vec<usize>,
}

impl Slots<'_> {
    /// Returns the indices of the parameters on which a value depends.
    fn dependencies(&self, value: Value) -> Vec<usize> {
        match value {
            Value::Number(_) => Vec::new(),
            Value::Parameter(p) => vec![p],
            Value::Function(f) => self.known.get(f).map(|plan| plan.parameters.clone()).unwrap_or_default(),
        }
    }

    fn slot(&mut self, b: &mut Builder, value: Value) -> Slot {
        match value {
            Value::Number(x) => b.number(x),
            Value::Parameter(p) => {
                let variable = self.parameters.iter().position(|&q| q == p).unwrap_or(0);
                b.push(Step::Variable(variable))
            }
            Value::Function(f) => {
                let input = self.functions.iter().position(|&g| g == f).unwrap_or_else(|| {
                    self.functions.push(f);
                    self.functions.len() - 1
                });
                b.push(Step::Input(input))
            }
        }
    }
}

impl FormulaPlan {
    /// Compiles a formula of the given `values`. `known` contains the functions that are compiled already. `build`
    /// appends the steps of the formula to the program and returns the slot of its result.
    fn new(known: &[Self], values: &[Value], build: &dyn Fn(&mut Builder, Values<'_>) -> Slot) -> Self {
        let mut slots = Slots { known, parameters: Vec::new(), functions: Vec::new() };
        slots.parameters = values.iter().flat_map(|&value| slots.dependencies(value)).collect();
        slots.parameters.sort_unstable();
        slots.parameters.dedup();
        let mut b = Builder::default();
        let result = build(&mut b, &mut |b, value| slots.slot(b, value));
        let inputs: Vec<(usize, Vec<usize>)> = slots
            .functions
            .iter()
            .map(|&f| {
                let own = slots.dependencies(Value::Function(f));
                (f, own.iter().filter_map(|p| slots.parameters.iter().position(|q| q == p)).collect())
            })
            .collect();
        let active: Vec<Components> =
            inputs.iter().map(|(_, variables)| Components::of_variables(variables)).collect();
        let program = b.finish(result, slots.parameters.len(), &active);
        Self { program, parameters: slots.parameters, inputs }
    }

    /// Compiles a function. `known` contains the functions that come before it in the model.
    pub(super) fn function(known: &[Self], function: &Function) -> Self {
        Self::new(known, &function.form.values(), &|b, values| match &function.form {
            FunctionForm::Expression(tape) => b.tape(tape, values),
            form => formula::function(b, form, values),
        })
    }

    /// Compiles a penalty term. `known` contains all functions of the model.
    pub(super) fn penalty(known: &[Self], penalty: &Penalty) -> Self {
        Self::new(known, &penalty.form.values(), &|b, values| formula::penalty(b, &penalty.form, values))
    }

    /// Compiles the expected datum of a penalty term that has a datum. `known` contains all functions of the model.
    pub(super) fn expected(known: &[Self], penalty: &Penalty) -> Self {
        Self::new(known, &penalty.form.values(), &|b, values| {
            formula::expected(b, &penalty.form, values).unwrap_or_else(|| b.number(f64::NAN))
        })
    }

    /// Returns the operations of the formula.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the index of the function whose result is an input of the program.
    pub(super) fn input(&self, i: usize) -> Option<usize> {
        self.inputs.get(i).map(|(function, _)| *function)
    }

    /// Compiles a formula that is a single value. `known` contains all functions of the model.
    pub(super) fn value(known: &[Self], value: Value) -> Self {
        Self::new(known, &[value], &|b, values| values(b, value))
    }

    /// Allocates the working memory for evaluations of the formula.
    pub(super) fn memory(&self) -> Memory {
        Memory::new(&self.program, 1)
    }

    /// Evaluates the formula, and returns its value and derivatives. The functions on which it depends must have been
    /// evaluated before.
    pub(super) fn evaluate<'a>(
        &self,
        level: Level,
        theta: &[f64],
        aux: &[f64],
        functions: (&Functions, &[Memory]),
        variables: &mut Vec<f64>,
        memory: &'a mut Memory,
    ) -> &'a [f64] {
        variables.clear();
        variables.extend(self.parameters.iter().map(|&p| theta[p]));
        let (functions, memories) = functions;
        let inputs = Results { formula: self, functions, memories };
        let sources = Sources { variables, inputs: &inputs, data: aux };
        self.program.prepare(level, sources, memory);
        memory.value(&self.program)
    }

    /// Evaluates the formula at one point per lane of the memories. The index order of `theta` is parameter, lane.
    fn at_points(
        &self,
        level: Level,
        theta: &[f64],
        (functions, memories): (&Functions, &[Memory]),
        (variables, lanes): (&mut Vec<f64>, usize),
        memory: &mut Memory,
    ) {
        variables.clear();
        for &p in &self.parameters {
            variables.extend_from_slice(&theta[p * lanes..][..lanes]);
        }
        let inputs = Results { formula: self, functions, memories };
        self.program.at_points(level, Sources { variables, inputs: &inputs, data: &[] }, memory);
    }
}

impl Functions {
    /// Describes a value (a parameter or a function) for use in a channel. `parameters` contains the indices of the
    /// parameters of the channel.
    pub(super) fn local(&self, value: Value, parameters: &[usize]) -> Local {
        let own = self.dependencies(value);
        let positions = own.iter().filter_map(|p| parameters.iter().position(|q| q == p)).collect();
        match value {
            Value::Function(function) => Local { parameter: None, function, positions },
            Value::Parameter(p) => Local { parameter: Some(p), function: 0, positions },
            Value::Number(_) => Local { parameter: None, function: 0, positions },
        }
    }

    /// Compiles the functions of a model.
    pub(crate) fn new(functions: &[Function]) -> Self {
        let mut plans = Vec::with_capacity(functions.len());
        for function in functions {
            plans.push(FormulaPlan::function(&plans, function));
        }
        Self { plans }
    }

    /// Compiles one more function, which may use all functions before it. Returns its index.
    pub(crate) fn push(&mut self, function: &Function) -> usize {
        self.plans.push(FormulaPlan::function(&self.plans, function));
        self.plans.len() - 1
    }

    /// Returns the same functions with products in place of squares, which are faster than powers.
    pub(crate) fn with_squares(&self) -> Self {
        let plan = |plan: &FormulaPlan| FormulaPlan { program: plan.program.with_squares(), ..plan.clone() };
        Self { plans: self.plans.iter().map(plan).collect() }
    }

    /// Returns the number of functions.
    pub(crate) fn len(&self) -> usize {
        self.plans.len()
    }

    /// Returns the indices of the parameters on which a function depends, in ascending order.
    pub(crate) fn parameters(&self, function: usize) -> &[usize] {
        self.plans.get(function).map_or(&[], |plan| &plan.parameters)
    }

    /// Returns the indices of the parameters with respect to which a second derivative of a function may differ from zero.
    pub(crate) fn bent_parameters(&self, function: usize) -> Vec<usize> {
        let Some(plan) = self.plans.get(function) else { return Vec::new() };
        let pairs = plan.program.result().into_iter().flat_map(|active| &active.second);
        pairs.flat_map(|&(i, j)| [i, j]).filter_map(|i| plan.parameters.get(i).copied()).collect()
    }

    /// Iterates over the indices of the functions that a function uses directly.
    pub(crate) fn inputs(&self, function: usize) -> impl Iterator<Item = usize> {
        self.plans.get(function).into_iter().flat_map(|plan| plan.inputs.iter().map(|(f, _)| *f))
    }

    /// Allocates the working memory for evaluations of all functions.
    pub(crate) fn memory(&self) -> FunctionMemory {
        self.memory_of_points(1)
    }

    /// Allocates the working memory for evaluations of all functions at `lanes` points at once.
    pub(crate) fn memory_of_points(&self, lanes: usize) -> FunctionMemory {
        FunctionMemory {
            memories: self.plans.iter().map(|plan| Memory::new(&plan.program, lanes)).collect(),
            variables: Vec::new(),
        }
    }

    /// Returns the same functions without second derivatives: all of them are zero.
    pub(crate) fn without_second(&self) -> Self {
        let plan =
            |plan: &FormulaPlan| FormulaPlan { program: plan.program.without_second(), ..plan.clone() };
        Self { plans: self.plans.iter().map(plan).collect() }
    }

    /// Returns the indices of the parameters on which a value depends, in ascending order.
    pub(super) fn dependencies(&self, value: Value) -> Vec<usize> {
        match value {
            Value::Number(_) => Vec::new(),
            Value::Parameter(p) => vec![p],
            Value::Function(f) => self.plans.get(f).map(|plan| plan.parameters.clone()).unwrap_or_default(),
        }
    }

    /// Evaluates all functions, with their derivatives, at the point `theta`.
    pub(super) fn evaluate(&self, level: Level, theta: &[f64], memory: &mut FunctionMemory) {
        for f in 0..self.plans.len() {
            self.evaluate_one(level, theta, f, memory);
        }
    }

    /// Evaluates the functions with the indices `order`, with their derivatives, at the point `theta`. The functions that
    /// a function uses must come before it.
    pub(crate) fn evaluate_some(
        &self,
        level: Level,
        theta: &[f64],
        order: &[usize],
        memory: &mut FunctionMemory,
    ) {
        for &f in order {
            self.evaluate_one(level, theta, f, memory);
        }
    }

    /// Evaluates the functions with the indices `order`, with their derivatives, at one point per lane: as many as
    /// `memory` has been allocated for. The index order of `theta` is parameter, lane, and that of the results component,
    /// lane. The functions that a function uses must come before it.
    pub(crate) fn evaluate_points(
        &self,
        level: Level,
        (theta, lanes): (&[f64], usize),
        order: &[usize],
        memory: &mut FunctionMemory,
    ) {
        let FunctionMemory { memories, variables } = memory;
        for &f in order {
            let Some(plan) = self.plans.get(f) else { continue };
            let (earlier, rest) = memories.split_at_mut(f);
            if let Some(own) = rest.first_mut() {
                plan.at_points(level, theta, (self, earlier), (variables, lanes), own);
            }
        }
    }

    /// Returns whether one of the functions with the indices `order` has branches.
    pub(crate) fn have_branches(&self, order: &[usize]) -> bool {
        order.iter().any(|&f| self.plans.get(f).is_some_and(|plan| plan.program.has_branches()))
    }

    /// Writes the branches that the functions with the indices `order` took at the last point.
    pub(crate) fn branches(&self, order: &[usize], memory: &FunctionMemory, to: &mut Vec<bool>) {
        to.clear();
        for &f in order {
            if let (Some(plan), Some(memory)) = (self.plans.get(f), memory.memories.get(f)) {
                plan.program.branches(memory, to);
            }
        }
    }

    /// Returns, for each of the functions, the third derivative at `theta` twice along `direction` and once with respect to
    /// parameter `p`. Only the functions with the indices `order` are evaluated. Returns `None` if an operation of one of
    /// them has no third derivative.
    pub(crate) fn third(
        &self,
        theta: &[f64],
        direction: &[f64],
        p: usize,
        order: &[usize],
    ) -> Option<Vec<f64>> {
        let variable = |q: usize| Truncated::new(theta[q], direction[q], f64::from(u8::from(p == q)));
        let mut results: Vec<Option<Truncated>> = vec![None; self.plans.len()];
        for &f in order {
            let plan = self.plans.get(f)?;
            let variables: Vec<Truncated> = plan.parameters.iter().map(|&q| variable(q)).collect();
            let input = |i: usize| plan.inputs.get(i).and_then(|(g, _)| results.get(*g).copied().flatten());
            let result = plan.program.truncated(&variables, &input)?;
            if let Some(place) = results.get_mut(f) {
                *place = Some(result);
            }
        }
        Some(results.into_iter().map(|result| result.map_or(0.0, Truncated::third)).collect())
    }

    fn evaluate_one(&self, level: Level, theta: &[f64], f: usize, memory: &mut FunctionMemory) {
        let FunctionMemory { memories, variables } = memory;
        let Some(plan) = self.plans.get(f) else { return };
        let (earlier, rest) = memories.split_at_mut(f);
        if let Some(own) = rest.first_mut() {
            plan.evaluate(level, theta, &[], (self, earlier), variables, own);
        }
    }

    /// Returns the value and the derivatives of the function with index `f`. [`Functions::evaluate`] must have been
    /// called before.
    pub(crate) fn result<'a>(&self, f: usize, memory: &'a FunctionMemory) -> &'a [f64] {
        memory.memories[f].value(&self.plans[f].program)
    }

    /// Evaluates a penalty term, with its derivatives. [`Functions::evaluate`] must have been called before.
    pub(super) fn penalty<'a>(
        &self,
        level: Level,
        plan: &FormulaPlan,
        theta: &[f64],
        aux: &[f64],
        functions: &mut FunctionMemory,
        memory: &'a mut Memory,
    ) -> &'a [f64] {
        let FunctionMemory { memories, variables } = functions;
        plan.evaluate(level, theta, aux, (self, memories), variables, memory)
    }
}
