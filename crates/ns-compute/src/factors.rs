//! Functions of parameters that are factors of samples: their values and derivatives at one point.
//!
//! A block (one sample in one channel) has at most one such factor `F` for all bins, and at most one for each single bin.
//! Several functions of a sample are replaced by their product. A function that many blocks share is evaluated once per point.

use ns_core::{Function, FunctionForm, Modifier, Value};

use crate::events::{FunctionMemory, FunctionTape, Functions};
use crate::simd::Level;

/// The factor of a block (one sample in one channel) that is a function of parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockFunction {
    /// Index of the function in [`FactorFunctions`].
    pub(crate) index: usize,
    /// Index in `Structure::function_slot` of the position, among the parameters of the block, of the function's first
    /// parameter.
    pub(crate) slots: usize,
}

/// The compiled functions of a model that are factors of samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactorFunctions {
    functions: Functions,
    /// Indices of the functions that are evaluated, in this order: factors, and functions that factors depend on.
    order: Vec<usize>,
    /// Indices of the functions that are factors, in ascending order.
    factors: Vec<usize>,
    /// Functions that are products of the factors of a sample or a bin, with their indices.
    products: Vec<(usize, Function)>,
    /// Parameters at whose value 0 a factor has a kink, in ascending order.
    kinks: Vec<usize>,
    /// The same functions with values and first derivatives only. Empty until [`Self::finish`].
    slopes: Functions,
}

/// Values and derivatives of the factors at one point per lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneFactors {
    at: FunctionMemory,
    /// For each function and lane, the derivative of `-ln L` with respect to the value of the function.
    pub(crate) slopes: Vec<f64>,
    /// Whether second derivatives are computed.
    second: bool,
}

/// Values and derivatives of the factors at one point.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactorMemory {
    /// The functions at the point.
    pub(crate) at: FunctionMemory,
    /// For each function, the derivative of `-ln L` with respect to its value.
    pub(crate) slopes: Vec<f64>,
    /// The functions at a point just above the kinks, and this point.
    beside: FunctionMemory,
    point: Vec<f64>,
    /// Product `R` of the other scalar factors of the current block (one sample in one channel).
    pub(crate) rest: f64,
    /// For each parameter of the current block: `dR/dp`, `F dR/dp` and `dF/dp`.
    pub(crate) slot: [Vec<f64>; 3],
}

impl FactorFunctions {
    /// Compiles the functions of a model. [`Self::factor`] chooses those that are evaluated.
    pub(crate) fn new(functions: &[Function]) -> Self {
        Self { functions: Functions::new(functions).with_squares(), ..Self::default() }
    }

    /// Returns the factors that a sample has in a channel with `n_bins` bins: the index of the function that multiplies all
    /// bins, and the indices of the functions that multiply single bins, one per bin.
    pub(crate) fn of_sample(&mut self, modifiers: &[Modifier], n_bins: usize) -> (Option<usize>, Vec<usize>) {
        let (mut whole, mut by_bin) = (Vec::new(), vec![Vec::new(); n_bins]);
        for values in modifiers.iter().filter_map(Modifier::function) {
            match values {
                [one] => whole.push(*one),
                _ => by_bin.iter_mut().zip(values).for_each(|(list, &value)| list.push(value)),
            }
        }
        let by_bin = if by_bin.first().is_some_and(|list| !list.is_empty()) { by_bin } else { Vec::new() };
        let whole = (!whole.is_empty()).then(|| self.factor(whole));
        (whole, by_bin.into_iter().map(|list| self.factor(list)).collect())
    }

    /// Returns the index of the function that is the product of the values `list`, and lets this function be evaluated.
    fn factor(&mut self, mut list: Vec<Value>) -> usize {
        let index = match list.as_slice() {
            [Value::Function(one)] => *one,
            _ => {
                list.sort_by_key(|value| format!("{value:?}"));
                let form = FunctionForm::Product(list);
                let function = Function { name: String::new(), form };
                let known = self.products.iter().find(|(_, known)| *known == function);
                known.map(|(index, _)| *index).unwrap_or_else(|| {
                    let index = self.functions.push(&function);
                    self.products.push((index, function));
                    index
                })
            }
        };
        if let Err(at) = self.factors.binary_search(&index) {
            self.factors.insert(at, index);
        }
        let mut needed = self.order.clone();
        let mut open = vec![index];
        while let Some(function) = open.pop() {
            if !needed.contains(&function) {
                needed.push(function);
                open.extend(self.functions.inputs(function));
            }
        }
        // A function uses functions with smaller indices only.
        needed.sort_unstable();
        self.order = needed;
        index
    }

    /// Completes the functions after [`Self::of_sample`] was called for all samples. `kinks` are the parameters at whose
    /// value 0 a function may have a kink.
    pub(crate) fn finish(&mut self, kinks: &[usize]) {
        let has = |p: &usize| self.factors.iter().any(|&f| self.parameters(f).contains(p));
        self.kinks = kinks.iter().copied().filter(has).collect();
        if !self.is_empty() {
            self.slopes = self.functions.without_second();
        }
    }

    /// Iterates over the indices of all parameters of factors. A parameter occurs once for each factor.
    pub(crate) fn all_parameters(&self) -> impl Iterator<Item = usize> {
        self.factors.iter().flat_map(|&function| self.parameters(function).iter().copied())
    }

    /// Returns whether no function is a factor.
    pub(crate) fn is_empty(&self) -> bool {
        self.factors.is_empty()
    }

    /// Returns the indices of the parameters of a function, in ascending order.
    pub(crate) fn parameters(&self, function: usize) -> &[usize] {
        self.functions.parameters(function)
    }

    /// Returns the indices of the parameters in which a factor is not linear, in ascending order.
    pub(crate) fn bent_parameters(&self) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.factors.iter().flat_map(|&function| self.functions.bent_parameters(function)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Allocates the memory for evaluations. `slots` is the largest number of parameters of a block.
    pub(crate) fn memory(&self, slots: usize) -> FactorMemory {
        if self.is_empty() {
            return FactorMemory::default();
        }
        FactorMemory {
            at: self.functions.memory(),
            slopes: vec![0.0; self.functions.len()],
            beside: if self.kinks.is_empty() { FunctionMemory::default() } else { self.functions.memory() },
            point: Vec::new(),
            rest: 0.0,
            slot: std::array::from_fn(|_| vec![0.0; slots]),
        }
    }

    /// Allocates the memory for evaluations at `lanes` points at once, with second derivatives if `second` is true.
    pub(crate) fn lane_memory(&self, lanes: usize, second: bool) -> LaneFactors {
        if self.is_empty() {
            return LaneFactors::default();
        }
        let at = self.functions.memory_of_points(lanes);
        LaneFactors { at, slopes: vec![0.0; self.functions.len() * lanes], second }
    }

    /// Evaluates all factors, with their derivatives, at one point per lane. The index order of `theta` is parameter, lane.
    pub(crate) fn evaluate_lanes(&self, level: Level, theta: &[f64], lanes: usize, memory: &mut LaneFactors) {
        let functions = if memory.second { &self.functions } else { &self.slopes };
        functions.evaluate_points(level, (theta, lanes), &self.order, &mut memory.at);
    }

    /// Returns a function at the last points of [`Self::evaluate_lanes`]. The index order is component (value, first
    /// derivatives, second derivatives), lane.
    #[inline(always)]
    pub(crate) fn in_lanes<'a>(&self, function: usize, memory: &'a LaneFactors) -> &'a [f64] {
        self.functions.result(function, &memory.at)
    }

    /// Adds the derivatives of `-ln L` through the functions to `gradient`, whose index order is parameter, lane.
    /// `memory.slopes` contains the derivatives with respect to the values of the functions.
    pub(crate) fn pull_back_lanes(&self, memory: &LaneFactors, lanes: usize, gradient: &mut [f64]) {
        for &function in &self.factors {
            let own = self.in_lanes(function, memory).chunks_exact(lanes).skip(1);
            let slopes = &memory.slopes[function * lanes..][..lanes];
            for (&p, derivative) in self.parameters(function).iter().zip(own) {
                let sums = &mut gradient[p * lanes..][..lanes];
                for ((sum, slope), derivative) in sums.iter_mut().zip(slopes).zip(derivative) {
                    *sum += slope * derivative;
                }
            }
        }
    }

    /// Returns the operations of a function for another device, or `None` if devices have no code for one of them.
    pub(crate) fn tape(&self, function: usize) -> Option<FunctionTape> {
        FunctionTape::new(&self.functions, function)
    }

    /// Returns the number of functions, of which only some are factors.
    pub(crate) fn len(&self) -> usize {
        self.functions.len()
    }

    /// Iterates over the indices of the functions that are factors, in ascending order.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> {
        self.factors.iter().copied()
    }

    /// Returns whether a factor has branches, at which its derivatives may jump (`abs`, `min`, `max`, `a ? b : c`).
    pub(crate) fn has_branches(&self) -> bool {
        self.functions.have_branches(&self.order)
    }

    /// Writes the branches that the factors take at `theta`.
    pub(crate) fn branches(
        &self,
        level: Level,
        theta: &[f64],
        memory: &mut FactorMemory,
        to: &mut Vec<bool>,
    ) {
        self.evaluate(level, theta, memory);
        self.functions.branches(&self.order, &memory.at, to);
    }

    /// Returns third derivatives of all functions at `theta`, twice along `direction`. The index order is parameter, function;
    /// the list of a parameter of no factor is empty. Returns `None` if an operation of a function has no third derivative.
    pub(crate) fn third(&self, theta: &[f64], direction: &[f64]) -> Option<Vec<Vec<f64>>> {
        let mut all = vec![Vec::new(); theta.len()];
        for p in self.all_parameters() {
            if all[p].is_empty() {
                all[p] = self.functions.third(theta, direction, p, &self.order)?;
            }
        }
        Some(all)
    }

    /// Allocates the memory for evaluations at one point, unless `memory` is such memory.
    pub(crate) fn fit_memory(&self, memory: &mut FactorMemory) {
        if memory.slopes.len() != self.functions.len() {
            *memory = self.memory(0);
        }
    }

    /// Evaluates all factors, with their derivatives, at the point `theta`.
    pub(crate) fn evaluate(&self, level: Level, theta: &[f64], memory: &mut FactorMemory) {
        self.functions.evaluate_some(level, theta, &self.order, &mut memory.at);
    }

    /// Returns the value of a function at the last point.
    #[inline(always)]
    pub(crate) fn value(&self, function: usize, memory: &FactorMemory) -> f64 {
        self.functions.result(function, &memory.at)[0]
    }

    /// Returns the value of a function, its first derivatives with respect to its parameters, and its second derivatives
    /// (at the indices that [`crate::events::pair`] gives).
    #[inline(always)]
    pub(crate) fn result<'a>(&self, function: usize, at: &'a FunctionMemory) -> &'a [f64] {
        self.functions.result(function, at)
    }

    /// Adds the derivatives of `-ln L` through the functions to `gradient`. `memory.slopes` contains the derivatives with
    /// respect to the values of the functions.
    pub(crate) fn pull_back(&self, memory: &FactorMemory, gradient: &mut [f64]) {
        for &function in &self.factors {
            let slope = memory.slopes[function];
            let own = &self.functions.result(function, &memory.at)[1..];
            for (&p, derivative) in self.parameters(function).iter().zip(own) {
                gradient[p] += slope * derivative;
            }
        }
    }

    /// Adds half of the jump of each derivative of `-ln L` across a kink of a function to `jump`, for the parameters whose
    /// value is 0.
    pub(crate) fn jumps(&self, level: Level, theta: &[f64], memory: &mut FactorMemory, jump: &mut [f64]) {
        if !self.kinks.iter().any(|&p| theta[p] == 0.0) {
            return;
        }
        memory.point.clear();
        memory.point.extend_from_slice(theta);
        for &p in self.kinks.iter().filter(|&&p| theta[p] == 0.0) {
            memory.point[p] = f64::MIN_POSITIVE;
        }
        self.functions.evaluate_some(level, &memory.point, &self.order, &mut memory.beside);
        for &function in &self.factors {
            let slope = memory.slopes[function];
            let (here, beside) = (
                self.functions.result(function, &memory.at),
                self.functions.result(function, &memory.beside),
            );
            for (i, &p) in self.parameters(function).iter().enumerate() {
                if theta[p] == 0.0 && self.kinks.binary_search(&p).is_ok() {
                    jump[p] += slope * (beside[1 + i] - here[1 + i]);
                }
            }
        }
    }
}
