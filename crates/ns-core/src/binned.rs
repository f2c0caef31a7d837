//! The data of a binned model.

/// Counts and auxiliary measurements of a binned model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinnedData {
    /// Counts of the main bins, channel after channel. They need not be integers: Asimov data are expected
    /// yields.
    pub main: Vec<f64>,
    /// Auxiliary data, one number per constrained parameter, in the order of these parameters.
    pub aux: Vec<f64>,
}
