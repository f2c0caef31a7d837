//! Integrals of densities with context (densities that depend on further numbers), such as flows. The external program
//! that computes the density also computes its integral.

use ns_core::{LogProbError, SharedLogProb};

use super::super::conditional::ContextNumber;
use super::super::program::{components, pair};

/// An integral of a density that an external program computes, such as a flow. The program also computes the
/// integral.
#[derive(Debug, Clone)]
pub(in crate::events) struct ConditionalIntegral {
    pub(in crate::events) source: SharedLogProb,
    /// Ends (lower, upper) of the integration range, for each feature (input of the density).
    pub(in crate::events) sides: Vec<(f64, f64)>,
    /// Number of panels (parts of the range) of the numerical integration. It was chosen at the initial parameters.
    pub(in crate::events) panels: usize,
    /// The context of the density (the numbers on which it depends besides its features): constants and variables of
    /// the integral.
    pub(in crate::events) context: Vec<ContextNumber>,
}

/// Working memory: the integral for the last context (the numbers on which the density depends).
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct ConditionalIntegralMemory {
    context: Vec<f64>,
    /// The integral, and its derivatives with respect to the numbers of the context.
    found: Vec<f64>,
    pub(in crate::events) failure: Option<LogProbError>,
    /// Estimated error of the integral, as a fraction of the integral.
    pub(super) error: f64,
}

impl ConditionalIntegral {
    /// Computes the integral and its derivatives with respect to the variables, and writes them to `out`. After a
    /// failure the integral is NaN, and `memory` contains the error.
    pub(super) fn evaluate(
        &self,
        variables: &[f64],
        memory: &mut ConditionalIntegralMemory,
        out: &mut [f64],
    ) {
        let c = self.context.len();
        let here: Vec<f64> = self.context.iter().map(|number| number.of(variables)).collect();
        if here != memory.context || memory.found.is_empty() || memory.failure.is_some() {
            memory.found.resize(components(c), 0.0);
            let ConditionalIntegralMemory { found, failure, error, context } = memory;
            let done = self.source.0.integral_derivatives(&self.sides, self.panels, &here, found);
            *error = done.as_ref().map_or(f64::INFINITY, |change| change / found[0].abs());
            *failure = done.err();
            *context = here;
        }
        if memory.failure.is_some() {
            out.fill(f64::NAN);
            return;
        }
        let (d, found) = (variables.len(), &memory.found);
        out.fill(0.0);
        out[0] = found[0];
        // Several numbers of the context may be the same variable. Their derivatives are then added.
        for (k, one) in self.context.iter().enumerate() {
            let ContextNumber::Variable(i) = *one else { continue };
            out[1 + i] += found[1 + k];
            for (l, other) in self.context.iter().enumerate() {
                let ContextNumber::Variable(j) = *other else { continue };
                if j <= i {
                    out[pair(d, i, j)] += found[pair(c, k, l)];
                }
            }
        }
    }
}
