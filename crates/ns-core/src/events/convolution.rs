//! Densities that are integrals: convolutions of two densities of one observable, and projections.

use super::{Density, Value};

/// The convolution `int f(x - s) g(s) ds` of two densities `f` and `g` of one observable, over all numbers `s`. Neither is cut
/// at the ends of the observable's axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Convolution {
    /// Index of the observable.
    pub x: usize,
    /// The density `f`.
    pub first: Density,
    /// The density `g`.
    pub second: Density,
}

impl Convolution {
    /// Returns the parameters of both densities, with those of their factors and summands.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let mut all = Vec::new();
        collect(&self.first, &mut all);
        collect(&self.second, &mut all);
        all
    }
}

/// The integral of a density of one observable and of hidden variables over the hidden variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// Index of the observable.
    pub x: usize,
    /// The density. Beyond the observables of the channel, its observables are the hidden variables.
    pub density: Density,
    /// Lower and upper end of each hidden variable.
    pub hidden: Vec<(f64, f64)>,
}

impl Projection {
    /// Returns the parameters of the density, with those of its factors and summands.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let mut all = Vec::new();
        collect(&self.density, &mut all);
        all
    }
}

fn collect(density: &Density, all: &mut Vec<Value>) {
    all.extend(density.own_values());
    density.parts().iter().for_each(|part| collect(part, all));
}

impl Density {
    /// Returns whether the density is a formula of its observables, and so are all of its factors and summands. Flows,
    /// convolutions and projections are not.
    #[must_use]
    pub fn has_formula(&self) -> bool {
        !matches!(self, Self::Log(_) | Self::Conditional(_) | Self::Convolution(_) | Self::Projection(_))
            && self.parts().iter().all(Self::has_formula)
    }
}
