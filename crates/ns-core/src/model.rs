//! The physics of a model, with the names of all its parts.
//!
//! A [`Model`] is made from a workspace and one of its measurements. It holds the names of channels, samples
//! and parameters; `ns-compute` compiles it to flat arrays without names.

use std::ops::Range;

use crate::{
    Correlations, EventChannel, Function, Input, Interpolation, Observations, Parameter, ParameterSet,
    Penalty, Value,
};

/// The effect of a modifier on the yields of its sample. A template is a list of yields, one per bin of the channel.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Adds a difference to the nominal yields. The difference is interpolated between the templates `lo` and
    /// `hi`.
    HistoSys {
        /// Yields at alpha = -1, not differences from the nominal yields.
        lo: Vec<f64>,
        /// Yields at alpha = +1, not differences from the nominal yields.
        hi: Vec<f64>,
    },
    /// Multiplies the yields by a factor. The factor is interpolated between `lo` and `hi`.
    NormSys {
        /// Factor at alpha = -1.
        lo: f64,
        /// Factor at alpha = +1.
        hi: f64,
    },
    /// Multiplies the yields by the value of the parameter, which has no constraint.
    NormFactor,
    /// Multiplies the yields by the luminosity parameter, which has a Gaussian constraint.
    Lumi,
    /// Multiplies the yield in bin `b` by parameter `first + b` (see [`Modifier::first`]), which has a
    /// Poisson constraint.
    ShapeSys,
    /// Multiplies the yield in bin `b` by parameter `first + b`, which has a Gaussian constraint. Samples of
    /// the channel can share the parameter.
    StatError,
    /// Multiplies the yield in bin `b` by parameter `first + b`, which has no constraint.
    ShapeFactor,
    /// Multiplies the yields by functions of parameters. The modifier has no parameters of its own, and
    /// [`Modifier::first`] has no meaning.
    Function {
        /// A single value, which multiplies the yields of all bins, or one value per bin.
        values: Vec<Value>,
    },
}

impl Effect {
    /// Returns pyhf's name of the modifier type. The type `function` is an extension of pyhf's format.
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
            Self::Function { .. } => "function",
        }
    }

    /// Returns whether the modifier has one parameter per bin.
    #[must_use]
    pub fn per_bin(&self) -> bool {
        matches!(self, Self::ShapeSys | Self::StatError | Self::ShapeFactor)
    }
}

/// The effect of a parameter on one sample of one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Modifier {
    /// Name of the modifier in the workspace.
    pub name: String,
    /// Index of the parameter. If the effect has one parameter per bin, this is the index of the parameter of the
    /// channel's first bin. Without meaning for [`Effect::Function`].
    pub first: usize,
    /// Effect of the modifier on the yields of the sample.
    pub effect: Effect,
}

impl Modifier {
    /// Returns the values of an [`Effect::Function`]; `None` for other effects.
    #[must_use]
    pub fn function(&self) -> Option<&[Value]> {
        match &self.effect {
            Effect::Function { values } => Some(values),
            _ => None,
        }
    }

    /// Returns the range of the parameters that are factors or nuisance parameters of the modifier, in a channel with
    /// `n_bins` bins. The range is empty for functions; [`Model::dependencies`] lists the parameters of a function.
    #[must_use]
    pub fn parameters(&self, n_bins: usize) -> Range<usize> {
        match self.effect {
            Effect::Function { .. } => 0..0,
            ref effect if effect.per_bin() => self.first..self.first + n_bins,
            _ => self.first..self.first + 1,
        }
    }
}

/// The yields of one process in one channel, with the modifiers that act on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name of the sample in the workspace.
    pub name: String,
    /// Nominal yields, one per bin; may be zero or negative.
    pub nominal: Vec<f64>,
    /// Modifiers, in the order of the workspace.
    pub modifiers: Vec<Modifier>,
}

/// The horizontal axis of a channel's histogram, for pictures and tables. The likelihood does not depend on it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChannelAxis {
    /// Title, with the unit; empty if unknown.
    pub title: String,
    /// Edges of the bins in rising order, one more than there are bins; empty if unknown.
    pub edges: Vec<f64>,
}

/// One region of the analysis, whose data are a histogram of counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Name of the channel in the workspace.
    pub name: String,
    /// Index of the channel's first bin among all bins of the model.
    pub first_bin: usize,
    /// Number of bins.
    pub n_bins: usize,
    /// Samples of the channel, in the order of the workspace.
    pub samples: Vec<Sample>,
    /// Horizontal axis of the histogram.
    pub axis: ChannelAxis,
}

/// The format of the file that describes a model. Messages use the words of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ModelFormat {
    /// A workspace of pyhf.
    #[default]
    Pyhf,
    /// An HS3 model.
    Hs3,
    /// A datacard of CMS Combine.
    Datacard,
}

/// A model for one measurement, with its observed data: binned channels, event channels, or both.
///
/// Channels are in pyhf's order (sorted by name). Parameters of a workspace are in pyhf's order
/// (`pyhf.pdf._ModelConfig.par_order`), so that indices agree with pyhf's arrays. Parameters of other formats are in the
/// order of their first use.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Format of the file that describes the model.
    pub format: ModelFormat,
    /// Name of the measurement, of the analysis of an HS3 model, or of the file of a datacard.
    pub measurement: String,
    /// Channels, sorted by name.
    pub channels: Vec<Channel>,
    /// All parameters, one parameter set after another.
    pub parameters: Vec<Parameter>,
    /// Groups of consecutive parameters that share a name.
    pub parameter_sets: Vec<ParameterSet>,
    /// Indices of the parameters of interest, without repetition; empty if the model has none. Analyses of one parameter
    /// are about the first ([`Model::poi`]).
    pub pois: Vec<usize>,
    /// Interpolation codes of the normsys and histosys modifiers.
    pub interpolation: Interpolation,
    /// Functions of parameters that samples, event channels and penalties use, each defined before its use.
    pub functions: Vec<Function>,
    /// Event channels, i.e. channels in which single events are fitted.
    pub event_channels: Vec<EventChannel>,
    /// Further constraint terms, for example on functions of parameters (see [`Penalty`]).
    pub penalties: Vec<Penalty>,
    /// Observed counts of the main bins (channel after channel), nominal auxiliary data, and events.
    pub observed: Observations,
    /// Names of the channels without observed counts. Their counts in `observed` are zeros and have no meaning.
    pub unobserved: Vec<String>,
    /// Inputs: arrays of numbers of the model that data may replace (see [`Model::open`]).
    pub open: Vec<Input>,
    /// Warnings about the workspace, as sentences for the user.
    pub warnings: Vec<String>,
}

impl Model {
    /// Returns the index of the first parameter of interest; `None` if the model has none.
    #[must_use]
    pub fn poi(&self) -> Option<usize> {
        self.pois.first().copied()
    }

    /// Returns a copy of the model with the parameter of index `poi` as the first parameter of interest. The others follow
    /// in their order.
    #[must_use]
    pub fn with_first_poi(&self, poi: usize) -> Self {
        let others = self.pois.iter().copied().filter(|other| *other != poi);
        Self { pois: std::iter::once(poi).chain(others).collect(), ..self.clone() }
    }

    /// Returns the names of the parameters of interest.
    pub fn poi_names(&self) -> impl Iterator<Item = &str> {
        self.pois.iter().filter_map(|i| self.parameters.get(*i)).map(|p| p.name.as_str())
    }

    /// Returns the number of main bins in all channels.
    #[must_use]
    pub fn n_bins(&self) -> usize {
        self.channels.iter().map(|c| c.n_bins).sum()
    }

    /// Returns whether a function is a factor of a sample ([`Effect::Function`]).
    #[must_use]
    pub fn has_function_factors(&self) -> bool {
        let samples = self.channels.iter().flat_map(|channel| &channel.samples);
        samples.flat_map(|sample| &sample.modifiers).any(|modifier| modifier.function().is_some())
    }

    /// Returns the indices of the parameters that act on a sample through a modifier, in ascending order, in a channel with
    /// `n_bins` bins. The parameters of functions are included.
    #[must_use]
    pub fn acting_parameters(&self, modifier: &Modifier, n_bins: usize) -> Vec<usize> {
        let Some(values) = modifier.function() else { return modifier.parameters(n_bins).collect() };
        let mut found: Vec<usize> = values.iter().flat_map(|&value| self.dependencies(value)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the indices of the parameters on which a value depends, directly or through functions, in ascending order.
    #[must_use]
    pub fn dependencies(&self, value: Value) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen = vec![false; self.functions.len()];
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Number(_) => {}
                Value::Parameter(p) => found.push(p),
                Value::Function(f) => {
                    if seen.get_mut(f).is_some_and(|seen| !std::mem::replace(seen, true)) {
                        open.extend(self.functions.get(f).into_iter().flat_map(|own| own.form.values()));
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether the model has event channels or penalties.
    #[must_use]
    pub fn has_event_terms(&self) -> bool {
        !self.event_channels.is_empty() || !self.penalties.is_empty()
    }

    /// Returns whether the model has event channels or penalties other than correlations. Only sessions for events compute them.
    #[must_use]
    pub fn has_formula_terms(&self) -> bool {
        let is_formula = |penalty: &Penalty| penalty.form.correlations().is_none();
        !self.event_channels.is_empty() || self.penalties.iter().any(is_formula)
    }

    /// Returns the correlations between the Gaussian constraints of parameters.
    pub fn correlations(&self) -> impl Iterator<Item = &Correlations> {
        self.penalties.iter().filter_map(|penalty| penalty.form.correlations())
    }

    /// Returns for each parameter the indices of the [`Penalty`] terms that depend on it, directly or through functions.
    #[must_use]
    pub fn penalties_of_parameters(&self) -> Vec<Vec<usize>> {
        let mut terms = vec![Vec::new(); self.parameters.len()];
        for (index, penalty) in self.penalties.iter().enumerate() {
            for p in penalty.form.values().into_iter().flat_map(|value| self.dependencies(value)) {
                if let Some(own) = terms.get_mut(p).filter(|own| own.last() != Some(&index)) {
                    own.push(index);
                }
            }
        }
        terms
    }

    /// Returns the index of the parameter with this full name (`mu`, `gamma[3]`), if there is one.
    #[must_use]
    pub fn parameter_index(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.name == name)
    }

    /// Returns the name of the channel that contains a bin, and the index of the bin within this channel. `bin` is the
    /// index among all bins of the model.
    #[must_use]
    pub fn bin_name(&self, bin: usize) -> Option<(&str, usize)> {
        self.channels
            .iter()
            .find(|c| (c.first_bin..c.first_bin + c.n_bins).contains(&bin))
            .map(|c| (c.name.as_str(), bin - c.first_bin))
    }
}
