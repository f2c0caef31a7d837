//! Integrals of densities over boxes, with derivatives with respect to the parameters of the densities.

mod conditional;
mod cubature;
mod edges;
mod normal;
mod quadrature;
mod reach;
mod regions;
mod rules;
mod scaled;
mod series;
mod singular;

pub(super) use conditional::{ConditionalIntegral, ConditionalIntegralMemory};
pub(super) use cubature::Cubature;
pub(super) use edges::edges;
pub(super) use normal::{NormalIntegral, NormalMemory};
pub(super) use reach::Reaches;
pub(super) use rules::{KRONROD, kronrod};

use super::program::{Components, Memory, Program, Sources, components};
use crate::simd::Level;

/// What an integral is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A likelihood: the normalisation of a density.
    Normalisation,
    /// A likelihood: one of many bins of a histogram.
    Bin,
    /// One of many bins of a picture or a table. It has no derivatives, and less precision in several dimensions. Whoever asks
    /// for it checks the sum of the bins.
    Picture,
}

/// The method that computes an integral.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// A formula for the integral, as a program.
    Closed(Program),
    /// Numerical integration: the program that computes the integrand, and for each observable the ends of the box and
    /// the places between them at which the box is divided first.
    Numeric(Program, Vec<Vec<f64>>),
    /// A multivariate normal density: closed in most observables.
    Normal(NormalIntegral),
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
    pub(super) purpose: Purpose,
    /// Index of a process of the channel whose density needs the integral.
    pub(super) process: usize,
    /// The observables of the integrand, in ascending order.
    pub(super) observables: Vec<usize>,
    /// Relative error of an integral that was computed before all fits; 0 for all others.
    pub(super) known_error: f64,
}

/// Working memory of one integral.
#[derive(Debug, Clone)]
pub(super) enum IntegralMemory {
    Closed(Memory),
    Numeric(Box<Cubature>),
    Normal(NormalMemory),
    Conditional(ConditionalIntegralMemory),
}

impl Integral {
    /// Changes what the integral is for.
    pub(super) fn serve(&mut self, purpose: Purpose) {
        self.purpose = purpose;
        if let Rule::Normal(normal) = &mut self.rule {
            normal.purpose = purpose;
        }
    }

    /// Returns the estimated error of the last integral that was computed with `memory`, as a fraction of the integral.
    /// It is 0 for a closed form.
    pub(super) fn error(&self, memory: &IntegralMemory) -> f64 {
        match memory {
            IntegralMemory::Closed(_) => self.known_error,
            IntegralMemory::Numeric(cubature) => cubature.error,
            IntegralMemory::Normal(memory) => memory.error,
            IntegralMemory::Conditional(memory) => memory.error,
        }
    }

    /// Returns which derivatives of the integral may differ from zero.
    pub(super) fn components(&self) -> Components {
        match &self.rule {
            Rule::Closed(program) | Rule::Numeric(program, _) => {
                program.result().cloned().unwrap_or_default()
            }
            Rule::Normal(_) | Rule::Conditional(_) => {
                Components::of_variables(&(0..self.variables.len()).collect::<Vec<usize>>())
            }
        }
    }

    /// Returns the number of components of the integral: value, first and second derivatives.
    pub(super) fn size(&self) -> usize {
        components(self.variables.len())
    }

    /// Returns whether both integrals can use the same working memory: their programs differ in constants alone.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        match (&self.rule, &other.rule) {
            (Rule::Closed(a), Rule::Closed(b)) => a.has_shape_of(b),
            (Rule::Numeric(a, edges), Rule::Numeric(b, others)) => {
                edges.len() == others.len() && a.has_shape_of(b)
            }
            (Rule::Normal(a), Rule::Normal(b)) => {
                let pairs = a.programs().zip(b.programs());
                a.programs().count() == b.programs().count()
                    && pairs.into_iter().all(|(a, b)| a.has_shape_of(b))
            }
            _ => false,
        }
    }

    /// Allocates the working memory of [`Self::evaluate`].
    pub(super) fn memory(&self) -> IntegralMemory {
        match &self.rule {
            Rule::Closed(program) => IntegralMemory::Closed(Memory::new(program, 1)),
            Rule::Numeric(program, edges) => {
                IntegralMemory::Numeric(Box::new(Cubature::new(program, edges.len(), self.purpose)))
            }
            Rule::Normal(normal) => IntegralMemory::Normal(normal.memory()),
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
            (Rule::Numeric(program, edges), IntegralMemory::Numeric(cubature)) => {
                cubature.integrate(level, program, sources, edges, out);
            }
            (Rule::Normal(normal), IntegralMemory::Normal(memory)) => {
                normal.evaluate(level, variables, memory, out);
            }
            (Rule::Conditional(integral), IntegralMemory::Conditional(memory)) => {
                integral.evaluate(variables, memory, out);
            }
            _ => out.fill(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests;
