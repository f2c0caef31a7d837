//! The options of unfolding.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{FitOptions, Work, options};

/// The penalty that is added to `-ln L`: `tau/2 |L (mu - 1)|^2`, with the factors `mu` of the truth bins in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Regularisation {
    /// No penalty.
    #[default]
    None,
    /// `L` is the unit matrix: the difference of each factor from 1.
    Tikhonov,
    /// `L` has the second differences of neighbouring factors, `mu[i-1] - 2 mu[i] + mu[i+1]`.
    Curvature,
}

impl Regularisation {
    /// All penalties.
    pub const ALL: [Self; 3] = [Self::None, Self::Tikhonov, Self::Curvature];

    /// Returns the name of the penalty, as used on the command line and in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tikhonov => "tikhonov",
            Self::Curvature => "curvature",
        }
    }
}

impl fmt::Display for Regularisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Regularisation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| {
            format!("unknown regularisation '{text}'; use \"none\", \"tikhonov\" or \"curvature\"")
        })
    }
}

/// How the strength `tau` of the penalty is found.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(try_from = "StrengthForm")]
#[non_exhaustive]
pub enum Strength {
    /// At the largest curvature of the L-curve, the logarithm of the squared roughness `|L (mu - 1)|^2` against the
    /// logarithm of chi2 (P. C. Hansen, D. P. O'Leary, SIAM J. Sci. Comput. 14 (1993) 1487).
    #[default]
    LCurve,
    /// At the smallest mean of the global correlation coefficients of the factors (V. Blobel, PHYSTAT2011; S. Schmitt, JINST 7
    /// (2012) T10003).
    Correlation,
    /// A given number.
    Given(f64),
}

impl FromStr for Strength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "l-curve" => Ok(Self::LCurve),
            "correlation" => Ok(Self::Correlation),
            _ => text.parse().map(Self::Given).map_err(|_| {
                format!("unknown strength '{text}'; use a number, \"l-curve\" or \"correlation\"")
            }),
        }
    }
}

/// A strength in JSON: a number or a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum StrengthForm {
    Number(f64),
    Word(String),
}

impl TryFrom<StrengthForm> for Strength {
    type Error = String;

    fn try_from(form: StrengthForm) -> Result<Self, String> {
        match form {
            StrengthForm::Number(tau) => Ok(Self::Given(tau)),
            StrengthForm::Word(word) => word.parse(),
        }
    }
}

/// The point at which toys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToysAt {
    /// The unfolded factors.
    #[default]
    BestFit,
    /// All factors at 1, the prediction. Nuisance parameters have their best-fit values there.
    Prediction,
}

impl ToysAt {
    /// Returns the name of the point, as used on the command line and in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BestFit => "best_fit",
            Self::Prediction => "prediction",
        }
    }
}

impl FromStr for ToysAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::BestFit, Self::Prediction].into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| format!("unknown point '{text}'; use \"best_fit\" or \"prediction\""))
    }
}

/// The predicted truth distribution. It is the truth that the templates of the samples were made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Prediction {
    /// Title of the axis of truth bins, with its unit.
    pub title: String,
    /// Edges of the truth bins in rising order, one more than there are bins; empty if unknown.
    pub edges: Vec<f64>,
    /// Predicted number of events in each truth bin; empty if unknown.
    pub yields: Vec<f64>,
}

options::setters! { Prediction { title: String, edges: Vec<f64>, yields: Vec<f64> } }

/// Options of [`unfold`](super::unfold()), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct UnfoldOptions {
    /// Data, fixed parameters, starting point and search effort of the fits.
    pub fit: FitOptions,
    /// Names or patterns of the factors of the truth bins, in the order of the bins. Parameters that match one pattern are in
    /// the order of their names, with numbers inside names in the order of their values. Required.
    pub truth: Vec<String>,
    /// The predicted truth distribution.
    pub prediction: Prediction,
    /// The penalty.
    pub regularisation: Regularisation,
    /// How the strength of the penalty is found. Without a penalty it has no meaning.
    pub tau: Strength,
    /// Smallest and largest strength that is scanned; `None` for a range that follows from the information about the factors.
    pub tau_range: Option<(f64, f64)>,
    /// Number of scanned strengths, at equal distances of their logarithms.
    pub points: usize,
    /// Number of toys, for the bias and the coverage; `None` for none.
    pub n_toys: Option<u64>,
    /// The point at which toys are drawn.
    pub toys_at: ToysAt,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for UnfoldOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            truth: Vec::new(),
            prediction: Prediction::default(),
            regularisation: Regularisation::None,
            tau: Strength::LCurve,
            tau_range: None,
            points: 41,
            n_toys: None,
            toys_at: ToysAt::BestFit,
            seed: 0,
        }
    }
}

options::setters! { UnfoldOptions {
    fit: FitOptions, prediction: Prediction, regularisation: Regularisation, tau: Strength, tau_range: Option<(f64, f64)>,
    points: usize, n_toys: Option<u64>, toys_at: ToysAt, seed: u64
} }

impl UnfoldOptions {
    /// Creates the options of unfolding with the given names or patterns of factors.
    #[must_use]
    pub fn of(truth: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { truth: truth.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Returns the work. The choice of the device depends on it. Fits with a penalty are made by the CPU.
    #[must_use]
    pub fn work(&self) -> Work {
        match self.n_toys {
            Some(toys) if self.regularisation == Regularisation::None => Work::Toys { toys, fits: 1 },
            _ => Work::Fit,
        }
    }
}
