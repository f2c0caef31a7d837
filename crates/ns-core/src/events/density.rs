//! Densities of observables.

use super::{ConditionalDensity, Convolution, Decay, Given, LogDensity, Projection, Tape, Value, WeightSys};

/// Power-law tail of a Crystal Ball density: `A (B + |t|)^-n` beyond `|t| = alpha`, where `t` is the distance from
/// the mean in units of the width. Value and slope are continuous, because
/// `A = (n/alpha)^n exp(-alpha^2/2)` and `B = n/alpha - alpha`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tail {
    /// Distance between the mean and the start of the tail, in units of the width; positive.
    pub alpha: Value,
    /// Power of the tail; positive.
    pub n: Value,
}

/// A density of observables. Formulae are given before normalisation; every density is normalised over the
/// fit ranges of its channel. Observables are indices into [`crate::EventChannel::observables`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Density {
    /// Gaussian density: `exp(-(x - mean)^2 / (2 sigma^2))`.
    Gaussian {
        /// Index of the observable.
        x: usize,
        /// Mean.
        mean: Value,
        /// Standard deviation; positive.
        sigma: Value,
    },
    /// A Gaussian with different widths below and above the mean.
    BifurcatedGaussian {
        /// Index of the observable.
        x: usize,
        /// Position of the peak.
        mean: Value,
        /// Width below the peak; positive.
        sigma_left: Value,
        /// Width above the peak; positive.
        sigma_right: Value,
    },
    /// Exponential density: `exp(-slope x)`.
    Exponential {
        /// Index of the observable.
        x: usize,
        /// Slope. If it is positive, the density falls with `x`.
        slope: Value,
    },
    /// Crystal Ball density: a Gaussian core with `t = (x - mean) / sigma`, and a power-law tail on each side
    /// for which a tail is given.
    CrystalBall {
        /// Index of the observable.
        x: usize,
        /// Position of the peak.
        mean: Value,
        /// Width below the peak; positive.
        sigma_left: Value,
        /// Width above the peak; positive.
        sigma_right: Value,
        /// Tail below the peak.
        left: Option<Tail>,
        /// Tail above the peak.
        right: Option<Tail>,
    },
    /// ARGUS density: `x u^power exp(slope u)` with `u = 1 - (x / resonance)^2`. It is 0 for `x` above the resonance.
    Argus {
        /// Index of the observable, whose values are positive.
        x: usize,
        /// Upper end of the spectrum; positive.
        resonance: Value,
        /// Coefficient of `u` in the exponential function; usually negative.
        slope: Value,
        /// Power of `u`; 1/2 in the usual form.
        power: Value,
    },
    /// Voigt density: the convolution of a Breit-Wigner density with a Gaussian.
    Voigt {
        /// Index of the observable.
        x: usize,
        /// Position of the peak.
        mean: Value,
        /// Full width at half maximum of the Breit-Wigner density; positive.
        width: Value,
        /// Standard deviation of the Gaussian; positive.
        sigma: Value,
    },
    /// Breit-Wigner density: `1 / ((x - mean)^2 + width^2 / 4)`.
    BreitWigner {
        /// Index of the observable.
        x: usize,
        /// Position of the peak.
        mean: Value,
        /// Full width at half maximum; positive.
        width: Value,
    },
    /// Johnson's S_U density: `exp(-(gamma + delta asinh z)^2 / 2) / sqrt(1 + z^2)` with `z = (x - mean) / width`.
    JohnsonSu {
        /// Index of the observable.
        x: usize,
        /// Location parameter.
        mean: Value,
        /// Scale parameter; positive.
        width: Value,
        /// Asymmetry parameter.
        gamma: Value,
        /// Inverse of the width of the distribution of `asinh z`; positive.
        delta: Value,
    },
    /// Polynomial density: `sum_i coefficients[i] x^i`.
    Polynomial {
        /// Index of the observable.
        x: usize,
        /// Coefficients; the first belongs to `x^0`.
        coefficients: Vec<Value>,
    },
    /// Sum of Chebyshev polynomials `T_k`: `1 + sum_i coefficients[i] T_(i+1)(z)`, where `z` maps the observable's axis
    /// to [-1, 1].
    Chebyshev {
        /// Index of the observable.
        x: usize,
        /// Coefficients; the first belongs to `T_1`.
        coefficients: Vec<Value>,
    },
    /// Sum of Bernstein polynomials `B_(i,n)`: `sum_i coefficients[i] B_(i,n)(u)`, where `u` maps the observable's axis
    /// to [0, 1] and `n` is the number of coefficients minus 1.
    Bernstein {
        /// Index of the observable.
        x: usize,
        /// Coefficients of the Bernstein polynomials.
        coefficients: Vec<Value>,
    },
    /// Log-normal density: `exp(-(ln x - mu)^2 / (2 sigma^2)) / x` for `x > 0`.
    Lognormal {
        /// Index of the observable.
        x: usize,
        /// Mean of `ln x`.
        mu: Value,
        /// Standard deviation of `ln x`; positive.
        sigma: Value,
    },
    /// Uniform density: the constant 1.
    Uniform {
        /// Index of the observable.
        x: usize,
    },
    /// Histogram: a density that is constant within each bin and 0 outside of all bins.
    Histogram {
        /// Indices of the observables, one per axis.
        observables: Vec<usize>,
        /// Bin edges of each axis, ascending.
        edges: Vec<Vec<f64>>,
        /// Value of the density in each bin before normalisation, i.e. content divided by bin volume. The
        /// last axis varies fastest.
        heights: Vec<f64>,
    },
    /// Histogram of simulated events whose weights depend on nuisance parameters. The density is 0 outside of all bins.
    Template {
        /// Indices of the observables, one per axis.
        observables: Vec<usize>,
        /// Bin edges of each axis, ascending.
        edges: Vec<Vec<f64>>,
        /// Sum of the event weights in each bin, divided by the volume of the bin. The last axis varies
        /// fastest.
        heights: Vec<f64>,
        /// Effects of nuisance parameters on the weights. The effects are added.
        variations: Vec<WeightSys>,
    },
    /// Natural cubic spline through given points. The density is 0 below the first and above the last point.
    Spline {
        /// Index of the observable.
        x: usize,
        /// Positions of the points, ascending; at least two.
        knots: Vec<f64>,
        /// Value at each point.
        values: Vec<Value>,
    },
    /// Multivariate normal density: `exp(-(x - mean)' C^-1 (x - mean) / 2)`, with the vector `x` of the observables and
    /// the covariance matrix `C`.
    MultivariateNormal {
        /// Indices of the observables.
        observables: Vec<usize>,
        /// Means, one per observable.
        mean: Vec<Value>,
        /// Covariance matrix `C`, row by row.
        covariance: Vec<Vec<Value>>,
    },
    /// Generalised normal density: `exp(-(|x - mean| / alpha)^beta)`.
    GeneralizedNormal {
        /// Index of the observable.
        x: usize,
        /// Position of the peak.
        mean: Value,
        /// Scale parameter; positive.
        alpha: Value,
        /// Power `beta`; positive.
        beta: Value,
    },
    /// A decay in time, smeared by a resolution.
    Decay(Box<Decay>),
    /// A density of one observable at given values of others.
    Given(Box<Given>),
    /// The convolution of two densities of one observable.
    Convolution(Box<Convolution>),
    /// The integral of a density over hidden variables.
    Projection(Box<Projection>),
    /// An expression of observables and parameters, normalised numerically.
    Generic(Tape),
    /// A density that is not a formula, such as a normalising flow. Its logarithm is stored as a column of the events.
    Log(LogDensity),
    /// A density that is not a formula and depends on a context of parameters, such as a conditional normalising flow.
    Conditional(ConditionalDensity),
    /// Product of the densities, normalised as a whole.
    Product(Vec<Density>),
    /// The sum `sum_i coefficients[i] p_i` of normalised densities `p_i`. If there is one coefficient less than there
    /// are summands, the last coefficient is 1 minus the sum of the others. Otherwise the coefficients are divided by
    /// their sum.
    Mixture {
        /// Densities that are added.
        summands: Vec<Density>,
        /// Coefficients of the summands.
        coefficients: Vec<Value>,
    },
}

impl Density {
    /// Returns the name of this type of density, as used in messages and digests.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::BifurcatedGaussian { .. } => "bifurcated gaussian",
            Self::Exponential { .. } => "exponential",
            Self::CrystalBall { .. } => "crystal ball",
            Self::Argus { .. } => "argus",
            Self::Voigt { .. } => "voigt",
            Self::BreitWigner { .. } => "breit-wigner",
            Self::JohnsonSu { .. } => "johnson su",
            Self::Polynomial { .. } => "polynomial",
            Self::Chebyshev { .. } => "chebyshev",
            Self::Bernstein { .. } => "bernstein",
            Self::Lognormal { .. } => "lognormal",
            Self::Uniform { .. } => "uniform",
            Self::Histogram { .. } => "histogram",
            Self::Template { .. } => "template",
            Self::Spline { .. } => "spline",
            Self::MultivariateNormal { .. } => "multivariate normal",
            Self::GeneralizedNormal { .. } => "generalized normal",
            Self::Decay(_) => "decay",
            Self::Given(_) => "given",
            Self::Convolution(_) => "convolution",
            Self::Projection(_) => "projection",
            Self::Generic(_) => "generic",
            Self::Log(_) => "log-density",
            Self::Conditional(_) => "conditional density",
            Self::Product(_) => "product",
            Self::Mixture { .. } => "mixture",
        }
    }

    /// Returns the parameters in the formula of the density, in the order of the formula. The parameters of
    /// the factors of a product or the summands of a mixture are not included.
    #[must_use]
    pub fn own_values(&self) -> Vec<Value> {
        match self {
            Self::Gaussian { mean, sigma, .. } => vec![*mean, *sigma],
            Self::BifurcatedGaussian { mean, sigma_left, sigma_right, .. } => {
                vec![*mean, *sigma_left, *sigma_right]
            }
            Self::Exponential { slope, .. } => vec![*slope],
            Self::CrystalBall { mean, sigma_left, sigma_right, left, right, .. } => {
                let mut values = vec![*mean, *sigma_left, *sigma_right];
                values.extend([left, right].into_iter().flatten().flat_map(|tail| [tail.alpha, tail.n]));
                values
            }
            Self::Argus { resonance, slope, power, .. } => vec![*resonance, *slope, *power],
            Self::Voigt { mean, width, sigma, .. } => vec![*mean, *width, *sigma],
            Self::BreitWigner { mean, width, .. } => vec![*mean, *width],
            Self::JohnsonSu { mean, width, gamma, delta, .. } => vec![*mean, *width, *gamma, *delta],
            Self::Polynomial { coefficients, .. }
            | Self::Chebyshev { coefficients, .. }
            | Self::Bernstein { coefficients, .. }
            | Self::Mixture { coefficients, .. } => coefficients.clone(),
            Self::Lognormal { mu, sigma, .. } => vec![*mu, *sigma],
            Self::Uniform { .. } | Self::Histogram { .. } | Self::Log(_) | Self::Product(_) => Vec::new(),
            Self::Template { variations, .. } => {
                variations.iter().filter(|v| v.shape).map(|v| v.alpha).collect()
            }
            Self::Spline { values, .. } => values.clone(),
            Self::MultivariateNormal { mean, covariance, .. } => {
                mean.iter().chain(covariance.iter().flatten()).copied().collect()
            }
            Self::GeneralizedNormal { mean, alpha, beta, .. } => vec![*mean, *alpha, *beta],
            Self::Decay(own) => own.values(),
            Self::Given(own) => own.values(),
            Self::Convolution(own) => own.values(),
            Self::Projection(own) => own.values(),
            Self::Generic(tape) => tape.values().collect(),
            Self::Conditional(own) => own.context.clone(),
        }
    }

    /// Returns the indices of the observables over which the density is normalised, sorted and without duplicates: all
    /// without those that are given.
    #[must_use]
    pub fn own_observables(&self) -> Vec<usize> {
        let mut own = match self {
            Self::Given(given) => given.density.observables(),
            Self::Product(parts) | Self::Mixture { summands: parts, .. } => {
                parts.iter().flat_map(Self::own_observables).collect()
            }
            other => other.observables(),
        };
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Returns whether the integral of the density over any interval of its one observable is a formula.
    #[must_use]
    pub fn has_closed_integral(&self) -> bool {
        matches!(
            self,
            Self::Gaussian { .. }
                | Self::BifurcatedGaussian { .. }
                | Self::Exponential { .. }
                | Self::CrystalBall { .. }
                | Self::BreitWigner { .. }
                | Self::JohnsonSu { .. }
                | Self::Polynomial { .. }
                | Self::Chebyshev { .. }
                | Self::Bernstein { .. }
                | Self::Lognormal { .. }
                | Self::Uniform { .. }
                | Self::Decay(_)
        )
    }

    /// Returns the factors of a product or the summands of a mixture; an empty slice for other densities.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Product(parts) | Self::Mixture { summands: parts, .. } => parts,
            _ => &[],
        }
    }

    /// Returns the indices of the observables of the density, sorted and without duplicates.
    #[must_use]
    pub fn observables(&self) -> Vec<usize> {
        let mut all = match self {
            Self::Gaussian { x, .. }
            | Self::BifurcatedGaussian { x, .. }
            | Self::Exponential { x, .. }
            | Self::CrystalBall { x, .. }
            | Self::Argus { x, .. }
            | Self::Voigt { x, .. }
            | Self::BreitWigner { x, .. }
            | Self::JohnsonSu { x, .. }
            | Self::Polynomial { x, .. }
            | Self::Chebyshev { x, .. }
            | Self::Bernstein { x, .. }
            | Self::Lognormal { x, .. }
            | Self::Uniform { x }
            | Self::Spline { x, .. }
            | Self::GeneralizedNormal { x, .. } => vec![*x],
            Self::Histogram { observables, .. }
            | Self::Template { observables, .. }
            | Self::MultivariateNormal { observables, .. } => observables.clone(),
            Self::Decay(own) => vec![own.t],
            Self::Given(own) => own.observables(),
            Self::Convolution(own) => vec![own.x],
            Self::Projection(own) => vec![own.x],
            Self::Generic(tape) => tape.observables().collect(),
            Self::Log(own) => own.observables.clone(),
            Self::Conditional(own) => own.observables.clone(),
            Self::Product(parts) | Self::Mixture { summands: parts, .. } => {
                parts.iter().flat_map(Self::observables).collect()
            }
        };
        all.sort_unstable();
        all.dedup();
        all
    }
}
