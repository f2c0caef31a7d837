//! Values and derivatives of functions of parameters at one point, outside of fits.

use ns_core::{EventModelError, Function, Model};

use crate::events::{FunctionMemory, Functions};
use crate::simd::Level;

/// Compiled functions of parameters, with memory for their evaluation.
#[derive(Debug)]
pub struct FunctionValues {
    functions: Functions,
    order: Vec<usize>,
    memory: FunctionMemory,
    level: Level,
}

/// The value of a function at one point, with its derivatives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FunctionValue {
    /// Value of the function.
    pub value: f64,
    /// First derivatives. Each element contains the index of a parameter, and the derivative with respect to it.
    /// Parameters on which the function does not depend are left out.
    pub gradient: Vec<(usize, f64)>,
}

impl FunctionValues {
    /// Compiles the functions of a model and `more` functions, which may use those of the model.
    ///
    /// # Errors
    /// If a function uses a parameter or a function that does not exist.
    pub fn new(model: &Model, more: &[Function]) -> Result<Self, EventModelError> {
        let functions: Vec<Function> = model.functions.iter().chain(more).cloned().collect();
        Model { functions: functions.clone(), ..model.clone() }.check_events()?;
        let functions = Functions::new(&functions);
        let memory = functions.memory();
        Ok(Self { order: (0..functions.len()).collect(), functions, memory, level: Level::detect() })
    }

    /// Evaluates all functions at the point `theta`, which has one element per parameter of the model.
    pub fn evaluate(&mut self, theta: &[f64]) {
        self.functions.evaluate_some(self.level, theta, &self.order, &mut self.memory);
    }

    /// Returns a function at the last point of [`Self::evaluate`]. `function` is the index of the function: those of the
    /// model come first.
    #[must_use]
    pub fn get(&self, function: usize) -> Option<FunctionValue> {
        if function >= self.functions.len() {
            return None;
        }
        let result = self.functions.result(function, &self.memory);
        let own = self.functions.parameters(function).iter().copied();
        Some(FunctionValue {
            value: result.first().copied()?,
            gradient: own.zip(result.iter().skip(1).copied()).collect(),
        })
    }
}
