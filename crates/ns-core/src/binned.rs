//! Counts and auxiliary measurements.

/// Counts and auxiliary measurements of a binned model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinnedData {
    /// Main counts, channel after channel; not necessarily integers (Asimov).
    pub main: Vec<f64>,
    /// Auxiliary data in the order of the constrained parameters.
    pub aux: Vec<f64>,
}
