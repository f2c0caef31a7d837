//! One row per toy. Runs produce rows, files store them, and summaries count them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::run::Prepare;
use super::{FitToysHeader, ToyHeader, ToyOrigin};
use crate::InferenceError;

/// Which of the two hypotheses of a test a toy was drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Hypothesis {
    /// The alternative, "b": no signal (for q0: a signal of strength 1).
    #[serde(rename = "b")]
    Background,
    /// The tested hypothesis, "sb": the parameter of interest at the tested value (for q0: at 0).
    #[serde(rename = "sb")]
    Signal,
}

impl Hypothesis {
    /// Both, in the order in which they are run.
    pub const BOTH: [Self; 2] = [Self::Background, Self::Signal];

    /// Its number, which gives the two hypotheses different random numbers.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Background => 0,
            Self::Signal => 1,
        }
    }

    /// Its short name: "b" or "sb".
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

/// How the fits of a toy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToyStatus {
    /// Every fit reached its certificate.
    #[default]
    Converged,
    /// A fit ended without its certificate.
    NotConverged,
    /// A fit could not be made at all.
    Failed,
}

impl ToyStatus {
    /// The number that stands for it in arrays and files.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Converged => 0,
            Self::NotConverged => 1,
            Self::Failed => 2,
        }
    }

    /// The status with this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Converged, Self::NotConverged, Self::Failed].into_iter().find(|s| s.code() == code)
    }
}

/// One toy of a hypothesis test.
#[derive(Debug, Clone, PartialEq)]
pub struct ToyRow {
    /// The hypothesis that it was drawn from.
    pub hypothesis: Hypothesis,
    /// Its number among the toys of that hypothesis, from 0.
    pub index: u64,
    /// The test statistic; `None` where a fit could not be made. That of a toy that did not converge is
    /// kept for information and never counted.
    pub statistic: Option<f64>,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: Option<f64>,
    /// How its fits ended.
    pub status: ToyStatus,
    /// Why it did not converge or failed; empty otherwise.
    pub reason: String,
}

/// One toy of a study of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct FitToyRow {
    /// Its number, from 0.
    pub index: u64,
    /// `-ln L` at the best fit; `None` where there is none.
    pub nll: Option<f64>,
    /// How its fit ended.
    pub status: ToyStatus,
    /// Why it did not converge or failed; empty otherwise.
    pub reason: String,
    /// Best-fit values of the parameters asked for, in their order; empty where there are none.
    pub values: Vec<f64>,
    /// Their uncertainties; `None` at a bound, on a kink or along a flat direction. As long as `values`.
    pub uncertainties: Vec<Option<f64>>,
}

/// A row of one toy: [`ToyRow`] or [`FitToyRow`]. Only this crate implements it.
#[allow(private_bounds)]
pub trait Row: Prepare<Head = Self::Header> + Clone + Send + Sync {
    /// What a run consists of: the hypotheses of a test; a study has one series alone.
    type Series: Copy + PartialEq + Send + Sync + 'static;

    /// The header of the rows of one run.
    type Header: Serialize + DeserializeOwned + Clone + Send + Sync;

    /// All series, in the order in which they are run.
    const SERIES: &'static [Self::Series];

    /// The series that this row belongs to.
    fn series(&self) -> Self::Series;

    /// Its number within the series.
    fn index(&self) -> u64;

    /// The common part of the header.
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

/// Takes toys as they get ready; functions of rows and lists of them do.
pub trait RowSink<R = ToyRow> {
    /// Takes further toys: those of one series, in the order of their indices, without gaps.
    ///
    /// # Errors
    /// Whatever keeps them from being taken; the run ends with it.
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
