//! Integrals of densities over boxes, with derivatives with respect to the parameters of the densities.

mod adaptive;
mod conditional;
mod rules;
mod tensor;

pub(super) use adaptive::{PANELS, Quadrature};
pub(super) use conditional::{ConditionalIntegral, ConditionalIntegralMemory};
pub(super) use rules::{KRONROD, kronrod};
pub(super) use tensor::TensorQuadrature;

use super::program::{Components, Memory, Program, Sources, components};
use crate::simd::Level;

/// The method that computes an integral.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// A formula for the integral, as a program.
    Closed(Program),
    /// Adaptive numerical integration over one observable: the program that computes the integrand, and the range
    /// (lower, upper).
    Adaptive(Program, (f64, f64)),
    /// Numerical integration over several observables: the program that computes the integrand, and the box (lower and
    /// upper end per observable).
    Tensor(Program, Vec<(f64, f64)>),
    /// Numerical integration of a density with context (such as a flow whose shape depends on parameters) by the
    /// external program that computes the density.
    Conditional(ConditionalIntegral),
}

/// An integral of densities over one box.
#[derive(Debug, Clone)]
pub(super) struct Integral {
    pub(super) rule: Rule,
    /// Indices of those values of the channel that are the variables of the integral.
    pub(super) variables: Vec<usize>,
    /// Number of panels (parts of the range) at the beginning of an adaptive integration.
    pub(super) panels: usize,
    /// Index of a process of the channel whose density needs the integral.
    pub(super) process: usize,
    /// Relative error of an integral that was computed before all fits; 0 for all others.
    pub(super) known_error: f64,
}

/// Working memory of one integral.
#[derive(Debug, Clone)]
pub(super) enum IntegralMemory {
    Closed(Memory),
    Adaptive(Quadrature),
    Tensor(Box<TensorQuadrature>),
    Conditional(ConditionalIntegralMemory),
}

impl Integral {
    /// Returns the estimated error of the last integral that was computed with `memory`, as a fraction of the integral.
    /// It is 0 for a closed form.
    pub(super) fn error(&self, memory: &IntegralMemory) -> f64 {
        match memory {
            IntegralMemory::Closed(_) => self.known_error,
            IntegralMemory::Adaptive(quadrature) => quadrature.error,
            IntegralMemory::Tensor(quadrature) => quadrature.error,
            IntegralMemory::Conditional(memory) => memory.error,
        }
    }

    /// Returns which derivatives of the integral may differ from zero.
    pub(super) fn components(&self) -> Components {
        match &self.rule {
            Rule::Closed(program) | Rule::Adaptive(program, _) | Rule::Tensor(program, _) => {
                program.result().cloned().unwrap_or_default()
            }
            Rule::Conditional(_) => {
                Components::of_variables(&(0..self.variables.len()).collect::<Vec<usize>>())
            }
        }
    }

    /// Returns the number of components of the integral: value, first and second derivatives.
    pub(super) fn size(&self) -> usize {
        components(self.variables.len())
    }

    /// Allocates the working memory of [`Self::evaluate`].
    pub(super) fn memory(&self) -> IntegralMemory {
        match &self.rule {
            Rule::Closed(program) => IntegralMemory::Closed(Memory::new(program, 1)),
            Rule::Adaptive(program, _) => IntegralMemory::Adaptive(Quadrature::new(program, self.panels)),
            Rule::Tensor(program, ends) => {
                IntegralMemory::Tensor(Box::new(TensorQuadrature::new(program, ends.len())))
            }
            Rule::Conditional(_) => IntegralMemory::Conditional(ConditionalIntegralMemory::default()),
        }
    }

    /// Computes the integral and its derivatives, and writes them to `out`. `variables` contains the values of the
    /// variables of the integral.
    pub(super) fn evaluate(
        &self,
        level: Level,
        variables: &[f64],
        memory: &mut IntegralMemory,
        out: &mut [f64],
    ) {
        let sources = Sources::of(variables);
        match (&self.rule, memory) {
            (Rule::Closed(program), IntegralMemory::Closed(memory)) => {
                program.prepare(level, sources, memory);
                out.copy_from_slice(memory.value(program));
            }
            (Rule::Adaptive(program, ends), IntegralMemory::Adaptive(quadrature)) => {
                quadrature.integrate(level, program, sources, *ends, out);
            }
            (Rule::Tensor(program, ends), IntegralMemory::Tensor(quadrature)) => {
                quadrature.integrate(level, program, sources, ends, out);
            }
            (Rule::Conditional(integral), IntegralMemory::Conditional(memory)) => {
                integral.evaluate(variables, memory, out);
            }
            _ => out.fill(f64::NAN),
        }
    }
}
