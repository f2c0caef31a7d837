//! The convolution or projection at single places, by adaptive quadrature.

use ns_core::Observable;

use super::Integrand;
use crate::events::integral::{Cubature, Purpose};
use crate::events::program::Sources;
use crate::simd::Level;

/// The integral is cut at this number of lengths of the axis from 0, on either side, beyond the ends of the axis.
const REACH: f64 = 1_048_576.0;

/// Ratio of the ends of the intervals into which the line is divided first.
const RATIO: f64 = 4.0;

/// The line is not cut further than to this number of places.
const LEAST_EDGES: usize = 7;

/// Why there is no table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Failure {
    /// The integral is infinite or not a number.
    NotFinite,
    /// The convolution is negative somewhere.
    Negative,
    /// The convolution is zero everywhere.
    Zero,
}

impl Failure {
    /// Returns the reason, and what the user can do.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::NotFinite => {
                "its integral over the whole line is infinite; cut one of the densities with a comparison"
            }
            Self::Negative => "it is negative within the axis; both densities have to be positive",
            Self::Zero => "it is zero within the axis; check the places of both densities",
        }
    }
}

/// Computes `h` and its derivatives at single places.
pub(super) struct Nodes<'a> {
    level: Level,
    of: &'a Integrand,
    context: &'a [f64],
    cubature: Cubature,
    edges: Vec<Vec<f64>>,
    /// Largest error of an integral so far.
    pub(super) error: f64,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(level: Level, of: &'a Integrand, context: &'a [f64]) -> Self {
        let cubature = Cubature::new(&of.program, of.edges.len(), Purpose::Normalisation);
        Self { level, of, context, cubature, edges: of.edges.clone(), error: 0.0 }
    }

    /// Writes `h(x)` and its derivatives to `out`.
    ///
    /// # Errors
    /// If the integral is infinite or not a number.
    pub(super) fn at(&mut self, x: f64, out: &mut [f64]) -> Result<(), Failure> {
        self.integrate(x, out);
        while !out.iter().all(|x| x.is_finite()) {
            // Far away, one density may be too large for a number, and the other one too small.
            self.shorten(x, out)?;
        }
        if out[0] > 0.0 {
            self.error = self.error.max(self.cubature.error);
        }
        Ok(())
    }

    fn integrate(&mut self, x: f64, out: &mut [f64]) {
        let sources = Sources { data: &[x], ..Sources::of(self.context) };
        self.cubature.integrate(self.level, &self.of.program, sources, &self.edges, out);
    }

    /// Leaves out the two outermost intervals. The error is at least what the next two contribute.
    fn shorten(&mut self, x: f64, out: &mut [f64]) -> Result<(), Failure> {
        let is_line = self.of.is_line;
        let is_long = |edges: &&mut Vec<f64>| is_line && edges.len() > LEAST_EDGES;
        let Some(edges) = self.edges.first_mut().filter(is_long) else {
            return Err(Failure::NotFinite);
        };
        edges.pop();
        edges.remove(0);
        let kept = edges.clone();
        let inner = kept.get(1..kept.len() - 1).unwrap_or_default().to_vec();
        self.edges = vec![inner];
        self.integrate(x, out);
        let without = out[0];
        self.edges = vec![kept];
        self.integrate(x, out);
        let share = (out[0] - without).abs() / out[0].abs();
        if share > 0.0 {
            self.error = self.error.max(share);
        }
        Ok(())
    }
}

/// Returns the places at which the line of an integral over all numbers is divided first.
pub(super) fn line(axis: &Observable) -> Vec<f64> {
    let length = axis.max - axis.min;
    let end = axis.min.abs().max(axis.max.abs());
    let mut edges = vec![0.0];
    let mut place = length / 16.0;
    while place < REACH * length + end {
        edges.extend([place, -place]);
        place *= RATIO;
    }
    edges.sort_by(f64::total_cmp);
    edges
}
