//! The physics of a binned model: named, typed, checked once.
//!
//! A [`Model`] is made from a workspace and one of its measurements. It holds the names of channels, samples and parameters;
//! `ns-compute` compiles it to flat arrays without names.

use crate::{BinnedData, Interpolation, Parameter, ParameterSet};

/// What a modifier does to its sample. Per-bin templates have the channel's number of bins.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Adds an interpolated difference to the nominal yields.
    HistoSys {
        /// Absolute yields at alpha = -1.
        lo: Vec<f64>,
        /// Absolute yields at alpha = +1.
        hi: Vec<f64>,
    },
    /// Multiplies by an interpolated factor.
    NormSys {
        /// Factor at alpha = -1.
        lo: f64,
        /// Factor at alpha = +1.
        hi: f64,
    },
    /// Multiplies by the parameter itself.
    NormFactor,
    /// Multiplies by the luminosity parameter.
    Lumi,
    /// Multiplies bin `b` by parameter `first + b`; Poisson constraint.
    ShapeSys,
    /// Multiplies bin `b` by parameter `first + b`; Gaussian constraint shared by the channel's samples.
    StatError,
    /// Multiplies bin `b` by parameter `first + b`; free.
    ShapeFactor,
}

impl Effect {
    /// pyhf's name of the modifier type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::HistoSys { .. } => "histosys",
            Self::NormSys { .. } => "normsys",
            Self::NormFactor => "normfactor",
            Self::Lumi => "lumi",
            Self::ShapeSys => "shapesys",
            Self::StatError => "staterror",
            Self::ShapeFactor => "shapefactor",
        }
    }

    /// True where each bin has a parameter of its own.
    #[must_use]
    pub fn per_bin(&self) -> bool {
        matches!(self, Self::ShapeSys | Self::StatError | Self::ShapeFactor)
    }
}

/// A systematic effect on one sample of one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Modifier {
    /// Name in the workspace.
    pub name: String,
    /// Index of its parameter; for a per-bin effect that of the channel's first bin.
    pub first: usize,
    /// What it does.
    pub effect: Effect,
}

/// One process in one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name in the workspace.
    pub name: String,
    /// Nominal yields, one per bin; may be zero or negative.
    pub nominal: Vec<f64>,
    /// Effects, in the order of the workspace.
    pub modifiers: Vec<Modifier>,
}

/// One region: a histogram of counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Name in the workspace.
    pub name: String,
    /// Index of its first bin among all bins of the model.
    pub first_bin: usize,
    /// Number of bins.
    pub n_bins: usize,
    /// Processes, in the order of the workspace.
    pub samples: Vec<Sample>,
}

/// A binned model for one measurement, with its observed data.
///
/// Channels are in pyhf's order (sorted by name), parameters in pyhf's order
/// (`pyhf.pdf._ModelConfig.par_order`), so that indices agree with pyhf's arrays.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Name of the measurement.
    pub measurement: String,
    /// Regions, sorted by name.
    pub channels: Vec<Channel>,
    /// Scalar parameters.
    pub parameters: Vec<Parameter>,
    /// Their grouping by name.
    pub parameter_sets: Vec<ParameterSet>,
    /// Index of the parameter of interest; `None` where the workspace has none.
    pub poi: Option<usize>,
    /// Interpolation codes.
    pub interpolation: Interpolation,
    /// Observed main counts (channel after channel) and nominal auxiliary data.
    pub observed: BinnedData,
    /// Warnings for the user, in words; never errors.
    pub warnings: Vec<String>,
}

impl Model {
    /// Number of main bins.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.channels.iter().map(|c| c.n_bins).sum()
    }

    /// Index of a parameter by its full name (`mu`, `gamma[3]`).
    #[must_use]
    pub fn parameter_index(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.name == name)
    }

    /// Channel name and bin number within it of a global bin index.
    #[must_use]
    pub fn bin_name(&self, bin: usize) -> Option<(&str, usize)> {
        self.channels
            .iter()
            .find(|c| (c.first_bin..c.first_bin + c.n_bins).contains(&bin))
            .map(|c| (c.name.as_str(), bin - c.first_bin))
    }
}
