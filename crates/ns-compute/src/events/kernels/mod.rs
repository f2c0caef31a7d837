//! Kernels: loops that each compute one frequently used density for many events. A kernel replaces the program (list
//! of operations) of the density, because it is faster.
//!
//! A kernel writes the same components as the program of its density: the value and the derivatives of the density. It
//! stores no intermediate results.

mod argus;
mod crystal_ball;
mod exponential;
mod gaussian;
mod lifetime;
mod number;

use ns_core::{Density, Value};

use self::argus::Argus;
use self::crystal_ball::Ball;
use self::lifetime::Lifetime;
use super::densities::Space;
use super::offload::OwnKernel;
use super::program::components;
use super::sums::BLOCK;
use crate::simd::Level;

/// A density with a kernel (a loop that computes it for many events). The variables of the kernel are the parameters
/// of the density, in the order of its formula.
#[derive(Debug, Clone)]
pub(super) enum Kernel {
    /// Gaussian density whose mean and width are both variables. `x` is the index of the observable.
    Gaussian { x: usize },
    /// Exponential density whose slope is a variable. `x` is the index of the observable, and `axis` contains the ends
    /// of its range.
    Exponential { x: usize, axis: (f64, f64) },
    /// Argus density.
    Argus(Argus),
    /// Crystal Ball density with one width.
    CrystalBall(Ball),
    /// A decay whose time has an error of each event.
    Lifetime(Lifetime),
}

impl Kernel {
    /// Returns the kernel of a density. Returns `None` if no kernel suits it, for example because a parameter is
    /// constant.
    pub(super) fn new(density: &Density, space: Space<'_>) -> Option<Self> {
        let varies = |value: &Value| !matches!(value, Value::Number(_));
        match density {
            Density::Gaussian { x, mean, sigma } if varies(mean) && varies(sigma) && mean != sigma => {
                Some(Self::Gaussian { x: *x })
            }
            Density::Exponential { x, slope } if varies(slope) => {
                let axis = space.axes.get(*x)?;
                Some(Self::Exponential { x: *x, axis: (axis.min, axis.max) })
            }
            Density::Argus { .. } => Argus::new(density).map(Self::Argus),
            Density::Given(_) => Lifetime::new(density, space).map(Self::Lifetime),
            _ => Ball::new(density).map(Self::CrystalBall),
        }
    }

    /// Returns the function that other devices use to compute the density. Returns `None` if they use the steps of the
    /// density's formula instead.
    pub(super) fn on_devices(&self) -> Option<OwnKernel> {
        match *self {
            Self::Gaussian { x } => Some(OwnKernel::Gaussian { observable: x }),
            Self::Exponential { x, axis } => Some(OwnKernel::Exponential { observable: x, axis }),
            Self::Argus(_) | Self::CrystalBall(_) | Self::Lifetime(_) => None,
        }
    }

    /// Returns the number of variables of the density.
    pub(super) fn variables(&self) -> usize {
        match self {
            Self::Gaussian { .. } => 2,
            Self::Exponential { .. } => 1,
            Self::Argus(argus) => argus.variables,
            Self::CrystalBall(ball) => ball.variables,
            Self::Lifetime(lifetime) => lifetime.variables,
        }
    }

    /// Allocates the output of [`Self::run`] for one block of events. It has `BLOCK` numbers for each component: the
    /// density, and its first and second derivatives with respect to its variables.
    pub(super) fn columns(&self) -> Vec<f64> {
        vec![0.0; components(self.variables()) * BLOCK]
    }

    /// Computes the density and its derivatives for the events `from..from + n`, and writes them to `out`.
    pub(super) fn run(
        &self,
        level: Level,
        variables: &[f64],
        columns: &[&[f64]],
        (from, n): (usize, usize),
        out: &mut [f64],
    ) {
        match (self, variables) {
            (Self::Gaussian { x }, &[mean, sigma]) => {
                gaussian::run(level, mean, sigma, &columns[*x][from..from + n], out);
            }
            (Self::Exponential { x, axis }, &[slope]) => {
                let origin = if slope < 0.0 { axis.1 } else { axis.0 };
                exponential::run(level, slope, origin, &columns[*x][from..from + n], out);
            }
            (Self::Argus(argus), variables) => {
                argus::run(level, *argus, variables, &columns[argus.x][from..from + n], out);
            }
            (Self::CrystalBall(ball), variables) => {
                crystal_ball::run(level, *ball, variables, &columns[ball.x][from..from + n], out);
            }
            (Self::Lifetime(lifetime), variables) => {
                lifetime::run(level, *lifetime, variables, columns, (from, n), out);
            }
            _ => out.fill(f64::NAN),
        }
    }
}
