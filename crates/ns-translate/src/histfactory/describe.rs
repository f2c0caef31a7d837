//! What HistFactory XML describes, with all histograms read.

use crate::Axis;
use crate::pyhf::Problem;
use crate::xml_error::Place;

/// A combination file with its channels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Combination {
    pub(super) measurements: Vec<Measurement>,
    pub(super) channels: Vec<Channel>,
    /// The functions that are factors of samples.
    pub(super) functions: Vec<Function>,
    /// What is read otherwise than one might think.
    pub(super) notes: Vec<Problem>,
}

/// A factor that is a function of parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    pub(super) place: Place,
    pub(super) name: String,
    /// With names of dependents and of other functions.
    pub(super) expression: String,
    pub(super) dependents: Vec<Dependent>,
}

/// A parameter that a function depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dependent {
    pub(super) name: String,
    /// Start value and bounds; `None` if they are those of a `NormFactor`. A constant has equal bounds.
    pub(super) range: Option<(f64, f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measurement {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) lumi: f64,
    /// Uncertainty relative to `lumi`.
    pub(super) uncertainty: f64,
    /// Names of the parameters of interest.
    pub(super) interest: Vec<String>,
    pub(super) settings: Vec<Setting>,
    pub(super) terms: Vec<Term>,
}

/// Value of a parameter, and whether it is constant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) place: Place,
    /// The name as RooFit has it: `Lumi`, `alpha_jes`, `gamma_stat_SR_bin_0`, `mu`.
    pub(super) name: String,
    pub(super) value: Option<f64>,
    pub(super) constant: Option<bool>,
}

/// Another constraint of the parameter of an `OverallSys`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) place: Place,
    /// Name of the systematic, without `alpha_`.
    pub(super) name: String,
    pub(super) kind: TermKind,
    /// Relative uncertainty.
    pub(super) relative: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TermKind {
    Gamma,
    LogNormal,
    Uniform,
    Unconstrained,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Channel {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) bins: usize,
    /// The axis of the first histogram that has one with edges or a title.
    pub(super) axis: Option<Axis>,
    /// `None` if the file has no data.
    pub(super) data: Option<Vec<f64>>,
    pub(super) samples: Vec<Sample>,
    /// Bins with a smaller relative uncertainty of the simulation have none.
    pub(super) threshold: f64,
    /// Whether the uncertainty of the simulation is Poisson.
    pub(super) poisson: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) contents: Vec<f64>,
    /// Whether it scales with the luminosity; `None` if the file does not say.
    pub(super) lumi: Option<bool>,
    /// Uncertainty of the simulation in each bin, in events, if it is active.
    pub(super) errors: Option<Vec<f64>>,
    pub(super) modifiers: Vec<Modifier>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Modifier {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) effect: Effect,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    NormFactor {
        value: f64,
        low: f64,
        high: f64,
        constant: bool,
    },
    /// A `NormFactor` with the name of a function.
    Function {
        expression: String,
    },
    OverallSys {
        low: f64,
        high: f64,
    },
    HistoSys {
        low: Vec<f64>,
        high: Vec<f64>,
    },
    /// Relative uncertainty of each bin.
    ShapeSys {
        relative: Vec<f64>,
        poisson: bool,
    },
    ShapeFactor {
        start: Option<Vec<f64>>,
        constant: bool,
    },
}
