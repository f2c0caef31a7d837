//! Rows with the results of toys, one row per toy. Runs produce rows, files store rows, and summaries count rows.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::run::Prepare;
use super::{FitToysHeader, ToyHeader, ToyOrigin};
use crate::InferenceError;

/// One of the two hypotheses of a hypothesis test. Toys are drawn from both hypotheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hypothesis {
    /// The alternative hypothesis, named "b": there is no signal. For the statistic q0, there is a signal of strength
    /// 1.
    #[serde(rename = "b")]
    Background,
    /// The tested hypothesis, named "sb": the parameter of interest has the tested value. For the statistic q0, the
    /// tested value is 0.
    #[serde(rename = "sb")]
    Signal,
}

impl Hypothesis {
    /// Both hypotheses, in the order in which they are run.
    pub const BOTH: [Self; 2] = [Self::Background, Self::Signal];

    /// Returns the number of the hypothesis. This number is part of the key of the random numbers. The two hypotheses
    /// therefore have different random numbers.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Background => 0,
            Self::Signal => 1,
        }
    }

    /// Returns the short name of the hypothesis: "b" or "sb".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Background => "b",
            Self::Signal => "sb",
        }
    }
}

impl std::fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// State in which the fits of a toy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToyStatus {
    /// Every fit converged.
    #[default]
    Converged,
    /// A fit ended without convergence.
    NotConverged,
    /// A fit failed and has no result.
    Failed,
}

impl ToyStatus {
    /// Returns the number that stands for this status in arrays.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Converged => 0,
            Self::NotConverged => 1,
            Self::Failed => 2,
        }
    }

    /// Returns the name that files and data frames have for this status.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::NotConverged => "not_converged",
            Self::Failed => "failed",
        }
    }

    /// Returns the status for a number of [`Self::code`]; `None` if no status has this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Converged, Self::NotConverged, Self::Failed].into_iter().find(|s| s.code() == code)
    }
}

/// The result of one toy of a hypothesis test.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyRow {
    /// Hypothesis from which the toy was drawn.
    pub hypothesis: Hypothesis,
    /// Index of the toy within its hypothesis. The first index is 0.
    pub index: u64,
    /// Test statistic; `None` if a fit failed. If a fit of the toy did not converge, the statistic is stored but does
    /// not count for p-values.
    pub statistic: Option<f64>,
    /// Best-fit value of the parameter of interest; `None` if the free fit failed.
    pub mu_hat: Option<f64>,
    /// State in which the fits of the toy ended.
    pub status: ToyStatus,
    /// Reason why the toy did not converge or failed; empty for a converged toy.
    pub reason: String,
}

/// The result of one toy of a study of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct FitToyRow {
    /// Index of the toy. The first index is 0.
    pub index: u64,
    /// `-ln L` at the best fit; `None` if the fit failed.
    pub nll: Option<f64>,
    /// State in which the fit of the toy ended.
    pub status: ToyStatus,
    /// Reason why the toy did not converge or failed; empty for a converged toy.
    pub reason: String,
    /// Best-fit values of the studied parameters, in the order of the header; empty if the fit failed.
    pub values: Vec<f64>,
    /// Uncertainties of `values`, in the same order. `None` for a parameter at a bound, on a kink of an interpolation,
    /// or along a direction in which `-ln L` is flat.
    pub uncertainties: Vec<Option<f64>>,
}

/// The result (row) of one toy: [`ToyRow`] or [`FitToyRow`]. Only this crate can implement the trait.
#[allow(private_bounds)]
pub trait Row: Prepare<Head = Self::Header> + Clone + Send + Sync {
    /// Identifier of a series of toys in a run. In a hypothesis test, each hypothesis is a series. A study has a
    /// single series.
    type Series: Copy + PartialEq + Send + Sync + 'static;

    /// Type of the header of a run.
    type Header: Serialize + DeserializeOwned + Clone + Send + Sync;

    /// All series of toys, in the order in which they are run. In a hypothesis test, each hypothesis is a series.
    const SERIES: &'static [Self::Series];

    /// Returns the series of toys (for example, a hypothesis) to which this row belongs.
    fn series(&self) -> Self::Series;

    /// Returns the index of the toy within its series.
    fn index(&self) -> u64;

    /// Returns the part of a header that is common to toys of hypothesis tests and toys of studies.
    fn origin(header: &Self::Header) -> &ToyOrigin;
}

impl Row for ToyRow {
    type Series = Hypothesis;
    type Header = ToyHeader;
    const SERIES: &'static [Hypothesis] = &Hypothesis::BOTH;

    fn series(&self) -> Hypothesis {
        self.hypothesis
    }

    fn index(&self) -> u64 {
        self.index
    }

    fn origin(header: &ToyHeader) -> &ToyOrigin {
        &header.origin
    }
}

impl Row for FitToyRow {
    type Series = ();
    type Header = FitToysHeader;
    const SERIES: &'static [()] = &[()];

    fn series(&self) {}

    fn index(&self) -> u64 {
        self.index
    }

    fn origin(header: &FitToysHeader) -> &ToyOrigin {
        &header.origin
    }
}

/// Receives the rows of toys as they are finished. Vectors of rows, and functions that take rows, implement this trait.
pub trait RowSink<R = ToyRow> {
    /// Receives the next rows. All rows of a call belong to one series, in the order of their indices and without
    /// gaps.
    ///
    /// # Errors
    /// Any error of the receiver. The error ends the run.
    fn rows(&mut self, rows: &[R]) -> Result<(), InferenceError>;
}

impl<R: Clone> RowSink<R> for Vec<R> {
    fn rows(&mut self, rows: &[R]) -> Result<(), InferenceError> {
        self.extend_from_slice(rows);
        Ok(())
    }
}

impl<R, F: FnMut(&[R]) -> Result<(), InferenceError>> RowSink<R> for F {
    fn rows(&mut self, rows: &[R]) -> Result<(), InferenceError> {
        self(rows)
    }
}
