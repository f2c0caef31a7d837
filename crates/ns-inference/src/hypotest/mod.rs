//! Asymptotic hypothesis tests of a value of the parameter of interest.
//!
//! The definitions are those of pyhf (`pyhf.infer.hypotest`, `calctype="asymptotics"`). The test statistics are
//! one-sided profile likelihood ratios. The Asimov set contains the data that are expected at a conditional fit to the
//! observed data.

mod asimov;
pub(crate) mod asymptotic;
mod compare;
mod ends;
mod mirrored;
pub(crate) mod power;
pub(crate) mod profile;
pub(crate) mod tester;

use ns_core::{Control, Model, Session};
use serde::{Deserialize, Deserializer, Serialize};

pub use asymptotic::EXPECTED_SIGMAS;

use crate::analysis::Analysis;
use crate::{FitOptions, InferenceError, options};
use tester::{Tested, Tester};

/// A one-sided test statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatistic {
    /// The statistic for upper limits if the signal cannot be negative (equation 16 of arXiv:1007.1727).
    #[default]
    Qtilde,
    /// The statistic for upper limits if the signal may be negative (equation 14 of arXiv:1007.1727).
    Q,
    /// The statistic for discoveries, which tests the background-only hypothesis (equation 12 of arXiv:1007.1727).
    Q0,
}

impl TestStatistic {
    /// Returns the value of the POI at which the Asimov set (expected data) is generated: 1 for q0, otherwise 0.
    #[must_use]
    pub fn asimov_value(self) -> f64 {
        match self {
            Self::Q | Self::Qtilde => 0.0,
            Self::Q0 => 1.0,
        }
    }

    /// Returns the name of the statistic on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Qtilde => "qtilde",
            Self::Q => "q",
            Self::Q0 => "q0",
        }
    }
}

impl std::str::FromStr for TestStatistic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Qtilde, Self::Q, Self::Q0].into_iter().find(|statistic| statistic.name() == text);
        found.ok_or_else(|| format!("unknown test_stat '{text}'; use \"qtilde\", \"q\" or \"q0\""))
    }
}

// A name of its own, because serde borrows fields whose type is written `&str`.
pub(crate) type StatisticName = &'static str;

/// Reads the name of a test statistic.
pub(crate) fn statistic_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StatisticName, D::Error> {
    options::text::<D, TestStatistic>(deserializer).map(TestStatistic::name)
}

/// Options of [`hypotest`], set by chained methods.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HypotestOptions {
    /// Data, fixed parameters, starting point and search effort of all fits.
    pub fit: FitOptions,
    /// The test statistic.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
}

options::setters! { HypotestOptions {
    fit: FitOptions, statistic: TestStatistic
} }

/// Numbers of standard deviations of the five values in a list of expected results. Positive numbers mean more signal.
/// Serialises to `[-2, -1, 0, 1, 2]`. Every result with a list of expected values also contains this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NsigmaOrder([i8; 5]);

impl Default for NsigmaOrder {
    fn default() -> Self {
        Self([-2, -1, 0, 1, 2])
    }
}

impl NsigmaOrder {
    /// Returns the numbers of standard deviations: -2, -1, 0, 1 and 2.
    #[must_use]
    pub fn values(self) -> [i8; 5] {
        self.0
    }
}

/// Expected p-values under the background-only hypothesis. Each list has five values, for outcomes at -2, -1, 0, +1
/// and +2 standard deviations. Positive numbers mean more signal, so CLs is in ascending order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ExpectedSet {
    /// Expected CLs.
    pub cls: Vec<Option<f64>>,
    /// Expected p-values CLs+b of the hypothesis of signal plus background.
    pub clsb: Vec<Option<f64>>,
    /// Expected p-values CLb of the background-only hypothesis.
    pub clb: Vec<Option<f64>>,
    /// Numbers of standard deviations of the five values in each list.
    pub nsigma_order: NsigmaOrder,
}

/// The result of one hypothesis test. Serialises to the JSON of `nextstat hypotest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct HypotestResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Tested value of the parameter of interest.
    pub mu_test: f64,
    /// Name of the test statistic.
    #[serde(deserialize_with = "statistic_name")]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub test_stat: StatisticName,
    /// Observed CLs. `None` if CLs does not exist, and for the statistic q0, which has no CLs.
    pub cls: Option<f64>,
    /// p-value CLs+b of signal and background. For q0, the p-value p0 of the background-only hypothesis.
    pub clsb: Option<f64>,
    /// p-value CLb of the background-only hypothesis.
    pub clb: Option<f64>,
    /// Test statistic of the observed data.
    pub q_obs: f64,
    /// Test statistic of the Asimov set, i.e. of the data expected without signal (for q0: with a signal of strength
    /// 1).
    pub q_asimov: f64,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// `-2 ln L` of the free fit.
    pub twice_nll_free: f64,
    /// `-2 ln L` of the conditional fit at `mu_test`; `None` if this fit was not made.
    pub twice_nll_conditional: Option<f64>,
    /// Expected p-values under the background-only hypothesis.
    pub expected_set: ExpectedSet,
    /// Estimated error of `q_asimov`, which comes from the numerical integration of expected events. `None` if the model
    /// has no event channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Whether every fit of the test converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Tests the hypothesis that the parameter of interest is `mu`.
///
/// Four fits are made, or more in small models: the free fit to the observed data, conditional fits to the observed
/// data at `mu` and at the Asimov value (0, or 1 for q0), and the conditional fit at `mu` to the Asimov set, i.e. to
/// the data expected at the Asimov value. For q0 the tested value is always 0.
///
/// # Errors
/// If the model has no POI or fixes it, if `mu` is not finite, if `-ln L` is not finite at any starting point of a
/// fit, if the device fails, or if the caller stopped the work.
pub fn hypotest(
    model: &Model,
    session: &dyn Session,
    mu: f64,
    options: &HypotestOptions,
    control: Control<'_>,
) -> Result<HypotestResult, InferenceError> {
    let analysis = Analysis::new(model, session, &options.fit, control)?;
    let (mut tester, tested) = begin(analysis, options.statistic, mu, "a hypothesis test")?;
    let value = tested.value;

    let mut p = asymptotic::observed(options.statistic, tested.q, tested.q_asimov);
    let mut expected = ExpectedSet::default();
    for n in asymptotic::expected_sigmas(model.format) {
        let p = asymptotic::expected(n, tested.q_asimov);
        expected.cls.push(p.cls);
        expected.clsb.push(p.clsb);
        expected.clb.push(p.clb);
    }
    if options.statistic == TestStatistic::Q0 {
        p.cls = None;
        expected.cls.fill(None);
        tester.notes.push("cls is null: q0 tests the absence of a signal; its p-value is clsb".to_owned());
    }
    if let Some(powerless) = tester.powerless(&tested) {
        if powerless.undefined {
            p.cls = None;
        }
        tester.notes.extend(powerless.note());
    }
    Ok(HypotestResult {
        param: tester.name().to_owned(),
        mu_test: value,
        test_stat: options.statistic.name(),
        cls: p.cls,
        clsb: p.clsb,
        clb: p.clb,
        q_obs: tested.q,
        q_asimov: tested.q_asimov,
        mu_hat: tester.best_value(),
        twice_nll_free: 2.0 * tester.observed.best.nll,
        twice_nll_conditional: tester.observed.at(value).map(|known| 2.0 * known.fit.nll),
        expected_set: expected,
        asimov_error: tester.asimov_error(),
        converged: tester.converged,
        warnings: tester.notes,
    })
}

/// Makes the fits of a hypothesis test of `mu`; for q0 the tested value is 0. `what` is the name of the analysis in
/// error messages.
///
/// # Errors
/// The errors of [`hypotest`].
pub(crate) fn begin<'a>(
    analysis: Analysis<'a>,
    statistic: TestStatistic,
    mu: f64,
    what: &'static str,
) -> Result<(Tester<'a>, Tested), InferenceError> {
    let mut tester = Tester::new(analysis, statistic, what, 2)?;
    let name = tester.name().to_owned();
    if !mu.is_finite() {
        return Err(InferenceError::NotFinite { what: "the tested value", name, value: mu });
    }
    let value = match statistic {
        TestStatistic::Q0 => {
            if mu != 0.0 {
                tester.notes.push(format!("q0 tests {name} = 0, not {mu}"));
            }
            0.0
        }
        TestStatistic::Q | TestStatistic::Qtilde => mu,
    };
    tester.note_outside(value);
    let tested = tester.report(value)?;
    tester.judge_at(value);
    Ok((tester, tested))
}
