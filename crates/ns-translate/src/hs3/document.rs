//! The parts of an HS3 file as they are written. References between parts are not resolved yet.

mod analysis;
mod histfactory;

use std::path::PathBuf;
use std::sync::Arc;

use ns_core::DecaySides;

pub(crate) use analysis::{Analysis, DomainAxis, PointValue};
pub(crate) use histfactory::{
    Effect, HistFactory, Interpolation, Kind, Modifier, Sample, ShapeValues, StatSettings, WrittenConstraint,
};

/// A part of the file with its name and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named<T> {
    /// Name of the part. Names of distributions, functions and data are unique in the file.
    pub(crate) name: String,
    /// JSON pointer to the part.
    pub(crate) path: String,
    /// Contents of the part.
    pub(crate) content: T,
}

/// A number, or the name of an observable, a parameter or a function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Argument {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
    /// The value is not usable. The problem has been reported.
    Broken,
}

/// A value with its location in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed<T> {
    /// The value.
    pub(crate) value: T,
    /// JSON pointer to the value.
    pub(crate) path: String,
}

/// An argument (a number or a name) with its location.
pub(crate) type Arg = Placed<Argument>;

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Document {
    pub(crate) distributions: Vec<Named<Distribution>>,
    pub(crate) functions: Vec<Named<Function>>,
    pub(crate) data: Vec<Named<Data>>,
    pub(crate) likelihoods: Vec<Named<Likelihood>>,
    pub(crate) domains: Vec<Named<Vec<DomainAxis>>>,
    pub(crate) points: Vec<Named<Vec<PointValue>>>,
    pub(crate) analyses: Vec<Named<Analysis>>,
    /// Whether ROOT or pyhs3 wrote the file. Some keys have a different meaning in such files than in the HS3
    /// standard.
    pub(crate) from_root: bool,
    /// Whether NextStat wrote the file. Its files name every constraint, so none is missing in them.
    pub(crate) from_nextstat: bool,
    /// Whether the templates of histosys modifiers are certainly yields. This depends on the program that wrote the
    /// file. If false, they may also be differences from the nominal yields.
    pub(crate) templates_are_yields: bool,
    /// Names of the parameters that ROOT marks as constant.
    pub(crate) constants: Vec<String>,
    /// Name of the analysis that is meant if none is named. Only our own files have it.
    pub(crate) first: Option<String>,
    /// Names of the parts of the file that could not be read. Their problems have been reported.
    pub(crate) broken: Vec<String>,
}

/// A distribution with the values of its keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Distribution {
    Gaussian {
        x: Arg,
        mean: Arg,
        sigma: Arg,
    },
    BifurcatedGaussian {
        x: Arg,
        mean: Arg,
        left: Arg,
        right: Arg,
    },
    Exponential {
        x: Arg,
        c: Arg,
    },
    Argus {
        mass: Arg,
        resonance: Arg,
        slope: Arg,
        power: Arg,
    },
    /// A Crystal Ball density. `left` and `right` are the widths of the peak on its two sides. `tails` has the
    /// parameters of the tails.
    CrystalBall {
        x: Arg,
        mean: Arg,
        left: Arg,
        right: Arg,
        tails: Tails,
    },
    Chebychev {
        x: Arg,
        coefficients: Vec<Arg>,
    },
    Polynomial {
        x: Arg,
        coefficients: Vec<Arg>,
    },
    Bernstein {
        x: Arg,
        coefficients: Vec<Arg>,
    },
    /// A density that is proportional to `sum_i coefficients[i] x^exponents[i]`.
    PowerSum {
        x: Arg,
        coefficients: Vec<Arg>,
        exponents: Vec<Arg>,
    },
    Uniform {
        x: Vec<Arg>,
    },
    Lognormal {
        x: Arg,
        mu: Arg,
        sigma: Arg,
    },
    Poisson {
        x: Arg,
        mean: Arg,
    },
    /// A gamma density, proportional to `(x - mu)^(gamma - 1) exp(-(x - mu) / beta)`.
    Gamma {
        x: Arg,
        gamma: Arg,
        beta: Arg,
        mu: Arg,
    },
    /// The Landau density of `(x - mean) / sigma`.
    Landau {
        x: Arg,
        mean: Arg,
        sigma: Arg,
    },
    GeneralizedNormal {
        x: Arg,
        mean: Arg,
        alpha: Arg,
        beta: Arg,
    },
    MultivariateNormal {
        x: Vec<Arg>,
        mean: Vec<Arg>,
        covariances: Vec<Vec<f64>>,
    },
    /// A non-relativistic Breit-Wigner density (`nextstat.breit_wigner_dist` in files).
    BreitWigner {
        x: Arg,
        mean: Arg,
        width: Arg,
    },
    /// A Breit-Wigner density convolved with a Gaussian (`nextstat.voigt_dist` in files).
    Voigt {
        x: Arg,
        mean: Arg,
        width: Arg,
        sigma: Arg,
    },
    /// Johnson's S_U density (`nextstat.johnson_su_dist` in files).
    JohnsonSu {
        x: Arg,
        mu: Arg,
        lambda: Arg,
        gamma: Arg,
        delta: Arg,
    },
    /// The convolution of two densities of one observable (`fft_conv_pdf` in files of ROOT).
    Convolution {
        x: Arg,
        first: Arg,
        second: Arg,
    },
    /// The integral of a density over some of its observables (`projected_dist` in files of ROOT).
    Projected {
        density: Arg,
        hidden: Vec<Placed<String>>,
    },
    /// A density that is proportional to a weighted sum of functions and of densities before normalisation.
    WeightedSum {
        samples: Vec<Arg>,
        coefficients: Vec<Arg>,
    },
    /// A decay in time, smeared by a resolution (`decay_dist` and `nextstat.b_decay_dist` in files).
    Decay {
        t: Arg,
        tau: Arg,
        sides: DecaySides,
        oscillation: Option<Box<Waves>>,
        /// Name of the distribution of measured minus true times.
        resolution: Arg,
    },
    /// A resolution without an error (`truth_model_function` in files).
    Truth {
        x: Arg,
    },
    /// A Gaussian resolution (`gauss_model_function` in files).
    GaussModel {
        x: Arg,
        mean: Arg,
        sigma: Arg,
    },
    /// A sum of resolutions (`mixture_model` in files).
    MixtureModel {
        summands: Vec<Arg>,
        coefficients: Vec<Arg>,
    },
    /// A density of one observable at given values of others (the key `nextstat.given` in files).
    Given {
        inner: Box<Distribution>,
        observables: Vec<Placed<String>>,
    },
    /// A density that is a cubic spline through positive values (`nextstat.spline_dist` in files).
    Spline {
        x: Arg,
        knots: Vec<f64>,
        values: Vec<f64>,
        kind: Placed<String>,
    },
    /// A normalising flow (`nextstat.flow_dist` in files).
    Flow {
        x: Vec<Arg>,
        /// The context of the flow, i.e. the parameters of its density, in the order of the manifest.
        context: Vec<Arg>,
        /// Path of the manifest of the flow, relative to the folder of the model.
        manifest: Placed<String>,
        /// Expected SHA-256 hash of the manifest.
        sha256: Option<Placed<String>>,
        /// Folder of the model, if it was read from a file.
        folder: Option<PathBuf>,
    },
    Histogram {
        axes: Vec<Axis>,
        contents: Vec<f64>,
    },
    /// A density that is estimated from simulated events. The weights of the events can depend on nuisance parameters
    /// (`nextstat.template_dist` in files).
    Template(Template),
    Generic {
        expression: Placed<String>,
        /// The names for which `@0`, `@1`, ... stand in the expression.
        variables: Vec<String>,
    },
    /// A density that is proportional to a function, or to the exponential of a function.
    DensityFunction {
        function: Arg,
        logarithmic: bool,
    },
    EfficiencyProduct {
        pdf: Arg,
        efficiency: Arg,
    },
    HistFactory(HistFactory),
    Mixture {
        summands: Vec<Arg>,
        coefficients: Vec<Arg>,
        extended: Option<bool>,
    },
    Product {
        factors: Vec<Arg>,
    },
    /// A density with its expected number of events, in the whole range of the data or in a domain with the name `range`.
    RateExtended {
        rate: Arg,
        distribution: Arg,
        range: Option<Placed<String>>,
    },
    /// A type that is not supported, or whose keys could not be read.
    Unsupported {
        kind: String,
    },
}

/// The terms of mixing and CP violation of a decay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waves {
    pub(crate) delta_gamma: Arg,
    pub(crate) delta_m: Arg,
    pub(crate) cosh: Arg,
    pub(crate) sinh: Arg,
    pub(crate) cos: Arg,
    pub(crate) sin: Arg,
}

/// Tails of a Crystal Ball density. A tail is a pair (`alpha`, `n`). It begins at the distance `alpha` from the
/// peak, in units of the width, and `n` is its exponent. A side without a tail is `None`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tails {
    pub(crate) left: Option<(Arg, Arg)>,
    pub(crate) right: Option<(Arg, Arg)>,
}

/// Simulated events with the effects of nuisance parameters on their weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    pub(crate) x: Vec<Arg>,
    pub(crate) estimator: Estimator,
    /// One column per observable.
    pub(crate) columns: Vec<Arc<[f64]>>,
    pub(crate) weights: Option<Arc<[f64]>>,
    pub(crate) responses: Vec<Response>,
}

/// Method by which a density is computed from simulated events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Estimator {
    /// A histogram with these bin edges, one list of edges per observable.
    Histogram(Vec<Vec<f64>>),
    /// A sum of Gaussian kernels over one observable. `bandwidth` is a factor by which the widths of the kernels are
    /// multiplied. `reflect` says whether kernels are mirrored at the ends of the axis.
    Kernels { bandwidth: f64, reflect: bool },
}

impl Template {
    /// Returns one list of bin edges per observable; empty for kernels.
    pub(crate) fn edges(&self) -> &[Vec<f64>] {
        match &self.estimator {
            Estimator::Histogram(edges) => edges,
            Estimator::Kernels { .. } => &[],
        }
    }
}

/// The effect of one nuisance parameter on the weights of simulated events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Response {
    pub(crate) path: String,
    pub(crate) parameter: Arg,
    /// Weight of each event at the parameter value 1.
    pub(crate) up: Arc<[f64]>,
    /// Weight of each event at the parameter value -1.
    pub(crate) down: Arc<[f64]>,
    pub(crate) interpolation: Option<Placed<Interpolation>>,
    /// Whether the parameter changes the shape of the template.
    pub(crate) shape: bool,
    /// Whether the parameter changes the expected number of events.
    pub(crate) rate: bool,
}

/// A function of parameters. A function that is used in a density may also depend on observables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Function {
    Sum {
        summands: Vec<Arg>,
    },
    Product {
        factors: Vec<Arg>,
    },
    Polynomial {
        x: Arg,
        coefficients: Vec<Arg>,
    },
    Generic {
        expression: Placed<String>,
        /// The names for which `@0`, `@1`, ... stand in the expression.
        variables: Vec<String>,
    },
    /// ROOT's interpolation of yields by nuisance parameters (`FlexibleInterpVar`).
    Interpolation {
        parameters: Vec<Arg>,
        nominal: f64,
        low: Vec<f64>,
        high: Vec<f64>,
        codes: Vec<i64>,
    },
    /// The normalisation of a process in Combine (`CMS::process_normalization`):
    /// `nominal exp(sum) factors`. Each `(theta, ln kappa)` of `symmetric` adds `theta ln kappa` to the sum. Each
    /// `(theta, (ln kappa_low, ln kappa_high))` of `asymmetric` adds `theta` times a number between `-ln kappa_low` and
    /// `ln kappa_high`.
    ProcessNormalization {
        nominal: Arg,
        symmetric: Vec<(Arg, f64)>,
        asymmetric: Vec<(Arg, (f64, f64))>,
        factors: Vec<Arg>,
    },
    /// A type that is not supported, or whose keys could not be read.
    Unsupported {
        kind: String,
    },
}

/// An axis of data or of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) bins: Option<usize>,
    pub(crate) edges: Option<Vec<f64>>,
}

/// A data set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    /// Events: one column per axis.
    Unbinned { axes: Vec<Axis>, columns: Vec<Arc<[f64]>>, weights: Option<Arc<[f64]>>, origin: Origin },
    /// Contents of bins. The last axis varies fastest.
    Binned { axes: Vec<Axis>, contents: Vec<f64> },
    /// One measured number.
    Point { axes: Vec<Axis>, value: f64 },
    /// A type that is not supported, or whose keys could not be read.
    Unsupported { kind: String, axes: Vec<String> },
}

/// Origin of the events of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The events are written in the model file.
    Entries,
    /// The events are in another file, which `nextstat.source` names.
    File,
    /// The caller gives the events.
    Given,
}

/// A likelihood: distributions, each with its data, and the constraint terms (`auxiliary`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Likelihood {
    pub(crate) distributions: Vec<Placed<String>>,
    pub(crate) data: Vec<Arg>,
    pub(crate) auxiliary: Vec<Placed<String>>,
    /// Data of the constraint terms: data sets, global observables or numbers. The list is empty if these data are
    /// the values of parameters.
    pub(crate) auxiliary_data: Vec<Arg>,
    /// Rule by which a density is compared with contents of bins: `center` (the density at the bin centre) or
    /// `integral` (its integral over the bin).
    pub(crate) bins: Option<Placed<String>>,
    /// Fit ranges of observables.
    pub(crate) ranges: Vec<Ranges>,
    /// Fit ranges of several observables together; empty if the ranges of each observable are given.
    pub(crate) regions: Vec<Placed<Region>>,
    /// What rates and coefficients of mixtures refer to: `ranges` (the fit ranges) or `axes` (the whole axes).
    pub(crate) coefficients: Option<Placed<String>>,
    /// Blinded ranges of observables. Pictures show no data in these ranges.
    pub(crate) blind: Vec<Ranges>,
}

/// A box: names of observables with their ranges. An observable that is not named has its whole axis.
pub(crate) type Region = Vec<(String, (f64, f64))>;

/// Name of an observable with its fit ranges or its blinded ranges.
pub(crate) type Ranges = (String, Placed<Vec<(f64, f64)>>);
